//! Pass or fail, mostly on simulated machines: limits, a baseline, what is refused before anything is measured, and how a check ends early.

mod common;
use common::{bandscope, refuse, run, signal, succeed, that_end, wait_until};
use serde_json::Value;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

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
fn a_baseline_tells_a_program_that_takes_one_percent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let save = [
        "--machine",
        QUIET,
        "--duration",
        "2500ms",
        "--save",
        "b.json",
    ];
    let (code, text, error) = check(path, &save);
    assert_eq!((code, &*error), (0, ""), "{text}");
    let written = std::fs::read_to_string(path.join("b.json")).unwrap();
    common::keeps_contract(&written);
    let kept: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        (&kept["runs"], &kept["settings"]["cpus"]),
        (&5.into(), &serde_json::json!([0]))
    );
    let error = refuse(path, &[&["check"], &save[..]].concat());
    assert!(
        error.contains("b.json: exists already; name another --save"),
        "{error}"
    );
    let other_seed = format!("{QUIET},seed=9");
    let (code, text, _) = check(path, &["--against", "b.json", "--machine", &other_seed]);
    assert_eq!(code, 0, "{text}");
    let against = ["--against", "b.json", "--machine", DISTURBED];
    let (code, text, _) = check(path, &against);
    assert!(
        code == 1 && text.starts_with("CPU 0 FAILS: lost 1.3 % (baseline 0.25 %"),
        "{text}"
    );
    assert!(text.contains("grew from 0.000 % to 1.0"), "{text}");
    let (code, text, _) = check(path, &[&against[..], &["--format", "json"]].concat());
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &result["passes"]), (1, &false.into()));
    let changes = result["cpus"][0]["changes"].as_array().unwrap();
    let of_tasks = changes.iter().find(|one| one["name"] == "task:*").unwrap();
    assert_eq!(of_tasks["fails"], true, "{of_tasks}");
    let (code, text, _) = check(path, &[&against[..], &["--format", "junit"]].concat());
    assert!(
        code == 1 && text.contains("name=\"CPU 0: task:* as in the baseline\">\n      <failure"),
        "{text}"
    );
    assert!(
        text.contains("grew from 0.000 % to 1.0"),
        "the cause: {text}"
    );
    let (code, text, _) = check(
        path,
        &[&against[..], &["-f", "markdown", "-o", "c.md"]].concat(),
    );
    assert_eq!((code, &*text), (1, ""));
    let written = std::fs::read_to_string(path.join("c.md")).unwrap();
    assert!(written.starts_with("**CPU 0 FAILS.**"), "{written}");
    let limit = [
        "--machine",
        DISTURBED,
        "--duration",
        "1s",
        "--fail-if",
        "longest gap > 30 us",
    ];
    let (code, text, _) = check(path, &limit);
    // The gap says itself when it was, and what.
    assert!(
        code == 1 && text.contains(" s, task:program-2 (limit 30 µs)\n"),
        "{text}"
    );
    // A change has a sign, and nothing else is judged then.
    for (condition, expected) in [
        ("task:* > +0.5 pp", 1),
        ("task:* > +2 pp", 0),
        ("lost < -1 %", 0),
        // The baseline has no line of either, so no time went to them.
        ("task:program-2 > +0.5 pp", 1),
        ("task:nobody > +1 pp", 0),
    ] {
        let (code, text, _) = check(path, &[&against[..], &["--fail-if", condition]].concat());
        assert_eq!(code, expected, "{condition}: {text}");
        // Who misspelt a name would not see it fail, ever.
        let note = "task:nobody was never seen, and a name that is misspelt passes for ever; seen were task:program-2.";
        assert_eq!(text.contains(note), condition.contains("nobody"), "{text}");
    }
    for (condition, expected) in [("task:progr* > 0.1 %", 1), ("task:nobod* > 0.1 %", 0)] {
        let mut limit = vec!["--machine", DISTURBED, "--fail-if", condition];
        limit.extend(["--fail-if", "task:prog* > 90 %"]);
        let (code, text, error) = check(path, &limit);
        assert_eq!(code, expected, "{condition}: {text}{error}");
        let note = "task:nobod* was never seen, and a name that is misspelt passes for ever; seen were task:program-2.";
        assert_eq!(text.contains(note), expected == 0, "{text}");
    }
    let unknown = ["--fail-if", "irq:* > +1 pp"];
    let (code, _, error) = check(path, &[&against[..], &unknown].concat());
    let expected = "the baseline has no \"irq:*\" to change from";
    assert!(code == 2 && error.contains(expected), "{error}");
}

#[test]
fn a_baseline_and_metrics_have_two_files_whatever_their_names() {
    let directory = tempfile::tempdir().unwrap();
    // A baseline is a new file, so only a link that waits for it can be another name of it.
    std::os::unix::fs::symlink("b.json", directory.path().join("m.prom")).unwrap();
    let arguments = "check --machine simulated:quiet --save b.json -f prometheus -o m.prom";
    let error = refuse(directory.path(), &arguments.split(' ').collect::<Vec<_>>());
    let expected = "m.prom: found in --save and in --output, expected two names";
    assert!(error.contains(expected), "{error}");
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
    let (_, text, _) = check(path, &["--against", "few.json", "--format", "json"]);
    common::keeps_contract(&text);
    let result: Value = serde_json::from_str(&text).unwrap();
    let changes = result["cpus"][0]["changes"].as_array().unwrap();
    let far: Vec<_> = changes
        .iter()
        .map(|one| (&one["name"], &one["is_far_off"]))
        .collect();
    assert_eq!(
        far[..2],
        [
            (&"lost".into(), &false.into()),
            (&"gaps".into(), &true.into())
        ]
    );
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_baseline_that_nothing_could_fail_is_not_saved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let busy = ["--machine", "simulated:tasks:hz=5,mean=100ms"];
    let few = ["--runs", "3", "--duration", "900ms", "--save", "busy.json"];
    let (code, text, error) = check(path, &[&busy[..], &few].concat());
    let expected = "busy.json: no baseline is saved: CPU 0 lost ";
    assert!(code == 2 && error.contains(expected), "{text}{error}");
    assert!(!path.join("busy.json").exists());
    // One that can fail, of a CPU that is always disturbed, is saved and says so.
    let ticks = ["--machine", "simulated:tick:hz=250,cost=600us"];
    let some = ["--runs", "5", "--duration", "5s", "--save", "ticks.json"];
    let (code, text, error) = check(path, &[&ticks[..], &some].concat());
    let expected = "% when this baseline was made: what comes later is seen only beyond that";
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 0 && text.contains(expected), "{text}{error}");
    assert!(path.join("ticks.json").exists());
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

/// Whether a recording somewhere below has a part.
fn has_a_part(directory: &std::path::Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let is_part = entry.file_name().to_string_lossy().starts_with("part-");
        is_part || has_a_part(&entry.path())
    })
}

#[test]
fn what_failed_before_a_signal_fails() {
    for (condition, expected) in [("gaps >= 0/s", 1), ("lost > 99.9 %", 143)] {
        let directory = tempfile::tempdir().unwrap();
        let mut child = common::bandscope(directory.path())
            .args(["check", "--duration", "7777s", "--keep", "kept"])
            .args(["--fail-if", condition])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..600 {
            if has_a_part(directory.path()) {
                break;
            }
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        common::signal(&child, "TERM");
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{condition}");
    }
}

/// How many recordings lie in directories below this one.
fn recordings(place: &Path) -> usize {
    let entries = std::fs::read_dir(place).unwrap().flatten();
    let has_one = |entry: &std::fs::DirEntry| entry.path().join("run-1.bandscope").exists();
    entries.filter(has_one).count()
}

#[test]
fn no_signal_leaves_a_recording_and_what_a_kill_left_goes_with_the_next_check() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let start = |number: usize| {
        let mut command = bandscope(place);
        command.args(["check", "--duration", "1h"]);
        command.env("TMPDIR", place).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        wait_until(&mut child, || recordings(place) == number);
        child
    };
    let entries = || std::fs::read_dir(place).unwrap().count();
    for (name, _) in that_end([("INT", 130), ("TERM", 143), ("HUP", 129)]) {
        let mut child = start(1);
        signal(&child, name);
        child.wait().unwrap();
        assert_eq!(entries(), 0, "{name}");
    }
    let mut goes_on = start(1);
    let mut killed = start(2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(entries(), 2);
    // Another program's recording stays.
    std::fs::create_dir(place.join("bandscope-scratch-of-another-boot")).unwrap();
    let mut next = bandscope(place);
    next.args(["check", "--machine", QUIET, "--duration", "100ms"]);
    next.env("TMPDIR", place).output().unwrap();
    assert_eq!((recordings(place), entries()), (1, 2));
    signal(&goes_on, "TERM");
    goes_on.wait().unwrap();
    assert_eq!(entries(), 1);
}

/// A check that keeps its recordings and is told to end while it looks at the machine; whoever goes on then meets what is `in_the_way` of its
/// recording, and fails. `None` if it measured already.
fn told_while_it_looks(directory: &Path, name: &str, in_the_way: bool) -> Option<Output> {
    let kept = directory.join("kept");
    let recording = kept.join("run-1.bandscope");
    let mut command = bandscope(directory);
    command.args(["check", "--duration", "1h", "--keep", "kept"]);
    command.args(["--save", "base.json"]).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, || kept.exists());
    signal(&child, name);
    let is_late = recording.exists();
    let is_placed = !in_the_way || std::fs::write(&recording, "in the way").is_ok();
    // Where it has ended there is no place.
    let is_decided = !is_late && (is_placed || !kept.exists());
    let output = child.wait_with_output().unwrap();
    is_decided.then_some(output)
}

#[test]
fn a_signal_ends_a_check_before_it_measures() {
    for (name, status) in that_end([("INT", 130), ("TERM", 143), ("HUP", 129)]) {
        for in_the_way in [true, false] {
            let told = (0..10).find_map(|_| {
                let directory = tempfile::tempdir().unwrap();
                let output = told_while_it_looks(directory.path(), name, in_the_way)?;
                Some((directory, output))
            });
            let (directory, output) = told.expect("it looks at the machine for a second");
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(status), "{said}");
            assert!(said.contains("nothing is judged"), "{said}");
            if in_the_way {
                let _ = std::fs::remove_file(directory.path().join("kept/run-1.bandscope"));
                let _ = std::fs::remove_dir(directory.path().join("kept"));
            }
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        }
    }
}

/// A check that hardly gets the CPU once its recording is there; `None` if a quantum ended all the same.
fn starved(directory: &Path) -> Option<String> {
    let mut command = bandscope(directory);
    command.args(["check", "--duration", "1ms", "--keep", "kept"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let manifest = directory.join("kept/run-1.bandscope/recording.json");
    wait_until(&mut child, || manifest.exists());
    for _ in 0..100 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        // Less than it warms up for, and more than it may begin late.
        for (name, milliseconds) in [("STOP", 1500), ("CONT", 20)] {
            signal(&child, name);
            std::thread::sleep(Duration::from_millis(milliseconds));
        }
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let is_judged = output.status.code() != Some(2);
    (!is_judged).then_some(said)
}

#[test]
fn a_check_without_a_quantum_fails_and_keeps_its_recording() {
    let told = (0..10).find_map(|_| {
        let directory = tempfile::tempdir().unwrap();
        let said = starved(directory.path())?;
        Some((directory, said))
    });
    let (directory, said) = told.expect("it is away when it is to begin");
    assert!(said.contains("no quantum ended"), "{said}");
    assert!(!said.contains("interrupted"), "{said}");
    let recording = directory.path().join("kept/run-1.bandscope/recording.json");
    assert!(recording.exists());
}
