//! A cure that a signal, a kill or a full disk ends: what it puts back, and what it keeps.

use super::{JOURNALS, SETTING, cure, may_write};
use crate::common::{bandscope, lines, succeed, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A sham that goes on for minutes, with recordings in `tmp`; after its first change.
fn long_sham(directory: &Path) -> Child {
    fs::create_dir(directory.join("tmp")).unwrap();
    let mut command = cure(
        directory,
        &["sham", "--yes", "--trial", "200ms", "-o", "t.json"],
    );
    let mut child = command
        .env("TMPDIR", directory.join("tmp"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let has_changed = || {
        let journals = fs::read_dir(directory.join("journals"));
        let paths = journals.into_iter().flatten().flatten().map(|it| it.path());
        let mut journals = paths.filter(|path| path.extension().is_some_and(|it| it == "journal"));
        journals.any(|journal| lines(&journal) > 1)
    };
    wait_until(&mut child, has_changed);
    child
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_signal_ends_the_trials_with_everything_put_back() {
    for (number, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let directory = tempfile::tempdir().unwrap();
        if !may_write() {
            return;
        }
        let before = fs::read_to_string(SETTING).unwrap();
        let child = long_sham(directory.path());
        // Meanwhile nobody else may change the machine.
        let mut second = cure(
            directory.path(),
            &["sham", "--yes", "--trial", "50ms", "-o", "u.json"],
        );
        let refused = second.output().unwrap();
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(
            refused.status.code() == Some(2) && error.contains("another `bandscope cure`"),
            "{error}"
        );
        assert!(!directory.path().join("u.json").exists(), "it was measured");
        let refused = cure(directory.path(), &["--undo"]).output().unwrap();
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(
            refused.status.code() == Some(2) && error.contains("at work"),
            "{error}"
        );
        // Some file systems number files otherwise than the kernel's list of locks.
        let named = format!("(process {})", child.id());
        assert_eq!(
            error.contains("(process"),
            error.contains(&named),
            "{error}"
        );
        signal(&child, number);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status));
        assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
        let cures = fs::read_to_string(directory.path().join("t.json")).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&cures).unwrap()["interrupted"],
            true
        );
        assert_eq!(
            fs::read_dir(directory.path().join("tmp")).unwrap().count(),
            0
        );
    }
}

/// A cure that is told to end while it looks at the machine; whoever goes on then meets something in the place of its recording, and fails.
/// `None` if it measured already.
fn told_while_it_looks(directory: &Path, number: Signal) -> Option<Output> {
    let tmp = directory.join("tmp");
    fs::create_dir(&tmp).unwrap();
    let mut command = cure(directory, &["--yes", "-o", "t.json"]);
    command.env("TMPDIR", &tmp).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let scratch = || Some(fs::read_dir(&tmp).ok()?.flatten().next()?.path());
    wait_until(&mut child, || scratch().is_some());
    signal(&child, number);
    let recording = scratch().map(|scratch| scratch.join("before.bandscope"));
    let is_late = recording.as_ref().is_some_and(|it| it.exists());
    let is_placed = recording.is_some_and(|it| fs::write(it, "in the way").is_ok());
    // Where it has ended there is no place.
    let is_decided = !is_late && (is_placed || scratch().is_none());
    let output = child.wait_with_output().unwrap();
    is_decided.then_some(output)
}

#[test]
fn a_signal_ends_a_cure_before_it_measures() {
    for (number, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let told = (0..10).find_map(|_| {
            let directory = tempfile::tempdir().unwrap();
            let output = told_while_it_looks(directory.path(), number)?;
            Some((directory, output))
        });
        let (directory, output) = told.expect("it looks at the machine for a second");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{said}");
        let tmp = directory.path().join("tmp");
        assert_eq!(fs::read_dir(tmp).unwrap().count(), 0);
        assert!(!directory.path().join("t.json").exists());
    }
}

#[test]
fn what_a_killed_cure_left_is_told_and_put_back() {
    let directory = tempfile::tempdir().unwrap();
    if !may_write() {
        return;
    }
    let before = fs::read_to_string(SETTING).unwrap();
    let mut child = long_sham(directory.path());
    child.kill().unwrap();
    child.wait().unwrap();
    let told = |command: &mut Command| {
        let output = command
            .env(JOURNALS, directory.path().join("journals"))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    // It may have been killed right after it put back: then there is nothing to tell.
    let (_, error) = told(bandscope(directory.path()).arg("kernels"));
    let left = error.contains("bandscope cure --undo");
    let (code, error) = told(&mut cure(directory.path(), &["--undo"]));
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(left, error.contains("put back"), "{error}");
    assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
    let (code, error) = told(&mut cure(directory.path(), &["--undo"]));
    assert_eq!(code, Some(0));
    assert!(error.contains("no cure left anything changed"), "{error}");
}

/// What `report` finds in the file of a session that did not end by itself, after a pair at least.
fn assert_is_partial(directory: &Path, file: &str) {
    let json = succeed(directory, &["report", file, "--format", "json"]);
    let judged: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(judged["interrupted"], true, "{judged}");
    // Two trials of a pair.
    assert!(judged["duration_s"].as_f64().unwrap() > 0.4, "{judged}");
    let text = succeed(directory, &["report", file]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("The session was ended early"), "{text}");
}

#[test]
fn a_killed_cure_keeps_the_pairs_that_ended_and_blocks_neither_name_nor_disk() {
    let directory = tempfile::tempdir().unwrap();
    if !may_write() {
        return;
    }
    let path = directory.path().join("t.json");
    // As one that was killed at once left it.
    fs::write(&path, "").unwrap();
    let mut child = long_sham(directory.path());
    wait_until(&mut child, || lines(&path) > 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_is_partial(directory.path(), "t.json");
    let left = || fs::read_dir(directory.path().join("tmp")).unwrap().count();
    assert_eq!(left(), 1);
    let mut undo = cure(directory.path(), &["--undo"]);
    assert!(undo.output().unwrap().status.success());
    let mut next = cure(directory.path(), &["--dry-run", "--trial", "50ms"]);
    next.env("TMPDIR", directory.path().join("tmp"));
    assert!(next.output().unwrap().status.success());
    assert_eq!(left(), 0);
}

/// Fills a small disk after the first pair, in a mount namespace that goes with it.
const ON_A_DISK_THAT_FILLS_UP: &str = "
    mkdir small && mount -t tmpfs -o size=1m none small || exit 77
    \"$@\" &
    until [ \"$(cat small/t.json 2>/dev/null | wc -l)\" -gt 1 ]; do kill -0 $! || exit 78; sleep 0.1; done
    cat /dev/zero > small/filler
    kill -TERM $!
    wait $!
    code=$?
    cp small/t.json kept.json
    [ \"$(ls -A small | wc -l)\" = 2 ] || exit 79
    exit $code";

#[test]
fn on_a_full_disk_a_cure_is_reported_and_the_pairs_that_fit_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let sham = [
        "sham",
        "--yes",
        "--trial",
        "200ms",
        "-f",
        "json",
        "-o",
        "small/t.json",
    ];
    let cure = cure(directory.path(), &sham);
    if !may_write() {
        return;
    }
    let mut disk = Command::new("unshare");
    disk.args(["--mount", "sh", "-c", ON_A_DISK_THAT_FILLS_UP, "sh"]);
    disk.arg(cure.get_program()).args(cure.get_args());
    disk.current_dir(directory.path());
    disk.env(JOURNALS, directory.path().join("journals"));
    let output = match disk.output() {
        Ok(output) if ![Some(1), Some(77)].contains(&output.status.code()) => output,
        refused => {
            println!("SKIPPED: a full disk: no small one can be mounted: {refused:?}");
            return;
        }
    };
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("small/t.json: cannot write"), "{error}");
    let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(judged["interrupted"], true, "{judged}");
    assert_is_partial(directory.path(), "kept.json");
}
