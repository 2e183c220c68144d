//! Several CPUs measured at once: their ranking, gaps that hit several of them, and paces that hang together; over simulated machines of known truth.

use crate::evidence::{has, number, numbers, of_kind, only, text};
use crate::support::analysis;
use bandscope_recording::manifest::EventsState;
use bandscope_recording::source::InMemory;
use bandscope_recording::{EventKind, Gap, KernelEvent};
use bandscope_report::{Certainty, Kind, Report};
use bandscope_sampler::Request;
use bandscope_simulation::{Scenario, request, synthesise};

fn source(scenario: &str, seed: u64, cpus: u32, rates: &[f64], seconds: f64) -> InMemory {
    let scenario = Scenario::parse(scenario).unwrap().with_seed(seed);
    let request = Request {
        cpus: (0..cpus).collect(),
        ..request(rates, &["mulss80"], seconds)
    };
    synthesise(&scenario, &request).unwrap().0
}

fn report(scenario: &str, seed: u64, cpus: u32, seconds: f64) -> Report {
    analysis(&source(scenario, seed, cpus, &[1e4], seconds)).report
}

/// Random steals of all CPUs, and on each a tick of its own phase.
const STEAL: &str = "host-steal:hz=20,cost=200us,skew=2us+tick:hz=250,cost=3us,skew=500us";

#[test]
fn what_the_host_takes_from_all_at_once_is_found() {
    let report = report(STEAL, 1, 4, 8.0);
    let found = only(&report, Kind::SynchronousGaps);
    assert_eq!(found.series, [0, 1, 2, 3]);
    assert_eq!(found.certainty, Certainty::Likely, "nothing names it");
    assert_eq!(numbers(found, "cpus"), [0.0, 1.0, 2.0, 3.0]);
    // 160 steals, which share 4 ms with a tick of 3 us on each CPU now and then.
    let times = number(found, "number");
    assert!((110.0..215.0).contains(&times), "{times}");
    assert!(number(found, "expected") < 0.2 * times);
    // The range of four numbers within 2 us, and a unit of 0.11 us.
    let skew = number(found, "skew_s");
    assert!((0.8e-6..1.8e-6).contains(&skew), "{skew}");
    assert_eq!(number(found, "most_cpus"), 4.0);
    // 200 us twenty times a second, once or four times; a unit's error at either end.
    let (together, apart) = (number(found, "together"), number(found, "apart"));
    assert!((apart / together - 4.0).abs() < 0.2, "{apart} {together}");
    assert!((together / (times / 8.0 * 201e-6) - 1.0).abs() < 0.05);
    // 4 ms of steals to 0.75 ms of ticks.
    let share = number(found, "share");
    assert!((0.75..0.9).contains(&share), "{share}");
    assert!(!has(found, "frequency_hz"));
    for cpu in &report.cpus {
        let away = cpu.synchronous.unwrap();
        assert!((away - share).abs() < 0.05, "{away}");
    }
}

#[test]
fn a_period_of_what_is_synchronous_is_stated() {
    let report = report("host-steal:hz=100,cost=20us,poisson=0", 3, 3, 8.0);
    let found = only(&report, Kind::SynchronousGaps);
    assert!((number(found, "frequency_hz") - 100.0).abs() < 0.01);
    assert!(
        found.summary.contains("regularly at 100"),
        "{}",
        found.summary
    );
}

#[test]
fn some_cpus_may_be_hit_and_others_not() {
    let mut both = source("host-steal:hz=40+tick:skew=900us", 5, 2, &[1e4], 5.0);
    let others = source("tasks:hz=40,mean=200us", 6, 4, &[1e4], 5.0);
    for (index, series) in others.series.into_iter().enumerate().skip(2) {
        both.series.push(bandscope_recording::Series {
            origin: both.series[0].origin.clone(),
            ..series
        });
        both.quanta.push(others.quanta[index].clone());
        both.gaps.push(others.gaps[index].clone());
    }
    let report = analysis(&both).report;
    let found = only(&report, Kind::SynchronousGaps);
    assert_eq!(found.series, [0, 1], "{}", found.summary);
}

#[test]
fn ticks_are_synchronous_only_where_their_phases_agree() {
    for skew in ["50us", "500us", "1ms", "1.3ms"] {
        let report = report(&format!("tick:hz=250,cost=3us,skew={skew}"), 1, 4, 4.0);
        let found = of_kind(&report, Kind::SynchronousGaps);
        assert!(found.is_empty(), "{skew}: {}", found[0].summary);
    }
    let report = report("tick:hz=250,cost=3us,skew=300ns", 1, 4, 4.0);
    let found = only(&report, Kind::SynchronousGaps);
    assert!((number(found, "frequency_hz") - 250.0).abs() < 0.01);
    assert!((number(found, "skew_s") - 0.9e-6).abs() < 0.3e-6);
    assert!(number(found, "share") > 0.99);
}

#[test]
fn independent_gaps_of_four_cpus_are_never_synchronous() {
    for seed in 0..20 {
        for scenario in [
            "tick:hz=400,cost=10us,poisson=1+tasks:hz=50,mean=300us",
            "tick:hz=1000,cost=4us,jitter=1+tasks:hz=5,mean=5ms",
        ] {
            let report = report(scenario, seed, 4, 2.0);
            let found = of_kind(&report, Kind::SynchronousGaps);
            assert!(found.is_empty(), "{scenario} {seed}: {}", found[0].summary);
            assert!(of_kind(&report, Kind::CoreCoupling).is_empty());
            assert_eq!(report.cpus[0].synchronous, Some(0.0));
        }
    }
}

/// Kernel events that say that each gap is an interrupt from another CPU.
fn named(mut source: InMemory, name: &str) -> InMemory {
    source.manifest.events.state = EventsState::On;
    let event = |gap: &Gap| KernelEvent {
        kind: EventKind::Vector,
        number: 251,
        name: name.into(),
        start: gap.start + 200,
        duration: gap.duration - 400,
        ..KernelEvent::default()
    };
    source.events = source
        .gaps
        .iter()
        .map(|gaps| gaps.iter().map(event).collect())
        .collect();
    source
}

#[test]
fn names_on_every_cpu_make_it_certain() {
    let source = named(
        source("host-steal:hz=100,cost=5us", 2, 3, &[1e4], 4.0),
        "call_function",
    );
    let report = analysis(&source).report;
    let found = only(&report, Kind::SynchronousGaps);
    assert_eq!(found.certainty, Certainty::Certain);
    assert_eq!(text(found, "causes"), "irq:call_function");
    let step = found.next_step.as_deref().unwrap_or("");
    assert!(step.contains("tlb:tlb_flush"), "{step}");
}

#[test]
fn a_pace_that_follows_another_is_found() {
    for (scenario, with, lag) in [
        ("core-coupling:lag=50us", "pace", 50e-6),
        ("core-coupling:lag=3ms,dwell=50ms", "pace", 3e-3),
        ("core-coupling:away=1,lag=20us,dwell=10ms", "gap", 20e-6),
    ] {
        let report = report(
            &format!("{scenario}+tick:hz=250,cost=3us,skew=800us"),
            4,
            4,
            10.0,
        );
        let found = of_kind(&report, Kind::CoreCoupling);
        assert_eq!(found.len(), 2, "{scenario}: {found:?}");
        for (pair, finding) in found.iter().enumerate() {
            let first = finding.series[0];
            assert_eq!(finding.series, [first, first + 1], "{scenario} {pair}");
            assert_eq!(finding.certainty, Certainty::Likely);
            assert_eq!(number(finding, "leader"), first as f64);
            assert_eq!(number(finding, "follower"), first as f64 + 1.0);
            assert!(text(finding, "with").starts_with(with));
            assert!(
                (number(finding, "lag_s") - lag).abs() < 10e-6,
                "{}",
                finding.summary
            );
            assert!((number(finding, "ratio") - 1.25).abs() < 0.01);
        }
    }
}

#[test]
fn paces_of_their_own_are_not_coupled() {
    for seed in 0..5 {
        for scenario in [
            "states:ratio=1.25,dwell=20ms+tick:hz=250",
            "frequency:dwell=20ms",
            "flips:ratio=2",
            "helps:hz=100",
        ] {
            let report = report(scenario, seed, 3, 3.0);
            let found = of_kind(&report, Kind::CoreCoupling);
            // All flips of the simulated machine are in step: constant lags of what is regular say nothing.
            assert!(found.is_empty(), "{scenario} {seed}: {}", found[0].summary);
        }
    }
}

#[test]
fn cpus_are_ranked_by_what_they_lost() {
    let mut all = source("quiet", 1, 1, &[1e4, 7777.0], 2.0);
    for (cpu, scenario) in [
        (1, "tick:hz=1000,cost=20us"),
        (2, "tick:hz=100,cost=20us"),
        (3, "states:ratio=1.5,dwell=100ms"),
    ] {
        let other = source(scenario, 1, 1, &[1e4, 7777.0], 2.0);
        for (index, series) in other.series.into_iter().enumerate() {
            all.series.push(bandscope_recording::Series {
                cpu: Some(cpu),
                origin: all.series[0].origin.clone(),
                ..series
            });
            all.quanta.push(other.quanta[index].clone());
            all.gaps.push(other.gaps[index].clone());
        }
    }
    let report = analysis(&all).report;
    let order: Vec<u32> = report.cpus.iter().map(|cpu| cpu.cpu).collect();
    assert_eq!(order, [0, 2, 1, 3]);
    let noisy = &report.cpus[2];
    assert_eq!(noisy.series, [2, 3]);
    assert!((noisy.gaps - 0.02).abs() < 5e-4 && noisy.pace < 1e-3);
    assert!((noisy.gaps_per_second.unwrap() - 1000.0).abs() < 5.0);
    assert!((noisy.longest_gap_ns.unwrap() - 20_112.0).abs() < 10.0);
    assert_eq!(report.cpus[3].bands, 2);
    assert!(report.cpus[3].availability[0].worst < 0.7);
    // The last digit of its best pace.
    assert!(report.cpus[0].lost < 1e-5);
}

#[test]
fn one_cpu_has_nobody_to_be_compared_with() {
    let report = report(STEAL, 1, 1, 2.0);
    assert_eq!(report.cpus.len(), 1);
    assert_eq!(report.cpus[0].synchronous, None);
    assert!(of_kind(&report, Kind::SynchronousGaps).is_empty());
}
