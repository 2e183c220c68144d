//! Trains of losses in files of counts: a quantum is all that is known of when, and one file does not decide.

use crate::support::{analysis, as_counts, counts_only};
use crate::trains::{assert_trains, periods};
use bandscope_analysis::analyse;
use bandscope_report::{Certainty, Report};
use bandscope_simulation::{Scenario, request, synthesise};

/// Files of counts of a scene, one a rate.
fn report(scene: &str, rates_hz: &[f64]) -> Report {
    let scenario = Scenario::parse(scene).unwrap();
    let mut runs = rates_hz.iter().map(|&rate_hz| {
        let run = request(&[rate_hz], &["mulss80"], 6.0);
        synthesise(&scenario, &run).unwrap().0
    });
    let mut source = runs.next().unwrap();
    for run in runs {
        source.series.extend(run.series);
        source.quanta.extend(run.quanta);
    }
    // `as_counts` takes 2.3 ticks for a nanosecond.
    let scale = 2.3 / source.manifest.clock.ticks_per_ns;
    for quanta in &mut source.quanta {
        let times = quanta.start.iter_mut().chain(&mut quanta.end);
        times.for_each(|tick| *tick = (*tick as f64 * scale).round() as u64);
    }
    let mut source = as_counts(source);
    for series in &mut source.series {
        series.origin = format!("{}.dat", series.rate_hz);
    }
    analyse(&source, &[]).unwrap().report
}

fn assert_all(report: &Report, certainty: Certainty) {
    for finding in periods(report) {
        assert_eq!(finding.certainty, certainty, "{}", finding.summary);
    }
}

#[test]
fn one_file_may_have_a_train() {
    for rate_hz in [10_000.0, 7777.0] {
        let scene = "tick:hz=250,cost=29us,phase=310us+noise:sigma=0.02%+reads:sigma=5ns";
        let report = report(scene, &[rate_hz]);
        assert_trains(&report, &[(250.0, 29e3)]);
        assert_all(&report, Certainty::Possible);
    }
}

#[test]
fn two_files_show_each_train_of_a_crowd_at_its_own_cost() {
    let scene = "tick:hz=1000,cost=23us,phase=250us+timed-device:hz=400,cost=17us,phase=565us+timed-device:hz=300,cost=800ns";
    for beside in [
        "",
        "+bursts:hz=6,gaps=20,every=200us,mean=5us",
        "+heavy-tail:hz=200,least=2us,tail=1.7,most=5ms",
    ] {
        let report = report(&format!("{scene}{beside}"), &[10_000.0, 7777.0]);
        assert_trains(&report, &[(1000.0, 23e3), (400.0, 17e3), (300.0, 800.0)]);
        assert_all(&report, Certainty::Likely);
    }
}

#[test]
fn trains_that_start_together_are_told_apart_by_what_they_cost_alone() {
    let scene = "tick:hz=250,cost=56us+timed-task:hz=125,cost=9.5us+timed-device:hz=300,cost=3us";
    let report = report(scene, &[10_000.0, 7777.0]);
    assert_trains(&report, &[(250.0, 56e3), (125.0, 9.5e3), (300.0, 3e3)]);
}

#[test]
fn what_has_no_period_has_none_in_counts() {
    let scene = "heavy-tail:hz=300,least=2us,tail=1.4,most=10ms+bursts:hz=8,gaps=10,every=300us,mean=8us+reads:sigma=5ns";
    let report = report(scene, &[10_000.0, 7777.0]);
    let found = periods(&report);
    assert!(found.is_empty(), "{found:#?}");
}

/// A pace that flips at random between two bands leaves few events that do not lie between them.
#[test]
fn an_event_between_two_bands_is_one() {
    let scene = "tick:hz=250,cost=29us,phase=310us+states:ratio=1.05,dwell=300us";
    let report = report(scene, &[10_000.0]);
    assert!(
        report.series[0].bands.len() > 1,
        "{:?}",
        report.series[0].bands
    );
    let mut trains = report.series[0].signals.iter();
    let train = trains.find(|signal| (signal.frequency_hz - 250.0).abs() < 1e-3);
    let occupied = train.and_then(|train| train.occupied);
    assert!(occupied >= Some(0.95), "{:?}", report.series[0].signals);
}

/// Whether 2000 quanta of `count` units, some of which hold an absence of `away_ns`, have one pace, and the absences are lost time.
fn assert_lost(count: u32, quantum_ns: u64, away: &[usize], away_ns: u64) {
    let before = |k: usize| away.iter().filter(|&&at| at < k).count() as u64;
    let starts: Vec<u64> = (0..2000)
        .map(|k| k as u64 * quantum_ns + before(k) * away_ns)
        .collect();
    let mut source = counts_only(&vec![count; starts.len()], &starts);
    source.series[0].rate_hz = 1e9 / quantum_ns as f64;
    source.quanta[0].end[1999] = starts[1999] + quantum_ns;
    let report = analysis(&source).report;
    let series = &report.series[0];
    let pace = quantum_ns as f64 / f64::from(count);
    let best = series.best_pace.as_ref().unwrap();
    assert!((best.ns_per_unit / pace - 1.0).abs() < 1e-3, "{best:?}");
    assert_eq!(series.bands.len(), 1, "{:?}", series.bands);
    let ledger = &series.ledger;
    let lost: u64 = ledger.gaps_ns.values().sum();
    let wanted = away.len() as u64 * away_ns;
    assert!(lost.abs_diff(wanted) < quantum_ns, "{ledger:?}");
    assert_eq!((ledger.bonus_ns, ledger.pace_ns.total()), (0, 0));
    assert!(!report.verdict.contains("faster"), "{}", report.verdict);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn a_pause_of_a_file_of_counts_is_lost_time_and_no_pace() {
    const SECOND: u64 = 1_000_000_000;
    let hundred: Vec<usize> = (10..2000).step_by(20).collect();
    for (away, away_ns) in [
        (&[1000][..], 1000 * SECOND),
        (&[1000], 11 * 86_400 * SECOND),
        (&[0], 1000 * SECOND),
        (&[1998], 1000 * SECOND),
        (&[500, 1300], 1000 * SECOND),
        (&hundred, 1000 * SECOND),
    ] {
        assert_lost(5, 100_000, away, away_ns);
        // A unit to a quantum, too, where a quantum may be as long as its unit.
        assert_lost(1, 350_000, away, away_ns);
    }
}

#[test]
fn a_unit_that_outlasts_its_quantum_has_a_pace() {
    // The first half at the nominal rate, then units of five quanta each.
    let starts: Vec<u64> = (0..2000)
        .map(|k| 100_000 * if k < 1000 { k } else { 1000 + 5 * (k - 1000) })
        .collect();
    let report = analysis(&counts_only(&[1; 2000], &starts)).report;
    // One unit a quantum resolves no two bands, but all that was done has a pace.
    let bands = &report.series[0].bands;
    let mean = (1000 * 100 + 999 * 500 + 100) as f64 / 2000.0 * 1e3;
    assert_eq!(bands.len(), 1, "{bands:?}");
    assert!(
        (bands[0].ns_per_unit / mean - 1.0).abs() < 1e-6,
        "{bands:?}"
    );
}
