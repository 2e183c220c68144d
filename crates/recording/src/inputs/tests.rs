//! Inputs of one or several machines, joined.

use super::*;
use crate::Quantum;
use crate::manifest::{Clock, Incident, IncidentKind, Lost, Missing};
use crate::source::InMemory;

fn source(clock: Clock, cpu_model: &str, kernel: &str, counters: &[&str]) -> Box<dyn Source> {
    let mut manifest = Manifest {
        clock,
        ..Manifest::default()
    };
    manifest.machine.cpu_model = Some(cpu_model.into());
    manifest.kernels = vec![Kernel {
        name: kernel.into(),
        ..Kernel::default()
    }];
    let counter = |name: &&str| Counter {
        name: (*name).into(),
        ..Counter::default()
    };
    manifest.counters = counters.iter().map(counter).collect();
    let mut quanta = Quanta::default();
    quanta.push(Quantum {
        start: 100,
        end: 203,
        gap_ticks: 50,
        measurement_ticks: 53,
        count: 1,
        ..Quantum::default()
    });
    quanta.push(Quantum {
        start: 203,
        end: 301,
        count: 2,
        ..Quantum::default()
    });
    Box::new(InMemory {
        manifest,
        series: vec![Series {
            cpu: None,
            rate_hz: 1e7,
            kernel: kernel.into(),
            gaps_known: true,
            ends_known: true,
            origin: "test".into(),
        }],
        quanta: vec![quanta],
        gaps: vec![vec![Gap {
            start: 120,
            duration: 51,
            counters: [1, 2, 3, 4, 5],
            ..Gap::default()
        }]],
        ..InMemory::default()
    })
}

fn tsc(ticks_per_ns: f64) -> Clock {
    Clock {
        name: "tsc".into(),
        origin: crate::manifest::ClockOrigin::Calibrated,
        ticks_per_ns,
        ..Clock::default()
    }
}

fn kinds(inputs: &Inputs) -> Vec<ReadWarningKind> {
    inputs
        .warnings()
        .iter()
        .map(|warning| warning.kind)
        .collect()
}

#[test]
fn an_imported_file_is_converted_to_the_clock_of_the_recording() {
    let inputs = Inputs::new(vec![
        source(Clock::imported(), "", "unknown", &[]),
        source(tsc(2.5), "A", "mulss80", &[]),
    ]);
    assert_eq!(inputs.manifest().clock.ticks_per_ns, 2.5);
    assert_eq!(inputs.manifest().kernels.len(), 2);
    assert!(kinds(&inputs).is_empty());
    let mut seen = Vec::new();
    for index in 0..2 {
        inputs
            .replay_quanta(index, &mut |chunk| {
                seen.push((chunk.start.to_vec(), chunk.end.to_vec()))
            })
            .unwrap();
    }
    assert_eq!(
        seen,
        [
            (vec![250, 508], vec![508, 753]),
            (vec![100, 203], vec![203, 301]),
        ]
    );
}

#[test]
fn different_machines_are_noticed() {
    let inputs = Inputs::new(vec![
        source(tsc(2.5), "A", "mulss80", &["cycles", "irqs"]),
        source(tsc(2.6), "B", "mulss80", &["irqs"]),
    ]);
    assert_eq!(
        kinds(&inputs),
        [
            ReadWarningKind::DifferentMachines,
            ReadWarningKind::DifferentClocks,
            ReadWarningKind::DifferentCounters
        ]
    );
    let mut counters = Vec::new();
    inputs
        .replay_gaps(1, &mut |gaps| counters.push(gaps[0].counters))
        .unwrap();
    assert_eq!(counters, [[0, 1, 0, 0, 0]]);
}

/// A recording with this clock and manifest, of two gaps close to the largest tick.
fn with(change: impl FnOnce(&mut Manifest), ticks_per_ns: f64) -> Box<dyn Source> {
    let mut manifest = Manifest {
        clock: tsc(ticks_per_ns),
        state: State::Complete,
        ..Manifest::default()
    };
    change(&mut manifest);
    let mut quanta = Quanta::default();
    quanta.push(Quantum {
        start: 5,
        end: i64::MAX as u64,
        gap_ticks: 1 << 62,
        ..Quantum::default()
    });
    let gap = |start, duration| Gap {
        start,
        duration,
        handling: 3,
        ..Gap::default()
    };
    Box::new(InMemory {
        manifest,
        series: vec![Series {
            cpu: Some(1),
            rate_hz: 1e3,
            kernel: "imul20".into(),
            gaps_known: true,
            ends_known: true,
            origin: "second".into(),
        }],
        quanta: vec![quanta],
        gaps: vec![vec![gap(5, 5), gap(13, 1 << 62)]],
        ..InMemory::default()
    })
}

#[test]
fn what_a_later_input_says_reaches_the_joined_manifest() {
    let leader = with(|manifest| manifest.lost.quanta = 2, 2.0);
    let inputs = Inputs::new(vec![leader, with(tell, 1.0)]);
    let joined = inputs.manifest();
    assert_eq!(joined.kernels[0].best_ticks_per_unit, Some(500.0));
    assert_eq!(joined.kernels[0].boundary_ticks, Some(24.0));
    assert_eq!(joined.kernels[0].gap_threshold_ticks, 1228);
    assert_eq!((joined.lost.quanta, joined.lost.gaps), (5, 4));
    assert_eq!(joined.missing[0].what, "counters");
    assert_eq!(joined.incidents[0].ticks, 200);
    assert_eq!(joined.incidents[0].detail, "second: it jumped");
    assert_eq!(joined.state, State::Interrupted);
}

fn tell(manifest: &mut Manifest) {
    manifest.kernels = vec![Kernel {
        name: "imul20".into(),
        gap_threshold_ticks: 614,
        best_ticks_per_unit: Some(250.0),
        boundary_ticks: Some(12.0),
        ..Kernel::default()
    }];
    manifest.lost = Lost {
        quanta: 3,
        gaps: 4,
        events: 0,
    };
    manifest.missing = vec![Missing {
        what: "counters".into(),
        ..Missing::default()
    }];
    manifest.incidents = vec![Incident {
        kind: IncidentKind::ClockJump,
        ticks: 100,
        detail: "it jumped".into(),
    }];
    manifest.state = State::Interrupted;
}

#[test]
fn the_largest_ticks_convert_to_ticks_that_a_recording_may_hold() {
    let inputs = Inputs::new(vec![with(|_| (), 100.0), with(|_| (), 0.001)]);
    let mut order = crate::order::QuantaOrder::default();
    let mut gap_order = crate::order::GapOrder::default();
    inputs
        .replay_quanta(1, &mut |chunk| {
            let mut quanta = Quanta::default();
            quanta.push(chunk.get(0));
            assert_eq!(quanta.end, [crate::order::MAX_TICKS]);
            assert_eq!(order.check(&quanta), Ok(()));
        })
        .unwrap();
    inputs
        .replay_gaps(1, &mut |gaps| {
            assert_eq!(gaps[0].start, 500_000);
            assert_eq!(gap_order.check(gaps), Ok(()));
        })
        .unwrap();
}

#[test]
fn nothing_is_an_input_too() {
    assert!(Inputs::new(Vec::new()).series().is_empty());
}
