//! `recording.json`: everything about a run that is not a column.
//!
//! # Versions
//! `schema` is `bandscope.recording/MAJOR`. Within a major version fields are only ever added, each with
//! a default, and a reader ignores fields that it does not know; a reader refuses another major version.

mod counts;
mod events;
mod incident;
mod scheduling;

pub use counts::{KernelCount, KernelCounts};
pub use events::{
    Events, EventsCost, EventsState, GapSample, LostEvents, MeasuringThread, TaskThread,
};
pub use incident::{Incident, IncidentKind};
pub use scheduling::{Quota, Schedstat};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema that this version writes, and the only major version that it reads.
pub const SCHEMA: &str = "bandscope.recording/1";

/// Ticks per nanosecond that a clock may have: 1 MHz to 100 GHz. The slowest counter that architectures allow
/// (the generic timer of Armv8.0 boards, some MHz) and the fastest (the TSC, below 10 GHz) lie well within;
/// beyond it, durations in ticks overflow or round to nothing.
pub const TICKS_PER_NS: std::ops::RangeInclusive<f64> = 0.001..=100.0;

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

impl Machine {
    /// The hypervisor that the CPU tells of; `None` on bare metal, and where it is not known.
    pub fn known_hypervisor(&self) -> Option<&str> {
        self.hypervisor.as_deref().filter(|name| *name != "none")
    }
}

impl Manifest {
    /// Whether this stands for a file of counts, which says nothing of its machine.
    pub fn is_imported(&self) -> bool {
        self.clock.origin == ClockOrigin::Imported
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
}

/// The clock: an affine map from ticks to nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// `tsc`, `generic-timer`, `simulated`, or `imported` for files that hold nanoseconds.
    pub name: String,
    /// Ticks per nanosecond, as used for every conversion.
    pub ticks_per_ns: f64,
    /// Bound of the relative error of `ticks_per_ns` against CLOCK_MONOTONIC_RAW, in parts per million;
    /// `None` where it was not calibrated.
    pub error_ppm: Option<f64>,
    /// What calibration found, where `--ticks-per-ns` overrode it.
    pub measured_ticks_per_ns: Option<f64>,
    /// Where `ticks_per_ns` comes from.
    pub origin: ClockOrigin,
    /// Sandwiched readings: tick since the origin, nanoseconds of CLOCK_MONOTONIC_RAW since the first
    /// reading, half width of the sandwich in nanoseconds. At most a few hundred, over the whole run.
    pub readings: Vec<ClockReading>,
    /// Whether the CPU declares the clock invariant (constant rate, runs in idle states).
    pub invariant: Option<bool>,
    /// Raw value of the hardware counter at tick 0 of the recording.
    pub origin_ticks: u64,
    /// CLOCK_REALTIME at tick 0, in nanoseconds since 1970, to a millisecond or so.
    pub origin_unix_ns: i64,
    /// Cost of one read in ticks (median): plain and ordered.
    pub read_ticks: BTreeMap<String, f64>,
}

impl Clock {
    /// Nanoseconds in `ticks`.
    pub fn ns(&self, ticks: f64) -> f64 {
        ticks / self.ticks_per_ns
    }

    /// A clock of nanoseconds, for imported files.
    pub fn imported() -> Clock {
        Clock {
            name: "imported".into(),
            ticks_per_ns: 1.0,
            origin: ClockOrigin::Imported,
            ..Clock::default()
        }
    }
}

/// Where the scale of a clock comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockOrigin {
    /// Measured against CLOCK_MONOTONIC_RAW.
    Calibrated,
    /// `--ticks-per-ns`: the user knew better than the calibration.
    Given,
    /// A file that holds nanoseconds: no machine of which anything is known.
    Imported,
    /// The simulated machine's own.
    Simulated,
    /// Nothing says, or a later version's word.
    #[default]
    #[serde(rename = "", other)]
    Unknown,
}

/// One sandwiched reading of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Ticks since the recording's origin, in the middle of the sandwich.
    pub ticks: i64,
    /// CLOCK_MONOTONIC_RAW in nanoseconds since the first reading.
    pub raw_ns: u64,
    /// Half width of the sandwich in ticks: the reading's error bound.
    pub half_width_ticks: u64,
}

/// A work kernel and what its self-test said on this CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// Name, as given to `--kernel`.
    pub name: String,
    /// One line: what a unit does.
    pub description: String,
    /// Hash of the machine code of a unit, as `fnv1a64:HEX`.
    pub hash: String,
    /// Operations in one unit.
    pub operations: u32,
    /// A unit that takes longer than this many ticks is a gap.
    pub gap_threshold_ticks: u64,
    /// The best pace that the self-test saw, in ticks per unit with the clock read that ends it: the
    /// absolute baseline. `None` if no undisturbed stretch was seen.
    pub best_ticks_per_unit: Option<f64>,
    /// Relative spread of the pace over 64 placements, (max - min) / min; `None` if not measured.
    pub placement_spread: Option<f64>,
    /// Whether that spread is below 0.5 %.
    pub invariant: Option<bool>,
    /// Cost of a quantum's boundary in ticks (median): the excess over the pace around it of the first
    /// unit, which holds the store, and of the last, which ends with an ordered read.
    pub boundary_ticks: Option<f64>,
    /// How much earlier than its work a clock read inside a quantum comes, in ticks (median): reading the clock in order, as after each gap,
    /// waits for that work, so each gap takes so much of the time of the units before it. `None` if not measured.
    pub read_ahead_ticks: Option<f64>,
    /// Fractions of a unit that its structure declares, for `sub-loop-mixture`; empty for most.
    pub fractions: Vec<f64>,
    /// Whether a unit is a chain of operations between registers and nothing else: then its pace is the clock frequency's, and
    /// what slows another work kernel in the same run more than this one is no frequency.
    pub registers_only: bool,
    /// Whether it fills the core with independent operations on registers: what shares the core slows it, and leaves a chain alone.
    pub throughput: bool,
    /// Of a tripwire: time of an operation in the rest of a unit that was interrupted, over that before; below 1 where it goes faster. `None` of
    /// other work kernels.
    pub pace_after_interruption: Option<f64>,
}

/// A counter that was believed and read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counter {
    /// Name from the event list, as in `cycles` or `context-switches`.
    pub name: String,
    /// `rdpmc` or `read`.
    pub method: String,
    /// Cost of reading it after a gap, in ticks (median).
    pub read_ticks: f64,
}

/// Facts about the machine. Whatever could not be read is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// Microarchitecture by family and model, as in `Zen 3`, where known.
    pub microarchitecture: Option<String>,
    /// Instruction set: `x86_64` or `aarch64`.
    pub architecture: Option<String>,
    /// Family, model, stepping as the vendor counts them.
    pub cpu_id: Option<String>,
    /// Microcode revision, as /proc/cpuinfo prints it.
    pub microcode: Option<String>,
    /// CPUs online, as a list of ranges.
    pub online_cpus: Option<String>,
    /// CPUs this process may use.
    pub allowed_cpus: Option<String>,
    /// SMT siblings of each measured CPU.
    pub smt_siblings: BTreeMap<u32, String>,
    /// Frequency driver, as in `intel_pstate`.
    pub frequency_driver: Option<String>,
    /// Frequency governor of each measured CPU.
    pub governor: BTreeMap<u32, String>,
    /// Kernel release and version.
    pub kernel: Option<String>,
    /// isolcpus of the running kernel.
    pub isolated_cpus: Option<String>,
    /// nohz_full of the running kernel.
    pub nohz_full_cpus: Option<String>,
    /// Default interrupt affinity mask.
    pub irq_affinity: Option<String>,
    /// Hypervisor, `none` on bare metal as far as the CPU says.
    pub hypervisor: Option<String>,
    /// Timer interrupts per second of a busy CPU (HZ), measured or from the kernel configuration.
    pub tick_hz: Option<f64>,
    /// State of speculative store bypass of the measuring thread (PR_GET_SPECULATION_CTRL).
    pub speculative_store_bypass: Option<String>,
    /// Mitigations: name and state.
    pub mitigations: BTreeMap<String, String>,
    /// Load averages over 1, 5 and 15 minutes at the start.
    pub load: Option<[f64; 3]>,
    /// Other runnable or busy tasks at the start: name and share of a CPU.
    pub other_tasks: Vec<OtherTask>,
    /// Microseconds that real-time tasks may run in each period, and the period (`sched_rt_runtime_us`, `sched_rt_period_us`); the first is
    /// negative where there is no limit.
    pub realtime_limit_us: Option<[i64; 2]>,
    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
}

/// A task that used CPU time while the run was being prepared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherTask {
    /// Name as the kernel has it: untrusted, escape it before showing.
    pub name: String,
    /// Process id at the start of the run.
    pub pid: u32,
    /// Share of one CPU, 0 to 1.
    pub share: f64,
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
