//! Disturbances by the program itself: logs that a kill leaves readable, a recording made meanwhile, refusals. One CPU
//! suffices.

mod beside;

use crate::common::{
    self, assert_ledger_closes, bandscope, refuse, report, run, signal, succeed, wait_for_parts,
};
use bandscope_experiments::inject::{Kind, Neighbour};
use bandscope_probe::pin;
use bandscope_recording::Source;
use bandscope_recording::disturbances::{Intervals, Log, read};
use bandscope_recording::manifest::State;
use bandscope_recording::read::open;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

fn log(directory: &Path, name: &str) -> Log {
    read(&directory.join(name)).unwrap()
}

#[test]
fn every_kind_writes_a_log_that_reads() {
    let directory = tempfile::tempdir().unwrap();
    for kind in Kind::all() {
        let name = kind.to_string().replace(':', "-");
        let arguments = [
            "inject",
            "--kind",
            &kind.to_string(),
            "--period",
            "4ms",
            "--length",
            "200us",
            "--jitter",
            "10%",
            "--duration",
            "200ms",
            "--log",
            &name,
        ];
        let output = run(directory.path(), &arguments);
        if !output.status.success() {
            let error = String::from_utf8(output.stderr).unwrap();
            println!("SKIPPED: {kind}: {error}");
            assert!(error.contains("cannot disturb by"), "{error}");
            continue;
        }
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!("{name}\n")
        );
        let log = log(directory.path(), &name);
        assert!(log.whole() && !log.disturbances.is_empty());
        assert_eq!(log.header.kind, kind.to_string());
        assert_eq!(log.header.takes_the_cpu(), kind.takes_the_cpu());
        assert!((log.header.settings.jitter_s / 4e-4 - 1.0).abs() < 1e-9);
        let end = log.end.as_ref().unwrap();
        assert_eq!(end.state, State::Complete);
        assert!(end.clock.readings.len() >= 2);
        // Planned, done, or skipped.
        assert!(
            (49..=50).contains(&(end.disturbances + end.skipped)),
            "{end:?}"
        );
        if kind != Kind::Neighbour(Neighbour::Deep) {
            assert!(log.disturbed().total() <= log.spans().total());
        }
    }
}

#[test]
fn a_killed_run_keeps_its_rows_and_a_signal_ends_it_in_order() {
    if pin::allowed().unwrap().len() < 2 {
        println!("SKIPPED: a killed run: with one CPU the log is written at the end");
        return;
    }
    for (name, code) in [("KILL", None), ("INT", Some(130)), ("TERM", Some(143))] {
        let directory = tempfile::tempdir().unwrap();
        let mut child = bandscope(directory.path())
            .args(["inject", "--duration", "60s", "--log", "log"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let path = directory.path().join("log");
        for _ in 0..600 {
            // The file is there before its first line is.
            if read(&path).is_ok_and(|log| !log.disturbances.is_empty()) {
                break;
            }
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(100));
        }
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), code);
        let log = log(directory.path(), "log");
        assert!(!log.disturbances.is_empty());
        assert_eq!(
            log.end.map(|end| end.state),
            code.map(|_| State::Interrupted)
        );
    }
}

/// The program starts itself for `--then`; a foreign binary cannot do that under emulation.
fn emulated() -> bool {
    let emulated = std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some();
    if emulated {
        println!("SKIPPED: --then: an emulated program cannot start itself");
    }
    emulated
}

#[test]
fn a_recording_is_made_while_the_disturbance_lasts_on_the_same_clock() {
    if emulated() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Some CPU, the last one: where there is only one the recording is buffered.
    let cpu = pin::allowed().unwrap().pop().unwrap();
    let arguments = [
        "inject",
        "--cpu",
        &cpu.to_string(),
        "--period",
        "10ms",
        "--length",
        "1ms",
        "--then",
        "record",
        "--duration",
        "600ms",
        "--output",
        "it.bandscope",
        "--rate",
        "10kHz",
    ];
    assert_eq!(succeed(directory.path(), &arguments), "it.bandscope\n");
    let log = log(directory.path(), "it.disturbances.jsonl");
    assert!(log.whole());
    let words = &log.header.settings.then;
    assert_eq!(words[words.len() - 2..], ["--cpus", &cpu.to_string()]);
    assert_eq!(words[0], "record");

    let report = report(directory.path(), &["it.bandscope"]);
    assert_ledger_closes(&report["series"][0]);
    let recording = open(&directory.path().join("it.bandscope")).unwrap();
    let clock = &recording.manifest().clock;
    assert_eq!(recording.manifest().settings.cpus, [cpu]);
    log.check_recording(clock).unwrap();
    assert!(
        log.disturbances[0].start < clock.origin_ticks,
        "it began before"
    );

    // One CPU runs one thread: wherever the disturber had it, the measuring thread had a gap.
    let (mut first, mut last) = (u64::MAX, 0);
    recording
        .replay_quanta(0, &mut |chunk| {
            first = first.min(chunk.start[0]);
            last = last.max(*chunk.end.last().unwrap());
        })
        .unwrap();
    let mut away = Vec::new();
    recording
        .replay_gaps(0, &mut |gaps| {
            away.extend(
                gaps.iter()
                    .map(|gap| (gap.start, gap.start + gap.duration + gap.handling)),
            );
        })
        .unwrap();
    let away = Intervals::new(away);
    let disturbed = log.disturbed().since(clock.origin_ticks);
    let measured = disturbed
        .spans()
        .iter()
        .map(|&(start, end)| (start.max(first), end.min(last)));
    let measured = Intervals::new(measured);
    let covered: u64 = measured
        .spans()
        .iter()
        .map(|&(start, end)| away.within(start, end))
        .sum();
    assert!(measured.total() > 0, "disturbances while it was measured");
    // But for the unit under way when a gap begins, all of it.
    assert!(
        covered as f64 > 0.99 * measured.total() as f64,
        "{covered} of {}",
        measured.total()
    );
}

#[test]
fn the_exit_status_is_that_of_the_command_and_its_mistakes_are_found_before_anything_begins() {
    let directory = tempfile::tempdir().unwrap();
    let cpu = pin::allowed().unwrap()[0].to_string();
    for (arguments, wanted) in [
        (
            &["--then", "record", "--cpus", "4000000"][..],
            "CPU 4000000",
        ),
        (
            &["--cpu", "4000000", "--then", "record", "--cpus", &cpu],
            "expected a CPU that the command measures",
        ),
        (&["--cpu", "4000000"], "CPU 4000000"),
        (&["--length", "6ms"], "length and jitter"),
        (
            &[
                "--kind",
                "neighbour:spin",
                "--cpu",
                &cpu,
                "--then",
                "record",
                "--cpus",
                &cpu,
            ],
            "which the command measures",
        ),
        (&["--log", "there"], "there: exists already"),
        (
            &["--then", "record", "--output", "there"],
            "there: exists already",
        ),
        (
            &["--log", "no/such/directory"],
            "no/such/directory: cannot create",
        ),
    ] {
        std::fs::write(directory.path().join("there"), "mine").unwrap();
        let arguments = [&["inject"], arguments].concat();
        let error = refuse(directory.path(), &arguments);
        assert!(error.contains(wanted), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
    for (arguments, wanted) in [
        (&["--kind", "elephant"][..], "neighbour:shallow"),
        (&["--jitter", "110%"], "expected a share"),
        (&["--then"], "a value is required"),
        (&["--then", "record", "--rate", "fast"], "expected a rate"),
        (
            &["--duration", "1s", "--then", "record"],
            "cannot be used with",
        ),
    ] {
        let output = run(directory.path(), &[&["inject"], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(wanted), "{error}");
    }
    if emulated() {
        return;
    }
    let output = run(
        directory.path(),
        &[
            "inject",
            "--cpu",
            &cpu,
            "--log",
            "log",
            "--then",
            "report",
            "no-such-recording",
        ],
    );
    assert_eq!(output.status.code(), Some(2));
    let log = log(directory.path(), "log");
    assert_eq!(log.header.settings.then, ["report", "no-such-recording"]);
    assert!(log.whole());
}

#[test]
fn a_signal_ends_the_command_and_the_disturbance_in_order() {
    if emulated() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut child = bandscope(directory.path())
        .args([
            "inject",
            "--then",
            "record",
            "--duration",
            "60s",
            "--output",
            "it.bandscope",
        ])
        .args(["--rate", "1000", "--start-delay", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    if pin::allowed().unwrap().len() < 2 {
        // Buffered: no part tells how far it is.
        std::thread::sleep(Duration::from_secs(3));
    } else {
        common::wait_for_parts(directory.path(), &mut child, 1);
    }
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let report = report(directory.path(), &["it.bandscope"]);
    assert_eq!(report["recording"]["state"], "interrupted");
    let log = log(directory.path(), "it.disturbances.jsonl");
    assert_eq!(log.end.unwrap().state, State::Interrupted);
}

/// `record` would go on to its end, and `live` for ever.
#[test]
fn the_command_ends_with_a_disturber_that_is_killed() {
    if emulated() {
        return;
    }
    for command in ["record", "live"] {
        let directory = tempfile::tempdir().unwrap();
        let cpu = pin::allowed().unwrap().pop().unwrap().to_string();
        if command == "live" && pin::allowed().unwrap().len() < 2 {
            println!("SKIPPED: live beside a disturber that is killed: needs two CPUs");
            continue;
        }
        let mut child = bandscope(directory.path())
            .args(["inject", "--log", "log", "--cpu", &cpu, "--then", command])
            .args([
                "--duration",
                "60s",
                "--cpus",
                &cpu,
                "--output",
                "it.bandscope",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let state =
            || open(&directory.path().join("it.bandscope")).map(|read| read.manifest().state);
        // A recording of nothing would not be kept.
        wait_for_parts(directory.path(), &mut child, 1);
        signal(&child, "KILL");
        child.wait().unwrap();
        for _ in 0..300 {
            if state().unwrap() != State::Recording {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(state().unwrap(), State::Interrupted, "{command}");
        let report = report(directory.path(), &["it.bandscope"]);
        let said = report["warnings"].to_string();
        assert!(said.contains("disturber-ended"), "{said}");
    }
}
