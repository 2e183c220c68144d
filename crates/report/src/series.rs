//! What one CPU showed at one rate with one work kernel.

use crate::{Band, BestPace, Gaps, Ledger, Limits, Place, Signal};
use serde::Serialize;

/// The quanta of one CPU at one rate with one work kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// CPU, where known.
    pub cpu: Option<u32>,
    /// Nominal rate.
    pub rate_hz: f64,
    /// Work kernel.
    pub kernel: String,
    /// The file or directory.
    pub origin: String,
    /// The task of a job that measured it; not there of a run by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
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

/// The clock of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Availability {
    /// Length of the window.
    pub window_s: f64,
    /// Work at the best pace done in the worst window, as a share of the window.
    pub worst: f64,
    /// Start of that window, since the start of the recording.
    pub at_s: f64,
    /// How long it lasted: it ends with a quantum, and one with a long gap is long.
    pub lasted_s: f64,
}

/// Interruptions that left no gap, noticed by a work kernel whose units go on at another pace after one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Period {
    /// Hertz.
    pub frequency_hz: f64,
    /// One standard deviation, with the clock's error.
    pub uncertainty_hz: f64,
    /// Chance that events without a period would look so.
    pub p_value: f64,
}
