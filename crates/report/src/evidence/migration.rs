//! Evidence of `migration`.

use super::whole::serialize as whole;
use serde::Serialize;

/// Changes of CPU, or what looks like one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Migration {
    /// How many.
    #[serde(serialize_with = "whole")]
    pub changes: u64,
    /// Seconds from the start of the recording to the first.
    pub first_s: f64,
    /// Seconds by which the phase of periodic edges steps, where there are such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jump_s: Option<f64>,
}
