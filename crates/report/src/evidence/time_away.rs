//! Evidence of `time-away`.

use super::whole::serialize as whole;
use crate::Cause;
use serde::Serialize;

/// Gaps of one cause, in all series of its CPU and recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeAway {
    /// As in the ledger.
    pub cause: Cause,
    /// Nanoseconds: its longest part of one gap.
    pub longest_ns: f64,
    /// Nanoseconds lost to it.
    #[serde(serialize_with = "whole")]
    pub lost_ns: u64,
    /// Gaps a second in which it took part.
    pub per_second: f64,
    /// Of the time, 0 to 1.
    pub share: f64,
}
