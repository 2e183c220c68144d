//! `recording.json`: everything about a run that is not a column.
//!
//! # Versions
//! `schema` is `bandscope.recording/MAJOR`. Within a major version fields are only ever added, each with
//! a default, and a reader ignores fields that it does not know; a reader refuses another major version.

mod catch;
mod clock;
mod counts;
mod events;
mod incident;
mod kernel;
mod machine;
pub(crate) mod ranges;
mod rank;
mod scheduling;
pub mod setup;

pub use catch::{Catch, Trigger, Watched};
pub use clock::{Clock, ClockOrigin, ClockReading, ERROR_PPM, TICKS_PER_NS};
pub use counts::{KernelCount, KernelCounts};
pub use events::{
    Events, EventsCost, EventsState, GapSample, LostEvents, MeasuringThread, TaskThread,
};
pub use incident::{Incident, IncidentKind};
pub use kernel::{Counter, Kernel};
pub use machine::{Machine, OtherTask};
pub use ranges::RATE_HZ;
pub use rank::Rank;
pub use scheduling::{Quota, Schedstat};
pub use setup::Setup;

use ranges::{COUNT, OutOfRange, Ranges, SECONDS, each, inside, number, numbers};
use serde::{Deserialize, Serialize};

/// The schema that this version writes, and the only major version that it reads.
pub const SCHEMA: &str = "bandscope.recording/1";

/// Parts that a directory may have: their names have six digits.
const MAX_PARTS: u32 = 1_000_000;

/// The contents of `recording.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Random name of this run; every part file carries it, so that a part of another run is noticed.
    pub run: String,
    /// Program and version that recorded, as in `bandscope 0.1.0`.
    pub tool: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// Seconds that looking at the machine took before the run; `None` of a simulated one, and in recordings that do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preparation_s: Option<f64>,
    /// How the run ended.
    pub state: State,
    /// What the run loses at most if it is killed, in seconds; `None` of one that has ended, or that keeps all in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_loss_s: Option<f64>,
    /// What was asked for.
    pub settings: Settings,
    /// The clock and its calibration over the whole run.
    pub clock: Clock,
    /// The work kernels that were run, with the result of their self-test.
    pub kernels: Vec<Kernel>,
    /// Counters that were read at gaps, in the order of the counter columns.
    pub counters: Vec<Counter>,
    /// Whether kernel events were recorded, and how far they can be believed.
    pub events: Events,
    /// What the kernel counted on each measured CPU; empty where it does not tell, and in recordings that know none.
    pub kernel_counts: Vec<KernelCounts>,
    /// Scheduler statistics of each measuring thread; empty where the kernel keeps none, and in recordings that know none.
    pub schedstat: Vec<Schedstat>,
    /// CPU quotas of the groups that the process was in, the outermost first; those without one that never stopped it are left out.
    pub quotas: Vec<Quota>,
    /// Facts about the machine, gathered before the run.
    pub machine: Machine,
    /// Which task of a parallel job this was; `None` of a run by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// What a flight recorder saw of each measured CPU; empty where everything was kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<Watched>,
    /// The condition that ended the run, where one did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stopped_by: String,
    /// What did not fit into memory or was cut off.
    pub lost: Lost,
    /// What could not be measured, why, and what that leaves undecided.
    pub missing: Vec<Missing>,
    /// Things that happened during the run: clock jumps, changes of CPU, a CPU that went offline.
    pub incidents: Vec<Incident>,
    /// When speculative store bypass was set for a measuring thread, in order of time; at most 16,384 of them, and then an incident `more-settings`.
    pub store_bypass: Vec<StoreBypassSet>,
    /// What was written, by directory; empty until the run has ended in order. A reader tells by it what
    /// is missing.
    pub parts: Vec<Parts>,
}

impl Ranges for Manifest {
    fn check(&self) -> Result<(), OutOfRange> {
        number("preparation_s", self.preparation_s, &SECONDS)?;
        inside("settings", &self.settings)?;
        inside("clock", &self.clock)?;
        each("kernels", &self.kernels)?;
        each("counters", &self.counters)?;
        inside("events", &self.events)?;
        each("kernel_counts", &self.kernel_counts)?;
        each("schedstat", &self.schedstat)?;
        each("quotas", &self.quotas)?;
        inside("machine", &self.machine)?;
        self.rank.iter().try_for_each(|rank| inside("rank", rank))?;
        each("watched", &self.watched)?;
        inside("lost", &self.lost)?;
        each("parts", &self.parts)
    }
}

impl Manifest {
    /// Whether this stands for a file of counts, which says nothing of its machine.
    pub fn is_imported(&self) -> bool {
        self.clock.origin == ClockOrigin::Imported
    }

    /// Whether it holds moments that were caught, and nothing of the time between.
    pub fn keeps_moments(&self) -> bool {
        (self.settings.catch.as_ref()).is_some_and(Catch::keeps_moments)
    }

    /// Whether a counter of the CPU tells a lower frequency from a slower core state.
    pub fn has_cycles(&self) -> bool {
        let mut counters = self.counters.iter();
        counters.any(|counter| counter.name.starts_with("cycles"))
    }

    /// The work kernel of that name, where it was described.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// The parts of one directory of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parts {
    /// Directory inside the recording, as in `quanta/cpu=1/rate=10000/kernel=mulss80`.
    pub path: String,
    /// Number of part files, numbered from 0.
    pub parts: u32,
    /// Rows in all of them together.
    pub rows: u64,
}

impl Ranges for Parts {
    fn check(&self) -> Result<(), OutOfRange> {
        number("parts", self.parts, &(0..=MAX_PARTS))?;
        number("rows", self.rows, &COUNT)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The run goes on, or it was killed: no end was ever written.
    #[default]
    Recording,
    /// It ran as long as it should.
    Complete,
    /// A signal ended it early.
    Interrupted,
    /// An error ended it early, such as a full disk.
    Failed,
}

/// What was asked for, after defaults were filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// `this` or `simulated:SCENARIO`.
    pub machine: String,
    /// CPUs that were measured.
    pub cpus: Vec<u32>,
    /// Rates in hertz, in the order in which segments alternate.
    pub rates_hz: Vec<f64>,
    /// Work kernels, in the order in which segments alternate.
    pub kernels: Vec<String>,
    /// Length of a segment in seconds.
    pub segment_s: f64,
    /// Length of the run in seconds, all segments together.
    pub duration_s: f64,
    /// How long the work kernel ran before the first quantum, in seconds.
    pub start_delay_s: f64,
    /// How the clock is read inside a quantum: `plain` or `ordered`.
    pub clock_read: String,
    /// Whether everything was kept in memory until the end.
    pub buffered: bool,
    /// Whether kernel events were asked for: `auto`, `on` or `off`; empty in recordings that know none.
    pub trace: String,
    /// Speculative store bypass of the measuring threads: `leave`, `on`, `off` or `alternate`; empty in recordings that know none.
    pub store_bypass: String,
    /// Why these CPUs, where nobody named them; empty where somebody did, and in recordings that know none.
    pub chosen: String,
    /// Real-time priority of the measuring threads, as in `fifo:1`; empty where they were ordinary tasks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub priority: String,
    /// Control groups that the process joined for the run, by directory. Untrusted, escaped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub control_groups: Vec<String>,
    /// CPUs that the program's own threads were to use, as in `0,2-5`; empty for any that was not measured.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub housekeeping: String,
    /// What was to be caught; `None` where everything was kept, and nothing was to end the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch: Option<Catch>,
}

impl Ranges for Settings {
    fn check(&self) -> Result<(), OutOfRange> {
        numbers("rates_hz", &self.rates_hz, &RATE_HZ)?;
        number("segment_s", self.segment_s, &SECONDS)?;
        number("duration_s", self.duration_s, &SECONDS)?;
        number("start_delay_s", self.start_delay_s, &SECONDS)?;
        self.catch
            .iter()
            .try_for_each(|catch| inside("catch", catch))
    }
}

/// What did not fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lost {
    /// Quanta that were measured and not kept.
    pub quanta: u64,
    /// Gaps that were measured and whose details were not kept; their time still stands in the quanta.
    pub gaps: u64,
    /// Kernel events that could not be written; where stands in [`Events::lost`].
    pub events: u64,
}

impl Ranges for Lost {
    fn check(&self) -> Result<(), OutOfRange> {
        number("quanta", self.quanta, &COUNT)?;
        number("gaps", self.gaps, &COUNT)?;
        number("events", self.events, &COUNT)
    }
}

/// Something that could not be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missing {
    /// What, as in `counters`.
    pub what: String,
    /// Why, as in `no hardware PMU`.
    pub why: String,
    /// What cannot be decided without it.
    pub leaves_undecided: String,
}

/// A setting of speculative store bypass, from a moment between two segments to the next such moment on the same CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreBypassSet {
    /// CPU of the measuring thread.
    pub cpu: u32,
    /// Ticks since the origin.
    pub ticks: u64,
    /// Whether it was allowed from then on.
    pub allowed: bool,
}
