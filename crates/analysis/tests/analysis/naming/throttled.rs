//! `throttled`: stops by a limit or a signal, with kernel events and without.

use super::{Disturbance, TICKS_PER_US, assert_booked, booked, quiet, recorded, with};
use crate::evidence::{number, text};
use crate::support::{Loop, analysis, stops_drawn};
use bandscope_analysis::analyse;
use bandscope_recording::EventKind;
use bandscope_recording::manifest::{EventsState, LostEvents, Quota, Schedstat};
use bandscope_report::{Cause, Certainty, Finding, Kind};

#[test]
fn a_stop_that_events_tell_is_certain() {
    let stop = with(400.0, &[(EventKind::Held, "throttled:quota", 1.0, 398.0)]);
    let other = with(50.0, &[(EventKind::Held, "stopped", 1.0, 48.0)]);
    let (report, _) = booked(&recorded(&[stop, other]));
    let throttled: Vec<_> = report
        .findings
        .iter()
        .filter(|one| one.kind == Kind::Throttled)
        .collect();
    assert_eq!(throttled.len(), 1);
    assert_eq!(throttled[0].certainty, Certainty::Certain);
}

/// A stop of 500 us with a tick and a task in it, whose events are lost from 100 us to 450 us.
#[test]
fn a_stop_lasts_through_events_that_are_lost() {
    use EventKind::{Held, Task, Vector};
    let tick = (Vector, "local_timer", 50.0, 5.0);
    for (name, after, lost_until, wanted) in [
        (
            "stopped",
            Some((Held, "stopped", 460.0, 35.0)),
            460.0,
            &[("stopped", 500.0)][..],
        ),
        ("frozen", None, 600.0, &[("frozen", 500.0)]),
        // It was continued meanwhile, and another task came before it.
        (
            "stopped",
            Some((Task, "rustc", 450.0, 49.0)),
            450.0,
            &[("stopped", 451.0), ("task:rustc", 49.0)],
        ),
        // Of other reasons nobody knows how long they last.
        (
            "throttled:quota",
            None,
            600.0,
            &[
                ("throttled:quota", 109.0),
                ("tick", 5.0),
                ("unnamed", 386.0),
            ],
        ),
    ] {
        let events: Vec<_> = [(Held, name, 0.0, 99.0), tick]
            .into_iter()
            .chain(after)
            .collect();
        let mut source = recorded(&[with(500.0, &events)]);
        let us = |us: f64| (us * TICKS_PER_US) as u64;
        let lost = source.gaps[0].iter().map(|gap| LostEvents {
            cpu: 1,
            from: gap.start + us(99.0),
            to: gap.start + us(lost_until),
            events: 1000,
        });
        source.manifest.events.lost = lost.collect();
        let (_, booked) = booked(&source);
        let wanted: Vec<_> = wanted
            .iter()
            .map(|&(cause, us)| (cause, 999.0 * us))
            .collect();
        assert_booked(&booked, &wanted);
    }
}

#[test]
fn counts_that_stood_still_contradict_a_quota() {
    let stop = with(400.0, &[(EventKind::Held, "throttled:quota", 1.0, 398.0)]);
    let mut source = recorded(&[stop]);
    let quota = |throttled: u64| Quota {
        version: None,
        group: "/a".into(),
        quota_us: Some(60_000),
        period_us: Some(100_000),
        periods: 10,
        throttled,
        throttled_ns: throttled * 40_000_000,
    };
    let mut found = |throttled, period_us| {
        source.manifest.quotas = vec![Quota {
            period_us: Some(period_us),
            ..quota(throttled)
        }];
        let report = analyse(&source, &[]).unwrap().report;
        let mut findings = report.findings.into_iter();
        findings.find(|one| one.kind == Kind::Throttled).unwrap()
    };
    assert_eq!(found(0, 100_000).certainty, Certainty::Likely);
    let finding = found(10, 100_000);
    assert_eq!(finding.certainty, Certainty::Certain);
    assert!(
        finding.summary.contains("60.0 ms in each 100.0 ms"),
        "{}",
        finding.summary
    );
    assert!(
        finding.summary.contains("10 of 10 periods")
            && finding
                .summary
                .contains(". It stopped the measuring thread"),
        "{}",
        finding.summary
    );
    // 10,000 stops a second of which the gaps have 1,000: tasks had the CPU in the others.
    let finding = found(10, 100);
    assert!(
        finding.summary.contains(
            ". Where no other task took the CPU meanwhile, it stopped the measuring thread 99"
        ),
        "{}",
        finding.summary
    );
}

#[test]
fn without_events_preemptions_as_long_as_the_stops_are_the_quotas() {
    let away = |us| Disturbance {
        preempted: true,
        ..quiet(us)
    };
    let mut source = recorded(&[away(400.0), away(20.0)]);
    source.manifest.events.state = EventsState::Unavailable;
    source.manifest.quotas = vec![Quota {
        throttled: 500,
        throttled_ns: 500 * 401_000,
        ..Quota::default()
    }];
    let (report, with_counts) = booked(&source);
    assert_booked(
        &with_counts,
        &[
            ("throttled:quota", 499.5 * 400.0),
            ("preempted", 500.0 * 20.0),
        ],
    );
    let finding = report
        .findings
        .iter()
        .find(|one| one.kind == Kind::Throttled);
    assert_eq!(finding.unwrap().certainty, Certainty::Likely);
    source.manifest.quotas.clear();
    let (report, without) = booked(&source);
    let causes: Vec<&String> = without.keys().collect();
    assert_eq!(causes, ["preempted"]);
    assert!(
        report
            .findings
            .iter()
            .all(|one| one.kind != Kind::Throttled)
    );
    let other = report
        .findings
        .iter()
        .find(|one| one.kind == Kind::TimeAway);
    assert!(
        other
            .unwrap()
            .next_step
            .as_ref()
            .unwrap()
            .contains("--trace on")
    );
}

#[test]
fn without_events_a_thread_that_did_not_wait_for_the_cpu_was_stopped() {
    let mut source = recorded(&[Disturbance {
        preempted: true,
        ..quiet(300.0)
    }]);
    source.manifest.events.state = EventsState::Unavailable;
    let mut stopped = |wait_ns| {
        source.manifest.schedstat = vec![Schedstat {
            cpu: 1,
            wait_ns,
            ..Schedstat::default()
        }];
        let (report, booked) = booked(&source);
        let mut findings = report.findings.into_iter();
        let finding = findings.find(|one| one.kind == Kind::Throttled);
        (finding, booked.get("stopped").copied().unwrap_or(0.0))
    };
    // 999 times 300 us, 50 of which may be what else was done.
    let (finding, booked) = stopped(100_000_000);
    let finding = finding.unwrap();
    assert_eq!(finding.certainty, Certainty::Likely);
    assert_eq!(text(&finding, "cause"), "stopped");
    let ns = number(&finding, "lost_ns");
    assert!((ns / 149.7e6 - 1.0).abs() < 0.01, "{ns}");
    // What other tasks took is the rest: no nanosecond is booked twice.
    assert!((booked * 1e3 / ns - 1.0).abs() < 1e-6, "{booked}, {ns}");
    assert_eq!(stopped(240_000_000), (None, 0.0));
    assert_eq!(stopped(400_000_000), (None, 0.0));
}

/// More stops than the report lists, and preemptions that took less time.
#[test]
fn a_preemption_is_drawn_as_one_beside_stops_that_have_their_name() {
    let stop = || with(300.0, &[(EventKind::Held, "stopped", 0.0, 300.0)]);
    let preempted = Disturbance {
        preempted: true,
        ..quiet(400.0)
    };
    let mut source = recorded(&[stop(), stop(), preempted]);
    let lost = source.gaps[0].iter();
    let lost = lost
        .filter(|gap| gap.preempted == Some(true))
        .map(|gap| LostEvents {
            cpu: 1,
            from: gap.start,
            to: gap.start + gap.duration,
            events: 10,
        });
    source.manifest.events.lost = lost.collect();
    let [picture, page] = stops_drawn(&source, &analysis(&source));
    assert_eq!((picture, page), ([0, 64], [667, 333]));
}

#[test]
fn without_events_a_short_wait_is_drawn_as_one_beside_long_stops() {
    let (period, ms) = (300_000.0 * TICKS_PER_US, 1000.0 * TICKS_PER_US);
    let away = |from: f64, to: f64| {
        let number = (to / period).floor();
        match number > (from / period).floor() {
            true if number % 2.0 == 1.0 => 200.0 * ms,
            true => ms,
            false => 0.0,
        }
    };
    let mut source = Loop::new(1000.0, 18_200).run(|_, _| 324.3, away);
    for gap in &mut source.gaps[0] {
        gap.preempted = Some(true);
    }
    source.manifest.settings.duration_s = 18.2;
    source.manifest.schedstat = vec![Schedstat {
        cpu: 1,
        run_ns: 12_170_000_000,
        wait_ns: 30_000_000,
        ..Schedstat::default()
    }];
    let analysis = analysis(&source);
    let ledger = &analysis.report.series[0].ledger.gaps_ns;
    assert_eq!(ledger[&Cause::Preempted].div_ceil(1_000_000), 30);
    assert_eq!(stops_drawn(&source, &analysis), [[30, 30]; 2]);
    // A host that takes the CPU in each of them makes them as long, and the thread never leaves the CPU by itself.
    source.manifest.schedstat[0].voluntary_switches = Some(0);
    let report = self::analysis(&source).report;
    assert!(
        !report.series[0]
            .ledger
            .gaps_ns
            .contains_key(&Cause::Stopped)
    );
    let is_throttled = |finding: &Finding| finding.kind == Kind::Throttled;
    assert!(!report.findings.iter().any(is_throttled));
    source.manifest.schedstat[0].voluntary_switches = Some(1);
    let report = self::analysis(&source).report;
    assert!(
        report.series[0]
            .ledger
            .gaps_ns
            .contains_key(&Cause::Stopped)
    );
}
