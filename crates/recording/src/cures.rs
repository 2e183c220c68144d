//! What `bandscope cure` tried: changes of a machine, each measured with and without, `bandscope.cures/1`.
//!
//! One JSON file, every trial in the order in which it was made and nothing averaged, so that it can be judged again by a program that knows
//! more. `experiments::cure` makes the changes, `studies::cure` takes the figures of each trial and judges. While a session goes on, the file has a line for each
//! pair ([`appended`]), which reads just as well.
//!
//! # Versions
//! As of recordings: within `/1` fields are only ever added, each with a default, and unknown ones are ignored.

pub mod appended;

use crate::Error;
use crate::document::{self, Document};
use crate::manifest::Machine;
use crate::manifest::ranges::{OutOfRange, RATE_HZ, Ranges, SECONDS, each, inside, number};
use crate::text::quoted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The schema that this version writes, and the only major version that it reads.
pub const SCHEMA: &str = "bandscope.cures/1";

/// The name of all cures that help, in force at once.
pub const TOGETHER: &str = "together";
/// The name of the cure that changes nothing, by which chance and the procedure itself are known.
pub const SHAM: &str = "sham";

const DOCUMENT: Document = Document {
    schema: SCHEMA,
    // A trial has less than 16 KiB.
    max_bytes: 64 << 20,
    holds: "the trials of a session, some KiB each",
};

/// Trials of one session together: more is a mistake.
const MAX_TRIALS: usize = 100_000;
/// Figures are shares of the time or seconds.
const VALUE: std::ops::RangeInclusive<f64> = -1e12..=1e12;
/// Work per second: a unit takes longer than a picosecond.
const UNITS_PER_S: std::ops::RangeInclusive<f64> = 0.0..=1e12;

/// One session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cures {
    /// [`SCHEMA`].
    pub schema: String,
    /// Program and version that measured, as in `bandscope 0.1.0`.
    pub tool: String,
    /// When the session began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// Whether it was ended before everything was tried.
    pub interrupted: bool,
    /// The CPUs that were to be made quiet.
    pub cpus: Vec<u32>,
    /// The CPUs that inherit what is moved; empty where there are none.
    pub others: Vec<u32>,
    /// The name of the tasks or interrupts that alone were moved (`--only`). Untrusted.
    pub only: Option<String>,
    /// Length of a trial in seconds.
    pub trial_s: f64,
    /// Quanta per second.
    pub rate_hz: f64,
    /// Work kernel.
    pub kernel: String,
    /// Seed of the random orders.
    pub seed: u64,
    /// Whether kernel events named the gaps.
    pub events: bool,
    /// Facts of the machine.
    pub machine: Machine,
    /// As the machine was found, before anything was changed.
    pub before: Figures,
    /// What was tried, or could not be, in that order.
    pub cures: Vec<Cure>,
    /// Names of cures that were left in force (`--keep`).
    pub kept: Vec<String>,
}

/// One cure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cure {
    /// As in `bandscope cure NAME`; [`TOGETHER`] for all that help, [`SHAM`] for the one that changes nothing.
    pub name: String,
    /// What it does, as in "gives other tasks other CPUs".
    pub what: String,
    /// Lines of the ledger that it acts on: keys of `gaps_ns`, or `pace:` and a key of `pace_ns`; `*` stands for any characters.
    pub acts_on: Vec<String>,
    /// What it writes where.
    pub changes: Vec<Change>,
    /// Why it could not be tried, in one sentence without a full stop.
    pub missing: Option<String>,
    /// Whether there was no time for it.
    pub out_of_time: bool,
    /// With and without, in order of time.
    pub pairs: Vec<Pair>,
    /// What went wrong, such as a setting that somebody else changed meanwhile, in sentences.
    pub problems: Vec<String>,
}

/// One change of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Change {
    /// A file, or what else is set ("affinity of 131 tasks"). Untrusted.
    pub setting: String,
    /// What stood there. Untrusted.
    pub before: String,
    /// What is written.
    pub during: String,
}

/// A cure once in force and once not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pair {
    /// One of those that say how much trials scatter, and count for nothing else.
    pub pilot: bool,
    /// Whether the trial with the cure came first.
    pub with_first: bool,
    /// Since the session began, in seconds.
    pub at_s: f64,
    /// Without the cure.
    pub without: Figures,
    /// With it.
    pub with: Figures,
}

/// Figures of one trial. Shares are of the time of the measured CPUs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Share of the time that was lost.
    pub lost: f64,
    /// Share by line of the ledger, those that are not 0; task names are untrusted.
    pub lines: BTreeMap<String, f64>,
    /// Work done in the worst 1 ms, as a share.
    pub worst_1ms: Option<f64>,
    /// The longest gap in seconds.
    pub longest_gap_s: f64,
    /// Gaps per second, a mean over the measured CPUs.
    pub gaps_per_s: f64,
    /// Units of work per second, a mean over the measured CPUs; 0 where it is not known. Shares are of each trial's own best pace, this is not.
    pub units_per_s: f64,
    /// Share of the time that the other CPUs ran tasks, and that tasks waited for them, a mean over these CPUs.
    pub others: Option<Inherited>,
    /// Kinds of the findings of the trial.
    pub findings: Vec<String>,
    /// Share of the time that is booked to `host`, at most 20 us of each gap, by the line that began the gap: the host's way to an interrupt and back. Of the line
    /// `host`, its other short stops.
    pub host_beside: BTreeMap<String, f64>,
    /// Gaps per second in which a line of `lines` took part, by line, a mean over the measured CPUs; of lines that kernel events name.
    pub parts_per_s: BTreeMap<String, f64>,
    /// What recording these events cost, where it was measured.
    pub events: Option<EventsShare>,
}

/// What recording kernel events cost on one of the measured CPUs, just before a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventsShare {
    /// Share of the time in gaps with events, less the share without: short stretches in turn.
    pub share: f64,
    /// Sum of [`Figures::parts_per_s`] of this CPU in the trial.
    pub parts_per_s: f64,
}

/// How busy the CPUs are that inherit what is moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inherited {
    /// Time that tasks ran.
    pub busy: f64,
    /// Time that tasks waited for a CPU; several may wait at once.
    pub waiting: f64,
}

impl Cures {
    /// As one line of JSON.
    pub fn to_json(&self) -> String {
        document::line(self)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON of this schema, or holds what cannot be: what, and where.
    pub fn read(path: &Path) -> Result<Cures, Error> {
        Cures::parse(path, &document::bytes(path, &DOCUMENT)?)
    }

    /// Parses the bytes of a file; `path` is for messages only.
    ///
    /// # Errors
    /// As [`Cures::read`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Cures, Error> {
        let read: Cures = crate::appended::parse(path, bytes, &DOCUMENT)?;
        let trials: usize = read.cures.iter().map(|cure| cure.pairs.len()).sum();
        if trials > MAX_TRIALS {
            return Err(Error::File {
                path: path.into(),
                found: format!("{trials} pairs"),
                expected: format!("at most {MAX_TRIALS}"),
            });
        }
        document::in_ranges(path, read)
    }
}

impl Ranges for Cures {
    fn check(&self) -> Result<(), OutOfRange> {
        number("duration_s", self.duration_s, &SECONDS)?;
        number("trial_s", self.trial_s, &(1e-3..=*SECONDS.end()))?;
        number("rate_hz", self.rate_hz, &RATE_HZ)?;
        inside("before", &self.before)?;
        each("cures", &self.cures)
    }
}

impl Ranges for Cure {
    fn check(&self) -> Result<(), OutOfRange> {
        each("pairs", &self.pairs)
    }
}

impl Ranges for Pair {
    fn check(&self) -> Result<(), OutOfRange> {
        number("at_s", self.at_s, &SECONDS)?;
        inside("without", &self.without)?;
        inside("with", &self.with)
    }
}

impl Ranges for Figures {
    fn check(&self) -> Result<(), OutOfRange> {
        let others = self.others.unwrap_or_default();
        let fixed = [
            ("lost", self.lost),
            ("worst_1ms", self.worst_1ms.unwrap_or_default()),
            ("longest_gap_s", self.longest_gap_s),
            ("gaps_per_s", self.gaps_per_s),
            ("others.busy", others.busy),
            ("others.waiting", others.waiting),
        ];
        let events = self.events.unwrap_or_default();
        number("units_per_s", self.units_per_s, &UNITS_PER_S)?;
        number("events.share", events.share, &VALUE)?;
        number("events.parts_per_s", events.parts_per_s, &VALUE)?;
        let mut fixed = fixed.into_iter();
        fixed.try_for_each(|(field, value)| number(field, value, &VALUE))?;
        let of_lines = [
            ("lines", &self.lines),
            ("host_beside", &self.host_beside),
            ("parts_per_s", &self.parts_per_s),
        ];
        of_lines.into_iter().try_for_each(|(name, lines)| {
            lines.iter().try_for_each(|(line, &value)| {
                let field = format!("{name}[{}]", quoted(line.as_bytes()));
                number(&field, value, &VALUE)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cures() -> Cures {
        let pair = Pair {
            with_first: true,
            without: Figures {
                lost: 0.05,
                units_per_s: 1e7,
                lines: [("task:cc1".into(), 0.05)].into(),
                ..Figures::default()
            },
            ..Pair::default()
        };
        Cures {
            schema: SCHEMA.into(),
            cpus: vec![1],
            trial_s: 1.0,
            rate_hz: 10_000.0,
            cures: vec![Cure {
                name: "tasks".into(),
                acts_on: vec!["task:*".into()],
                pairs: vec![pair],
                ..Cure::default()
            }],
            ..Cures::default()
        }
    }

    fn parse(cures: &Cures) -> Result<Cures, Error> {
        Cures::parse(Path::new("c.json"), cures.to_json().as_bytes())
    }

    #[test]
    fn what_was_written_reads_back() {
        assert_eq!(parse(&cures()).unwrap(), cures());
    }

    #[test]
    fn files_that_do_not_hold_the_work_have_none() {
        let json = cures().to_json().replace("units_per_s", "other");
        let read = Cures::parse(Path::new("c.json"), json.as_bytes()).unwrap();
        assert_eq!(read.cures[0].pairs[0].without.units_per_s, 0.0);
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let spoilt = |change: fn(&mut Cures)| {
            let mut one = cures();
            change(&mut one);
            parse(&one).unwrap_err().to_string()
        };
        for (message, wanted) in [
            (
                spoilt(|one| one.schema = "other\u{1b}".into()),
                "other\\u{1b}",
            ),
            (spoilt(|one| one.trial_s = 0.0), "trial_s 0"),
            (
                spoilt(|one| one.cures[0].pairs[0].with.lost = 1e300),
                "cures[0].pairs[0].with.lost 1e300",
            ),
            (
                spoilt(|one| one.cures[0].pairs[0].with.units_per_s = -1.0),
                "with.units_per_s -1",
            ),
            (
                spoilt(|one| {
                    let lines = &mut one.cures[0].pairs[0].without.lines;
                    lines.insert("task:\n".into(), -1e300);
                }),
                "without.lines[",
            ),
        ] {
            assert!(message.contains(wanted), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
