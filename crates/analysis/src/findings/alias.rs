//! `alias`: a loss whose true frequency is above half the rate, so that quanta show it at another one.
//!
//! One rate cannot tell: a line at 3,456 Hz may be that or 13,456 or 6,544. Two rates agree on one true frequency
//! ([`crate::periods::origins`]).

use super::{Analysed, Case, Phenomenon, SHORTEST_NS, agree, figure, is_close, name};
use crate::periods::origins::Alias;
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

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

/// Whether there is so much time. Near a multiple of a rate a line shows a small part of its loss: of a line of noise the loss comes out larger than the whole.
/// What was booked is no measure: of a loss many times a quantum the best pace has its share.
fn is_possible(alias: &Alias) -> bool {
    alias.hz * alias.ns_per_event < 1e9
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    case.seen
        .aliases
        .iter()
        .filter(|alias| alias.ns_per_event >= SHORTEST_NS)
        .filter(|alias| is_possible(alias))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_takes_more_than_all_of_the_time() {
        let alias = |hz: f64, ns_per_event: f64| Alias {
            hz,
            sigma_hz: 1e-3,
            chance: 1e-3,
            apparent_hz: [5.597, 8.403],
            ns_per_event,
        };
        // A recording of `machines/real quota-60`: twice the time.
        assert!(!is_possible(&alias(139_994.0, 15_100.0)));
        assert!(is_possible(&alias(15_821.37, 60.0)));
    }
}
