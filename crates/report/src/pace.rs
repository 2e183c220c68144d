//! Paces: the best one, and those that recur.

use crate::closed::words;
use serde::Serialize;

/// The pace that counts as no loss: one for all rates of a CPU and work kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BestPace {
    /// Nanoseconds per unit.
    pub ns_per_unit: f64,
    /// Where it is from.
    pub origin: PaceOrigin,
    /// Whether an undisturbed stretch was seen at all; if not, losses are lower bounds.
    pub undisturbed: bool,
    /// Share of the time (in quanta without a gap, where there are enough) that its band holds.
    pub share: f64,
    /// The best pace of the self-test before the run, where there was one.
    pub self_test_ns_per_unit: Option<f64>,
}

/// A pace that recurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Band {
    /// Centre.
    pub ns_per_unit: f64,
    /// Relative half width that holds 90 % of the band.
    pub half_width: f64,
    /// The count that this pace gives in a full quantum.
    pub count: f64,
    /// Share of the quanta.
    pub share: f64,
    /// Number of stays.
    pub stays: u64,
    /// Median length of a stay.
    pub median_dwell_s: f64,
    /// What makes it a band.
    pub nature: Nature,
}

words! {
    /// Where the best pace is from.
    #[derive(Default)]
    pub enum PaceOrigin {
        /// The fastest band that lasts, over all rates.
        #[default]
        Series = "series",
        /// The self-test before the run: in reports of earlier versions.
        SelfTest = "self-test",
    }
}

words! {
    /// What makes a band.
    #[derive(Default)]
    pub enum Nature {
        /// Counts of whole units that alternate at one pace.
        Quantisation = "quantisation",
        /// A pace of its own.
        #[default]
        Pace = "pace",
        /// A step of the clock.
        Frequency = "frequency",
        /// One inner loop of the work kernel is slow and the other is not.
        Mixture = "mixture",
    }
}
