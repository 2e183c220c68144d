//! Input that says little or the wrong thing: no finding is invented, and a warning says why there is none.

use crate::support::{Loop, analysis, counts_only, none, tick};
use bandscope_recording::source::InMemory;
use bandscope_report::{Certainty, Kind, Report, WarningKind};

/// Nothing is claimed of this input but what rounding explains, and one of `why` is said.
#[track_caller]
fn assert_nothing(name: &str, report: &Report, why: &[&str]) {
    let claimed: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| {
            finding.kind != Kind::Quantisation && finding.certainty > Certainty::Possible
        })
        .collect();
    assert!(claimed.is_empty(), "{name}: {claimed:?}");
    let warnings: Vec<&str> = report
        .warnings
        .iter()
        .map(|warning| warning.kind.name())
        .collect();
    assert!(
        why.is_empty() || why.iter().any(|kind| warnings.contains(kind)),
        "{name}: expected one of {why:?}, found {warnings:?}"
    );
}

fn starts(number: usize, step: u64) -> Vec<u64> {
    (0..number as u64).map(|k| k * step).collect()
}

fn of_counts(counts: &[u32]) -> Report {
    analysis(&counts_only(counts, &starts(counts.len(), 100_000))).report
}

#[test]
fn series_too_short_to_say_anything() {
    for number in [1, 2, 10, 100] {
        // A tick every fourth quantum, and a pace that would flip in a longer run.
        let source = Loop::new(10_000.0, number).run(
            |_, quantum| if quantum % 20 < 10 { 324.3 } else { 1734.0 },
            tick(2500.0, 3000.0),
        );
        let name = format!("{number} quanta");
        let report = analysis(&source).report;
        let certain = report
            .findings
            .iter()
            .find(|f| f.certainty == Certainty::Certain);
        assert!(
            certain.is_none_or(|f| f.kind == Kind::EdgePairs),
            "{name}: {certain:?}"
        );
        assert!(
            report
                .warnings
                .iter()
                .any(|w| w.kind == WarningKind::ShortSeries),
            "{name}"
        );
        if number <= 10 {
            assert_nothing(&name, &report, &["short-series"]);
        }
        let counts: Vec<u32> = source.quanta[0].count.clone();
        assert_nothing(
            &format!("{name} of counts"),
            &of_counts(&counts[..number.min(10)]),
            &["short-series"],
        );
    }
}

#[test]
fn counts_that_never_change() {
    assert_nothing("constant", &of_counts(&[4174; 20_000]), &[]);
    assert_nothing("zeros", &of_counts(&[0; 20_000]), &[]);
    assert!(of_counts(&[0; 20_000]).verdict.contains("no unit of work"));
    assert_nothing("ones", &of_counts(&[1; 20_000]), &[]);
}

#[test]
fn one_band_only() {
    let report = analysis(&Loop::new(10_000.0, 20_000).run(|_, _| 324.3, none)).report;
    assert_nothing("one band", &report, &[]);
    assert_eq!(report.series[0].bands.len(), 1);
}

#[test]
fn counts_near_the_largest_number() {
    let counts: Vec<u32> = (0..20_000).map(|k| u32::MAX - k % 2).collect();
    assert_nothing("largest", &of_counts(&counts), &[]);
    let counts: Vec<u32> = (0..20_000)
        .map(|k| if k % 50 < 25 { u32::MAX } else { u32::MAX / 5 })
        .collect();
    let report = of_counts(&counts);
    assert!(
        report
            .findings
            .iter()
            .all(|f| f.kind != Kind::PeriodicInterference),
        "{:?}",
        report.findings
    );
}

#[test]
fn a_rate_that_the_times_belie() {
    let mut source = Loop::new(10_000.0, 20_000).run(|_, _| 324.3, none);
    source.series[0].rate_hz = 7000.0;
    assert_nothing("wrong rate", &analysis(&source).report, &["rate-mismatch"]);
}

#[test]
fn a_gap_longer_than_the_run() {
    let mut source = Loop::new(10_000.0, 3_000).run(|_, _| 324.3, tick(1.0, 3e5));
    source.gaps[0]
        .iter_mut()
        .for_each(|gap| gap.duration = u64::MAX / 2);
    assert_nothing("gap", &analysis(&source).report, &[]);
}

#[test]
fn two_machines_do_not_settle_each_other() {
    // The same pages at two rates: of one machine this would be decided.
    let (a, b) = (machine(10_000.0, "a"), machine(7_777.0, "b"));
    let joined = InMemory {
        series: [a.series, b.series].concat(),
        quanta: [a.quanta, b.quanta].concat(),
        gaps: [a.gaps, b.gaps].concat(),
        manifest: a.manifest,
        ..InMemory::default()
    };
    let inputs = ["a".to_owned(), "b".to_owned()];
    let report = bandscope_analysis::analyse(&joined, &inputs)
        .unwrap()
        .report;
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.kind == WarningKind::SeveralInputs)
    );
    let certain: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.series.len() > 1 && finding.certainty == Certainty::Certain)
        .collect();
    assert!(certain.is_empty(), "{certain:?}");
}

/// 300 ns more in every 256th quantum, recorded by itself.
fn machine(rate_hz: f64, origin: &str) -> InMemory {
    let mut last = u64::MAX;
    let mut source = Loop::new(rate_hz, 20_000).run(
        |_, quantum| {
            let first = quantum != last && quantum % 256 == 0;
            last = quantum;
            if first { 324.3 + 690.0 } else { 324.3 }
        },
        none,
    );
    source.series[0].origin = origin.into();
    source
}
