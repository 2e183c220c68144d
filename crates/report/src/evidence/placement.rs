//! Evidence of `placement`, of `bandscope lab`.

use serde::Serialize;

/// A pace that depends on the address of the loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Placement {
    /// The offset at which it is slow.
    pub offset: String,
    /// Time of an operation there over that elsewhere.
    pub ratio: f64,
    /// 95 % interval of `ratio`.
    pub ratio_interval: [f64; 2],
}
