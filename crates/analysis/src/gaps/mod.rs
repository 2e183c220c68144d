//! Gaps: how many, how long, who took their time, and how much of any stretch of time was left.

pub mod availability;
pub mod causes;
pub mod chains;
pub mod moments;
pub mod named;
pub mod naming;
pub mod quota;
pub mod senders;
pub mod statistics;
pub mod trigger;
