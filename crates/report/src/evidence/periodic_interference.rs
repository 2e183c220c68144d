//! Evidence of `periodic-interference`.

use crate::Cause;
use crate::CauseSource;
use serde::Serialize;

/// Time lost at a constant frequency.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodicInterference {
    /// What has this period, as in the ledger, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause_by: Option<CauseSource>,
    /// Hertz.
    pub frequency_hz: f64,
    /// Nanoseconds lost in each period.
    pub ns_per_event: f64,
    /// Hertz: one standard deviation.
    pub uncertainty_hz: f64,
}
