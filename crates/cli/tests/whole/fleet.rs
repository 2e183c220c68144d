//! `bandscope fleet`, as a whole: tasks of a job on simulated nodes, and summaries of recordings.

use crate::common::{self, bandscope, in_part, refuse, succeed};
use serde_json::Value;
use std::path::Path;

/// A task of a job of eight, on a node of its own.
fn task(directory: &Path, number: u32, scenario: &str) {
    let output = bandscope(directory)
        .args(["record", "--machine", &format!("simulated:{scenario}")])
        .args(["--trace", "on", "--rate", "1000", "--duration", "4s"])
        .args(["--quiet", "--output", "job"])
        .envs([("SLURM_JOB_ID", "17"), ("SLURM_STEP_ID", "0")])
        .envs([
            ("SLURMD_NODENAME", &*format!("n{number}")),
            ("SLURM_NTASKS", "8"),
        ])
        .env("SLURM_PROCID", number.to_string())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(error, "");
}

const USUAL: &str = "tick:hz=250,cost=3us";

fn fleet(directory: &Path, inputs: &[&str]) -> Value {
    let printed = succeed(directory, &[&["fleet", "-f", "json"], inputs].concat());
    common::keeps_contract(&printed);
    serde_json::from_str(&printed).unwrap()
}

#[test]
fn the_node_that_stands_out_is_named_with_its_cause_and_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..7 {
        let slow = format!("{USUAL}+timed-task:hz=20,cost=1ms");
        task(
            directory.path(),
            number,
            if number == 4 { &slow } else { USUAL },
        );
    }
    let summary = directory.path().join("job/node=n4/task=4/summary.json");
    let written = std::fs::read_to_string(&summary).unwrap();
    common::keeps_contract(&written);
    // Without a summary, with a damaged one and with that of another run the recording is read, and says the same.
    let first = fleet(directory.path(), &["job"]);
    let other = directory.path().join("job/node=n5/task=5/summary.json");
    let of_another = std::fs::read_to_string(other).unwrap();
    std::fs::remove_file(&summary).unwrap();
    for content in [None, Some(&written[..100]), Some(&of_another)] {
        if let Some(content) = content {
            std::fs::write(&summary, content).unwrap();
        }
        assert_eq!(first, fleet(directory.path(), &["job"]));
    }

    let outliers = first["outliers"].as_array().unwrap();
    assert_eq!(outliers.len(), 1, "{first}");
    let (outlier, excess) = (&outliers[0], &outliers[0]["excess"]);
    assert_eq!(outlier["node"], "n4");
    assert_eq!(
        (&excess["loss"], &outlier["by"]),
        (&"other tasks".into(), &"program-1".into())
    );
    // 20 times 1 ms a second.
    let more = excess["more"].as_f64().unwrap();
    assert!((more - 0.02).abs() < 5e-4, "{more}");
    assert_eq!(outlier["differs"][0]["fact"], "scenario");
    let notes = first["notes"].to_string();
    assert!(notes.contains("1 of 8 tasks left no part: 7"), "{notes}");
    assert_eq!(first["nodes"].as_array().unwrap().len(), 7);

    let text = succeed(directory.path(), &["fleet", "job"]);
    for part in ["n4 stands out of 7 nodes", "other tasks: program-1", "2.0"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn two_recordings_of_one_machine_are_two_nodes_and_moments_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let record = [
        "record",
        "--machine",
        "simulated:tick",
        "--duration",
        "1s",
        "-q",
        "-o",
    ];
    for name in ["a.bandscope", "b.bandscope"] {
        succeed(path, &[&record[..], &[name]].concat());
        let summary = succeed(path, &["export", name, "--format", "summary"]);
        let mut document: Value = serde_json::from_str(&summary).unwrap();
        document["node"] = "host".into();
        std::fs::write(path.join(format!("{name}.json")), document.to_string()).unwrap();
    }
    let inputs = ["a.bandscope.json", "b.bandscope.json"];
    // The same run twice is one.
    std::fs::copy(path.join(inputs[0]), path.join("copy.json")).unwrap();
    let two = fleet(path, &[inputs[0], inputs[1], "copy.json"]);
    let names: Vec<&Value> = two["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["node"])
        .collect();
    assert_eq!(
        names,
        ["host (a.bandscope.json)", "host (b.bandscope.json)"]
    );

    let caught = "simulated:tick:hz=250,cost=3us+timed-task:hz=2,cost=1ms";
    let catch = [
        "record",
        "--machine",
        caught,
        "--catch",
        "gap > 500 us",
        "--duration",
        "2s",
        "-q",
        "-o",
        "m.bandscope",
    ];
    succeed(path, &catch);
    let error = refuse(path, &["fleet", "m.bandscope"]);
    assert!(error.contains("moments that were caught"), "{error}");
}

#[test]
fn summaries_that_were_gathered_are_compared_and_damaged_ones_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let recording = [
        "record",
        "--machine",
        "simulated:tick",
        "--rate",
        "1000",
        "--duration",
        "1s",
    ];
    succeed(
        directory.path(),
        &[&recording[..], &["-q", "-o", "quiet.bandscope"]].concat(),
    );
    let summary = succeed(
        directory.path(),
        &["export", "quiet.bandscope", "--format", "summary"],
    );
    common::keeps_contract(&summary);
    let mut document: Value = serde_json::from_str(&summary).unwrap();
    let mut inputs = Vec::new();
    for number in 0..6 {
        // What nobody here wrote is escaped.
        document["node"] = format!("n{number}\u{1b}[31m").into();
        document["run"] = format!("{number:032}").into();
        let name = format!("n{number}.json");
        std::fs::write(directory.path().join(&name), document.to_string()).unwrap();
        inputs.push(name);
    }
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let all = fleet(directory.path(), &inputs);
    assert_eq!(all["groups"][0]["nodes"], 6);
    assert_eq!(all["outliers"], Value::Array(Vec::new()));
    let text = succeed(
        directory.path(),
        &[&["fleet", "--all"], &inputs[..]].concat(),
    );
    assert!(!text.contains('\u{1b}'), "{text}");

    for (field, value, wanted) in [
        (
            "/cpus/0/lost",
            Value::from(1.5),
            "cpus[0].lost 1.5, expected 0 to 1",
        ),
        (
            "/cpus",
            Value::Array(Vec::new()),
            "length of cpus 0, expected 1",
        ),
        (
            "/schema",
            "bandscope.summary/2".into(),
            "bandscope.summary/1",
        ),
    ] {
        let mut damaged = document.clone();
        *damaged.pointer_mut(field).unwrap() = value;
        std::fs::write(directory.path().join("bad.json"), damaged.to_string()).unwrap();
        let error = refuse(directory.path(), &["fleet", "bad.json"]);
        assert!(
            error.contains("bad.json") && error.contains(wanted),
            "{error}"
        );
    }
    // Among others it is named, and they are judged.
    let bad = ["bad.json", "quiet.bandscope/gaps", "nothing.json"];
    let (printed, said) = in_part(
        directory.path(),
        &[&["fleet", "-f", "json"], &inputs[..], &bad].concat(),
    );
    let part: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(part["nodes"], all["nodes"]);
    for bad in bad {
        let begins = |text: &str| text.starts_with(bad) && text.ends_with("it is left out");
        let notes = part["notes"].as_array().unwrap();
        assert!(
            notes.iter().any(|one| begins(one.as_str().unwrap())),
            "{part}"
        );
        let mut lines = said.lines();
        assert!(
            lines.any(|line| begins(line.trim_start_matches("bandscope: "))),
            "{said}"
        );
    }
    assert_eq!(said.lines().count(), bad.len(), "{said}");
    let part = [
        "export",
        "quiet.bandscope",
        "--format",
        "summary",
        "--cpu",
        "0",
    ];
    let error = refuse(directory.path(), &part);
    assert!(error.contains("of the whole recording"), "{error}");
    let error = refuse(directory.path(), &["fleet", "nothing.json"]);
    assert!(error.contains("nothing.json"), "{error}");
}

/// Tasks of one seed lose time at the same moments. Their counters read differently by then.
#[test]
fn what_hits_nodes_at_once_is_told_and_a_damaged_clock_leaves_the_node() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let part = |number: u32| path.join(format!("job/node=n{number}/task={number}"));
    for number in 0..3_u32 {
        task(
            path,
            number,
            "tick:hz=250,cost=3us+timed-task:hz=5,cost=1ms",
        );
        let summary = part(number).join("summary.json");
        let text = std::fs::read_to_string(&summary).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        let origin = 1_000_000_007 * u64::from(number + 1);
        document["clock"] = serde_json::json!({"origin_ticks": origin, "ticks_per_ns": 2.0});
        std::fs::write(&summary, document.to_string()).unwrap();
        let reading = |ns: u64| serde_json::json!({"ticks": origin + 2 * ns, "reference_ns": ns, "within_ns": 1000.0});
        let clock = serde_json::json!({"schema": "bandscope.job-clock/1", "reference": "n0 1",
            "readings": [reading(0), reading(5_000_000_000)]});
        std::fs::write(part(number).join("clock.json"), clock.to_string()).unwrap();
    }
    let said = fleet(path, &["job"]);
    let of = &said["at_once"];
    assert_eq!(of["nodes"], 3);
    assert!(
        (of["within_s"].as_f64().unwrap() - 2e-6).abs() < 1e-12,
        "{of}"
    );
    let moment = &of["moments"][0];
    assert_eq!(moment["cause"], "task:program-1", "{of}");
    assert_eq!(moment["nodes"], 3, "{of}");
    // A report has the sixteen longest gaps.
    assert_eq!(moment["number"], 16, "{of}");
    let text = succeed(path, &["fleet", "job"]);
    let line = text
        .lines()
        .find(|line| line.starts_with("  task:program-1  "))
        .unwrap();
    assert!(line.contains("1.00 ms"), "{line}");
    assert!(text.contains("by clocks that agree to 2.00 µs"), "{text}");

    std::fs::write(part(2).join("clock.json"), "{}").unwrap();
    let output = bandscope(path)
        .args(["fleet", "job", "-f", "json"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("n2/task=2/clock.json"), "{error}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["nodes"].as_array().unwrap().len(), 3);
    assert_eq!(said["at_once"]["nodes"], 2);
}

/// A task takes 3 ms of 10, one after the other.
#[test]
fn the_worst_stretch_of_a_node_is_in_its_summary_part_by_part() {
    let directory = tempfile::tempdir().unwrap();
    let machine = "simulated:tick:hz=250,cost=3us+timed-task:hz=2,cost=3ms";
    let record = ["record", "--machine", machine, "--trace", "on", "--cpus"];
    let rest = ["0-1", "--duration", "2s", "-q", "-o", "two.bandscope"];
    succeed(directory.path(), &[&record[..], &rest].concat());
    let export = ["export", "two.bandscope", "--format", "summary"];
    let summary: Value = serde_json::from_str(&succeed(directory.path(), &export)).unwrap();
    let cpus = summary["cpus"].as_array().unwrap().iter();
    let windows = cpus.flat_map(|cpu| cpu["worst"].as_array().unwrap());
    let parts = |window: &Value| -> Vec<f64> {
        let parts = window["parts"].as_array().unwrap().iter();
        parts.map(|part| part.as_f64().unwrap()).collect()
    };
    let drawn: Vec<&Value> = windows.filter(|one| !parts(one).is_empty()).collect();
    let lengths = drawn.iter().map(|one| one["window_s"].as_f64().unwrap());
    assert_eq!(lengths.collect::<Vec<_>>(), [1e-3, 1e-2, 1e-1]);
    for window in drawn {
        let parts = parts(window);
        let worst = window["worst"].as_f64().unwrap();
        let mean = parts.iter().sum::<f64>() / parts.len() as f64 / 100.0;
        assert!((mean - worst).abs() < 0.02, "{mean}: {window}");
        if window["window_s"] == 0.01 {
            let away = parts.chunk_by(|a, b| (*a < 50.0) == (*b < 50.0));
            let away: Vec<usize> = away.filter(|run| run[0] < 50.0).map(<[f64]>::len).collect();
            assert!(away.len() == 1 && (14..=16).contains(&away[0]), "{window}");
            let cause = &window["causes"][0];
            assert!(cause[0].as_str().unwrap().starts_with("task:"), "{window}");
            assert!((cause[1].as_f64().unwrap() - 0.3).abs() < 0.01, "{window}");
        }
    }
}

#[test]
fn a_task_by_itself_is_its_summary() {
    let directory = tempfile::tempdir().unwrap();
    task(directory.path(), 0, USUAL);
    let part = directory.path().join("job/node=n0/task=0");
    let summary = std::fs::read(part.join("summary.json")).unwrap();
    std::fs::remove_dir_all(&part).unwrap();
    std::fs::create_dir(&part).unwrap();
    std::fs::write(part.join("summary.json"), summary).unwrap();
    let said = fleet(directory.path(), &["job/node=n0/task=0"]);
    assert_eq!(said["nodes"][0]["node"], "n0");
}
