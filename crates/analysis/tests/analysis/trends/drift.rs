//! Quanta of another length than their nominal one: truncated, or in wrong ticks.

use super::{report, simulated};
use crate::evidence::{number, only, text};
use crate::support::{analysis, as_counts};
use bandscope_recording::source::InMemory;
use bandscope_report::{Certainty, Kind};

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

/// Where a quantum is nearly a whole number of units, starts creep through one in each segment, at one pace in all alike.
#[test]
fn segments_that_creep_through_a_unit_do_not_drift() {
    const SEGMENT: usize = 10_000;
    let (mut recording, _) = simulated("quiet", &[10_000.0], &["mulss80"], 8.0);
    let quanta = &mut recording.quanta[0];
    let (first, last) = (quanta.start[0], quanta.start[quanta.len() - 1]);
    let quantum = (last - first) as f64 / (quanta.len() - 1) as f64;
    let unit = quantum / quanta.count[SEGMENT] as f64;
    let start = |k: usize| {
        let crept = (k % SEGMENT) as f64 / SEGMENT as f64 * unit;
        first + (k as f64 * quantum + crept) as u64
    };
    for k in 0..quanta.len() {
        quanta.start[k] = start(k);
        // The last one of a segment ends where the next segment begins.
        quanta.end[k] = start(k + 1);
        quanta.segment[k] = (k / SEGMENT) as u32;
    }
    let report = analysis(&recording).report;
    let drifts = report.findings.iter();
    let drifts: Vec<_> = drifts.filter(|one| one.kind == Kind::ClockDrift).collect();
    assert!(drifts.is_empty(), "{drifts:?}");
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

/// The drifts that are found in a file of `seconds` whose quanta begin `pause_ns` later after each of some quanta.
fn drifts_with_pauses(ppm: f64, seconds: f64, pauses: &[usize], pause_ns: u64) -> Vec<f64> {
    let scenario = format!("drift:ppm={ppm},printed=1");
    let (recording, _) = simulated(&scenario, &[10_000.0], &["mulss80"], seconds);
    let mut file = as_counts_of(recording, 2.0);
    for quanta in &mut file.quanta {
        let shift = |k: usize| pause_ns * pauses.partition_point(|&at| at < k) as u64;
        (quanta.start.iter_mut().enumerate()).for_each(|(k, start)| *start += shift(k));
        (quanta.end.iter_mut().enumerate()).for_each(|(k, end)| *end += shift(k + 1));
    }
    let findings = analysis(&file).report.findings.into_iter();
    let drifts = findings.filter(|finding| finding.kind == Kind::ClockDrift);
    drifts
        .map(|finding| number(&finding, "drift_ppm"))
        .collect()
}

#[test]
fn pauses_that_shift_the_grid_are_no_drift() {
    // Where a program counts to the end of a quantum and begins the next from there, a pause shifts all that follow.
    for pause_ns in [1_000_000, 10_000_000, 100_000_000] {
        let some = |ppm| drifts_with_pauses(ppm, 1.0, &[2_000, 3_000, 5_000, 9_000], pause_ns);
        assert!(some(0.0).is_empty(), "{pause_ns} {:?}", some(0.0));
        let drifts = some(750.0);
        assert!(
            drifts.len() == 1 && (drifts[0] - 750.0).abs() < 1.0,
            "{pause_ns} {drifts:?}"
        );
        // Every tenth of a second of a long file: no stretch is without one.
        let regular: Vec<usize> = (1..200).map(|number| 1_000 * number).collect();
        let drifts = drifts_with_pauses(0.0, 20.0, &regular, pause_ns);
        assert!(drifts.is_empty(), "{pause_ns} {drifts:?}");
    }
}

#[test]
fn pauses_of_a_part_of_a_quantum_are_no_drift() {
    for (number, pause_ns) in [(1, 30_000), (50, 30_000), (500, 10_000), (500, 30_000)] {
        let pauses: Vec<usize> = (1..=number).map(|k| k * 60_000 / (number + 1)).collect();
        let drifts = drifts_with_pauses(0.0, 6.0, &pauses, pause_ns);
        assert!(drifts.is_empty(), "{number} of {pause_ns}: {drifts:?}");
    }
}

#[test]
fn an_absence_that_the_grid_makes_up_for_is_no_drift() {
    let report = report(
        "quota:period=10s,share=0.94",
        &[10_000.0],
        &["mulss80"],
        25.0,
    );
    let drifts = (report.findings.iter()).filter(|finding| finding.kind == Kind::ClockDrift);
    assert_eq!(drifts.count(), 0, "{:?}", report.findings);
}
