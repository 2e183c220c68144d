//! Findings: phenomena that were recognised, and how sure that is.

use crate::closed::words;
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
    /// One sentence with figures.
    pub summary: String,
    /// What it rests on.
    pub evidence: Evidence,
    /// The command or step that would decide it, where it is not certain.
    pub next_step: Option<String>,
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
