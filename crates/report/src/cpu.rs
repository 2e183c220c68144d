//! The CPUs of a report, each with all of its series.

use crate::Availability;
use bandscope_recording::manifest::Rank;
use serde::Serialize;
use std::fmt;

/// Which of a job's tasks measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// Name of the node.
    pub node: String,
    /// Number of the task, from 0, over all nodes.
    pub task: u32,
}

impl From<&Rank> for Place {
    fn from(rank: &Rank) -> Place {
        Place {
            node: rank.node.clone(),
            task: rank.task,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} on {}", self.task, self.node.escape_debug())
    }
}

/// `CPU 3`, or `CPU 3 of task 1 on node7`.
pub fn cpu_name(cpu: u32, place: Option<&Place>) -> String {
    match place {
        None => format!("CPU {cpu}"),
        Some(place) => format!("CPU {cpu} of {place}"),
    }
}

/// One CPU of a recording, all of its series together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// The file or directory, as in its series.
    pub origin: String,
    /// The task of a job that measured it; not there of a run by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Indices of its series.
    pub series: Vec<usize>,
    /// Share of the wall time lost to gaps and to a slower pace; 1 where no unit completed.
    pub lost: f64,
    /// The gaps' part of it.
    pub gaps: f64,
    /// The pace's part of it.
    pub pace: f64,
    /// The worst of its series in windows of each length, shortest window first.
    pub availability: Vec<Availability>,
    /// Bands of the series that has most.
    pub bands: usize,
    /// Gaps per second of wall time; `null` where gaps are not known.
    pub gaps_per_second: Option<f64>,
    /// `null` where there is none, or where gaps are not known.
    pub longest_gap_ns: Option<f64>,
    /// Share of its gap time in gaps that hit other CPUs at the same time; `null` where no other CPU was measured with it.
    pub synchronous: Option<f64>,
}
