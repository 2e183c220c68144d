//! `migration`: the measuring thread changed CPU.
//!
//! The CPU is read with the clock, so a change of it inside a segment needs nothing more. Where it is not known, or did not
//! change, a step of the phase of otherwise periodic edges (another CPU's tick is staggered against this one's) is only possibly one.

use super::{Case, Phenomenon, name, name_rate, none};
use crate::report::{Certainty, Evidence, Finding};
use crate::words;

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: "migration",
    recognise,
    same: &[],
    settle: name_rate,
    consequence: none,
};

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let steps = case
        .seen
        .edges
        .recurrence
        .as_ref()
        .map_or(&[][..], |found| &found.steps);
    let step = steps.first().copied();
    let mut finding = match (case.seen.migration_s, step) {
        (Some(first_s), _) => {
            let changes = case.seen.migrations;
            let times = if changes == 1 {
                "once".to_owned()
            } else {
                format!("{changes} times")
            };
            Finding {
                kind: "migration",
                series: vec![case.index],
                certainty: Certainty::Certain,
                summary: format!(
                    "The measuring thread changed CPU {times}, first after {}: what was measured is no single CPU.",
                    words::duration(first_s * 1e9),
                ),
                evidence: [
                    ("changes", Evidence::Number(changes as f64)),
                    ("first_s", Evidence::Number(first_s)),
                ]
                .into(),
                next_step: None,
            }
        }
        (None, Some((at_s, step_s))) => Finding {
            kind: "migration",
            series: vec![case.index],
            certainty: Certainty::Possible,
            summary: format!(
                "The changes of pace on {} keep a period, but its phase steps by {} after {}: another CPU, or a timer that was set anew.",
                name(case.series),
                words::duration(step_s.abs() * 1e9),
                words::duration(at_s * 1e9),
            ),
            evidence: [
                ("changes", Evidence::Number(steps.len() as f64)),
                ("first_s", Evidence::Number(at_s)),
            ]
            .into(),
            next_step: Some(
                "bandscope record: it pins the measuring thread and reads the CPU with the clock"
                    .to_owned(),
            ),
        },
        (None, None) => return Vec::new(),
    };
    if let Some((_, step_s)) = step {
        finding.evidence.insert("jump_s", Evidence::Number(step_s));
    }
    vec![finding]
}
