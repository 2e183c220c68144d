//! Levels against their controls: ratios of medians, pass by pass.
//!
//! The interval is one of the passes: of 24 ratios the fourth from either end, whatever their distribution. If passes are exchangeable it
//! covers the true median in 99.97 of 100 cases, and the median that another 24 passes would give in 99.2 (order statistics: David
//! and Nagaraja 2003, sections 7.1 and 7.3). Fewer passes go nearer to the ends, and too few have no interval.

use super::meaning;
use super::states::{State, states};
use bandscope_recording::experiments::{self, Pass};
use bandscope_statistics::order::median;
use serde::Serialize;

/// A pair's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// One of the pairs of docs/method.md, section 9.6.
    pub name: String,
    /// Time of an operation at `level` over that at its control; `None` where nothing was measured.
    pub ratio: Option<f64>,
    /// Of `ratio`; `None` of too few passes.
    pub interval: Option<[f64; 2]>,
    /// The level whose ratio is farthest from 1 of those that differ for sure; the farthest of all where none does.
    pub level: Option<String>,
    /// Whether the interval leaves 1 out, and the ratio is more than a percent from it.
    pub differs: bool,
    /// The paces of all its levels.
    pub states: Vec<State>,
    /// By how much a register chain moved right after the pieces of a level, against the control's: the largest of all levels, as
    /// a ratio less 1.
    pub chain_moved: Option<f64>,
    /// What it means for somebody's benchmark.
    pub meaning: String,
    /// What avoids the difference in a program; empty where there is none.
    pub advice: String,
    /// The levels; of a sweep those that are compared.
    pub levels: Vec<Level>,
}

/// A level's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// What tells it from the others.
    pub name: String,
    /// The loop or work kernel.
    pub code: String,
    /// What that does.
    pub description: String,
    /// The level that it is held against.
    pub control: String,
    /// Cycles per operation: median over the passes of their medians.
    pub cycles: Option<f64>,
    /// Time of an operation over the control's; `None` for a control.
    pub ratio: Option<f64>,
    /// Of `ratio`; see the module.
    pub interval: Option<[f64; 2]>,
    /// Whether the interval leaves 1 out, and the ratio is more than a percent from it.
    pub differs: bool,
    /// Paces.
    pub states: Vec<State>,
    /// Why it was not measured.
    pub missing: Option<String>,
}

/// Levels are alike within this ratio, less 1: what a pair's ratio is to be reproduced within.
const ALIKE: f64 = 0.03;
/// Ratios nearer to 1 are nothing that a benchmark would show.
const NOTHING: f64 = 0.01;
/// A pace of a smaller share of the pieces is an accident: of 20 us every two-hundredth meets a tick of 4 ms, and a busy host is no more
/// than ten times as frequent.
const SMALLEST: f64 = 0.05;
/// Passes left out at either end of an interval, of 24.
const LEFT_OUT: f64 = 3.0 / 24.0;
/// Fewer passes have no interval: from end to end it covers the true median in 97 of 100 cases of six, in 94 of five.
const MIN_PASSES: usize = 6;
/// A pair of more levels is a sweep: its best and worst are looked for.
const SWEEP: usize = 32;

/// Cycles per operation of the pieces of a pass.
fn cycles(pass: &Pass, reference_cycles: f64) -> Vec<f64> {
    let both = pass.ticks.iter().zip(&pass.reference);
    both.map(|(&ticks, &reference)| reference_cycles * f64::from(ticks) / f64::from(reference))
        .collect()
}

/// What of a level the ratios need.
struct Measured {
    /// Median cycles per operation of each pass.
    passes: Vec<Option<f64>>,
    /// Of all pieces.
    pieces: Vec<f64>,
    /// Median of the second chain over the reference.
    chain: Option<f64>,
}

impl Measured {
    fn new(level: &experiments::Level, reference_cycles: f64) -> Measured {
        let passes: Vec<Vec<f64>> = level
            .passes
            .iter()
            .map(|pass| cycles(pass, reference_cycles))
            .collect();
        let chains = level
            .passes
            .iter()
            .flat_map(|pass| pass.chain.iter().zip(&pass.reference));
        let chains = chains.map(|(&chain, &reference)| f64::from(chain) / f64::from(reference));
        Measured {
            pieces: passes.iter().flatten().copied().collect(),
            passes: passes.into_iter().map(median).collect(),
            chain: median(chains),
        }
    }

    fn cycles(&self) -> Option<f64> {
        median(self.passes.iter().flatten().copied())
    }

    /// Ratio to `control` of the passes that `which` takes, and its interval.
    fn against(&self, control: &Measured, which: impl Fn(usize) -> bool) -> Compared {
        let both = self.passes.iter().zip(&control.passes).enumerate();
        let ratios = both
            .filter(|(index, _)| which(*index))
            .filter_map(|(_, (own, other))| Some((*own)? / (*other)?));
        let mut ratios: Vec<f64> = ratios.collect();
        ratios.sort_by(f64::total_cmp);
        let left_out = (LEFT_OUT * ratios.len() as f64) as usize;
        let enough = ratios.len() >= MIN_PASSES;
        Compared {
            ratio: median(ratios.iter().copied()),
            interval: enough.then(|| [ratios[left_out], ratios[ratios.len() - 1 - left_out]]),
        }
    }
}

/// A level against its control; nothing of a control.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
}

/// Explains a pair.
pub fn pair(pair: &experiments::Pair, reference_cycles: f64) -> Pair {
    let measured: Vec<Measured> = pair
        .levels
        .iter()
        .map(|level| Measured::new(level, reference_cycles))
        .collect();
    let mut result = match pair.levels.len() {
        many if many > SWEEP => sweep(pair, &measured),
        _ => compare(pair, &measured),
    };
    let pieces: Vec<f64> = measured
        .iter()
        .flat_map(|one| one.pieces.iter().copied())
        .collect();
    result.states = states(&pieces, SMALLEST);
    result.chain_moved = chain_moved(pair, &measured);
    result.meaning = meaning::of(&result);
    result.advice = meaning::avoid(&result).to_owned();
    result
}

/// Each level against its control.
fn compare(pair: &experiments::Pair, measured: &[Measured]) -> Pair {
    let levels: Vec<Level> = (0..measured.len())
        .map(|index| {
            let control = pair.levels[index].control;
            let against = match control == index {
                true => Compared::default(),
                false => measured[index].against(&measured[control], |_| true),
            };
            level(pair, measured, index, control, against)
        })
        .collect();
    let farthest = |sure: bool| {
        let such = levels.iter().filter(move |level| !sure || level.differs);
        let distance = |level: &&Level| level.ratio.map_or(-1.0, |ratio| ratio.ln().abs());
        let such: Vec<&Level> = such.filter(|level| level.ratio.is_some()).collect();
        let most = such.iter().map(&distance).fold(0.0, f64::max);
        // Of several that are alike the first, so that the same level is named every time.
        such.into_iter()
            .find(|level| distance(level) >= most - ALIKE)
    };
    let chosen = farthest(true).or_else(|| farthest(false));
    let (ratio, interval, name) = chosen.map_or((None, None, None), |level| {
        (level.ratio, level.interval, Some(level.name.clone()))
    });
    Pair {
        name: pair.name.clone(),
        ratio,
        interval,
        level: name,
        differs: differs(ratio, interval),
        states: Vec::new(),
        chain_moved: None,
        meaning: String::new(),
        advice: String::new(),
        levels,
    }
}

/// The slowest level against the fastest. Which they are is decided by every other pass, and how far apart they are measured in the
/// passes between: the largest of 64 of anything is large by chance.
fn sweep(pair: &experiments::Pair, measured: &[Measured]) -> Pair {
    let chosen = |index: usize| median(measured[index].passes.iter().step_by(2).flatten().copied());
    let known: Vec<(f64, usize)> = (0..measured.len())
        .filter_map(|index| Some((chosen(index)?, index)))
        .collect();
    let fastest = known
        .iter()
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(0, |one| one.1);
    let slowest = known
        .iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(0, |one| one.1);
    let against = measured[slowest].against(&measured[fastest], |index| index % 2 == 1);
    let levels = vec![
        level(pair, measured, fastest, fastest, Compared::default()),
        level(pair, measured, slowest, fastest, against),
    ];
    let Compared { ratio, interval } = against;
    Pair {
        name: pair.name.clone(),
        ratio,
        interval,
        level: ratio.map(|_| pair.levels[slowest].name.clone()),
        differs: differs(ratio, interval),
        states: Vec::new(),
        chain_moved: None,
        meaning: String::new(),
        advice: String::new(),
        levels,
    }
}

fn level(
    pair: &experiments::Pair,
    measured: &[Measured],
    index: usize,
    control: usize,
    Compared { ratio, interval }: Compared,
) -> Level {
    let one = &pair.levels[index];
    Level {
        name: one.name.clone(),
        code: one.code.clone(),
        description: one.description.clone(),
        control: pair.levels[control].name.clone(),
        cycles: measured[index].cycles(),
        ratio,
        interval,
        differs: differs(ratio, interval),
        states: states(&measured[index].pieces, SMALLEST),
        missing: one.missing.clone(),
    }
}

fn differs(ratio: Option<f64>, interval: Option<[f64; 2]>) -> bool {
    let (Some(ratio), Some([low, high])) = (ratio, interval) else {
        return false;
    };
    (low > 1.0 || high < 1.0) && (ratio - 1.0).abs() > NOTHING
}

fn chain_moved(pair: &experiments::Pair, measured: &[Measured]) -> Option<f64> {
    let moves = (0..measured.len()).filter_map(|index| {
        let control = &measured[pair.levels[index].control];
        Some(measured[index].chain? / control.chain? - 1.0)
    });
    moves.max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_statistics::random::Random;

    /// A level whose operations take so many cycles in each pass; the reference takes 3.
    fn level(name: &str, passes: &[f64]) -> experiments::Level {
        let pass = |&cycles: &f64| Pass {
            ticks: vec![(cycles * 0.7) as f32; 5],
            reference: vec![2.1; 5],
            chain: vec![2.8; 5],
        };
        experiments::Level {
            name: name.into(),
            passes: passes.iter().map(pass).collect(),
            ..experiments::Level::default()
        }
    }

    fn pair_of(levels: Vec<experiments::Level>) -> Pair {
        pair(
            &experiments::Pair {
                name: "base-register".into(),
                levels,
            },
            3.0,
        )
    }

    #[test]
    fn a_ratio_is_of_medians_and_its_interval_leaves_accidents_out() {
        let mut slow = [7.0; 24];
        slow[3] = 30.0;
        slow[9] = 40.0;
        let result = pair_of(vec![level("rsp", &[1.0; 24]), level("pointer", &slow)]);
        assert!(
            (result.ratio.unwrap() - 7.0).abs() < 1e-5 && result.differs,
            "{result:?}"
        );
        assert!(result.interval.unwrap()[1] < 7.001);
        assert_eq!(
            (result.level.as_deref(), result.levels[0].ratio),
            (Some("pointer"), None)
        );
        assert!(result.chain_moved.unwrap().abs() < 1e-9);
        assert_eq!(result.states.len(), 2);
        let few = pair_of(vec![level("rsp", &[1.0; 5]), level("pointer", &[7.0; 5])]);
        assert!(few.ratio.is_some() && few.interval.is_none() && !few.differs);
        assert_eq!(few.meaning, "Too few passes to tell.");
    }

    #[test]
    fn nothing_is_claimed_where_the_interval_covers_1() {
        let flips: Vec<f64> = (0..24)
            .map(|pass| if pass % 2 == 0 { 1.0 } else { 3.0 })
            .collect();
        let result = pair_of(vec![
            level("32", &[1.0; 24]),
            level("reloaded", &flips),
            level("64", &[1.005; 24]),
        ]);
        assert!(!result.differs, "{result:?}");
        assert_eq!(result.interval.map(|[low, _]| low <= 1.0), Some(true));
        assert_eq!(result.levels[1].states.len(), 2);
        let none = pair_of(vec![level("allowed", &[]), level("forbidden", &[])]);
        assert_eq!(
            (none.ratio, none.differs, none.states.len()),
            (None, false, 0)
        );
    }

    #[test]
    fn a_sweep_of_equals_has_no_worst() {
        // Passes of the same level scatter: the worst of 64 in half of the passes is nothing special in the other half.
        let mut random = Random::new(7);
        let mut equals = || {
            (0..64)
                .map(|index| {
                    level(
                        &index.to_string(),
                        &(0..24)
                            .map(|_| 2.0 + 0.2 * random.unit())
                            .collect::<Vec<_>>(),
                    )
                })
                .collect::<Vec<_>>()
        };
        for _ in 0..20 {
            let result = pair_of(equals());
            assert!(!result.differs, "{:?} {:?}", result.ratio, result.interval);
        }
        let mut levels = equals();
        levels[17] = level("17", &[4.0; 24]);
        let result = pair_of(levels);
        assert!(
            result.differs && result.level.as_deref() == Some("17"),
            "{result:?}"
        );
    }
}
