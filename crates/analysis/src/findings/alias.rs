//! `alias`: a loss whose true frequency is above half the rate, so that quanta show it at another one.
//!
//! One rate cannot tell: a line at 3,456 Hz may be that or 13,456 or 6,544. Two rates agree on one true frequency
//! ([`crate::periods::origins`]).

use super::{Analysed, Case, Phenomenon, SHORTEST_NS, agree, figure, is_close, name};
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind, Series};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::Alias,
    recognise,
    // One and the same, which both rates were asked for.
    same: |known, new| {
        agree(known, new, |known: &evidence::Alias, new| {
            is_close(known.frequency_hz, new.frequency_hz, 1e-9)
        })
    },
    settle: |_, _| true,
    consequence: |finding, _| {
        figure(finding, |alias: &evidence::Alias| {
            alias.frequency_hz * alias.ns_per_event / 1e9
        })
    },
    remedy,
};

/// Until it is certain.
fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    (finding.certainty < Certainty::Certain)
        .then(|| remedies::longer("which of the possible frequencies it is"))
}

/// Accidental agreements expected below which the rates decide.
const DECIDED: f64 = 0.01;

/// Share of the time that was not work.
fn lost(series: &Series) -> f64 {
    1.0 - series.ledger.work_ns as f64 / series.ledger.wall_ns.max(1) as f64
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    case.seen
        .aliases
        .iter()
        .filter(|alias| alias.ns_per_event >= SHORTEST_NS)
        // Near a multiple of a rate a line is a small part of what would have been lost: of more than there is where it is noise.
        .filter(|alias| alias.hz * alias.ns_per_event / 1e9 <= lost(case.series))
        .map(|alias| {
            // Two files of counts are of different times.
            let decided = alias.chance <= DECIDED && case.series.cpu.is_some();
            let [a, b] = alias.apparent_hz;
            Finding {
                kind: Kind::Alias,
                series: vec![case.index],
                certainty: if decided {
                    Certainty::Certain
                } else {
                    Certainty::Likely
                },
                summary: format!(
                    "What looks like {} and {} at the two rates is one thing at {}. It takes {} from {} each time.",
                    format::frequency(a, alias.sigma_hz),
                    format::frequency(b, alias.sigma_hz),
                    format::frequency(alias.hz, alias.sigma_hz),
                    format::duration(alias.ns_per_event),
                    name(case.series),
                ),
                evidence: evidence::Alias {
                    apparent_hz: alias.apparent_hz,
                    chance_matches: alias.chance,
                    frequency_hz: alias.hz,
                    ns_per_event: alias.ns_per_event,
                    uncertainty_hz: alias.sigma_hz,
                }
                .into(),
                next_step: None,
            }
        })
        .collect()
}
