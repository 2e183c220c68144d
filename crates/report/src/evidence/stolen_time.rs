//! Evidence of `stolen-time`.

use super::whole::serialize_optional as whole_if_known;
use serde::Serialize;

/// Gaps, or interruptions that left none, that were not this kernel's. Which fields there are says how that was found out: by silent kernel
/// events (`longest_ns`), by counts (`counted_per_second`), or by a tripwire (`without_gap_per_second`).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StolenTime {
    /// Interrupts and preemptions a second that the kernel counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_per_second: Option<f64>,
    /// Hertz: what interruptions that a tripwire noticed are regular at, this kernel's own tick left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequencies_hz: Option<Vec<f64>>,
    /// Hertz: of those gaps that are regular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_hz: Option<f64>,
    /// Nanoseconds: the longest gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<f64>,
    /// Nanoseconds lost; by counts the least that there can have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_ns: Option<f64>,
    /// Gaps, those in excess of what was counted, or interruptions that a tripwire noticed.
    pub per_second: f64,
    /// Of the time, 0 to 1; as `lost_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// How often firmware took the CPU during the run, where that could be counted.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_if_known"
    )]
    pub system_management_interrupts: Option<u64>,
    /// Of the time, 0 to 1: the part of `share` that may be the host's way to interrupts and tasks of this kernel and back, at most 20 us of a gap. Only of a
    /// virtual machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way_share: Option<f64>,
    /// Interruptions a second that left no gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_gap_per_second: Option<f64>,
}
