//! What can be said of CPUs while they are being measured: quanta, gaps and kernel events in as they come, what is shown of them out.
//!
//! The formulas and the words are the report's, so that a live view and the report of the same run agree: the ledger's sums
//! (`ledger.rs`), the names of gaps (`naming.rs`), the modes of pace (`bands.rs`). What needs the whole run, which
//! is edges, signals and findings, is the report's alone. Two things are known later than here: a best pace that is yet to be
//! seen, for which the account since the start is made up again each second; and where kernel events were lost, which the
//! run says at its end: a gap of such a span is `host` here and `unnamed` in the report. Without kernel events a stop by a quota or a signal is
//! `preempted` here: what tells it, counts and sums of the whole run, is read at its end.
//!
//! Nothing here knows the time of day: seconds are those of the recording, so the same quanta always give the same view.

pub mod flight;
mod history;
mod lane;
mod meter;
#[cfg(test)]
mod tests;

pub use history::{Cell, History, Level, PACE_BINS_PER_OCTAVE, pace_of_bin};

use bandscope_recording::manifest::TaskThread;
use bandscope_recording::{Gap, KernelEvent, Manifest, Quanta};
use bandscope_report::{Ledger, LongGap};
use lane::Lane;

/// Closed seconds that wait for [`Monitor::take_seconds`], of each CPU; older ones are forgotten.
const WAITING_SECONDS: usize = 120;

/// Looks on while CPUs are measured.
pub struct Monitor {
    lanes: Vec<Lane>,
    /// First tick of the first quantum, which is 0 s; `None` before it.
    base: Option<u64>,
    seconds: Vec<Second>,
}

/// What is known at some moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// By CPU, in the order in which they were asked for.
    pub cpus: Vec<Cpu>,
    /// How often a condition was met, where a flight recorder looks on as well.
    pub caught: u64,
}

/// One CPU at some moment.
#[derive(Clone, Debug, Default)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// How much of it was measured, from the start of the run to the end of the last quantum, in seconds.
    pub measured_s: f64,
    /// The last whole second.
    pub now: Second,
    /// Since the start, up to the end of that second.
    pub whole: Ledger,
    /// Gaps since the start, up to the same moment.
    pub gaps: u64,
    /// The longest of them, the longest first.
    pub longest: Vec<LongGap>,
    /// Where the time went, cell by cell.
    pub history: History,
}

/// One second of one CPU; of the last one of a run, what there is.
#[derive(Clone, Debug, Default)]
pub struct Second {
    /// The CPU.
    pub cpu: u32,
    /// Number of the second, from 1: it ended so many seconds after the start of the run. 0 is none.
    pub number: u64,
    /// Of the quanta that ended in it.
    pub ledger: Ledger,
    /// Gaps that began in them.
    pub gaps: u64,
    /// The longest of those.
    pub longest: Option<LongGap>,
    /// What ran in it, by work kernel, in the order in which they alternate.
    pub paces: Vec<Pace>,
}

/// The paces of one work kernel in one second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    /// Name of the work kernel.
    pub kernel: String,
    /// Mean time of a unit away from gaps, in nanoseconds.
    pub ns_per_unit: f64,
    /// Best pace of the run so far.
    pub best_ns: f64,
    /// The bands of this second, fastest first.
    pub bands: Vec<Band>,
}

/// A pace that recurs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Mean pace of its quanta.
    pub ns_per_unit: f64,
    /// Relative half width that holds 90 %.
    pub half_width: f64,
    /// Share of the quanta of this second.
    pub share: f64,
    /// Share of the quanta since the start that had a pace of this band.
    pub share_since_start: f64,
}

impl Monitor {
    /// Nothing seen yet of a run with this manifest; `series` are rate and work kernel of each.
    pub fn new(manifest: &Manifest, series: &[(f64, String)]) -> Monitor {
        let lanes = manifest.settings.cpus.iter();
        Monitor {
            lanes: lanes.map(|&cpu| Lane::new(cpu, manifest, series)).collect(),
            base: None,
            seconds: Vec::new(),
        }
    }

    /// Takes note of tasks that are threads of a process, before their events.
    pub fn learn(&mut self, tasks: &[TaskThread]) {
        self.lanes.iter_mut().for_each(|lane| lane.learn(tasks));
    }

    /// Takes what came of one CPU, in order of time; events of whatever time ([`crate::live`] waits for those that come late). What is of a CPU or a series that nobody asked for
    /// is left out.
    pub fn push(
        &mut self,
        cpu: u32,
        series: usize,
        quanta: &Quanta,
        gaps: &[Gap],
        events: &[KernelEvent],
    ) {
        let Some(lane) = self.lanes.iter_mut().find(|lane| lane.cpu() == cpu) else {
            return;
        };
        if let (None, Some(&first)) = (self.base, quanta.start.first()) {
            self.base = Some(first);
        }
        lane.feed(events);
        if let Some(base) = self.base {
            lane.push(series, quanta, gaps, base, &mut self.seconds);
        }
        self.forget();
    }

    /// Closes the last second of each CPU as it is. To be called at the end.
    pub fn finish(&mut self) {
        let base = self.base.unwrap_or(0);
        for lane in &mut self.lanes {
            lane.finish(base, &mut self.seconds);
        }
    }

    /// What is known now. Costs little: what does not change any more is shared.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            cpus: self.lanes.iter().map(Lane::show).collect(),
            caught: 0,
        }
    }

    /// The seconds that were closed since this was asked last, in the order in which they were.
    pub fn take_seconds(&mut self) -> Vec<Second> {
        std::mem::take(&mut self.seconds)
    }

    /// Keeps what nobody takes from growing.
    fn forget(&mut self) {
        let most = WAITING_SECONDS * self.lanes.len();
        let over = self.seconds.len().saturating_sub(most);
        self.seconds.drain(..over);
    }
}
