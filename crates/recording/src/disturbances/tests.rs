//! Logs there and back, logs cut short, bad logs, and logs of other boots.

use super::super::{Settings, Task, Writer};
use super::*;
use std::collections::BTreeMap;

fn clock() -> Clock {
    Clock {
        name: "tsc".into(),
        ticks_per_ns: 2.3,
        origin_ticks: 1 << 60,
        origin_unix_ns: 1_700_000_000_000_000_000,
        ..Clock::default()
    }
}

fn example_header() -> Header {
    Header {
        schema: SCHEMA.into(),
        kind: "task".into(),
        cpu: 3,
        settings: Settings {
            period_s: 5e-3,
            length_s: 50e-6,
            // Any bytes that a command line can hold.
            then: vec!["record".into(), "--output".into(), "a\n\u{1b}[2J\"b".into()],
            ..Settings::default()
        },
        task: Task {
            name: "inject\u{7}\n".into(),
            ..Task::default()
        },
        clock: clock(),
        ..Header::default()
    }
}

fn rows() -> Vec<Disturbance> {
    let raw = 1u64 << 60;
    vec![
        Disturbance {
            planned: raw + 1,
            start: raw + 3,
            end: raw + 100,
            away: vec![(raw + 10, raw + 30)],
            cpu_ns: Some(42),
            preempted: 1,
            events: 0,
        },
        Disturbance {
            planned: raw + 200,
            start: raw + 200,
            end: raw + 300,
            ..Disturbance::default()
        },
    ]
}

fn example_end(disturbances: u64) -> End {
    End {
        state: State::Complete,
        disturbances,
        clock: clock(),
        kernel_counts: BTreeMap::from([("softirq:NET_RX".into(), 7)]),
        ..End::default()
    }
}

fn written() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut writer = Writer::create(&path, &example_header()).unwrap();
    writer.append(&rows()).unwrap();
    writer.finish(&example_end(2)).unwrap();
    std::fs::read(path).unwrap()
}

fn parse_bytes(bytes: &[u8]) -> Result<Log, Error> {
    parse(Path::new("log"), bytes)
}

#[test]
fn a_log_survives_the_disk_to_the_last_tick() {
    let log = parse_bytes(&written()).unwrap();
    assert_eq!(log.header, example_header());
    assert_eq!(log.disturbances, rows());
    assert_eq!(log.end, Some(example_end(2)));
    assert!(log.whole() && !log.cut);
    assert_eq!(log.disturbed().total(), 77 + 100);
    assert_eq!(log.spans().total(), 97 + 100);
    assert_eq!(log.disturbed().since(1 << 60).within(0, 50), 7 + 20);
    let raw = 1 << 60;
    assert_eq!(log.cpu_ns(raw, raw + 200), Some(42));
    assert_eq!(log.cpu_ns(raw, raw + 99), Some(0));
    assert_eq!(log.cpu_ns(raw, raw + 300), None);
}

#[test]
fn one_line_a_row_whatever_the_names_hold() {
    let bytes = written();
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 4);
    assert!(!bytes.contains(&0x1b) && !bytes.contains(&7));
}

#[test]
fn a_log_cut_anywhere_keeps_its_finished_rows() {
    let bytes = written();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for length in first + 1..bytes.len() {
        let log = parse_bytes(&bytes[..length]).unwrap();
        let lines = bytes[..length]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        assert_eq!(log.disturbances.len(), (lines - 1).min(2), "{length}");
        assert_eq!(log.cut, bytes[length - 1] != b'\n', "{length}");
        assert!(!log.whole());
        assert_eq!(log.clock(), &clock());
    }
}

#[test]
fn an_existing_file_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    std::fs::write(&path, "mine").unwrap();
    let error = Writer::create(&path, &example_header()).unwrap_err();
    assert!(error.to_string().contains("something of that name"));
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn what_is_wrong_is_said_with_its_row() {
    let header = serde_json::to_string(&example_header()).unwrap();
    let slow = header.replace("2.3", "0.0");
    let end = serde_json::to_string(&example_end(2)).unwrap();
    let row = r#"{"planned":1,"start":5,"end":9}"#;
    let lines = |lines: &[&str]| lines.join("\n") + "\n";
    for (text, wanted) in [
        (
            String::new(),
            "log: found nothing in its first line, expected a log of schema",
        ),
        ("\u{1b}[2J\n".into(), "found \"\\u{1b}[2J\", expected a log"),
        (
            "{\"schema\":\"bandscope.disturbances/2\"}\n".into(),
            "schema \"bandscope.disturbances/2\"",
        ),
        (
            lines(&[&slow]),
            "log:1: found clock.ticks_per_ns 0, expected 0.001 to 100",
        ),
        (
            lines(&[&header, "{}"]),
            "log:2: found \"missing field `planned`\", expected a disturbance",
        ),
        (
            lines(&[&header, row, "x"]),
            "log:3: found \"expected value\"",
        ),
        (
            lines(&[&header, r#"{"planned":-1,"start":5,"end":9}"#]),
            "log:2: found \"invalid value",
        ),
        (
            lines(&[&header, r#"{"planned":1,"start":9,"end":5}"#]),
            "found an end at 5 before its start at 9",
        ),
        (
            lines(&[&header, row, row]),
            "log:3: found a start at 5, expected 9 or later",
        ),
        (
            lines(&[
                &header,
                r#"{"planned":1,"start":5,"end":9,"away":[[6,7],[6,8]]}"#,
            ]),
            "found away from 6 to 8, expected spans in order from 7 to 9",
        ),
        (
            lines(&[
                &header,
                r#"{"planned":1,"start":5,"end":9,"away":[[6,10]]}"#,
            ]),
            "found away from 6 to 10",
        ),
        (
            lines(&[&header, row, &end]),
            "log:3: found 1 disturbances, expected 2",
        ),
        (
            lines(&[&header, row, r#"{"state":"somehow"}"#]),
            "log:3: found \"unknown variant",
        ),
        (
            lines(&[&header, row, &end.replace(":2,", ":1,"), row]),
            "log:4: found a line after the end",
        ),
    ] {
        let message = parse_bytes(text.as_bytes()).unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}\n{wanted}");
        assert!(!message.contains('\u{1b}'));
    }
    let long = [header.as_bytes(), b"\n", &vec![b' '; LONGEST_LINE as usize]].concat();
    let message = parse_bytes(&long).unwrap_err().to_string();
    assert!(
        message.contains("log:2: found a line of more than 16 MiB"),
        "{message}"
    );
}

#[test]
fn a_log_of_another_boot_or_clock_is_refused() {
    let log = parse_bytes(&written()).unwrap();
    // The recording began two minutes later; the wall clock was put right by a second meanwhile.
    let later = |ticks: u64, wall_s: i64| Clock {
        origin_ticks: (1 << 60) + ticks,
        origin_unix_ns: clock().origin_unix_ns + wall_s * 1_000_000_000,
        ..clock()
    };
    let two_minutes = (120e9 * 2.3) as u64;
    log.check_recording(&later(two_minutes, 121)).unwrap();
    for (clock, wanted) in [
        (later(0, 120), "120 s apart"),
        (later(two_minutes, -3600), "same boot"),
        (
            Clock {
                name: "simulated".into(),
                ..clock()
            },
            "expected \"simulated\"",
        ),
        (
            Clock {
                ticks_per_ns: 2.4,
                ..clock()
            },
            "2.4, the recording's",
        ),
    ] {
        let message = log.check_recording(&clock).unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    }
    let given = Clock {
        ticks_per_ns: 2.4,
        measured_ticks_per_ns: Some(2.3),
        ..clock()
    };
    log.check_recording(&given).unwrap();
}
