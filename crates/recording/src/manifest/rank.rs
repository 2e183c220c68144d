//! Which task of a parallel job a run was.

use super::ranges::{OutOfRange, Ranges, number};
use serde::{Deserialize, Serialize};

/// Tasks that a job may have; the largest machines have 10 million cores (top500.org).
const MAX_TASKS: u32 = 1 << 25;

/// One task of a job that `srun` or `mpirun` started. Strings are untrusted, escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rank {
    /// The launcher's name of this job, the same for all of its tasks; empty where it gives none.
    pub job: String,
    /// Name of the node, as in the directory of the part.
    pub node: String,
    /// The task's number, from 0, over all nodes.
    pub task: u32,
    /// Number of tasks; `None` where the launcher does not say.
    pub tasks: Option<u32>,
}

impl Ranges for Rank {
    fn check(&self) -> Result<(), OutOfRange> {
        number("tasks", self.tasks, &(1..=MAX_TASKS))
    }
}
