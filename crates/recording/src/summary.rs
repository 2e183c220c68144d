//! What one recording says of its node, in some kilobytes: `bandscope.summary/1`.
//!
//! One JSON file. A task of a job leaves it beside its recording, so that a fleet's report needs no node's quanta; `bandscope export --format summary` makes it of any
//! recording. `studies::fleet` writes and reads it; docs/fleet.md describes it.
//!
//! # Versions
//! As of recordings: within `/1` fields are only ever added, each with a default, and unknown ones are ignored.

use crate::Error;
use crate::document::{self, Document};
use crate::job_clock::JobClock;
use crate::layout::MANIFEST_FILE;
use crate::manifest::ranges::{COUNT, OutOfRange, Ranges, SECONDS, each, inside, number};
use crate::manifest::{Rank, TICKS_PER_NS};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The schema that this version writes, and the only major version that it reads.
pub const SCHEMA: &str = "bandscope.summary/1";
/// Its name beside the recording of a task.
pub const FILE: &str = "summary.json";

const DOCUMENT: Document = Document {
    schema: SCHEMA,
    // A node of 128 CPUs has 300 kB.
    max_bytes: 64 << 20,
    holds: "what one node lost, some KiB a CPU",
};

/// Shares of a CPU's time, and how they scatter.
const SHARE: std::ops::RangeInclusive<f64> = 0.0..=1.0;
/// Nothing that this program writes has more: CPUs of a node, ways of losing time, causes of each, bins, settings; and bytes of a name.
const CPUS: std::ops::RangeInclusive<u64> = 1..=8192;
/// See [`CPUS`].
const LOSSES: std::ops::RangeInclusive<u64> = 0..=32;
/// See [`CPUS`].
const CAUSES: std::ops::RangeInclusive<u64> = 0..=64;
/// See [`CPUS`].
const BINS: std::ops::RangeInclusive<u64> = 0..=64;
/// See [`CPUS`].
const FACTS: std::ops::RangeInclusive<u64> = 0..=1000;
/// See [`CPUS`].
const BYTES: std::ops::RangeInclusive<u64> = 0..=1024;
/// What rounding makes of sums of shares, at most.
const ROUNDED: f64 = 1e-3;
/// Percent of a share.
const PERCENT: std::ops::RangeInclusive<u64> = 0..=100;
/// Lengths of gaps, in nanoseconds.
const NS: std::ops::RangeInclusive<f64> = 0.0..=1e18;

/// What a recording says of its node. Strings are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Summary {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// Program and version that made it, as in `bandscope 0.1.0`.
    pub tool: String,
    /// Name of the run, as in `recording.json`.
    pub run: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// The node: as the launcher names it, else its host name.
    pub node: String,
    /// The kernel's random name of the boot; `null` where it was not told.
    pub boot_id: Option<String>,
    /// Which task of a job it was; `null` of a run by itself.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")
    )]
    pub rank: Option<Rank>,
    /// The counter that timed it; `null` where no hardware's did.
    pub clock: Option<SummaryClock>,
    /// How that counter relates to the clock of the job's first task; `null` where nobody compared them.
    pub job_clock: Option<JobClock>,
    /// How the node is set up: settings by name.
    pub facts: BTreeMap<String, String>,
    /// The measured CPUs.
    pub cpus: Vec<CpuSummary>,
}

/// The hardware counter of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SummaryClock {
    /// What it read when the first quantum began: times of gaps are since then.
    pub origin_ticks: u64,
    /// Ticks per nanosecond.
    pub ticks_per_ns: f64,
}

/// What one CPU lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CpuSummary {
    /// Its number; `null` where a file does not say.
    pub cpu: Option<u32>,
    /// Seconds that were measured.
    pub measured_s: f64,
    /// Share of them that was lost, in all.
    pub lost: f64,
    /// Standard error of that, by twenty blocks of time; `null` where they are too few.
    pub lost_error: Option<f64>,
    /// In which ways, the largest first.
    pub losses: Vec<LossSummary>,
    /// Number of gaps.
    pub gaps: u64,
    /// Gaps by duration, bins of a factor of two.
    pub histogram: Vec<GapBin>,
    /// The stretches in which least work was done, by their length.
    pub worst: Vec<WorstWindow>,
    /// The longest gaps, the longest first.
    pub longest: Vec<LongGap>,
}

/// Time lost in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LossSummary {
    /// In which way, as a report's account has it: `other tasks`, `timer tick`, `slower pace`.
    pub loss: String,
    /// Share of the time.
    pub share: f64,
    /// Standard error of that; `null` where it is not known.
    pub error: Option<f64>,
    /// By what, the largest first, each with its share; empty where the way says all.
    pub causes: Vec<(String, f64)>,
}

/// Gaps of similar duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GapBin {
    /// Shortest duration in the bin; the longest is twice that.
    pub from_ns: f64,
    /// Number.
    pub number: u64,
    /// Total duration.
    pub total_ns: f64,
}

/// The stretch of some length in which least work was done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorstWindow {
    /// Its length.
    pub window_s: f64,
    /// Share of the work that was done in it.
    pub worst: f64,
    /// When it began, since the start of the recording.
    pub at_s: f64,
    /// How long it lasted: it ends with a quantum, and one with a long gap is long. 0 where it is not known.
    pub lasted_s: f64,
    /// Percent of the work that was done in each of its equal parts, in order; empty where another CPU of the node has a worse one of this length.
    pub parts: Vec<u8>,
    /// What took most of it, the largest first, each with its share of the stretch; empty where `parts` is.
    pub causes: Vec<(String, f64)>,
}

/// One long gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LongGap {
    /// Since the start of the recording.
    pub at_s: f64,
    /// Duration.
    pub ns: f64,
    /// What it is booked to.
    pub cause: String,
}

impl Summary {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON of this schema, or holds what cannot be: what, and where.
    pub fn read(path: &Path) -> Result<Summary, Error> {
        Summary::parse(path, &document::bytes(path, &DOCUMENT)?)
    }

    /// Parses the bytes of a file; `path` is for messages only.
    ///
    /// # Errors
    /// As [`Summary::read`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Summary, Error> {
        document::in_ranges(path, document::parse(path, bytes, &DOCUMENT)?)
    }

    /// The summary that a task left beside its recording; `None` where there is none of that recording, or none that can be read, and the recording is there.
    ///
    /// # Errors
    /// If neither is there, or the summary cannot be read and there is no recording.
    pub fn of_task(directory: &Path) -> Result<Option<Summary>, Error> {
        let manifest = directory.join(MANIFEST_FILE);
        let summary = Summary::read(&directory.join(FILE));
        if !manifest.exists() {
            return summary.map(Some);
        }
        let run = document::bytes(&manifest, &NAMED).ok();
        let run = run.and_then(|bytes| serde_json::from_slice::<Run>(&bytes).ok());
        Ok(summary
            .ok()
            .filter(|summary| run.is_some_and(|run| run.run == summary.run)))
    }
}

/// What a manifest may take.
const NAMED: Document = Document {
    schema: "",
    max_bytes: 16 << 20,
    holds: "a recording",
};

/// The name of a run, in its manifest.
#[derive(Deserialize)]
struct Run {
    run: String,
}

/// Checks how many there are, or how long a text is.
fn at_most(
    field: &str,
    number_of: usize,
    range: &std::ops::RangeInclusive<u64>,
) -> Result<(), OutOfRange> {
    number(&format!("length of {field}"), number_of as u64, range)
}

/// Checks causes with their shares.
fn causes(causes: &[(String, f64)]) -> Result<(), OutOfRange> {
    at_most("causes", causes.len(), &CAUSES)?;
    causes.iter().try_for_each(|(name, share)| {
        at_most("a cause", name.len(), &BYTES)?;
        number("causes", *share, &SHARE)
    })
}

impl Ranges for Summary {
    fn check(&self) -> Result<(), OutOfRange> {
        self.rank.iter().try_for_each(|rank| inside("rank", rank))?;
        (self.clock.iter()).try_for_each(|clock| inside("clock", clock))?;
        (self.job_clock.iter()).try_for_each(|clock| inside("job_clock", clock))?;
        at_most("node", self.node.len(), &BYTES)?;
        at_most("facts", self.facts.len(), &FACTS)?;
        for text in self.facts.iter().flat_map(|(name, value)| [name, value]) {
            at_most("a fact", text.len(), &BYTES)?;
        }
        at_most("cpus", self.cpus.len(), &CPUS)?;
        each("cpus", &self.cpus)
    }
}

impl Ranges for SummaryClock {
    fn check(&self) -> Result<(), OutOfRange> {
        number("origin_ticks", self.origin_ticks, &COUNT)?;
        number("ticks_per_ns", self.ticks_per_ns, &TICKS_PER_NS)
    }
}

impl Ranges for CpuSummary {
    fn check(&self) -> Result<(), OutOfRange> {
        number("measured_s", self.measured_s, &SECONDS)?;
        number("lost", self.lost, &SHARE)?;
        number("lost_error", self.lost_error, &SHARE)?;
        at_most("losses", self.losses.len(), &LOSSES)?;
        each("losses", &self.losses)?;
        for (place, loss) in self.losses.iter().enumerate() {
            let same = self.losses[..place]
                .iter()
                .filter(|one| one.loss == loss.loss);
            number("losses: doubles", same.count() as u64, &(0..=0))?;
        }
        let sum: f64 = self.losses.iter().map(|loss| loss.share).sum();
        let rest = (self.lost - sum).abs();
        number("lost, less its losses", rest, &(0.0..=ROUNDED))?;
        at_most("histogram", self.histogram.len(), &BINS)?;
        at_most("worst", self.worst.len(), &BINS)?;
        at_most("longest", self.longest.len(), &BINS)?;
        number("gaps", self.gaps, &COUNT)?;
        each("histogram", &self.histogram)?;
        each("worst", &self.worst)?;
        each("longest", &self.longest)
    }
}

impl Ranges for LossSummary {
    fn check(&self) -> Result<(), OutOfRange> {
        at_most("loss", self.loss.len(), &BYTES)?;
        number("share", self.share, &SHARE)?;
        number("error", self.error, &SHARE)?;
        causes(&self.causes)?;
        let sum: f64 = self.causes.iter().map(|cause| cause.1).sum();
        number("causes, all of them", sum, &(0.0..=self.share + ROUNDED))
    }
}

impl Ranges for GapBin {
    fn check(&self) -> Result<(), OutOfRange> {
        number("from_ns", self.from_ns, &NS)?;
        number("number", self.number, &COUNT)?;
        number("total_ns", self.total_ns, &NS)
    }
}

impl Ranges for WorstWindow {
    fn check(&self) -> Result<(), OutOfRange> {
        number("window_s", self.window_s, &SECONDS)?;
        number("worst", self.worst, &(-1e6..=1e6))?;
        number("at_s", self.at_s, &SECONDS)?;
        number("lasted_s", self.lasted_s, &SECONDS)?;
        at_most("parts", self.parts.len(), &BINS)?;
        for part in &self.parts {
            number("parts", u64::from(*part), &PERCENT)?;
        }
        causes(&self.causes)
    }
}

impl Ranges for LongGap {
    fn check(&self) -> Result<(), OutOfRange> {
        number("at_s", self.at_s, &SECONDS)?;
        number("ns", self.ns, &NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        Summary {
            schema: SCHEMA.into(),
            node: "n1".into(),
            cpus: vec![CpuSummary {
                cpu: Some(1),
                lost: 0.1,
                losses: vec![LossSummary {
                    loss: "other tasks".into(),
                    share: 0.1,
                    error: None,
                    causes: vec![("rsync".into(), 0.1)],
                }],
                ..CpuSummary::default()
            }],
            ..Summary::default()
        }
    }

    fn parse(summary: &Summary) -> Result<Summary, Error> {
        Summary::parse(Path::new("s.json"), &serde_json::to_vec(summary).unwrap())
    }

    #[test]
    fn what_was_written_reads_back() {
        assert_eq!(parse(&summary()).unwrap(), summary());
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let spoilt = |change: fn(&mut Summary)| {
            let mut one = summary();
            change(&mut one);
            parse(&one).unwrap_err().to_string()
        };
        for (message, wanted) in [
            (
                spoilt(|one| one.schema = "other".into()),
                "schema \"other\"",
            ),
            (
                spoilt(|one| one.cpus.clear()),
                "length of cpus 0, expected 1 to 8192",
            ),
            (spoilt(|one| one.cpus[0].lost = 1.5), "cpus[0].lost 1.5"),
            (
                spoilt(|one| one.cpus[0].losses[0].causes[0].1 = -1.0),
                "causes -1",
            ),
        ] {
            assert!(message.contains(wanted), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
