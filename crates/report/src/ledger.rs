//! Where the time of a series went.

use crate::Cause;
use crate::closed::words;
use serde::Serialize;
use std::collections::BTreeMap;

/// The account in which wall time = work + every loss; `bonus_ns` is in no sum. Kept in ticks, where it adds up exactly; in
/// nanoseconds it is rounded so that it adds up too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledger {
    /// Wall time of all segments of the series.
    pub wall_ns: u64,
    /// Units times the best pace, those that were faster at their own.
    pub work_ns: u64,
    /// Lost to a slower pace while the CPU was here.
    pub pace_ns: PaceLoss,
    /// Lost to gaps, by cause.
    pub gaps_ns: BTreeMap<Cause, u64>,
    /// Spent by bandscope on itself.
    pub measurement_ns: u64,
    /// What no other line accounts for; never negative in reports of this version.
    pub unexplained_ns: i64,
    /// Gained where the pace was faster than the best one: units at the best pace take so much longer. In no sum.
    pub bonus_ns: u64,
    /// What it rests on.
    pub basis: Basis,
}

/// Time lost to pace, by nature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PaceLoss {
    /// A lower clock frequency.
    pub frequency: u64,
    /// More cycles for the same instructions.
    pub microarchitecture: u64,
    /// One or the other: what was measured cannot tell.
    pub unsplit: u64,
}

impl PaceLoss {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.frequency + self.microarchitecture + self.unsplit
    }
}

words! {
    /// What a ledger rests on.
    #[derive(Default)]
    pub enum Basis {
        /// Gaps were recorded.
        #[default]
        Measured = "measured",
        /// Counts were all there was.
        Inferred = "inferred",
    }
}
