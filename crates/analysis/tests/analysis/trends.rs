//! Levels of a clock, mixtures, drift, warm-up and what interrupts do to the pace, told from their neighbours.

use crate::support::{Loop, Random, analysis, none};
use bandscope_analysis::report::{Certainty, Evidence, Finding, Report};

fn of_kind<'a>(report: &'a Report, kind: &str) -> Option<&'a Finding> {
    report.findings.iter().find(|finding| finding.kind == kind)
}

fn numbers<'a>(finding: &'a Finding, key: &str) -> &'a [f64] {
    match &finding.evidence[key] {
        Evidence::Numbers(numbers) => numbers,
        other => panic!("{key}: {other:?}"),
    }
}

/// Paces that change at random to one of `factors`, each for 15 ms.
fn stays(factors: &[f64], seed: u64) -> Report {
    let mut random = Random(seed);
    let states: Vec<f64> = (0..200)
        .map(|_| factors[random.next() as usize % factors.len()])
        .collect();
    let source = Loop::new(10_000.0, 6_000).run(
        |now, _| 255.0 * states[(now / 2.3e9 / 0.015) as usize % states.len()],
        none,
    );
    analysis(&source).report
}

#[test]
fn steps_of_a_clock_are_told_from_states_of_a_core() {
    for seed in 1..4 {
        let report = stays(&[1.0, 38.0 / 34.0, 38.0 / 33.0, 38.0 / 29.0], seed);
        let found = of_kind(&report, "frequency-steps").unwrap();
        assert_eq!(found.certainty, Certainty::Likely, "{found:?}");
        assert_eq!(of_kind(&report, "bistable-pace"), None);
        assert_eq!(found.evidence["lattice"], Evidence::Number(38.0));
        let expected = [1.0, 34.0 / 38.0, 33.0 / 38.0, 29.0 / 38.0];
        for (ratio, expected) in numbers(found, "ratios").iter().zip(expected) {
            assert!((ratio - expected).abs() < 1e-4, "{found:?}");
        }
        let report = stays(&[1.0, 1.1463, 1.2187, 1.2931], seed);
        assert_eq!(of_kind(&report, "frequency-steps"), None);
        let report = stays(&[1.0, 5.35], seed);
        assert_eq!(of_kind(&report, "frequency-steps"), None);
    }
}
