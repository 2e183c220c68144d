//! Drift over the session told from modes: whether values go up or down with time, and whether slow runs come together.
//!
//! What decides when a process starts (its layout, its CPU) is drawn anew for each run, so slow runs are scattered among the others.
//! What changes the machine (its temperature, a neighbour, a cache that fills) makes them come together.

use super::slow::Slow;
use bandscope_recording::runs::Runs;
use bandscope_statistics::order::median_between;
use bandscope_statistics::{counts, ranks};
use serde::Serialize;

/// Less likely than this by accident, and it is said.
const MAX_P_VALUE_SAID: f64 = 0.01;

/// How the plain runs follow each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// Kendall's tau of value and order: 1 if every run is above all before it.
    pub trend: f64,
    /// Chance of a trend as strong in any order.
    pub trend_p_value: f64,
    /// Median of the last third over that of the first, less 1; `null` where that means nothing.
    pub change: Option<f64>,
    /// Stretches of runs that are all slow or all not; `null` if there is but one mode.
    pub stretches: Option<usize>,
    /// Chance of as few in any order.
    pub stretches_p_value: Option<f64>,
    /// Whether the values drift.
    pub drifts: bool,
    /// Whether slow runs come together in time.
    pub together: bool,
}

/// Of the runs with nothing varied.
pub fn session(runs: &Runs, slow: &Slow) -> Session {
    let plain: Vec<_> = super::plain(runs)
        .filter(|run| run.value.is_some())
        .collect();
    let values: Vec<f64> = plain.iter().filter_map(|run| run.value).collect();
    let trend = ranks::mann_kendall(&values);
    let marks: Vec<bool> = plain.iter().filter_map(|run| slow.is_slow(run)).collect();
    let mixed = marks.contains(&true) && marks.contains(&false);
    let stretches = mixed.then(|| counts::runs_test(&marks, runs.seed));
    let together = stretches.is_some_and(|(_, p_value)| p_value < MAX_P_VALUE_SAID);
    Session {
        trend: trend.effect,
        trend_p_value: trend.p_value,
        change: change(&values),
        stretches: stretches.map(|(number, _)| number),
        stretches_p_value: stretches.map(|(_, p_value)| p_value),
        drifts: trend.p_value < MAX_P_VALUE_SAID,
        together,
    }
}

fn change(values: &[f64]) -> Option<f64> {
    let third = values.len() / 3;
    let first = median_between(values[..third].to_vec())?;
    let last = median_between(values[values.len() - third..].to_vec())?;
    (first > 0.0).then(|| last / first - 1.0)
}
