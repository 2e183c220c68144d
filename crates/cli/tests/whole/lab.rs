//! `bandscope lab`: a stored file is explained as it was, this machine is experimented on, and what does not fit is refused.

use crate::common::{self, bandscope, refuse, succeed};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Some of the experiments that a Raptor Cove core under KVM gave.
fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/raptor-cove.lab.json")
}

fn json(arguments: &[&str]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [&["lab", "--format", "json"], arguments].concat();
    serde_json::from_str(&succeed(directory.path(), &arguments)).unwrap()
}

#[test]
fn a_stored_file_says_what_that_core_does() {
    let result = json(&[stored().to_str().unwrap()]);
    assert_eq!(result["schema"], "bandscope.lab/1");
    let pair = |name: &str| {
        let pairs = result["pairs"].as_array().unwrap();
        pairs.iter().find(|pair| pair["name"] == name).unwrap()
    };
    // A shift by a count that a 64-bit immediate set takes 3 cycles, and 1 otherwise.
    let shift = pair("shift-count");
    assert_eq!(shift["differs"], true);
    assert!(
        (shift["ratio"].as_f64().unwrap() - 3.0).abs() < 0.05,
        "{shift}"
    );
    assert_eq!(pair("live-slots")["differs"], false);
    assert_eq!(pair("store-bypass")["ratio"], Value::Null);
    let kinds: Vec<(&str, &str)> = result["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            (
                finding["kind"].as_str().unwrap(),
                finding["evidence"]["loop"].as_str().unwrap(),
            )
        })
        .collect();
    assert!(
        kinds.contains(&("interrupt-helps", "shift-count-64")),
        "{kinds:?}"
    );
    assert!(kinds.contains(&("bistable-pace", "old-unit")), "{kinds:?}");
    assert!(
        kinds.iter().all(|(_, code)| *code != "shift-count-32"),
        "{kinds:?}"
    );
}

#[test]
fn text_and_its_details_fit_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["lab"][..], &["lab", "--levels"]] {
        let stored = stored();
        let arguments = [arguments, &[stored.to_str().unwrap()]].concat();
        let text = succeed(directory.path(), &arguments);
        assert!(
            text.contains("shift-count") && text.contains("Interrupted loops"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}

#[test]
fn this_machine_is_experimented_on_and_the_file_says_the_same_again() {
    let directory = tempfile::tempdir().unwrap();
    let measured = succeed(
        directory.path(),
        &[
            "lab",
            "--only",
            "chains",
            "--format",
            "json",
            "--output",
            "chains.json",
        ],
    );
    let again = succeed(
        directory.path(),
        &["lab", "chains.json", "--format", "json"],
    );
    assert_eq!(measured, again);
    let result: Value = serde_json::from_str(&measured).unwrap();
    let pairs = result["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 1);
    let levels = pairs[0]["levels"].as_array().unwrap();
    assert!(
        levels
            .iter()
            .all(|level| level["cycles"].as_f64().unwrap() > 0.0),
        "{result}"
    );
    assert!(result["cycles"]["frequency_hz"].as_f64().unwrap() > 0.0);
}

#[test]
fn experiments_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let list = succeed(directory.path(), &["lab", "--list"]);
    assert!(
        list.lines().any(|line| line == "base-register")
            && list.lines().any(|line| line == "switching"),
        "{list}"
    );
}

#[test]
fn what_is_no_experiment_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("empty.json", "");
    write("other.json", r#"{"schema": "bandscope.report/1"}"#);
    write(
        "lists.json",
        &std::fs::read_to_string(stored())
            .unwrap()
            .replacen("\"chain\":[", "\"chain\":[1.0,", 1),
    );
    for (arguments, expected) in [
        (&["missing.json"][..], "missing.json: cannot read"),
        (&["empty.json"], "empty.json:1: found"),
        (&["other.json"], "bandscope.experiments/1"),
        (&["lists.json"], "expected as many in each"),
        (&["--only", "nonsense"], "base-register"),
        (&["--cpu", "60000"], "CPU 60000"),
        (&["--cpu", "1", "lab.json"], "--cpu"),
        // Before anything is measured.
        (&["--output", "lists.json"], "lists.json: exists already"),
        (&["--output", "none/it.json"], "none/it.json: cannot create"),
        (
            &["--only", "nonsense", "--output", "new.json"],
            "base-register",
        ),
    ] {
        let error = refuse(directory.path(), &[&["lab"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(!directory.path().join("new.json").exists());
}

#[test]
fn a_signal_ends_it_and_what_was_measured_is_explained() {
    for (name, status) in common::that_end([("INT", 130), ("HUP", 129)]) {
        a_signal_ends_it(name, status);
    }
}

fn a_signal_ends_it(name: &str, status: i32) {
    let directory = tempfile::tempdir().unwrap();
    let mut child = bandscope(directory.path())
        .args(["lab", "--format", "json", "--output", "part.json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The last of the signals that it takes over.
    let last = if common::is_hangup_ignored() { 15 } else { 1 };
    common::wait_until_caught(&mut child, last);
    common::signal(&child, name);
    let output = common::checked(child.wait_with_output().unwrap());
    assert_eq!(output.status.code(), Some(status), "{}", output.status);
    let file = std::fs::read_to_string(directory.path().join("part.json")).unwrap();
    let part: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(part["interrupted"], true);
}
