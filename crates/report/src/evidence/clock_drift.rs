//! Evidence of `clock-drift`.

use crate::closed::words;
use serde::Serialize;

/// By how much quanta are not as long as they say.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockDrift {
    /// What made them so.
    pub cause: DriftCause,
    /// Parts per million: quantum as it was over nominal, less 1; negative is short.
    pub drift_ppm: f64,
    /// Parts per million: one standard deviation.
    pub uncertainty_ppm: f64,
}

words! {
    /// What made quanta drift.
    pub enum DriftCause {
        /// Quanta were truncated to whole ticks.
        Truncation = "truncation",
        /// The ticks per nanosecond that made them are wrong.
        Calibration = "calibration",
        /// One or the other; the certainty is that of the drift alone.
        Undecided = "undecided",
    }
}
