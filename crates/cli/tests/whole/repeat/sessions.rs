//! Whatever a command does is survived and told; its runs are kept, compared, and held to conditions.

use crate::common::{self, bandscope, refuse, run, succeed};
use serde_json::Value;
use std::path::Path;

#[test]
fn conditions_end_it_with_status_1_and_one_line() {
    let directory = tempfile::tempdir().unwrap();
    for (condition, status) in [("modes>0", 1), ("modes>1", 0), ("median<=100", 0)] {
        let output = run(
            directory.path(),
            &[
                "repeat",
                "-n",
                "3",
                "--metric",
                "([0-9]+)",
                "--fail-if",
                condition,
                "--",
                "echo",
                "170",
            ],
        );
        assert_eq!(output.status.code(), Some(status), "{condition}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error.lines().count(), status as usize, "{error}");
    }
    let error = refuse(
        directory.path(),
        &["repeat", "--fail-if", "mood>1", "--", "true"],
    );
    assert!(error.contains("slow-share"), "{error}");
}

#[test]
fn what_a_command_does_wrong_is_told_and_its_words_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (
            &["--", "/no/such/command"][..],
            "\"/no/such/command\": cannot run",
        ),
        (
            &["--", "sh", "-c", "echo because >&2; exit 7"],
            "ended with exit status 7",
        ),
        (&["--", "sh", "-c", "kill -9 $$"], "ended by signal 9"),
        (&["--timeout", "200ms", "--", "sleep", "600"], "--timeout"),
        (
            &["--metric", "speed: ([0-9]+)", "--", "echo", "slow"],
            "| slow",
        ),
        (
            &["--ignore-failure", "-n", "2", "--", "false"],
            "runs failed",
        ),
        (&["--vary", "astrology", "--", "true"], "huge-pages"),
        (&["--metric", "(", "--", "true"], "regular expression"),
        (&["-n", "0", "--", "true"], "1..=10000"),
        (&[], "COMMAND"),
        (&["--from", "missing.json"], "missing.json: cannot read"),
    ] {
        let output = run(directory.path(), &[&["repeat"], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(
            error.contains(expected) && !error.contains("panicked"),
            "{arguments:?}: {error}"
        );
    }
    let output = run(
        directory.path(),
        &[
            "repeat",
            "--",
            "sh",
            "-c",
            "printf 'because\\033[2J\\n' >&2; exit 7",
        ],
    );
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("| because\\x1b[2J"), "{error}");
}

#[test]
fn failures_that_are_ignored_are_counted_and_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let script = "echo x >> count; test $(wc -l < count) -ne 4 && echo 5";
    let text = succeed(
        directory.path(),
        &[
            "repeat",
            "-n",
            "6",
            "--warm-up",
            "0",
            "--metric",
            "[0-9]+",
            "--ignore-failure",
            "--format",
            "json",
            "--",
            "sh",
            "-c",
            script,
        ],
    );
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["runs"]["failed"], 1, "{result}");
}

#[test]
fn the_run_to_warm_up_may_fail_and_runs_are_reported_before_a_late_error() {
    let directory = tempfile::tempdir().unwrap();
    let first_fails = ["sh", "-c", "test -e begun || { touch begun; exit 1; }"];
    let options = ["repeat", "-n", "2", "--ignore-failure", "-f", "json", "--"];
    let text = succeed(directory.path(), &[&options[..], &first_fails].concat());
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["runs"]["plain"], 2, "{result}");
    // A command that its first run takes away.
    std::os::unix::fs::symlink("/bin/sh", directory.path().join("it")).unwrap();
    let options = ["repeat", "-n", "2", "--warm-up", "0", "--"];
    let removed = [&options[..], &["./it", "-c", "rm it"]].concat();
    let output = run(directory.path(), &removed);
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("cannot run"), "{error}");
    assert!(text.contains("of 1 run:"), "{text}");
}

#[test]
fn megabytes_and_daemons_do_not_hold_it_up() {
    let directory = tempfile::tempdir().unwrap();
    // The daemon ends with the test's directory, however the test ends.
    std::fs::write(directory.path().join("going"), "").unwrap();
    let script = "(while [ -e going ]; do sleep 0.1; done) & echo last: 7; head -c 5000000 /dev/zero; echo; echo last: 42";
    let text = succeed(
        directory.path(),
        &[
            "repeat",
            "-n",
            "2",
            "--metric",
            "last: ([0-9]+)",
            "--format",
            "json",
            "--",
            "sh",
            "-c",
            script,
        ],
    );
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["values"], serde_json::json!([42.0, 42.0]));
}

#[test]
fn a_signal_ends_it_and_what_was_measured_is_reported() {
    for (name, status) in common::that_end([("INT", 130), ("HUP", 129)]) {
        a_signal_ends_it(name, status);
    }
}

fn a_signal_ends_it(name: &str, status: i32) {
    let directory = tempfile::tempdir().unwrap();
    let child = bandscope(directory.path())
        .args([
            "repeat",
            "-n",
            "10000",
            "--metric",
            "[0-9]+",
            "--format",
            "json",
            "--output",
            "part.json",
            "--",
        ])
        .args(["sh", "-c", "echo x >> count; echo 5"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_runs(directory.path(), 5);
    common::signal(&child, name);
    let output = common::checked(child.wait_with_output().unwrap());
    assert_eq!(
        output.status.code(),
        Some(status),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["interrupted"], true);
    assert!(result["values"].as_array().unwrap().len() >= 3, "{result}");
    assert!(directory.path().join("part.json").exists());
}

#[test]
fn a_signal_in_the_first_run_leaves_nothing_measured() {
    let directory = tempfile::tempdir().unwrap();
    let child = bandscope(directory.path())
        .args(["repeat", "--", "sh", "-c", "echo x >> count; sleep 7777"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_runs(directory.path(), 1);
    common::signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(143), "{error}");
    assert!(error.contains("no run had ended"), "{error}");
}

fn wait_for_runs(directory: &Path, number: usize) {
    for _ in 0..6000 {
        let count = std::fs::read_to_string(directory.join("count")).unwrap_or_default();
        if count.lines().count() >= number {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("less than {number} runs after a minute");
}

/// A session of 40 runs of which every `every`th is slow by what it prints, kept in `file`.
fn session(directory: &Path, file: &str, every: u32) {
    let script = format!(
        "echo x >> {file}.count; n=$(wc -l < {file}.count); \
         if [ $((n % {every})) = 0 ]; then printf '170.%02d' $n; else printf '100.%02d' $n; fi"
    );
    let words = [
        "repeat",
        "-n",
        "40",
        "--warm-up",
        "0",
        "--metric",
        "[0-9.]+",
        "--output",
        file,
        "--",
        "sh",
        "-c",
    ];
    succeed(directory, &[&words[..], &[&script]].concat());
}

#[test]
fn two_sessions_are_compared_by_their_share_of_slow_runs() {
    let directory = tempfile::tempdir().unwrap();
    session(directory.path(), "main.json", 20);
    session(directory.path(), "branch.json", 2);
    let compare = |more: &[&str]| {
        let arguments = [&["compare", "main.json", "branch.json"], more].concat();
        run(directory.path(), &arguments)
    };
    let output = compare(&["--fail-if", "slow-share>+10pp", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        result["times"]["shares"]["runs"],
        serde_json::json!([[2, 40], [20, 40]])
    );
    assert_eq!(result["times"]["name"], "[0-9.]+");
    let output = compare(&[]);
    let text = String::from_utf8(output.stdout).unwrap().replace('\n', " ");
    assert!(
        text.contains("2 of 40 of A, 20 of 40 of B; they differ"),
        "{text}"
    );
}

#[test]
fn a_session_as_markdown_and_for_ci() {
    let directory = tempfile::tempdir().unwrap();
    session(directory.path(), "runs.json", 4);
    let printed = |format: &str| {
        let words = ["repeat", "--from", "runs.json", "--fail-if", "modes>1"];
        let output = run(
            directory.path(),
            &[&words[..], &["--fail-if", "modes>2", "--format", format]].concat(),
        );
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).unwrap()
    };
    let markdown = printed("markdown");
    assert!(markdown.contains("| 25.0 % |"), "{markdown}");
    assert!(
        markdown.contains("- **failed**: modes&gt;1: modes is 2\n- passed: modes&gt;2: modes is 2"),
        "{markdown}"
    );
    let junit = printed("junit");
    assert!(junit.contains("tests=\"2\" failures=\"1\""), "{junit}");
}

#[test]
fn outputs_are_kept_and_the_cpu_is_watched() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "repeat",
        "-n",
        "3",
        "--noise",
        "2ms",
        "--outputs",
        "said",
        "--output",
        "runs.json",
        "--",
        "sh",
        "-c",
        "echo out; head -c 3000000 /dev/zero >&2",
    ];
    succeed(directory.path(), &arguments);
    let runs = std::fs::read(directory.path().join("runs.json")).unwrap();
    let runs: Value = serde_json::from_slice(&runs).unwrap();
    for run in runs["runs"].as_array().unwrap() {
        let share = run["counts"]["noise:share"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share), "{run}");
        assert!(run["counts"]["noise:gaps/s"].as_f64().unwrap() >= 0.0);
    }
    // The first is to warm up.
    for number in 1..=4 {
        let said = |ending: &str| {
            let name = format!("said/{number:05}.{ending}");
            std::fs::read(directory.path().join(name)).unwrap()
        };
        assert_eq!(said("out"), b"out\n");
        assert_eq!(said("err").len(), 3_000_000);
    }
    let error = refuse(
        directory.path(),
        &["repeat", "--outputs", "said", "--", "true"],
    );
    assert!(error.contains("said: cannot create"), "{error}");
}
