//! Evidence of `core-coupling`.

use super::whole::{serialize as whole, serialize_list as wholes};
use crate::closed::words;
use serde::Serialize;

/// A pace that changes with another CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreCoupling {
    /// Numbers of all CPUs that hang together.
    #[serde(serialize_with = "wholes")]
    pub cpus: Vec<u32>,
    /// Changes that would keep the lag by chance.
    pub expected: f64,
    /// CPU whose pace changes, of the pair with most changes in step.
    #[serde(serialize_with = "whole")]
    pub follower: u32,
    /// Seconds: median, from the leader's event to the follower's change.
    pub lag_s: f64,
    /// CPU that it follows.
    #[serde(serialize_with = "whole")]
    pub leader: u32,
    /// The leader's slower pace over its faster one; only where its pace is what is followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_ratio: Option<f64>,
    /// Changes that keep the lag.
    #[serde(serialize_with = "whole")]
    pub number: u64,
    /// Chance of so many by accident, corrected for the trials.
    pub p_value: f64,
    /// The follower's slower pace over its faster one.
    pub ratio: f64,
    /// Of the changes, or of the leader's events where those are fewer; 0 to 1.
    pub share: f64,
    /// Seconds within which lags agree.
    pub width_s: f64,
    /// What of the leader it follows.
    pub with: FollowedEvent,
}

words! {
    /// What of one CPU the pace of another follows.
    pub enum FollowedEvent {
        /// Changes of its pace.
        Pace = "pace",
        /// Begins of its long gaps.
        GapBegins = "gap-begins",
        /// Ends of its long gaps.
        GapEnds = "gap-ends",
    }
}
