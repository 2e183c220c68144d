//! Evidence of `bandscope lab`: a loop with several paces, and what interruptions do to it.

use super::whole::{serialize as whole, serialize_optional as whole_if_known};
use serde::Serialize;

/// What interruptions do to the pace of a loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopSwitching {
    /// Trials that changed the pace.
    #[serde(serialize_with = "whole")]
    pub changes: u64,
    /// Trials that slowed it, where both directions were seen.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub changes_down: Option<u64>,
    /// Cycles an operation of each pace, fastest first.
    pub cycles: Vec<f64>,
    /// By how much more often an interruption changes it than it changes by itself.
    pub excess: f64,
    /// 95 % interval of `excess`.
    pub excess_interval: [f64; 2],
    /// The loop.
    pub r#loop: String,
    /// That an interruption changes it, 0 to 1.
    pub probability: f64,
    /// That one slows it, where both directions were seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability_down: Option<f64>,
    /// 95 % interval of `probability_down`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability_down_interval: Option<[f64; 2]>,
    /// 95 % interval of `probability`.
    pub probability_interval: [f64; 2],
    /// Interruptions that were made.
    #[serde(serialize_with = "whole")]
    pub trials: u64,
    /// Interruptions made at the faster pace, where both directions were seen.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub trials_down: Option<u64>,
}

/// A loop with several paces; lists are fastest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopPaces {
    /// Cycles an operation.
    pub cycles: Vec<f64>,
    /// The loop.
    pub r#loop: String,
    /// Share of the stretches, 0 to 1.
    pub shares: Vec<f64>,
}
