//! Findings: phenomena that were recognised, and how sure that is.

use crate::closed::words;
use crate::evidence::{ClockDrift, OfKind};
use crate::{Evidence, Kind};
use serde::Serialize;

/// One phenomenon that was recognised.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::evidence_by_kind))]
pub struct Finding {
    /// Which phenomenon.
    pub kind: Kind,
    /// Indices of the series that show it.
    pub series: Vec<usize>,
    /// How sure.
    pub certainty: Certainty,
    /// What was recognised, with figures: a sentence that stands alone, and the sentences that explain it.
    pub summary: String,
    /// What it rests on.
    pub evidence: Evidence,
    /// The command or step that would decide it, where it is not certain.
    pub next_step: Option<String>,
}

/// A drift of less is nobody's problem: a clock that NTP disciplines is off by more (it slews by up to 500 ppm).
const MIN_DRIFT_PPM: f64 = 1.0;

impl Finding {
    /// Whether measuring makes it by itself, so that no time is lost by it.
    pub fn is_side_effect(&self) -> bool {
        match self.kind {
            Kind::Quantisation | Kind::EdgePairs | Kind::SamplingArtefact => true,
            Kind::ClockDrift => ClockDrift::of(&self.evidence)
                .is_some_and(|drift| drift.drift_ppm.abs() < MIN_DRIFT_PPM),
            _ => false,
        }
    }
}

words! {
    /// How sure a finding is.
    pub enum Certainty {
        /// Fits, and so would something else.
        Possible = "possible",
        /// The best explanation of what was measured.
        Likely = "likely",
        /// The data decide it.
        Certain = "certain",
    }
}
