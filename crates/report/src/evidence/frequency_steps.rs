//! Evidence of `frequency-steps`.

use super::whole::serialize_optional as whole_if_known;
use serde::Serialize;

/// Paces that are steps of one clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrequencySteps {
    /// Accidental matches to be expected; only where a lattice fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// How many times longer bandscope's own work took at the slow paces; only where it slowed down with the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handling_ratio: Option<f64>,
    /// Steps of the fastest; only where a lattice fits.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub lattice: Option<u32>,
    /// Frequencies over the fastest, which is 1; fastest first.
    pub ratios: Vec<f64>,
}
