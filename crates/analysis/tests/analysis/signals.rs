//! Periodic losses of the simulated machine, of which the truth is known: what they are called, at one rate and at two.

use crate::evidence::{number, of_kind};
use bandscope_analysis::analyse;
use bandscope_report::{Certainty, Finding, Kind, Report};
use bandscope_simulation::machine::request;
use bandscope_simulation::{Scenario, synthesise};

/// The report of a scene of so many seconds, in four segments, or in segments of a second if there are more.
fn report(scene: &str, seed: u64, rates_hz: &[f64], seconds: f64) -> Report {
    let scenario = Scenario::parse(scene)
        .unwrap_or_else(|error| panic!("{scene}: {error}"))
        .with_seed(seed);
    let mut request = request(rates_hz, &["mulss80"], seconds);
    request.segment_s = (seconds / 4.0).min(1.0);
    let (recording, _) = synthesise(&scenario, &request).expect("the scene can be run");
    analyse(&recording, &[])
        .expect("a recording in memory can be read")
        .report
}

const BOTH: [f64; 2] = [10_000.0, 7777.0];

#[test]
fn two_rates_find_a_frequency_above_them() {
    // Twenty seconds, as for the figure to reach (0.02 Hz; docs/method.md, section 11).
    for (seed, hz) in [(1, 15_821.37), (6, 133_331.7)] {
        let scene = format!("tick:hz={hz},cost=60ns+reads:sigma=5ns");
        let report = report(&scene, seed, &BOTH, 20.0);
        let aliases = of_kind(&report, Kind::Alias);
        assert_eq!(aliases.len(), 1, "{scene}: {:?}", report.findings);
        assert_eq!(aliases[0].certainty, Certainty::Certain, "{aliases:?}");
        let found = number(aliases[0], "frequency_hz");
        assert!((found - hz).abs() < 0.02, "{scene}: {found}");
        for other in of_kind(&report, Kind::PeriodicInterference) {
            assert_eq!(other.certainty, Certainty::Possible, "{scene}: {other:?}");
        }
    }
}

/// What folds back to near a whole number of quanta at one rate does not do so at the other one.
#[test]
fn what_one_of_two_rates_folds_is_no_page() {
    let report = report("tick:hz=67654.506769,cost=105.3ns", 331_005, &BOTH, 20.0);
    assert_eq!(
        of_kind(&report, Kind::Alias).len(),
        1,
        "{:?}",
        report.findings
    );
    assert_eq!(
        of_kind(&report, Kind::SamplingArtefact),
        [] as [&Finding; 0]
    );
}

/// At each rate another harmonic of a train below half of both stands out.
#[test]
fn a_folded_harmonic_is_no_alias() {
    let scene = "pages:quanta=64,cost=53ns+tick:hz=2305.503133,cost=236ns,phase=167.187us+noise:sigma=0.02%+reads:sigma=5ns+tasks:hz=2";
    let report = report(scene, 766_158, &BOTH, 7.0);
    assert_eq!(of_kind(&report, Kind::Alias), [] as [&Finding; 0]);
    let found = of_kind(&report, Kind::PeriodicInterference);
    let likely = found.iter().find(|one| one.certainty == Certainty::Likely);
    let hz = likely.map(|one| number(one, "frequency_hz"));
    assert!(
        hz.is_some_and(|hz| (hz - 2305.503133).abs() < 0.05),
        "{found:?}"
    );
}

#[test]
fn a_page_keeps_its_period_in_quanta() {
    for (seed, quanta) in [(1, 256.0), (2, 64.0)] {
        let scene = format!("pages:quanta={quanta},cost=200ns+reads");
        let report = report(&scene, seed, &BOTH, 2.0);
        let pages = of_kind(&report, Kind::SamplingArtefact);
        assert_eq!(pages.len(), 1, "{scene}: {:?}", report.findings);
        assert_eq!(pages[0].certainty, Certainty::Certain);
        let period = number(pages[0], "period_quanta");
        assert!((period - quanta).abs() < 1e-3 * quanta, "{scene}: {period}");
        assert_eq!(
            of_kind(&report, Kind::PeriodicInterference),
            [] as [&Finding; 0]
        );
        assert_eq!(of_kind(&report, Kind::Alias), [] as [&Finding; 0]);
    }
}

#[test]
fn a_page_at_one_rate_is_likely() {
    let report = report("pages:quanta=256,cost=200ns+reads", 5, &[10_000.0], 2.0);
    let pages = of_kind(&report, Kind::SamplingArtefact);
    assert_eq!(pages.len(), 1, "{:?}", report.findings);
    assert_eq!(pages[0].certainty, Certainty::Likely);
    assert_eq!(
        of_kind(&report, Kind::PeriodicInterference),
        [] as [&Finding; 0]
    );
}

/// On a machine without any noise, what a page costs is fifty times the mean loss and more.
#[test]
fn what_a_page_costs_is_stated_whole() {
    for quanta in [64.0, 256.0, 1024.0] {
        let scene = format!("pages:quanta={quanta},cost=200ns");
        // Folding takes 24 periods.
        let report = report(&scene, 3, &[10_000.0], 3.0);
        let pages = of_kind(&report, Kind::SamplingArtefact);
        assert_eq!(pages.len(), 1, "{scene}: {:?}", report.findings);
        let cost = number(pages[0], "ns_per_event");
        assert!((cost - 200.0).abs() < 20.0, "{scene}: {cost}");
    }
}

#[test]
fn a_tick_below_the_threshold_of_gaps_is_interference() {
    for (seed, hz) in [(1, 1000.0), (2, 250.0)] {
        let scene = format!("tick:hz={hz},cost=200ns+reads");
        let report = report(&scene, seed, &BOTH, 2.0);
        let mut found = of_kind(&report, Kind::PeriodicInterference);
        found.retain(|finding| finding.certainty >= Certainty::Likely);
        assert_eq!(found.len(), 1, "{scene}: {:?}", report.findings);
        let frequency = number(found[0], "frequency_hz");
        assert!((frequency - hz).abs() < 0.05, "{scene}: {frequency}");
        assert_eq!(
            of_kind(&report, Kind::Alias),
            [] as [&Finding; 0],
            "{scene}"
        );
        assert_eq!(
            of_kind(&report, Kind::SamplingArtefact),
            [] as [&Finding; 0]
        );
    }
}

#[test]
fn paces_that_change_are_no_interference() {
    for (seed, scene) in [
        (1, "flips:period=2ms,dwell=1ms+reads"),
        (2, "flips:period=5ms,dwell=1.7ms,ratio=1.3+reads+noise"),
        (3, "states:dwell=20ms,ratio=2+reads"),
    ] {
        let report = report(scene, seed, &BOTH, 2.0);
        for kind in [
            Kind::PeriodicInterference,
            Kind::SamplingArtefact,
            Kind::Alias,
        ] {
            assert_eq!(of_kind(&report, kind), [] as [&Finding; 0], "{scene}");
        }
    }
}

#[test]
fn noise_has_no_likely_period() {
    for seed in 0..6 {
        for scene in [
            "noise+reads",
            "tasks:hz=200+noise:sigma=0.003",
            "reads:sigma=20ns",
        ] {
            let report = report(scene, seed, &BOTH[..1 + (seed % 2) as usize], 1.0);
            for kind in [
                Kind::PeriodicInterference,
                Kind::SamplingArtefact,
                Kind::Alias,
            ] {
                let likely = of_kind(&report, kind)
                    .into_iter()
                    .filter(|finding| finding.certainty >= Certainty::Likely);
                assert_eq!(
                    likely.count(),
                    0,
                    "{scene}, seed {seed}: {:?}",
                    report.findings
                );
            }
        }
    }
}

/// 285 ns are 0.25 % of a quantum: quanta with n of them and with n + 1 stand apart in the histogram of pace.
#[test]
fn what_splits_the_pace_in_two_is_still_a_frequency() {
    let report = report("tick:hz=17516.27126,cost=285ns", 3, &BOTH, 8.0);
    for series in &report.series {
        assert_eq!(series.bands.len(), 1, "{:?}", series.bands);
    }
    let aliases = of_kind(&report, Kind::Alias);
    assert_eq!(aliases.len(), 1, "{:?}", report.findings);
    assert_eq!(aliases[0].certainty, Certainty::Certain, "{aliases:?}");
    let found = number(aliases[0], "frequency_hz");
    assert!((found - 17_516.271_26).abs() < 0.05, "{found}");
}

/// Paces that are held are two bands, however near: 0.3 % is less than a gap in each quantum, too.
#[test]
fn paces_that_are_held_stay_two_bands() {
    for scene in [
        "flips:ratio=1.003,period=11.3ms,dwell=3.1ms",
        "flips:ratio=1.003,period=1.13ms,dwell=0.41ms",
    ] {
        let report = report(scene, 4, &[10_000.0], 2.0);
        assert_eq!(report.series[0].bands.len(), 2, "{scene}");
    }
}
