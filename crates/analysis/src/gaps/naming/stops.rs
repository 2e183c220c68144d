//! Stops of the measuring thread: while it is stopped or frozen nobody takes its time, whatever runs meanwhile.

use super::{Namer, cause};
use crate::gaps::quota::stopped_by;
use bandscope_recording::manifest::{EventsState, State};
use bandscope_recording::{EventKind, Gap, KernelEvent, Series, Source};
use bandscope_report::Cause;

fn is_stop(cause: &Cause) -> bool {
    matches!(cause, Cause::Stopped | Cause::Frozen)
}

/// Stops that no kernel event tells, of a series whose events were not recorded.
#[derive(Debug, Default)]
pub(super) struct Stops {
    quota: Option<Unseen>,
    off_queue: Option<Unseen>,
}

/// Preemptions that only their length tells from others.
#[derive(Debug)]
struct Unseen {
    /// Ticks that one of them takes at least.
    shortest: u64,
    /// Ticks of them that may still come.
    left: u64,
}

/// Share of the mean stop by a quota that a preemption takes at least to be one. Stops of several CPUs are counted together, so the mean is too
/// long by their number at most.
const STOP_SHARE: f64 = 0.3;

/// Time off the run queue that is more than an error of the scheduler's statistics, which are short by up to a tick, more than signals take,
/// which rseq does not tell from a preemption, and more than a host takes at once: 43 ms were seen (`machines/real memory-elsewhere`).
pub const MIN_STOPPED_NS: f64 = 100e6;

impl Stops {
    /// Those of series `index`.
    pub(super) fn of(source: &dyn Source, index: usize) -> Stops {
        match source.events_known(index).state {
            EventsState::On => Stops::default(),
            EventsState::Off | EventsState::Unavailable => Stops {
                quota: Unseen::by_quota(source, index),
                off_queue: Unseen::off_queue(source, index),
            },
        }
    }

    /// What stopped the thread for so many ticks, if anything is known to: so much less may still come.
    pub(super) fn take(&mut self, ticks: u64) -> Option<Cause> {
        let takes =
            |unseen: &mut Option<Unseen>| unseen.as_mut().is_some_and(|one| one.take(ticks));
        if takes(&mut self.quota) {
            return Some(Cause::QuotaThrottled);
        }
        takes(&mut self.off_queue).then_some(Cause::Stopped)
    }
}

impl Unseen {
    /// Stops by the quota of a control group, of which the kernel counted the time of all CPUs together. All series of the recording have an equal
    /// part of it; stops do not fall evenly, so each of several may have one stop more.
    fn by_quota(source: &dyn Source, index: usize) -> Option<Unseen> {
        let (manifest, series) = (source.manifest(), source.series());
        let quota = stopped_by(manifest)?;
        // The manifest is that of the first input.
        let is_its = |one: &&Series| one.origin == series[0].origin;
        let sharing = series.iter().filter(is_its).count();
        let all = quota.throttled_ns as f64 * manifest.clock.ticks_per_ns;
        let mean = all / quota.throttled as f64;
        is_its(&&series[index]).then(|| Unseen {
            shortest: (mean * STOP_SHARE) as u64,
            left: (all / sharing as f64 + mean).min(all) as u64,
        })
    }

    /// Stops by signals and freezers. The thread's own statistics say how long it ran and how long it waited for the CPU: the rest of the run it was
    /// off the run queue. `None` where nothing was stopped, or nobody knows.
    fn off_queue(source: &dyn Source, index: usize) -> Option<Unseen> {
        let (manifest, series) = (source.manifest(), source.series());
        let is_one = series.iter().all(|one| one.origin == series[0].origin);
        let known = is_one && manifest.state == State::Complete && manifest.stopped_by.is_empty();
        let mut schedstat = manifest.schedstat.iter().filter(|_| known);
        let mine = schedstat.find(|one| Some(one.cpu) == series[index].cpu)?;
        if mine.was_never_stopped() {
            return None;
        }
        let (ran, waited) = (mine.run_ns as f64, mine.wait_ns as f64);
        let away = manifest.settings.duration_s * 1e9 - ran;
        let ticks = |ns: f64| (ns * manifest.clock.ticks_per_ns) as u64;
        (away - waited >= MIN_STOPPED_NS).then(|| Unseen {
            // What takes longer is no wait: all waits of the run together took less.
            shortest: ticks(waited + MIN_STOPPED_NS).saturating_add(1),
            left: ticks(away + MIN_STOPPED_NS),
        })
    }

    /// Whether a preemption of so many ticks is one of them.
    fn take(&mut self, ticks: u64) -> bool {
        let is_one = (self.shortest..=self.left).contains(&ticks);
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
