//! Evidence of `interrupted-loop`, of a recording and of fixed work.

use super::whole::serialize_optional as whole_if_known;
use serde::Serialize;

/// A loop that goes on slower after an interrupt. Of a recording only `ns_per_tick` may be missing, and of fixed work it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterruptedLoop {
    /// Microseconds that an interrupt costs by itself; `null` where only one length of work was measured.
    pub intercept_us: Option<f64>,
    /// Nanoseconds that each interrupted quantum loses beyond the interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_per_tick: Option<f64>,
    /// How many times slower the loop goes on.
    pub slope: f64,
    /// One standard deviation of `slope`; `null` where it is not known.
    pub slope_uncertainty: Option<f64>,
    /// Interrupted quanta, or samples of fixed work, that are slow.
    #[serde(serialize_with = "whole_if_known")]
    pub slow_samples: Option<u64>,
    /// Interrupts that they are counted against: quanta with a gap, or ticks during the work.
    pub ticks: Option<f64>,
}
