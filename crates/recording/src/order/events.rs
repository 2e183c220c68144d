//! What must hold from event to event.

use super::{Disorder, MAX_NUMBER, MAX_TICKS};
use crate::events::{MAX_NAME_BYTES, unescaped};
use crate::text::quoted;
use crate::{KernelEvent, Sender};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names known to be good that are kept; a machine has some hundreds, a hostile file any number.
const MOST_NAMES: usize = 4096;

/// Checks kernel events batch by batch.
#[derive(Clone, Debug, Default)]
pub struct EventOrder {
    rows: u64,
    start: u64,
    /// Names that were looked at: the same few come again and again.
    good: BTreeSet<Arc<str>>,
}

impl EventOrder {
    /// Checks the next batch.
    pub fn check(&mut self, events: &[KernelEvent]) -> Result<(), Disorder> {
        for event in events {
            if let Some((found, expected)) = self.find(event) {
                return Err(Disorder {
                    row: self.rows,
                    found,
                    expected,
                });
            }
            self.start = event.start;
            self.rows += 1;
        }
        Ok(())
    }

    /// What is wrong with an event that follows upon those before it: found and expected.
    fn find(&mut self, event: &KernelEvent) -> Option<(String, String)> {
        if event.start < self.start {
            return Some((
                format!("start {}", event.start),
                format!("{} or later, where the event before it started", self.start),
            ));
        }
        if event.end() > MAX_TICKS {
            return Some((
                format!("an event of {} ticks", event.duration),
                format!("times up to {MAX_TICKS}"),
            ));
        }
        if event.number > MAX_NUMBER {
            return Some((
                format!("number {}", event.number),
                format!("at most {MAX_NUMBER}"),
            ));
        }
        self.bad_name("name", &event.name)
            .or_else(|| self.bad_sender(event.sender.as_deref()?))
            .or_else(|| bad_wait(event.waited))
    }

    fn bad_sender(&mut self, sender: &Sender) -> Option<(String, String)> {
        if sender.cpu > MAX_NUMBER {
            return Some((
                format!("sender_cpu {}", sender.cpu),
                format!("at most {MAX_NUMBER}"),
            ));
        }
        self.bad_name("sender", &sender.name)
            .or_else(|| self.bad_name("function", &sender.function))
            .or_else(|| self.bad_name("sender_function", &sender.caller))
            .or_else(|| self.bad_name("set_by", &sender.set_by))
    }

    fn bad_name(&mut self, column: &str, name: &Arc<str>) -> Option<(String, String)> {
        if self.good.contains(name) {
            return None;
        }
        if name.len() > MAX_NAME_BYTES || unescaped(name).is_none() {
            return Some((
                format!("{column} {}", quoted(name.as_bytes())),
                format!("at most {MAX_NAME_BYTES} bytes of visible text, all else as \\xNN"),
            ));
        }
        if self.good.len() == MOST_NAMES {
            self.good.clear();
        }
        self.good.insert(name.clone());
        None
    }
}

fn bad_wait(ticks: u64) -> Option<(String, String)> {
    (ticks > MAX_TICKS).then(|| {
        (
            format!("waited_ticks {ticks}"),
            format!("at most {MAX_TICKS}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(start: u64, duration: u64) -> KernelEvent {
        KernelEvent {
            start,
            duration,
            name: "timer".into(),
            ..KernelEvent::default()
        }
    }

    #[test]
    fn events_may_lie_within_one_another() {
        let mut order = EventOrder::default();
        assert_eq!(
            order.check(&[event(5, 100), event(5, 10), event(7, 3)]),
            Ok(())
        );
        assert_eq!(order.check(&[event(7, 3)]), Ok(()));
    }

    #[test]
    fn each_disorder_is_found_in_its_row() {
        let named = |name: &str| KernelEvent {
            name: name.into(),
            ..event(9, 1)
        };
        let number = KernelEvent {
            number: 1 << 31,
            ..event(9, 1)
        };
        for (wrong, found) in [
            (event(8, 1), "start 8"),
            (event(9, u64::MAX), "an event of 18446744073709551615 ticks"),
            (number, "number 2147483648"),
            (named("a\x1b"), "name \"a\\u{1b}\""),
            (named(r"a\b"), "name \"a\\\\b\""),
            (
                named(&"x".repeat(1025)),
                "name \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"",
            ),
        ] {
            let mut order = EventOrder::default();
            order.check(&[event(9, 1)]).unwrap();
            let disorder = order.check(&[event(9, 0), wrong]).unwrap_err();
            assert_eq!((disorder.row, &*disorder.found), (2, found));
        }
    }
}
