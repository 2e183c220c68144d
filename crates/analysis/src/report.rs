//! The report: the JSON contract `bandscope.report/1`, documented in `docs/report.md`, only ever extended.
//!
//! Times in seconds, frequencies in hertz, parts of the ledger in whole nanoseconds.

use serde::Serialize;
use std::collections::BTreeMap;

/// The schema that this version writes.
pub const SCHEMA: &str = "bandscope.report/1";

/// What was found in one or more recordings of one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The inputs, as named by the user.
    pub inputs: Vec<String>,
    /// One sentence: what a reader who reads one sentence must know.
    pub verdict: String,
    /// One for each CPU, rate and work kernel.
    pub series: Vec<Series>,
    /// The CPUs, best first, all series of one together; those whose number is not known are left out.
    pub cpus: Vec<crate::cpus::Cpu>,
    /// Phenomena that were recognised, most consequential first.
    pub findings: Vec<Finding>,
    /// What was booked against what logs of disturbances say really happened, one for each log; empty where none was given.
    pub truth: Vec<crate::truth::Truth>,
    /// What a reader must know before believing the rest, with advice.
    pub warnings: Vec<Warning>,
    /// Facts about the machine and the run, as recorded; `null` for imported files.
    pub recording: Option<bandscope_recording::Manifest>,
}

/// The quanta of one CPU at one rate with one work kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// CPU, where known.
    pub cpu: Option<u32>,
    /// Nominal rate.
    pub rate_hz: f64,
    /// Work kernel.
    pub kernel: String,
    /// The file or directory.
    pub origin: String,
    /// Number of quanta.
    pub quanta: u64,
    /// Number of segments.
    pub segments: u64,
    /// Wall time of all segments.
    pub duration_s: f64,
    /// Units completed.
    pub units: u64,
    /// Whether gaps were recorded, or losses had to be inferred from counts.
    pub gaps_known: bool,
    /// The clock.
    pub clock: Clock,
    /// FTQ's fraction by three rules; `null` where there is no quantum.
    pub fraction: Option<Fraction>,
    /// Worst share of work in any window of a given length, shortest window first.
    pub availability: Vec<Availability>,
    /// The best pace, against which everything is booked.
    pub best_pace: Option<BestPace>,
    /// Paces that recur, fastest first.
    pub bands: Vec<Band>,
    /// Periodic signals, strongest first.
    pub signals: Vec<Signal>,
    /// Gaps: how many, how long. `null` where gaps are not known.
    pub gaps: Option<Gaps>,
    /// What a tripwire noticed beside gaps; not there of other work kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tripwire: Option<Tripwire>,
    /// Where the time went.
    pub ledger: Ledger,
    /// What this very recording would have shown.
    pub limits: Limits,
}

/// Interruptions that left no gap, noticed by a work kernel whose units go on at another pace after one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tripwire {
    /// Quanta without a gap that were interrupted.
    pub interrupted_quanta: u64,
    /// Quanta without a gap.
    pub quanta: u64,
    /// Interruptions a second of such quanta, at least.
    pub per_second: f64,
    /// What they are regular at, most significant first.
    pub periods: Vec<Period>,
}

/// A frequency of events whose times are known to a quantum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Period {
    /// Hertz.
    pub frequency_hz: f64,
    /// One standard deviation, with the clock's error.
    pub uncertainty_hz: f64,
    /// Chance that events without a period would look so.
    pub p_value: f64,
}

/// The clock of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Clock {
    /// Ticks per nanosecond.
    pub ticks_per_ns: f64,
    /// Bound of its relative error; `null` where it was not calibrated.
    pub error_ppm: Option<f64>,
    /// Drift of the lower envelope of quantum ends against the nominal grid; `null` if too short to say.
    pub drift_ppm: Option<f64>,
}

/// FTQ's fraction: mean count over a reference count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Fraction {
    /// Over the highest count: FTQ's own rule, an extreme-value statistic.
    pub of_max: f64,
    /// Over the 99.9th percentile of counts.
    pub of_p999: f64,
    /// Over the count that the most frequent band would give.
    pub of_main_band: f64,
}

/// Worst availability in windows of one length (minimum mutator utilisation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Availability {
    /// Length of the window.
    pub window_s: f64,
    /// Work at the best pace done in the worst window, as a share of the window.
    pub worst: f64,
    /// Start of that window, since the start of the recording.
    pub at_s: f64,
}

/// The pace that counts as no loss: one for all rates of a CPU and work kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BestPace {
    /// Nanoseconds per unit.
    pub ns_per_unit: f64,
    /// `series`: the fastest band that lasts, over all rates. Earlier versions also wrote `self-test`.
    pub origin: &'static str,
    /// Whether an undisturbed stretch was seen at all; if not, losses are lower bounds.
    pub undisturbed: bool,
    /// Share of the time (in quanta without a gap, where there are enough) that its band holds.
    pub share: f64,
    /// The best pace of the self-test before the run, where there was one.
    pub self_test_ns_per_unit: Option<f64>,
}

/// A pace that recurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Band {
    /// Centre.
    pub ns_per_unit: f64,
    /// Relative half width that holds 90 % of the band.
    pub half_width: f64,
    /// The count that this pace gives in a full quantum.
    pub count: f64,
    /// Share of the quanta.
    pub share: f64,
    /// Number of stays.
    pub stays: u64,
    /// Median length of a stay.
    pub median_dwell_s: f64,
    /// `quantisation`, `pace`, `frequency` or `mixture`.
    pub nature: &'static str,
}

/// Something periodic.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Signal {
    /// Fundamental of the comb.
    pub frequency_hz: f64,
    /// One standard deviation.
    pub uncertainty_hz: f64,
    /// `external`, `sampling`, `alias` or `unresolved`.
    pub origin: &'static str,
    /// Time lost in each period.
    pub ns_per_event: f64,
    /// Corrected for the number of frequencies tried.
    pub p_value: f64,
    /// Harmonics that stand out, the fundamental included.
    pub harmonics: u32,
    /// Share of the periods that have an event at the same phase, for a train of gaps with one event each.
    pub occupied: Option<f64>,
    /// `gaps` or `residual`: in which signal it was found.
    pub seen_in: &'static str,
    /// Key of `gaps_ns` of what has this period, where that is known.
    pub cause: Option<String>,
    /// By what: `events` of the kernel, or the `rate` at which the kernel counted it, or nothing as often. `null` without a cause.
    pub cause_by: Option<&'static str>,
}

/// Statistics of the gaps of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gaps {
    /// Number.
    pub number: u64,
    /// Number whose details were recorded; the rest did not fit.
    pub detailed: u64,
    /// Per second of wall time.
    pub per_second: f64,
    /// A unit longer than this is a gap.
    pub threshold_ns: f64,
    /// Time lost to gaps (durations less a unit each).
    pub lost_ns: u64,
    /// How many were preemptions; `null` if that cannot be known.
    pub preempted: Option<u64>,
    /// Durations.
    pub percentiles: Vec<Percentile>,
    /// The longest, longest first, at most 16.
    pub longest: Vec<LongGap>,
    /// What they were, the costliest first, at most 64; their `lost_ns` add up to that of all gaps but for rounding.
    pub causes: Vec<Cause>,
    /// Tasks that are booked together, as `task:others`, because there are so many; 0 where each has its own line.
    pub other_tasks: u64,
    /// Number and time of gaps by duration, bins of a factor of two from 2^k to 2^(k+1) ns.
    pub histogram: Vec<GapBin>,
}

/// What took some of the gaps' time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cause {
    /// Key of `gaps_ns` under which it is booked.
    pub cause: String,
    /// Gaps in which it took part; one gap may have several causes.
    pub number: u64,
    /// Those per second of wall time.
    pub per_second: f64,
    /// Time lost to it, as in the ledger.
    pub lost_ns: u64,
    /// Its longest part of one gap.
    pub longest_ns: f64,
    /// Threads of the process that the cause is, the costliest first, at most 64; empty where they have the process's name.
    pub tasks: Vec<TaskTime>,
}

/// Time that a thread took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskTime {
    /// Its name.
    pub name: String,
    /// Its time in gaps, before what the unit inside each took is taken off.
    pub ns: u64,
}

/// A percentile of gap durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentile {
    /// 50, 90, 99, 99.9, 99.99, 99.999, 100.
    pub percent: f64,
    /// Duration.
    pub ns: f64,
}

/// One long gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LongGap {
    /// Since the start of the recording.
    pub at_s: f64,
    /// Duration.
    pub ns: f64,
    /// Key of `gaps_ns` under which it is booked.
    pub cause: String,
}

/// Gaps of similar duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GapBin {
    /// Shortest duration in the bin.
    pub from_ns: f64,
    /// Number.
    pub number: u64,
    /// Total duration.
    pub total_ns: f64,
}

/// What would have been seen, had it been there: found by adding it to what was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// The closest slower band; `null` where none of any distance would have been told apart.
    pub band: Option<BandLimit>,
    /// The smallest periodic losses, at the frequencies of usual timer ticks that the series can show.
    pub losses: Vec<LossLimit>,
}

/// A periodic loss that would just have been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LossLimit {
    /// How often.
    pub frequency_hz: f64,
    /// How much each time.
    pub ns_per_event: f64,
}

/// A second band that would just have been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BandLimit {
    /// Its pace over that of the main band, less 1.
    pub distance: f64,
    /// The time that it would have to last altogether.
    pub lasting_s: f64,
}

/// The account in which wall time = work + every loss; `bonus_ns` is in no sum. Kept in ticks, where it adds up exactly; in
/// nanoseconds it is rounded so that it adds up too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ledger {
    /// Wall time of all segments of the series.
    pub wall_ns: u64,
    /// Units times the best pace, those that were faster at their own.
    pub work_ns: u64,
    /// Lost to a slower pace while the CPU was here.
    pub pace_ns: PaceLoss,
    /// Lost to gaps, by cause.
    pub gaps_ns: BTreeMap<String, u64>,
    /// Spent by bandscope on itself.
    pub measurement_ns: u64,
    /// What no other line accounts for; never negative in reports of this version.
    pub unexplained_ns: i64,
    /// Gained where the pace was faster than the best one: units at the best pace take so much longer. In no sum.
    pub bonus_ns: u64,
    /// `measured`, or `inferred` where counts were all there was.
    pub basis: &'static str,
}

/// Time lost to pace, by nature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PaceLoss {
    /// A lower clock frequency.
    pub frequency: u64,
    /// More cycles for the same instructions.
    pub microarchitecture: u64,
    /// One or the other: what was measured cannot tell.
    pub unsplit: u64,
}

impl PaceLoss {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.frequency + self.microarchitecture + self.unsplit
    }
}

/// One phenomenon that was recognised.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// A kind from the catalogue in docs/.
    pub kind: &'static str,
    /// Indices of the series that show it.
    pub series: Vec<usize>,
    /// How sure.
    pub certainty: Certainty,
    /// One sentence with figures.
    pub summary: String,
    /// Keys by kind, documented in docs/report.md.
    pub evidence: BTreeMap<&'static str, Evidence>,
    /// The command or step that would decide it, where it is not certain.
    pub next_step: Option<String>,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Fits, and so would something else.
    Possible,
    /// The best explanation of what was measured.
    Likely,
    /// The data decide it.
    Certain,
}

impl Certainty {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Certainty::Possible => "possible",
            Certainty::Likely => "likely",
            Certainty::Certain => "certain",
        }
    }
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Evidence {
    /// A number, in the unit that its key names.
    Number(f64),
    /// Several.
    Numbers(Vec<f64>),
    /// A word.
    Text(String),
    /// Several things of the same kind, each with numbers by their name.
    Objects(Vec<BTreeMap<&'static str, f64>>),
    /// What might have been there and was not: `null`.
    Nothing,
}

/// Something that limits what the report can say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Stable name, as in `partial-recording`.
    pub kind: &'static str,
    /// What.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}
