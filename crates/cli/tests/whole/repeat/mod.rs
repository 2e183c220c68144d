//! `bandscope repeat`: programs with a known reason for two speeds have it named, and whatever a command does is survived and told.
//!
//! Values are printed by the programs, so nothing here depends on how long anything takes. What `hidden_cause` draws follows from the
//! number of the run, and its environment is next to empty: by chance alone one session in a hundred has a second
//! mode, and another in a hundred an answer.

mod sessions;

use crate::common::{self, bandscope, refuse, succeed};
use serde_json::Value;
use tempfile::TempDir;

/// `examples/hidden_cause.rs`, which `cargo test` builds beside the tests; under emulation with its emulator before it. `None` where only
/// this test was built.
fn hidden_cause() -> Option<Vec<String>> {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent()?.parent()?.join("examples/hidden_cause");
    if !program.exists() {
        println!(
            "SKIPPED: repeat's answers: {} is not built (cargo build -p bandscope --examples)",
            program.display()
        );
        return None;
    }
    let runner = std::env::var("BANDSCOPE_TEST_RUNNER").unwrap_or_default();
    let words = runner.split_whitespace().map(str::to_owned);
    Some(words.chain([program.to_str()?.to_owned()]).collect())
}

const METRIC: [&str; 3] = ["repeat", "--metric", r"^time: ([0-9.]+)$"];

/// The result for a cause, as JSON.
fn repeat(cause: &str, options: &[&str]) -> Option<Value> {
    let directory = counting();
    let program = hidden_cause()?;
    let output = bandscope(directory.path())
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .args(METRIC)
        .args(["--format", "json"])
        .args(options)
        .arg("--")
        .args(program)
        .arg(cause)
        .output()
        .unwrap();
    let output = common::checked(output);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// A directory in which `hidden_cause` counts its runs.
fn counting() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("hidden_cause.count"), "").unwrap();
    directory
}

fn named(result: &Value) -> Option<&str> {
    result["findings"][0]["evidence"]["factor"].as_str()
}

/// Why a factor cannot be varied here.
fn missing(result: &Value, name: &str) -> Option<String> {
    let factors = result["factors"].as_array().unwrap();
    let factor = factors
        .iter()
        .find(|factor| factor["name"] == name)
        .unwrap();
    factor["missing"].as_str().map(str::to_owned)
}

#[test]
fn a_bit_of_an_address_is_found_to_be_the_layout() {
    let Some(result) = repeat(
        "layout",
        &["-n", "40", "--vary", "layout,priority", "--seed", "1"],
    ) else {
        return;
    };
    if let Some(why) = missing(&result, "layout") {
        println!("SKIPPED: the layout as a cause: {why}");
        return;
    }
    if std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
        println!("SKIPPED: the layout as a cause: an emulator lays memory out by itself");
        return;
    }
    assert_eq!(result["schema"], "bandscope.repeat/1");
    // The kernel draws each layout, so by chance the fast runs, or the slow ones, fall apart into two modes in some sessions: what lies between the paces tells.
    let modes = result["modes"].as_array().unwrap();
    let values: Vec<f64> = modes
        .iter()
        .map(|mode| mode["value"].as_f64().unwrap())
        .collect();
    let [fast, slow] = [100.0, 150.0].map(|pace| {
        let near = values
            .iter()
            .filter(|value| (*value / pace - 1.0).abs() < 0.02);
        near.count()
    });
    assert!(fast > 0 && slow > 0, "{result}");
    assert_eq!(fast + slow, values.len(), "{result}");
    assert_eq!(named(&result), Some("layout"), "{}", result["verdict"]);
    assert_eq!(result["findings"][0]["certainty"], "certain");
    assert!(
        result["answer"]
            .as_str()
            .unwrap()
            .contains("with layout fixed"),
        "{}",
        result["answer"]
    );
}

#[test]
fn sizes_are_found_although_nothing_shows_without_them() {
    for name in ["environment", "arguments"] {
        if name == "arguments" && std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
            println!(
                "SKIPPED: the arguments as a cause: an emulator gives the program the name that it was given itself"
            );
            continue;
        }
        let Some(result) = repeat(
            name,
            &["-n", "20", "--vary", "environment,arguments", "--seed", "2"],
        ) else {
            return;
        };
        assert_eq!(named(&result), Some(name), "{}", result["verdict"]);
        assert_eq!(result["modes"].as_array().unwrap().len(), 1);
        assert_eq!(result["modes_at_levels"].as_array().unwrap().len(), 2);
        let next = result["findings"][0]["next_step"].as_str().unwrap();
        let set = next
            .strip_prefix("bandscope lab --set ")
            .unwrap_or_default();
        assert!(
            set.split(' ').next().unwrap().contains(&format!("{name}="))
                && next.contains("of a fast one: --set "),
            "{next}"
        );
    }
}

#[test]
fn a_coin_inside_the_program_is_decided_by_none() {
    let Some(result) = repeat("coin", &["-n", "40", "--vary", "all", "--seed", "3"]) else {
        return;
    };
    assert_eq!(named(&result), None, "{}", result["verdict"]);
    assert!(
        result["answer"]
            .as_str()
            .unwrap()
            .starts_with("None of these"),
        "{}",
        result["answer"]
    );
    assert!(result["findings"][0]["evidence"]["factor"].is_null());
}

#[test]
fn a_file_says_the_same_again_and_text_fits_a_terminal() {
    let directory = counting();
    let Some(program) = hidden_cause() else {
        return;
    };
    let mut arguments = [&METRIC[..], &["-n", "25", "--output", "runs.json", "--"]].concat();
    arguments.extend(program.iter().map(String::as_str));
    arguments.push("coin");
    let measured = succeed(directory.path(), &arguments);
    let again = succeed(directory.path(), &["repeat", "--from", "runs.json"]);
    assert_eq!(measured, again);
    assert!(
        measured.lines().all(|line| line.chars().count() <= 80),
        "{measured}"
    );
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(directory.path().join("runs.json")).unwrap())
            .unwrap();
    assert_eq!(kept["schema"], "bandscope.runs/1");
    // One to warm up.
    assert_eq!(kept["runs"].as_array().unwrap().len(), 26);
    // It exists by now, which is said before anything is measured.
    let error = refuse(
        directory.path(),
        &["repeat", "--output", "runs.json", "--", "sleep", "600"],
    );
    assert!(error.contains("exists already"), "{error}");
    let error = refuse(
        directory.path(),
        &["repeat", "--output", "no/such.json", "--", "sleep", "600"],
    );
    assert!(error.contains("cannot create"), "{error}");
}
