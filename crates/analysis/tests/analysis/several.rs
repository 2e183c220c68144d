//! Several CPUs and input of the worst kind: quanta, gaps and kernel events of up to six CPUs, sensible or not.

use crate::anything::{Row, any_quantum, check};
use crate::support::{analysis, manifest, series};
use bandscope_recording::manifest::EventsState;
use bandscope_recording::source::InMemory;
use bandscope_recording::{EventKind, Gap, KernelEvent, Quanta, Quantum, Series};
use bandscope_report::{Cause, Kind};
use bandscope_sampler::machine::Choice;
use proptest::prelude::*;

/// A second in which the paces flip together, for what hangs together to be found: 10,000 quanta, every 40th a change.
const QUANTA: u64 = 10_000;
const QUANTUM: u64 = 230_000;

/// Times away that several CPUs share: start, duration.
fn shared() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..QUANTA * QUANTUM, 2_000..400_000u64), 0..120)
}

/// Gaps of one CPU alone: start, duration, preempted.
fn own() -> impl Strategy<Value = Vec<(u64, u64, Option<bool>)>> {
    let start = prop_oneof![9 => 0..QUANTA * QUANTUM, 1 => any::<u64>()];
    let duration = prop_oneof![6 => 0..500_000u64, 1 => any::<u64>()];
    prop::collection::vec((start, duration, any::<Option<bool>>()), 0..40)
}

/// What one CPU has: how late it is with what all share, whether it has that at all, its gaps, its quanta where they are not those of
/// all, whether gaps are in order.
type Cpu = (
    u64,
    bool,
    Vec<(u64, u64, Option<bool>)>,
    Option<Vec<Row>>,
    bool,
);

fn any_cpu() -> impl Strategy<Value = Cpu> {
    (
        prop_oneof![0..3_000u64, 0..300_000u64],
        prop::bool::weighted(0.8),
        own(),
        prop::option::weighted(0.3, prop::collection::vec(any_quantum(), 0..300)),
        prop::bool::weighted(0.8),
    )
}

/// Quanta whose pace flips every 40th, `late` ticks into one.
fn flipping(late: u64) -> Quanta {
    let mut quanta = Quanta::default();
    for k in 0..QUANTA {
        let share = (late % QUANTUM) as f64 / QUANTUM as f64;
        let (before, after) = if (k / 40).is_multiple_of(2) {
            (800.0, 500.0)
        } else {
            (500.0, 800.0)
        };
        let count = if k % 40 == 39 {
            share * before + (1.0 - share) * after
        } else {
            before
        };
        quanta.push(Quantum {
            start: k * QUANTUM,
            end: (k + 1) * QUANTUM,
            count: count as u32,
            ..Quantum::default()
        });
    }
    quanta
}

fn rows(rows: Vec<Row>) -> Quanta {
    let (mut quanta, mut now, mut segment) = (Quanta::default(), 0, 0);
    for (length, count, gaps, gap_ticks, measurement_ticks, cut) in rows {
        segment += u32::from(cut);
        quanta.push(Quantum {
            start: now,
            end: now + length,
            count,
            gaps,
            gap_ticks,
            measurement_ticks,
            cpu: 0,
            segment,
        });
        now += length;
    }
    quanta
}

fn source(shared: &[(u64, u64)], cpus: Vec<Cpu>, one_number: bool, events: bool) -> InMemory {
    let mut source = InMemory {
        manifest: manifest(),
        ..InMemory::default()
    };
    source.manifest.events.state = if events {
        EventsState::On
    } else {
        EventsState::Off
    };
    for (number, (late, has_shared, own, quanta, in_order)) in cpus.into_iter().enumerate() {
        source.series.push(Series {
            // Two series of one CPU at the same times are senseless, too.
            cpu: Some(if one_number { 3 } else { number as u32 }),
            ..series(10_000.0)
        });
        source
            .quanta
            .push(quanta.map_or_else(|| flipping(late), rows));
        let common = shared.iter().filter(|_| has_shared);
        let common = common.map(|&(start, duration)| (start + late, duration, None));
        let gap = |(start, duration, preempted)| Gap {
            start,
            duration,
            preempted,
            ..Gap::default()
        };
        let mut gaps: Vec<Gap> = common.chain(own).map(gap).collect();
        if in_order {
            gaps.sort_by_key(|gap| gap.start);
        }
        let told = gaps.iter().step_by(3).map(|gap| KernelEvent {
            start: gap.start.saturating_add(100),
            duration: gap.duration / 2,
            kind: EventKind::Task,
            number: 7,
            name: "a".into(),
            ..KernelEvent::default()
        });
        source.events.push(told.collect());
        source.gaps.push(gaps);
    }
    source
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn anything_on_several_cpus_closes(
        shared in shared(),
        cpus in prop::collection::vec(any_cpu(), 1..=6),
        one_number in prop::bool::weighted(0.1),
        events: bool,
    ) {
        let source = source(&shared, cpus, one_number, events);
        // Every figure a number, and all quanta in their places.
        let report = check(&source).report;
        for (series, quanta) in report.series.iter().zip(&source.quanta) {
            let ledger = &series.ledger;
            let gaps: u64 = ledger.gaps_ns.values().sum();
            let lines = i128::from(ledger.work_ns) + i128::from(ledger.pace_ns.total())
                + i128::from(gaps) + i128::from(ledger.measurement_ns)
                + i128::from(ledger.unexplained_ns);
            prop_assert_eq!(lines, i128::from(ledger.wall_ns));
            let lengths = quanta.end.iter().zip(&quanta.start);
            let wall: u64 = lengths.map(|(end, start)| end - start).sum();
            prop_assert!((ledger.wall_ns as f64 - wall as f64 / 2.3).abs() <= 1.0);
        }
        for cpu in &report.cpus {
            prop_assert!((0.0..=1.0).contains(&cpu.gaps), "{:?}", cpu);
            prop_assert!(cpu.synchronous.is_none_or(|share| (0.0..=1.0 + 1e-9).contains(&share)), "{:?}", cpu);
        }
        for finding in &report.findings {
            prop_assert!(finding.series.iter().all(|&index| index < report.series.len()));
        }
    }
}

#[test]
fn the_generator_makes_what_is_looked_for() {
    // Otherwise the test above would ask nothing: shared gaps and shared flips are found.
    let shared: Vec<(u64, u64)> = (0..60u64)
        .map(|k| (k * k * 630_000 + 1_000_000, 50_000))
        .collect();
    let cpu = |late| (late, true, Vec::new(), None, true);
    let source = source(&shared, vec![cpu(0), cpu(1_000), cpu(2_000)], false, false);
    let report = check(&source).report;
    let found = report.findings.iter();
    let kinds: Vec<Kind> = found.map(|finding| finding.kind).collect();
    assert!(kinds.contains(&Kind::SynchronousGaps), "{kinds:?}");
    assert!(report.series.iter().all(|series| series.bands.len() > 1));
}

/// A finding that stated the figures of one rate would contradict the ledger, which pools both.
#[test]
fn findings_state_what_the_ledger_of_all_series_states() {
    let scenario = "tasks:hz=40,mean=300us+host-steal:hz=20,cost=400us";
    let request = bandscope_sampler::Request {
        trace: Choice::Auto,
        ..bandscope_simulation::request(&[10_000.0, 7777.0], &["mulss80", "add6x80"], 8.0)
    };
    let scenario = bandscope_simulation::Scenario::parse(scenario).unwrap();
    let (source, _) = bandscope_simulation::synthesise(&scenario, &request).unwrap();
    let report = analysis(&source).report;
    assert_eq!(report.series.len(), 4);
    let wall: u64 = report.series.iter().map(|one| one.ledger.wall_ns).sum();
    for (kind, cause) in [
        (Kind::TimeAway, Cause::Task("other".into())),
        (Kind::StolenTime, Cause::Host),
    ] {
        let mut findings = report.findings.iter().filter(|one| one.kind == kind);
        let finding = findings.next().unwrap();
        assert_eq!(findings.next(), None, "one for all rates and work kernels");
        let lost: u64 = report
            .series
            .iter()
            .map(|one| one.ledger.gaps_ns[&cause])
            .sum();
        let stated = serde_json::to_value(&finding.evidence).unwrap();
        let off = stated["share"].as_f64().unwrap() / (lost as f64 / wall as f64) - 1.0;
        assert!(off.abs() < 1e-6, "{kind}: {off}");
        let all = report.series.iter().filter_map(|one| one.gaps.as_ref());
        let parts = all
            .flat_map(|gaps| &gaps.causes)
            .filter(|one| one.cause == cause);
        let longest = parts.map(|one| one.longest_ns).fold(0.0, f64::max);
        assert_eq!(stated["longest_ns"].as_f64(), Some(longest));
    }
}
