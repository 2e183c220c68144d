//! Figures and lines of the ledger of two series, each with the same of their blocks.

use super::blocks::{Block, Blocks};
use super::{Delta, SMALL_LOSS, SMALL_SHARE, delta};
use bandscope_report::{Cause, Ledger, Series};
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
    let mut figures = Vec::new();
    if let [Some(a), Some(b)] = series.map(full_count) {
        let whole = [a, b];
        let mean = |side: usize| series[side].units as f64 / series[side].quanta.max(1) as f64;
        let fractions = [0, 1].map(|side| mean(side) / whole[side]);
        let of_blocks =
            [0, 1].map(|side| of[side].each(|block| over(block.units, block.quanta * whole[side])));
        figures.push(delta(
            "fraction",
            "share",
            fractions,
            of_blocks,
            SMALL_SHARE,
        ));
    }
    let all = |figure: fn(&Block) -> f64, side: usize| -> f64 {
        of[side].blocks.iter().map(figure).sum()
    };
    let pace = [0, 1].map(|side| {
        over(
            all(|block| block.present, side),
            all(|block| block.present_units, side) * of[side].ticks_per_ns,
        )
    });
    // Of counts alone the time away is not known quantum by quantum, and would stand in the pace.
    let known = series.iter().all(|series| series.gaps_known);
    if let ([Some(a), Some(b)], true) = (pace, known) {
        let of_blocks = each(of, |block, all| {
            over(block.present, block.present_units * all.ticks_per_ns)
        });
        figures.push(delta("pace", "ns/unit", [a, b], of_blocks, SMALL_SHARE * a));
    }
    let [Some(a), Some(b)] = series.map(|series| series.gaps.as_ref()) else {
        return figures;
    };
    let lost = [0, 1].map(|side| {
        let gaps = [a, b][side];
        gaps.lost_ns as f64 / (series[side].duration_s * 1e9).max(1.0)
    });
    figures.push(delta(
        "lost",
        "share",
        lost,
        each(of, |block, _| over(block.gap_loss, block.wall)),
        SMALL_LOSS / 1e9,
    ));
    let per_second =
        |block: &Block, all: &Blocks| over(block.gaps * all.ticks_per_ns * 1e9, block.wall);
    figures.push(delta(
        "gaps",
        "1/s",
        [a.per_second, b.per_second],
        each(of, per_second),
        0.0,
    ));
    // A maximum has no interval; those of blocks have, and without a change of theirs one gap has changed and not the machine.
    let maxima = each(of, |block, all| {
        Some(block.longest / all.ticks_per_ns / 1e9)
    });
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let typical = delta(
        "longest-gap-of-a-block",
        "s",
        [mean(&maxima[0]), mean(&maxima[1])],
        maxima,
        SMALL_LOSS / 1e9,
    );
    let longest = [a, b].map(|gaps| gaps.longest.first().map_or(0.0, |gap| gap.ns / 1e9));
    figures.push(Delta {
        name: "longest-gap".into(),
        unit: "s",
        a: longest[0],
        b: longest[1],
        interval: None,
        changed: typical.changed && (longest[1] - longest[0]) * (typical.b - typical.a) > 0.0,
    });
    figures.push(typical);
    figures
}

/// Each line of both ledgers, per second of wall time.
pub(super) fn ledger(series: [&Series; 2], of: &[Blocks; 2]) -> Vec<Delta> {
    let per_second = |ns: [f64; 2]| [0, 1].map(|side| ns[side] / series[side].duration_s.max(1e-9));
    let none = || [Vec::new(), Vec::new()];
    let ledgers = series.map(|series| &series.ledger);
    let of_ledgers = |line: fn(&Ledger) -> f64| per_second(ledgers.map(line));
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
    let mut lines = vec![
        delta(
            "work",
            "ns/s",
            of_ledgers(|ledger| (ledger.work_ns + ledger.bonus_ns) as f64),
            work,
            SMALL_LOSS,
        ),
        delta(
            "pace",
            "ns/s",
            of_ledgers(|ledger| ledger.pace_ns.total() as f64 - ledger.bonus_ns as f64),
            pace,
            SMALL_LOSS,
        ),
    ];
    for (name, part) in [
        (
            "pace: frequency",
            (|ledger| ledger.pace_ns.frequency as f64) as fn(&Ledger) -> f64,
        ),
        ("pace: microarchitecture", |ledger| {
            ledger.pace_ns.microarchitecture as f64
        }),
    ] {
        let values = of_ledgers(part);
        if values != [0.0; 2] {
            lines.push(delta(name, "ns/s", values, none(), SMALL_LOSS));
        }
    }
    let causes: BTreeSet<&Cause> = ledgers
        .iter()
        .flat_map(|ledger| ledger.gaps_ns.keys())
        .collect();
    for cause in causes {
        let values = per_second(
            ledgers.map(|ledger| ledger.gaps_ns.get(cause).copied().unwrap_or(0) as f64),
        );
        // Causes that only rates gave a name, or that stand together, are in no block.
        let known = of.iter().any(|all| {
            all.blocks
                .iter()
                .any(|block| block.causes.contains_key(cause))
        });
        let of_blocks = match known {
            true => each(of, |block, _| {
                over(
                    block.causes.get(cause).copied().unwrap_or(0.0) * 1e9,
                    block.wall,
                )
            }),
            false => none(),
        };
        lines.push(delta(
            &format!("gap: {cause}"),
            "ns/s",
            values,
            of_blocks,
            SMALL_LOSS,
        ));
    }
    lines.push(delta(
        "measurement",
        "ns/s",
        of_ledgers(|ledger| ledger.measurement_ns as f64),
        none(),
        SMALL_LOSS,
    ));
    lines.push(delta(
        "unexplained",
        "ns/s",
        of_ledgers(|ledger| ledger.unexplained_ns as f64),
        none(),
        SMALL_LOSS,
    ));
    lines
}
