//! `bistable-pace`: the same work at paces that differ by more than frequency noise, each held for quanta on end.
//!
//! Published: 4174 against 780 counts (5.35 times) on Sapphire Rapids, for milliseconds or for seconds. One work
//! kernel without counters cannot tell a hidden state of the core from a lower frequency, so this is `likely` at best, and
//! `possible` where a step of frequency would do.

use super::frequency_steps::is_frequency;
use super::{Case, Phenomenon, name, name_rate};
use crate::report::{Band, Certainty, Evidence, Finding};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: "bistable-pace",
    recognise,
    // Bands of one machine agree within the spread of its frequency.
    same: &[("ns_per_unit", 0.03)],
    settle: name_rate,
    consequence: |_, series| {
        series.ledger.pace_ns.unsplit as f64 / (series.ledger.wall_ns as f64).max(1.0)
    },
};

/// Bands further apart than this are paces of their own.
const APART: f64 = 1.05;
/// Quanta that a stay must last; one that is cut off by the file's end may last longer than it shows.
const DWELL: f64 = 3.0;
const CUT_DWELL: f64 = 2.0;
/// Share of changes with at most one edge quantum.
const SHARP: f64 = 0.8;
/// Turbo and idle states of one core seldom differ by more in frequency.
const FREQUENCY: f64 = 1.5;
/// Share of the quanta below which a pace is a curiosity of the machine's noise.
const SMALLEST: f64 = 0.005;

/// One pace: the bands within [`APART`] of each other.
struct Pace {
    ns_per_unit: f64,
    share: f64,
    median_dwell_s: f64,
    held: bool,
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let paces: Vec<Pace> = paces(case)
        .into_iter()
        .filter(|pace| pace.share >= SMALLEST)
        .collect();
    let apart = paces.len() >= 2 && paces.iter().all(|pace| pace.held);
    if !apart || case.seen.sharp_share < SHARP || is_frequency(&case.series.bands, &case.seen.stays)
    {
        return Vec::new();
    }
    let numbers = |of: fn(&Pace) -> f64| Evidence::Numbers(paces.iter().map(of).collect());
    let (fastest, slowest) = (&paces[0], &paces[paces.len() - 1]);
    let ratio = slowest.ns_per_unit / fastest.ns_per_unit;
    let list: Vec<String> = paces
        .iter()
        .map(|pace| {
            format!(
                "{:.2} ns ({:.1} % of the quanta)",
                pace.ns_per_unit,
                pace.share * 100.0
            )
        })
        .collect();
    vec![Finding {
        kind: "bistable-pace",
        series: vec![case.index],
        certainty: if ratio > FREQUENCY { Certainty::Likely } else { Certainty::Possible },
        summary: format!(
            "The same work runs at {} paces on {}: {} per unit, a ratio of {ratio:.2}, with no gap between.",
            paces.len(),
            name(case.series),
            list.join(", "),
        ),
        evidence: [
            ("ns_per_unit", numbers(|pace| pace.ns_per_unit)),
            ("shares", numbers(|pace| pace.share)),
            ("median_dwells_s", numbers(|pace| pace.median_dwell_s)),
        ]
        .into(),
        next_step: Some(
            "bandscope record --kernel mulss80,ftq-float20-stack: a register chain that keeps its pace while the \
             other changes rules out the frequency"
                .to_owned(),
        ),
    }]
}

fn paces(case: Case<'_>) -> Vec<Pace> {
    let mut paces: Vec<Pace> = Vec::new();
    let mut last = 0.0;
    for (band, stays) in case.series.bands.iter().zip(&case.seen.stays) {
        let least = if stays.cut { CUT_DWELL } else { DWELL };
        let held = stays.median_quanta >= least;
        match paces
            .last_mut()
            .filter(|_| band.ns_per_unit <= last * APART)
        {
            Some(pace) => join(pace, band, held),
            None => paces.push(Pace {
                ns_per_unit: band.ns_per_unit,
                share: band.share,
                median_dwell_s: band.median_dwell_s,
                held,
            }),
        }
        last = band.ns_per_unit;
    }
    paces
}

fn join(pace: &mut Pace, band: &Band, held: bool) {
    let share = pace.share + band.share;
    pace.ns_per_unit = (pace.ns_per_unit * pace.share + band.ns_per_unit * band.share) / share;
    pace.median_dwell_s = pace.median_dwell_s.max(band.median_dwell_s);
    pace.share = share;
    pace.held |= held;
}
