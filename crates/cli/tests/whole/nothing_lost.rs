//! Files that keep what is measured: a kill or a full disk costs what was under way and no more, and nobody writes over another's.

use crate::common::{bandscope, checked, lines, refuse, report, signal, succeed, wait_until};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Runs it where no file may be longer than so many blocks of 512 bytes, as on a full disk.
fn on_a_full_disk(directory: &Path, blocks: u32, arguments: &[&str]) -> Option<Output> {
    if std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
        println!("SKIPPED: a full disk: not under an emulator");
        return None;
    }
    let program = bandscope(directory);
    let script = format!("trap '' XFSZ; ulimit -f {blocks} && exec \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(program.get_program())
        .args(program.get_args())
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    Some(checked(output))
}

/// A file's JSON as a report of this command.
fn read(directory: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(directory, arguments)).unwrap()
}

fn start(directory: &Path, arguments: &[&str]) -> Child {
    bandscope(directory)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_session_keeps_the_runs_that_ended() {
    let directory = tempfile::tempdir().unwrap();
    let script = "echo x >> count; echo 5";
    let arguments = ["repeat", "-n", "10000", "--output", "part.json", "--", "sh"];
    let mut child = start(
        directory.path(),
        &[&arguments[..], &["-c", script]].concat(),
    );
    let count = directory.path().join("count");
    wait_until(&mut child, || lines(&count) >= 5);
    signal(&child, "KILL");
    child.wait().unwrap();
    let result = read(
        directory.path(),
        &["repeat", "--from", "part.json", "--format", "json"],
    );
    assert_eq!(result["interrupted"], true);
    // One to warm up, and one under way.
    assert!(result["values"].as_array().unwrap().len() >= 3, "{result}");
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("The session ended early"), "{warnings}");
}

#[test]
fn on_a_full_disk_a_session_is_reported_and_the_runs_that_fit_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["repeat", "-n", "100", "--warm-up", "0", "--format", "json"];
    let more = ["--output", "runs.json", "--", "true"];
    let Some(output) = on_a_full_disk(directory.path(), 20, &[&arguments[..], &more].concat())
    else {
        return;
    };
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("runs.json: cannot write"), "{error}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["values"].as_array().unwrap().len(), 100);
    let kept = read(
        directory.path(),
        &["repeat", "--from", "runs.json", "--format", "json"],
    );
    let kept = kept["values"].as_array().unwrap().len();
    assert!((1..100).contains(&kept), "{kept}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn two_sessions_do_not_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    // The command ends with the test's directory, however the test ends.
    std::fs::write(directory.path().join("going"), "").unwrap();
    let script = "echo x >> count; while [ -e going ]; do sleep 0.1; done";
    let arguments = ["repeat", "--output", "runs.json", "--", "sh", "-c", script];
    let mut child = start(directory.path(), &arguments);
    let count = directory.path().join("count");
    wait_until(&mut child, || lines(&count) >= 1);
    // One that would soon be done.
    let another = ["repeat", "-n", "1", "--output", "runs.json", "--", "true"];
    let error = refuse(directory.path(), &another);
    assert!(error.contains("runs.json: exists already"), "{error}");
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    // No run ended, so there is nothing to keep.
    assert!(!directory.path().join("runs.json").exists());
}

#[test]
fn a_killed_lab_keeps_its_passes_and_an_empty_file_blocks_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lab.json");
    std::fs::write(&path, "").unwrap();
    let mut child = start(directory.path(), &["lab", "--output", "lab.json"]);
    wait_until(&mut child, || {
        std::fs::metadata(&path).is_ok_and(|file| file.len() > 0)
    });
    let error = refuse(directory.path(), &["lab", "--output", "lab.json"]);
    assert!(error.contains("lab.json: exists already"), "{error}");
    signal(&child, "KILL");
    child.wait().unwrap();
    let result = read(directory.path(), &["lab", "lab.json", "--format", "json"]);
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("The run ended early"), "{warnings}");
}

#[test]
fn on_a_full_disk_the_lab_is_explained_before_the_error() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["lab", "--only", "chains", "--format", "json", "--output"];
    let arguments = [&arguments[..], &["lab.json"]].concat();
    let Some(output) = on_a_full_disk(directory.path(), 1, &arguments) else {
        return;
    };
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("lab.json: cannot write"), "{error}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["pairs"][0]["name"], "chains");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_written_into_a_recording_or_over_an_input() {
    let directory = tempfile::tempdir().unwrap();
    for output in ["it.bandscope", "it.dat"] {
        let arguments = ["synth", "quiet", "--duration", "200ms", "--output", output];
        succeed(directory.path(), &arguments);
    }
    let before = report(directory.path(), &["it.bandscope"]);
    for (arguments, expected) in [
        (
            &[
                "report",
                "it.bandscope",
                "--output",
                "it.bandscope/recording.json",
            ][..],
            "lies in the recording",
        ),
        (
            &[
                "report",
                "it.bandscope",
                "--output",
                "it.bandscope/quanta/report.txt",
            ],
            "lies in the recording",
        ),
        (
            &[
                "export",
                "it.bandscope",
                "--format",
                "csv",
                "--output",
                "it.bandscope/it.csv",
            ],
            "lies in the recording",
        ),
        (
            &[
                "record",
                "--machine",
                "simulated:quiet",
                "--output",
                "it.bandscope/other",
            ],
            "lies in the recording",
        ),
        (
            &["lab", "--output", "it.bandscope/lab.json"],
            "lies in the recording",
        ),
        (
            &["repeat", "--output", "it.bandscope/runs.json", "--", "true"],
            "lies in the recording",
        ),
        (
            &["report", "it.dat", "--output", "it.dat"],
            "is read as well",
        ),
        (
            &[
                "compare",
                "it.bandscope",
                "it.bandscope",
                "--output",
                "./it.bandscope/recording.json",
            ],
            "lies in the recording",
        ),
    ] {
        let error = refuse(directory.path(), arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(report(directory.path(), &["it.bandscope"]), before);
    // Beside it there is room.
    succeed(
        directory.path(),
        &["report", "it.bandscope", "--output", "it.txt"],
    );
}
