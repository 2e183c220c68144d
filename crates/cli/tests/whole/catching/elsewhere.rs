//! The flight recorder of `check` and of `live`.

use super::{SCENE, long_gaps};
use crate::common::{bandscope, refuse, report, run, signal, succeed, wait_until};
use serde_json::Value;
use std::process::Stdio;

#[test]
fn a_check_judges_all_and_keeps_what_was_caught() {
    let directory = tempfile::tempdir().unwrap();
    let of_scene = ["--machine", SCENE, "--duration", "12s"];
    let check = |more: &[&str]| {
        let limit = ["--fail-if", "longest gap > 150 us", "--format", "json"];
        let output = run(
            directory.path(),
            &[&["check"], &of_scene[..], &limit, more].concat(),
        );
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let without = check(&[]);
    let whole = check(&["--keep", "whole"]);
    let caught = check(&["--catch", "gap > 100 us", "--keep", "caught"]);
    assert_eq!(whole["cpus"], caught["cpus"]);
    assert_eq!(whole["cpus"], without["cpus"]);
    let gaps = long_gaps(directory.path(), "whole/run-1.bandscope");
    assert!(gaps.len() > 10, "{gaps:?}");
    assert_eq!(gaps, long_gaps(directory.path(), "caught/run-1.bandscope"));
    let report = report(directory.path(), &["caught/run-1.bandscope"]);
    assert_eq!(report["moments"].as_array().unwrap().len(), gaps.len());
    let number = gaps.len();
    let said =
        format!("{number} gaps met \"gap > 100 us\", and what lies around {number} was kept.");
    assert_eq!(caught["notes"], serde_json::json!([said]));
    assert_eq!(
        caught["next_step"],
        "bandscope report caught/run-1.bandscope"
    );
    // One that a condition ends fails, whatever came until then; its moment is the first.
    let ends = ["--stop-if", "gap > 100 us", "--fail-if", "gaps > 1000 kHz"];
    let catches = ["--catch", "gap > 100 us", "--on-catch", "cat > told"];
    let stopped = check(&[&ends[..], &catches].concat());
    let sentence = stopped["cpus"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("ended by \"gap > 100 us\""), "{sentence}");
    let note = stopped["notes"][0].as_str().unwrap();
    assert!(note.ends_with(" met \"gap > 100 us\"."), "{note}");
    // Without anything to catch all until then is kept.
    check(&["--stop-if", "gap > 100 us", "--keep", "until"]);
    let until = long_gaps(directory.path(), "until/run-1.bandscope");
    assert_eq!(until[0], gaps[0]);
    assert!(until.len() < gaps.len(), "{until:?}");
    let told = std::fs::read(directory.path().join("told")).unwrap();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(
        told["at_s"],
        report["moments"]
            .as_array()
            .unwrap()
            .iter()
            .min_by(|a, b| a["at_s"]
                .as_f64()
                .unwrap()
                .total_cmp(&b["at_s"].as_f64().unwrap()))
            .unwrap()["at_s"]
    );
    let nowhere = refuse(directory.path(), &["check", "--catch", "gap > 100 us"]);
    assert!(nowhere.contains("expected --keep"), "{nowhere}");
    let other = ["--catch", "gap > 1 us on cpu 7", "--keep", "other"];
    let error = refuse(
        directory.path(),
        &[&["check"], &of_scene[..], &other].concat(),
    );
    assert!(error.contains("found CPU 7"), "{error}");
    assert!(!directory.path().join("other").exists());
}

#[test]
fn a_live_view_records_what_was_caught() {
    let directory = tempfile::tempdir().unwrap();
    let of_scene = ["--machine", SCENE, "--duration", "3s", "-o"];
    succeed(
        directory.path(),
        &[&["record"], &of_scene[..], &["whole"]].concat(),
    );
    let caught = ["caught", "--catch", "gap > 100 us"];
    let output = run(
        directory.path(),
        &[&["live"], &of_scene[..], &caught].concat(),
    );
    assert!(output.status.success(), "{output:?}");
    let gaps = long_gaps(directory.path(), "whole");
    assert!(!gaps.is_empty());
    assert_eq!(gaps, long_gaps(directory.path(), "caught"));
    let said = String::from_utf8(output.stderr).unwrap();
    let number = gaps.len();
    assert!(
        said.contains(&format!("{number} gaps met \"gap > 100 us\"")),
        "{said}"
    );
    let nowhere = refuse(directory.path(), &["live", "--catch", "gap > 100 us"]);
    assert!(nowhere.contains("expected --output"), "{nowhere}");
}

/// Whether a process is there, and no zombie.
fn runs(number: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z")
}

#[test]
fn a_signal_ends_the_command_that_a_live_view_waits_for() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = bandscope(directory.path());
    command.args(["live", "--machine", SCENE, "--duration", "2s", "-o", "it"]);
    command.args(["--catch", "gap > 100 us", "--on-catch"]);
    command.arg("echo $$ > number; exec sleep 60 2>/dev/null");
    let mut child = (command.stderr(Stdio::null()).stdout(Stdio::null()))
        .spawn()
        .unwrap();
    let manifest = directory.path().join("it/recording.json");
    let is_whole =
        || std::fs::read_to_string(&manifest).is_ok_and(|it| it.contains("\"complete\""));
    wait_until(&mut child, is_whole);
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let number = std::fs::read_to_string(directory.path().join("number")).unwrap();
    for _ in 0..6000 {
        if !runs(number.trim()) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the command outlives the view");
}
