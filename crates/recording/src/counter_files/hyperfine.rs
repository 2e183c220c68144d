//! What `hyperfine --export-json` writes: how long each run of each command took.

use super::{Counter, CounterSet, ELAPSED};
use crate::Error;
use crate::text::{quoted, shown};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Export {
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Outcome {
    command: String,
    mean: Option<f64>,
    stddev: Option<f64>,
    user: Option<f64>,
    system: Option<f64>,
    times: Vec<f64>,
    exit_codes: Vec<Option<i32>>,
}

/// Reads the bytes of a file: one set for each command.
///
/// # Errors
/// If it is no such JSON, or a command has no time.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<CounterSet>, Error> {
    let export: Export = serde_json::from_slice(bytes).map_err(|error| Error::Row {
        path: path.into(),
        row: error.line() as u64,
        found: quoted(error.to_string().as_bytes()),
        expected: "JSON of hyperfine, with results".into(),
    })?;
    if export.results.is_empty() {
        return Err(Error::File {
            path: path.into(),
            found: "no result".into(),
            expected: "JSON of hyperfine with a command at least".into(),
        });
    }
    export
        .results
        .into_iter()
        .map(|result| set(path, result))
        .collect()
}

fn set(path: &Path, result: Outcome) -> Result<CounterSet, Error> {
    let times = match (result.times.is_empty(), result.mean) {
        // Older versions, and --export-csv made to JSON, keep the mean only.
        (true, Some(mean)) => vec![mean],
        _ => result.times.clone(),
    };
    let fine = |time: &f64| *time >= 0.0 && time.is_finite();
    if times.is_empty() || !times.iter().all(fine) {
        return Err(Error::File {
            path: path.into(),
            found: format!(
                "{} without times of 0 s or more",
                quoted(result.command.as_bytes())
            ),
            expected: "times of runs in seconds".into(),
        });
    }
    let mean_of = |name: &str, value: Option<f64>| Counter {
        name: name.into(),
        unit: "s".into(),
        runs: value.filter(fine).into_iter().collect(),
        running: 1.0,
        ..Counter::default()
    };
    let mut counters = vec![Counter {
        name: ELAPSED.into(),
        unit: "s".into(),
        standard_error: result.stddev.filter(|_| times.len() == 1),
        runs: times,
        running: 1.0,
        ..Counter::default()
    }];
    // One number for all runs: no spread is known.
    counters.push(mean_of("user", result.user));
    counters.push(mean_of("sys", result.system));
    counters.retain(|counter| !counter.runs.is_empty());
    let failed = result
        .exit_codes
        .iter()
        .filter(|code| **code != Some(0))
        .count();
    let notes = match failed {
        0 => Vec::new(),
        _ => vec![format!(
            "{failed} runs of {} ended with another status than 0.",
            quoted(result.command.as_bytes())
        )],
    };
    Ok(CounterSet {
        origin: shown(path),
        name: result.command,
        counters,
        notes,
        ..CounterSet::default()
    })
}
