//! The finding of `bandscope repeat`: `multimodal-runs`.

use super::factors::{self, Level, Varied};
use super::modes::Mode;
use super::{CERTAIN, Repeat};
use bandscope_recording::runs::INHERITED;
use bandscope_recording::text::shell_word;
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
        return reproduce(repeat);
    }
    let more = 2 * repeat.values.len();
    Some(match (certainty, repeat.factors.is_empty()) {
        (Certainty::Possible, _) => format!("the same with -n {more}: whether there is a second mode"),
        (_, true) => "the same with --vary all: what decides it".to_owned(),
        (_, false) => "look at the associations with the slow mode; random choices inside the process cannot be varied from outside".to_owned(),
    })
}

/// How to look into a slow run: the levels at which every run was slow, best of a factor that also has levels at which none was. `None` where chance
/// takes part.
fn reproduce(repeat: &Repeat) -> Option<String> {
    let mut words = repeat.command.iter();
    // No shell would take what a terminal must not be shown.
    if words.any(|word| word.chars().any(char::is_control)) {
        return None;
    }
    let words = repeat.command.iter().map(|word| shell_word(word));
    let words = words.collect::<Vec<_>>().join(" ");
    let ways = (repeat.factors.iter().filter(|factor| factor.decides)).filter_map(|factor| {
        let [more, less] = &factor.confirmation.as_ref()?.levels;
        let slow = set(factor, more).filter(|_| more.slow == more.runs)?;
        let fast = set(factor, less).filter(|_| less.slow == 0);
        Some((slow, fast))
    });
    let (slow, fast) = ways.reduce(|best, one| match best.1.is_none() && one.1.is_some() {
        true => one,
        false => best,
    })?;
    let fast = fast.map_or(String::new(), |set| format!("; of a fast one: --set {set}"));
    Some(format!(
        "bandscope lab --set {slow} -- {words}: the hot loop of a slow run{fast}"
    ))
}

/// A level and those that it needs, as `lab --set` takes them; `None` if all are as they are.
fn set(factor: &Varied, level: &Level) -> Option<String> {
    let all = factor.with.iter().chain([(&factor.name, &level.name)]);
    let set: Vec<String> = (all.filter(|(_, level)| *level != INHERITED))
        .map(|(factor, level)| format!("{factor}={level}"))
        .collect();
    (!set.is_empty()).then(|| set.join(","))
}
