//! `edge-pairs`: {2830, 2000}, the quanta in which the pace changed: counts that belong to no band.
//!
//! Isolated, strictly between the levels held on either side, by [`crate::pace::edges`]. A loss of time makes a dip and no such
//! quantum, so a number of them needs nothing more than to be more than by accident: what makes dips makes some at a change of pace, too.

use super::{Analysed, Case, Phenomenon, always, name, name_rate, none};
use bandscope_report::evidence;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::EdgePairs,
    recognise,
    // The counts of two rates differ, and one sentence does for both.
    same: always,
    settle: name_rate,
    consequence: none,
    remedy,
};

/// Until it is certain.
fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    (finding.certainty < Certainty::Certain).then(|| remedies::longer("more changes of pace"))
}

/// One is where a warm-up ends, or an accident.
const MIN_PAIRS: u64 = 2;
/// So many lie between two levels by more than accident.
const DECISIVE: f64 = 8.0;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let pairs = case.seen.edges.pairs;
    if pairs.number < MIN_PAIRS {
        return Vec::new();
    }
    let counts: Vec<u32> = [pairs.falling, pairs.rising]
        .into_iter()
        .flatten()
        .collect();
    let listed: Vec<String> = counts.iter().map(u32::to_string).collect();
    let dips = pairs.dips as f64 / (case.series.quanta as f64).max(1.0);
    let by_accident = case.seen.edges.number as f64 * dips;
    let certainty = match pairs.number {
        number if (number as f64) < DECISIVE + 4.0 * by_accident => Certainty::Likely,
        _ => Certainty::Certain,
    };
    vec![Finding {
        kind: Kind::EdgePairs,
        series: vec![case.index],
        certainty,
        summary: format!(
            "The pace changed inside {} quanta on {}, so counts such as {} are not bands.",
            pairs.number,
            name(case.series),
            listed.join(" and "),
        ),
        evidence: evidence::EdgePairs {
            counts,
            number: pairs.number,
        }
        .into(),
        next_step: None,
    }]
}
