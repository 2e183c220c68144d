//! Levels of a clock, mixtures, drift, warm-up and what interrupts do to the pace: found in simulated recordings of known truth,
//! with the figures they were made with, and not found in those of their neighbours.

use crate::evidence::{number, numbers, only, text};
use crate::support::{analysis, as_counts, counts_only, published};
use bandscope_recording::source::InMemory;
use bandscope_report::{Certainty, Finding, Kind, Report};
use bandscope_simulation::{Scenario, Truth, request, synthesise};

/// The six kinds that are proven here.
const KINDS: [Kind; 6] = [
    Kind::ClockDrift,
    Kind::FrequencySteps,
    Kind::InterruptHelps,
    Kind::InterruptedLoop,
    Kind::SubLoopMixture,
    Kind::WarmUp,
];

/// A recording of `seconds` in segments of a quarter of a second.
fn simulated(scenario: &str, rates: &[f64], kernels: &[&str], seconds: f64) -> (InMemory, Truth) {
    let scenario = Scenario::parse(scenario).unwrap();
    let mut request = request(rates, kernels, seconds);
    request.segment_s = 0.25;
    let (recording, mut truths) = synthesise(&scenario, &request).unwrap();
    (recording, truths.remove(0))
}

fn report(scenario: &str, rates: &[f64], kernels: &[&str], seconds: f64) -> Report {
    analysis(&simulated(scenario, rates, kernels, seconds).0).report
}

/// What is `likely` or better among the six.
fn believed(report: &Report) -> Vec<Kind> {
    let believed = report
        .findings
        .iter()
        .filter(|finding| finding.certainty >= Certainty::Likely && KINDS.contains(&finding.kind));
    believed.map(|finding| finding.kind).collect()
}

#[test]
fn steps_of_a_clock_are_found_with_their_lattice() {
    for (seed, noise) in [(1, "quiet"), (2, "noise:sigma=0.0005")] {
        let scenario = format!("frequency:top=38,low=33,dwell=10ms+{noise}:seed={seed}")
            .replace("0.0005:", "0.0005,");
        let one = report(&scenario, &[10_000.0], &["mulss80"], 1.5);
        let found = only(&one, Kind::FrequencySteps);
        assert_eq!(found.certainty, Certainty::Likely, "{found:?}");
        assert_eq!(number(found, "lattice"), 38.0);
        for (ratio, step) in numbers(found, "ratios")
            .iter()
            .zip([38.0, 37.0, 36.0, 35.0, 34.0, 33.0])
        {
            assert!((ratio * 38.0 - step).abs() < 0.02, "{found:?}");
        }
        // Nothing else may claim these bands.
        assert!(
            one.findings
                .iter()
                .all(|finding| finding.kind != Kind::BistablePace)
        );
        assert_eq!(believed(&one), [Kind::FrequencySteps]);
        // A second work kernel decides it.
        let two = report(&scenario, &[10_000.0], &["mulss80", "ftq-o2"], 2.0);
        let certain = only(&two, Kind::FrequencySteps);
        assert_eq!(certain.certainty, Certainty::Certain, "{certain:?}");
        assert_eq!(
            (&certain.next_step, &certain.series[..]),
            (&None, &[0, 1][..])
        );
    }
}

#[test]
fn states_of_a_core_are_no_steps_of_a_clock() {
    for (seed, ratio) in [(1, 1.2), (2, 1.333), (3, 5.35)] {
        let scenario = format!("states:ratio={ratio},dwell=20ms,seed={seed}");
        for kernels in [&["mulss80"][..], &["mulss80", "ftq-o2"]] {
            let report = report(&scenario, &[10_000.0], kernels, 1.0);
            let certain = report
                .findings
                .iter()
                .any(|f| f.kind == Kind::FrequencySteps && f.certainty == Certainty::Certain);
            assert!(!certain, "{:?}", report.findings);
        }
        let memory = report(
            &format!("{scenario},memory=1"),
            &[10_000.0],
            &["mulss80", "ftq-o2"],
            1.0,
        );
        assert_eq!(believed(&memory), [] as [Kind; 0], "{:?}", memory.findings);
    }
}

#[test]
fn a_band_of_one_inner_loop_is_a_mixture() {
    for (seed, fraction) in [(1, 0.502), (2, 0.484)] {
        let scenario = format!("mixture:fraction={fraction},dwell=5ms,seed={seed}");
        let report = report(&scenario, &[10_000.0], &["ftq-o2"], 0.6);
        let found = only(&report, Kind::SubLoopMixture);
        assert_eq!(found.certainty, Certainty::Likely);
        assert!(
            (number(found, "fraction") - fraction).abs() < 0.003,
            "{found:?}"
        );
        assert!(number(found, "chance") < 0.04);
    }
    for fraction in [0.3, 0.45, 0.6] {
        let scenario = format!("mixture:fraction={fraction},dwell=5ms");
        let other = report(&scenario, &[10_000.0], &["ftq-o2"], 0.6);
        assert_eq!(believed(&other), [] as [Kind; 0], "{:?}", other.findings);
    }
    // A work kernel without inner loops has no such fractions.
    let other = report(
        "mixture:dwell=5ms",
        &[10_000.0],
        &["ftq-float20-stack"],
        0.6,
    );
    assert_eq!(believed(&other), [] as [Kind; 0], "{:?}", other.findings);
}

#[test]
fn the_published_third_pace_is_a_mixture() {
    let report = analysis(&published("spr-10khz-b.dat")).report;
    let found = only(&report, Kind::SubLoopMixture);
    // 74.4 and 76.3 ns are one band in twenty rows, 0.484 and 0.502 of the way.
    assert!(
        (0.484..0.502).contains(&number(found, "fraction")),
        "{found:?}"
    );
    // The file does not say which work kernel it was.
    assert_eq!(found.certainty, Certainty::Possible);
    let report = analysis(&published("spr-10khz-a.dat")).report;
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.kind != Kind::SubLoopMixture)
    );
}

#[test]
fn truncated_quanta_are_told_by_their_lattice() {
    // 2.39824 ticks per ns at 7777 Hz: 308375.98 ticks, truncated by nearly one; and one that is cut by a quarter.
    for (ghz, rate) in [(2.398_24, 7_777.0), (2.000_002_5, 10_000.0)] {
        let (recording, truth) = simulated(
            &format!("truncation+clock:ghz={ghz}"),
            &[rate],
            &["mulss80"],
            1.0,
        );
        let expected = truth.drift_ppm(rate);
        let found_in = analysis(&recording).report;
        let found = only(&found_in, Kind::ClockDrift);
        assert_eq!(
            (&*text(found, "cause"), found.certainty),
            ("truncation", Certainty::Certain),
            "{found:?}"
        );
        let error = (number(found, "drift_ppm") - expected).abs();
        assert!(
            error < 0.05 && error < 5.0 * number(found, "uncertainty_ppm") + 1e-3,
            "{found:?} {expected}"
        );
        // A file of counts does not say how long a tick was.
        let file = analysis(&as_counts_of(recording, ghz)).report;
        let found = only(&file, Kind::ClockDrift);
        assert_eq!(
            (&*text(found, "cause"), found.certainty),
            ("truncation", Certainty::Likely)
        );
    }
    // No rounding: nothing to say, at either rate and with all the noise there is.
    for scenario in ["quiet", "noise:sigma=0.01+reads", "flips", "tasks:hz=200"] {
        let report = report(scenario, &[10_000.0, 7_777.0], &["mulss80"], 1.0);
        assert!(
            report.findings.iter().all(|f| f.kind != Kind::ClockDrift),
            "{scenario}: {:?}",
            report.findings
        );
    }
}

/// As the original FTQ would have printed it.
fn as_counts_of(recording: InMemory, ticks_per_ns: f64) -> InMemory {
    let mut file = recording.clone();
    for (column, quanta) in file.quanta.iter_mut().zip(&recording.quanta) {
        // `as_counts` divides by the 2.3 ticks of its own generator.
        let scaled = |ticks: &u64| (*ticks as f64 * (2.3 / ticks_per_ns)).round() as u64;
        column.start = quanta.start.iter().map(scaled).collect();
        column.end = quanta.end.iter().map(scaled).collect();
    }
    as_counts(file)
}

#[test]
fn wrong_ticks_are_told_from_truncated_ones() {
    for ppm in [750.0, -100.0] {
        // Quanta and times in wrong ticks: only the calibration shows it.
        let seen = report(
            &format!("drift:ppm={ppm}"),
            &[10_000.0, 7_777.0],
            &["mulss80"],
            1.0,
        );
        let found = only(&seen, Kind::ClockDrift);
        assert_eq!(
            (&*text(found, "cause"), found.certainty),
            ("calibration", Certainty::Certain)
        );
        assert!((number(found, "drift_ppm") - ppm).abs() < 0.2, "{found:?}");
        assert_eq!(found.series, [0, 1]);
        // Times in right ticks, quanta in wrong ones: the slope shows it, and nothing says where it comes from.
        let seen = report(
            &format!("drift:ppm={ppm},printed=1"),
            &[10_000.0],
            &["mulss80"],
            1.0,
        );
        let found = only(&seen, Kind::ClockDrift);
        assert_eq!(
            (&*text(found, "cause"), found.certainty),
            ("calibration", Certainty::Likely)
        );
        assert!((number(found, "drift_ppm") - ppm).abs() < 0.2, "{found:?}");
    }
}

#[test]
fn that_a_file_drifts_is_certain_where_the_cause_is_undecided() {
    let (recording, _) = simulated("drift:ppm=750,printed=1", &[10_000.0], &["mulss80"], 1.0);
    let file = analysis(&as_counts_of(recording, 2.0)).report;
    let found = only(&file, Kind::ClockDrift);
    assert_eq!(
        (&*text(found, "cause"), found.certainty),
        ("undecided", Certainty::Certain),
        "{found:?}"
    );
    assert!((number(found, "drift_ppm") - 750.0).abs() < 0.2);
    assert!(found.summary.contains("their grid or the clock is off") && found.next_step.is_some());
}

#[test]
fn a_warm_up_is_found_with_its_length() {
    for (duration, ratio, rates) in [
        (0.18, 1.2, &[10_000.0][..]),
        (0.333, 1.02, &[10_000.0, 7_777.0]),
        (0.104, 1.0, &[7_777.0]),
        (0.4, 1.1, &[7_777.0]),
    ] {
        let scenario = format!("warmup:duration={duration},ratio={ratio}+tick+noise:sigma=0.0005");
        let report = report(&scenario, rates, &["mulss80"], 2.0);
        let found = only(&report, Kind::WarmUp);
        assert_eq!(found.certainty, Certainty::Likely, "{found:?}");
        let error = (number(found, "duration_s") - duration).abs();
        assert!(error <= 0.01, "{duration}: {found:?}");
        // All series of the CPU together.
        assert_eq!(found.series.len(), rates.len());
        // One event, one finding: its slower pace and its end are no others.
        let others = [Kind::BistablePace, Kind::EdgePairs];
        let is_other = |finding: &Finding| others.contains(&finding.kind);
        assert!(!report.findings.iter().any(is_other), "{report:?}");
    }
}

#[test]
fn a_bad_stretch_elsewhere_is_no_warm_up() {
    for scenario in [
        "states:ratio=1.3,dwell=150ms,seed=3",
        "helps:seed=2",
        "frequency:dwell=100ms,seed=5",
        "tasks:hz=100",
        "noise:sigma=0.02,every=20ms",
    ] {
        for seconds in [1.0, 2.0] {
            let report = report(scenario, &[10_000.0], &["mulss80"], seconds);
            assert!(
                report.findings.iter().all(|f| f.kind != Kind::WarmUp),
                "{scenario}: {:?}",
                report.findings
            );
        }
    }
    // Too short to settle: no more than a hint.
    let short = report("warmup:ratio=1.2", &[10_000.0], &["mulss80"], 0.5);
    assert_eq!(believed(&short), [] as [Kind; 0], "{:?}", short.findings);
}

#[test]
fn interrupts_that_help_are_told_from_those_that_do_nothing() {
    for scenario in [
        "helps:hz=100,seed=1",
        "helps:hz=50,ratio=5,decay=8ms,poisson=1,seed=2",
        "helps:hz=250,ratio=1.4,up=0.4,decay=10ms,jitter=0.5,seed=3+noise:sigma=0.001",
    ] {
        let seen = report(scenario, &[10_000.0], &["mulss80"], 2.0);
        let found = only(&seen, Kind::InterruptHelps);
        assert_eq!(found.certainty, Certainty::Likely);
        assert!(
            number(found, "odds_ratio") > 20.0 && number(found, "p_value") < 1e-3,
            "{found:?}"
        );
        let interval = numbers(found, "odds_ratio_interval");
        assert!(
            interval[0] > 4.0 && number(found, "odds_ratio_down") < interval[0],
            "{found:?}"
        );
        assert!(
            !believed(&seen).contains(&Kind::InterruptedLoop),
            "{:?}",
            seen.findings
        );
    }
    for scenario in [
        "states:dwell=10ms,seed=1+tick:hz=1000",
        "states:dwell=10ms,ratio=1.5,seed=2+tick:hz=250,poisson=1",
        // The tick comes with every second rise, and with every change.
        "flips+tick:hz=250",
        "flips+tick:hz=500",
        "flips+tick:hz=1000",
        "interrupted",
        "tick:hz=250,cost=20us",
    ] {
        let report = report(scenario, &[10_000.0], &["mulss80"], 1.5);
        assert!(
            !believed(&report).contains(&Kind::InterruptHelps),
            "{scenario}: {:?}",
            report.findings
        );
    }
}

#[test]
fn a_loop_that_is_slow_after_an_interrupt_is_found_with_its_slope() {
    for (factor, cost, rest) in [
        (3.0, 4.0, "hz=249.3"),
        (6.5, 9.0, "hz=100,poisson=1"),
        (1.5, 2.0, "hz=1000,jitter=0.5"),
    ] {
        let scenario =
            format!("interrupted:factor={factor},cost={cost}us,{rest}+noise:sigma=0.001");
        let (recording, truth) = simulated(&scenario, &[10_000.0], &["mulss80"], 1.5);
        let seen = analysis(&recording).report;
        let found = only(&seen, Kind::InterruptedLoop);
        assert_eq!(found.certainty, Certainty::Likely);
        assert!(
            (number(found, "slope") / factor - 1.0).abs() < 0.03,
            "{found:?}"
        );
        // Half a unit of the slow pace at most hides in the gap.
        assert!(
            (number(found, "intercept_us") - cost).abs() < 0.1 * factor,
            "{found:?}"
        );
        let absences = truth.absences.len() as f64;
        assert!(
            (number(found, "ticks") / absences - 1.0).abs() < 0.1,
            "{found:?} {absences}"
        );
        assert!(
            number(found, "slow_samples") > 0.8 * number(found, "ticks"),
            "{found:?}"
        );
        assert_eq!(believed(&seen), [Kind::InterruptedLoop]);
    }
    // Interrupts that come with the ends of the quanta slow nothing down; at another rate they do.
    let scenario = "interrupted:factor=3,hz=250";
    let seen = report(scenario, &[10_000.0], &["mulss80"], 1.0);
    assert_eq!(believed(&seen), [] as [Kind; 0]);
    let seen = report(scenario, &[10_000.0, 7_777.0], &["mulss80"], 2.0);
    assert_eq!(
        only(&seen, Kind::InterruptedLoop).certainty,
        Certainty::Likely
    );
    for scenario in [
        "tick:hz=250,cost=20us",
        "tick:hz=1000,cost=2us,poisson=1+noise:sigma=0.003",
        "tasks:hz=200,mean=200us",
        "flips+tick:hz=500",
        "flips:ratio=1.5+tick:hz=1000",
        "states:dwell=10ms+tick:hz=250",
    ] {
        let report = report(scenario, &[10_000.0], &["mulss80"], 1.0);
        assert!(
            !believed(&report).contains(&Kind::InterruptedLoop),
            "{scenario}: {:?}",
            report.findings
        );
    }
}

#[test]
fn little_is_found_in_little() {
    for rows in [1usize, 2, 10, 100] {
        let starts: Vec<u64> = (0..rows as u64).map(|k| k * 100_000).collect();
        for counts in [vec![0; rows], vec![4174; rows], vec![u32::MAX; rows]] {
            let report = analysis(&counts_only(&counts, &starts)).report;
            assert_eq!(believed(&report), [] as [Kind; 0], "{:?}", report.findings);
        }
    }
}
