//! What other CPUs did in a moment, and which of the user's tracepoints were passed near it.

use super::{Hit, longest};
use crate::gaps::named::cause;
use crate::series::context::Context;
use bandscope_recording::{Error, EventKind, KernelEvent, Source};
use bandscope_report::{Cause, Elsewhere, Moment, Noted, Part};
use std::collections::BTreeMap;

/// Tracepoints of the user's that are listed of a moment, and how long before it they count, in seconds.
const EVENTS: usize = 32;
const BEFORE_S: f64 = 1e-3;
/// Of one CPU and moment, so many are looked at.
const MOST_EVENTS: usize = 4096;

/// Adds to moments of other CPUs what ran on `cpu`.
pub fn elsewhere(
    source: &dyn Source,
    cpu: u32,
    found: &mut [(Hit, Moment)],
    context: &Context,
) -> Result<(), Error> {
    let mut stays: Vec<Stays> = found.iter().map(|(hit, _)| Stays::new(hit)).collect();
    let mut stream = source.events_of(cpu)?;
    let mut events = Vec::new();
    while stream.next(&mut events)? {
        for event in &events {
            match event.kind {
                EventKind::Exception => {}
                EventKind::Tracepoint => note(event, cpu, found, context),
                _ => stays.iter_mut().for_each(|stay| stay.see(event)),
            }
        }
    }
    for ((_, moment), stays) in found.iter_mut().zip(stays) {
        if moment.cpu != Some(cpu) {
            let parts = stays.ran.into_iter().filter(|(_, ticks)| *ticks > 0);
            let ran = parts.map(|(cause, ticks)| Part {
                cause,
                ns: context.ns(ticks as f64),
            });
            moment.others.push(Elsewhere {
                cpu,
                ran: longest(ran.collect()),
            });
        }
    }
    Ok(())
}

/// Adds a tracepoint to the moments that it is near to.
fn note(event: &KernelEvent, cpu: u32, found: &mut [(Hit, Moment)], context: &Context) {
    let before = context.ticks(BEFORE_S) as u64;
    let near = |hit: &Hit| (hit.from.saturating_sub(before)..hit.to).contains(&event.start);
    let has_room = |moment: &Moment| moment.events.len() < MOST_EVENTS;
    let near = |(hit, moment): &&mut (Hit, Moment)| near(hit) && has_room(moment);
    for (hit, moment) in found.iter_mut().filter(near) {
        moment.events.push(Noted {
            cpu,
            at_ns: context.ns(event.start as f64 - hit.from as f64),
            text: event.name.to_string(),
        });
    }
}

/// What ran on one CPU in a stretch: the innermost of the events that lie within one another.
struct Stays {
    from: u64,
    to: u64,
    ran: BTreeMap<Cause, i64>,
    /// Cause and end of what holds the next event, outermost first.
    open: Vec<(Cause, u64)>,
}

impl Stays {
    fn new(hit: &Hit) -> Stays {
        Stays {
            from: hit.from,
            to: hit.to,
            ran: BTreeMap::new(),
            open: Vec::new(),
        }
    }

    fn see(&mut self, event: &KernelEvent) {
        let (from, to) = (event.start.max(self.from), event.end().min(self.to));
        if from >= to {
            return;
        }
        let cause = cause(event);
        self.open.retain(|(_, end)| *end > event.start);
        if let Some((around, _)) = self.open.last() {
            *self.ran.entry(around.clone()).or_default() -= (to - from) as i64;
        }
        *self.ran.entry(cause.clone()).or_default() += (to - from) as i64;
        self.open.push((cause, event.end()));
    }
}

/// Keeps those that are nearest to the beginning of a moment, in order of time.
pub fn nearest(events: &mut Vec<Noted>) {
    events.sort_by(|a, b| a.at_ns.abs().total_cmp(&b.at_ns.abs()));
    events.truncate(EVENTS);
    events.sort_by(|a, b| a.at_ns.total_cmp(&b.at_ns));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_event_has_the_time() {
        let hit = Hit {
            condition: 0,
            from: 100,
            to: 200,
            lost: 100,
            goes_on: false,
        };
        let mut stays = Stays::new(&hit);
        let event = |start, duration, kind, name: &str| KernelEvent {
            start,
            duration,
            kind,
            name: name.into(),
            ..KernelEvent::default()
        };
        stays.see(&event(0, 150, EventKind::Task, "make"));
        stays.see(&event(90, 30, EventKind::Interrupt, "eth0"));
        stays.see(&event(110, 5, EventKind::Softirq, "NET_RX"));
        stays.see(&event(150, 100, EventKind::Task, "cc1"));
        stays.see(&event(260, 100, EventKind::Task, "as"));
        let ran: Vec<(String, i64)> = stays
            .ran
            .into_iter()
            .map(|(cause, ticks)| (cause.to_string(), ticks))
            .collect();
        let wanted = [
            ("irq:eth0", 15),
            ("softirq:NET_RX", 5),
            ("task:cc1", 50),
            ("task:make", 30),
        ];
        assert_eq!(ran, wanted.map(|(name, ticks)| (name.to_owned(), ticks)));
    }
}
