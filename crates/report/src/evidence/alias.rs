//! Evidence of `alias`.

use serde::Serialize;

/// A loss above half the rate, as two rates agree on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alias {
    /// Hertz: as seen at each of the two rates.
    pub apparent_hz: [f64; 2],
    /// Accidental agreements to be expected.
    pub chance_matches: f64,
    /// Hertz: the true frequency.
    pub frequency_hz: f64,
    /// Nanoseconds lost in each period.
    pub ns_per_event: f64,
    /// Hertz: one standard deviation of the true frequency.
    pub uncertainty_hz: f64,
}
