//! The figures that cases/README.md states of published files, and what is known of two real recordings.

use crate::support::{analysis, assert_near, published};
use bandscope_report::{Basis, Certainty, Kind, Report, WarningKind};

fn report(name: &str) -> Report {
    analysis(&published(name)).report
}

fn paces(report: &Report) -> Vec<f64> {
    report.series[0]
        .bands
        .iter()
        .map(|band| band.ns_per_unit)
        .collect()
}

#[test]
fn sapphire_rapids_a_has_two_paces_and_a_dwell_of_a_tick() {
    let report = report("spr-10khz-a.dat");
    let paces = paces(&report);
    assert_eq!(paces.len(), 2, "{paces:?}");
    assert_near(paces[0], 23.96, 0.0005);
    assert_near(paces[1], 128.2, 0.0005);
    assert_near(paces[1] / paces[0], 5.35, 0.001);
    // Nine whole quanta and the shares of the edge quanta 2830 and 2000.
    assert_near(report.series[0].bands[1].median_dwell_s, 1003.6e-6, 0.0002);
    let stays: Vec<u64> = report.series[0]
        .bands
        .iter()
        .map(|band| band.stays)
        .collect();
    assert_eq!(stays, [2, 1]);
    // A change of pace is no interference: nothing is booked to gaps.
    let ledger = &report.series[0].ledger;
    assert!(ledger.gaps_ns.is_empty(), "{ledger:?}");
    assert_eq!(ledger.basis, Basis::Inferred);
}

#[test]
fn sapphire_rapids_b_has_a_third_pace_between() {
    let report = report("spr-10khz-b.dat");
    let paces = paces(&report);
    assert_eq!(paces.len(), 3, "{paces:?}");
    // In twenty rows 4119 and 4166 are one band, as are 1311 and 1344, and 780 and 789.
    assert_near(paces[0], 24.1, 0.01);
    assert_near(paces[1], 75.3, 0.015);
    assert_near(paces[2], 127.5, 0.01);
    let bands = &report.series[0].bands;
    for (band, members) in bands
        .iter()
        .zip([[24.008, 24.279], [74.31, 76.30], [126.76, 128.2]])
    {
        for member in members {
            let distance = (member / band.ns_per_unit - 1.0f64).abs();
            assert!(
                distance < 2.1 * band.half_width,
                "{member} lies outside of {band:?}"
            );
        }
    }
}

#[test]
fn twenty_rows_are_likely_at_best() {
    for name in [
        "spr-10khz-a.dat",
        "spr-10khz-b.dat",
        "aligned-interference.dat",
    ] {
        let report = report(name);
        let bistable: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.kind == Kind::BistablePace)
            .collect();
        assert_eq!(bistable.len(), 1, "{name}: {:?}", report.findings);
        assert!(
            report
                .findings
                .iter()
                .all(|finding| finding.certainty < Certainty::Certain)
        );
        assert!(
            report
                .warnings
                .iter()
                .any(|warning| warning.kind == WarningKind::ShortSeries)
        );
    }
}

#[test]
fn aligned_interference_has_two_levels_and_no_edge() {
    let report = report("aligned-interference.dat");
    let bands = &report.series[0].bands;
    assert_eq!(bands.len(), 2, "{bands:?}");
    assert_near(bands[0].count, 4174.0, 0.0005);
    assert_near(bands[1].count, 780.0, 0.0005);
    // Every quantum lies in one of them.
    assert_near(bands.iter().map(|band| band.share).sum(), 1.0, 1e-9);
    assert_eq!(report.series[0].clock.drift_ppm, None);
    assert!(report.series[0].signals.is_empty());
}

/// A part of a recording of Raptor Cove, cut to one series: what is slow in it is known from elsewhere (docs/method.md, section 8.8).
fn cut(name: &str) -> Report {
    let path = format!("{}/tests/cases/{name}", env!("CARGO_MANIFEST_DIR"));
    let recording = bandscope_recording::read::open(path.as_ref()).unwrap();
    bandscope_analysis::analyse(&recording, &[name.into()])
        .unwrap()
        .report
}

/// The host slowed all CPUs at once, the kernel's interrupts included: that is no state of a loop, and no interrupt helps.
#[test]
fn a_clock_held_back_is_no_state_of_the_core() {
    let report = cut("clock-held-back");
    let kinds: Vec<Kind> = report.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&Kind::FrequencySteps), "{kinds:?}");
    assert!(!kinds.contains(&Kind::BistablePace), "{kinds:?}");
    assert!(!kinds.contains(&Kind::InterruptHelps), "{kinds:?}");
    let held = |finding: &&bandscope_report::Finding| finding.kind == Kind::FrequencySteps;
    let finding = report.findings.iter().find(held).unwrap();
    assert_eq!(finding.certainty, Certainty::Likely);
}

/// Store bypass was forbidden to this loop for one of two seconds: it is five times slower, and nothing else is.
#[test]
fn a_state_of_the_core_is_no_clock_held_back() {
    let report = cut("store-bypass");
    let kinds: Vec<Kind> = report.findings.iter().map(|finding| finding.kind).collect();
    assert!(!kinds.contains(&Kind::FrequencySteps), "{kinds:?}");
    // One segment of each is no proof.
    let by_switch = |finding: &&bandscope_report::Finding| finding.kind == Kind::BistablePace;
    let finding = report.findings.iter().find(by_switch).unwrap();
    assert!(finding.summary.starts_with("Store bypass decides"));
    assert_eq!(finding.certainty, Certainty::Likely);
}
