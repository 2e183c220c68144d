//! Whether a figure is worse than in a baseline (docs/method.md, section 10.3).
//!
//! The runs of both scatter about their own mean; so do sessions, and by how much nobody measured: as much as runs do is taken. So the difference of the means is held
//! against what two sessions of n and m runs differ by: t = d / (s sqrt(2 + 1/n + 1/m)). What is judged has no say in its limit: s is that of the baseline (a
//! prediction interval: Hahn and Meeker, 1991, chapter 4). Several figures and CPUs share one error rate by Holm's rule.

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
    /// Standard deviation of the baseline's runs.
    deviation: f64,
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
        let (of_past, of_now) = (scaled(past), scaled(now));
        (!now.is_empty()).then_some(Test {
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
        let (error, freedom) = self.error(self.runs[0]);
        let beyond = match error > 0.0 {
            true => student_beyond((worse / error).abs(), freedom),
            // Without any scatter every difference is one.
            false if worse == 0.0 => 1.0,
            false => 0.0,
        };
        if worse > 0.0 {
            beyond / 2.0
        } else {
            1.0 - beyond / 2.0
        }
    }

    /// Chance that an unchanged machine differs so much, either way.
    pub(super) fn p_differs(&self) -> f64 {
        let p = self.p_worse();
        (2.0 * p.min(1.0 - p)).min(1.0)
    }

    fn is_small(&self) -> bool {
        self.now - self.past <= self.scale.least
    }

    /// The figure beyond which it fails at a level.
    fn bound(&self, level: f64) -> f64 {
        let reach = self.reach(self.runs[0], level).max(self.scale.least);
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
        let is_far = |runs: usize| self.reach(runs, level) > far;
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
    let corrected = holm(&chances);
    let judged = tests
        .iter()
        .zip(&chances)
        .zip(corrected)
        .map(|((test, chance), p_value)| {
            let before = chances.iter().filter(|other| *other < chance).count();
            let level = ERROR_RATE / (tests.len() - before) as f64;
            Judged {
                worse: p_value <= ERROR_RATE && !test.is_small(),
                p_value,
                bound: test.bound(level),
                // Which is the farthest of all: what a baseline needs does not depend on what is held against it.
                far: test.far(ERROR_RATE / tests.len() as f64),
            }
        });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::super::JUDGED;
    use super::*;
    use bandscope_statistics::random::Random;

    #[test]
    fn an_unchanged_machine_fails_as_seldom_as_it_may() {
        let mut random = Random::new(7);
        // A session differs from another as runs do.
        let mut draw = |mean: f64| -> Vec<f64> {
            let session = mean + 0.01 * random.normal();
            (0..5).map(|_| session + 0.01 * random.normal()).collect()
        };
        let mut fails = |mean: f64| {
            let one = |draw: &mut dyn FnMut(f64) -> Vec<f64>| {
                let (past, now) = (draw(0.1), draw(mean));
                Test::new("lost", Unit::Share, &past, &now).unwrap()
            };
            let tests: Vec<Test> = (0..8).map(|_| one(&mut draw)).collect();
            judge(&tests).iter().any(|judged| judged.worse)
        };
        let unchanged = (0..400).filter(|_| fails(0.1)).count();
        let worse = (0..400).filter(|_| fails(0.25)).count();
        assert!(unchanged <= 30 && worse >= 380, "{unchanged} {worse}");
    }

    /// The table of docs/check.md.
    #[test]
    fn limits_of_few_runs_are_far_off() {
        let level = ERROR_RATE / JUDGED.len() as f64;
        for (runs, expected) in [(3, 16.2), (5, 7.7), (10, 5.5), (30, 4.6), (1000, 4.3)] {
            let test = Test {
                scale: Scale::of("lost", Unit::Share),
                now: 0.0,
                past: 0.0,
                deviation: 1.0,
                runs: [runs, 1],
            };
            let reach = test.reach(runs, level);
            assert!((reach - expected).abs() < 0.05, "{runs}: {reach}");
        }
    }

    #[test]
    fn a_limit_that_bounds_nothing_says_how_many_runs_would_do() {
        let far = |unit, past: &[f64]| {
            let test = Test::new("lost", unit, past, past).unwrap();
            (test, judge(&[test; 5])[0])
        };
        // Three runs of 30 to 90 gaps a second: thousands would pass.
        let (test, judged) = far(Unit::PerSecond, &[30.0, 90.0, 45.0]);
        assert!(judged.bound > 1e4, "{judged:?}");
        // Gaps that scatter by a half of themselves are never bounded by 2.6 times as many.
        assert_eq!(judged.far, Some(Far { enough_runs: None }), "{test:?}");
        let (test, judged) = far(Unit::PerSecond, &[40.0, 60.0, 50.0]);
        let enough = judged.far.unwrap().enough_runs.unwrap() as usize;
        let level = ERROR_RATE / 5.0;
        let far_from = FAR_CHANGES * test.scale.least;
        assert!(
            test.reach(enough, level) <= far_from && test.reach(enough - 1, level) > far_from,
            "{enough}"
        );
        // What scatters little, and a share that may double, are near.
        assert_eq!(far(Unit::PerSecond, &[250.0, 251.0, 249.0]).1.far, None);
        assert_eq!(far(Unit::Share, &[0.25, 0.26, 0.24]).1.far, None);
        assert!(far(Unit::Share, &[0.002, 0.004, 0.001]).1.far.is_some());
        // A limit of all of the time cannot fail.
        let (_, judged) = far(Unit::Share, &[0.75, 0.8, 0.85]);
        assert!(judged.bound >= 1.0 && judged.far.is_some(), "{judged:?}");
    }

    #[test]
    fn a_few_bad_runs_do_not_hide_each_other() {
        let quiet = [0.002, 0.003, 0.0025, 0.0022, 0.0028];
        for bad in 1..=5 {
            let now: Vec<f64> = (0..5)
                .map(|run| if run < bad { 0.5 } else { 0.0025 })
                .collect();
            let test = Test::new("lost", Unit::Share, &quiet, &now).unwrap();
            assert!(judge(&vec![test; 8])[0].worse, "{bad}");
        }
    }

    #[test]
    fn what_is_better_or_small_never_fails() {
        let judged = |name: &str, unit, past: &[f64], now: &[f64]| {
            judge(&[Test::new(name, unit, past, now).unwrap()])[0]
        };
        let quiet = [0.01, 0.010_01, 0.009_99];
        assert!(!judged("lost", Unit::Share, &quiet, &[0.0101; 3]).worse);
        assert!(!judged("lost", Unit::Share, &quiet, &[0.001; 3]).worse);
        let worse = judged("lost", Unit::Share, &quiet, &[0.02; 3]);
        assert!(
            worse.worse && (0.01..0.02).contains(&worse.bound),
            "{worse:?}"
        );
        // Of a window less is worse.
        assert!(judged("worst 1 ms", Unit::Share, &[0.9, 0.91, 0.89], &[0.5]).worse);
        assert!(!judged("worst 1 ms", Unit::Share, &[0.5, 0.51, 0.49], &[0.9]).worse);
        assert!(!judged("gaps", Unit::PerSecond, &[0.0; 3], &[0.0; 3]).worse);
        assert!(Test::new("lost", Unit::Share, &[0.1], &[0.1]).is_none());
    }
}
