//! Evidence of `alternating-bands`.

use super::whole::{serialize as whole, serialize_list as wholes};
use serde::Serialize;

/// A pattern of paces that repeats; lists have one entry a pace, fastest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlternatingBands {
    /// Counts of the quanta of one turn.
    #[serde(serialize_with = "wholes")]
    pub counts: Vec<u32>,
    /// Seconds: median stay at each pace.
    pub median_dwells_s: Vec<f64>,
    /// Nanoseconds per unit.
    pub ns_per_unit: Vec<f64>,
    /// Quanta of one turn.
    #[serde(serialize_with = "whole")]
    pub pattern_quanta: u64,
    /// Share of the quanta, 0 to 1.
    pub shares: Vec<f64>,
}
