//! Evidence of `sampling-artefact`.

use serde::Serialize;

/// A loss that recurs in quanta.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SamplingArtefact {
    /// Hertz, at the first of the series.
    pub frequency_hz: f64,
    /// Nanoseconds lost in each period.
    pub ns_per_event: f64,
    /// Quanta from one to the next.
    pub period_quanta: f64,
}
