//! Logs of injected disturbances, `bandscope.disturbances/1`: what a disturber really did, on the clock of recordings.
//!
//! `bandscope inject` writes them (`experiments::inject` does the work); whatever holds a recording against its truth reads them.
//! A log is a text file of JSON, one object a line, so that a killed run keeps its rows: a [`Header`] first, then one
//! [`Disturbance`] a line in order of time, and an [`End`] if the run ended in order (docs/inject.md). Times are raw ticks
//! of the hardware counter; a recording of the same boot has the tick of its origin in `clock.origin_ticks`.
//!
//! # Versions
//! As of recordings: within `/1` fields are only ever added, each with a default, and unknown ones are ignored.

mod intervals;
mod read;
mod write;

use crate::manifest::{Clock, Missing, State};
pub use intervals::Intervals;
pub use read::{Log, parse, read};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use write::Writer;

/// The schema that this version writes, and the only major version that it reads.
pub const SCHEMA: &str = "bandscope.disturbances/1";

/// The first line: what was to be done, by whom, and on which clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// Program and version, as in `bandscope 0.1.0`.
    pub tool: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// Kind of disturber, as given: `task`, `signal`, `faults`, `softirq`, or `neighbour:` and its state.
    pub kind: String,
    /// CPU that the disturber ran on.
    pub cpu: u32,
    /// What was asked for.
    pub settings: Settings,
    /// The thread that disturbed.
    pub task: Task,
    /// The clock of all times. `origin_ticks` is a raw tick, at which the wall clock read `origin_unix_ns`; `readings`
    /// are relative to it.
    pub clock: Clock,
    /// The disturber saw that it was itself away if its own clock jumped by more than so many ticks; `None` for kinds
    /// that cannot tell their own work from an absence, whose disturbances have no `away`.
    pub away_threshold_ticks: Option<u64>,
    /// What could not be had, why, and what that leaves undecided.
    pub missing: Vec<Missing>,
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Seconds from one planned start to the next, without jitter.
    pub period_s: f64,
    /// Seconds that a disturbance lasts.
    pub length_s: f64,
    /// Full width of the uniform scatter of planned starts about the regular ones, in seconds.
    pub jitter_s: f64,
    /// Seed of the scatter.
    pub seed: u64,
    /// Seconds that the run was to last; `None` where it lasted as long as a command, or until a signal.
    pub duration_s: Option<f64>,
    /// The command that ran meanwhile: its words after `bandscope`, as it was started. Empty where there was none.
    pub then: Vec<String>,
}

/// The thread that disturbed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// Its name as the kernel has it, made fit for text as that of a kernel event ([`crate::events::escaped`]).
    pub name: String,
    /// Process id, in the disturber's own namespace.
    pub pid: u32,
    /// Thread id, likewise.
    pub thread: u32,
    /// Scheduling policy: `fifo` (real-time: it preempts at once), `other` (it waits for its turn).
    pub policy: String,
    /// Real-time priority; 0 for `other`.
    pub priority: u32,
}

/// One disturbance. What it took from the CPU is `start` to `end` without `away`, and the switch to it and back, which no
/// program can time: `cpu_ns` has most of that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Raw tick at which it should have begun.
    pub planned: u64,
    /// Raw tick of the disturber's first clock read.
    pub start: u64,
    /// Raw tick of its last.
    pub end: u64,
    /// Spans between the two, first and last tick of each, in which the disturber was itself away: interrupted,
    /// preempted, or its whole machine stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub away: Vec<(u64, u64)>,
    /// CPU time that the kernel booked to the disturber since the disturbance before, in nanoseconds: this one, and the
    /// kernel's part of going to sleep and waking up. Interrupts during it count unless the kernel accounts them apart.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// Times that the kernel took the CPU from the disturber during it.
    #[serde(default)]
    pub preempted: u64,
    /// What it did, by kind: page faults taken, packets received, naps.
    #[serde(default)]
    pub events: u64,
}

/// The last line, if the run ended in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// How: `complete`, `interrupted` (a signal) or `failed`.
    pub state: State,
    /// Disturbances in the log.
    #[serde(default)]
    pub disturbances: u64,
    /// Planned starts that had passed before the disturber could sleep, and so did not happen.
    #[serde(default)]
    pub skipped: u64,
    /// Disturbances that happened and did not fit into memory: where this is not 0 the log is not the whole truth.
    #[serde(default)]
    pub lost: u64,
    /// Why, where it failed.
    #[serde(default)]
    pub why: Option<String>,
    /// The clock, calibrated over the whole run.
    #[serde(default)]
    pub clock: Clock,
    /// What the kernel counted on that CPU during the run, where it bears witness: `softirq:NET_RX`, `idle:NAME:us`.
    #[serde(default)]
    pub kernel_counts: BTreeMap<String, u64>,
}

impl Header {
    /// Whether the disturber took its time from `cpu`; a neighbour ran there beside the measured CPU.
    pub fn takes_the_cpu(&self) -> bool {
        !self.kind.starts_with("neighbour")
    }
}

impl Disturbance {
    /// The spans in which it really had the CPU.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, u64)> {
        let begins = std::iter::once(self.start).chain(self.away.iter().map(|away| away.1));
        let ends = self.away.iter().map(|away| away.0);
        begins.zip(ends.chain(std::iter::once(self.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_away_cuts_a_disturbance_into_pieces() {
        let mut disturbance = Disturbance {
            start: 10,
            end: 100,
            ..Disturbance::default()
        };
        assert!(disturbance.pieces().eq([(10, 100)]));
        disturbance.away = vec![(20, 30), (90, 95)];
        assert!(disturbance.pieces().eq([(10, 20), (30, 90), (95, 100)]));
    }
}
