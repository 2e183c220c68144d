//! Histograms of fixed work, by the whole program: what was published, and bad input.

use crate::common::{self, refuse, succeed};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn published(name: &str) -> String {
    let cases: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    cases.join(name).display().to_string()
}

fn explained(arguments: &[&str]) -> Value {
    let all = [&["histogram", "--format", "json"], arguments].concat();
    let text = succeed(&std::env::temp_dir(), &all);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], "bandscope.histogram/1");
    report
}

#[test]
fn the_published_quiet_loop_pays_for_each_tick_alike() {
    let report = explained(&[&published("fwq-quiet.hist")]);
    let summary = &report["histograms"][0]["summary"];
    assert_eq!(summary["slow_samples"], 15_352);
    assert_eq!(summary["slow_from_ns"], 8000.0);
    assert_eq!(summary["ticks"], 15_360.0);
    assert_eq!(summary["spread"], "compact");
    assert_eq!(report["findings"].as_array().unwrap().len(), 0);
}

#[test]
fn the_published_smear_is_one_as_far_as_it_was_published() {
    let report = explained(&[&published("fwq-smeared.hist")]);
    let summary = &report["histograms"][0]["summary"];
    assert_eq!(summary["slow_samples"], 12_003);
    assert_eq!(summary["ticks_unaccounted"], 3_357.0);
    assert_eq!(summary["smear"]["from_ns"], 8000.0);
    assert_eq!(summary["smear"]["to_ns"], 30_000.0);
    // What the absent rows could move is not said.
    assert_eq!(summary["percentiles"].as_array().unwrap().len(), 3);
    let finding = &report["findings"][0];
    assert_eq!(finding["kind"], "interrupted-loop");
    assert_eq!(finding["certainty"], "possible");
}

#[test]
fn the_published_ends_have_a_slope_of_about_3_and_13_us_besides() {
    for files in [
        &["fwq-smear-ends.tsv"][..],
        &["fwq-smeared.hist", "fwq-smear-ends.tsv"],
    ] {
        let files: Vec<String> = files.iter().map(|name| published(name)).collect();
        let report = explained(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1);
        let evidence = &findings[0]["evidence"];
        assert_eq!(findings[0]["certainty"], "likely");
        assert!((evidence["slope"].as_f64().unwrap() - 3.17).abs() < 0.005);
        assert!((evidence["intercept_us"].as_f64().unwrap() - 13.5).abs() < 0.1);
        match files.len() {
            1 => assert!(evidence["ticks"].is_null()),
            _ => assert_eq!(evidence["slow_samples"], 12_003.0),
        }
    }
}

#[test]
fn what_is_printed_as_json_reads_back() {
    let directory = tempfile::tempdir().unwrap();
    let first = explained(&[&published("fwq-quiet.hist")]);
    let path = directory.path().join("again.json");
    std::fs::write(&path, serde_json::to_vec(&first).unwrap()).unwrap();
    let again = explained(&[path.to_str().unwrap()]);
    assert_eq!(
        again["histograms"][0]["summary"],
        first["histograms"][0]["summary"]
    );
}

#[test]
fn files_that_are_no_histograms() {
    let directory = tempfile::tempdir().unwrap();
    let bad: [(&str, &[u8], &str); 6] = [
        (
            "word.hist",
            b"5 1\n6 many\n",
            "word.hist:2: found \"6 many\", expected a whole number",
        ),
        (
            "back.hist",
            b"5 1\n4 1\n",
            "back.hist:2: found \"4 1\", expected a longer",
        ),
        (
            "empty.hist",
            b"# nothing\n",
            "empty.hist: found less than two rows",
        ),
        ("one.tsv", b"work_us smear_end_us\n5\n", "one.tsv:2"),
        ("cut.json", b"{\"schema\":", "cut.json:1"),
        ("escape.hist", b"\x1b[31m 1\n", "escape.hist:1"),
    ];
    for (name, content, expected) in bad {
        std::fs::write(directory.path().join(name), content).unwrap();
        let error = refuse(directory.path(), &["histogram", name]);
        assert_eq!(error.lines().count(), 1, "{name}: {error}");
        assert!(
            error.contains(expected) && !error.contains('\x1b'),
            "{error}"
        );
    }
    assert!(refuse(directory.path(), &["histogram", "absent"]).contains("absent"));
}

#[test]
fn this_machine_is_measured_kept_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let text = succeed(
        directory.path(),
        &[
            "histogram",
            "--work",
            "5us,50us",
            "--samples",
            "200",
            "--output",
            "it.json",
            "--format",
            "json",
        ],
    );
    let printed: Value = serde_json::from_str(&text).unwrap();
    let histograms = printed["histograms"].as_array().unwrap();
    assert_eq!(histograms.len(), 2);
    for histogram in histograms {
        assert_eq!(histogram["samples"], 200);
        assert!(histogram["turns"].as_u64().unwrap() > 0);
    }
    assert_eq!(printed["state"], "complete");
    let path = directory.path().join("it.json");
    let again = explained(&[path.to_str().unwrap()]);
    assert_eq!(again["histograms"][1]["summary"], histograms[1]["summary"]);
    let exists = refuse(
        directory.path(),
        &["histogram", "--samples", "9", "--output", "it.json"],
    );
    assert!(exists.contains("it.json: exists already"), "{exists}");
    let nowhere = refuse(
        directory.path(),
        &["histogram", "--samples", "9", "--output", "none/it.json"],
    );
    assert!(nowhere.contains("none/it.json: cannot create"), "{nowhere}");
    let text = succeed(directory.path(), &["histogram", "it.json"]);
    assert!(
        text.contains("Durations") && text.contains("How it was measured"),
        "{text}"
    );
}

#[test]
fn arguments_that_cannot_be() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--work", "0.5us"][..], "expected 1 µs to 1 s"),
        (&["--work", "soon"], "expected a duration"),
        (&["--kernel", "nonsense"], "nonsense"),
        (&["--cpus", "60000"], "60000"),
        (&["--samples", "0"], "found \"0\""),
        (&["--samples", "9", "it.hist"], "cannot be used with"),
        (
            &["--samples", "9", "--duration", "1s"],
            "cannot be used with",
        ),
    ] {
        let error = refuse(directory.path(), &[&["histogram"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn a_signal_ends_it_and_keeps_what_was_measured() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = common::bandscope(directory.path())
        .args(["histogram", "--duration", "600s", "--output", "it.json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // SIGINT.
    common::wait_until_caught(&mut child, 15);
    common::signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("interrupted by a signal"), "{text}");
    assert!(directory.path().join("it.json").exists());
}
