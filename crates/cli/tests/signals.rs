//! SIGINT, SIGTERM and SIGKILL at any moment leave a readable recording of what was measured before.

mod common;
use common::{assert_ledger_closes, bandscope, report, run};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A recording of this machine that would take a minute.
fn start(directory: &Path) -> Child {
    bandscope(directory)
        .args(["record", "--duration", "60s", "--output", "it.bandscope"])
        .args(["--rate", "1000", "--start-delay", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Waits until the recording has a finished part, so that there is something to read back.
fn wait_for_part(directory: &Path, child: &mut Child) {
    for _ in 0..600 {
        if finished_parts(directory) > 0 {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no part after a minute");
}

fn finished_parts(directory: &Path) -> usize {
    fn walk(directory: &Path) -> usize {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return 0;
        };
        entries
            .flatten()
            .map(|entry| {
                let name = entry.file_name();
                let part = name.to_string_lossy().starts_with("part-");
                usize::from(part) + walk(&entry.path())
            })
            .sum()
    }
    walk(&directory.join("it.bandscope/quanta"))
}

fn status_after(name: &str, directory: &Path) -> ExitStatus {
    let mut child = start(directory);
    wait_for_part(directory, &mut child);
    signal(&child, name);
    child.wait().unwrap()
}

fn kinds_of_warnings(report: &serde_json::Value) -> Vec<&str> {
    let warnings = report["warnings"].as_array().unwrap();
    warnings
        .iter()
        .map(|warning| warning["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn an_interrupt_ends_the_run_in_good_order() {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(status_after(name, directory.path()).code(), Some(status));
        let report = report(directory.path(), &["it.bandscope"]);
        assert_ledger_closes(&report["series"][0]);
        assert_eq!(report["recording"]["state"], "interrupted");
        assert!(
            kinds_of_warnings(&report).contains(&"partial-recording"),
            "{}",
            report["warnings"]
        );
    }
}

#[test]
fn a_killed_run_keeps_every_finished_part() {
    let directory = tempfile::tempdir().unwrap();
    status_after("KILL", directory.path());
    let report = report(directory.path(), &["it.bandscope"]);
    assert_ledger_closes(&report["series"][0]);
    assert!(report["series"][0]["quanta"].as_u64().unwrap() >= 900);
    assert_eq!(report["recording"]["state"], "recording");
    assert!(
        kinds_of_warnings(&report).contains(&"partial-recording"),
        "{}",
        report["warnings"]
    );
}

/// Moments of a kill: at the very start, while the machine is looked at, while it is measured.
#[test]
fn a_run_killed_at_any_moment_is_readable_or_says_why_not() {
    let mut milliseconds = 3;
    while milliseconds < 4000 {
        let directory = tempfile::tempdir().unwrap();
        let mut child = start(directory.path());
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(&child, "KILL");
        child.wait().unwrap();
        let parts = finished_parts(directory.path());
        let output = run(directory.path(), &["report", "it.bandscope"]);
        let error = String::from_utf8(output.stderr).unwrap();
        // Before the first part there may be a recording that is empty so far, or none at all.
        let readable = output.status.success();
        assert!(readable || parts == 0, "after {milliseconds} ms: {error}");
        if !readable {
            assert_eq!(
                output.status.code(),
                Some(2),
                "after {milliseconds} ms: {error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        milliseconds = milliseconds * 2 + 1;
    }
}
