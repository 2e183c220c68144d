//! Evidence of `bistable-pace`.

use serde::Serialize;

/// Paces that are each held for quanta on end; lists have one entry a pace, fastest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BistablePace {
    /// Seconds: median stay at each pace.
    pub median_dwells_s: Vec<f64>,
    /// Nanoseconds per unit.
    pub ns_per_unit: Vec<f64>,
    /// Share of the time that gaps leave, 0 to 1.
    pub shares: Vec<f64>,
    /// What was switched on purpose, and the pace with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switched_by: Option<Switch>,
}

/// What a recording switches to see the pace change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// Speculative store bypass of the measuring thread.
    StoreBypass,
}
