//! Whether a figure is worse than in a baseline (docs/method.md, section 10.3).
//!
//! The runs of both scatter about their own mean; so do sessions, and by how much nobody measured: as much as runs do is taken. So the difference of the means is held
//! against what two sessions of n and m runs differ by: t = d / (s sqrt(2 + 1/n + 1/m)). What is judged has no say in its limit: s is that of the baseline (a
//! prediction interval: Hahn and Meeker, 1991, chapter 4). A baseline whose runs are all the same has no scatter, and only ranks are left: if k of the m runs are
//! worse, the chance is C(m,k) / C(n+m,k) that all of those are among the m. Several figures and CPUs share one error rate by Holm's rule.

use crate::conditions::Unit;
use bandscope_statistics::distributions::{student_beyond, student_quantile};
use bandscope_statistics::holm;

/// A limit is far off from so many least changes on: 1 point of a share, 2.6 times as many gaps, a pace that is 10 % slower. Chosen, not measured.
const FAR_CHANGES: f64 = 10.0;
/// A share that grew by less did not change; chosen, not measured.
pub(super) const LEAST_OF_A_SHARE: f64 = 0.001;
/// Runs that a baseline has at most (`--runs`).
const MAX_RUNS: usize = 1000;

/// An unchanged machine fails so often, at most.
pub(super) const ERROR_RATE: f64 = 0.05;

/// How a figure is held against another of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    /// What is added before the logarithm is taken; `None` compares the figures themselves.
    log: Option<f64>,
    /// A smaller difference is no change; chosen, not measured.
    least: f64,
    /// Whether more is better.
    more_is_better: bool,
}

impl Scale {
    /// Shares are compared by difference, rates and lengths by ratio: they scatter so.
    fn of(name: &str, unit: Unit) -> Scale {
        let log = |log, ratio: f64| Scale {
            log: Some(log),
            least: ratio.ln(),
            more_is_better: false,
        };
        match unit {
            Unit::PerSecond | Unit::Number => log(1.0, 1.1),
            Unit::Seconds => log(1e-6, 1.5),
            Unit::NsPerUnit => log(0.0, 1.01),
            Unit::Share | Unit::NsPerSecond => Scale {
                log: None,
                least: if is_worst(name) {
                    0.02
                } else {
                    LEAST_OF_A_SHARE
                },
                more_is_better: is_worst(name),
            },
        }
    }

    fn to(self, value: f64) -> f64 {
        let scaled = self
            .log
            .map_or(value, |log| (value + log).max(f64::MIN_POSITIVE).ln());
        // Never -0.
        if self.more_is_better {
            0.0 - scaled
        } else {
            scaled
        }
    }

    fn back(self, scaled: f64) -> f64 {
        let scaled = if self.more_is_better {
            0.0 - scaled
        } else {
            scaled
        };
        self.log.map_or(scaled, |log| scaled.exp() - log)
    }
}

/// Whether a figure is the work done in a window, of which more is better.
pub(super) fn is_worst(name: &str) -> bool {
    name.starts_with("worst ")
}

/// Figures of two sets of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Test {
    scale: Scale,
    /// Mean of this set and of the baseline, scaled so that more is worse.
    now: f64,
    past: f64,
    /// Standard deviation of the baseline's runs; 0 only where all of them are the same.
    deviation: f64,
    /// Runs of this set that lie beyond the baseline's mean, on the side of their own.
    beyond: usize,
    /// Runs of the baseline and of this set.
    runs: [usize; 2],
}

impl Test {
    /// `None` with too few runs to know how they scatter.
    pub(super) fn new(name: &str, unit: Unit, past: &[f64], now: &[f64]) -> Option<Test> {
        let scale = Scale::of(name, unit);
        let freedom = past.len().checked_sub(1).filter(|left| *left > 0)? as f64;
        let scaled = |values: &[f64]| -> (f64, f64) {
            let scaled = values.iter().map(|&value| scale.to(value));
            // A sum of nothing but zeros is -0 otherwise.
            let mean = (0.0 + scaled.clone().sum::<f64>()) / values.len() as f64;
            (mean, scaled.map(|one| (one - mean).powi(2)).sum())
        };
        // A mean of equal values is not quite their value.
        let is_steady = past.iter().all(|value| *value == past[0]);
        let of_past = match is_steady {
            true => (scale.to(past[0]), 0.0),
            false => scaled(past),
        };
        let of_now = scaled(now);
        let side = of_now.0 - of_past.0;
        let is_beyond = |value: &&f64| (scale.to(**value) - of_past.0) * side > 0.0;
        (!now.is_empty()).then_some(Test {
            beyond: now.iter().filter(is_beyond).count(),
            scale,
            now: of_now.0,
            past: of_past.0,
            deviation: (of_past.1 / freedom).sqrt(),
            runs: [past.len(), now.len()],
        })
    }

    /// As if so many runs were judged.
    pub(super) fn of_runs(self, judged: usize) -> Test {
        Test {
            runs: [self.runs[0], judged],
            ..self
        }
    }

    /// Standard error of the difference of two sessions, with so many runs in the baseline; and its degrees of freedom.
    fn error(&self, runs: usize) -> (f64, f64) {
        let [past, now] = [runs, self.runs[1]].map(|runs| runs as f64);
        let error = self.deviation * (2.0 + 1.0 / past + 1.0 / now).sqrt();
        (error, past - 1.0)
    }

    /// From the baseline's figure to its limit at a level, scaled, as far as the scatter of so many runs goes.
    fn reach(&self, runs: usize, level: f64) -> f64 {
        let (error, freedom) = self.error(runs);
        student_quantile(2.0 * level, freedom) * error
    }

    /// Chance that, of so many runs of a baseline without scatter and of this set, `beyond` lie beyond the others, and all in this set.
    fn rank_chance(&self, past: usize, beyond: usize) -> f64 {
        rank_chance([past, self.runs[1]], beyond)
    }

    /// Whether a baseline without scatter is too short for it to fail at a level.
    fn is_blind(&self, level: f64) -> bool {
        // Of runs that equal the baseline, rounding alone may put the mean above its figure.
        let beyond = if self.now > self.past && self.beyond > 0 {
            self.beyond
        } else {
            self.runs[1]
        };
        self.deviation == 0.0 && self.rank_chance(self.runs[0], beyond) > level
    }

    /// The figure of this set of runs.
    pub(super) fn value(&self) -> f64 {
        self.scale.back(self.now)
    }

    /// That of the baseline.
    pub(super) fn baseline(&self) -> f64 {
        self.scale.back(self.past)
    }

    /// Chance that an unchanged machine is so much worse.
    pub(super) fn p_worse(&self) -> f64 {
        let worse = self.now - self.past;
        if self.deviation == 0.0 {
            let beyond = if worse > 0.0 { self.beyond } else { 0 };
            return self.rank_chance(self.runs[0], beyond);
        }
        let (error, freedom) = self.error(self.runs[0]);
        let beyond = student_beyond((worse / error).abs(), freedom);
        if worse > 0.0 {
            beyond / 2.0
        } else {
            1.0 - beyond / 2.0
        }
    }

    /// Chance that an unchanged machine differs so much, either way.
    pub(super) fn p_differs(&self) -> f64 {
        if self.deviation == 0.0 {
            // From 0 it can only rise.
            let sides = if self.past == self.scale.to(0.0) {
                1.0
            } else {
                2.0
            };
            return (sides * self.rank_chance(self.runs[0], self.beyond)).min(1.0);
        }
        let p = self.p_worse();
        (2.0 * p.min(1.0 - p)).min(1.0)
    }

    fn is_small(&self) -> bool {
        self.now - self.past <= self.scale.least
    }

    /// The figure beyond which it fails at a level; of a share all of it, else infinite, where nothing fails.
    fn bound(&self, level: f64) -> f64 {
        let reach = match self.is_blind(level) {
            true => f64::INFINITY,
            false => self.reach(self.runs[0], level).max(self.scale.least),
        };
        let bound = self.scale.back(self.past + reach);
        match self.scale.log {
            Some(_) => bound,
            None => bound.clamp(0.0, 1.0),
        }
    }

    /// Whether a limit is so far off at a level that it hardly bounds anything; then how many runs would bring it near.
    fn far(&self, level: f64) -> Option<Far> {
        let far = FAR_CHANGES * self.scale.least;
        // Of a large share, twice as much is far; and all of the time, which nothing exceeds.
        let far = match (self.scale.log, self.scale.more_is_better) {
            (None, false) => far.max(self.past).min(1.0 - self.past),
            _ => far,
        };
        let is_far = |runs: usize| match self.deviation == 0.0 {
            true => self.rank_chance(runs, self.runs[1]) > level,
            false => self.reach(runs, level) > far,
        };
        if !is_far(self.runs[0]) {
            return None;
        }
        let (mut few, mut many) = (self.runs[0], MAX_RUNS);
        if few >= many || is_far(many) {
            return Some(Far { enough_runs: None });
        }
        // More runs are never farther off.
        while few + 1 < many {
            let middle = usize::midpoint(few, many);
            match is_far(middle) {
                true => few = middle,
                false => many = middle,
            }
        }
        Some(Far {
            enough_runs: Some(many as u32),
        })
    }
}

/// The same of so many runs of both sets.
fn rank_chance([past, now]: [usize; 2], beyond: usize) -> f64 {
    let of_next = |run: usize| (now - run) as f64 / (past + now - run) as f64;
    (0..beyond).map(of_next).product()
}

/// How many runs must be judged so that one of `tests` can fail against a baseline without scatter.
pub(super) fn runs_to_notice(past: usize, tests: usize) -> usize {
    let level = ERROR_RATE / tests.max(1) as f64;
    let mut runs = 1..=MAX_RUNS;
    let enough = runs.find(|&runs| rank_chance([past, runs], runs) <= level);
    enough.unwrap_or(MAX_RUNS)
}

/// What came of a test among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    /// Whether it is worse, with all tests at one error rate.
    pub worse: bool,
    /// Corrected for the number of tests.
    pub p_value: f64,
    /// Beyond this it is worse.
    pub bound: f64,
    /// Set where that is far off.
    pub far: Option<Far>,
}

/// A limit that hardly bounds anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Far {
    /// Runs of a baseline that scatter as these and would bring it near; `None` if no number does.
    pub enough_runs: Option<u32>,
}

/// Judges tests together.
pub(super) fn judge(tests: &[Test]) -> Vec<Judged> {
    let chances: Vec<f64> = tests.iter().map(Test::p_worse).collect();
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let judged = tests.iter().zip(holm(&chances)).enumerate();
    let judged = judged.map(|(own, (test, p_value))| Judged {
        worse: p_value <= ERROR_RATE && !test.is_small(),
        p_value,
        bound: test.bound(level(own, &order, &chances)),
        // Which is the farthest of all: what a baseline needs does not depend on what is held against it.
        far: test.far(ERROR_RATE / tests.len() as f64),
    });
    judged.collect()
}

/// The level at which Holm's rule rejects a test, whatever its own chance: that after all others which are rejected before it.
fn level(own: usize, order: &[usize], chances: &[f64]) -> f64 {
    let left = |place: usize| (order.len() - place) as f64;
    let others = order.iter().filter(|other| **other != own).zip(0..);
    let rejected =
        others.take_while(|(other, place)| chances[**other] * left(*place) <= ERROR_RATE);
    ERROR_RATE / left(rejected.count())
}

#[cfg(test)]
mod tests;
