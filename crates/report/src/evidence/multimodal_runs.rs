//! Evidence of `multimodal-runs`, of `bandscope repeat`.

use serde::Serialize;

/// Runs that take one of several times.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MultimodalRuns {
    /// Name of what decides; `null` where nothing is known to.
    pub factor: Option<String>,
    /// What they take, lowest first.
    pub modes: Vec<RunMode>,
    /// Of the factor where there is one, else of the modes.
    pub p_value: f64,
    /// Chance that runs of one mode would look so.
    pub p_value_modes: f64,
}

/// One of several times that runs take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunMode {
    /// Of the runs, 0 to 1.
    pub share: f64,
    /// In the unit of the metric.
    pub value: f64,
}
