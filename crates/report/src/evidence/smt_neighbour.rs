//! Evidence of `smt-neighbour`.

use serde::Serialize;

/// A core that is shared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SmtNeighbour {
    /// Share of its work that the chain lost to pace, 0 to 1.
    pub lost_chain: f64,
    /// The same of independent operations.
    pub lost_throughput: f64,
    /// Pace of independent operations in company over their best.
    pub ratio: f64,
    /// Of the quanta in company, 0 to 1.
    pub share: f64,
}
