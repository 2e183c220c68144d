//! `bandscope cure` on this machine: what it refuses, what it puts back, and who may not be disturbed.

mod ended_early;
mod journals;
mod named_tasks;

use crate::common::{bandscope, refuse, succeed};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where journals are, in the place of those of this machine.
const JOURNALS: &str = "BANDSCOPE_JOURNALS";
const SETTING: &str = "/proc/sys/vm/stat_interval";

/// `cure` in a directory, with journals of its own.
fn cure(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = bandscope(directory);
    command.arg("cure").args(arguments);
    command.env(JOURNALS, directory.join("journals"));
    command
}

/// Whether the control can be tried: whether its setting may be written.
fn may_write() -> bool {
    let may = fs::OpenOptions::new().write(true).open(SETTING).is_ok();
    if !may {
        println!("SKIPPED: trials of a cure: {SETTING} cannot be written here");
    }
    may
}

#[test]
fn a_dry_run_says_what_it_would_write_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let before = fs::read_to_string(SETTING).ok();
    let arguments = ["--dry-run", "--trial", "100ms", "--width", "80"];
    let output = cure(directory.path(), &arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("tasks") && text.contains("interrupts"),
        "{text}"
    );
    assert_eq!(fs::read_to_string(SETTING).ok(), before);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_changed_without_a_yes() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["nonsense"][..], "expected one of tasks, interrupts"),
        (&["--undo", "--yes"], "cannot be used with"),
    ] {
        let error = refuse(directory.path(), &[&["cure"], arguments].concat());
        assert!(error.contains(expected), "{error}");
    }
    if !may_write() {
        return;
    }
    let mut command = cure(directory.path(), &["sham", "--trial", "100ms"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("expected --yes"), "{error}");
}

#[test]
fn a_control_is_tried_and_its_trials_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    if !may_write() {
        return;
    }
    let arguments = [
        "sham", "--yes", "--trial", "50ms", "--budget", "10s", "-f", "json", "-o", "t.json",
    ];
    let output = cure(directory.path(), &arguments).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(judged["schema"], "bandscope.cure/1");
    assert_eq!(judged["cures"][0]["name"], "sham");
    // On a machine that is busy there is no time for the pairs that count.
    let is_tried = judged["cures"][0]["verdict"] != "not-tried";
    let status = if is_tried { 0 } else { 2 };
    assert_eq!(output.status.code(), Some(status), "{error}");
    assert_eq!(
        error.contains("no cure was judged; a pair of trials takes"),
        !is_tried,
        "{error}"
    );
    assert!(
        !is_tried || judged["cures"][0]["pairs"].as_u64().unwrap() >= 6,
        "{judged}"
    );
    // The file holds all of it.
    let again = succeed(directory.path(), &["report", "t.json", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), judged);
    let page = succeed(directory.path(), &["report", "t.json", "--format", "html"]);
    assert!(page.starts_with("<!doctype html>"));
    let error = refuse(
        directory.path(),
        &["report", "t.json", "--fail-if", "lost > 1 %"],
    );
    assert!(error.contains("trials of a cure"), "{error}");
    assert_eq!(
        fs::read_dir(directory.path().join("journals"))
            .unwrap()
            .count(),
        1,
        "the lock"
    );
}
