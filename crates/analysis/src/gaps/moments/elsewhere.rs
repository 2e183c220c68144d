//! What other CPUs did in a moment, what ran around it on all of them, and which of the user's tracepoints were passed near it.

use super::Hit;
use super::PARTS;
use super::recent::longest_first;
use crate::gaps::naming::Processes;
use crate::series::context::Context;
use bandscope_recording::{Error, EventKind, KernelEvent, Source};
use bandscope_report::{Cause, Elsewhere, Moment, Noted, Part, Span, Track};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// Tracepoints of the user's that are listed of a moment, and how long before it they count, in seconds.
const EVENTS: usize = 32;
const BEFORE_S: f64 = 1e-3;
/// Of one CPU and moment, so many are looked at.
const MOST_EVENTS: usize = 4096;

/// A timeline reaches as far beyond a moment as the moment is long, and to the wake-ups behind it, within these bounds, in seconds.
const AROUND_S: (f64, f64) = (100e-6, 10e-3);
/// So that a wake-up is not its very edge.
const SPARE: f64 = 1.2;
/// CPUs of a timeline at most, and what ran on one: the longest.
const MAX_TRACKS: usize = 16;
const MAX_SPANS: usize = 32;

/// Adds to moments what ran on `cpu`: around them, and meanwhile if it is another CPU's.
pub fn elsewhere(
    source: &dyn Source,
    cpu: u32,
    processes: &Processes,
    found: &mut [(Hit, Moment)],
    context: &Context,
) -> Result<(), Error> {
    // Beyond what was kept nobody knows who ran.
    let catch = source.manifest().settings.catch.as_ref();
    let kept = catch.map_or(f64::INFINITY, |catch| context.ticks(catch.around_s));
    let bounds = (context.ticks(AROUND_S.0), context.ticks(AROUND_S.1));
    let clamped = |length: f64| length.clamp(bounds.0, bounds.1).min(kept);
    let around = |(hit, moment): &(Hit, Moment)| {
        // A timer was set long before it expired, and did not wait.
        let of_others = (moment.behind.iter()).filter(|chain| !chain.cause.starts_with("timer:"));
        let waited = of_others.map(|chain| chain.waited_ns);
        let waited = SPARE * context.ticks(waited.fold(0.0, f64::max) / 1e9);
        clamped(waited.max((hit.to - hit.from) as f64)) as u64
    };
    let hits = found.iter().map(|one| Stays::new(&one.0, around(one)));
    let mut stays: Vec<Stays> = hits.collect();
    let mut to_come: VecDeque<usize> = (0..stays.len()).collect();
    (to_come.make_contiguous()).sort_by_key(|&place| stays[place].first());
    let mut stream = source.events_of(cpu)?;
    let mut events = Vec::new();
    while stream.next(&mut events)? {
        for event in &events {
            match event.kind {
                EventKind::Exception => {}
                EventKind::Tracepoint => note(event, cpu, found, context),
                _ => {
                    let cause = processes.cause(event);
                    see(event, &cause, &mut stays, &mut to_come);
                }
            }
        }
    }
    for ((_, moment), mut stays) in found.iter_mut().zip(stays) {
        moment.around_ns = context.ns(stays.around as f64).round() as u64;
        if let Some(track) = stays.track(cpu, context) {
            moment.timeline.push(track);
        }
        if moment.timeline.len() >= 2 * MAX_TRACKS {
            busiest(&mut moment.timeline, moment.cpu);
        }
        if moment.cpu != Some(cpu) {
            let parts = stays.ran.into_iter().filter(|(_, ticks)| *ticks > 0);
            let ran = parts.map(|(cause, ticks)| Part {
                cause,
                ns: context.ns(ticks as f64),
            });
            let mut ran = longest_first(ran.collect());
            ran.truncate(PARTS);
            moment.others.push(Elsewhere { cpu, ran });
        }
    }
    Ok(())
}

/// Shows an event to the stretches that it is near to: events come in order of time, and so are those of `to_come`, which have not ended before.
fn see(event: &KernelEvent, cause: &Cause, stays: &mut [Stays], to_come: &mut VecDeque<usize>) {
    let is_over = |place: &mut usize| stays[*place].last() <= event.start;
    while to_come.pop_front_if(is_over).is_some() {}
    for &place in &*to_come {
        if stays[place].first() >= event.end() {
            break;
        }
        stays[place].see(event, cause);
    }
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
    left_out: u64,
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
            left_out: 0,
        }
    }

    /// First tick of its timeline.
    fn first(&self) -> u64 {
        self.from.saturating_sub(self.around)
    }

    /// The first tick beyond its timeline.
    fn last(&self) -> u64 {
        self.to.saturating_add(self.around)
    }

    fn see(&mut self, event: &KernelEvent, cause: &Cause) {
        let near = (event.start.max(self.first()), event.end().min(self.last()));
        if near.0 >= near.1 {
            return;
        }
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
        self.open.push((cause.clone(), event.end()));
    }

    fn keep_the_longest(&mut self) {
        (self.seen).sort_by_key(|(from, to, ..)| (Reverse(to - from), *from));
        self.left_out += self.seen.len().saturating_sub(MAX_SPANS) as u64;
        self.seen.truncate(MAX_SPANS);
    }

    /// What ran around the stretch on `cpu`, in order of time; `None` where nothing did.
    fn track(&mut self, cpu: u32, context: &Context) -> Option<Track> {
        self.keep_the_longest();
        self.seen.sort_by_key(|(from, _, _, depth)| (*from, *depth));
        let seen = self.seen.drain(..).map(|(from, to, cause, depth)| Span {
            cause,
            at_ns: context.ns(from as f64 - self.from as f64).round() as i64,
            ns: context.ns((to - from) as f64).round() as u64,
            depth,
        });
        let spans: Vec<Span> = seen.collect();
        let left_out = self.left_out;
        (!spans.is_empty()).then_some(Track {
            cpu,
            spans,
            left_out,
        })
    }
}

/// Keeps of a timeline the CPU that was away and the busiest others, in order of their numbers.
pub fn busiest(timeline: &mut Vec<Track>, own: Option<u32>) {
    let busy = |track: &Track| -> u64 {
        let outermost = track.spans.iter().filter(|span| span.depth == 0);
        outermost.map(|span| span.ns).sum()
    };
    timeline.sort_by_key(|track| (Some(track.cpu) != own, Reverse(busy(track))));
    timeline.truncate(MAX_TRACKS);
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
            gaps: 100,
            main: None,
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
        let mut see = |event: KernelEvent| {
            stays.see(&event, &Processes::default().cause(&event));
        };
        see(event(0, 150, EventKind::Task, "make"));
        see(event(90, 30, EventKind::Interrupt, "eth0"));
        see(event(110, 5, EventKind::Softirq, "NET_RX"));
        see(event(150, 100, EventKind::Task, "cc1"));
        see(event(260, 100, EventKind::Task, "as"));
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
