//! Gaps as a Parquet file, on simulated machines: held against the ledger of the report, to the nanosecond.

use crate::common::{refuse, report, succeed};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn record(directory: &Path, scenario: &str, more: &[&str]) {
    let machine = format!("simulated:{scenario}");
    let record = ["record", "--machine", &machine, "-o", "it.bandscope"];
    succeed(directory, &[&record, more].concat());
}

/// The rows of an export.
fn rows(directory: &Path, more: &[&str]) -> Vec<BTreeMap<String, Field>> {
    let export = [
        "export",
        "it.bandscope",
        "-f",
        "parquet",
        "-o",
        "it.parquet",
    ];
    assert_eq!(succeed(directory, &[&export, more].concat()), "");
    let file = fs::File::open(directory.join("it.parquet")).unwrap();
    let file = SerializedFileReader::new(file).unwrap();
    let columns = |row: Row| {
        let columns = row.get_column_iter();
        columns
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let rows = file.get_row_iter(None).unwrap();
    rows.map(|row| columns(row.unwrap())).collect()
}

fn whole(row: &BTreeMap<String, Field>, column: &str) -> u64 {
    match row[column] {
        Field::Int(value) => value as u64,
        Field::Long(value) => value as u64,
        ref other => panic!("{column}: {other}"),
    }
}

fn text<'a>(row: &'a BTreeMap<String, Field>, column: &str) -> Option<&'a str> {
    match &row[column] {
        Field::Str(text) => Some(text),
        Field::Null => None,
        other => panic!("{column}: {other}"),
    }
}

/// Every file of a recording.
fn files(directory: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => drop(files.insert(path.clone(), fs::read(path).unwrap())),
        }
    }
    files
}

#[test]
fn lost_time_by_cause_is_the_ledger() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let settings = ["--cpus", "0,3", "--duration", "2s"];
    for trace in ["on", "off"] {
        record(
            path,
            "tasks:hz=60+tick+flips",
            &[&settings[..], &["--trace", trace]].concat(),
        );
        let before = files(&path.join("it.bandscope"));
        let rows = rows(path, &[]);
        assert_eq!(files(&path.join("it.bandscope")), before);
        let report = report(path, &["it.bandscope"]);
        let series = report["series"].as_array().unwrap();
        assert_eq!(series.len(), 4);
        for (place, series) in series.iter().enumerate() {
            let own = || {
                rows.iter()
                    .filter(|row| whole(row, "series") == place as u64)
            };
            let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
            for row in own() {
                *lost.entry(text(row, "cause").unwrap()).or_default() += whole(row, "lost_ns");
                assert_eq!(whole(row, "cpu"), series["cpu"].as_u64().unwrap());
                assert_eq!(
                    Field::Double(series["rate_hz"].as_f64().unwrap()),
                    row["rate_hz"]
                );
            }
            lost.retain(|_, ns| *ns > 0);
            let ledger = series["ledger"]["gaps_ns"].as_object().unwrap();
            let ledger = ledger
                .iter()
                .map(|(cause, ns)| (&**cause, ns.as_u64().unwrap()));
            assert_eq!(lost, ledger.filter(|line| line.1 > 0).collect(), "{trace}");
            let gaps: BTreeSet<u64> = own().map(|row| whole(row, "gap")).collect();
            assert_eq!(
                gaps.len() as u64,
                series["gaps"]["number"].as_u64().unwrap()
            );
        }
        let place = |row: &BTreeMap<_, _>| ["series", "gap", "part"].map(|one| whole(row, one));
        assert!(rows.is_sorted_by_key(place));
        for gap in rows.chunk_by(|a, b| whole(b, "part") > 0 && place(a)[..2] == place(b)[..2]) {
            let parts: u64 = gap.iter().map(|row| whole(row, "cause_ns")).sum();
            assert_eq!(parts, whole(&gap[0], "duration_ns"));
        }
        let is_named = |row: &BTreeMap<String, Field>| {
            text(row, "kind") == Some("task")
                && text(row, "cause") == Some(&format!("task:{}", text(row, "name").unwrap_or("")))
                && whole(row, "pid") > 0
        };
        assert_eq!(rows.iter().any(is_named), trace == "on");
        fs::remove_dir_all(path.join("it.bandscope")).unwrap();
    }
}

#[test]
fn series_keep_their_place_in_the_report() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    record(path, "tick", &["--cpus", "0,1", "--duration", "1s"]);
    let all = rows(path, &[]);
    let one = rows(path, &["--cpu", "1", "--rate", "10kHz"]);
    let place = whole(&one[0], "series");
    let own = all.into_iter().filter(|row| whole(row, "series") == place);
    assert_eq!(own.collect::<Vec<_>>(), one);
    let export = [
        "export",
        "it.bandscope",
        "-f",
        "parquet",
        "--what",
        "events",
    ];
    assert!(refuse(path, &export).contains("holds gaps"));
    // A file of counts has no gaps, so the table has no rows.
    let synth = ["synth", "x-10khz", "--duration", "1s", "-o", "old.dat"];
    succeed(path, &synth);
    let export = ["export", "old.dat", "-f", "parquet", "-o", "old.parquet"];
    succeed(path, &export);
    let file = fs::File::open(path.join("old.parquet")).unwrap();
    let file = SerializedFileReader::new(file).unwrap();
    assert_eq!(file.metadata().file_metadata().num_rows(), 0);
}
