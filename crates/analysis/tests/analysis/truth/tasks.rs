//! What tells a disturber from others: the thread of a task, the kind of its work.

use super::{US, held, log_of, logged, number, recorded};
use bandscope_recording::EventKind;
use bandscope_recording::disturbances::Disturbance;
use bandscope_report::{Cause, MatchedBy};

#[test]
fn tasks_of_one_name_are_told_apart_by_their_threads() {
    let mut source = recorded(1);
    let n = number(&source, 0);
    // The other task has the disturber's name, and a log of its own.
    for event in &mut source.events[0] {
        if event.number == 99 {
            event.name = "inject".into();
        }
    }
    let first = logged(&source);
    let rows = first.disturbances.iter().map(|row| Disturbance {
        start: row.end + 4 * US,
        end: row.end + 30 * US,
        away: Vec::new(),
        cpu_ns: Some(30_000),
        ..row.clone()
    });
    let second = log_of("task", 99, rows.collect());
    let logs = [first, second];
    let apart = held(&source, &logs);
    assert_eq!(
        (apart[0].matched_by, apart[0].booked_ns),
        (MatchedBy::Thread, n * 82_000)
    );
    assert_eq!(
        (apart[1].matched_by, apart[1].booked_ns),
        (MatchedBy::Thread, n * 30_000)
    );
    assert_eq!(apart[1].stay_over_cpu, Some(1.0));
    assert_eq!(
        (apart[1].booked_within_ns, apart[1].disturbed_ns),
        (n * 26_000, n * 26_000)
    );
    assert_eq!(apart[0].together, apart[1].together);
    assert_eq!((apart[0].together.logs, apart[0].together.in_logs), (2, n));

    // Ids of another process namespace.
    for event in &mut source.events[0] {
        event.number += 1000;
    }
    let merged = held(&source, &logs);
    assert_eq!(
        (merged[0].matched_by, merged[0].booked_ns),
        (MatchedBy::Name, n * 112_000)
    );
    assert_eq!(merged[0].stay_ns, Some(n * 120_000));
}

#[test]
fn softirqs_are_the_work_of_a_disturber_that_makes_them() {
    let mut source = recorded(1);
    let n = number(&source, 0);
    for event in &mut source.events[0] {
        if event.number == 25 {
            event.kind = EventKind::Softirq;
            event.name = "NET_RX".into();
        }
    }
    let mut log = logged(&source);
    for row in &mut log.disturbances {
        row.away.clear();
    }
    let as_task = held(&source, std::slice::from_ref(&log)).remove(0);
    assert_eq!(as_task.booked_within_ns, n * 78_000);
    assert_eq!(
        as_task.others_within_ns[&Cause::Softirq("NET_RX".into())],
        n * 8_000
    );
    log.header.kind = "softirq".into();
    let held = held(&source, &[log]).remove(0);
    assert_eq!(
        (held.booked_ns, held.booked_within_ns),
        (n * 90_000, n * 86_000)
    );
    assert!(held.others_within_ns.is_empty());
    assert_eq!(held.within_over_disturbed, Some(1.0));
}
