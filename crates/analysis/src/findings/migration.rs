//! `migration`: the measuring thread changed CPU.
//!
//! The CPU is read with the clock, so a change of it inside a segment needs nothing more. Where it is not known, or did not
//! change, a step of the phase of otherwise periodic edges (another CPU's tick is staggered against this one's) is only possibly one.

use super::{Analysed, Case, Phenomenon, always, name, name_rate, none};
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Evidence, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::Migration,
    recognise,
    same: always,
    settle,
    consequence: none,
    remedy,
};

/// Until it is certain.
fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    (finding.certainty < Certainty::Certain)
        .then(|| remedies::again("whether a pinned thread keeps the phase"))
}

/// Each series counts what happened in its own segments: of all together so many, and the first of them.
fn settle(finding: &mut Finding, analysed: Analysed<'_>) -> bool {
    let seen = || finding.series.iter().map(|&index| &analysed.seen[index]);
    let first_s = seen().filter_map(|seen| seen.migration_s).reduce(f64::min);
    let changes = seen().map(|seen| seen.migrations).sum();
    if let (Some(first_s), Evidence::Migration(evidence)) = (first_s, &mut finding.evidence) {
        (evidence.changes, evidence.first_s) = (changes, first_s);
        finding.summary = sentence(changes, first_s);
    }
    name_rate(finding, analysed)
}

fn sentence(changes: u64, first_s: f64) -> String {
    let times = match changes {
        1 => "once".to_owned(),
        _ => format!("{changes} times"),
    };
    format!(
        "The measuring thread changed CPU {times}, first after {}: the figures are of several CPUs.",
        format::duration(first_s * 1e9),
    )
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let steps = case
        .seen
        .recurrence
        .as_ref()
        .map_or(&[][..], |found| &found.steps);
    let step = steps.first().copied();
    let jump_s = step.map(|(_, step_s)| step_s);
    let finding = match (case.seen.migration_s, step) {
        (Some(first_s), _) => {
            let changes = case.seen.migrations;
            Finding {
                kind: Kind::Migration,
                series: vec![case.index],
                certainty: Certainty::Certain,
                summary: sentence(changes, first_s),
                evidence: evidence::Migration {
                    changes,
                    first_s,
                    jump_s,
                }
                .into(),
                next_step: None,
            }
        }
        (None, Some((at_s, step_s))) => Finding {
            kind: Kind::Migration,
            series: vec![case.index],
            certainty: Certainty::Possible,
            summary: format!(
                "The changes of pace on {} keep a period, but its phase steps by {} after {}. Another CPU does that, or a timer that was set anew.",
                name(case.series),
                format::duration(step_s.abs() * 1e9),
                format::duration(at_s * 1e9),
            ),
            evidence: evidence::Migration {
                changes: steps.len() as u64,
                first_s: at_s,
                jump_s,
            }
            .into(),
            next_step: None,
        },
        (None, None) => return Vec::new(),
    };
    vec![finding]
}
