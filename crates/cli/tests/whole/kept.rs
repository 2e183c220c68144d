//! Recordings that earlier versions made are read, reported and exported by this one: `kept/VERSION` has them, the commands that made them,
//! and what they hold by the version that made them.
//!
//! Asserted is only what no analysis may change: which series there are, their quanta, units, gaps and wall time, the state of the run, a ledger
//! that closes.

use crate::common::{assert_ledger_closes, kinds_of_warnings, report, succeed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The directories of all versions.
fn versions() -> Vec<PathBuf> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept");
    let versions: Vec<PathBuf> = std::fs::read_dir(kept)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(!versions.is_empty());
    versions
}

/// The rows of a table, without its head.
fn table(directory: &Path, name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(directory.join(name)).unwrap();
    let rows: Vec<Vec<String>> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect();
    assert!(!rows.is_empty(), "{name} is empty");
    rows
}

/// A table that `export --format csv` prints, without its head.
fn exported(directory: &Path, recording: &str, what: &str) -> Vec<String> {
    let arguments = ["export", recording, "--format", "csv", "--what", what];
    let text = succeed(directory, &arguments);
    text.lines().skip(1).map(str::to_owned).collect()
}

/// What a series holds.
#[derive(Debug, Default, Clone, PartialEq)]
struct Sums {
    quanta: u64,
    units: u64,
    gaps: u64,
    gap_ns: i64,
    wall_ns: i64,
}

/// CPU (empty where it is not known), rate and work kernel of a series.
type Name = (String, String, String);

/// What `series.tsv` says of each recording.
fn expected_series(directory: &Path) -> BTreeMap<String, BTreeMap<Name, Sums>> {
    let mut recordings: BTreeMap<String, BTreeMap<Name, Sums>> = BTreeMap::new();
    for row in table(directory, "series.tsv") {
        let name = (row[1].clone(), row[2].clone(), row[3].clone());
        let sums = Sums {
            quanta: row[4].parse().unwrap(),
            units: row[5].parse().unwrap(),
            gaps: row[6].parse().unwrap(),
            gap_ns: row[7].parse().unwrap(),
            wall_ns: row[8].parse().unwrap(),
        };
        recordings
            .entry(row[0].clone())
            .or_default()
            .insert(name, sums);
    }
    recordings
}

/// The same from the quanta as they are read today.
fn exported_series(directory: &Path, recording: &str) -> BTreeMap<Name, Sums> {
    let mut series: BTreeMap<Name, Sums> = BTreeMap::new();
    for line in exported(directory, recording, "quanta") {
        let fields: Vec<&str> = line.split(',').collect();
        let name = (fields[11], fields[0], fields[1]);
        let sums = series
            .entry((name.0.into(), name.1.into(), name.2.into()))
            .or_default();
        let number = |field: usize| -> i64 { fields[field].parse().unwrap() };
        sums.quanta += 1;
        sums.units += number(4) as u64;
        sums.gaps += number(5) as u64;
        sums.gap_ns += number(6);
        sums.wall_ns += number(3) - number(2);
    }
    series
}

/// Times may be rounded otherwise: by a nanosecond a quantum, and by what a better fit of the clock moves them.
fn assert_same_time(found: i64, expected: i64, quanta: u64, what: &str) {
    let tolerance = quanta as f64 + expected as f64 * 1e-6;
    assert!(
        (found - expected).abs() as f64 <= tolerance,
        "{what}: {found} ns, expected {expected}"
    );
}

fn assert_same(found: &BTreeMap<Name, Sums>, expected: &BTreeMap<Name, Sums>, recording: &str) {
    let names = |series: &BTreeMap<Name, Sums>| series.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{recording}");
    for (name, expected) in expected {
        let found = &found[name];
        let what = format!("{recording} {name:?}");
        let counts = |sums: &Sums| [sums.quanta, sums.units, sums.gaps];
        assert_eq!(counts(found), counts(expected), "{what}");
        assert_same_time(found.gap_ns, expected.gap_ns, expected.quanta, &what);
        assert_same_time(found.wall_ns, expected.wall_ns, expected.quanta, &what);
    }
}

#[test]
fn every_quantum_gap_and_event_is_read() {
    for directory in versions() {
        for (recording, expected) in expected_series(&directory) {
            assert_same(
                &exported_series(&directory, &recording),
                &expected,
                &recording,
            );
        }
        for row in table(&directory, "tables.tsv") {
            let [recording, what, rows] = &row[..] else {
                panic!("{row:?}")
            };
            let found = exported(&directory, recording, what).len();
            assert_eq!(&found.to_string(), rows, "{recording}: {what}");
        }
    }
}

#[test]
fn every_series_is_reported() {
    for directory in versions() {
        for (recording, expected) in expected_series(&directory) {
            let report = report(&directory, &[&recording]);
            let series = report["series"].as_array().unwrap();
            assert_eq!(series.len(), expected.len(), "{recording}");
            for series in series {
                assert_ledger_closes(series);
                let text = |key: &str| match &series[key] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    number => number.as_f64().unwrap().to_string(),
                };
                let name = (text("cpu"), text("rate_hz"), text("kernel"));
                let expected = &expected[&name];
                let what = format!("{recording} {name:?}");
                assert_eq!(series["quanta"], expected.quanta, "{what}");
                assert_eq!(series["units"], expected.units, "{what}");
                let wall_ns = series["ledger"]["wall_ns"].as_i64().unwrap();
                assert_same_time(wall_ns, expected.wall_ns, expected.quanta, &what);
            }
            let partial = kinds_of_warnings(&report).contains(&"partial-recording");
            let state = report["recording"]["state"].as_str();
            assert_eq!(
                partial,
                state.is_some_and(|state| state != "complete"),
                "{recording}"
            );
            let text = succeed(&directory, &["report", &recording]);
            assert!(text.contains("Where the time went"), "{recording}: {text}");
        }
    }
}

#[test]
fn every_other_file_is_explained() {
    for directory in versions() {
        for row in table(&directory, "facts.tsv") {
            let [arguments, pointer, value] = &row[..] else {
                panic!("{row:?}")
            };
            let arguments: Vec<&str> = arguments.split(' ').collect();
            let said = succeed(
                &directory,
                &[&arguments[..], &["--format", "json"]].concat(),
            );
            let said: Value = serde_json::from_str(&said).unwrap();
            let expected: Value = serde_json::from_str(value).unwrap();
            assert_eq!(
                said.pointer(pointer),
                Some(&expected),
                "{arguments:?} {pointer}"
            );
        }
    }
}
