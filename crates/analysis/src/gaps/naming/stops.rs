//! Stops of the measuring thread: while it is stopped or frozen nobody takes its time, whatever runs meanwhile.

use super::{Namer, cause};
use bandscope_recording::manifest::{EventsState, State};
use bandscope_recording::{EventKind, Gap, KernelEvent, Source};
use bandscope_report::Cause;

fn is_stop(cause: &Cause) -> bool {
    matches!(cause, Cause::Stopped | Cause::Frozen)
}

/// Stops that no kernel event tells. The thread's own statistics say how long it ran and how long it waited for the CPU: the rest of the run it was
/// off the run queue.
#[derive(Debug)]
pub(super) struct Stops {
    /// A gap that takes longer is no wait: all waits of the run together took less. In ticks.
    longer_than: u64,
    /// Ticks of such gaps that may still come.
    left: u64,
}

/// Time off the run queue that is more than an error of the scheduler's statistics, which are short by up to a tick, more than signals take,
/// which rseq does not tell from a preemption, and more than a host takes at once: 43 ms were seen (`machines/real memory-elsewhere`).
pub const MIN_STOPPED_NS: f64 = 100e6;

impl Stops {
    /// Those of series `index`; `None` where nothing was stopped, or nobody knows.
    pub(super) fn of(source: &dyn Source, index: usize) -> Option<Stops> {
        let (manifest, series) = (source.manifest(), source.series());
        // The manifest is that of the first input.
        let is_one = series.iter().all(|one| one.origin == series[0].origin);
        let no_events = source.events_known(index).state != EventsState::On;
        let known = is_one
            && no_events
            && manifest.state == State::Complete
            && manifest.stopped_by.is_empty();
        let mut schedstat = manifest.schedstat.iter().filter(|_| known);
        let mine = schedstat.find(|one| Some(one.cpu) == series[index].cpu)?;
        if mine.was_never_stopped() {
            return None;
        }
        let (ran, waited) = (mine.run_ns as f64, mine.wait_ns as f64);
        let away = manifest.settings.duration_s * 1e9 - ran;
        let ticks = |ns: f64| (ns * manifest.clock.ticks_per_ns) as u64;
        (away - waited >= MIN_STOPPED_NS).then(|| Stops {
            longer_than: ticks(waited + MIN_STOPPED_NS),
            left: ticks(away + MIN_STOPPED_NS),
        })
    }

    /// Whether a preemption that took so many ticks is one of them.
    pub(super) fn have(&mut self, ticks: u64) -> bool {
        let is_one = ticks > self.longer_than && ticks <= self.left;
        self.left -= if is_one { ticks } else { 0 };
        is_one
    }
}

impl Namer<'_> {
    /// When an event of a gap ended. A stop goes on where events are lost from its end on: no unit ended in the gap, so the thread did not run on.
    /// Whoever stops this program stops whoever empties the rings of events, too.
    pub(super) fn end(&self, event: &KernelEvent, gap: &Gap) -> u64 {
        let end = event.end();
        if event.kind != EventKind::Held || !is_stop(&cause(event.kind, &event.name)) {
            return end;
        }
        let slack = self.error + self.entry;
        let goes_on = |end: u64, from: u64, to: u64| match from <= end.saturating_add(slack) {
            true => end.max(to.min(gap.start.saturating_add(gap.duration))),
            false => end,
        };
        let lost = self.known.lost.iter();
        let mut lost: Vec<_> = lost
            .filter(|lost| Some(lost.cpu) == self.cpu && lost.to > gap.start)
            .collect();
        lost.sort_by_key(|lost| lost.from);
        lost.iter()
            .fold(end, |end, lost| goes_on(end, lost.from, lost.to))
    }

    /// Leaves out what lies within a stop.
    pub(super) fn hide_in_stops(&mut self) {
        let mut stopped_until = None;
        let names = &self.keys.names;
        self.inside.retain(|span| {
            if is_stop(&names[span.key as usize]) {
                stopped_until = stopped_until.max(Some(span.to));
                return true;
            }
            stopped_until.is_none_or(|until| span.to > until)
        });
    }
}
