//! Trains of losses in files of counts: a quantum is all that is known of when, and one file does not decide.

use crate::support::as_counts;
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
