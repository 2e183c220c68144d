//! Evidence of `throttled`.

use super::whole::serialize_optional as whole_if_known;
use crate::Cause;
use serde::Serialize;

/// Time for which the kernel kept the thread from running. The group's own counts are of all CPUs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttled {
    /// Share of the time, 0 to 1, that a quota allows the measured CPUs, on average, where it was used up in most periods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
    /// As in the ledger.
    pub cause: Cause,
    /// Directory of the control group that stopped its threads for longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Nanoseconds: the longest stop, where kernel events tell stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<f64>,
    /// Nanoseconds lost, where gaps tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_ns: Option<f64>,
    /// Stops a second, where kernel events tell stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// Microseconds: the period of the limit.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub period_us: Option<i64>,
    /// Periods of the group.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub periods: Option<u64>,
    /// Microseconds in each period: the limit.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub quota_us: Option<i64>,
    /// Of the time, 0 to 1.
    pub share: f64,
    /// Nanoseconds for which the group was stopped.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub throttled_ns: Option<u64>,
    /// Periods in which the group was stopped.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub throttled_periods: Option<u64>,
}
