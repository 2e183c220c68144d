//! What the parts of a scenario come to together: how long the CPU is away, and how fast the work gets.

use super::{Part, Scenario, ScenarioError};
use crate::catalogue::{By, Rhythm, Settings};
use crate::kernels::Feels;
use crate::parameters::is_on;

/// The largest share of the time that the CPU may be away: else work, and with it the measuring loop, hardly gets on.
pub(super) const MOST_AWAY: f64 = 0.999;
/// Ticks that the program of `slices` sleeps on average: whole ones of an exponential length of mean 2.
const SLEEP_TICKS: f64 = 1.541;

/// Whether the parts can happen on one machine.
pub(super) fn check(parts: &[Part]) -> Result<(), ScenarioError> {
    for (n, part) in parts.iter().enumerate() {
        let same = |other: &Part| other.entry.name == part.entry.name;
        if sets(part) && parts[..n].iter().any(same) {
            return Err(ScenarioError::Twice(part.entry.name));
        }
    }
    let found: f64 = parts.iter().map(away).sum();
    if found > MOST_AWAY {
        return Err(ScenarioError::Away { found });
    }
    Ok(())
}

/// Whether a part sets something once and for all, so that another one of its name would take its place.
fn sets(Part { entry, values }: &Part) -> bool {
    let mut settings = Settings::default();
    (entry.settings)(values, &mut settings);
    entry.disturbance.is_none() || settings.jumps.is_some()
}

/// The share of the time that a part takes the CPU away, on average; that of a warm-up while it lasts.
fn away(Part { entry, values }: &Part) -> f64 {
    let value = |name| values.get(name).copied();
    if is_on(values, "away") {
        return 0.5;
    }
    if entry.by == By::Quota {
        return 1.0 - values["share"];
    }
    if entry.rhythm == Rhythm::Slices {
        let blocks = values["blocks"];
        return (1.0 - blocks / 2.0) / (2.0 + blocks * SLEEP_TICKS);
    }
    let length = value("cost").or(value("mean")).or_else(|| {
        Some(mean_of_tail(
            value("least")?,
            value("tail")?,
            value("most")?,
        ))
    });
    let (hz, number) = (value("hz"), value("gaps").unwrap_or(1.0));
    hz.unwrap_or(0.0) * number * length.unwrap_or(0.0)
}

/// The mean of a Pareto distribution from `least` whose values are cut at `most`.
fn mean_of_tail(least: f64, tail: f64, most: f64) -> f64 {
    let (ratio, rest) = (most / least, 1.0 - tail);
    let beyond = match rest.abs() < 1e-9 {
        true => ratio.ln(),
        false => (ratio.powf(rest) - 1.0) / rest,
    };
    least * (1.0 + beyond)
}

impl Scenario {
    /// The least time per unit of work kernels that feel this, over an undisturbed one: as if all parts were at their fastest together.
    pub(crate) fn least_slowdown(&self, feels: Feels) -> f64 {
        let felt = |part: &&Part| {
            let only = part.entry.only(&part.values);
            part.entry.disturbance.is_some() && only.is_none_or(|only| only == feels)
        };
        self.parts.iter().filter(felt).map(fastest).product()
    }
}

/// The least factor of a part's changes of pace.
fn fastest(Part { values, .. }: &Part) -> f64 {
    let ratios = ["ratio", "leader", "factor"].into_iter();
    let least = ratios
        .filter_map(|name| values.get(name).copied())
        .fold(1.0, f64::min);
    // As [`crate::disturbances::paces::Noise`] has it.
    least * (1.0 - 3.0 * values.get("sigma").unwrap_or(&0.0))
}
