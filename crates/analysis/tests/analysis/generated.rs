//! Generated recordings, of which the truth is known.

use crate::support::{Loop, Random, analysis, as_counts, assert_near, counts_only, none, tick};
use bandscope_recording::source::InMemory;
use bandscope_report::{Basis, Cause, Certainty, Kind, Nature, Origin, PaceOrigin, SeenIn, Series};

fn only(source: &InMemory) -> Series {
    analysis(source).report.series.remove(0)
}

/// Units of 324.3 ticks (141 ns).
fn flat(_: f64, _: u64) -> f64 {
    324.3
}

#[test]
fn a_flat_series_loses_nothing() {
    let series = only(&Loop::new(10_000.0, 20_000).run(flat, none));
    assert_eq!(series.bands.len(), 1, "{:?}", series.bands);
    assert_near(series.bands[0].ns_per_unit, 141.0, 1e-5);
    assert_near(series.bands[0].share, 1.0, 1e-9);
    let best = series.best_pace.unwrap();
    assert!(best.undisturbed && best.origin == PaceOrigin::Series);
    assert_near(series.ledger.work_ns as f64, 2e9, 1e-5);
    assert!(series.ledger.gaps_ns.is_empty() && series.signals.is_empty());
    for availability in &series.availability {
        assert_near(availability.worst, 1.0, 1e-4);
    }
    assert_eq!(
        series
            .availability
            .iter()
            .map(|a| a.window_s)
            .collect::<Vec<_>>(),
        [1e-3, 1e-2, 1e-1, 1.0]
    );
    assert_near(series.fraction.unwrap().of_main_band, 1.0, 1e-4);
}

#[test]
fn a_self_test_says_what_it_saw_and_sets_nothing() {
    let mut source = Loop::new(10_000.0, 5_000).run(flat, none);
    source.manifest.kernels[0].best_ticks_per_unit = Some(300.0);
    let series = only(&source);
    let best = series.best_pace.unwrap();
    assert_eq!(best.origin, PaceOrigin::Series);
    assert_near(best.ns_per_unit, 141.0, 1e-5);
    assert_near(best.self_test_ns_per_unit.unwrap(), 300.0 / 2.3, 1e-9);
    assert!(series.ledger.pace_ns.total() < series.ledger.wall_ns / 100_000);
}

/// A core reads the clock ahead of the work in flight, so a gap takes some of the time of the units beside it: 3 % of a quantum here.
fn gaps_take_too_much(mut source: InMemory) -> InMemory {
    let quanta = &mut source.quanta[0];
    for k in 0..quanta.len() {
        quanta.gap_ticks[k] += u64::from(quanta.gaps[k]) * 6_900;
    }
    source
}

#[test]
fn quanta_with_gaps_do_not_set_the_best_pace_unless_all_have_them() {
    let best = |hz: f64| {
        let source = Loop::new(10_000.0, 20_000).run(flat, tick(hz, 2500.0));
        let series = only(&gaps_take_too_much(source));
        series.best_pace.unwrap().ns_per_unit
    };
    assert_near(best(1000.0), 141.0, 1e-5);
    // A core that is fast only where it is interrupted: its best pace is not that of the quanta without a gap.
    let fast = |ticks: f64| ((ticks / 2.3e6) as u64).is_multiple_of(2);
    let fast_ticks = |at: f64, _: u64| if fast(at) { 324.3 } else { 648.6 };
    let mut ticks = tick(20_000.0, 2500.0);
    let source = Loop::new(10_000.0, 20_000).run(fast_ticks, move |from, to| {
        let lost = ticks(from, to);
        if fast(from) { lost } else { 0.0 }
    });
    assert_near(only(&source).best_pace.unwrap().ns_per_unit, 141.0, 0.002);
    // Every quantum has a gap: there is nothing else to go by.
    assert_near(best(10_000.0), 141.0 * (1.0 - 0.03 / 0.975), 0.01);
}

#[test]
fn a_tick_is_a_signal_and_its_cost_stands_under_gaps() {
    let series = only(&Loop::new(10_000.0, 50_000).run(flat, tick(1000.0, 2500.0)));
    let gaps = series.gaps.as_ref().unwrap();
    assert!((4990..=5000).contains(&gaps.number), "{}", gaps.number);
    assert_eq!(gaps.detailed, gaps.number);
    assert_near(gaps.per_second, 1000.0, 0.003);
    assert_near(gaps.percentiles[0].ns, 2641.0, 0.002);
    // 2.5 us each, the unit in it is work.
    assert_near(gaps.lost_ns as f64, gaps.number as f64 * 2500.0, 0.001);
    assert_near(series.ledger.gaps_ns[&Cause::Unnamed] as f64, 1.25e7, 0.003);
    assert_eq!(series.bands.len(), 1, "{:?}", series.bands);
    let signal = &series.signals[0];
    assert_near(signal.frequency_hz, 1000.0, 1e-6);
    assert_near(signal.ns_per_event, 2500.0, 0.02);
    assert_eq!(
        (signal.seen_in, series.signals.len()),
        (SeenIn::Gaps, 1),
        "{:?}",
        series.signals
    );
    assert!(signal.p_value < 1e-9 && signal.uncertainty_hz < 0.01);
}

#[test]
fn a_tick_among_random_gaps_is_found() {
    let mut random = Random::new(7);
    let mut ticks = tick(250.0, 3000.0);
    let series = only(&Loop::new(10_000.0, 50_000).run(flat, |from, to| {
        let away = ticks(from, to);
        let more = if random.unit() < 300.0 * 141e-9 {
            2000.0 + 4000.0 * random.unit()
        } else {
            0.0
        };
        away + more * 2.3
    }));
    let found: Vec<_> = series
        .signals
        .iter()
        .filter(|signal| signal.seen_in == SeenIn::Gaps)
        .collect();
    assert_eq!(found.len(), 1, "{:?}", series.signals);
    assert_near(found[0].frequency_hz, 250.0, 1e-5);
    assert_near(found[0].ns_per_event, 3000.0, 0.15);
}

#[test]
fn random_gaps_have_no_period() {
    for seed in 0..5 {
        let mut random = Random::new(seed);
        let series = only(&Loop::new(10_000.0, 30_000).run(flat, |_, _| {
            if random.unit() < 400.0 * 141e-9 {
                2.3 * 3000.0
            } else {
                0.0
            }
        }));
        assert!(
            series.signals.is_empty(),
            "seed {seed}: {:?}",
            series.signals
        );
    }
}

#[test]
fn a_tick_in_a_file_of_counts_is_a_gap_and_no_band() {
    let source = as_counts(Loop::new(10_000.0, 50_000).run(flat, tick(100.0, 2500.0)));
    let series = only(&source);
    assert_eq!(series.bands.len(), 1, "{:?}", series.bands);
    assert_eq!(series.ledger.basis, Basis::Inferred);
    assert_near(series.ledger.gaps_ns[&Cause::Unnamed] as f64, 1.25e6, 0.05);
    let signal = &series.signals[0];
    assert_near(signal.frequency_hz, 100.0, 1e-3);
    assert_eq!(signal.seen_in, SeenIn::Residual);
    assert_near(signal.ns_per_event, 2500.0, 0.3);
}

/// 24 ns per unit, and 128.2 for 1 ms of every 5.
fn two_paces(now: f64, _: u64) -> f64 {
    let phase = (now / 2.3e6).rem_euclid(5.0);
    2.3 * if phase < 1.0 { 128.2 } else { 24.0 }
}

#[test]
fn two_paces_are_bands_and_not_interference() {
    let recorded = Loop::new(10_000.0, 20_000).run(two_paces, none);
    for source in [recorded.clone(), as_counts(recorded)] {
        let analysis = analysis(&source);
        let series = &analysis.report.series[0];
        assert_eq!(series.bands.len(), 2, "{:?}", series.bands);
        assert_near(series.bands[0].ns_per_unit, 24.0, 0.002);
        assert_near(series.bands[1].ns_per_unit, 128.2, 0.002);
        assert_near(series.bands[1].median_dwell_s, 1e-3, 0.02);
        assert!(series.bands.iter().all(|band| band.nature == Nature::Pace));
        assert_near(series.best_pace.as_ref().unwrap().ns_per_unit, 24.0, 0.002);
        let slow = 0.2 * (1.0 - 24.0 / 128.2);
        assert_near(
            series.ledger.pace_ns.unsplit as f64 / series.ledger.wall_ns as f64,
            slow,
            0.01,
        );
        let gaps: u64 = series.ledger.gaps_ns.values().sum();
        assert!(
            (gaps as f64) < 1e-3 * series.ledger.wall_ns as f64,
            "{:?}",
            series.ledger
        );
        let finding = analysis
            .report
            .findings
            .iter()
            .find(|finding| finding.kind == Kind::BistablePace)
            .unwrap();
        assert_eq!(finding.certainty, Certainty::Likely);
        assert!(finding.next_step.is_some());
    }
}

/// A page artefact: 5 ns every 256 quanta over a noise of 6 ns.
fn page_artefact(rate_hz: f64, seed: u64) -> InMemory {
    let mut random = Random::new(seed);
    let mut last = u64::MAX;
    Loop::new(rate_hz, (rate_hz * 10.0) as usize).run(
        move |_, quantum| {
            // All of it falls on the first unit of a quantum.
            let mut extra = 0.0;
            if quantum != last {
                last = quantum;
                extra = 6.3 * random.normal() + if quantum % 256 == 0 { 5.0 } else { 0.0 };
            }
            (141.0 + extra) * 2.3
        },
        none,
    )
}

#[test]
fn an_artefact_of_the_page_keeps_its_period_in_quanta() {
    let (mut source, second) = (page_artefact(10_000.0, 1), page_artefact(7777.0, 2));
    source.series.extend(second.series);
    source.quanta.extend(second.quanta);
    source.gaps.extend(second.gaps);
    let report = analysis(&source).report;
    for (series, rate) in report.series.iter().zip([10_000.0, 7777.0]) {
        let signal = &series.signals[0];
        assert_near(signal.frequency_hz, rate / 256.0, 1e-3);
        assert_near(signal.ns_per_event, 5.0, 0.4);
        assert_eq!(signal.origin, Origin::Sampling);
    }
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.kind != Kind::PeriodicInterference),
        "{:?}",
        report.findings
    );
}

#[test]
fn the_same_frequency_at_two_rates_is_external() {
    let mut source = Loop::new(10_000.0, 30_000).run(flat, tick(1000.0, 2500.0));
    let second = Loop::new(7777.0, 30_000).run(flat, tick(1000.0, 2500.0));
    source.series.extend(second.series);
    source.quanta.extend(second.quanta);
    source.gaps.extend(second.gaps);
    let report = analysis(&source).report;
    assert!(
        report
            .series
            .iter()
            .all(|series| series.signals[0].origin == Origin::External),
        "{:?}",
        report
            .series
            .iter()
            .map(|series| &series.signals)
            .collect::<Vec<_>>()
    );
}

#[test]
fn neighbouring_counts_of_one_pace_are_quantisation() {
    // 100 us are 710.5 units: 710 and 711 alternate.
    let source = Loop::new(10_000.0, 10_000).run(|_, _| 230_000.0 / 710.5, none);
    let counts = &source.quanta[0].count;
    assert!(counts.contains(&710) && counts.contains(&711));
    let analysis = analysis(&source);
    let bands = &analysis.report.series[0].bands;
    assert_eq!(
        (bands.len(), bands[0].nature),
        (1, Nature::Quantisation),
        "{bands:?}"
    );
    assert_near(bands[0].count, 710.5, 1e-5);
    let finding = &analysis.report.findings[0];
    assert_eq!(
        (finding.kind, finding.certainty),
        (Kind::Quantisation, Certainty::Certain)
    );
}

#[test]
fn starts_on_the_nominal_grid_leave_quantisation_likely() {
    let counts: Vec<u32> = (0..2000).map(|k| 710 + k % 2).collect();
    let starts: Vec<u64> = (0..2000).map(|k| k * 100_000).collect();
    let report = analysis(&counts_only(&counts, &starts)).report;
    assert_eq!(
        report.series[0].bands.len(),
        1,
        "{:?}",
        report.series[0].bands
    );
    assert_eq!(
        (report.findings[0].kind, report.findings[0].certainty),
        (Kind::Quantisation, Certainty::Likely)
    );
}

#[test]
fn a_clock_that_is_wrong_drifts() {
    // The quanta are 750 ppm short of what the rate promises, and 5 % of them start late.
    let mut random = Random::new(3);
    let counts = vec![700; 20_000];
    let starts: Vec<u64> = (0..20_000u64)
        .map(|k| {
            let late = if random.unit() < 0.05 {
                5000.0
            } else {
                140.0 * random.unit()
            };
            (k as f64 * 100_000.0 * (1.0 - 750e-6) + late) as u64
        })
        .collect();
    let series = only(&counts_only(&counts, &starts));
    assert!(
        (series.clock.drift_ppm.unwrap() + 750.0).abs() < 0.2,
        "{:?}",
        series.clock
    );
}

#[test]
fn the_worst_window_is_where_the_cpu_was_away() {
    let mut done = false;
    let source = Loop::new(10_000.0, 30_000).run(flat, |from, _| {
        let away = !done && from > 2.3e9;
        done |= away;
        if away { 2.3 * 5e6 } else { 0.0 }
    });
    let availability = only(&source).availability;
    assert_near(1.0 - availability[3].worst, 0.005, 0.02);
    assert_near(1.0 - availability[1].worst, 0.5, 0.02);
    assert!(availability[0].worst < 0.02, "{availability:?}");
    assert!(
        (availability[1].at_s - 1.0).abs() < 0.011,
        "{availability:?}"
    );
}

#[test]
fn own_cost_is_booked_to_the_measurement_and_not_to_pace() {
    let mut source = Loop::new(10_000.0, 10_000).run(flat, none);
    source.manifest.kernels[0].best_ticks_per_unit = Some(324.0);
    source.manifest.kernels[0].boundary_ticks = Some(50.0);
    let ledger = only(&source).ledger;
    assert_near(ledger.measurement_ns as f64, 10_000.0 * 50.0 / 2.3, 1e-3);
}
