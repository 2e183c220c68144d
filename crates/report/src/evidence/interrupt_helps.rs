//! Evidence of `interrupt-helps`: of a recording, and of fixed work.

use super::whole::{serialize as whole, serialize_list as wholes};
use serde::Serialize;

/// Changes of pace with and without a gap.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterruptHelps {
    /// Changes to the slower pace without, and with a gap.
    #[serde(serialize_with = "wholes")]
    pub falls: [u64; 2],
    /// Of a rise of the pace, with a gap over without.
    pub odds_ratio: f64,
    /// Of a fall of the pace, likewise.
    pub odds_ratio_down: f64,
    /// 95 % interval of `odds_ratio`.
    pub odds_ratio_interval: [f64; 2],
    /// Chance of such an odds ratio by accident; not below 1e-300.
    pub p_value: f64,
    /// Changes to the faster pace without, and with a gap.
    #[serde(serialize_with = "wholes")]
    pub rises: [u64; 2],
}

/// Fixed work that an interruption makes faster until it ends; lists have one entry a length of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FasterWork {
    /// Microseconds: the work undisturbed.
    pub body_us: Vec<f64>,
    /// How many times as fast.
    pub factors: Vec<f64>,
    /// Samples that took less than most, of all lengths.
    #[serde(serialize_with = "whole")]
    pub fast_samples: u64,
}
