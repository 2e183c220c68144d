//! `alias`: a loss whose true frequency is above half the rate, so that quanta show it at another one.
//!
//! One rate cannot tell: a line at 3,456 Hz may be that or 13,456 or 6,544. Two rates agree on one true frequency
//! ([`crate::origins`]).

use super::periodic_interference::SHORTEST_NS;
use super::{Case, Phenomenon, name, number};
use crate::report::{Certainty, Evidence, Finding};
use crate::words;

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: "alias",
    recognise,
    // One and the same, which both rates were asked for.
    same: &[("frequency_hz", 1e-9)],
    settle: |_, _| true,
    consequence: |finding, _| {
        number(finding, "frequency_hz") * number(finding, "ns_per_event") / 1e9
    },
};

/// Accidental agreements expected below which the rates decide.
const DECIDED: f64 = 0.01;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    case.seen
        .aliases
        .iter()
        .filter(|alias| alias.ns_per_event >= SHORTEST_NS)
        .map(|alias| {
            // Two files of counts are of different times.
            let decided = alias.chance <= DECIDED && case.series.cpu.is_some();
            let [a, b] = alias.apparent_hz;
            Finding {
                kind: "alias",
                series: vec![case.index],
                certainty: if decided {
                    Certainty::Certain
                } else {
                    Certainty::Likely
                },
                summary: format!(
                    "What looks like {} and {} at the two rates is one thing at {}: it takes {} from {} each time.",
                    words::frequency(a, alias.sigma_hz),
                    words::frequency(b, alias.sigma_hz),
                    words::frequency(alias.hz, alias.sigma_hz),
                    words::duration(alias.ns_per_event),
                    name(case.series),
                ),
                evidence: [
                    ("frequency_hz", Evidence::Number(alias.hz)),
                    ("uncertainty_hz", Evidence::Number(alias.sigma_hz)),
                    ("apparent_hz", Evidence::Numbers(alias.apparent_hz.to_vec())),
                    ("ns_per_event", Evidence::Number(alias.ns_per_event)),
                    ("chance_matches", Evidence::Number(alias.chance)),
                ]
                .into(),
                next_step: (!decided).then(|| {
                    "bandscope record --rate 10000,7777 --duration 60s: sharper lines leave fewer true frequencies to choose from".to_owned()
                }),
            }
        })
        .collect()
}
