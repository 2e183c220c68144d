//! `quantisation`: neighbouring counts that alternate at one pace, which is no second band.

use super::{Case, Phenomenon, name, name_rate, none};
use crate::report::{Certainty, Evidence, Finding};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: "quantisation",
    recognise,
    // The counts of two rates differ, and one sentence does for both.
    same: &[],
    settle: name_rate,
    consequence: none,
};

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(found) = case.seen.quantisation else {
        return Vec::new();
    };
    vec![Finding {
        kind: "quantisation",
        series: vec![case.index],
        certainty: if found.times_decide { Certainty::Certain } else { Certainty::Likely },
        summary: format!(
            "Counts of {} and {} on {} alternate because a quantum is no whole number of units; the pace is the same.",
            found.count,
            found.count + 1,
            name(case.series),
        ),
        evidence: [
            (
                "counts",
                Evidence::Numbers(vec![f64::from(found.count), f64::from(found.count) + 1.0]),
            ),
            ("shares", Evidence::Numbers(vec![found.share, 1.0 - found.share])),
            ("pace_difference", Evidence::Number(found.difference)),
        ]
        .into(),
        next_step: (!found.times_decide).then(|| {
            "bandscope record: it measures when each quantum ends, which files of starts on a nominal grid do not say"
                .to_owned()
        }),
    }]
}
