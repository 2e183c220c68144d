//! `sub-loop-mixture`: a band between two others, where one of the work kernel's inner loops is slow and the other is not.
//!
//! Published: 76.3 and 74.4 ns between 23.96 and 128.2 ns, 0.502 and 0.484 of the way; the old unit's loops of 32 and
//! 31 turns predict 0.508 and 0.492. The match is [`crate::pace::mixture`]'s. Only another work kernel, without inner loops, would
//! decide it, so it is `likely` at best; and where a file does not name its work kernel, whose structure is then
//! assumed, `possible`.

use super::frequency_steps::is_frequency;
use super::{Analysed, Case, Phenomenon, agree, is_close, name, name_rate, none};
use crate::pace::mixture::{self, Mixture};
use bandscope_report::evidence;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Band, Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::SubLoopMixture,
    recognise,
    same: |known, new| {
        agree(known, new, |known: &evidence::SubLoopMixture, new| {
            is_close(known.ns_per_unit, new.ns_per_unit, 0.02)
                && is_close(known.fraction, new.fraction, 0.02)
        })
    },
    settle: name_rate,
    // The pace that it costs is bistable-pace's.
    consequence: none,
    remedy,
};

fn remedy(_: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    Some(remedies::other_kernels(
        "ftq-o2,ftq-float20-stack",
        "whether a work kernel without inner loops has a band between",
    ))
}

/// Quanta that a stay in each of the three must last.
const DWELL: f64 = 2.0;
/// Share of the quanta below which a band is no pace of its own.
const MIN_SHARE: f64 = 0.005;
/// States of memory renaming differ by five times and more; what is closer is a clock or a placement.
const MIN_RATIO_APART: f64 = 1.5;
/// Chances of an accidental match: to be believed, and to be mentioned.
const MAX_CHANCE_BELIEVED: f64 = 0.05;
const HINT: f64 = 0.3;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    if is_frequency(case.series, &case.seen.stays) {
        return Vec::new();
    }
    let held: Vec<&Band> = case
        .series
        .bands
        .iter()
        .zip(&case.seen.stays)
        .filter(|(band, stays)| band.share >= MIN_SHARE && stays.median_quanta >= DWELL)
        .map(|(band, _)| band)
        .collect();
    let paces: Vec<f64> = held.iter().map(|band| band.ns_per_unit).collect();
    let found = mixture::find(&paces, &case.seen.fractions);
    let apart =
        |found: &Mixture| paces[found.places[2]] >= MIN_RATIO_APART * paces[found.places[0]];
    found
        .filter(|found| apart(found) && found.chance <= HINT)
        .map(|found| finding(case, &paces, found))
        .into_iter()
        .collect()
}

fn finding(case: Case<'_>, paces: &[f64], found: Mixture) -> Finding {
    let [fast, between, slow] = found.places.map(|place| paces[place]);
    let named = case.series.kernel != mixture::UNKNOWN;
    let loops = if named {
        "this work kernel"
    } else {
        "FTQ's old work kernel"
    };
    Finding {
        kind: PHENOMENON.kind,
        series: vec![case.index],
        certainty: if named && found.chance <= MAX_CHANCE_BELIEVED {
            Certainty::Likely
        } else {
            Certainty::Possible
        },
        summary: format!(
            "On {} {between:.2} ns per unit is a mixture: one inner loop of {loops} is slow, the other is not. \
             It is {:.3} of the way from {fast:.2} to {slow:.2} ns; that loop has {:.3} of the turns.",
            name(case.series),
            found.fraction,
            found.declared,
        ),
        evidence: evidence::SubLoopMixture {
            chance: found.chance,
            declared: found.declared,
            fraction: found.fraction,
            ns_per_unit: between,
            of: [fast, slow],
        }
        .into(),
        next_step: None,
    }
}
