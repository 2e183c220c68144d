//! Runs of somebody's command, one process each: `bandscope.runs/1`, what `bandscope repeat` keeps.
//!
//! One JSON file: every run in the order in which it was made, nothing averaged, so that it can be analysed again by a program that
//! knows more. `experiments::repeat` measures it, `studies::repeat` explains it. While a session goes on it stands there
//! line by line ([`appended`]), which reads just as well.
//!
//! # Versions
//! As of recordings: within `/1` fields are only ever added, each with a default, and unknown ones are ignored.

pub mod appended;
mod check;
mod metric;

use crate::Error;
use crate::document::{self, Document};
use crate::manifest::Machine;
pub use metric::{Measured, Metric, last_digit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The schema that this version writes, and the only major version that it reads.
pub const SCHEMA: &str = "bandscope.runs/1";

const DOCUMENT: Document = Document {
    schema: SCHEMA,
    // A run has less than 4 KiB.
    max_bytes: 256 << 20,
    holds: "the runs of a command, some KiB each",
};

/// The level of a factor that is as whoever started the program had it.
pub const INHERITED: &str = "inherited";

/// All runs of one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Runs {
    /// [`SCHEMA`].
    pub schema: String,
    /// Program and version that measured, as in `bandscope 0.1.0`.
    pub tool: String,
    /// When the first run began, RFC 3339 in UTC.
    pub started: String,
    /// How long the session took, in seconds.
    pub duration_s: f64,
    /// Whether it was ended before everything was measured.
    pub interrupted: bool,
    /// The command and its arguments. Untrusted; what is not UTF-8 is replaced.
    pub command: Vec<String>,
    /// What is compared.
    pub metric: Metric,
    /// From which orders were drawn.
    pub seed: u64,
    /// How many runs with nothing varied were asked for.
    pub asked: u32,
    /// What was to be varied.
    pub factors: Vec<Factor>,
    /// Facts of the machine.
    pub machine: Machine,
    /// In order of time.
    pub runs: Vec<Run>,
    /// What could not be had at all, and why, in sentences.
    pub missing: Vec<String>,
}

/// Something about a process that can be set from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Factor {
    /// As in `--vary`.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Names of its levels; where the first is [`INHERITED`], runs with nothing varied are runs at that level.
    pub levels: Vec<String>,
    /// Levels of other factors at which it is varied, as the layout is fixed while sizes are.
    pub with: BTreeMap<String, String>,
    /// Why it cannot be varied here; then it has no levels.
    pub missing: Option<String>,
}

/// Why a run was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// To warm up; never analysed.
    WarmUp,
    /// With nothing varied: the modes are these runs'.
    #[default]
    Plain,
    /// To see which factors may decide.
    Screening,
    /// Fresh runs at two levels, to see whether one does.
    Confirmation,
}

/// One run of the command in a process of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Why it was made.
    pub phase: Phase,
    /// The factor for whose sake it was made; `None` if nothing was varied.
    pub factor: Option<String>,
    /// Level of each factor that was set.
    pub levels: BTreeMap<String, String>,
    /// When it began, in seconds since the session did.
    pub at_s: f64,
    /// The metric, in its unit; `None` of a run that failed.
    pub value: Option<f64>,
    /// From before the process was made to when its end was seen, in seconds.
    pub wall_s: f64,
    /// CPU time in user mode, of the process and those of its children that it waited for, in seconds.
    pub user_s: f64,
    /// The same in the operating system.
    pub system_s: f64,
    /// How it ended.
    pub end: End,
    /// Where it ended; `None` where that was not to be read.
    pub cpu: Option<u32>,
    /// What was counted meanwhile: `faults:minor`, `switches:involuntary`, `counter:cycles`, `irq:NAME`, `softirq:NAME`, ... The
    /// first three kinds are the command's own, the rest are the machine's. Names are untrusted.
    pub counts: BTreeMap<String, f64>,
    /// Load average over a minute when it began.
    pub load: Option<f64>,
}

/// How a process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Its exit status, if it exited.
    pub status: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    /// Whether it was ended because the session was.
    pub interrupted: bool,
    /// The last of what a run that failed said, standard error first. Untrusted.
    pub said: Option<String>,
}

impl End {
    /// Whether the command did what it should.
    pub fn succeeded(&self) -> bool {
        self.status == Some(0) && !self.timed_out && !self.interrupted
    }
}

impl Run {
    /// Its level of a factor.
    pub fn level(&self, factor: &str) -> &str {
        self.levels.get(factor).map_or(INHERITED, String::as_str)
    }

    /// Instructions, cycles and others by the name of their counter.
    pub fn counter(&self, name: &str) -> Option<f64> {
        self.counts.get(&format!("counter:{name}")).copied()
    }
}

impl Runs {
    /// As one line of JSON.
    pub fn to_json(&self) -> String {
        document::line(self)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON of this schema, or holds what cannot be: what, and where.
    pub fn read(path: &Path) -> Result<Runs, Error> {
        Runs::parse(path, &document::bytes(path, &DOCUMENT)?)
    }

    /// Parses the bytes of a file; `path` is for messages only.
    ///
    /// # Errors
    /// As [`Runs::read`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Runs, Error> {
        crate::appended::parse(path, bytes, &DOCUMENT).and_then(|read| check::check(read, path))
    }
}
