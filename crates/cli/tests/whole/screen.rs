//! The report that people meet first: it fits on a screen, cuts nothing off, and its sentences are short. Of kept recordings and of simulated machines.

use crate::common::{report, succeed};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Words of a sentence that is read once.
const MAX_WORDS: usize = 25;
/// Columns of a terminal, and lines that fit on it.
const SCREENS: [(&str, usize, usize); 2] = [("100", 100, 40), ("80", 80, 50)];
const SCENARIOS: [&str; 14] = [
    "quiet",
    "tick:hz=250,cost=20us",
    "tasks",
    "sleeper",
    "quota",
    "flips",
    "neighbour",
    "mixture",
    "frequency",
    "alternate",
    "helps",
    "interrupted",
    "warmup",
    "jump+flips",
];

/// The recordings that earlier versions made, by directory and name, and files of counts.
fn kept() -> Vec<(PathBuf, String)> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept");
    let mut found = Vec::new();
    for version in std::fs::read_dir(kept).unwrap() {
        let directory = version.unwrap().path();
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() || name.ends_with(".dat") {
                found.push((directory.clone(), name));
            }
        }
    }
    assert!(found.len() >= 3, "{found:?}");
    found
}

fn fits(directory: &Path, recording: &str) {
    for (width, columns, most) in SCREENS {
        let text = succeed(directory, &["report", recording, "--width", width]);
        let lines = text.lines().count();
        assert!(
            lines <= most,
            "{recording}: {lines} lines at {width} columns\n{text}"
        );
        let all = succeed(directory, &["report", recording, "--width", width, "--all"]);
        for line in text.lines().chain(all.lines()) {
            assert!(
                line.chars().count() <= columns,
                "{recording} at {width}: {line:?}"
            );
            assert!(!line.contains('…'), "{recording} at {width}: {line:?}");
        }
        let title = "Smallest effects this recording could have detected";
        assert!(!text.contains(title) && text.contains("--all"), "{text}");
    }
}

fn reads_well(directory: &Path, recording: &str) {
    let report = report(directory, &[recording]);
    let mut texts = vec![report["verdict"].as_str().unwrap().to_owned()];
    let strings = |of: &Value, keys: &[&str]| -> Vec<String> {
        let of = of.as_array().unwrap().iter();
        of.flat_map(|one| {
            keys.iter()
                .filter_map(|key| one[key].as_str())
                .map(str::to_owned)
        })
        .collect()
    };
    texts.extend(strings(&report["findings"], &["summary"]));
    texts.extend(strings(&report["remedies"], &["what"]));
    // What could not be measured, and what went wrong, is in the recording's own words.
    let mut warnings = report["warnings"].clone();
    let is_ours =
        |one: &Value| !["not-measured", "incident"].contains(&one["kind"].as_str().unwrap());
    warnings.as_array_mut().unwrap().retain(is_ours);
    texts.extend(strings(&warnings, &["message", "advice"]));
    for text in texts {
        for sentence in text.split_inclusive(". ") {
            let words = sentence
                .split_whitespace()
                .filter(|word| word.chars().any(char::is_alphanumeric));
            assert!(words.count() <= MAX_WORDS, "{recording}: {sentence}");
        }
        assert!(
            !text
                .split_whitespace()
                .any(|word| word.trim_matches([',', '.', ':', ')']) == "us"),
            "{text}"
        );
    }
}

#[test]
fn kept_recordings_fit_and_read_well() {
    for (directory, name) in kept() {
        fits(&directory, &name);
        reads_well(&directory, &name);
    }
}

#[test]
fn simulated_machines_fit_and_read_well() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for (index, scenario) in SCENARIOS.iter().enumerate() {
        let (machine, name) = (
            format!("simulated:{scenario}"),
            format!("{index}.bandscope"),
        );
        let record = [
            "record",
            "--machine",
            &machine,
            "--duration",
            "2s",
            "--output",
            &name,
        ];
        succeed(directory, &record);
        fits(directory, &name);
        reads_well(directory, &name);
    }
}

#[test]
fn several_cpus_are_one_screen_too() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let record = [
        "record",
        "--machine",
        "simulated:tasks",
        "--cpus",
        "0-11",
        "--duration",
        "1s",
        "--rate",
        "10kHz",
        "--output",
        "it",
    ];
    succeed(directory, &record);
    fits(directory, "it");
    let text = succeed(directory, &["report", "it"]);
    assert!(text.contains("and 8 between"), "{text}");
    assert!(text.starts_with("The worst of 12 CPUs, CPU "), "{text}");
}
