//! How many modes some runs have, where, and how often.
//!
//! Values are compared by their logarithm, as run times differ by ratios, and taken apart at the deepest valley ([`bandscope_statistics::valley`]) as
//! long as that is no accident. Never a mean.

use bandscope_statistics::counts::wilson_interval;
use bandscope_statistics::order::median_between;
use bandscope_statistics::paired::median_interval;
use bandscope_statistics::valley;
use serde::Serialize;
use std::cmp::Ordering;
use std::ops::Range;

/// A valley this deep is no accident: one in a hundred sets of runs with one mode has such a one, at most.
pub const SURE: f64 = 0.01;
/// A valley this deep may be none, and is said to be possible.
pub const MAYBE: f64 = 0.05;
/// A common divisor above this share of the median is no digit of a clock but what a program does.
const COARSEST: f64 = 0.05;

/// What the values of some runs look like.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Modes {
    /// Lowest value first; one, if there is but one mode; none, if there is no value.
    pub modes: Vec<Mode>,
    /// Chance of a valley as deep as the deepest if there were but one mode; 1 of fewer than four values.
    pub p_value: f64,
    /// What the modes would be if a valley were believed that is an accident in one of 20 cases; empty where that changes nothing.
    pub possible: Vec<Mode>,
}

/// A value that recurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// Median, in the unit of the metric.
    pub value: f64,
    /// Of the median, 95 %, by order statistics.
    pub value_interval: [f64; 2],
    /// Lowest and highest.
    pub range: [f64; 2],
    /// How many.
    pub runs: usize,
    /// Of all runs.
    pub share: f64,
    /// 95 %, by Wilson's score.
    pub share_interval: [f64; 2],
}

impl Modes {
    /// Of these values, of which digits below `resolution` mean nothing.
    pub fn of(values: &[f64], resolution: f64) -> Modes {
        Modes::of_inexact(values, resolution, 0.0)
    }

    /// The same of values each of which may be off by half of `error` to either side.
    pub fn of_inexact(values: &[f64], resolution: f64, error: f64) -> Modes {
        let mut sorted: Vec<f64> = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let places = places(&sorted, step(&sorted, resolution).max(error));
        let p_value = valley::deepest(&places).map_or(1.0, |valley| valley.p_value);
        let cut = |chance: f64| -> Vec<Mode> {
            let mut cuts = Vec::new();
            cut_at(&places, 0, chance, &mut cuts);
            described(&sorted, &cuts)
        };
        let modes = cut(SURE);
        let mut possible = match p_value < MAYBE {
            true => cut(MAYBE),
            false => Vec::new(),
        };
        if possible.len() <= modes.len() {
            possible.clear();
        }
        Modes {
            modes,
            p_value,
            possible,
        }
    }

    /// Which mode a value belongs to, by the nearest ends; 0 of none.
    pub fn index(&self, value: f64) -> usize {
        let after = self.modes.windows(2).take_while(|pair| {
            // On the scale on which modes are told apart.
            let (low, high) = (pair[0].range[1], pair[1].range[0]);
            let middle = match low > 0.0 {
                true => (low * high).sqrt(),
                false => (low + high) / 2.0,
            };
            value > middle
        });
        after.count()
    }

    /// Numbers of the slow modes: those beyond the widest step between neighbours. What lies a few percent above the best is no slow run beside one ten times
    /// away. Empty where there is one mode.
    pub fn slow(&self, higher_is_better: bool) -> Range<usize> {
        let step = |pair: &[Mode]| match self.modes[0].value > 0.0 {
            true => pair[1].value / pair[0].value,
            false => pair[1].value - pair[0].value,
        };
        // Of equal steps the one next to the best mode.
        let steps = self.modes.windows(2).map(step).enumerate();
        let widest = steps.reduce(|best, one| match one.1.total_cmp(&best.1) {
            Ordering::Greater => one,
            Ordering::Equal if higher_is_better => one,
            _ => best,
        });
        match widest {
            None => 0..0,
            Some((low, _)) if higher_is_better => 0..low + 1,
            Some((low, _)) => low + 1..self.modes.len(),
        }
    }

    /// Share of the runs that are in a slow mode.
    pub fn slow_share(&self, higher_is_better: bool) -> f64 {
        let slow = &self.modes[self.slow(higher_is_better)];
        // A sum of nothing is -0 otherwise.
        0.0 + slow.iter().map(|mode| mode.share).sum::<f64>()
    }

    /// How much the highest value is above the lowest, as a ratio; `None` where there is one, or they are not positive.
    pub fn ratio(&self) -> Option<f64> {
        let [first, .., last] = &self.modes[..] else {
            return None;
        };
        (first.value > 0.0).then(|| last.value / first.value)
    }
}

/// Sorted values where they may be compared: logarithms if all are positive, and those closer than half a step as far apart as they may be.
fn places(sorted: &[f64], step: f64) -> Vec<f64> {
    let mut spread = Vec::with_capacity(sorted.len());
    for same in sorted.chunk_by(|a, b| b - a < step / 2.0) {
        let number = same.len() as f64;
        spread.extend(
            same.iter()
                .enumerate()
                .map(|(index, value)| value + step * ((index as f64 + 0.5) / number - 0.5)),
        );
    }
    // Rounded up or down, neighbours of a step may touch.
    spread.sort_by(f64::total_cmp);
    match spread.first().is_some_and(|lowest| *lowest > 0.0) {
        true => spread.into_iter().map(f64::ln).collect(),
        false => spread,
    }
}

/// What values are whole multiples of, apart from a common offset: a clock's tick, if it is small enough to be one.
fn step(sorted: &[f64], resolution: f64) -> f64 {
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0).abs();
    if resolution <= 0.0 {
        return 0.0;
    }
    let apart = sorted
        .windows(2)
        .map(|pair| ((pair[1] - pair[0]) / resolution).round());
    let common = apart
        .filter(|steps| *steps < 9e15)
        .fold(0, |a, b| divisor(a, b as u64));
    let common = common as f64 * resolution;
    match common <= COARSEST * median {
        true => common.max(resolution),
        false => resolution,
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => divisor(b, a % b),
    }
}

/// Cuts `places`, of which the first is number `first` of all, as long as valleys are no accident.
fn cut_at(places: &[f64], first: usize, chance: f64, cuts: &mut Vec<usize>) {
    let Some(valley) = valley::deepest(places).filter(|valley| valley.p_value < chance) else {
        return;
    };
    let (low, high) = places.split_at(valley.cut);
    // What is looked at again inside a part shares the chance of an accident.
    cut_at(low, first, chance / 2.0, cuts);
    cuts.push(first + valley.cut);
    cut_at(high, first + valley.cut, chance / 2.0, cuts);
}

fn described(sorted: &[f64], cuts: &[usize]) -> Vec<Mode> {
    let ends = cuts.iter().copied().chain([sorted.len()]);
    let mut first = 0;
    let mut modes = Vec::with_capacity(cuts.len() + 1);
    for end in ends {
        modes.extend(Mode::of(&sorted[first..end], sorted.len()));
        first = end;
    }
    modes
}

impl Mode {
    /// Of these values in rising order, out of so many; `None` of none.
    pub fn of(sorted: &[f64], all: usize) -> Option<Mode> {
        let range = [*sorted.first()?, *sorted.last()?];
        let runs = sorted.len();
        Some(Mode {
            value: median_between(sorted.to_vec())?,
            // Of fewer than six it is anywhere between them.
            value_interval: median_interval(sorted).unwrap_or(range),
            range,
            runs,
            share: runs as f64 / all as f64,
            share_interval: wilson_interval(runs as u64, all as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sort_may_have_two_modes_and_eight_runs_do_not_decide() {
        // cases/rsort-runs.tsv.
        let runs = [
            13_115_873.0,
            22_135_310.0,
            13_009_435.0,
            13_008_352.0,
            13_083_947.0,
            21_942_109.0,
            13_088_477.0,
            13_064_438.0,
        ];
        let modes = Modes::of(&runs, 1.0);
        assert_eq!(modes.modes.len(), 1);
        let [fast, slow] = &modes.possible[..] else {
            panic!("{modes:?}");
        };
        assert_eq!((fast.runs, slow.runs), (6, 2));
        assert!((slow.value / fast.value - 1.685).abs() < 0.001, "{modes:?}");
    }

    #[test]
    fn three_modes_are_found_and_values_told_apart() {
        let group = |at: f64| (0..12).map(move |n| at * (1.0 + 0.002 * f64::from(n % 7)));
        let values: Vec<f64> = group(3.0).chain(group(1.0)).chain(group(2.0)).collect();
        let modes = Modes::of(&values, 1e-9);
        assert_eq!(modes.modes.len(), 3, "{modes:?}");
        assert!(
            modes
                .modes
                .iter()
                .all(|mode| (mode.share - 1.0 / 3.0).abs() < 1e-9)
        );
        assert_eq!(
            [1.0, 1.3, 1.8, 5.0].map(|value| modes.index(value)),
            [0, 0, 1, 2]
        );
        assert!((modes.ratio().unwrap() - 3.0).abs() < 0.02);
    }

    #[test]
    fn slow_modes_lie_beyond_the_widest_step() {
        let at = |values: &[f64]| Modes {
            modes: (values.iter())
                .map(|&value| Mode {
                    value,
                    share: 0.25,
                    ..Mode::default()
                })
                .collect(),
            ..Modes::default()
        };
        let slow = |values: &[f64]| [false, true].map(|is| at(values).slow(is));
        assert_eq!(slow(&[]), [0..0, 0..0]);
        assert_eq!(slow(&[1.0]), [0..0, 0..0]);
        assert!(at(&[1.0]).slow_share(false).is_sign_positive());
        assert_eq!(slow(&[1.0, 1.7]), [1..2, 0..1]);
        assert_eq!(slow(&[1.0, 1.04, 10.0]), [2..3, 0..2]);
        assert_eq!(slow(&[1.0, 10.0, 10.4]), [1..3, 0..1]);
        assert_eq!(slow(&[1.0, 2.0, 4.0]), [1..3, 0..2]);
        assert_eq!(slow(&[-1.0, 0.0, 5.0]), [2..3, 0..2]);
        assert_eq!(at(&[1.0, 10.0, 10.4]).slow_share(false), 0.5);
    }

    #[test]
    fn equal_values_are_as_far_apart_as_their_digits_allow() {
        // A clock that ticks in 10 ms under a program that prints nanoseconds: one mode.
        let ticks: Vec<f64> = (0..30)
            .map(|n| 1.20 + 0.01 * f64::from(n * 7 % 5))
            .collect();
        assert_eq!(Modes::of(&ticks, 1e-9).modes.len(), 1);
        // A counted loop, the same in each run but for its mode.
        let counted: Vec<f64> = (0..30)
            .map(|n| if n % 5 == 0 { 150.0 } else { 100.0 })
            .collect();
        let modes = Modes::of(&counted, 1.0);
        assert_eq!(modes.modes.len(), 2, "{modes:?}");
        assert_eq!(modes.modes[1].runs, 6);
    }

    #[test]
    fn few_values_and_none_have_no_modes_to_tell() {
        assert_eq!(Modes::of(&[], 1.0).modes, []);
        assert_eq!(Modes::of(&[2.0], 1.0).modes[0].value, 2.0);
        assert_eq!(Modes::of(&[5.0; 20], 1.0).modes.len(), 1);
        assert_eq!(Modes::of(&[0.0; 20], 0.0).modes.len(), 1);
        assert_eq!(Modes::of(&[-1.0, 0.0, 1.0, 2.0], 0.1).modes.len(), 1);
    }
}
