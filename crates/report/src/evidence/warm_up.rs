//! Evidence of `warm-up`.

use serde::Serialize;

/// A start that is slower than the rest.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmUp {
    /// Share of the time lost, before less after, 0 to 1.
    pub away: f64,
    /// Seconds, start delay included.
    pub duration_s: f64,
    /// Seconds, without the start delay.
    pub measured_s: f64,
    /// Chance that a bad stretch lies at the start of all places.
    pub p_value: f64,
    /// Time per unit before over after.
    pub ratio: f64,
    /// Seconds: one standard deviation of the duration.
    pub uncertainty_s: f64,
}
