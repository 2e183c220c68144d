//! Kernel events of the simulated machine: told of what this kernel does, silent of the rest, and beside the same quanta.

use bandscope_recording::source::InMemory;
use bandscope_recording::{EventKind, Gap, KernelEvent};
use bandscope_sampler::Request;
use bandscope_sampler::machine::Choice;
use bandscope_simulation::{Scenario, Truth, request, synthesise};

fn run(scenario: &str, trace: Choice) -> (InMemory, Vec<Truth>) {
    let request = Request {
        cpus: vec![0, 1],
        trace,
        segment_s: 0.2,
        start_delay_s: 0.05,
        ..request(&[1e4, 7777.0], &["mulss80"], 1.0)
    };
    synthesise(&Scenario::parse(scenario).unwrap(), &request).unwrap()
}

const EVERYTHING: &str =
    "tick:hz=500,cost=10us+tasks:hz=300,mean=200us+host-steal:hz=100,cost=50us+helps:hz=90";

/// Whether `event` lies in one of the gaps, which are in order.
fn in_a_gap(gaps: &[Gap], event: &KernelEvent) -> bool {
    let after = gaps.partition_point(|gap| gap.start <= event.start);
    after > 0 && event.end() <= gaps[after - 1].start + gaps[after - 1].duration
}

#[test]
fn asking_for_events_changes_nothing_else() {
    let (off, silent) = run(EVERYTHING, Choice::Off);
    assert!(off.events.iter().all(Vec::is_empty));
    for trace in [Choice::Auto, Choice::On] {
        let (on, told) = run(EVERYTHING, trace);
        assert_eq!((&on.quanta, &on.gaps), (&off.quanta, &off.gaps));
        assert_eq!(told[1].absences, silent[1].absences);
        assert!(on.events.iter().all(|events| !events.is_empty()));
    }
}

#[test]
fn each_absence_of_this_kernel_is_one_event_and_the_hosts_is_none() {
    let (recording, truths) = run(EVERYTHING, Choice::Auto);
    for (cpu, truth) in truths.iter().enumerate() {
        let events = &recording.events[2 * cpu];
        assert_eq!(events, &recording.events[2 * cpu + 1], "both rates");
        for (part, kind, name) in [
            (0, EventKind::Vector, "local_timer"),
            (1, EventKind::Task, "other"),
            (3, EventKind::Interrupt, "device"),
        ] {
            let told = events.iter().filter(|event| &*event.name == name);
            let told: Vec<&KernelEvent> = told.collect();
            let absences = truth.absences.iter();
            let since_origin = |part: usize| {
                let mine = absences.clone();
                mine.filter(move |one| one.source == part && one.start >= 0.0)
            };
            assert_eq!(told.len(), since_origin(part).count(), "{name}");
            for (event, absence) in told.into_iter().zip(since_origin(part)) {
                assert_eq!(event.kind, kind);
                assert_eq!(event.start, absence.start as u64);
                // Longer by what fell into it.
                assert!(event.duration as f64 >= absence.length - 1.0);
            }
        }
        let host = truth.absences.iter().filter(|one| one.source == 2);
        assert!(host.count() > 50);
    }
}

#[test]
fn events_are_in_order_and_lie_within_one_another_and_within_gaps() {
    let (recording, truths) = run(EVERYTHING, Choice::Auto);
    let mut gaps: Vec<Gap> = recording.gaps[..2].concat();
    gaps.sort_by_key(|gap| gap.start);
    let threshold = recording.manifest.kernels[0].gap_threshold_ticks;
    let mut open: Vec<&KernelEvent> = Vec::new();
    let (mut nested, mut measured) = (0, 0);
    for event in &recording.events[0] {
        while open.last().is_some_and(|outer| outer.end() <= event.start) {
            open.pop();
        }
        if let Some(outer) = open.last() {
            assert!(outer.start <= event.start && event.end() <= outer.end());
            nested += 1;
        }
        open.push(event);
        let within = |tick: u64| truths[0].measured_at(tick as f64);
        if within(event.start) && within(event.end()) && event.duration > threshold {
            measured += 1;
            assert!(in_a_gap(&gaps, event), "{event:?}");
        }
    }
    assert!(nested > 20 && measured > 500, "{nested} {measured}");
}

#[test]
fn what_the_kernel_tells_decides_what_can_be_found() {
    let kinds = |scenario: &str, trace| {
        let (_, truths) = run(scenario, trace);
        truths[0].parts[0].kinds.clone()
    };
    assert_eq!(kinds("tasks", Choice::Off), [""; 0]);
    assert_eq!(kinds("tasks", Choice::On), ["time-away"]);
    let steal = kinds("host-steal", Choice::Auto);
    assert_eq!(steal, ["synchronous-gaps", "stolen-time"]);
    assert_eq!(kinds("host-steal", Choice::Off), ["synchronous-gaps"]);
}
