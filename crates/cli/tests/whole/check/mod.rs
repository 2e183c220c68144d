//! Pass or fail, mostly on simulated machines: limits, a baseline, what is refused before anything is measured, and how a check ends early.

mod baselines;
mod ended_early;

use crate::common::{self, refuse, run, succeed};
use serde_json::Value;
use std::path::Path;

const QUIET: &str = "simulated:tick:hz=250,cost=10us+reads:sigma=5ns";
/// The same with a program that takes 1 % of the CPU.
const DISTURBED: &str =
    "simulated:tick:hz=250,cost=10us+reads:sigma=5ns+timed-task:hz=200,cost=50us";

/// Exit status, standard output and standard error of a check.
fn check(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = run(directory, &[&["check"], arguments].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn limits_pass_and_fail_with_a_line_a_cpu() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let machine = ["--machine", QUIET, "--duration", "1s", "--cpus", "0,1"];
    let (code, text, error) = check(path, &machine);
    assert_eq!((code, &*error), (0, ""), "{text}");
    assert_eq!(
        text,
        "CPU 0 passes: lost 0.25 % (limit 1 %)\nCPU 1 passes: lost 0.25 % (limit 1 %)\n"
    );
    let limits = ["--fail-if", "lost > 0.1 % on cpu 1", "--keep", "kept"];
    let (code, text, _) = check(path, &[&machine[..], &limits].concat());
    assert_eq!(code, 1);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "CPU 0 passes: lost 0.25 %",
            "CPU 1 FAILS: lost 0.25 % (limit 0.1 %); most to tick (0.25 %)",
            "To see why: bandscope report kept/run-1.bandscope",
        ]
    );
    succeed(path, &["report", "kept/run-1.bandscope"]);
    // The same of a recording that exists, with every other unit.
    for (condition, expected) in [
        ("lost>0.1%", 1),
        ("lost > 1%", 0),
        ("longest gap > 5 us", 1),
        ("gaps > 1 kHz", 0),
        ("worst 1 ms < 99.5 %", 1),
        ("p99.9 gap >= 1ms", 0),
        ("tick > 0.2 %", 1),
        ("task:* > 0.1 %", 0),
        ("task:nobody > 0", 0),
        ("Other_tasks > 0", 0),
        ("host > 0", 0),
        ("finding:periodic-interference", 1),
        ("finding:throttled on cpu 0", 0),
    ] {
        let output = run(
            path,
            &["report", "kept/run-1.bandscope", "--fail-if", condition],
        );
        assert_eq!(output.status.code(), Some(expected), "{condition}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            error.contains("FAILS"),
            expected == 1,
            "{condition}: {error}"
        );
    }
}

#[test]
fn a_run_that_a_gap_ended_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let scene = "simulated:tick+timed-task:hz=3,cost=200us";
    let stop = [
        "--machine",
        scene,
        "--duration",
        "2s",
        "--stop-if",
        "gap > 100 us",
    ];
    let (code, text, _) = check(directory.path(), &stop);
    let line = text.lines().next().unwrap_or_default();
    let told = line.strip_prefix("CPU 0 FAILS: ended by \"gap > 100 us\"; its longest gap: 20");
    let told =
        told.is_some_and(|rest| rest.contains(" µs at ") && rest.ends_with(" s, task:program-1"));
    assert!(code == 1 && told, "{text}");
}

#[test]
fn a_limit_that_is_far_off_says_how_many_runs_would_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let bursts = ["--machine", "simulated:bursts:hz=5", "--cpus", "0,1"];
    let few = ["--runs", "3", "--duration", "900ms", "--save", "few.json"];
    let (code, text, error) = check(path, &[&bursts[..], &few].concat());
    // Thousands of gaps a second, of some tens.
    let expected = "CPUs 0-1: the limit of gaps is far off: up to ";
    assert!(code == 0 && text.contains(expected), "{text}{error}");
    let expected_limits = "CPUs 0-1: one more such run fails beyond at most pace ";
    assert!(text.contains(expected_limits), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let steady =
        "host did not vary in these runs. One run cannot fail on it; 11 runs can (--duration 4s).";
    assert!(text.contains(steady), "{text}");
    let (_, text, _) = check(path, &["--against", "few.json", "--format", "json"]);
    common::keeps_contract(&text);
    let result: Value = serde_json::from_str(&text).unwrap();
    let changes = result["cpus"][0]["changes"].as_array().unwrap();
    let of = |name: &str| changes.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(
        (&of("gaps")["is_far_off"], &of("pace")["is_far_off"]),
        (&true.into(), &false.into())
    );
    let expected = "A pass says little of ";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn what_cannot_be_judged_is_refused_before_it_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(
        path.join("bad.json"),
        "{\"schema\":\"bandscope.baseline/1\",\"runs\":1}",
    )
    .unwrap();
    std::os::unix::fs::symlink("somewhere", path.join("nowhere")).unwrap();
    for (arguments, expected) in [
        (
            &["--fail-if", "idle > 1"][..],
            "found no figure \"idle\", expected one of lost, ",
        ),
        (
            &["--fail-if", "lost > 5 us"],
            "found a time, expected a share",
        ),
        (&["--fail-if", "gaps > 5 %"], "a percentage needs a sign"),
        (
            &["--fail-if", "lost > 1"],
            "found 1 without a unit, expected 1 % or 100 %",
        ),
        (
            &["--fail-if", "lost > +1 %"],
            "expected --against BASELINE.json",
        ),
        (
            &["--fail-if", "lost > 150 %"],
            "found 150 %, expected less than 100 %",
        ),
        (
            &["--fail-if", "lost > 100 %"],
            "found 100 %, expected less than 100 %",
        ),
        (
            &["--fail-if", "worst 1 ms < 0 %"],
            "found 0 %, expected more than 0",
        ),
        (
            &["--fail-if", "softirq:NOPE > 1 %"],
            "expected one of softirq:HI, ",
        ),
        (
            &["--fail-if", "longest gap > 1e300 s"],
            "found 1e300 s, expected 366 days at most",
        ),
        (&["--fail-if", "idle > 1"], "timer:NAME or timer:*"),
        (
            &["--fail-if", "finding:nonsense"],
            "expected one of finding:alias, ",
        ),
        (
            &["--fail-if", "lost"],
            "expected a condition such as \"lost > 1 %\"",
        ),
        (
            &["--against", "bad.json"],
            "bad.json: found runs 1, expected 3 to 10000",
        ),
        (&["--against", "none.json"], "none.json: cannot read"),
        (&["--keep", "."], "exists already; name another --keep"),
        (
            &["--save", "nowhere"],
            "nowhere: exists already; name another --save",
        ),
        (
            &["--save", "no/b.json"],
            "no/b.json: cannot create: no is not a directory",
        ),
        (
            &["--output", "bad.json"],
            "exists already; name another --output",
        ),
        (
            &["--machine", "moon"],
            "expected `this` or `simulated:SCENARIO`",
        ),
    ] {
        let error = refuse(path, &[&["check"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    // What would be measured would take a year.
    let machine = ["check", "--machine", QUIET, "--duration", "8000h"];
    for cpus in [&["--cpus", "0,2-3"][..], &[]] {
        let condition = ["--fail-if", "lost > 1 % on cpu 7", "--keep", "kept"];
        let error = refuse(path, &[&machine[..], cpus, &condition].concat());
        let expected = match cpus {
            [] => "found CPU 7, expected a CPU that is measured: 0\n",
            _ => "found CPU 7, expected a CPU that is measured: 0,2-3\n",
        };
        assert!(error.ends_with(expected), "{error}");
        assert!(!path.join("kept").exists());
    }
    // Of what was not measured nothing is known, which is not 0.
    let recording = [
        "record",
        "--machine",
        QUIET,
        "--duration",
        "300ms",
        "--trace",
        "off",
        "-o",
        "r.bandscope",
    ];
    succeed(path, &recording);
    let error = refuse(
        path,
        &["report", "r.bandscope", "--fail-if", "lost > 1 % on cpu 7"],
    );
    assert!(
        error.ends_with("found CPU 7, expected a CPU that is measured: 0\n"),
        "{error}"
    );
    let error = refuse(
        path,
        &["report", "r.bandscope", "--fail-if", "task:cc1 > 1 %"],
    );
    assert!(
        error.contains("task:cc1 is not known: kernel events were not recorded; run it as root"),
        "{error}"
    );
    let left: Vec<_> = std::fs::read_dir(path).unwrap().collect();
    assert_eq!(left.len(), 3, "{left:?}");
}
