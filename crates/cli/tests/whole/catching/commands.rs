//! What `--on-catch` runs when something was caught.

use super::SCENE;
use crate::common::{bandscope, report, run, signal, wait_until};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;

/// Records with a command that runs when something is caught; what was said beside it, and the warnings of the report.
fn with_command(directory: &Path, condition: &str, command: &str) -> (String, String) {
    let caught = ["--catch", condition, "--on-catch", command];
    let rest = ["--duration", "2s", "--quiet", "-o", "it.bandscope"];
    let output = run(
        directory,
        &[&["record", "--machine", SCENE], &caught[..], &rest].concat(),
    );
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    let warnings = report(directory, &["it.bandscope"])["warnings"].to_string();
    std::fs::remove_dir_all(directory.join("it.bandscope")).unwrap();
    (error, warnings)
}

/// A condition whose moments are larger than a pipe.
fn of_a_large_moment() -> String {
    format!("gap{}> 100 us", " ".repeat(100_000))
}

#[test]
fn a_command_reads_what_was_caught_before_the_recording_ends() {
    let directory = tempfile::tempdir().unwrap();
    let condition = of_a_large_moment();
    let (error, warnings) = with_command(directory.path(), &condition, "sleep 1; cat > told.json");
    let told = std::fs::read(directory.path().join("told.json")).unwrap();
    let moment: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(moment["condition"], condition);
    assert!(moment["ns"].as_f64().unwrap() > 1e5);
    assert!(!error.contains("failed"), "{error}");
    assert!(!warnings.contains("command-failed"), "{warnings}");
}

#[test]
fn a_command_that_fails_is_told_at_the_end_and_in_the_report() {
    let directory = tempfile::tempdir().unwrap();
    for (command, why) in [
        ("echo no disk >&2; exit 3", "exit status 3"),
        ("no-such-command", "exit status 127"),
        ("kill -KILL $$", "ended by signal 9"),
    ] {
        let (error, warnings) = with_command(directory.path(), "gap > 100 us", command);
        let said = format!("the command of --on-catch failed: {why}");
        assert!(error.contains(&said), "{command}: {error}");
        assert_eq!(
            error.contains("no disk\n"),
            command.contains("no disk"),
            "{error}"
        );
        let said = format!("command-failed: {said}");
        assert!(warnings.contains(&said), "{command}: {warnings}");
    }
}

#[test]
fn what_a_command_leaves_behind_goes_on_and_may_say_something() {
    let directory = tempfile::tempdir().unwrap();
    let command = "(sleep 1; echo late; echo late >&2; touch done) &";
    let (error, _) = with_command(directory.path(), "gap > 100 us", command);
    assert!(!error.contains("failed"), "{error}");
    for _ in 0..6000 {
        if directory.path().join("done").exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it was ended");
}

#[test]
fn the_recording_is_whole_before_the_command_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    // It outlives who kills the program, and holds its standard error.
    let waits = "echo $$ > number; exec sleep 60 2>/dev/null";
    let begin = |name: &str| {
        let mut command = bandscope(directory.path());
        command.args(["record", "--machine", SCENE, "--duration", "2s", "-o", name]);
        command.args(["--catch", "gap > 100 us", "--on-catch", waits]);
        command.stderr(Stdio::piped()).stdout(Stdio::null());
        command.spawn().unwrap()
    };
    let state = |name: &str| {
        let manifest = std::fs::read(directory.path().join(name).join("recording.json"));
        let manifest: Option<Value> = serde_json::from_slice(&manifest.ok()?).ok();
        Some(manifest?["state"].as_str()?.to_owned())
    };
    for (name, sent, status) in [("killed", "KILL", None), ("ended", "INT", Some(130))] {
        let mut child = begin(name);
        wait_until(&mut child, || state(name).as_deref() == Some("complete"));
        signal(&child, sent);
        let output = child.wait_with_output().unwrap();
        let number = std::fs::read_to_string(directory.path().join("number")).unwrap();
        // One that was ended is no more.
        let _ = std::process::Command::new("kill")
            .arg(number.trim())
            .output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), status, "{said}");
        assert!(!said.contains("failed"), "{said}");
        let report = report(directory.path(), &[name]);
        assert_eq!(report["recording"]["state"], "complete");
        assert_eq!(report["warnings"], serde_json::json!([]), "{name}");
    }
}

#[test]
fn a_command_that_neither_reads_nor_ends_is_ended_with_its_group() {
    let directory = tempfile::tempdir().unwrap();
    let mark = format!("{}", 700_000 + std::process::id() % 100_000);
    let command = format!("trap '' TERM; sleep {mark} & sleep {mark}");
    let (error, warnings) = with_command(directory.path(), &of_a_large_moment(), &command);
    assert!(error.contains("waits up to 10 s"), "{error}");
    for told in [error, warnings] {
        assert!(told.contains("still ran when the recording"), "{told}");
    }
    let is_ours = |entry: &std::fs::DirEntry| {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        command == format!("sleep\0{mark}\0").as_bytes()
    };
    let running = || (std::fs::read_dir("/proc").unwrap().flatten()).any(|one| is_ours(&one));
    // Who was killed takes a while to go.
    for _ in 0..6000 {
        if !running() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the command outlives the recording");
}
