//! Changes of pace in time: edges, what they recur on, and what is said of them, over generated recordings and published ones.

use crate::evidence::{number, numbers, of_kind, only};
use crate::support::analysis;
use bandscope_analysis::context::Context;
use bandscope_analysis::derive::Deriver;
use bandscope_analysis::detector::Detector;
use bandscope_analysis::passes::survey::Survey;
use bandscope_analysis::passes::{First, Second};
use bandscope_recording::source::InMemory;
use bandscope_report::{Certainty, Kind, Report};
use bandscope_simulation::truth::Truth;
use bandscope_simulation::{Scenario, request, synthesise};

pub fn report(scenario: &str, rates: &[f64], kernels: &[&str], seconds: f64) -> (Report, Truth) {
    let scenario = Scenario::parse(scenario).unwrap();
    let (source, mut truths) = synthesise(&scenario, &request(rates, kernels, seconds)).unwrap();
    (analysis(&source).report, truths.remove(0))
}

#[test]
fn the_driving_period_is_found_at_either_rate() {
    // The published X: 2 ms and 5 ppm against the quanta; and periods that are no multiple of them, under noise.
    for (scenario, period, dwell) in [
        ("flips:period=2.00001ms", 2.00001e-3, 1e-3),
        (
            "flips:period=7.3004ms,dwell=2.1ms,phase=0.31ms+noise:sigma=0.002,seed=3",
            7.3004e-3,
            2.1e-3,
        ),
        (
            "flips:period=5.0002ms,dwell=0.412ms,ratio=1.5,phase=0.2ms+reads:sigma=20ns,seed=1",
            5.0002e-3,
            0.412e-3,
        ),
    ] {
        for rate in [10_000.0, 7777.0] {
            let (report, _) = report(scenario, &[rate], &["ftq-o2"], 2.0);
            let finding = only(&report, Kind::MovingEdges);
            let found = number(finding, "period_s");
            // 0.02 ppm in 40 s; the error of a slope falls with the 1.5th power of the time.
            assert!(
                (found / period - 1.0).abs() < 0.02e-6 * 20f64.powf(1.5),
                "{scenario} at {rate}: {found}"
            );
            assert!(
                (found - period).abs() < 6.0 * number(finding, "uncertainty_s") + 1e-11,
                "{finding:?}"
            );
            let found = number(finding, "dwell_s");
            assert!(
                (found - dwell).abs() < 0.2e-6,
                "{scenario} at {rate}: {found}"
            );
        }
    }
}

/// The published X: edges keep to milliseconds, and it is the quanta that are 5 ppm short.
#[test]
fn an_x_of_truncated_quanta_turns_as_well() {
    let (report, _) = report(
        "clock:ghz=1.999999999+truncation+flips",
        &[10_000.0],
        &["ftq-o2"],
        2.0,
    );
    let finding = only(&report, Kind::MovingEdges);
    assert!(
        (number(finding, "drift_ppm") - 5.0).abs() < 0.25,
        "{finding:?}"
    );
    assert!(
        (number(finding, "turn_s") - 20.0).abs() < 1.0,
        "{finding:?}"
    );
}

#[test]
fn an_x_turns_as_its_period_says_and_two_rates_make_it_certain() {
    let (report, _) = report(
        "flips:period=2.00001ms",
        &[10_000.0, 7777.0],
        &["ftq-o2"],
        2.0,
    );
    let finding = only(&report, Kind::MovingEdges);
    assert_eq!(
        (finding.certainty, &finding.series[..]),
        (Certainty::Certain, &[0, 1][..])
    );
    assert!(
        (number(finding, "drift_ppm") - 5.0).abs() < 0.01,
        "{finding:?}"
    );
    assert!(
        (number(finding, "turn_s") - 20.0).abs() < 0.05,
        "{finding:?}"
    );
    assert!(
        (number(finding, "grid_s") - 1.000_005e-3).abs() < 1e-9,
        "{finding:?}"
    );
}

#[test]
fn random_stays_have_no_period() {
    for seed in 0..6 {
        for dwell in ["1ms", "4ms", "20ms"] {
            let scenario = format!("states:dwell={dwell},seed={seed}");
            let (report, _) = report(&scenario, &[10_000.0], &["ftq-o2"], 1.5);
            assert!(
                of_kind(&report, Kind::MovingEdges).is_empty(),
                "{scenario}: {:?}",
                report.findings
            );
            assert!(of_kind(&report, Kind::Migration).is_empty());
        }
    }
}

/// Edges of the first series: seconds, and whether they rose.
fn placed(source: &InMemory) -> Vec<(f64, bool)> {
    let context = Context::new(&source.manifest, &source.series[0]);
    let (mut first, mut deriver) = (First::new(&context), Deriver::new(&context));
    source.quanta[0].for_each_chunk(&mut |chunk| {
        deriver.feed(chunk, None, |derived| first.push(derived));
    });
    let modes = first.modes(&context);
    let survey = Survey::new(first, modes, &context);
    let extent = survey.totals.extent.unwrap();
    let (mut second, mut deriver) = (
        Second::new(&survey, extent, &[], &context),
        Deriver::new(&context),
    );
    source.quanta[0].for_each_chunk(&mut |chunk| {
        deriver.feed(chunk, Some(&survey.levels), |derived| second.push(derived));
    });
    second.edges.finish(&[]);
    let kept = second.edges.kept().iter();
    kept.map(|edge| (context.seconds(edge.ticks(0)), edge.to < edge.from))
        .collect()
}

#[test]
fn nine_edges_in_ten_are_found_to_a_microsecond() {
    for scenario in [
        "states:dwell=3ms,seed=1+noise:sigma=0.002,seed=2",
        "states:dwell=2ms,ratio=2,seed=4+noise:sigma=0.001,seed=5",
        "flips:period=2.00001ms+reads:sigma=20ns,seed=1",
        "flips:period=3.3ms,dwell=0.31ms",
    ] {
        for rate in [10_000.0, 7777.0] {
            let parsed = Scenario::parse(scenario).unwrap();
            let (source, truths) =
                synthesise(&parsed, &request(&[rate], &["ftq-o2"], 1.0)).unwrap();
            let found = placed(&source);
            let end = truths[0].segments[0].end;
            let changes = truths[0]
                .paces
                .iter()
                .filter(|change| change.source == Some(0) && change.at < end);
            let (mut all, mut errors) = (0, Vec::new());
            for change in changes {
                let (at, rises) = (change.at / 2e9, change.slowdown <= 1.0);
                all += 1;
                let error = found
                    .iter()
                    .filter(|edge| edge.1 == rises)
                    .map(|edge| edge.0 - at)
                    .min_by(|a, b| a.abs().total_cmp(&b.abs()));
                errors.extend(error.filter(|error| error.abs() < 10e-6));
            }
            assert!(
                errors.len() as f64 >= 0.9 * f64::from(all),
                "{scenario}, {rate}: {} of {all}",
                errors.len()
            );
            let sd = (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64)
                .sqrt();
            assert!(sd <= 1e-6, "{scenario}, {rate}: {sd}");
        }
    }
}

#[test]
fn shares_of_the_time_are_true_to_half_a_percent() {
    for scenario in [
        "states:dwell=3ms,seed=1+noise:sigma=0.002,seed=2",
        "states:dwell=2ms,ratio=1.5,seed=4+reads:seed=2",
        "flips:period=5.1ms,dwell=0.35ms+tick:hz=1000,cost=2.5us,phase=0.1ms",
    ] {
        let (report, truth) = report(scenario, &[10_000.0], &["ftq-o2"], 2.0);
        let finding = only(&report, Kind::BistablePace);
        let mut changes = truth
            .paces
            .iter()
            .filter(|change| change.source == Some(0))
            .collect::<Vec<_>>();
        let end = truth.segments.last().unwrap().end;
        changes.retain(|change| change.at < end);
        let (mut slow, mut since, mut factor) = (0.0, 0.0, 1.0);
        for change in &changes {
            slow += if factor > 1.0 { change.at - since } else { 0.0 };
            (since, factor) = (change.at, change.slowdown);
        }
        slow += if factor > 1.0 { end - since } else { 0.0 };
        let shares = numbers(finding, "shares");
        assert!(
            (shares[1] - slow / end).abs() < 0.005,
            "{scenario}: {shares:?}, {}",
            slow / end
        );
    }
}

#[test]
fn a_second_work_kernel_decides_what_changes() {
    // Only what goes through memory has two paces.
    let (mine, _) = report(
        "states:dwell=20ms,memory=1,seed=2",
        &[10_000.0],
        &["ftq-o2", "mulss80"],
        4.0,
    );
    let finding = only(&mine, Kind::BistablePace);
    assert_eq!(
        (finding.certainty, &finding.series[..]),
        (Certainty::Certain, &[0][..])
    );
    assert!(finding.next_step.is_none());
    // All work slows by the same ratio.
    let (all, _) = report(
        "states:dwell=20ms,ratio=1.2,seed=2",
        &[10_000.0],
        &["ftq-o2", "mulss80"],
        4.0,
    );
    assert!(
        of_kind(&all, Kind::BistablePace).is_empty(),
        "{:?}",
        all.findings
    );
    let (one, _) = report(
        "states:dwell=20ms,ratio=1.2,seed=2",
        &[10_000.0],
        &["ftq-o2"],
        4.0,
    );
    assert_eq!(
        only(&one, Kind::BistablePace).certainty,
        Certainty::Possible
    );
}

#[test]
fn a_short_pattern_alternates_and_long_ones_and_interrupts_do_not() {
    for rate in [10_000.0, 7777.0] {
        let (report, _) = report("alternate", &[rate], &["mulss80"], 1.0);
        let finding = only(&report, Kind::AlternatingBands);
        assert_eq!(finding.certainty, Certainty::Likely);
        assert_eq!(number(finding, "pattern_quanta"), 4.0);
        assert_eq!(numbers(finding, "shares"), [0.25, 0.75]);
        let paces = numbers(finding, "ns_per_unit");
        assert!((paces[0] / paces[1] - 0.987).abs() < 2e-4, "{paces:?}");
        assert!(
            of_kind(&report, Kind::MovingEdges).is_empty()
                && of_kind(&report, Kind::BistablePace).is_empty()
        );
    }
    // Nor are the lines of a pattern losses of something else.
    let (pattern, _) = report("alternate:ratio=1.0167", &[7777.0], &["mulss80"], 4.0);
    only(&pattern, Kind::AlternatingBands);
    assert!(of_kind(&pattern, Kind::PeriodicInterference).is_empty());
    // As a file of counts a slow quantum in four could be an interruption, but not at two rates.
    for (rates, certainty) in [
        (&[1e4][..], Certainty::Possible),
        (&[1e4, 7777.0], Certainty::Likely),
    ] {
        let scenario = Scenario::parse("alternate:ratio=1.02+clock:ghz=2.3").unwrap();
        let (source, _) = synthesise(&scenario, &request(rates, &["mulss80"], 1.0)).unwrap();
        let found = analysis(&crate::support::as_counts(source)).report;
        assert_eq!(only(&found, Kind::AlternatingBands).certainty, certainty);
    }
    for scenario in [
        "quiet",
        "unit:ratio=1.3",
        "alternate:period=16",
        "pages:quanta=4,cost=100ns",
        "tick:hz=2500,cost=2.5us",
        "tick:hz=5000,cost=300ns",
        "tick:hz=346.387,cost=371ns+noise:sigma=0.00031,seed=17",
        "flips",
    ] {
        let (report, _) = report(scenario, &[10_000.0, 7777.0], &["mulss80"], 2.0);
        let found = of_kind(&report, Kind::AlternatingBands);
        assert!(
            found
                .iter()
                .all(|finding| finding.certainty < Certainty::Likely),
            "{scenario}: {found:?}"
        );
        if scenario != "flips" {
            assert!(
                of_kind(&report, Kind::MovingEdges).is_empty(),
                "{scenario}: {:?}",
                report.findings
            );
        }
    }
}

#[test]
fn a_phase_that_steps_is_a_migration() {
    let (stepped, truth) = report(
        "flips:period=2.00001ms+jump:every=0.5",
        &[10_000.0],
        &["ftq-o2"],
        2.0,
    );
    let finding = only(&stepped, Kind::Migration);
    assert_eq!(finding.certainty, Certainty::Possible);
    assert!(
        (number(finding, "jump_s") - 300e-6).abs() < 1e-6,
        "{finding:?}"
    );
    let first = truth.jumps[0].at / 2e9;
    assert!(
        (number(finding, "first_s") - first).abs() < 4e-3,
        "{finding:?} {first}"
    );
    assert!(
        (number(only(&stepped, Kind::MovingEdges), "period_s") / 2.00001e-3 - 1.0).abs() < 1e-6
    );
    let (moved, truth) = report("flips+jump:every=0.5,cpu=1", &[10_000.0], &["ftq-o2"], 2.0);
    let finding = only(&moved, Kind::Migration);
    assert_eq!(finding.certainty, Certainty::Certain);
    let end = truth.segments.last().unwrap().end;
    let changes = truth.jumps.iter().filter(|jump| jump.at < end).count();
    assert_eq!(number(finding, "changes"), changes as f64);
}

#[test]
fn a_tick_at_the_edges_does_not_blur_the_dwell_where_gaps_are_known() {
    for scenario in [
        "flips:period=2ms,dwell=1.0036ms+tick:hz=1000,cost=2.5us",
        "flips:period=2.1ms,dwell=1.05ms,phase=0.03ms+tick:hz=2500,cost=2.5us,phase=0.01ms",
    ] {
        for rate in [10_000.0, 7777.0] {
            let (report, _) = report(scenario, &[rate], &["ftq-o2"], 1.0);
            let finding = only(&report, Kind::MovingEdges);
            let dwell = if scenario.contains("1.0036") {
                1.0036e-3
            } else {
                1.05e-3
            };
            assert!(
                (number(finding, "dwell_s") - dwell).abs() < 0.2e-6,
                "{scenario}, {rate}: {finding:?}"
            );
        }
    }
}

#[test]
fn isolated_quanta_between_levels_are_edge_pairs() {
    let (report, truth) = report("states:dwell=4ms,seed=1", &[10_000.0], &["ftq-o2"], 1.0);
    let finding = only(&report, Kind::EdgePairs);
    assert_eq!(finding.certainty, Certainty::Certain);
    assert!(
        number(finding, "number") > 0.85 * (truth.paces.len() - 1) as f64,
        "{finding:?}"
    );
    for count in numbers(finding, "counts") {
        assert!((781.0..4173.0).contains(&count));
    }
}
