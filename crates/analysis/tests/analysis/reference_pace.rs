//! The reference pace: one for all rates of a CPU, not moved by what does not last; losses against it, and the bonus.

use crate::support::{Loop, analysis, assert_near, none, tick};
use bandscope_recording::Quanta;
use bandscope_recording::source::InMemory;
use bandscope_report::{Kind, Report, Series};
use bandscope_simulation::{Scenario, request, synthesise};

/// Ticks of a unit of 141 ns.
const UNIT: f64 = 324.3;
/// Ticks of a second.
const SECOND: f64 = 2.3e9;

/// Units that take `ratio` of the usual for the first `share` of each tenth of a second.
fn at_times(ratio: f64, share: f64) -> impl FnMut(f64, u64) -> f64 {
    move |from, _| match (from / (0.1 * SECOND)).fract() < share {
        true => UNIT * ratio,
        false => UNIT,
    }
}

/// Share of the wall time that was lost besides gaps, all series together.
fn lost_besides_gaps(report: &Report) -> f64 {
    let sum = |of: fn(&Series) -> u64| report.series.iter().map(of).sum::<u64>() as f64;
    sum(|one| one.ledger.pace_ns.total()) / sum(|one| one.ledger.wall_ns)
}

fn bonus(report: &Report) -> f64 {
    let sum = |of: fn(&Series) -> u64| report.series.iter().map(of).sum::<u64>() as f64;
    sum(|one| one.ledger.bonus_ns) / sum(|one| one.ledger.wall_ns)
}

#[test]
fn a_thousandth_of_turbo_is_a_bonus_and_sets_no_scale() {
    for (share, ratio) in [(0.001, 0.95), (0.01, 0.9), (0.04, 0.97)] {
        let source = Loop::new(10_000.0, 20_000).run(at_times(ratio, share), none);
        let report = analysis(&source).report;
        let best = report.series[0].best_pace.as_ref().unwrap();
        assert_near(best.ns_per_unit, 141.0, 1e-4);
        assert!(
            lost_besides_gaps(&report) < 1e-4,
            "{:?}",
            report.series[0].ledger
        );
        let gained = share * (1.0 / ratio - 1.0);
        assert_near(bonus(&report), gained, 0.05);
        let said = report.verdict.contains("A faster pace at times gained");
        assert_eq!(said, gained > 1e-3, "{}", report.verdict);
    }
    // A tenth of the time is what the CPU can be held to.
    let source = Loop::new(10_000.0, 20_000).run(at_times(0.95, 0.1), none);
    let report = analysis(&source).report;
    assert_near(
        report.series[0].best_pace.as_ref().unwrap().ns_per_unit,
        133.95,
        1e-3,
    );
    assert_near(lost_besides_gaps(&report), 0.9 * 0.05, 0.02);
    assert!(bonus(&report) < 1e-4);
}

#[test]
fn all_rates_of_a_cpu_have_one_reference() {
    // The fast pace fell into the segments of one rate alone, as chance has it in a run of 2 s.
    let mut source = Loop::new(10_000.0, 10_000).run(at_times(0.9, 0.4), none);
    let other = Loop::new(7777.0, 7777).run(|_, _| UNIT, none);
    source.series.extend(other.series);
    source.quanta.extend(other.quanta);
    source.gaps.extend(other.gaps);
    let report = analysis(&source).report;
    let best = |index: usize| report.series[index].best_pace.as_ref().unwrap().ns_per_unit;
    assert_near(best(0), 126.9, 1e-3);
    assert_eq!(best(0), best(1));
    assert_near(
        report.series[1].ledger.pace_ns.total() as f64 / report.series[1].ledger.wall_ns as f64,
        0.1,
        0.01,
    );
    // Another CPU has its own.
    source.series[1].cpu = Some(2);
    let report = analysis(&source).report;
    assert_near(
        report.series[1].best_pace.as_ref().unwrap().ns_per_unit,
        141.0,
        1e-4,
    );
}

#[test]
fn what_gaps_take_from_the_work_beside_them_is_given_back() {
    // Each gap is measured 230 ticks (100 ns) too long.
    const AHEAD: u64 = 230;
    let run = |known: Option<f64>| {
        let mut source = Loop::new(10_000.0, 20_000).run(|_, _| UNIT, tick(3000.0, 4000.0));
        source.manifest.kernels[0].read_ahead_ticks = known;
        let quanta = &mut source.quanta[0];
        for k in 0..quanta.len() {
            quanta.gap_ticks[k] += u64::from(quanta.gaps[k]) * AHEAD;
        }
        analysis(&source).report.series.remove(0)
    };
    let series = run(Some(AHEAD as f64));
    assert_eq!(series.bands.len(), 1, "{:?}", series.bands);
    let gaps = series.gaps.as_ref().unwrap();
    assert_near(gaps.lost_ns as f64, gaps.number as f64 * 4000.0, 1e-3);
    assert!(series.ledger.bonus_ns < 1000, "{:?}", series.ledger);
    // Without it every gap costs 100 ns more.
    let gaps = run(None).gaps.unwrap();
    assert_near(gaps.lost_ns as f64, gaps.number as f64 * 4100.0, 1e-3);
}

#[test]
fn few_units_beside_gaps_make_no_band() {
    // 15 gaps of 6 us in the first 100 us of each 2 ms leave a tenth of that quantum, which looks 12 % too fast.
    let mut source = Loop::new(10_000.0, 20_000).run(
        |_, _| UNIT,
        |from, to| {
            let burst = (from / (2e-3 * SECOND)).fract() < 0.048;
            let next = (to / (6.6e-6 * SECOND)).floor() > (from / (6.6e-6 * SECOND)).floor();
            if burst && next { 6000.0 * 2.3 } else { 0.0 }
        },
    );
    let quanta = &mut source.quanta[0];
    let bursts = |quanta: &Quanta| quanta.gaps.iter().filter(|&&gaps| gaps > 8).count();
    assert!(bursts(quanta) > 900);
    for k in 0..quanta.len() {
        quanta.gap_ticks[k] += u64::from(quanta.gaps[k]) * 90;
    }
    let report = analysis(&source).report;
    assert_eq!(
        report.series[0].bands.len(),
        1,
        "{:?}",
        report.series[0].bands
    );
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.kind == Kind::Quantisation
                || finding.kind == Kind::PeriodicInterference),
        "{:?}",
        report.findings
    );
}

/// A run of 2 s of a machine with noise and a tick, of whose time a share between nothing and 2 % has a pace that is 3 % faster.
fn run_of_2_s(seed: u64) -> InMemory {
    let scenario = format!("tick:hz=250,cost=3us+noise:sigma=0.2%,seed={seed}");
    let mut request = request(&[10_000.0, 7_777.0], &["mulss80"], 2.0);
    request.segment_s = 0.25;
    let (mut recording, _) = synthesise(&Scenario::parse(&scenario).unwrap(), &request).unwrap();
    let rare = [0, 1, 3, 10, 20][(seed % 5) as usize];
    for quanta in &mut recording.quanta {
        change_pace(quanta, |k| k % 1000 < rare, 0.97);
    }
    recording
}

#[test]
fn runs_of_one_machine_lose_the_same_and_an_added_loss_shows() {
    let runs: Vec<InMemory> = (0..10).map(run_of_2_s).collect();
    let lost = |source: &InMemory| lost_besides_gaps(&analysis(source).report);
    let before: Vec<f64> = runs.iter().map(lost).collect();
    let (lowest, highest) = (
        before.iter().copied().fold(1.0, f64::min),
        before.iter().copied().fold(0.0, f64::max),
    );
    assert!(highest - lowest <= 0.005, "{before:?}");
    // 11 % of the time at a pace 10 % slower is 1 % lost.
    for (mut run, before) in runs.into_iter().zip(before) {
        for quanta in &mut run.quanta {
            change_pace(quanta, |k| (500..610).contains(&(k % 1000)), 1.1);
        }
        let added = lost(&run) - before;
        assert!((0.008..=0.012).contains(&added), "{added}");
    }
}

/// Makes the pace of the quanta that `which` names `ratio` times as slow: they do so much less in the same time, and the rest of a unit is carried over.
fn change_pace(quanta: &mut Quanta, which: impl Fn(usize) -> bool, ratio: f64) {
    let mut carried = 0.0;
    for k in (0..quanta.len()).filter(|&k| which(k)) {
        let done = f64::from(quanta.count[k].saturating_sub(quanta.gaps[k])) / ratio + carried;
        carried = done.fract();
        quanta.count[k] = done as u32 + quanta.gaps[k];
    }
}
