//! Which factor decides: how many runs were slow at each of its levels, when it was first looked at and in fresh runs.
//!
//! Screening only chooses what to look at again; what decides is said from fresh runs, at the two levels that screening had furthest
//! apart, by Fisher's exact test in the direction that screening saw, corrected for as many factors as were looked at again.

use super::slow::Slow;
use bandscope_recording::runs::{Factor, INHERITED, Phase, Run, Runs};
use bandscope_statistics::counts::{chi_square, fisher_exact};
use bandscope_statistics::holm;
use serde::Serialize;
use std::collections::BTreeMap;

/// A factor decides if fresh runs as far apart would be an accident less often than this.
pub const DECIDES: f64 = 0.01;

/// What is known of a factor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Varied {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Levels of other factors at which it was varied.
    pub with: BTreeMap<String, String>,
    /// Why it could not be varied.
    pub missing: Option<String>,
    /// Screening, as far as it was done.
    pub levels: Vec<Level>,
    /// Chance of levels as different, if the factor did nothing; `null` where nothing was slow, or it was not varied.
    pub p_screening: Option<f64>,
    /// Fresh runs; `null` if there was no reason for them.
    pub confirmation: Option<Confirmation>,
    /// Whether it decides.
    pub decides: bool,
}

/// Runs at one level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// Its name.
    pub name: String,
    /// How many runs there were.
    pub runs: usize,
    /// How many of them were slow.
    pub slow: usize,
}

/// Fresh runs at two levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// The level that screening had more slow runs at, then the other.
    pub levels: [Level; 2],
    /// Chance of a difference as large in that direction, if the factor did nothing.
    pub p_value: f64,
    /// Corrected for all factors that were looked at again (Holm).
    pub p_corrected: f64,
}

/// What screening says of one factor.
#[derive(Clone, Debug)]
pub struct Screened {
    /// As [`Varied::levels`].
    pub levels: Vec<Level>,
    /// As [`Varied::p_screening`].
    pub p_value: f64,
    /// The two levels that are furthest apart, the slower one first.
    pub contrast: Option<[Level; 2]>,
}

/// All factors, in the order of the file.
pub fn all(runs: &Runs, slow: &Slow) -> Vec<Varied> {
    let mut varied: Vec<Varied> = runs
        .factors
        .iter()
        .map(|factor| varied(runs, factor, slow))
        .collect();
    let confirmed: Vec<usize> = (0..varied.len())
        .filter(|index| varied[*index].confirmation.is_some())
        .collect();
    let p_values: Vec<f64> = (confirmed.iter())
        .filter_map(|index| Some(varied[*index].confirmation.as_ref()?.p_value))
        .collect();
    for (index, corrected) in confirmed.into_iter().zip(holm(&p_values)) {
        let one = &mut varied[index];
        one.decides = corrected < DECIDES;
        if let Some(confirmation) = &mut one.confirmation {
            confirmation.p_corrected = corrected;
        }
    }
    varied
}

/// The one that decides: among several that of plain runs first, then that with the largest difference.
pub fn named(varied: &[Varied]) -> Option<&Varied> {
    let apart = |one: &Varied| {
        let [more, less] = &one.confirmation.as_ref()?.levels;
        Some(share(more) - share(less))
    };
    varied.iter().filter(|one| one.decides).reduce(|best, one| {
        let better = (one.with.is_empty(), apart(one)) > (best.with.is_empty(), apart(best));
        if better { one } else { best }
    })
}

/// Chance that `more` has as many more slow runs than `less`, if they were alike.
fn chance(more: &Level, less: &Level) -> f64 {
    let [slow, runs] = [more.slow, more.runs].map(|number| number as u64);
    fisher_exact(slow, runs, less.slow as u64, less.runs as u64)
}

/// Share of slow runs at a level.
pub fn share(level: &Level) -> f64 {
    level.slow as f64 / level.runs.max(1) as f64
}

/// Screening of one factor; `None` if it was not varied, or nothing is slow.
pub fn screened(runs: &Runs, factor: &Factor, slow: &Slow) -> Option<Screened> {
    let (groups, marks) = screening(runs, factor, slow);
    let levels = counted(&factor.levels, &groups, &marks);
    were_varied(&levels).then(|| Screened {
        contrast: contrast(&levels),
        levels,
        p_value: chi_square(&groups, &marks, runs.seed),
    })
}

/// Runs that screen a factor: the index of their level, and whether they were slow.
fn screening(runs: &Runs, factor: &Factor, slow: &Slow) -> (Vec<usize>, Vec<bool>) {
    let here = (runs.runs.iter()).filter(|run| belongs(run, factor, Phase::Screening));
    here.filter_map(|run| {
        let level = run.level(&factor.name);
        let group = factor.levels.iter().position(|name| name == level)?;
        Some((group, slow.is_slow(run)?))
    })
    .unzip()
}

fn were_varied(levels: &[Level]) -> bool {
    levels.iter().filter(|level| level.runs > 0).count() > 1
}

fn varied(runs: &Runs, factor: &Factor, slow: &Slow) -> Varied {
    let screened = screened(runs, factor, slow);
    Varied {
        name: factor.name.clone(),
        description: factor.description.clone(),
        with: factor.with.clone(),
        missing: factor.missing.clone(),
        p_screening: screened.as_ref().map(|screened| screened.p_value),
        levels: screened.map(|screened| screened.levels).unwrap_or_default(),
        confirmation: confirmed(runs, factor, slow),
        decides: false,
    }
}

/// Whether a run tells of a factor: it was made for it, or it has nothing varied and so is at the inherited level.
fn belongs(run: &Run, factor: &Factor, phase: Phase) -> bool {
    let plain = run.factor.is_none()
        && run.phase != Phase::WarmUp
        && factor.levels.iter().any(|level| level == INHERITED);
    match phase {
        Phase::Screening => {
            plain || (run.phase == phase && run.factor.as_ref() == Some(&factor.name))
        }
        _ => run.phase == phase && run.factor.as_ref() == Some(&factor.name),
    }
}

fn counted(names: &[String], groups: &[usize], marks: &[bool]) -> Vec<Level> {
    let names = names.iter().enumerate();
    names
        .map(|(index, name)| {
            let here = || {
                groups
                    .iter()
                    .zip(marks)
                    .filter(|(group, _)| **group == index)
            };
            Level {
                name: name.clone(),
                runs: here().count(),
                slow: here().filter(|(_, slow)| **slow).count(),
            }
        })
        .collect()
}

/// The two levels of which it is least likely that they do the same.
fn contrast(levels: &[Level]) -> Option<[Level; 2]> {
    let pairs = levels
        .iter()
        .flat_map(|more| levels.iter().map(move |less| (more, less)));
    let apart =
        pairs.filter(|(more, less)| more.runs > 0 && less.runs > 0 && share(more) > share(less));
    apart
        .map(|(more, less)| (chance(more, less), more, less))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, more, less)| [more.clone(), less.clone()])
}

fn confirmed(runs: &Runs, factor: &Factor, slow: &Slow) -> Option<Confirmation> {
    let fresh: Vec<&Run> = runs
        .runs
        .iter()
        .filter(|run| belongs(run, factor, Phase::Confirmation))
        .collect();
    // Which two they are the runs say; which of them should be slower, the screening.
    let (groups, marks) = screening(runs, factor, slow);
    let screened = Some(counted(&factor.levels, &groups, &marks)).filter(|all| were_varied(all))?;
    let mut names: Vec<&Level> = (screened.iter())
        .filter(|level| {
            fresh
                .iter()
                .any(|run| run.level(&factor.name) == level.name)
        })
        .collect();
    names.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let (&[more, less], true) = (names.first_chunk()?, names.len() == 2) else {
        return None;
    };
    let levels = [more, less].map(|Level { name, .. }| {
        let here = fresh.iter().filter(|run| run.level(&factor.name) == name);
        let marks: Vec<bool> = here.filter_map(|run| slow.is_slow(run)).collect();
        Level {
            runs: marks.len(),
            slow: marks.iter().filter(|slow| **slow).count(),
            name: name.clone(),
        }
    });
    let [more, less] = &levels;
    if more.runs == 0 || less.runs == 0 {
        return None;
    }
    let p_value = chance(more, less);
    Some(Confirmation {
        levels,
        p_value,
        p_corrected: p_value,
    })
}
