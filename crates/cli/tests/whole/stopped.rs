//! The whole program is stopped by a signal for a moment, as by `kill -STOP` or a debugger: the pause is nobody's but the signal's.

use crate::common::{
    assert_ledger_closes, bandscope, finished_parts, report, signal, start, wait_for_parts,
};
use std::time::Duration;

const STOP: Duration = Duration::from_millis(300);

#[test]
fn a_stopped_recording_books_the_pause_to_the_stop() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let mut child = start(directory, &[]);
    wait_for_parts(directory, &mut child, 1);
    signal(&child, "STOP");
    std::thread::sleep(STOP);
    signal(&child, "CONT");
    let parts = finished_parts(directory) + 1;
    wait_for_parts(directory, &mut child, parts);
    signal(&child, "INT");
    child.wait().unwrap();
    let report = report(directory, &["it.bandscope"]);
    let events = &report["recording"]["events"];
    if events["state"] != "on" {
        println!("SKIPPED: a stop and its events: {}", events["why"]);
        return;
    }
    let series = &report["series"][0];
    assert_ledger_closes(series);
    // The signal is on its way for as long as the thread waits for a CPU.
    let stopped = series["ledger"]["gaps_ns"]["stopped"].as_u64();
    let pause = STOP.as_nanos() as u64;
    assert!(stopped >= Some(pause / 2), "{}", series["ledger"]);
}

#[test]
fn without_kernel_events_a_long_pause_is_booked_to_the_stop() {
    const LONG_STOP: Duration = Duration::from_secs(2);
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    // A run to its end: the thread's statistics are held against its length.
    let mut run = bandscope(directory);
    run.args(["record", "--duration", "5s", "--trace", "off"]);
    run.args(["--quiet", "--output", "it.bandscope"]);
    let mut child = run.stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_for_parts(directory, &mut child, 1);
    signal(&child, "STOP");
    std::thread::sleep(LONG_STOP);
    signal(&child, "CONT");
    assert!(child.wait().unwrap().success());
    let report = report(directory, &["it.bandscope"]);
    let waited = report["recording"]["schedstat"][0]["wait_ns"].as_u64();
    let quiet = waited.is_some_and(|ns| ns < LONG_STOP.as_nanos() as u64 / 2);
    if !quiet || report["series"][0]["gaps"]["preempted"].is_null() {
        println!("SKIPPED: a stop without events: the thread waited for {waited:?} ns");
        return;
    }
    let ledgers = || report["series"].as_array().unwrap().iter();
    ledgers().for_each(assert_ledger_closes);
    let of = |cause: &str| -> u64 {
        let ns = ledgers().map(|series| series["ledger"]["gaps_ns"][cause].as_u64());
        ns.flatten().sum()
    };
    let pause = LONG_STOP.as_nanos() as u64;
    assert!(of("stopped") >= pause * 9 / 10, "{}", report["series"]);
    assert!(
        of("preempted") <= waited.unwrap() + pause / 10,
        "{}",
        report["series"]
    );
    // The finding says what a stop is.
    let findings = report["findings"].to_string();
    assert!(findings.contains("freezer"), "{findings}");
}
