//! What a machine was like when all was well: figures of several runs of each CPU, `bandscope.baseline/1`.
//!
//! One JSON file. `studies::check` makes it of reports (`bandscope check --save`) and holds later runs against it (`--against`); docs/check.md describes it.
//! Every run's value is kept and nothing averaged, as the judgement rests on how the runs scatter.
//!
//! # Versions
//! As of recordings: within `/1` fields are only ever added, each with a default, and unknown ones are ignored.

use crate::Error;
use crate::document::{self, Document};
use crate::manifest::ranges::{OutOfRange, RATE_HZ, Ranges, SECONDS, number, numbers};
use crate::manifest::{Machine, Settings};
use crate::text::quoted;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;

/// The schema that this version writes, and the only major version that it reads.
pub const SCHEMA: &str = "bandscope.baseline/1";

const DOCUMENT: Document = Document {
    schema: SCHEMA,
    // A CPU has less than 64 KiB.
    max_bytes: 64 << 20,
    holds: "figures of some runs, some KiB a CPU",
};

/// Runs of which a baseline is made at least: with fewer nobody knows how they scatter.
pub const MIN_RUNS: u32 = 3;
/// Runs that it may have.
const MAX_RUNS: u32 = 10_000;
/// Figures are shares, seconds, rates or ns per unit.
const VALUE: std::ops::RangeInclusive<f64> = -1e12..=1e12;

/// Of the time; what rounding makes of none and of all.
const SHARE: std::ops::RangeInclusive<f64> = -0.01..=1.01;

/// Figures of several runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Baseline {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// Program and version that measured, as in `bandscope 0.1.0`.
    pub tool: String,
    /// When the first run began, RFC 3339 in UTC.
    pub started: String,
    /// Settings of each run, as in `recording.json`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "serde_json::Map<String, serde_json::Value>")
    )]
    pub settings: Settings,
    /// Facts of the machine, as in `recording.json`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "serde_json::Map<String, serde_json::Value>")
    )]
    pub machine: Machine,
    /// Whether kernel events named the gaps.
    pub events: bool,
    /// Number of runs.
    pub runs: u32,
    /// One for each CPU.
    pub cpus: Vec<BaselineCpu>,
}

/// Figures of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BaselineCpu {
    /// Its number.
    pub cpu: u32,
    /// Those that every run has.
    pub figures: Vec<BaselineFigure>,
}

/// A figure of every run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BaselineFigure {
    /// Its name, as in a condition. May hold the name of a task, untrusted.
    pub name: String,
    /// One for each run, in order of time.
    pub values: Vec<f64>,
}

impl Baseline {
    /// The values of a figure.
    pub fn values(&self, cpu: u32, name: &str) -> Option<&[f64]> {
        let cpu = self.cpus.iter().find(|one| one.cpu == cpu)?;
        let figure = cpu.figures.iter().find(|one| one.name == name)?;
        Some(&figure.values)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON of this schema, or holds what cannot be: what, and where.
    pub fn read(path: &Path) -> Result<Baseline, Error> {
        Baseline::parse(path, &document::bytes(path, &DOCUMENT)?)
    }

    /// Parses the bytes of a file; `path` is for messages only.
    ///
    /// # Errors
    /// As [`Baseline::read`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Baseline, Error> {
        let read: Baseline = document::parse(path, bytes, &DOCUMENT)?;
        let read = document::in_ranges(path, read)?;
        let wrong = |found: String, expected: String| Error::File {
            path: path.into(),
            found,
            expected,
        };
        if read.cpus.iter().all(|cpu| cpu.figures.is_empty()) {
            let expected = "figures of one CPU or more".to_owned();
            return Err(wrong("no figure".to_owned(), expected));
        }
        let mut numbers = HashSet::new();
        for cpu in &read.cpus {
            if !numbers.insert(cpu.cpu) {
                return Err(wrong(
                    format!("CPU {} twice", cpu.cpu),
                    "each CPU once".to_owned(),
                ));
            }
            let runs = |one: &&BaselineFigure| one.values.len() != read.runs as usize;
            if let Some(figure) = cpu.figures.iter().find(runs) {
                let name = quoted(figure.name.as_bytes());
                return Err(wrong(
                    format!(
                        "{} values of {name} of CPU {}",
                        figure.values.len(),
                        cpu.cpu
                    ),
                    format!("one for each of {} runs", read.runs),
                ));
            }
        }
        Ok(read)
    }
}

impl Ranges for Baseline {
    fn check(&self) -> Result<(), OutOfRange> {
        number("runs", self.runs, &(MIN_RUNS..=MAX_RUNS))?;
        let settings = &self.settings;
        number(
            "settings.duration_s",
            settings.duration_s,
            &(1e-3..=*SECONDS.end()),
        )?;
        numbers("settings.rates_hz", &settings.rates_hz, &RATE_HZ)?;
        self.cpus.iter().try_for_each(|cpu| {
            let mut names = HashSet::new();
            for figure in &cpu.figures {
                let field = format!("values of {}", quoted(figure.name.as_bytes()));
                numbers(&field, &figure.values, &range(&figure.name))?;
                let is_double = !names.insert(&figure.name);
                number(&format!("{field}: doubles"), u64::from(is_double), &(0..=0))?;
            }
            Ok(())
        })
    }
}

/// What a figure of this name can be: lines of the ledger are shares.
fn range(name: &str) -> std::ops::RangeInclusive<f64> {
    match name {
        "pace" => f64::MIN_POSITIVE..=*VALUE.end(),
        "gaps" => 0.0..=*VALUE.end(),
        "lost" | "host" | "tick" => SHARE,
        name if name.contains(':') => SHARE,
        _ => VALUE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline() -> Baseline {
        Baseline {
            schema: SCHEMA.into(),
            settings: Settings {
                duration_s: 2.0,
                rates_hz: vec![10_000.0],
                ..Settings::default()
            },
            runs: 3,
            cpus: vec![BaselineCpu {
                cpu: 1,
                figures: vec![BaselineFigure {
                    name: "lost".into(),
                    values: vec![0.1, 0.2, 0.3],
                }],
            }],
            ..Baseline::default()
        }
    }

    fn parse(baseline: &Baseline) -> Result<Baseline, Error> {
        Baseline::parse(Path::new("b.json"), &serde_json::to_vec(baseline).unwrap())
    }

    #[test]
    fn what_was_written_reads_back() {
        let read = parse(&baseline()).unwrap();
        assert_eq!(read, baseline());
        assert_eq!(read.values(1, "lost"), Some(&[0.1, 0.2, 0.3][..]));
        assert_eq!(read.values(2, "lost"), None);
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let spoilt = |change: fn(&mut Baseline)| {
            let mut one = baseline();
            change(&mut one);
            parse(&one).unwrap_err().to_string()
        };
        for (message, wanted) in [
            (
                spoilt(|one| one.schema = "other".into()),
                "schema \"other\"",
            ),
            (spoilt(|one| one.runs = 1), "runs 1, expected 3 to 10000"),
            (spoilt(|one| one.cpus.clear()), "found no figure"),
            (spoilt(|one| one.runs = 4), "3 values of \"lost\" of CPU 1"),
            (
                spoilt(|one| one.cpus[0].figures[0].values[1] = 1e300),
                "values of \"lost\"[1] 1e300",
            ),
            (
                spoilt(|one| one.cpus.push(one.cpus[0].clone())),
                "CPU 1 twice",
            ),
            (
                spoilt(|one| {
                    let figures = &mut one.cpus[0].figures;
                    figures.push(figures[0].clone());
                }),
                "\"lost\": doubles 1",
            ),
            (
                spoilt(|one| one.settings.duration_s = 0.0),
                "settings.duration_s 0",
            ),
        ] {
            assert!(message.contains(wanted), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
