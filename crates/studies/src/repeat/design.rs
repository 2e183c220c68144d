//! Which runs to make next: first some with nothing varied, then some at each level of each factor, then fresh ones at the two levels of
//! each factor that may decide.
//!
//! [`next`] looks at the runs so far and says what is wanted; `cli` has `probe` make them and asks again. The number is bounded: with n
//! asked for, n plain ones; m for each level of a factor, or 3 where it has many, and m plain ones among them, where m runs would have
//! shown the rarer mode in 19 of 20 cases and m <= n (or 8, if n is less); and for three factors, or four, two times at most 2n (or 40).

use super::factors::{self, Level};
use super::slow::Slow;
use bandscope_recording::runs::{Factor, INHERITED, Phase, Runs};
use bandscope_statistics::counts::fisher_exact;
use bandscope_statistics::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Factors that are looked at again, those that may decide.
const MAX_CANDIDATES: usize = 3;
/// A factor that screening gives a higher chance of an accident is none of them.
const MAX_SCREENING_P_VALUE: f64 = 0.2;
/// How often to try each level where there are few, if the plain runs show one mode only.
const RUNS_A_LEVEL: usize = 8;
/// A factor with more levels than this has each tried only so often: as many runs as make a mode, as one level may be the only one at which
/// the other mode is seen.
const MANY_LEVELS: usize = 4;
const RUNS_A_LEVEL_OF_MANY: usize = 3;
/// Chance of having missed the rarer mode with as many runs.
const MAX_CHANCE_TO_MISS: f64 = 0.05;
/// Fewest fresh runs at a level.
const MIN_FRESH_RUNS: usize = 10;
/// So many fresh runs are made that shares as seen would be told apart with this chance of an accident.
///
/// Where half of one level's runs and all of the other's are slow, these are 33 runs each, and 98 of 100 such sessions decide it.
const CONFIRMATION_P_VALUE: f64 = 1e-5;

/// A run to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// Why.
    pub phase: Phase,
    /// For which factor.
    pub factor: Option<String>,
    /// What to set.
    pub levels: BTreeMap<String, String>,
}

/// What to run next, in this order; nothing more, if it is empty.
pub fn next(runs: &Runs) -> Vec<Arm> {
    let done = |phase: Phase| runs.runs.iter().filter(|run| run.phase == phase).count();
    let plain = done(Phase::Plain);
    if plain < runs.asked as usize {
        return vec![Arm::default(); runs.asked as usize - plain];
    }
    let mut arms = match (done(Phase::Screening), done(Phase::Confirmation)) {
        _ if runs.factors.iter().all(|factor| factor.missing.is_some()) => Vec::new(),
        (0, _) => screening(runs),
        (_, 0) => confirmation(runs),
        _ => Vec::new(),
    };
    Random::new(runs.seed ^ runs.runs.len() as u64).shuffle(&mut arms);
    arms
}

fn arm(phase: Phase, factor: &Factor, level: &str) -> Arm {
    let mut levels = factor.with.clone();
    if level != INHERITED {
        levels.insert(factor.name.clone(), level.to_owned());
    }
    Arm {
        phase,
        factor: Some(factor.name.clone()),
        levels,
    }
}

fn screening(runs: &Runs) -> Vec<Arm> {
    let number = enough(runs);
    let plain = Arm {
        phase: Phase::Screening,
        ..Arm::default()
    };
    let mut arms = vec![plain; number];
    for factor in runs
        .factors
        .iter()
        .filter(|factor| factor.missing.is_none())
    {
        let levels = factor.levels.iter().filter(|level| *level != INHERITED);
        let each = match factor.levels.len() > MANY_LEVELS {
            true => RUNS_A_LEVEL_OF_MANY,
            false => number,
        };
        arms.extend(levels.flat_map(|level| vec![arm(Phase::Screening, factor, level); each]));
    }
    arms
}

/// As many runs as would have shown the rarer of slow and other runs among the plain ones.
fn enough(runs: &Runs) -> usize {
    let most = (runs.asked as usize).max(RUNS_A_LEVEL);
    let modes = super::plain_modes(runs);
    if modes.modes.len() < 2 {
        return RUNS_A_LEVEL;
    }
    let slow = modes.slow_share(runs.metric.higher_is_better);
    let rarer = slow.min(1.0 - slow);
    ((MAX_CHANCE_TO_MISS.ln() / (1.0 - rarer).ln()).ceil() as usize)
        .clamp(RUNS_A_LEVEL.min(most), most)
}

fn confirmation(runs: &Runs) -> Vec<Arm> {
    let slow = Slow::of(runs);
    let most = (2 * runs.asked as usize).max(4 * MIN_FRESH_RUNS);
    let mut candidates: Vec<(f64, &Factor, [Level; 2])> = runs
        .factors
        .iter()
        .filter_map(|factor| {
            let screened = factors::screened(runs, factor, &slow)?;
            let contrast = screened.contrast?;
            (screened.p_value < MAX_SCREENING_P_VALUE).then_some((
                screened.p_value,
                factor,
                contrast,
            ))
        })
        .collect();
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
    // What decides only where another factor is set tells of that one, too.
    let set: BTreeSet<&String> = (candidates.iter().take(MAX_CANDIDATES))
        .flat_map(|(_, factor, _)| factor.with.keys())
        .collect();
    let mut place = 0;
    candidates.retain(|(_, factor, _)| {
        place += 1;
        place <= MAX_CANDIDATES || set.contains(&factor.name)
    });
    let arms = candidates.into_iter().flat_map(|(_, factor, levels)| {
        let number = fresh(&levels, most);
        levels.map(|level| vec![arm(Phase::Confirmation, factor, &level.name); number])
    });
    arms.flatten().collect()
}

/// How many fresh runs at each of two levels would tell them apart, were their shares as seen.
fn fresh([more, less]: &[Level; 2], most: usize) -> usize {
    // Half a run in doubt: none of two is not never.
    let share = |level: &Level| (level.slow as f64 + 0.5) / (level.runs as f64 + 1.0);
    let told_apart = |number: &usize| {
        let expected = |level: &Level| (share(level) * *number as f64).round() as usize;
        let [more, less] = [expected(more), expected(less)];
        fisher_exact(more as u64, *number as u64, less as u64, *number as u64)
            < CONFIRMATION_P_VALUE
    };
    (MIN_FRESH_RUNS..most).find(told_apart).unwrap_or(most)
}
