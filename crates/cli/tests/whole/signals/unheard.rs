//! Signals to a program whose output nobody reads.

use super::{state_of, told_while_it_looks};
use crate::common::{
    bandscope, lines, report, signal, that_end, wait_for_parts, wait_until, wait_until_caught,
};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

#[test]
fn a_signal_ends_it_where_nobody_reads_why() {
    let directory = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    let filled = std::thread::spawn(move || while filler.write_all(&[0; 4096]).is_ok() {});
    let mut child = told_while_it_looks(directory.path(), "INT", writer.into());
    let mut status = None;
    // Where the first came late a later one ends it.
    for _ in 0..300 {
        status = child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        signal(&child, "INT");
        std::thread::sleep(Duration::from_millis(100));
    }
    // Also where it has not ended.
    let _ = child.kill();
    drop(reader);
    filled.join().unwrap();
    assert_eq!(status.and_then(|status| status.code()), Some(130));
}

/// Ends a command whose output is a pipe that nobody reads, so by itself it never ends: by a signal, and later ones. Its recordings go to `tmp`.
fn end_blocked(directory: &Path, arguments: &str, until: impl Fn() -> bool) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    let filled = std::thread::spawn(move || while filler.write_all(&[0; 4096]).is_ok() {});
    let mut child = bandscope(directory)
        .args(arguments.split(' '))
        .env("TMPDIR", directory.join("tmp"))
        .env("BANDSCOPE_JOURNALS", directory.join("journals"))
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until_caught(&mut child, 15);
    wait_until(&mut child, until);
    let status = (0..300).find_map(|_| {
        signal(&child, "INT");
        std::thread::sleep(Duration::from_millis(200));
        child.try_wait().unwrap()
    });
    // Also where it has not ended.
    let _ = child.kill();
    drop(reader);
    filled.join().unwrap();
    assert_eq!(status.and_then(|status| status.code()), Some(130));
}

#[test]
fn a_later_signal_ends_it_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "record --duration 60s --output it.bandscope";
    end_blocked(directory.path(), arguments, || true);
}

#[test]
fn recordings_that_nobody_asked_for_go_with_it_however_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let tmp = directory.path().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let made = || std::fs::read_dir(&tmp).unwrap().count();
    let arguments = "check --machine simulated:quiet --duration 1s";
    end_blocked(directory.path(), arguments, || made() > 0);
    assert_eq!(made(), 0);
}

#[test]
fn a_later_signal_ends_a_cure_that_put_everything_back() {
    let setting = Path::new("/proc/sys/vm/stat_interval");
    if OpenOptions::new().write(true).open(setting).is_err() {
        println!("SKIPPED: trials of a cure: {setting:?} cannot be written here");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("tmp")).unwrap();
    let before = std::fs::read(setting).unwrap();
    // After a head and a pair of trials.
    let is_at_it = || lines(&directory.path().join("t.json")) > 1;
    let arguments = "cure sham --yes --trial 50ms --output t.json";
    end_blocked(directory.path(), arguments, is_at_it);
    assert_eq!(std::fs::read(setting).unwrap(), before);
}

/// A recording by `how` that prints to a pipe that nobody reads, told once to end when its manifest says `state`.
fn told_once_unheard(
    directory: &Path,
    how: &str,
    duration: &str,
    state: &str,
) -> Option<ExitStatus> {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    let filled = std::thread::spawn(move || while filler.write_all(&[0; 4096]).is_ok() {});
    let mut command = bandscope(directory);
    command.args([how, "--output", "it.bandscope", "--duration", duration]);
    command.args(["--machine", "simulated:quiet"]);
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    wait_until(&mut child, || {
        state_of(&directory.join("it.bandscope")) == state
    });
    if state == "recording" {
        wait_for_parts(directory, &mut child, 1);
    }
    signal(&child, "TERM");
    let mut status = None;
    for _ in 0..300 {
        status = child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // Also where it has not ended.
    let _ = child.kill();
    drop(reader);
    filled.join().unwrap();
    status
}

#[test]
fn one_signal_ends_it_where_nobody_reads_the_summary() {
    for (how, duration, state) in [
        ("record", "1s", "complete"),
        ("record", "77777s", "recording"),
        ("live", "1s", "complete"),
        ("live", "77777s", "recording"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let status = told_once_unheard(directory.path(), how, duration, state);
        assert_eq!(
            status.and_then(|status| status.code()),
            Some(143),
            "{how}, {state}"
        );
        let report = report(directory.path(), &["it.bandscope"]);
        assert!(report["series"][0]["quanta"].as_u64() > Some(0));
        let left = match state {
            "recording" => "interrupted",
            whole => whole,
        };
        assert_eq!(report["recording"]["state"], left);
    }
}

#[test]
fn no_signal_leaves_a_recording_in_which_nothing_was_measured() {
    for (name, status) in that_end([("INT", 130), ("TERM", 143), ("HUP", 129)]) {
        for command in ["record", "live"] {
            let directory = tempfile::tempdir().unwrap();
            let mut measured = bandscope(directory.path());
            measured.args([command, "--duration", "60s", "--output", "it.bandscope"]);
            // What was prepared waits for so long.
            if command == "record" {
                measured.args(["--start-delay", "60"]);
            }
            measured.stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = measured.spawn().unwrap();
            let manifest = directory.path().join("it.bandscope/recording.json");
            wait_until(&mut child, || manifest.exists());
            signal(&child, name);
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(status), "{said}");
            let left = std::fs::read_dir(directory.path()).unwrap().count();
            // `live` begins at once, so a quantum may have ended.
            match said.contains("before anything was measured") {
                true => assert_eq!(left, 0, "{command}"),
                false => assert_eq!((command, left), ("live", 1), "{said}"),
            }
        }
    }
}
