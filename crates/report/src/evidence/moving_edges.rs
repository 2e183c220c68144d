//! Evidence of `moving-edges`.

use super::whole::serialize as whole;
use serde::Serialize;

/// A pace that changes with a period, or on a grid, of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MovingEdges {
    /// Parts per million: the recurrence over the nearest whole number of quanta, less 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_ppm: Option<f64>,
    /// Seconds: stay in the slowest band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dwell_s: Option<f64>,
    /// Changes of pace.
    #[serde(serialize_with = "whole")]
    pub edges: u64,
    /// Seconds: what all edges sit on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid_s: Option<f64>,
    /// Share of the edges looked at that keep it, 0 to 1.
    pub kept: f64,
    /// Chance of an accident; not below 1e-300.
    pub p_value: f64,
    /// Seconds after which the state comes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_s: Option<f64>,
    /// Seconds of a whole X; none if nothing moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_s: Option<f64>,
    /// Seconds: one standard deviation of the period, or of the grid where there is no period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty_s: Option<f64>,
    /// The statistic of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z_squared: Option<f64>,
}
