//! Fixed work instead of fixed time: how long N us of a work kernel took, as histograms, `bandscope.histogram/1`.
//!
//! `experiments::histogram` measures them, `bandscope histogram` writes them as one JSON document, and this module reads
//! that back together with what others published: tables of durations (`.hist`) and of where a smear ends (`.tsv`),
//! docs/histogram.md. `studies::histogram` explains them.
//!
//! # Versions
//! As of recordings: within `/1` fields are only ever added, each with a default, and unknown ones are ignored.

mod ends;
mod hist;
mod open;

use crate::manifest::{Clock, Machine, Missing, State};
pub use open::{open, parse};
use serde::{Deserialize, Serialize};

/// The schema that this version writes, and the only major version that it reads.
pub const SCHEMA: &str = "bandscope.histogram/1";

/// One run, or what was published of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixedWork {
    /// [`SCHEMA`].
    pub schema: String,
    /// Program and version that measured; empty of published tables.
    pub tool: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// How it ended.
    pub state: State,
    /// The clock; `None` of published tables.
    pub clock: Option<Clock>,
    /// The machine, as far as it is known.
    pub machine: Machine,
    /// One for each CPU, work kernel and length of work.
    pub histograms: Vec<Histogram>,
    /// Published ends of smears, for histograms that were not.
    pub smear_ends: Vec<SmearEnd>,
    /// What could not be measured, why, and what that leaves undecided.
    pub missing: Vec<Missing>,
}

/// How often the same work took how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Histogram {
    /// CPU; `None` where it is not known.
    pub cpu: Option<u32>,
    /// Work kernel; `unknown` where it is not known. Untrusted.
    pub kernel: String,
    /// How long the work should take, in microseconds; `None` if nobody says.
    pub work_us: Option<f64>,
    /// Turns of the loop that make up the work.
    pub turns: Option<u64>,
    /// Seconds over which ticks count: what all samples took together, or what a table's header states.
    pub seconds: Option<f64>,
    /// Timer interrupts per second of a busy CPU.
    pub tick_hz: Option<f64>,
    /// Samples in `bins`.
    pub samples: u64,
    /// Durations, ascending; what lies in none of them and in none of `absent` did not happen.
    pub bins: Vec<Bin>,
    /// Durations of which nothing is known, first and last nanosecond of each, ascending: rows that were not published.
    pub absent: Vec<(f64, f64)>,
    /// The longest samples, longest first.
    pub longest: Vec<LongSample>,
    /// The file that it comes from; empty of this program's own measurement. Untrusted.
    pub origin: String,
}

/// Samples of about one duration; in JSON `[from_ns, to_ns, count]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "(f64, f64, u64)", into = "(f64, f64, u64)")]
pub struct Bin {
    /// Shortest duration in nanoseconds.
    pub from_ns: f64,
    /// Where the next bin may begin.
    pub to_ns: f64,
    /// Samples that took so long.
    pub count: u64,
}

impl From<(f64, f64, u64)> for Bin {
    fn from((from_ns, to_ns, count): (f64, f64, u64)) -> Bin {
        Bin {
            from_ns,
            to_ns,
            count,
        }
    }
}

impl From<Bin> for (f64, f64, u64) {
    fn from(bin: Bin) -> (f64, f64, u64) {
        (bin.from_ns, bin.to_ns, bin.count)
    }
}

/// One of the longest samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LongSample {
    /// When it began, in seconds since the run did.
    pub at_s: f64,
    /// How long it took, in nanoseconds.
    pub ns: f64,
}

/// Where the smear of a length of work ends, as published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SmearEnd {
    /// How long the work takes, in microseconds.
    pub work_us: f64,
    /// The longest duration of the smear, in microseconds.
    pub end_us: f64,
    /// The file that it comes from. Untrusted.
    pub origin: String,
}

impl Histogram {
    /// What is wrong with it, so that nothing can be computed from it.
    fn fault(&self) -> Option<&'static str> {
        let mut last = 0.0;
        for bin in &self.bins {
            let ordered = bin.from_ns >= last && bin.to_ns > bin.from_ns;
            // A NaN is in no order.
            if !(ordered && bin.to_ns <= hist::LONGEST_NS) {
                return Some("bins that ascend, of 0 ns to 1e15 ns");
            }
            last = bin.to_ns;
        }
        let mut last = 0.0;
        for (from, to) in &self.absent {
            if !(*from >= last && to > from && *to <= hist::LONGEST_NS) {
                return Some("absent durations that ascend, of 0 ns to 1e15 ns");
            }
            last = *to;
        }
        let sum = (self.bins.iter()).try_fold(0u64, |sum, bin| sum.checked_add(bin.count));
        if sum != Some(self.samples) || self.samples > hist::MOST_SAMPLES {
            return Some("as many samples as the bins hold, below 2^53");
        }
        let positive = |value: Option<f64>| value.is_none_or(|value| value > 0.0 && value < 1e12);
        if !(positive(self.work_us) && positive(self.seconds) && positive(self.tick_hz)) {
            return Some("work_us, seconds and tick_hz above 0 and below 1e12");
        }
        None
    }
}
