//! Where results go, and which recordings are judged.

use crate::common::{bandscope, succeed};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::path::Path;

/// A simulated second of CPU 0.
fn recorded(directory: &Path) {
    let made = [
        "synth",
        "tick",
        "--duration",
        "1s",
        "--output",
        "t.bandscope",
    ];
    succeed(directory, &made);
}

#[test]
fn a_name_of_standard_output_is_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    recorded(directory.path());
    let log = directory.path().join("log");
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        fs::write(&log, "before\n").unwrap();
        let end = OpenOptions::new().append(true).open(&log).unwrap();
        let words = ["report", "t.bandscope", "--format", "text", "-o", name];
        let status = bandscope(directory.path()).args(words).stdout(end).status();
        assert!(status.unwrap().success());
        let text = fs::read_to_string(&log).unwrap();
        assert!(
            text.starts_with("before\n") && text.contains("CPU 0"),
            "{text}"
        );
    }
}

#[test]
fn a_recording_that_lacks_one_of_its_cpus_does_not_pass() {
    let directory = tempfile::tempdir().unwrap();
    recorded(directory.path());
    let path = directory.path().join("t.bandscope/recording.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["settings"]["cpus"] = json!([0, 7]);
    // As of a file that was edited.
    manifest.as_object_mut().unwrap().remove("checksum");
    fs::write(&path, manifest.to_string()).unwrap();
    let whole = ["synth", "tick:cost=20us", "--seed", "2", "--duration", "1s"];
    succeed(
        directory.path(),
        &[&whole[..], &["--output", "u.bandscope"]].concat(),
    );
    let commands = [
        &["report", "t.bandscope"][..],
        &["report", "u.bandscope", "t.bandscope"],
        &["compare", "u.bandscope", "t.bandscope"],
    ];
    for (condition, status) in [("lost > 50 %", 2), ("lost > 50 % on cpu 0", 0)] {
        for words in commands {
            let words = [words, &["--fail-if", condition]].concat();
            let output = bandscope(directory.path()).args(words).output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(status), "{error}");
            assert_eq!(error.contains("nothing was measured on CPU 7"), status == 2);
        }
    }
}

#[test]
fn a_result_may_have_the_longest_name_that_a_file_can_have() {
    let directory = tempfile::tempdir().unwrap();
    recorded(directory.path());
    // The longest name that a file can have has no room for another beside it.
    let name = "r".repeat(255);
    let words = ["report", "t.bandscope", "--format", "json", "-o", &name];
    for _ in 0..2 {
        let status = bandscope(directory.path()).args(words).status();
        assert!(status.unwrap().success());
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}
