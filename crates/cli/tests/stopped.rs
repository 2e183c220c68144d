//! The whole program is stopped by a signal for a moment, as by `kill -STOP` or a debugger: the pause is nobody's but the signal's.

mod common;
use common::{assert_ledger_closes, finished_parts, report, signal, start, wait_for_parts};
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
