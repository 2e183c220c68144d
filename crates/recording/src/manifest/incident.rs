//! Incidents of a run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that happened during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// What sort of thing.
    pub kind: IncidentKind,
    /// Ticks since the origin.
    pub ticks: u64,
    /// What happened, in one sentence with its numbers.
    pub detail: String,
}

/// What sort of thing happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncidentKind {
    /// The clock ran backwards.
    ClockJump,
    /// A measuring thread was on another CPU than before.
    CpuChange,
    /// Quanta were lost, and those after them make a new segment; or segments were left out, as the CPU came too late for them.
    SegmentCut,
    /// What disturbed the machine on purpose ended before the recording did.
    DisturberEnded,
    /// A command that was run when something was caught failed.
    CommandFailed,
    /// Later settings of speculative store bypass are not listed.
    MoreSettings,
    /// Later incidents are not listed.
    MoreIncidents,
    /// A word of another version. Untrusted.
    #[serde(untagged)]
    Other(String),
}

/// As the manifest spells it.
impl fmt::Display for IncidentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IncidentKind::ClockJump => "clock-jump",
            IncidentKind::CpuChange => "cpu-change",
            IncidentKind::SegmentCut => "segment-cut",
            IncidentKind::DisturberEnded => "disturber-ended",
            IncidentKind::CommandFailed => "command-failed",
            IncidentKind::MoreSettings => "more-settings",
            IncidentKind::MoreIncidents => "more-incidents",
            IncidentKind::Other(word) => word,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back_as_it_is_shown() {
        for kind in [
            IncidentKind::ClockJump,
            IncidentKind::CpuChange,
            IncidentKind::SegmentCut,
            IncidentKind::DisturberEnded,
            IncidentKind::CommandFailed,
            IncidentKind::MoreSettings,
            IncidentKind::MoreIncidents,
            IncidentKind::Other("cpu-offline".into()),
        ] {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<IncidentKind>(&json).unwrap(), kind);
        }
    }
}
