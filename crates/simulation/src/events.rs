//! What the simulated machine's operating system tells of its absences: kernel events, as a real one's tracepoints tell them.
//!
//! [`crate::world`] tells when an absence begins; [`crate::sink`] takes the events that are over. An absence that begins during another
//! one lengthens it, so its event lies within the other's: an interrupt in a task's time. What has no event, such as the host's doing,
//! lengthens those that it falls into all the same, as it does where time is read from a clock that goes on.

use bandscope_recording::{EventKind, KernelEvent};
use std::collections::VecDeque;
use std::sync::Arc;

/// Bound of the error of an event's time, in ticks: times are cut to whole ticks, as the readings of the clock are.
pub(crate) const TIME_ERROR_TICKS: f64 = 1.0;

/// What the kernel tells of an absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it was.
    pub kind: EventKind,
    /// Number of the vector or interrupt, or the task's id.
    pub number: u32,
    /// As the kernel would name it.
    pub name: Arc<str>,
}

/// One event, in ticks since the machine's start.
#[derive(Clone, Debug)]
struct Event {
    start: f64,
    end: f64,
    told: Told,
}

/// Events in order of their starts, until somebody takes them.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    events: VecDeque<Event>,
    /// How many were taken.
    taken: usize,
    /// Numbers of those that may not be over yet, each within the one before.
    open: Vec<usize>,
}

impl EventLog {
    /// At `at` the CPU goes away for `length`, of which the kernel tells this.
    pub(crate) fn away(&mut self, at: f64, length: f64, told: Option<&Told>) {
        while let Some(&innermost) = self.open.last() {
            if innermost >= self.taken && self.events[innermost - self.taken].end > at {
                break;
            }
            self.open.pop();
        }
        for &number in &self.open {
            self.events[number - self.taken].end += length;
        }
        if let Some(told) = told {
            self.open.push(self.taken + self.events.len());
            self.events.push_back(Event {
                start: at,
                end: at + length,
                told: told.clone(),
            });
        }
    }

    /// Takes the events that are over at `now` and, as no event may come before one that began earlier, have none before them that is
    /// not; those since `origin`, in ticks since then.
    pub(crate) fn take(&mut self, now: f64, origin: u64) -> Vec<KernelEvent> {
        let mut taken = Vec::new();
        while let Some(event) = self.events.pop_front_if(|event| event.end <= now) {
            self.taken += 1;
            let (start, end) = (event.start as u64, event.end as u64);
            if start >= origin {
                taken.push(KernelEvent {
                    start: start - origin,
                    duration: end - start,
                    kind: event.told.kind,
                    number: event.told.number,
                    name: event.told.name,
                    ..KernelEvent::default()
                });
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str) -> Told {
        Told {
            kind: EventKind::Interrupt,
            number: 3,
            name: name.into(),
        }
    }

    fn spans(log: &mut EventLog, now: f64) -> Vec<(u64, u64, String)> {
        let events = log.take(now, 100).into_iter();
        events
            .map(|event| (event.start, event.duration, event.name.to_string()))
            .collect()
    }

    #[test]
    fn what_comes_during_an_event_lies_within_it() {
        let mut log = EventLog::default();
        log.away(110.0, 50.0, Some(&told("outer")));
        log.away(120.0, 5.0, Some(&told("inner")));
        // The host's doing, which nobody tells.
        log.away(130.0, 20.0, None);
        log.away(186.0, 4.0, Some(&told("later")));
        assert_eq!(spans(&mut log, 184.9), []);
        let name = str::to_owned;
        assert_eq!(
            spans(&mut log, 185.0),
            [(10, 75, name("outer")), (20, 5, name("inner"))]
        );
        // What was taken is over.
        log.away(187.0, 2.0, None);
        assert_eq!(spans(&mut log, 1e3), [(86, 6, name("later"))]);
    }

    #[test]
    fn what_happened_before_the_recording_is_not_in_it() {
        let mut log = EventLog::default();
        log.away(10.0, 5.0, Some(&told("early")));
        log.away(100.5, 5.0, Some(&told("first")));
        assert_eq!(spans(&mut log, 1e3), [(0, 5, "first".to_owned())]);
    }
}
