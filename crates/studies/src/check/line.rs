//! The line of a CPU: whether it passes, by which figures, and what a failure came from.

use super::cause::cause_in_words;
use super::{Change, CpuCheck};

/// From here on a figure is near its limit, as a part of the way from the baseline; chosen, not measured.
const NEAR: f64 = 0.25;
/// Phrases of one line, at most; the others are in the JSON.
const MAX_PHRASES: usize = 3;

/// What was found of a CPU, and what a failure came from.
pub(super) fn sentence(check: &CpuCheck) -> String {
    let failed = check
        .conditions
        .iter()
        .filter(|one| one.met)
        .map(|one| one.found.clone());
    let worse = check
        .changes
        .iter()
        .filter(|one| one.fails)
        .map(Change::sentence);
    let mut phrases: Vec<String> = failed.chain(worse).collect();
    if check.passes {
        phrases = (check.conditions.iter().map(|one| one.found.clone())).collect();
        phrases.extend(check.changes.first().map(Change::sentence));
    }
    // Of a baseline that is made without limits there is only what it lost.
    if phrases.is_empty() {
        let first = check.figures.iter().take(1);
        phrases.extend(first.map(|one| {
            format!(
                "{} {}",
                one.name,
                one.unit.written(one.value.unwrap_or_default())
            )
        }));
    }
    let left = phrases.len().saturating_sub(MAX_PHRASES);
    phrases.truncate(MAX_PHRASES);
    let mut sentence = format!(
        "{} {}: {}",
        check.name(),
        if check.passes { "passes" } else { "FAILS" },
        phrases.join(", ")
    );
    if left > 0 {
        sentence += &format!(" and {left} more");
    }
    match (&check.cause, nearest(&check.changes)) {
        (Some(line), _) if !check.passes => sentence + &cause_in_words(line),
        (_, Some(nearest)) if check.passes => sentence + &nearest,
        _ => sentence,
    }
}

/// Which figure of a CPU that passes came nearest to its limit: that the first is far from it says nothing of the others.
fn nearest(changes: &[Change]) -> Option<String> {
    let part = |one: &Change| (one.value - one.baseline) / (one.limit - one.baseline);
    let nearest = changes.iter().max_by(|a, b| part(a).total_cmp(&part(b)))?;
    let number = changes.len();
    Some(match part(nearest) >= NEAR {
        false => format!("; none of {number} figures is near its limit by the baseline"),
        true if changes.first() == Some(nearest) => {
            format!(
                "; of {number} figures {} is nearest to its limit by the baseline",
                nearest.name
            )
        }
        true => format!("; nearest to its limit: {}", nearest.sentence()),
    })
}
