//! Whole-program runs on the simulated machine: record, report, export, with a truth to compare with.

use crate::common::{assert_ledger_closes, refuse, report, run, succeed};

fn record(directory: &std::path::Path, scenario: &str, more: &[&str]) -> serde_json::Value {
    let machine = format!("simulated:{scenario}");
    let mut arguments = vec!["record", "--machine", &machine, "--output", "it.bandscope"];
    arguments.extend(more);
    assert_eq!(succeed(directory, &arguments), "it.bandscope\n");
    report(directory, &["it.bandscope"])
}

fn close(found: &serde_json::Value, expected: f64, tolerance: f64) {
    let found = found.as_f64().unwrap();
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, expected {expected}"
    );
}

#[test]
fn a_quiet_machine_works_all_the_time() {
    let directory = tempfile::tempdir().unwrap();
    let report = record(directory.path(), "quiet", &["--duration", "2s"]);
    assert_eq!(report["schema"], "bandscope.report/1");
    assert_eq!(report["series"].as_array().unwrap().len(), 2);
    for series in report["series"].as_array().unwrap() {
        assert_ledger_closes(series);
        close(&series["ledger"]["work_ns"], 1e9, 2e5);
        close(&series["best_pace"]["ns_per_unit"], 112.25, 1e-3);
        assert_eq!(series["gaps"]["number"], 0);
        assert_eq!(
            series["bands"].as_array().unwrap().len(),
            1,
            "{}",
            series["bands"]
        );
        assert_eq!(
            series["signals"].as_array().unwrap().len(),
            0,
            "{}",
            series["signals"]
        );
    }
}

#[test]
fn a_tick_is_booked_to_gaps_with_its_rate_and_cost() {
    let directory = tempfile::tempdir().unwrap();
    let report = record(
        directory.path(),
        "tick:hz=250,cost=3us",
        &["--duration", "8s"],
    );
    for series in report["series"].as_array().unwrap() {
        assert_ledger_closes(series);
        let seconds = series["duration_s"].as_f64().unwrap();
        close(&series["gaps"]["number"], 250.0 * seconds, 2.0);
        close(
            &series["gaps"]["lost_ns"],
            750_000.0 * seconds,
            0.01 * 750_000.0 * seconds,
        );
        let signal = &series["signals"][0];
        close(&signal["frequency_hz"], 250.0, 0.05);
        close(&signal["ns_per_event"], 3000.0, 60.0);
        assert_eq!(signal["origin"], "external");
    }
}

#[test]
fn two_paces_are_bands_and_no_gaps() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = "flips:ratio=5.35,period=20ms,dwell=5ms";
    let report = record(
        directory.path(),
        scenario,
        &["--duration", "4s", "--rate", "10kHz"],
    );
    let series = &report["series"][0];
    assert_ledger_closes(series);
    assert_eq!(series["gaps"]["number"], 0);
    let bands = series["bands"].as_array().unwrap();
    assert_eq!(bands.len(), 2, "{bands:?}");
    close(&bands[0]["ns_per_unit"], 112.25, 0.05);
    close(&bands[1]["ns_per_unit"], 112.25 * 5.35, 0.5);
    close(&bands[1]["share"], 0.25, 0.01);
    close(&bands[1]["median_dwell_s"], 5e-3, 1.1e-4);
    // A quarter of the time at 1 / 5.35 of the pace.
    let lost = series["ledger"]["pace_ns"]["unsplit"].as_f64().unwrap();
    close(&lost.into(), 4e9 * 0.25 * (1.0 - 1.0 / 5.35), 4e6);
}

#[test]
fn exports_go_back_in() {
    let directory = tempfile::tempdir().unwrap();
    let original = record(
        directory.path(),
        "tick+flips",
        &["--duration", "1s", "--rate", "10kHz"],
    );
    succeed(
        directory.path(),
        &[
            "export",
            "it.bandscope",
            "--format",
            "ftq",
            "--output",
            "it.dat",
        ],
    );
    let back = report(directory.path(), &["it.dat"]);
    assert_eq!(back["series"][0]["units"], original["series"][0]["units"]);
    assert_eq!(back["series"][0]["ledger"]["basis"], "inferred");
    assert_ledger_closes(&back["series"][0]);
    let csv = succeed(
        directory.path(),
        &["export", "it.bandscope", "--format", "csv"],
    );
    assert_eq!(csv.lines().count(), 10_001);
    let gaps = &original["series"][0]["gaps"];
    let csv = succeed(
        directory.path(),
        &[
            "export",
            "it.bandscope",
            "--format",
            "csv",
            "--what",
            "gaps",
        ],
    );
    assert_eq!(
        csv.lines().count() as u64,
        1 + gaps["number"].as_u64().unwrap()
    );
    let error = refuse(
        directory.path(),
        &[
            "export",
            "it.bandscope",
            "--format",
            "ftq",
            "--what",
            "gaps",
        ],
    );
    assert!(error.contains("--what goes with --format csv"), "{error}");
    let trace = [
        "export",
        "it.bandscope",
        "--format",
        "perfetto",
        "--output",
        "it.pftrace",
    ];
    succeed(directory.path(), &trace);
    let bytes = std::fs::read(directory.path().join("it.pftrace")).unwrap();
    // At least a begin and an end for each gap, and a point for each quantum.
    assert!(bytes.len() as u64 > 20 * (10_000 + 2 * gaps["number"].as_u64().unwrap()));
    assert!(bytes.starts_with(&[0x0a]), "the first packet");
}

#[test]
fn ftq_files_hold_one_series() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path(), "quiet", &["--duration", "1s"]);
    let error = refuse(
        directory.path(),
        &["export", "it.bandscope", "--format", "ftq"],
    );
    assert!(
        error.contains("--rate") && error.contains("7777"),
        "{error}"
    );
    let one = [
        "export",
        "it.bandscope",
        "--format",
        "ftq",
        "--rate",
        "7777",
    ];
    assert!(succeed(directory.path(), &one).lines().count() > 3_000);
}

#[test]
fn every_format_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path(), "tick+flips+tasks", &["--duration", "1s"]);
    for (format, beginning) in [
        ("svg", &b"<svg"[..]),
        ("html", &b"<!DOCTYPE html>"[..]),
        ("png", b"\x89PNG"),
        ("json", b"{"),
        ("text", b""),
    ] {
        let file = format!("picture.{format}");
        let arguments = [
            "report",
            "it.bandscope",
            "--format",
            format,
            "--output",
            &file,
        ];
        succeed(directory.path(), &arguments);
        let content = std::fs::read(directory.path().join(&file)).unwrap();
        assert!(
            content.len() > 500 && content.starts_with(beginning),
            "{format}"
        );
    }
}

#[test]
fn text_is_free_of_escapes_when_piped() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path(), "tick+flips", &["--duration", "1s"]);
    let text = succeed(directory.path(), &["report", "it.bandscope"]);
    assert!(!text.contains('\x1b'));
    let text = succeed(directory.path(), &["report", "--ascii", "it.bandscope"]);
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn samples_are_counted_exactly() {
    let directory = tempfile::tempdir().unwrap();
    let report = record(directory.path(), "tick", &["--samples", "1234"]);
    for series in report["series"].as_array().unwrap() {
        assert_eq!(series["quanta"], 1234);
    }
}

#[test]
fn several_cpus_are_several_series() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--samples", "500", "--cpus", "0,2-3", "--rate", "10kHz"];
    let report = record(directory.path(), "tasks", &arguments);
    let cpus: Vec<_> = report["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["cpu"].as_u64())
        .collect();
    assert_eq!(cpus, [Some(0), Some(2), Some(3)]);
}

#[test]
fn the_published_rows_have_the_published_paces() {
    let directory = tempfile::tempdir().unwrap();
    let case = |name: &str| format!("{}/../../cases/{name}", env!("CARGO_MANIFEST_DIR"));
    let bands = |name: &str| -> Vec<f64> {
        let report = report(directory.path(), &[&case(name)]);
        assert_ledger_closes(&report["series"][0]);
        let bands = report["series"][0]["bands"].as_array().unwrap().clone();
        bands
            .iter()
            .map(|band| band["ns_per_unit"].as_f64().unwrap())
            .collect()
    };
    let near = |bands: &[f64], ns: f64| bands.iter().any(|band| (band / ns - 1.0).abs() < 0.015);
    let a = bands("spr-10khz-a.dat");
    assert_eq!(a.len(), 2, "{a:?}");
    assert!(near(&a, 23.96) && near(&a, 128.2), "{a:?}");
    let b = bands("spr-10khz-b.dat");
    assert!(near(&b, 24.0) && near(&b, 75.5) && near(&b, 127.5), "{b:?}");
    let aligned = bands("aligned-interference.dat");
    assert_eq!(aligned.len(), 2, "{aligned:?}");
    assert!(
        near(&aligned, 1e5 / 4174.0) && near(&aligned, 1e5 / 780.0),
        "{aligned:?}"
    );
}

#[test]
fn views_of_a_stretch_are_drawn_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    record(
        directory.path(),
        "flips:period=2.00001ms+tick:hz=100,cost=30us",
        &["--duration", "2s", "--rate", "10kHz"],
    );
    let svg = |more: &[&str]| {
        let arguments = [&["report", "it.bandscope", "--format", "svg"], more].concat();
        succeed(directory.path(), &arguments)
    };
    let whole = svg(&[]);
    let height = |svg: &str| {
        let after = svg.split_once("height=\"").unwrap().1;
        after.split_once('"').unwrap().0.parse::<f64>().unwrap()
    };
    for (view, wanted) in [
        ("series", "drawn: the longest"),
        ("density", "quanta per cell"),
        ("histogram", "quanta by pace"),
        ("gaps", "per second"),
        ("spectrum", "time lost"),
        ("fold", "the period of"),
        ("fold:250Hz", "Folded at 250"),
    ] {
        let svg = svg(&["--view", view]);
        assert!(svg.contains(wanted), "{view}: {wanted}\n{svg}");
        assert!(height(&svg) < height(&whole), "{view}");
    }
    let both = svg(&[
        "--view",
        "gaps,histogram",
        "--height",
        "300",
        "--theme",
        "dark",
    ]);
    assert!(height(&both) > 600.0 && both.contains("#14181d"), "{both}");
    // 40 of 200 gaps; the axis is that of the whole run.
    let stretch = svg(&["--view", "gaps", "--from", "500ms", "--to", "900ms"]);
    assert!(
        stretch.contains(">40 gaps, 100") && stretch.contains(">800<"),
        "{stretch}"
    );
    for (more, wanted) in [
        (&["--view", "gaps:1ms"][..], "only fold has a period"),
        (&["--view", "nothing"], "expected series, density"),
        (&["--view", "fold:0"], "expected a period"),
        (&["--from", "3s"], "no quantum begins"),
        (&["--from", "2s", "--to", "1s"], "a later one"),
        (&["--format", "text", "--view", "gaps"], "png or svg"),
        (&["--height", "1"], "60..=4000"),
    ] {
        let arguments = match more.contains(&"--format") {
            true => [&["report", "it.bandscope"], more].concat(),
            false => [&["report", "it.bandscope", "--format", "svg"], more].concat(),
        };
        let error = refuse(directory.path(), &arguments);
        assert!(error.contains(wanted), "{more:?}: {error}");
    }
}

#[test]
fn there_is_nothing_to_fold_a_quiet_machine_at() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path(), "quiet", &["--duration", "1s"]);
    let fold = [
        "report",
        "it.bandscope",
        "--format",
        "svg",
        "--view",
        "fold",
    ];
    let error = refuse(directory.path(), &fold);
    assert!(error.contains("name a period"), "{error}");
}

#[test]
fn the_command_that_a_run_ends_with_can_be_copied() {
    let directory = tempfile::tempdir().unwrap();
    let machine = ["--machine", "simulated:quiet", "--duration", "1s"];
    let output = ["record", "--output", "it's an evening.bandscope"];
    let output = run(directory.path(), &[&output[..], &machine].concat());
    let summary = String::from_utf8(output.stderr).unwrap();
    let command = r"bandscope report 'it'\''s an evening.bandscope'";
    assert!(summary.trim_end().ends_with(command), "{summary}");
}
