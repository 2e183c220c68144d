//! Evidence of `synchronous-gaps`.

use super::whole::{serialize as whole, serialize_list as wholes};
use serde::Serialize;

/// Gaps that hit several CPUs at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SynchronousGaps {
    /// Sum over the CPUs of the share of the time that each is away on these occasions.
    pub apart: f64,
    /// Share of the gaps that each of `causes` has, 0 to 1.
    pub cause_shares: Vec<f64>,
    /// As in the ledger, most frequent first, joined by commas; at most three.
    pub causes: String,
    /// Numbers of the CPUs.
    #[serde(serialize_with = "wholes")]
    pub cpus: Vec<u32>,
    /// Occasions by chance, at most.
    pub expected: f64,
    /// Hertz, where most occasions are regular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_hz: Option<f64>,
    /// CPUs that an occasion hits, median.
    #[serde(serialize_with = "whole")]
    pub median_cpus: u64,
    /// CPUs that an occasion hits at most.
    #[serde(serialize_with = "whole")]
    pub most_cpus: u64,
    /// Occasions.
    #[serde(serialize_with = "whole")]
    pub number: u64,
    /// Corrected for the trials; not below 1e-300.
    pub p_value: f64,
    /// Occasions a second.
    pub per_second: f64,
    /// Of the gap time of these CPUs.
    pub share: f64,
    /// Seconds: median from the first begin of an occasion to the last.
    pub skew_s: f64,
    /// Share of the time in which any of them is away on an occasion, 0 to 1.
    pub together: f64,
    /// Hertz: one standard deviation of `frequency_hz`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty_hz: Option<f64>,
}
