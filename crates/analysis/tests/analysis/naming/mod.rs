//! Gaps and the kernel events that name them: whatever the mixture, the time of each cause is known.

mod silence;
mod tasks;
mod throttled;

use crate::support::Loop;
use bandscope_analysis::analyse;
use bandscope_recording::manifest::EventsState;
use bandscope_recording::source::InMemory;
use bandscope_recording::{EventKind, KernelEvent};
use bandscope_report::{Cause, Kind, Report};
use bandscope_sampler::machine::Choice;
use std::collections::BTreeMap;

/// What happens: one interruption of so many microseconds every millisecond, and the events in it: kind, name, start
/// and length in microseconds from the interruption's start.
struct Disturbance {
    us: f64,
    events: Vec<(EventKind, &'static str, f64, f64)>,
    preempted: bool,
}

const TICKS_PER_US: f64 = 2300.0;

fn quiet(us: f64) -> Disturbance {
    Disturbance {
        us,
        events: Vec::new(),
        preempted: false,
    }
}

fn with(us: f64, events: &[(EventKind, &'static str, f64, f64)]) -> Disturbance {
    Disturbance {
        events: events.to_vec(),
        ..quiet(us)
    }
}

/// A second with the disturbances in turn, one a millisecond, with events recorded.
fn recorded(disturbances: &[Disturbance]) -> InMemory {
    recorded_at(10_000.0, disturbances)
}

/// The same at another rate.
fn recorded_at(rate_hz: f64, disturbances: &[Disturbance]) -> InMemory {
    let period = 1000.0 * TICKS_PER_US;
    let mut source = Loop::new(rate_hz, rate_hz as usize).run(
        |_, _| 324.3,
        |from, to| {
            let number = (to / period).floor();
            if number > (from / period).floor() {
                disturbances[number as usize % disturbances.len()].us * TICKS_PER_US
            } else {
                0.0
            }
        },
    );
    source.manifest.events.state = EventsState::On;
    let mut events = Vec::new();
    for gap in &mut source.gaps[0] {
        let number = ((gap.start + gap.duration / 2) as f64 / period).round() as usize;
        let disturbance = &disturbances[number % disturbances.len()];
        gap.preempted = Some(disturbance.preempted);
        for &(kind, name, start, us) in &disturbance.events {
            events.push(KernelEvent {
                start: gap.start + (start * TICKS_PER_US) as u64,
                duration: (us * TICKS_PER_US) as u64,
                kind,
                number: 1,
                name: name.into(),
                ..KernelEvent::default()
            });
        }
    }
    source.events = vec![events];
    source
}

fn booked(source: &InMemory) -> (Report, BTreeMap<String, f64>) {
    let report = analyse(source, &[]).unwrap().report;
    let ledger = &report.series[0].ledger;
    let lines: u64 = ledger.gaps_ns.values().sum();
    let rest = ledger.work_ns + ledger.pace_ns.unsplit + ledger.measurement_ns;
    assert_eq!(
        (lines + rest) as i64 + ledger.unexplained_ns,
        ledger.wall_ns as i64
    );
    let us = ledger.gaps_ns.iter();
    let us = us
        .map(|(cause, ns)| (cause.to_string(), *ns as f64 / 1e3))
        .collect();
    (report, us)
}

fn assert_booked(booked: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
    let causes: Vec<&str> = booked.keys().map(String::as_str).collect();
    let mut names: Vec<&str> = expected.iter().map(|one| one.0).collect();
    names.sort_unstable();
    assert_eq!(causes, names);
    for &(cause, us) in expected {
        // The unit that each of some 1000 gaps is in, wherever in the gap it was done, is off its first cause: 0.141 us. The last
        // gap may or may not be there.
        let off = (booked[cause] - us).abs();
        assert!(off < 150.0 + us / 999.0, "{cause}: {} {us}", booked[cause]);
    }
}

#[test]
fn each_instant_belongs_to_the_innermost_event() {
    use EventKind::{Interrupt, Softirq, Task, Vector};
    // A tick that brings a softirq and a task, in which a device interrupts.
    let (_, booked) = booked(&recorded(&[with(
        60.0,
        &[
            (Vector, "local_timer", 1.0, 4.0),
            (Softirq, "TIMER", 6.0, 3.0),
            (Task, "kworker/1:1", 10.0, 48.0),
            (Interrupt, "virtio0", 20.0, 8.0),
        ],
    )]));
    // 999 of them; the 5 us beside the events are the first one's, which brought the kernel in.
    assert_booked(
        &booked,
        &[
            ("tick", 999.0 * (4.0 + 5.0)),
            ("softirq:TIMER", 999.0 * 3.0),
            ("task:kworker/1:1", 999.0 * 40.0),
            ("irq:virtio0", 999.0 * 8.0),
        ],
    );
}

#[test]
fn an_event_beside_its_gap_is_in_it_within_the_error_of_the_clocks() {
    for shift in [-2.0, 2.0] {
        let mut source = recorded(&[with(8.0, &[(EventKind::Nmi, "nmi", 1.0, 6.0)])]);
        for event in &mut source.events[0] {
            event.start = event
                .start
                .saturating_add_signed((shift * TICKS_PER_US) as i64);
        }
        source.manifest.events.time_error_ticks = Some(2.0 * TICKS_PER_US);
        let (_, booked) = booked(&source);
        assert_booked(&booked, &[("nmi", 999.0 * 8.0)]);
    }
}

#[test]
fn a_page_fault_has_its_gap_and_a_task_is_a_finding() {
    let fault = with(3.0, &[(EventKind::Exception, "page_fault_user", 1.0, 0.0)]);
    let task = with(300.0, &[(EventKind::Task, "a <b>\\x1b", 1.0, 298.0)]);
    let mut disturbances: Vec<Disturbance> = (0..6).map(|_| quiet(0.0)).collect();
    disturbances.extend([fault, task]);
    let (report, booked) = booked(&recorded(&disturbances));
    assert_booked(
        &booked,
        &[
            ("exception:page_fault_user", 125.0 * 3.0),
            ("task:a <b>\\x1b", 125.0 * 300.0),
        ],
    );
    let causes = &report.series[0].gaps.as_ref().unwrap().causes;
    assert_eq!(causes[0].cause, Cause::Task("a <b>\\x1b".into()));
    assert_eq!(causes[0].number, 125);
    let total: u64 = causes.iter().map(|cause| cause.lost_ns).sum();
    assert!(total.abs_diff(report.series[0].gaps.as_ref().unwrap().lost_ns) <= 2);
}

#[test]
fn events_without_gaps_and_endless_ones_name_nothing_wrongly() {
    let mut source = recorded(&[quiet(20.0)]);
    // Short ones between the gaps, and one of another segment's end of time.
    source.events[0] = (0..2000u64)
        .map(|k| KernelEvent {
            start: 1_150_000 + k * 1_150_000 + 300_000,
            duration: 2000,
            kind: EventKind::Softirq,
            number: 1,
            name: "RCU".into(),
            ..KernelEvent::default()
        })
        .collect();
    source.events[0].push(KernelEvent {
        start: u64::MAX - 5,
        duration: u64::MAX,
        ..KernelEvent::default()
    });
    let (_, booked) = booked(&source);
    assert_booked(&booked, &[("host", 999.0 * 20.0)]);
}

#[test]
fn a_simulated_machine_names_its_own_disturbances() {
    let scenario = "tick:hz=250,cost=20us+tasks:hz=40,mean=300us+host-steal:hz=20,cost=400us";
    let run = |trace| {
        let request = bandscope_sampler::Request {
            trace,
            ..bandscope_simulation::request(&[10_000.0], &["mulss80"], 10.0)
        };
        let scenario = bandscope_simulation::Scenario::parse(scenario).unwrap();
        let (source, truths) = bandscope_simulation::synthesise(&scenario, &request).unwrap();
        (booked(&source), truths)
    };
    let ((report, causes), truths) = run(Choice::Auto);
    let names: Vec<&str> = causes.keys().map(String::as_str).collect();
    assert_eq!(names, ["host", "task:other", "tick"]);
    for (part, name) in [(0, "tick"), (1, "task:other"), (2, "host")] {
        let mine = truths[0].absences.iter().filter(|one| one.source == part);
        let us: f64 = mine.map(|one| one.length / 2e3).sum();
        // What the host takes from within an event is booked to that one, 0.02 of its time here.
        let off = (causes[name] / us - 1.0).abs();
        assert!(off < 0.06, "{name}: {} of {us}", causes[name]);
    }
    let kinds: Vec<Kind> = report.findings.iter().map(|one| one.kind).collect();
    for kind in [Kind::TimeAway, Kind::StolenTime, Kind::PeriodicInterference] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let ((report, causes), _) = run(Choice::Off);
    assert_eq!(causes.keys().collect::<Vec<_>>(), ["unnamed"]);
    assert!(report.findings.iter().all(|one| one.kind != Kind::TimeAway));
}

#[test]
fn a_timer_is_its_tasks_and_a_stop_has_its_own_name() {
    let source = recorded(&[
        with(
            12.0,
            &[
                (EventKind::Timer, "cyclic", 0.5, 11.0),
                (EventKind::Vector, "local_timer", 6.0, 3.0),
            ],
        ),
        with(400.0, &[(EventKind::Held, "throttled:quota", 1.0, 398.0)]),
        with(50.0, &[(EventKind::Held, "stopped", 1.0, 48.0)]),
        with(9.0, &[(EventKind::Timer, "", 1.0, 7.0)]),
    ]);
    let (_, booked) = booked(&source);
    let causes: Vec<&str> = booked.keys().map(String::as_str).collect();
    assert_eq!(
        causes,
        [
            "irq:local_timer",
            "stopped",
            "throttled:quota",
            "tick",
            "timer:cyclic"
        ]
    );
}

/// A name that only an event of no length has, in gaps enough to be looked at.
#[test]
fn an_event_of_no_length_has_a_name_and_no_time() {
    let empty = with(
        20.0,
        &[
            (EventKind::Vector, "local_timer", 0.5, 10.0),
            (EventKind::Vector, "brief", 12.0, 0.0),
        ],
    );
    let (_, booked) = booked(&recorded(&[empty]));
    assert_eq!(booked.get("irq:brief").copied().unwrap_or(0.0), 0.0);
}
