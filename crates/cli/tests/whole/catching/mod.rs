//! The flight recorder, `record --catch` and `--stop-if`, on the simulated machine: the same run with and without it.

mod commands;
mod elsewhere;

use crate::common::{refuse, report, run, succeed};
use serde_json::Value;
use std::collections::BTreeSet;
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
fn what_is_excepted_is_not_caught() {
    let directory = tempfile::tempdir().unwrap();
    let caught = |condition: &str| {
        let report = record(directory.path(), condition, &["--catch", condition]);
        let moments = report["moments"].as_array().unwrap().clone();
        let main = |one: &Value| one["causes"][0]["cause"].as_str().unwrap().to_owned();
        let causes: BTreeSet<String> = moments.iter().map(main).collect();
        (moments.len(), causes.into_iter().collect::<Vec<_>>())
    };
    let (all, causes) = caught("gap > 30 us");
    assert_eq!(causes, ["task:other", "task:program-1"]);
    let (others, causes) = caught("gap except task:program-1 > 30 us");
    assert_eq!(causes, ["task:other"]);
    let (programs, causes) = caught("gap except task:oth* > 30 us");
    assert_eq!(causes, ["task:program-1"]);
    // Of a gap that both have a part in either may be long enough.
    assert!(others + programs >= all - 2, "{others} {programs} {all}");
    assert!(others < all && programs < all, "{others} {programs} {all}");
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
    let verdict = report["verdict"].as_str().unwrap();
    let ended = "The run ended because of \"gap > 100 us\".";
    assert!(verdict.ends_with(ended), "{verdict}");
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
    // Where it caught nothing, too; and of two recordings neither speaks for the other.
    let both = ["--catch", "gap > 1 s", "--stop-if", "gap > 100 us"];
    let report = record(directory.path(), "nothing.bandscope", &both);
    let verdict = report["verdict"].as_str().unwrap();
    assert!(verdict.ends_with(ended), "{verdict}");
    record(directory.path(), "whole.bandscope", &[]);
    let two = ["report", "it.bandscope", "whole.bandscope"];
    let two = succeed(directory.path(), &two);
    assert!(!two.contains("The run ended"), "{two}");
}

#[test]
fn where_nothing_is_caught_the_report_says_what_was_watched() {
    let directory = tempfile::tempdir().unwrap();
    let report = record(directory.path(), "it.bandscope", &["--catch", "gap > 1 s"]);
    let verdict = report["verdict"].as_str().unwrap();
    assert!(verdict.contains("nothing met \"gap > 1 s\""), "{verdict}");
    let text = succeed(directory.path(), &["report", "it.bandscope"]);
    assert!(text.contains("nothing met \"gap > 1 s\""), "{text}");
}

#[test]
fn a_task_that_does_not_run_is_told_before_it_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["record", "--duration", "100ms", "--output", "it.bandscope"];
    let named = [
        "gap:task:nobody > 1 ms",
        "gap:task:sh* > 1 ms",
        "gap except task:no-one > 1 ms",
    ];
    let catch = named.map(|one| ["--catch", one]).concat();
    let output = run(directory.path(), &[&arguments[..], &catch].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    if said.contains("no kernel events are recorded") {
        println!("SKIPPED: conditions on tasks: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    let told: Vec<&str> = said.lines().filter(|it| it.contains("is named")).collect();
    let expected =
        ["no-one", "nobody"].map(|it| format!("No task is named {it} now. One may come."));
    assert_eq!(told, expected, "{said}");
}

#[test]
fn a_misspelt_cause_is_told_by_the_longest_gap() {
    let directory = tempfile::tempdir().unwrap();
    let catch = ["--trace", "on", "--catch", "gap:task:misspelt > 50 us"];
    let report = record(directory.path(), "it.bandscope", &catch);
    let watched = &report["recording"]["watched"][0];
    let cause = watched["longest_cause"].as_str().unwrap();
    assert!(cause.starts_with("task:program-"), "{cause}");
    let unseen = " No gap that was long enough had task:misspelt in it.";
    let told = format!(" µs: {cause}.{unseen}");
    let verdict = report["verdict"].as_str().unwrap();
    assert!(verdict.ends_with(&told), "{verdict}");
    let arguments = ["live", "--machine", SCENE, "--duration", "2s", "-o", "live"];
    let output = run(directory.path(), &[&arguments[..], &catch].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    let longest = "Nothing met \"gap:task:misspelt > 50 us\". The longest gap took 2";
    assert!(said.contains(longest), "{said}");
    assert!(said.contains(&told), "{said}");
}

#[test]
fn stretches_are_told_as_stretches() {
    let directory = tempfile::tempdir().unwrap();
    let scene = "simulated:tick:hz=250,cost=3us+timed-task:hz=1.3,cost=5ms";
    let verdict = |name: &str, catch: &[&str]| {
        let of_scene = ["--machine", scene, "--duration", "12s", "--trace", "on"];
        let arguments = [&["record", "-o", name], &of_scene[..], catch].concat();
        succeed(directory.path(), &arguments);
        let report = report(directory.path(), &[name]);
        (report["verdict"].as_str().unwrap().to_owned(), report)
    };
    let stretch = ["--catch", "worst 1 ms < 50 %"];
    let (said, report) = verdict("stretches", &stretch);
    let met = report["recording"]["watched"][0]["met"].as_u64().unwrap();
    assert!(
        (10..20).contains(&met)
            && said.contains(&format!(": {met} stretches met \"worst 1 ms < 50 %\". ")),
        "{said}"
    );
    let worst = &report["moments"][0];
    assert_eq!(
        (&worst["ns"], &worst["usual"]),
        (&worst["length_ns"], &Value::Null)
    );
    assert!(worst["gaps_ns"].as_f64().unwrap() > 4.9e6, "{worst}");
    assert!(
        said.contains(" Gaps took all of the worst 1 ms: task:program-1. They last 5."),
        "{said}"
    );
    let (said, _) = verdict("both", &[&stretch[..], &["--catch", "gap > 1 ms"]].concat());
    assert!(
        said.contains(" gaps and stretches met a condition. The longest gap took 5."),
        "{said}"
    );
}

#[test]
fn a_rare_cause_of_short_gaps_is_listed_beside_a_frequent_one_of_long_gaps() {
    let directory = tempfile::tempdir().unwrap();
    let scene = "simulated:tick:hz=20,cost=400us+tasks:hz=3,mean=60us";
    let run = ["--machine", scene, "--duration", "20s", "--trace", "on"];
    let catch = ["--catch", "gap > 50 us", "-o", "it.bandscope"];
    let record = [&["record"], &run[..], &catch].concat();
    succeed(directory.path(), &record);
    let report = report(directory.path(), &["it.bandscope"]);
    let moments = report["moments"].as_array().unwrap();
    let of = |cause: &str| {
        let main = moments.iter().map(|moment| &moment["causes"][0]["cause"]);
        main.filter(|main| *main == cause).count()
    };
    assert_eq!((of("tick"), of("task:other")), (100, 8));
    let lengths: Vec<f64> = (moments.iter())
        .map(|moment| moment["ns"].as_f64().unwrap())
        .collect();
    assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
    let watched = &report["recording"]["watched"][0];
    assert!(watched["met"].as_u64().unwrap() > 400, "{watched}");
    assert!(watched["kept"].as_u64().unwrap() < 250, "{watched}");
}

#[test]
fn what_cannot_be_caught_is_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    for (condition, said) in [
        ("lost > 1 %", "expected a condition such as"),
        ("gap > 5", "expected a length of time"),
        ("gap:nobody > 5 us", "expected `gap:` and a cause"),
        ("gap:softirq:NOPE > 5 us", "Softirqs are HI, TIMER,"),
        ("worst 1 ms < 0 %", "expected a share"),
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
    for nothing in ["", " "] {
        let empty = ["record", "--catch", "gap > 5 us", "--on-catch", nothing];
        let error = refuse(directory.path(), &empty);
        assert!(error.contains("expected a shell command"), "{error}");
    }
    let scene = ["record", "--machine", SCENE, "--trace", "off"];
    let unnamed = [&scene[..], &["--catch", "gap:task:* > 5 us"]].concat();
    let error = refuse(directory.path(), &unnamed);
    let said = "--catch \"gap:task:* > 5 us\": no kernel events are recorded";
    assert!(error.contains(said), "{error}");
    assert!(error.contains("; record them with --trace on"), "{error}");
    let scene = ["record", "--machine", SCENE, "--cpus", "1"];
    for (more, said) in [
        (
            ["--catch", "gap > 5 us on cpu 55"],
            "--catch \"gap > 5 us on cpu 55\": found CPU 55, expected one that is measured: 1",
        ),
        (
            ["--stop-if", "worst 1 ms < 50 % on cpu 0"],
            "--stop-if \"worst 1 ms < 50 % on cpu 0\": found CPU 0, expected one that is measured: 1",
        ),
        (
            ["--catch", "gap > 1e300 s"],
            "found a gap as long as the recording or longer, expected less than its 10 s",
        ),
        (
            ["--stop-if", "gap:preempted > 10 s"],
            "--stop-if \"gap:preempted > 10 s\": found a gap as long as the recording or longer",
        ),
        (
            ["--event", "sched:sched_switch"],
            "--event: found a simulated machine, expected this machine",
        ),
    ] {
        let error = refuse(directory.path(), &[&scene[..], &more].concat());
        assert!(error.contains(said), "{error}");
    }
    let dropped = ["record", "--event", "sched:sched_switch", "--trace", "off"];
    let error = refuse(directory.path(), &dropped);
    assert!(error.contains("--event: found --trace off"), "{error}");
    let here = ["record", "--duration", "1s", "--trace", "off"];
    let other = ["--catch", "gap > 5 us on cpu 60000"];
    let error = refuse(directory.path(), &[&here[..], &other].concat());
    assert!(error.contains("found CPU 60000, expected one"), "{error}");
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
    let error = refuse(directory.path(), &several);
    assert!(error.contains("--catch: found several CPUs"), "{error}");
    let nothing = run(
        directory.path(),
        &["record", "--around", "-1s", "--catch", "gap > 5 us"],
    );
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
