//! The flight recorder, `record --catch` and `--stop-if`, on the simulated machine: the same run with and without it.

mod common;
use common::{refuse, report, run, succeed};
use serde_json::Value;
use std::path::Path;

/// A task of 200 us about once a second, one of 40 us often, and a tick.
const SCENE: &str =
    "simulated:tick:hz=250,cost=3us+timed-task:hz=1.3,cost=200us+tasks:hz=30,mean=15us";

fn record(directory: &Path, name: &str, more: &[&str]) -> Value {
    let mut arguments = vec![
        "record",
        "--machine",
        SCENE,
        "--duration",
        "12s",
        "-o",
        name,
    ];
    arguments.extend(more);
    assert_eq!(succeed(directory, &arguments), format!("{name}\n"));
    report(directory, &[name])
}

/// Start and length of each gap that is longer than 100 us, in nanoseconds, as an export has them.
fn long_gaps(directory: &Path, name: &str) -> Vec<(u64, u64)> {
    let table = succeed(
        directory,
        &["export", name, "--format", "csv", "--what", "gaps"],
    );
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |column: &str| head.iter().position(|one| *one == column).unwrap();
    let (start, end) = (place("start_ns"), place("end_ns"));
    let gaps = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let [start, end]: [u64; 2] = [start, end].map(|place| cells[place].parse().unwrap());
        (start, end - start)
    });
    let mut long: Vec<(u64, u64)> = gaps.filter(|gap: &(u64, u64)| gap.1 > 100_000).collect();
    long.sort_unstable();
    long
}

#[test]
fn what_is_caught_is_what_a_whole_recording_has() {
    let directory = tempfile::tempdir().unwrap();
    let whole = record(directory.path(), "whole.bandscope", &[]);
    let caught = record(
        directory.path(),
        "caught.bandscope",
        &["--catch", "gap > 100 us"],
    );
    let gaps = long_gaps(directory.path(), "whole.bandscope");
    assert!(gaps.len() > 10, "{gaps:?}");
    assert_eq!(gaps, long_gaps(directory.path(), "caught.bandscope"));
    let moments = caught["moments"].as_array().unwrap();
    assert_eq!(moments.len(), gaps.len());
    for moment in moments {
        assert_eq!(moment["condition"], "gap > 100 us");
        let (at, ns) = (
            moment["at_s"].as_f64().unwrap() * 1e9,
            moment["ns"].as_f64().unwrap(),
        );
        let is_it =
            |gap: &&(u64, u64)| (gap.0 as f64 - at).abs() < 2.0 && (gap.1 as f64 - ns).abs() < 2.0;
        assert!(gaps.iter().any(|gap| is_it(&gap)), "{moment}");
    }
    let watched = &caught["recording"]["watched"][0];
    assert_eq!(watched["met"], gaps.len());
    let number = |report: &Value| -> u64 {
        let series = report["series"].as_array().unwrap().iter();
        series
            .map(|one| one["gaps"]["number"].as_u64().unwrap())
            .sum()
    };
    assert_eq!(watched["gaps"], number(&whole), "of all that it saw");
    assert!(number(&caught) < number(&whole) / 10);
    assert_eq!(caught["findings"], serde_json::json!([]));
    let judge: [&[&str]; 3] = [
        &["doctor", "caught.bandscope"],
        &["report", "caught.bandscope", "--fail-if", "lost > 1 %"],
        &["compare", "whole.bandscope", "caught.bandscope"],
    ];
    for command in judge {
        let error = refuse(directory.path(), command);
        assert!(error.contains("caught.bandscope: found moments"), "{error}");
    }
    let verdict = caught["verdict"].as_str().unwrap();
    assert!(
        verdict.starts_with("CPU 0 was watched for 12.00 s: "),
        "{verdict}"
    );
}

#[test]
fn a_condition_ends_the_run_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let report = record(
        directory.path(),
        "it.bandscope",
        &["--stop-if", "gap > 100 us"],
    );
    let recording = &report["recording"];
    assert_eq!(recording["state"], "complete");
    assert_eq!(recording["stopped_by"], "gap > 100 us");
    assert_eq!(
        report["moments"],
        serde_json::json!([]),
        "all of it was kept"
    );
    let series = report["series"].as_array().unwrap();
    let seconds: f64 = series
        .iter()
        .map(|one| one["duration_s"].as_f64().unwrap())
        .sum();
    assert!((0.1..8.0).contains(&seconds), "{seconds}");
}

#[test]
fn where_nothing_is_caught_the_report_says_what_was_watched() {
    let directory = tempfile::tempdir().unwrap();
    let report = record(directory.path(), "it.bandscope", &["--catch", "gap > 1 s"]);
    let verdict = report["verdict"].as_str().unwrap();
    assert!(verdict.contains("nothing met a condition"), "{verdict}");
    let text = succeed(directory.path(), &["report", "it.bandscope"]);
    assert!(text.contains("nothing met a condition"), "{text}");
}

#[test]
fn a_command_reads_what_was_caught() {
    let directory = tempfile::tempdir().unwrap();
    record(
        directory.path(),
        "it.bandscope",
        &[
            "--catch",
            "gap > 100 us",
            "--on-catch",
            "cat > told.json; mv told.json whole.json",
        ],
    );
    let told = directory.path().join("whole.json");
    // It may outlive the run.
    for _ in 0..200 {
        if told.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let moment: Value = serde_json::from_slice(&std::fs::read(told).unwrap()).unwrap();
    assert_eq!(moment["condition"], "gap > 100 us");
    assert!(moment["ns"].as_f64().unwrap() > 1e5);
}

#[test]
fn what_cannot_be_caught_is_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    for (condition, said) in [
        ("lost > 1 %", "expected a condition such as"),
        ("gap > 5", "expected a length of time"),
        ("gap:nobody > 5 us", "expected `gap:` and a cause"),
    ] {
        for option in ["--catch", "--stop-if"] {
            let error = refuse(directory.path(), &["record", option, condition]);
            assert!(error.contains(said) && error.contains(condition), "{error}");
        }
    }
    let error = refuse(directory.path(), &["record", "--event", "sched_switch"]);
    assert!(error.contains("expected SYSTEM:NAME"), "{error}");
    let long = ["record", "--around", "1h", "--catch", "gap > 5 us"];
    assert!(refuse(directory.path(), &long).contains("up to 10 s"));
    let alone = ["record", "--on-catch", "true"];
    assert!(refuse(directory.path(), &alone).contains("expected --catch or --stop-if"));
    let scene = ["record", "--machine", SCENE, "--trace", "off"];
    let unnamed = [&scene[..], &["--catch", "gap:task:* > 5 us"]].concat();
    let error = refuse(directory.path(), &unnamed);
    assert!(error.contains("no kernel events are recorded"), "{error}");
    let both = ["record", "--catch", "gap > 5 us", "--buffered"];
    assert!(refuse(directory.path(), &both).contains("--buffered"));
    let several = [
        "record",
        "--machine",
        "simulated:quiet",
        "--cpus",
        "0,1",
        "--catch",
        "gap > 5 us",
    ];
    assert!(refuse(directory.path(), &several).contains("expected one CPU"));
    let nothing = run(
        directory.path(),
        &["record", "--around", "-1s", "--catch", "gap > 5 us"],
    );
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
