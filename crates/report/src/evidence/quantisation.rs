//! Evidence of `quantisation`.

use super::whole::serialize_list as wholes;
use serde::Serialize;

/// Two neighbouring counts of one pace; the lower first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantisation {
    /// The counts.
    #[serde(serialize_with = "wholes")]
    pub counts: [u32; 2],
    /// Ratio of the paces of their quanta, less 1.
    pub pace_difference: f64,
    /// Share of the quanta of each, 0 to 1.
    pub shares: [f64; 2],
}
