//! Pace: its bands, what it changes with, and when.

pub mod alternation;
pub mod band_merge;
pub mod bands;
pub mod best_pace;
pub mod dwell;
pub mod edges;
pub mod fraction;
pub mod interrupted;
pub mod limits;
pub mod mixture;
pub mod quantisation;
pub mod recurrence;
pub mod rise_at_gap;
pub mod split;
pub mod store_bypass;
pub mod thinned;
pub mod warm_up;
pub mod whole_core;
