//! The finding of `bandscope repeat`: `multimodal-runs`.

use super::factors;
use super::modes::Mode;
use super::{CERTAIN, Repeat};
use bandscope_report::evidence::{MultimodalRuns, RunMode};
use bandscope_report::{Certainty, Finding, Kind};

/// What was found.
pub(super) fn all(repeat: &Repeat) -> Vec<Finding> {
    let plain = &repeat.modes;
    let (modes, certainty) = match (
        &plain.modes[..],
        &plain.possible[..],
        &repeat.modes_at_levels[..],
    ) {
        ([_, _, ..], ..) if plain.p_value < CERTAIN => (&plain.modes, Certainty::Certain),
        // Levels bring out what is never seen otherwise: fresh runs decided that, or nothing did.
        (_, _, [_, _, ..]) if factors::named(&repeat.factors).is_some() => {
            (&repeat.modes_at_levels, Certainty::Certain)
        }
        ([_, _, ..], ..) => (&plain.modes, Certainty::Likely),
        (_, [_, _, ..], _) => (&plain.possible, Certainty::Possible),
        _ => return Vec::new(),
    };
    vec![finding(repeat, modes, certainty)]
}

fn finding(repeat: &Repeat, modes: &[Mode], certainty: Certainty) -> Finding {
    let named = factors::named(&repeat.factors);
    let p_value = named
        .and_then(|factor| Some(factor.confirmation.as_ref()?.p_corrected))
        .unwrap_or(repeat.modes.p_value);
    let listed = modes.iter().map(|mode| RunMode {
        share: mode.share,
        value: mode.value,
    });
    Finding {
        kind: Kind::MultimodalRuns,
        series: Vec::new(),
        certainty,
        summary: repeat.verdict.clone(),
        evidence: MultimodalRuns {
            factor: named.map(|factor| factor.name.clone()),
            modes: listed.collect(),
            p_value,
            p_value_modes: repeat.modes.p_value,
        }
        .into(),
        next_step: next_step(repeat, certainty, named.is_some()),
    }
}

fn next_step(repeat: &Repeat, certainty: Certainty, named: bool) -> Option<String> {
    if named {
        return None;
    }
    let more = 2 * repeat.values.len();
    Some(match (certainty, repeat.factors.is_empty()) {
        (Certainty::Possible, _) => format!("the same with -n {more}: whether there is a second mode"),
        (_, true) => "the same with --vary all: what decides it".to_owned(),
        (_, false) => "look at the associations with the slow mode; random choices inside the process cannot be varied from outside".to_owned(),
    })
}
