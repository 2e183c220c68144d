//! What the report makes of losses that are added to real recordings and files of counts.
//!
//!     cargo run --release -p bandscope-analysis --example added_loss -- RECORDING...
//!
//! What recordings of one machine lose besides gaps, and what the report makes of a loss of 1 %: 11 % of the quanta, in stretches, do a tenth less. Shares are of
//! the time that gaps leave, so that runs compare whatever else the machine does.
//!
//!     cargo run --release -p bandscope-analysis --example added_loss -- --limits RECORDING...
//!
//! Whether the limits that the report states of each input hold: periodic losses at 1.1 times the limit and at a quarter of it are added to that very
//! input, at ten phases, and the report is asked for their frequency.

use bandscope_analysis::analyse;
use bandscope_recording::source::{InMemory, Source};
use bandscope_recording::{Gap, Quanta, inputs::Inputs};
use bandscope_report::{LossLimit, Report, Series};
use std::path::PathBuf;

/// Quanta that are slowed, of each so many.
const SLOWED: std::ops::Range<usize> = 50..61;
const OF: usize = 100;
const RATIO: f64 = 1.1;
/// Phases at which a periodic loss is added.
const PHASES: usize = 10;
/// A search may show a loss by a multiple or a fraction of its frequency.
const MOST_TIMES: u32 = 8;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let limits = words.first().is_some_and(|word| word == "--limits");
    let paths: Vec<PathBuf> = words
        .drain(usize::from(limits)..)
        .map(PathBuf::from)
        .collect();
    match limits {
        true => do_limits_hold(paths),
        false => one_percent(paths),
    }
}

fn do_limits_hold(paths: Vec<PathBuf>) -> Outcome<()> {
    println!(
        "series  frequency  limit, ns  shown at 1.1 times  by its own frequency  at a quarter  of"
    );
    for path in paths {
        let recording = in_memory(&Inputs::open(std::slice::from_ref(&path))?)?;
        let report = analyse(&recording, &[])?.report;
        for (index, series) in report.series.iter().enumerate() {
            for limit in &series.limits.losses {
                if has(series, limit.frequency_hz) {
                    println!("{index}  {}  there already", limit.frequency_hz);
                    continue;
                }
                let (mut shown, mut named, mut below_it) = (0, 0, 0);
                for phase in 0..PHASES {
                    let with = |times: f64| -> Outcome<Series> {
                        let mut with = recording.clone();
                        lose(&mut with, index, series, limit, times, phase);
                        Ok(analyse(&with, &[])?.report.series.remove(index))
                    };
                    let (at, below) = (with(1.1)?, with(0.25)?);
                    shown += usize::from(names(&at, series, limit.frequency_hz, MOST_TIMES));
                    named += usize::from(names(&at, series, limit.frequency_hz, 1));
                    below_it += usize::from(names(&below, series, limit.frequency_hz, MOST_TIMES));
                }
                println!(
                    "{index}  {}  {:.1}  {shown}  {named}  {below_it}  {PHASES}  {}",
                    limit.frequency_hz,
                    limit.ns_per_event,
                    path.display()
                );
            }
        }
    }
    Ok(())
}

/// Whether a report names a frequency.
fn has(series: &Series, hz: f64) -> bool {
    let mut signals = series.signals.iter();
    signals.any(|signal| (signal.frequency_hz / hz - 1.0).abs() < 1e-3)
}

/// Whether it names one that it did not before: this one, or with `most` above 1 one that it is so many times of, or that is so many times it.
fn names(series: &Series, before: &Series, hz: f64, most: u32) -> bool {
    let ratios = (1..=most).flat_map(|times| [f64::from(times), f64::from(times).recip()]);
    let mut related = ratios.map(|ratio| hz * ratio);
    related.any(|hz| has(series, hz) && !has(before, hz))
}

/// Takes a periodic loss out of the counts: the loop does not make up for it, so by the end of a quantum as many units are missing as all losses
/// until then are long. Where gaps are known and it is long enough for one, each is a gap.
fn lose(
    recording: &mut InMemory,
    index: usize,
    series: &Series,
    limit: &LossLimit,
    times: f64,
    phase: usize,
) {
    let ticks_per_ns = recording.manifest.clock.ticks_per_ns;
    let pace = series
        .bands
        .first()
        .map_or(f64::INFINITY, |band| band.ns_per_unit);
    let ns = times * limit.ns_per_event;
    let units = ns / pace;
    let share = phase as f64 / PHASES as f64;
    let turns = |tick: u64| tick as f64 / ticks_per_ns / 1e9 * limit.frequency_hz + share;
    let missing = |tick: u64| (turns(tick).floor() * units + share).floor() as u32;
    let kernel = recording.series[index].kernel.as_str();
    let mut kernels = recording.manifest.kernels.iter();
    let threshold = kernels.find(|one| one.name == kernel);
    let duration = ((ns + pace) * ticks_per_ns) as u64;
    let is_gap = threshold.is_some_and(|one| {
        one.gap_threshold_ticks > 0 && duration > one.gap_threshold_ticks && series.gaps_known
    });
    let (quanta, gaps) = (&mut recording.quanta[index], &mut recording.gaps[index]);
    for k in 0..quanta.len() {
        let (start, end) = (quanta.start[k], quanta.end[k]);
        let fewer = missing(end).saturating_sub(missing(start));
        quanta.count[k] = quanta.count[k].saturating_sub(fewer);
        let first = turns(start).floor() as u64 + 1;
        for turn in first..=turns(end).floor() as u64 {
            if is_gap {
                let at = (turn as f64 - share) / limit.frequency_hz * 1e9 * ticks_per_ns;
                quanta.gaps[k] += 1;
                quanta.gap_ticks[k] += duration;
                gaps.push(Gap {
                    start: (at as u64).clamp(start, end.saturating_sub(duration)),
                    duration,
                    segment: quanta.segment[k],
                    ..Gap::default()
                });
            }
        }
    }
    gaps.sort_by_key(|gap| gap.start);
    // What falls into another one makes that one longer.
    let mut end = 0;
    for gap in gaps {
        gap.start = gap.start.max(end);
        end = gap.start + gap.duration;
    }
}

fn one_percent(paths: Vec<PathBuf>) -> Outcome<()> {
    println!("lost, %  with the loss, %  added, %  reference, ns");
    let mut all = Vec::new();
    for path in paths {
        let mut recording = in_memory(&Inputs::open(std::slice::from_ref(&path))?)?;
        let before = analyse(&recording, &[])?.report;
        let reference = before.series.iter().find_map(|one| one.best_pace.as_ref());
        let (mut slowed, mut total) = (0.0, 0.0);
        for quanta in &mut recording.quanta {
            let (of_these, of_all) = slow_down(quanta);
            slowed += of_these;
            total += of_all;
        }
        let true_loss = slowed / total * (1.0 - 1.0 / RATIO);
        let with = lost(&analyse(&recording, &[])?.report);
        println!(
            "{:7.3}  {:16.3}  {:8.3} of {:.3}  {:.3}  {}",
            lost(&before) * 100.0,
            with * 100.0,
            (with - lost(&before)) * 100.0,
            true_loss * 100.0,
            reference.map_or(0.0, |best| best.ns_per_unit),
            path.display(),
        );
        all.push(lost(&before) * 100.0);
    }
    all.sort_by(f64::total_cmp);
    if let (Some(low), Some(high)) = (all.first(), all.last()) {
        println!("spread of what was lost: {:.3} points", high - low);
    }
    Ok(())
}

/// Share of the time without gaps that was lost to pace.
fn lost(report: &Report) -> f64 {
    let (mut pace, mut present) = (0.0, 0.0);
    for ledger in report.series.iter().map(|one| &one.ledger) {
        pace += ledger.pace_ns.total() as f64;
        present += (ledger.wall_ns - ledger.gaps_ns.values().sum::<u64>()) as f64;
    }
    pace / present
}

/// Time without gaps of the quanta that were slowed, and of all.
fn slow_down(quanta: &mut Quanta) -> (f64, f64) {
    let (mut carried, mut slowed, mut all) = (0.0, 0.0, 0.0);
    for k in 0..quanta.len() {
        let present = quanta.end[k]
            .saturating_sub(quanta.start[k])
            .saturating_sub(quanta.gap_ticks[k]) as f64;
        all += present;
        if SLOWED.contains(&(k % OF)) {
            slowed += present;
            let done = f64::from(quanta.count[k].saturating_sub(quanta.gaps[k])) / RATIO + carried;
            carried = done.fract();
            quanta.count[k] = done as u32 + quanta.gaps[k];
        }
    }
    (slowed, all)
}

fn in_memory(source: &dyn Source) -> Outcome<InMemory> {
    let mut recording = InMemory {
        manifest: source.manifest().clone(),
        series: source.series().to_vec(),
        ..InMemory::default()
    };
    for index in 0..recording.series.len() {
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        source.replay_quanta(index, &mut |chunk| {
            for k in 0..chunk.len() {
                quanta.push(bandscope_recording::Quantum {
                    start: chunk.start[k],
                    end: chunk.end[k],
                    count: chunk.count[k],
                    gaps: chunk.gaps[k],
                    gap_ticks: chunk.gap_ticks[k],
                    measurement_ticks: chunk.measurement_ticks[k],
                    cpu: chunk.cpu[k],
                    segment: chunk.segment,
                });
            }
        })?;
        source.replay_gaps(index, &mut |some| gaps.extend_from_slice(some))?;
        recording.quanta.push(quanta);
        recording.gaps.push(gaps);
    }
    Ok(recording)
}
