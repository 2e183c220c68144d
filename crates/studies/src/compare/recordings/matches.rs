//! What belongs together in two series: bands by their pace, signals by their frequency, findings by their kind.

use super::figures::over;
use super::{BandPair, Figure, FindingPair, SMALL_SHARE, SignalChange, SignalPair, Unit, delta};
use crate::blocks::{Block, Blocks};
use bandscope_report::evidence::{OfKind, PeriodicInterference};
use bandscope_report::{Band, Finding, Kind, Report, Series, Signal};
use std::collections::BTreeSet;

/// Signals are the same within so many standard deviations, and this share.
const SAME_DEVIATIONS: f64 = 5.0;
const SAME_SHARE: f64 = 2e-4;

/// Bands of both, those of the nearest paces held against each other; fastest first.
pub(super) fn bands(series: [&Series; 2], of: &[Blocks; 2]) -> Vec<BandPair> {
    let [a, b] = [&series[0].bands, &series[1].bands];
    let near = |one: &Band, other: &Band| {
        let apart = (one.ns_per_unit / other.ns_per_unit).ln().abs();
        apart <= one.half_width + other.half_width + 0.01
    };
    let mut taken = BTreeSet::new();
    let mut pairs: Vec<(Option<usize>, Option<usize>)> = Vec::new();
    for (place, band) in a.iter().enumerate() {
        let apart = |other: &usize| (band.ns_per_unit / b[*other].ns_per_unit).ln().abs();
        let closest = (0..b.len())
            .filter(|other| !taken.contains(other) && near(band, &b[*other]))
            .min_by(|one, other| apart(one).total_cmp(&apart(other)));
        taken.extend(closest);
        pairs.push((Some(place), closest));
    }
    pairs.extend(
        (0..b.len())
            .filter(|other| !taken.contains(other))
            .map(|other| (None, Some(other))),
    );
    let mut result: Vec<BandPair> = pairs
        .into_iter()
        .map(|(of_a, of_b)| band_pair([of_a, of_b], series, of))
        .collect();
    let pace = |pair: &BandPair| pair.ns_per_unit[0].or(pair.ns_per_unit[1]).unwrap_or(0.0);
    result.sort_by(|one, other| pace(one).total_cmp(&pace(other)));
    result
}

fn band_pair(places: [Option<usize>; 2], series: [&Series; 2], of: &[Blocks; 2]) -> BandPair {
    let band = |side: usize| places[side].and_then(|place| series[side].bands.get(place));
    let figure = |side: usize, figure: &dyn Fn([f64; 3], &Block) -> Option<f64>| {
        of[side].each(|block| {
            figure(
                places[side]
                    .and_then(|place| block.bands.get(place))
                    .copied()
                    .unwrap_or_default(),
                block,
            )
        })
    };
    let share = |[quanta, ..]: [f64; 3], block: &Block| over(quanta, block.quanta);
    let shares = [0, 1].map(|side| band(side).map_or(0.0, |band| band.share));
    let paces = [0, 1].map(|side| band(side).map(|band| band.ns_per_unit));
    let pace = match paces {
        [Some(a), Some(b)] => {
            let of_blocks = [0, 1].map(|side| {
                figure(side, &|[_, ticks, units], _| {
                    over(ticks, units * of[side].ticks_per_ns)
                })
            });
            Some(delta(
                Figure::Pace,
                Unit::NsPerUnit,
                [a, b],
                of_blocks,
                SMALL_SHARE * a,
            ))
        }
        _ => None,
    };
    BandPair {
        ns_per_unit: paces,
        share: delta(
            Figure::Share,
            Unit::Share,
            shares,
            [figure(0, &share), figure(1, &share)],
            SMALL_SHARE,
        ),
        pace,
    }
}

/// Signals of both, those of the same frequency held against each other.
pub(super) fn signals(series: [&Series; 2], reports: &[Report; 2]) -> Vec<SignalPair> {
    let [a, b] = [&series[0].signals, &series[1].signals];
    let same = |one: &Signal, other: &Signal| {
        let within = SAME_DEVIATIONS * one.uncertainty_hz.hypot(other.uncertainty_hz);
        let is_as_often = (one.frequency_hz - other.frequency_hz).abs()
            <= within.max(SAME_SHARE * one.frequency_hz);
        // A task of 100 Hz is not the host's tick of 100 Hz.
        let causes = one.cause.as_ref().zip(other.cause.as_ref());
        is_as_often && causes.is_none_or(|(one, other)| one == other)
    };
    // One of B is that of one of A: the nearest that was seen in the same way.
    let mut taken = BTreeSet::new();
    let mut pairs = Vec::new();
    for one in a {
        let apart = |other: usize| (b[other].frequency_hz - one.frequency_hz).abs();
        let such = (0..b.len()).filter(|other| {
            !taken.contains(other) && b[*other].seen_in == one.seen_in && same(one, &b[*other])
        });
        let nearest = such.min_by(|this, that| apart(*this).total_cmp(&apart(*that)));
        taken.extend(nearest);
        let other = nearest.map(|other| &b[other]);
        let what = match other {
            Some(_) => SignalChange::Both,
            None if would_show(series[1], one) => SignalChange::Vanished,
            None => SignalChange::Undecided,
        };
        pairs.push(SignalPair {
            frequency_hz: one.frequency_hz,
            cause: (one.cause.clone()).or_else(|| other.and_then(|other| other.cause.clone())),
            ns_per_event: [
                Some(one.ns_per_event),
                other.map(|other| other.ns_per_event),
            ],
            what,
            found: is_found(one, reports),
        });
    }
    for (_, other) in (b.iter().enumerate()).filter(|(index, _)| !taken.contains(index)) {
        pairs.push(SignalPair {
            frequency_hz: other.frequency_hz,
            cause: other.cause.clone(),
            ns_per_event: [None, Some(other.ns_per_event)],
            what: if would_show(series[0], other) {
                SignalChange::Appeared
            } else {
                SignalChange::Undecided
            },
            found: is_found(other, reports),
        });
    }
    pairs
}

/// Whether a finding is of a signal's frequency.
fn is_found(signal: &Signal, reports: &[Report; 2]) -> bool {
    let mut findings = reports.iter().flat_map(|report| &report.findings);
    findings.any(|finding| {
        let hz = PeriodicInterference::of(&finding.evidence).map(|periodic| periodic.frequency_hz);
        hz.is_some_and(|hz| (hz - signal.frequency_hz).abs() <= SAME_SHARE * hz)
    })
}

/// Whether a series would have shown a signal: by the limit at the nearest frequency that its report states.
fn would_show(series: &Series, signal: &Signal) -> bool {
    let apart = |hz: f64| (hz / signal.frequency_hz).ln().abs();
    let limits = series.limits.losses.iter();
    let nearest =
        limits.min_by(|one, other| apart(one.frequency_hz).total_cmp(&apart(other.frequency_hz)));
    nearest.is_some_and(|limit| limit.ns_per_event <= signal.ns_per_event)
}

/// Kinds of findings that not both have, or not as sure.
pub(super) fn findings(a: &[Finding], b: &[Finding]) -> Vec<FindingPair> {
    let sure = |findings: &[Finding], kind: Kind| {
        findings
            .iter()
            .filter(|finding| finding.kind == kind)
            .map(|finding| finding.certainty)
            .max()
    };
    let kinds: BTreeSet<Kind> = a.iter().chain(b).map(|finding| finding.kind).collect();
    let pair = |kind: Kind| FindingPair {
        kind,
        certainty: [sure(a, kind), sure(b, kind)],
    };
    kinds
        .into_iter()
        .map(pair)
        .filter(|pair| pair.certainty[0] != pair.certainty[1])
        .collect()
}
