//! What the lab measured: pieces of loops, timed from outside, in alternation and under interruptions.
//!
//! One JSON file, [`SCHEMA`]: all pieces, nothing averaged, so that the recording of another machine can be analysed again by a
//! program that knows more. `experiments::lab` measures it, `studies::lab` explains it.

use crate::Error;
use crate::document::{self, Document};
use crate::manifest::Machine;
use crate::text::quoted;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the format. Readers refuse another, and ignore fields they do not know.
pub const SCHEMA: &str = "bandscope.experiments/1";

const DOCUMENT: Document = Document {
    schema: SCHEMA,
    // One run of the lab has less than 4 MiB.
    max_bytes: 64 << 20,
    holds: "the experiments of a run of the lab, some MiB",
};

/// The experiments of one run on one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Experiments {
    /// [`SCHEMA`].
    pub schema: String,
    /// Program and version that measured, as in `bandscope 0.1.0`.
    pub tool: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Whether it was ended before everything was measured.
    pub interrupted: bool,
    /// The CPU that was measured.
    pub cpu: u32,
    /// Facts of the machine.
    pub machine: Machine,
    /// Ticks of the clock per nanosecond.
    pub ticks_per_ns: f64,
    /// The chain that is the clock: its loop.
    pub reference: String,
    /// Cycles of one operation of the reference.
    pub reference_cycles: f64,
    /// Levels measured in alternation.
    pub pairs: Vec<Pair>,
    /// Loops under interruptions.
    pub switching: Vec<Switching>,
    /// What could not be had at all, and why, in sentences.
    pub missing: Vec<String>,
}

/// Levels of one thing, measured in alternation; the first is the control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pair {
    /// One of the pairs of docs/method.md, section 9.6: `base-register`, `store-bypass`, `placement`, ...
    pub name: String,
    /// The control, then the others.
    pub levels: Vec<Level>,
}

/// One level of a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Level {
    /// What tells it from the others, as in `rsp` or `16 bits`.
    pub name: String,
    /// The loop, by its name in the lab's list.
    pub code: String,
    /// What the loop does.
    pub description: String,
    /// Index of the level that it is held against; its own for a control.
    pub control: usize,
    /// Why this level could not be measured here.
    pub missing: Option<String>,
    /// Each pass starts anew, in a thread of its own: the addresses of its stack and its scratch memory, and what the core remembers, are others.
    pub passes: Vec<Pass>,
}

/// Pieces of one level, in order of time; the lists are as long as each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pass {
    /// Ticks per operation of each piece.
    pub ticks: Vec<f32>,
    /// Ticks per operation of the reference right after it.
    pub reference: Vec<f32>,
    /// Ticks per operation of a second register chain right after that.
    pub chain: Vec<f32>,
}

/// One loop under interruptions at one rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Switching {
    /// The loop, by its name in the lab's list.
    pub code: String,
    /// What the loop does.
    pub description: String,
    /// Operations of a turn.
    pub operations: u32,
    /// Timer signals per second.
    pub rate_hz: u32,
    /// Ticks per operation of the reference, its median during the experiment.
    pub reference: f64,
    /// Runs of the loop, each entered anew.
    pub runs: Vec<Run>,
}

/// One run of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Turns of the loop.
    pub turns: u64,
    /// How long it took, in ticks.
    pub ticks: u64,
    /// What interrupted it, in order of time.
    pub interruptions: Vec<Interruption>,
}

/// One interruption that the program itself asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interruption {
    /// When its handler began, in ticks since the loop was entered.
    pub at: u64,
    /// Turns that the loop still had before it.
    pub turns_left: u64,
}

impl Experiments {
    /// As one line of JSON.
    pub fn to_json(&self) -> String {
        document::line(self)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON of this schema, or its lists do not fit together: what, and where.
    pub fn read(path: &Path) -> Result<Experiments, Error> {
        document::read(path, &DOCUMENT).and_then(|read| Experiments::checked(read, path))
    }

    /// Parses the bytes of a file; `path` is for messages only.
    ///
    /// # Errors
    /// As [`Experiments::read`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Experiments, Error> {
        document::parse(path, bytes, &DOCUMENT).and_then(|read| Experiments::checked(read, path))
    }

    fn checked(self, path: &Path) -> Result<Experiments, Error> {
        let wrong = self.wrong();
        wrong.map_or(Ok(self), |(found, expected)| {
            Err(Error::File {
                path: path.into(),
                found,
                expected: expected.into(),
            })
        })
    }

    /// What does not fit together: what stands there, and what should.
    fn wrong(&self) -> Option<(String, &'static str)> {
        let numbers = [
            ("ticks_per_ns", self.ticks_per_ns),
            ("reference_cycles", self.reference_cycles),
        ];
        for (name, value) in numbers {
            if !(value.is_finite() && value > 0.0) {
                return Some((format!("{name} {value}"), "more than 0"));
            }
        }
        for pair in &self.pairs {
            let number = pair.levels.len();
            if let Some(level) = pair.levels.iter().find(|level| level.control >= number) {
                let found = format!(
                    "pair {}: control {} of {number} levels",
                    quoted(pair.name.as_bytes()),
                    level.control
                );
                return Some((found, "the index of a level"));
            }
        }
        let levels = self.pairs.iter().flat_map(|pair| &pair.levels);
        levels
            .flat_map(|level| level.passes.iter().map(move |pass| (level, pass)))
            .find_map(|(level, pass)| {
                let (found, expected) = pass.wrong()?;
                Some((
                    format!("level {}: {found}", quoted(level.name.as_bytes())),
                    expected,
                ))
            })
            .or_else(|| self.switching.iter().find_map(Switching::wrong))
    }
}

impl Pass {
    fn wrong(&self) -> Option<(String, &'static str)> {
        let lengths = [self.ticks.len(), self.reference.len(), self.chain.len()];
        if lengths.iter().any(|&length| length != lengths[0]) {
            return Some((format!("lists of {lengths:?} pieces"), "as many in each"));
        }
        let mut pieces = [&self.ticks, &self.reference, &self.chain]
            .into_iter()
            .flatten();
        pieces
            .find(|ticks| !(ticks.is_finite() && **ticks > 0.0))
            .map(|wrong| (format!("a piece of {wrong} ticks"), "more than 0"))
    }
}

impl Run {
    /// Time in ticks and turns left: at the start, at each interruption, at the end.
    pub fn points(&self) -> Vec<(u64, u64)> {
        let interruptions = self.interruptions.iter();
        [(0, self.turns)]
            .into_iter()
            .chain(interruptions.map(|one| (one.at, one.turns_left)))
            .chain([(self.ticks, 0)])
            .collect()
    }
}

impl Switching {
    fn wrong(&self) -> Option<(String, &'static str)> {
        if self.operations == 0 {
            return Some((
                format!("loop {}: 0 operations", quoted(self.code.as_bytes())),
                "at least 1 in a turn",
            ));
        }
        if !(self.reference.is_finite() && self.reference > 0.0) {
            return Some((
                format!(
                    "loop {}: reference {}",
                    quoted(self.code.as_bytes()),
                    self.reference
                ),
                "more than 0",
            ));
        }
        let in_order = |run: &Run| {
            run.points()
                .windows(2)
                .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 >= pair[1].1)
        };
        self.runs
            .iter()
            .position(|run| !in_order(run))
            .map(|index| {
                (
                    format!(
                        "loop {}: run {index} with interruptions out of order",
                        quoted(self.code.as_bytes())
                    ),
                    "times that rise and turns that fall",
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiments() -> Experiments {
        let pass = Pass {
            ticks: vec![1.5, 1.25],
            reference: vec![2.0; 2],
            chain: vec![2.5; 2],
        };
        Experiments {
            schema: SCHEMA.into(),
            ticks_per_ns: 2.3,
            reference: "imul".into(),
            reference_cycles: 3.0,
            pairs: vec![Pair {
                name: "base-register".into(),
                levels: vec![Level {
                    name: "rsp".into(),
                    passes: vec![pass],
                    ..Level::default()
                }],
            }],
            switching: vec![Switching {
                code: "frame-64".into(),
                operations: 64,
                reference: 2.0,
                runs: vec![Run {
                    turns: 10,
                    ticks: 100,
                    interruptions: vec![Interruption {
                        at: 30,
                        turns_left: 6,
                    }],
                }],
                ..Switching::default()
            }],
            ..Experiments::default()
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let written = experiments();
        let read = Experiments::parse(Path::new("lab.json"), written.to_json().as_bytes()).unwrap();
        assert_eq!(read, written);
    }

    #[test]
    fn what_does_not_fit_is_refused_in_one_line() {
        let spoil = |change: fn(&mut Experiments)| {
            let mut one = experiments();
            change(&mut one);
            let error = Experiments::parse(Path::new("lab.json"), one.to_json().as_bytes());
            error.unwrap_err().to_string()
        };
        for (message, wanted) in [
            (
                spoil(|one| one.schema = "other\u{1b}".into()),
                "other\\u{1b}",
            ),
            (spoil(|one| one.ticks_per_ns = -1.0), "ticks_per_ns -1"),
            (
                spoil(|one| one.pairs[0].levels[0].passes[0].chain.clear()),
                "[2, 2, 0] pieces",
            ),
            (
                spoil(|one| one.pairs[0].levels[0].passes[0].ticks[1] = 0.0),
                "a piece of 0 ticks",
            ),
            (
                spoil(|one| one.switching[0].runs[0].interruptions[0].at = 101),
                "out of order",
            ),
            (
                spoil(|one| one.switching[0].runs[0].interruptions[0].turns_left = 11),
                "out of order",
            ),
            (spoil(|one| one.switching[0].reference = 0.0), "reference 0"),
            (
                spoil(|one| one.pairs[0].levels[0].control = 1),
                "control 1 of 1 levels",
            ),
        ] {
            assert!(
                message.contains(wanted)
                    && message.starts_with("lab.json: ")
                    && message.lines().count() == 1,
                "{message}"
            );
        }
    }
}
