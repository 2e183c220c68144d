//! SIGKILL at any moment: what had ended before is read.

use super::status_after;
use crate::common::{
    assert_ledger_closes, finished_parts, kinds_of_warnings, report, run, signal, start,
};
use std::time::Duration;

#[test]
fn a_killed_run_keeps_every_finished_part() {
    let directory = tempfile::tempdir().unwrap();
    status_after("KILL", directory.path());
    let report = report(directory.path(), &["it.bandscope"]);
    assert_ledger_closes(&report["series"][0]);
    assert!(report["series"][0]["quanta"].as_u64().unwrap() >= 900);
    assert_eq!(report["recording"]["state"], "recording");
    assert!(
        kinds_of_warnings(&report).contains(&"partial-recording"),
        "{}",
        report["warnings"]
    );
}

/// Moments of a kill: at the very start, while the machine is looked at, while it is measured.
#[test]
fn a_run_killed_at_any_moment_is_readable_or_says_why_not() {
    let mut milliseconds = 3;
    while milliseconds < 4000 {
        let directory = tempfile::tempdir().unwrap();
        let mut child = start(directory.path(), &[]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(&child, "KILL");
        child.wait().unwrap();
        let parts = finished_parts(directory.path());
        let output = run(directory.path(), &["report", "it.bandscope"]);
        let error = String::from_utf8(output.stderr).unwrap();
        // Before the first part there may be a recording that is empty so far, or none at all.
        let readable = output.status.success();
        assert!(readable || parts == 0, "after {milliseconds} ms: {error}");
        if !readable {
            assert_eq!(
                output.status.code(),
                Some(2),
                "after {milliseconds} ms: {error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        milliseconds = milliseconds * 2 + 1;
    }
}
