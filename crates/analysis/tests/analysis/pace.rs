//! Pace told apart by two work kernels that alternate: clock frequency, the core's own doing, or a neighbour on the core.

use crate::edges::report;
use crate::evidence::{number, of_kind};
use crate::support::{Loop, Random, analysis, none, series};
use bandscope_recording::Series;
use bandscope_recording::manifest::{Kernel, Machine, StoreBypassSet};
use bandscope_report::remedies::RemedyKind;
use bandscope_report::{Certainty, Finding, Kind, Report};

const TICKS_PER_US: f64 = 2300.0;

/// Frequency, microarchitecture and unsplit of a work kernel, as shares of its pace.
fn shares(report: &Report, kernel: &str) -> [f64; 3] {
    let series = report.series.iter().find(|one| one.kernel == kernel);
    let pace = series.unwrap().ledger.pace_ns;
    let total = pace.total() as f64;
    assert!(total > 1e6, "{kernel}: {pace:?}");
    [pace.frequency, pace.microarchitecture, pace.unsplit].map(|one| one as f64 / total)
}

#[test]
fn a_state_of_memory_is_the_cores_own() {
    let kernels = ["mulss80", "ftq-o2"];
    let scenario = "flips:period=7.3ms,dwell=2.9ms,memory=1";
    let (report, _) = report(scenario, &[10_000.0], &kernels, 4.0);
    let [frequency, own, _] = shares(&report, "ftq-o2");
    assert!(frequency < 0.002 && own > 0.95, "{frequency} {own}");
    let chain = report.series.iter().find(|one| one.kernel == "mulss80");
    let chain = chain.unwrap().ledger.pace_ns;
    assert_eq!(chain.microarchitecture, 0);
    // Nothing of it is an interruption.
    for series in &report.series {
        assert!(series.ledger.gaps_ns.is_empty(), "{:?}", series.ledger);
    }
}

#[test]
fn a_lower_clock_is_frequency_in_both() {
    let kernels = ["mulss80", "ftq-o2"];
    let scenario = "frequency:top=38,low=30,dwell=10ms";
    let (report, _) = report(scenario, &[10_000.0], &kernels, 8.0);
    for kernel in kernels {
        let [frequency, own, unsplit] = shares(&report, kernel);
        // The two did not see the same steps: their segments alternate.
        assert!(frequency > 0.8, "{kernel}: {frequency}");
        assert!(own < 0.15, "{kernel}: {own}");
        assert!(unsplit < 0.2, "{kernel}: {unsplit}");
    }
}

#[test]
fn one_work_kernel_tells_nothing_apart() {
    for scenario in [
        "flips:period=7.3ms,dwell=2.9ms",
        "frequency:top=38,low=30,dwell=10ms",
    ] {
        let (report, _) = report(scenario, &[10_000.0], &["mulss80"], 1.0);
        assert_eq!(shares(&report, "mulss80"), [0.0, 0.0, 1.0]);
    }
}

/// Two work kernels on one CPU, second by second: a chain of 110 ns and independent additions of 50 ns, which something slows by these
/// ratios for 30 ms of each 100.
fn two_kernels(chain: f64, additions: f64, machine: Machine) -> Report {
    let slow = |from: f64| (from / 2.3e6) % 100.0 < 30.0;
    let unit = |ns: f64, ratio: f64| {
        move |from: f64, _: u64| 2.3 * ns * if slow(from) { ratio } else { 1.0 }
    };
    let generator = Loop::new(10_000.0, 20_000);
    let mut source = generator.run(unit(110.0, chain), none);
    let other = generator.run(unit(50.0, additions), none);
    let kernel = |name: &str, registers_only: bool| Kernel {
        name: name.into(),
        gap_threshold_ticks: 3000,
        registers_only,
        throughput: !registers_only,
        ..Kernel::default()
    };
    source.manifest.kernels = vec![kernel("chain", true), kernel("additions", false)];
    source.manifest.machine = machine;
    source.series.push(Series {
        kernel: "additions".into(),
        ..series(10_000.0)
    });
    source.quanta.extend(other.quanta);
    source.gaps.extend(other.gaps);
    analysis(&source).report
}

#[test]
fn company_on_the_core_slows_what_fills_it_and_leaves_a_chain() {
    let siblings = Machine {
        smt_siblings: [(1, "1,5".to_owned())].into(),
        ..Machine::default()
    };
    let alone = Machine {
        smt_siblings: [(1, "1".to_owned())].into(),
        ..Machine::default()
    };
    let guest = Machine {
        hypervisor: Some("KVM".into()),
        ..alone.clone()
    };
    for (machine, certainty) in [
        (siblings, Certainty::Likely),
        (guest, Certainty::Likely),
        (alone, Certainty::Possible),
    ] {
        let report = two_kernels(1.01, 1.4, machine);
        let found = of_kind(&report, Kind::SmtNeighbour);
        assert_eq!(found.len(), 1, "{:?}", report.findings);
        assert_eq!(
            (found[0].certainty, &*found[0].series),
            (certainty, &[1][..])
        );
        let number = |key: &str| number(found[0], key);
        assert!((number("ratio") - 1.4).abs() < 0.01, "{found:?}");
        assert!((number("share") - 0.3).abs() < 0.01, "{found:?}");
        // Its paces are not the core's own states.
        assert!(of_kind(&report, Kind::BistablePace).is_empty());
    }
}

#[test]
fn smt_is_not_switched_off_where_that_takes_the_cpu_away() {
    let has_remedy = |siblings: &str| {
        let machine = Machine {
            smt_siblings: [(1, siblings.to_owned())].into(),
            ..Machine::default()
        };
        let report = two_kernels(1.01, 1.4, machine);
        let mut remedies = report.remedies.iter();
        remedies.any(|remedy| remedy.kind == RemedyKind::FreeSibling)
    };
    assert!(has_remedy("1,5"));
    assert!(!has_remedy("0-1"));
}

#[test]
fn what_slows_both_is_no_company() {
    for (chain, additions) in [(1.4, 1.4), (1.2, 1.4), (1.0, 1.05), (1.0, 1.0)] {
        let report = two_kernels(chain, additions, Machine::default());
        assert!(
            of_kind(&report, Kind::SmtNeighbour).is_empty(),
            "{chain} {additions}"
        );
    }
}

/// Eight segments, of which the recording forbade store bypass in every other one; units take `without` times as long there.
fn with_store_bypass_switched(without: f64) -> Report {
    let mut source = Loop {
        segments: 8,
        ..Loop::new(10_000.0, 2000)
    }
    .run(
        |_, number| match (number / 2000) % 2 {
            0 => 100.0,
            _ => 100.0 * without,
        },
        none,
    );
    let begin = |segment: u64| segment * 2000 * 230_000;
    source.manifest.store_bypass = (0..8)
        .map(|segment| StoreBypassSet {
            cpu: 1,
            ticks: begin(segment).saturating_sub(10),
            allowed: segment % 2 == 0,
        })
        .collect();
    analysis(&source).report
}

#[test]
fn store_bypass_that_decides_the_pace_is_named_and_none_that_does_not() {
    let report = with_store_bypass_switched(4.9);
    let findings: Vec<_> = of_kind(&report, Kind::BistablePace);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].certainty, Certainty::Certain);
    assert!(findings[0].summary.starts_with("Store bypass decides"));
    for without in [1.0, 1.02] {
        let report = with_store_bypass_switched(without);
        let says = |finding: &&Finding| finding.summary.contains("Store bypass");
        assert_eq!(report.findings.iter().find(says), None, "{without}");
    }
}

/// `record --kernel mulss80,bands-shift` beside a build: one stay of seven quanta at 1.25 times the pace, and hundreds of disturbances of 14 us.
#[test]
fn one_longer_stay_among_short_disturbances_is_no_second_pace() {
    const PULSES: f64 = 900.0;
    let slow_for = |stay_us: f64| {
        let mut random = Random::new(7);
        let mut pulses: Vec<f64> = (0..PULSES as usize)
            .map(|_| 4.6e9 * random.unit())
            .collect();
        pulses.sort_by(f64::total_cmp);
        let mut chain = Loop::new(10_000.0, 20_000).run(
            |start, _| {
                let pulse = pulses.partition_point(|&pulse| pulse <= start);
                let in_pulse = pulse > 0 && start - pulses[pulse - 1] < 14.0 * TICKS_PER_US;
                let in_stay = (0.0..stay_us * TICKS_PER_US).contains(&(start - 1.15e9));
                if in_pulse || in_stay { 212.0 } else { 170.0 }
            },
            none,
        );
        let other = Loop::new(10_000.0, 20_000).run(|_, _| 170.0, none);
        chain.manifest.kernels.push(Kernel {
            name: "other".into(),
            ..chain.manifest.kernels[0].clone()
        });
        chain.series.push(Series {
            kernel: "other".into(),
            ..series(10_000.0)
        });
        chain.quanta.extend(other.quanta);
        chain.gaps.extend(other.gaps);
        let report = analysis(&chain).report;
        let found = of_kind(&report, Kind::BistablePace);
        found.iter().map(|one| one.certainty).collect::<Vec<_>>()
    };
    assert_eq!(slow_for(655.0), []);
    // A tenth of the time is a pace. Company on the core would do that too.
    assert_eq!(slow_for(200e3), [Certainty::Possible]);
}
