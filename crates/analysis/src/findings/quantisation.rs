//! `quantisation`: neighbouring counts that alternate at one pace, which is no second band.

use super::{Analysed, Case, Phenomenon, always, name, name_rate, none};
use bandscope_report::evidence;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::Quantisation,
    recognise,
    // The counts of two rates differ, and one sentence does for both.
    same: always,
    settle: name_rate,
    consequence: none,
    remedy,
};

/// Until it is certain.
fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    (finding.certainty < Certainty::Certain).then(|| remedies::again("when each quantum ends"))
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(found) = case.seen.quantisation else {
        return Vec::new();
    };
    vec![Finding {
        kind: Kind::Quantisation,
        series: vec![case.index],
        certainty: if found.times_decide {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
        summary: format!(
            "Counts of {} and {} on {} alternate because a quantum is not a whole number of units. The pace is the same.",
            found.count,
            found.count + 1,
            name(case.series),
        ),
        evidence: evidence::Quantisation {
            counts: [found.count, found.count + 1],
            pace_difference: found.difference,
            shares: [found.share, 1.0 - found.share],
        }
        .into(),
        next_step: None,
    }]
}
