//! Figures and lines of the ledger of two series, each with the same of their blocks.

use super::{Delta, Figure, SMALL_LOSS, SMALL_SHARE, Unit, delta};
use crate::blocks::{Block, Blocks};
use bandscope_report::{Cause, Gaps, Ledger, Series};
use std::collections::BTreeSet;

/// The same of each block of both.
fn each(of: &[Blocks; 2], figure: impl Fn(&Block, &Blocks) -> Option<f64>) -> [Vec<f64>; 2] {
    [0, 1].map(|side| of[side].each(|block| figure(block, &of[side])))
}

pub(super) fn over(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

/// A band of less than this share of the quanta is not what a series can keep.
const KEPT: f64 = 0.01;

/// The count of a quantum at the fastest band that holds [`KEPT`]: what the fraction has for 1. Not the highest count, which luck and rounding set, nor
/// that of the fullest band, which may be a slow one.
fn full_count(series: &Series) -> Option<f64> {
    let kept = series.bands.iter().filter(|band| band.share >= KEPT);
    let counts = kept.map(|band| band.count).filter(|count| *count > 0.0);
    let fastest = counts.reduce(f64::max);
    fastest.or_else(|| {
        let mean = series.units as f64 / series.quanta.max(1) as f64;
        series
            .fraction
            .and_then(|fraction| over(mean, fraction.of_main_band))
    })
}

/// `fraction`, `pace`, `lost`, `gaps`, `longest-gap`, `longest-gap-of-a-block`, as far as both have them.
pub(super) fn figures(series: [&Series; 2], of: &[Blocks; 2]) -> Vec<Delta> {
    let of_work = [fraction(series, of), pace(series, of)];
    let mut figures: Vec<Delta> = of_work.into_iter().flatten().collect();
    if let [Some(a), Some(b)] = series.map(|series| series.gaps.as_ref()) {
        figures.extend(of_gaps(series, of, [a, b]));
    }
    figures
}

fn fraction(series: [&Series; 2], of: &[Blocks; 2]) -> Option<Delta> {
    let [Some(a), Some(b)] = series.map(full_count) else {
        return None;
    };
    let whole = [a, b];
    let mean = |side: usize| series[side].units as f64 / series[side].quanta.max(1) as f64;
    let fractions = [0, 1].map(|side| mean(side) / whole[side]);
    let of_blocks =
        [0, 1].map(|side| of[side].each(|block| over(block.units, block.quanta * whole[side])));
    Some(delta(
        Figure::Fraction,
        Unit::Share,
        fractions,
        of_blocks,
        SMALL_SHARE,
    ))
}

fn pace(series: [&Series; 2], of: &[Blocks; 2]) -> Option<Delta> {
    // Of counts alone the time away is not known quantum by quantum, and would stand in the pace.
    if !series.iter().all(|series| series.gaps_known) {
        return None;
    }
    let all = |figure: fn(&Block) -> f64, side: usize| -> f64 {
        of[side].blocks.iter().map(figure).sum()
    };
    let [Some(a), Some(b)] = [0, 1].map(|side| {
        over(
            all(|block| block.present, side),
            all(|block| block.present_units, side) * of[side].ticks_per_ns,
        )
    }) else {
        return None;
    };
    let of_blocks = each(of, |block, all| {
        over(block.present, block.present_units * all.ticks_per_ns)
    });
    Some(delta(
        Figure::Pace,
        Unit::NsPerUnit,
        [a, b],
        of_blocks,
        SMALL_SHARE * a,
    ))
}

fn of_gaps(series: [&Series; 2], of: &[Blocks; 2], gaps: [&Gaps; 2]) -> [Delta; 4] {
    let lost =
        [0, 1].map(|side| gaps[side].lost_ns as f64 / (series[side].duration_s * 1e9).max(1.0));
    let lost = delta(
        Figure::Lost,
        Unit::Share,
        lost,
        each(of, |block, _| over(block.gap_loss, block.wall)),
        SMALL_LOSS / 1e9,
    );
    let number = delta(
        Figure::Gaps,
        Unit::PerSecond,
        gaps.map(|gaps| gaps.per_second),
        each(of, |block, all| {
            over(block.gaps * all.ticks_per_ns * 1e9, block.wall)
        }),
        SMALL_SHARE * gaps[0].per_second,
    );
    // A maximum has no interval; those of blocks have, and without a change of theirs one gap has changed and not the machine.
    let maxima = each(of, |block, all| {
        Some(block.longest / all.ticks_per_ns / 1e9)
    });
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let typical = delta(
        Figure::LongestGapOfBlock,
        Unit::Seconds,
        [mean(&maxima[0]), mean(&maxima[1])],
        maxima,
        SMALL_LOSS / 1e9,
    );
    let [a, b] = gaps.map(|gaps| gaps.longest.first().map_or(0.0, |gap| gap.ns / 1e9));
    let longest = Delta {
        name: Figure::LongestGap,
        unit: Unit::Seconds,
        a,
        b,
        interval: None,
        changed: typical.changed && (b - a) * (typical.b - typical.a) > 0.0,
    };
    [lost, number, longest, typical]
}

/// Each line of both ledgers, per second of wall time.
pub(super) fn ledger(series: [&Series; 2], of: &[Blocks; 2]) -> Vec<Delta> {
    let [work, pace] = work_and_pace(series, of);
    let line = |figure: Figure, of_ledger: fn(&Ledger) -> f64, blocks: [Vec<f64>; 2]| {
        let values = per_second(series, series.map(|series| of_ledger(&series.ledger)));
        delta(figure, Unit::NsPerSecond, values, blocks, SMALL_LOSS)
    };
    let none = || [Vec::new(), Vec::new()];
    let mut lines = vec![
        line(
            Figure::Work,
            |ledger| (ledger.work_ns + ledger.bonus_ns) as f64,
            work,
        ),
        line(
            Figure::Pace,
            |ledger| ledger.pace_ns.total() as f64 - ledger.bonus_ns as f64,
            pace,
        ),
    ];
    let parts = [
        line(
            Figure::PaceOfFrequency,
            |ledger| ledger.pace_ns.frequency as f64,
            none(),
        ),
        line(
            Figure::PaceOfMicroarchitecture,
            |ledger| ledger.pace_ns.microarchitecture as f64,
            none(),
        ),
    ];
    lines.extend(
        parts
            .into_iter()
            .filter(|part| [part.a, part.b] != [0.0; 2]),
    );
    lines.extend(causes(series, of));
    lines.push(line(
        Figure::Measurement,
        |ledger| ledger.measurement_ns as f64,
        none(),
    ));
    lines.push(line(
        Figure::Unexplained,
        |ledger| ledger.unexplained_ns as f64,
        none(),
    ));
    lines
}

fn per_second(series: [&Series; 2], ns: [f64; 2]) -> [f64; 2] {
    [0, 1].map(|side| ns[side] / series[side].duration_s.max(1e-9))
}

/// Of each block: what its units take at the best pace, and what the time without gaps is longer.
fn work_and_pace(series: [&Series; 2], of: &[Blocks; 2]) -> [[Vec<f64>; 2]; 2] {
    let best = series.map(|series| {
        series
            .best_pace
            .as_ref()
            .map_or(0.0, |best| best.ns_per_unit)
    });
    let of_units = |block: &Block, side: usize, units: f64| {
        units * best[side] * of[side].ticks_per_ns * 1e9 / block.wall.max(1.0)
    };
    let work = [0, 1].map(|side| of[side].each(|block| Some(of_units(block, side, block.units))));
    // Of the time without gaps, what units at the best pace do not take. Where the pace was faster it is less than nothing, as in no ledger:
    // blocks do not know which of their quanta were.
    let pace = [0, 1].map(|side| {
        of[side].each(|block| {
            Some(
                block.present * 1e9 / block.wall.max(1.0)
                    - of_units(block, side, block.present_units),
            )
        })
    });
    [work, pace]
}

/// A line for each cause of gaps that either ledger has.
fn causes(series: [&Series; 2], of: &[Blocks; 2]) -> Vec<Delta> {
    let ledgers = series.map(|series| &series.ledger.gaps_ns);
    let causes: BTreeSet<&Cause> = ledgers.iter().flat_map(|gaps| gaps.keys()).collect();
    let line = |cause: &Cause| {
        let ns = ledgers.map(|gaps| gaps.get(cause).copied().unwrap_or(0) as f64);
        // Causes that only rates gave a name, or that stand together, are in no block.
        let known =
            (of.iter().flat_map(|all| &all.blocks)).any(|block| block.causes.contains_key(cause));
        let of_blocks = match known {
            true => each(of, |block, _| {
                over(
                    block.causes.get(cause).copied().unwrap_or(0.0) * 1e9,
                    block.wall,
                )
            }),
            false => [Vec::new(), Vec::new()],
        };
        delta(
            Figure::Gap(cause.clone()),
            Unit::NsPerSecond,
            per_second(series, ns),
            of_blocks,
            SMALL_LOSS,
        )
    };
    causes.into_iter().map(line).collect()
}
