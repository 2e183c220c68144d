//! `bandscope compare` by the whole program: the published cases, gates, bad input.

use crate::common::{refuse, run, succeed};
use serde_json::Value;
use std::path::Path;

fn published(name: &str) -> String {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    cases.join(name).display().to_string()
}

fn arguments<'a>(files: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let files = files.iter().map(String::as_str);
    ["compare"]
        .into_iter()
        .chain(files)
        .chain(more.iter().copied())
        .collect()
}

fn json(files: &[&str], more: &[&str]) -> Value {
    let files: Vec<String> = files.iter().map(|name| published(name)).collect();
    let more = [more, &["--format", "json"]].concat();
    let text = succeed(&std::env::temp_dir(), &arguments(&files, &more));
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["schema"], "bandscope.compare/1");
    result
}

fn row<'a>(result: &'a Value, name: &str) -> &'a Value {
    let rows = result["counters"]["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn the_published_stall_counter_is_first_and_pays() {
    // 15,360 ticks of 5.5 us of mean loss at 900 MHz.
    let result = json(&["pfmon-good-noisy.tsv"], &["--lost-cycles", "7.6e7"]);
    let first = &result["counters"]["rows"][0];
    assert_eq!(first["name"], "user BE_LOST_BW_DUE_TO_FE_BR_ILOCK");
    assert_eq!(
        first["per_work"]["ratio"].as_f64().unwrap().round(),
        248_675.0
    );
    assert_eq!(first["verdict"], "pays");
    assert!(first["pays"][0].as_f64().unwrap() > 0.5);
    assert_eq!(result["sides"][0]["name"], "good");
}

#[test]
fn the_published_radix_sort_has_no_counter_that_pays_and_interrupts_as_a_lead() {
    let (good, bad) = (
        published("perfstat-irq-good.txt"),
        published("perfstat-irq-bad.txt"),
    );
    let result = json(
        &["perfstat-good.txt", "perfstat-bad.txt"],
        &["--also", &good, &bad],
    );
    let counters = &result["counters"];
    assert!((counters["budget"]["lost_cycles"].as_f64().unwrap() / 5.708e9 - 1.0).abs() < 1e-3);
    assert!((counters["instructions_per_cycle"][1].as_f64().unwrap() - 1.34).abs() < 0.005);
    let rows = counters["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["verdict"] != "pays"));
    let interrupts = row(&result, "hw_interrupts.received");
    assert_eq!(interrupts["verdict"], "lead");
    assert!((interrupts["per_second"]["ratio"].as_f64().unwrap() - 1.2).abs() < 0.005);
    assert!((interrupts["cycles_for_each"].as_f64().unwrap() / 7.9e6 - 1.0).abs() < 0.01);
    assert!(
        result["verdict"]
            .as_str()
            .unwrap()
            .contains("None of the other 11 counters pays")
    );
}

#[test]
fn text_markdown_and_junit() {
    let files = [
        published("perfstat-good.txt"),
        published("perfstat-bad.txt"),
    ];
    let directory = std::env::temp_dir();
    let text = succeed(&directory, &arguments(&files, &["--ascii"]));
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    assert!(
        text.starts_with("B took 5.71e9 cycles more than A (+35.1 %)"),
        "{text}"
    );
    let markdown = succeed(&directory, &arguments(&files, &["--format", "markdown"]));
    assert!(
        markdown.contains("| cycles | 16,254,795,809 | 21,962,826,744 | +35.1 % |"),
        "{markdown}"
    );
    let junit = succeed(
        &directory,
        &arguments(&files, &["--format", "junit", "--fail-if", "cycles<-5%"]),
    );
    assert!(junit.contains("tests=\"1\" failures=\"0\""), "{junit}");
}

#[test]
fn a_gate_fails_with_one_line() {
    let files = [
        published("perfstat-good.txt"),
        published("perfstat-bad.txt"),
    ];
    let gate = |conditions: &[&str]| {
        let more: Vec<&str> = conditions
            .iter()
            .flat_map(|condition| ["--fail-if", condition])
            .collect();
        let output = run(&std::env::temp_dir(), &arguments(&files, &more));
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, error) = gate(&["instructions>+1%", "cycles>+5%"]);
    assert_eq!(code, 1);
    assert_eq!(
        error,
        "bandscope: cycles>+5%: cycles is 2.1963e10 in B and 1.6255e10 in A, +35.12 %\n"
    );
    // Fewer than counts scatter by.
    assert_eq!(gate(&["cpu-migrations<-20%", "elapsed>6s"]).0, 0);
    assert_eq!(gate(&["elapsed>5s"]).0, 1);
    let (code, error) = gate(&["nothing>+5%"]);
    assert_eq!((code, error.lines().count()), (2, 1), "{error}");
}

#[test]
fn runs_of_hyperfine_gate_a_pull_request() {
    let directory = tempfile::tempdir().unwrap();
    let export =
        |times: &str| format!("{{\"results\":[{{\"command\":\"sort|x\",\"times\":[{times}]}}]}}");
    std::fs::write(
        directory.path().join("main.json"),
        export("1.00,1.01,0.99,1.00,1.02"),
    )
    .unwrap();
    std::fs::write(
        directory.path().join("branch.json"),
        export("1.05,1.06,1.04,1.05,1.07"),
    )
    .unwrap();
    let output = run(
        directory.path(),
        &[
            "compare",
            "main.json",
            "branch.json",
            "--fail-if",
            "elapsed>+3%",
            "--format",
            "markdown",
        ],
    );
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("sort\\|x") && text.contains("**failed**"),
        "{text}"
    );
    let two = "1.0,1.7,1.01,1.0,1.02,1.0,1.69,1.01,1.0,1.02,1.0,1.7";
    std::fs::write(directory.path().join("two.json"), export(two)).unwrap();
    let text = succeed(directory.path(), &["compare", "main.json", "two.json"]);
    assert!(
        text.replace('\n', " ").contains("Runs of B have 2 modes"),
        "{text}"
    );
    let output = run(
        directory.path(),
        &[
            "compare",
            "main.json",
            "main.json",
            "--fail-if",
            "elapsed>+0%",
        ],
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_cannot_be_compared() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |name: &str, content: &[u8]| std::fs::write(directory.path().join(name), content).unwrap();
    write("a.csv", b"5,,cycles,9,100.00,,\n");
    write("escape.csv", b"5,,\x1b[31mcycles,9,100.00,,\n");
    write(
        "bad.txt",
        b" Performance counter stats for 'x':\n\n  many cycles\n",
    );
    write("three.tsv", b"name\ta\tb\tc\nx\t1\t2\t3\n");
    write("word", b"\x1b[2J\n");
    let table = published("pfmon-good-noisy.tsv");
    for (arguments, expected) in [
        (
            &["compare", "a.csv"][..],
            "a.csv: found one side, expected a second file",
        ),
        (&["compare", "three.tsv"], "three.tsv: found 3 columns"),
        (
            &["compare", "a.csv", &table],
            "found 2 columns or commands, expected one",
        ),
        (
            &["compare", "a.csv", "bad.txt"],
            "bad.txt:3: found \"many cycles\", expected a count and an event",
        ),
        (&["compare", "a.csv", "absent"], "absent: cannot read"),
        (&["compare", "a.csv", "word"], "word: found \"\\u{1b}[2J\""),
        (
            &["compare", "a.csv", "a.csv", "--work", "1,0"],
            "--work: expected two numbers",
        ),
        (
            &["compare", "a.csv", "a.csv", "--lost-cycles", "0"],
            "--lost-cycles: expected",
        ),
    ] {
        let error = refuse(directory.path(), arguments);
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(
            error.contains(expected) && !error.contains('\x1b'),
            "{error}"
        );
    }
    assert!(
        refuse(
            directory.path(),
            &["compare", "a.csv", "a.csv", "--fail-if", "cycles>5%"]
        )
        .contains("a percentage needs a sign")
    );
    for format in ["text", "json", "markdown", "junit"] {
        let text = succeed(
            directory.path(),
            &["compare", "escape.csv", "escape.csv", "--format", format],
        );
        assert!(!text.contains('\x1b'), "{text}");
    }
}

/// A simulated recording.
fn synth(directory: &Path, name: &str, scene: &str, seed: &str) {
    let arguments = [
        "synth",
        scene,
        "--seed",
        seed,
        "--rate",
        "10000",
        "--duration",
        "2s",
        "--output",
        name,
    ];
    succeed(directory, &arguments);
}

#[test]
fn two_recordings_and_their_gate() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    synth(path, "before.bandscope", "reads:sigma=5ns", "1");
    synth(
        path,
        "after.bandscope",
        "reads:sigma=5ns+tick:hz=250,cost=3us",
        "2",
    );
    let compare = ["compare", "before.bandscope", "after.bandscope"];
    let result: Value = serde_json::from_str(&succeed(
        path,
        &[&compare[..], &["--format", "json"]].concat(),
    ))
    .unwrap();
    let pair = &result["recordings"]["series"][0];
    let gaps = pair["figures"]
        .as_array()
        .unwrap()
        .iter()
        .find(|delta| delta["name"] == "gaps")
        .unwrap();
    assert_eq!(gaps["changed"], true);
    assert!((gaps["b"].as_f64().unwrap() - 250.0).abs() < 2.0);
    let text = succeed(path, &[&compare[..], &["--ascii"]].concat());
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    assert!(
        text.contains("appeared") && text.contains("gaps a second"),
        "{text}"
    );
    let markdown = succeed(path, &[&compare[..], &["--format", "markdown"]].concat());
    assert!(markdown.contains("| gaps | 0 |"), "{markdown}");
    let gate = |condition: &str| run(path, &[&compare[..], &["--fail-if", condition]].concat());
    let output = gate("gaps>+20%");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
    assert_eq!(gate("fraction<-1pp").status.code(), Some(0));
    assert_eq!(gate("longest-gap>1us").status.code(), Some(1));
    assert_eq!(gate("longest-gap>1ms").status.code(), Some(0));
    for (arguments, expected) in [
        (
            vec!["compare", "before.bandscope"],
            "found one recording, expected a second one",
        ),
        (
            [&compare[..], &["--lost-cycles", "5"]].concat(),
            "are for counters: found two recordings",
        ),
    ] {
        let error = refuse(path, &arguments);
        assert!(error.contains(expected), "{error}");
    }
    let counters = published("perfstat-good.txt");
    assert!(
        refuse(path, &["compare", "before.bandscope", &counters]).contains("found no recording")
    );
    assert!(
        refuse(path, &["compare", &counters, "before.bandscope"])
            .contains("found a recording, expected counters")
    );
}

#[test]
fn fifteen_quanta_are_too_few_to_call_anything_a_change() {
    let result = json(&["spr-10khz-a.dat", "spr-10khz-b.dat"], &[]);
    let figures = result["recordings"]["series"][0]["figures"]
        .as_array()
        .unwrap();
    assert!(!figures.is_empty());
    assert!(
        figures.iter().all(|delta| delta["changed"] == false),
        "{figures:?}"
    );
}

#[test]
fn recordings_without_a_common_series_cannot_be_compared() {
    let directory = tempfile::tempdir().unwrap();
    for (name, rates) in [("a.bandscope", "10000,7777"), ("b.bandscope", "9000,5000")] {
        let synth = ["synth", "tick", "--duration", "500ms", "--rate", rates];
        succeed(
            directory.path(),
            &[&synth[..], &["--output", name]].concat(),
        );
    }
    let error = refuse(directory.path(), &["compare", "a.bandscope", "b.bandscope"]);
    assert!(error.contains("nothing to compare: A's"), "{error}");
    assert!(error.contains("9 kHz"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
