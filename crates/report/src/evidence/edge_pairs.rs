//! Evidence of `edge-pairs`.

use super::whole::{serialize as whole, serialize_list as wholes};
use serde::Serialize;

/// Quanta in which the pace changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EdgePairs {
    /// Count of one in which the pace fell, and of one in which it rose, as far as there are such.
    #[serde(serialize_with = "wholes")]
    pub counts: Vec<u32>,
    /// How many there are.
    #[serde(serialize_with = "whole")]
    pub number: u64,
}
