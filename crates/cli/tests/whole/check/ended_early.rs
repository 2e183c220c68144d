//! A check that a signal ends, or that gets no CPU: its verdict, and what becomes of its recordings.

use super::QUIET;
use crate::common::{self, bandscope, signal, that_end, wait_until};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

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
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..600 {
            if has_a_part(directory.path()) {
                break;
            }
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(100));
        }
        signal(&child, "TERM");
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(expected), "{condition}");
        assert!(said.contains("A signal ended the run"), "{said}");
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
