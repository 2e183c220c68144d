//! What other CPUs did in a moment, what ran around it on all of them, and which of the user's tracepoints were passed near it.

use super::{Hit, longest};
use crate::gaps::named::cause;
use crate::series::context::Context;
use bandscope_recording::{Error, EventKind, KernelEvent, Source};
use bandscope_report::{Cause, Elsewhere, Moment, Noted, Part, Span, Track};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Tracepoints of the user's that are listed of a moment, and how long before it they count, in seconds.
const EVENTS: usize = 32;
const BEFORE_S: f64 = 1e-3;
/// Of one CPU and moment, so many are looked at.
const MOST_EVENTS: usize = 4096;

/// A timeline reaches as far beyond a moment as the moment is long, within these bounds, in seconds.
const AROUND_S: (f64, f64) = (100e-6, 10e-3);
/// CPUs of a timeline, and what ran on one: the longest.
const TRACKS: usize = 16;
const SPANS: usize = 32;

/// Adds to moments what ran on `cpu`: around them, and meanwhile if it is another CPU's.
pub fn elsewhere(
    source: &dyn Source,
    cpu: u32,
    found: &mut [(Hit, Moment)],
    context: &Context,
) -> Result<(), Error> {
    let bounds = (context.ticks(AROUND_S.0), context.ticks(AROUND_S.1));
    let around = |hit: &Hit| ((hit.to - hit.from) as f64).clamp(bounds.0, bounds.1) as u64;
    let hits = found.iter().map(|(hit, _)| Stays::new(hit, around(hit)));
    let mut stays: Vec<Stays> = hits.collect();
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
    for ((_, moment), mut stays) in found.iter_mut().zip(stays) {
        moment.around_ns = context.ns(stays.around as f64).round() as u64;
        let spans = stays.spans(context);
        if !spans.is_empty() {
            moment.timeline.push(Track { cpu, spans });
        }
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

/// What ran on one CPU in a stretch, where the innermost of the events that lie within one another counts, and around it.
struct Stays {
    from: u64,
    to: u64,
    around: u64,
    ran: BTreeMap<Cause, i64>,
    /// Cause and end of what holds the next event, outermost first.
    open: Vec<(Cause, u64)>,
    /// Start, end, cause and depth of what ran around the stretch, too.
    seen: Vec<(u64, u64, Cause, u32)>,
}

impl Stays {
    fn new(hit: &Hit, around: u64) -> Stays {
        Stays {
            from: hit.from,
            to: hit.to,
            around,
            ran: BTreeMap::new(),
            open: Vec::new(),
            seen: Vec::new(),
        }
    }

    fn see(&mut self, event: &KernelEvent) {
        let (first, last) = (self.from.saturating_sub(self.around), self.to + self.around);
        let near = (event.start.max(first), event.end().min(last));
        if near.0 >= near.1 {
            return;
        }
        let cause = cause(event);
        self.open.retain(|(_, end)| *end > event.start);
        let (from, to) = (event.start.max(self.from), event.end().min(self.to));
        if from < to {
            if let Some((around, _)) = self.open.last() {
                *self.ran.entry(around.clone()).or_default() -= (to - from) as i64;
            }
            *self.ran.entry(cause.clone()).or_default() += (to - from) as i64;
        }
        let depth = self.open.len() as u32;
        self.seen.push((near.0, near.1, cause.clone(), depth));
        if self.seen.len() >= MOST_EVENTS {
            self.keep_the_longest();
        }
        self.open.push((cause, event.end()));
    }

    fn keep_the_longest(&mut self) {
        (self.seen).sort_by_key(|(from, to, ..)| (Reverse(to - from), *from));
        self.seen.truncate(SPANS);
    }

    /// The longest that ran around the stretch, in order of time.
    fn spans(&mut self, context: &Context) -> Vec<Span> {
        self.keep_the_longest();
        self.seen.sort_by_key(|(from, _, _, depth)| (*from, *depth));
        let seen = self.seen.drain(..);
        seen.map(|(from, to, cause, depth)| Span {
            cause,
            at_ns: context.ns(from as f64 - self.from as f64).round() as i64,
            ns: context.ns((to - from) as f64).round() as u64,
            depth,
        })
        .collect()
    }
}

/// Keeps of a timeline the CPU that was away and the busiest others, in order of their numbers.
pub fn busiest(timeline: &mut Vec<Track>, own: Option<u32>) {
    let busy = |track: &Track| -> u64 {
        let outermost = track.spans.iter().filter(|span| span.depth == 0);
        outermost.map(|span| span.ns).sum()
    };
    timeline.sort_by_key(|track| (Some(track.cpu) != own, Reverse(busy(track))));
    timeline.truncate(TRACKS);
    timeline.sort_by_key(|track| track.cpu);
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
        let mut stays = Stays::new(&hit, 50);
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
        // Around it, too, each whole but for the ends.
        let seen: Vec<_> = (stays.seen.iter())
            .map(|(from, to, cause, depth)| (*from, *to, cause.to_string(), *depth))
            .collect();
        let wanted = [
            (50, 150, "task:make", 0),
            (90, 120, "irq:eth0", 1),
            (110, 115, "softirq:NET_RX", 2),
            (150, 250, "task:cc1", 0),
        ];
        let wanted = wanted.map(|(from, to, name, depth)| (from, to, name.to_owned(), depth));
        assert_eq!(seen, wanted);
        let ran: Vec<(String, i64)> = (stays.ran)
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
