//! `report --truth`: a recording of this machine held against the log of a disturbance that was made meanwhile, and logs that
//! are not its truth. One CPU and no rights suffice; what was missing is said.

use crate::common::{refuse, run, succeed};
use bandscope_probe::pin;
use bandscope_recording::disturbances::{Disturbance, End, Header, Writer};
use bandscope_recording::manifest::{Clock, State};
use serde_json::Value;
use std::path::Path;

#[test]
fn what_was_booked_is_held_against_what_really_happened() {
    if std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
        println!("SKIPPED: --then: an emulated program cannot start itself");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let cpu = pin::allowed().unwrap().pop().unwrap().to_string();
    let record = [
        "inject", "--cpu", &cpu, "--period", "10ms", "--length", "1ms", "--then", "record",
    ];
    let settings = [
        "--duration",
        "600ms",
        "--output",
        "it.bandscope",
        "--rate",
        "10kHz",
    ];
    succeed(directory.path(), &[&record[..], &settings].concat());
    let log = ["it.bandscope", "--truth", "it.disturbances.jsonl"];
    let json = [&["report", "--format", "json"], &log[..]].concat();
    let report: Value = serde_json::from_str(&succeed(directory.path(), &json)).unwrap();
    let truth = &report["truth"][0];
    assert_eq!(truth["log"], "it.disturbances.jsonl");
    let held = &truth["series"][0];
    let events = &report["recording"]["events"];
    let traced = events["state"] == "on";
    if !traced {
        println!(
            "SKIPPED: the part of each cause: no kernel events: {}",
            events["why"]
        );
        assert_eq!(held["matched_by"], "time");
        assert!(held["stay_ns"].is_null());
    }
    let ns = |value: &Value| value.as_u64().unwrap();
    let others: u64 = held["others_within_ns"]
        .as_object()
        .unwrap()
        .values()
        .map(ns)
        .sum();
    let (own, disturbed) = (ns(&held["booked_within_ns"]), ns(&held["disturbed_ns"]));
    assert!(ns(&held["disturbances"]) > 0 && disturbed > 0);
    assert!(disturbed <= ns(&held["spans_ns"]));
    // One CPU runs one thread: wherever the disturber had it, there is a gap, under whatever names.
    assert!((own + others) as f64 > 0.99 * disturbed as f64, "{held}");
    // But for what fell into the measurement's own handling of a gap.
    assert!(held["quanta"]["recall"].as_f64().unwrap() > 0.9, "{held}");
    let together = &held["together"];
    assert!(ns(&together["in_logs"]) <= ns(&together["quanta_with_gaps"]));

    let text = succeed(directory.path(), &[&["report"], &log[..]].concat());
    assert!(
        text.contains("Booked against true") && text.contains("disturbed quanta"),
        "{text}"
    );
    assert!(
        !succeed(directory.path(), &["report", "it.bandscope"]).contains("Booked against true")
    );
}

/// A log without disturbances on the clock of a recording, changed.
fn write_log(directory: &Path, name: &str, change: impl Fn(&mut Header, &mut Option<End>)) {
    let manifest = std::fs::read(directory.join("a.bandscope/recording.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let clock: Clock = serde_json::from_value(manifest["clock"].clone()).unwrap();
    let cpu = manifest["settings"]["cpus"][0].as_u64().unwrap() as u32;
    let mut header = Header {
        schema: "bandscope.disturbances/1".into(),
        kind: "task".into(),
        cpu,
        clock: clock.clone(),
        ..Header::default()
    };
    let mut end = Some(End {
        state: State::Complete,
        clock,
        ..End::default()
    });
    change(&mut header, &mut end);
    let writer = Writer::create(&directory.join(name), &header).unwrap();
    if let Some(end) = end {
        writer.finish(&end).unwrap();
    }
}

/// A log of one disturbance, so many ticks after the recording's origin.
fn write_log_at(directory: &Path, name: &str, offset: u64) {
    write_log(directory, "empty", |_, _| {});
    let log = std::fs::read_to_string(directory.join("empty")).unwrap();
    let (header, _) = log.split_once('\n').unwrap();
    let header: Header = serde_json::from_str(header).unwrap();
    let start = header.clock.origin_ticks + offset;
    let disturbance = Disturbance {
        planned: start,
        start,
        end: start + 200_000_000,
        ..Disturbance::default()
    };
    let mut writer = Writer::create(&directory.join(name), &header).unwrap();
    writer.append(&[disturbance]).unwrap();
    let end = End {
        state: State::Complete,
        clock: header.clock,
        disturbances: 1,
        ..End::default()
    };
    writer.finish(&end).unwrap();
}

#[test]
fn a_log_that_is_not_the_truth_of_the_recording_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(
        path,
        &[
            "synth",
            "tick",
            "--duration",
            "500ms",
            "--output",
            "a.bandscope",
        ],
    );
    write_log(path, "good", |_, _| {});
    let report = succeed(
        path,
        &[
            "report",
            "--format",
            "json",
            "a.bandscope",
            "--truth",
            "good",
        ],
    );
    let report: Value = serde_json::from_str(&report).unwrap();
    let held = &report["truth"][0]["series"][0];
    assert_eq!(held["disturbances"], 0);
    assert!(held["quanta"]["recall"].is_null() && held["within_over_disturbed"].is_null());

    write_log(path, "cut", |_, end| *end = None);
    write_log(path, "elsewhere", |header, _| header.cpu += 1);
    write_log(path, "neighbour", |header, _| {
        header.kind = "neighbour:spin".into()
    });
    write_log(path, "clock", |_, end| {
        end.as_mut().unwrap().clock.name = "tsc".into()
    });
    write_log(path, "boot", |_, end| {
        end.as_mut().unwrap().clock.origin_unix_ns += 60_000_000_000
    });
    write_log(path, "schema", |header, _| {
        header.schema = "bandscope.disturbances/2".into()
    });
    for (log, wanted) in [
        (
            "cut",
            "cut:2: found the end of the file, expected the last line",
        ),
        ("elsewhere", "elsewhere:1: found a disturber of CPU"),
        ("neighbour", "neighbour:1: found a neighbour"),
        ("clock", "clock: found a log on the clock \"tsc\""),
        (
            "boot",
            "boot: found a log whose counter and wall clock are 60 s apart",
        ),
        (
            "schema",
            "schema: found schema \"bandscope.disturbances/2\"",
        ),
        ("absent", "absent: cannot read"),
    ] {
        let error = refuse(
            path,
            &["report", "a.bandscope", "--truth", "good", "--truth", log],
        );
        assert!(error.contains(wanted), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    // Half a second at 2 GHz, and a log that begins ten seconds after its start.
    write_log_at(path, "after", 20_000_000_000);
    let error = refuse(path, &["report", "a.bandscope", "--truth", "after"]);
    let wanted = "after: found disturbances that began 9.5 s after the recording had ended, expected a log of the time";
    assert!(error.contains(wanted), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    let error = refuse(
        path,
        &["report", "a.bandscope", "a.bandscope", "--truth", "good"],
    );
    assert!(
        error.contains("found 2 inputs, expected the one"),
        "{error}"
    );
    assert_eq!(
        run(path, &["report", "a.bandscope", "--truth"])
            .status
            .code(),
        Some(2)
    );
}
