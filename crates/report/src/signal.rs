//! What is periodic.

use crate::Cause;
use crate::closed::words;
use serde::Serialize;

/// Something periodic.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signal {
    /// Fundamental of the comb.
    pub frequency_hz: f64,
    /// One standard deviation.
    pub uncertainty_hz: f64,
    /// Whose it is, as far as two rates say.
    pub origin: Origin,
    /// Time lost in each period.
    pub ns_per_event: f64,
    /// Corrected for the number of frequencies tried.
    pub p_value: f64,
    /// Harmonics that stand out, the fundamental included.
    pub harmonics: u32,
    /// Share of the periods that have an event at the same phase, of a train of gaps or of quanta that lost. Where events of one cause scatter, the same phase is half of a
    /// period, less what comes in the other half.
    pub occupied: Option<f64>,
    /// In what it was found.
    pub seen_in: SeenIn,
    /// What has this period, where that is known.
    pub cause: Option<Cause>,
    /// What says so; `None` without a cause.
    pub cause_by: Option<CauseSource>,
}

words! {
    /// Whose a signal is.
    #[derive(Default)]
    pub enum Origin {
        /// The machine's: the same frequency at two rates.
        External = "external",
        /// The measurement's own: the same number of quanta at two rates.
        Sampling = "sampling",
        /// A frequency above half the rate, seen at another one.
        Alias = "alias",
        /// One rate does not tell.
        #[default]
        Unresolved = "unresolved",
    }
}

words! {
    /// In what a signal was found.
    #[derive(Default)]
    pub enum SeenIn {
        /// The times of gaps.
        Gaps = "gaps",
        /// What quanta lost beyond their gaps.
        #[default]
        Residual = "residual",
    }
}

words! {
    /// What says which cause a signal has.
    pub enum CauseSource {
        /// Kernel events name the gaps that have this period.
        Events = "events",
        /// No events were recorded, and the kernel counted one interrupt as often; or none, which leaves the host.
        Rate = "rate",
    }
}
