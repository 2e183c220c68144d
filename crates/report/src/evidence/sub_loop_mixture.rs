//! Evidence of `sub-loop-mixture`.

use serde::Serialize;

/// A band between two others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubLoopMixture {
    /// Accidental matches to be expected.
    pub chance: f64,
    /// Share of a unit that the work kernel's own structure puts into one loop, 0 to 1.
    pub declared: f64,
    /// Of the way from fast to slow in time per unit, 0 to 1.
    pub fraction: f64,
    /// Nanoseconds per unit.
    pub ns_per_unit: f64,
    /// Nanoseconds per unit: the fast and the slow band.
    pub of: [f64; 2],
}
