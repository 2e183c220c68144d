//! Whether a figure is worse than in a baseline (docs/method.md, section 10.3).
//!
//! The runs of both scatter about their own mean; so do sessions, and by how much nobody measured: as much as runs do is taken. So the difference of the means is held
//! against what two sessions of n and m runs differ by: t = d / (s sqrt(2 + 1/n + 1/m)). What is judged has no say in its limit: s is that of the baseline (a
//! prediction interval: Hahn and Meeker, 1991, chapter 4). Several figures and CPUs share one error rate by Holm's rule.

use crate::conditions::Unit;
use bandscope_statistics::distributions::{student_beyond, student_quantile};
use bandscope_statistics::holm;

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
            Unit::Share | Unit::SecondsPerSecond => Scale {
                log: None,
                least: if is_worst(name) { 0.02 } else { 0.001 },
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
    /// Of the difference of two sessions.
    error: f64,
    freedom: f64,
}

impl Test {
    /// `None` with too few runs to know how they scatter.
    pub(super) fn new(name: &str, unit: Unit, past: &[f64], now: &[f64]) -> Option<Test> {
        let scale = Scale::of(name, unit);
        let freedom = past.len().checked_sub(1).filter(|left| *left > 0)? as f64;
        let scaled = |values: &[f64]| -> (f64, f64, f64) {
            let number = values.len() as f64;
            let scaled = values.iter().map(|&value| scale.to(value));
            // A sum of nothing but zeros is -0 otherwise.
            let mean = (0.0 + scaled.clone().sum::<f64>()) / number;
            (number, mean, scaled.map(|one| (one - mean).powi(2)).sum())
        };
        let (of_past, of_now) = (scaled(past), scaled(now));
        let variance = of_past.2 / freedom;
        let error = (variance * (2.0 + 1.0 / of_past.0 + 1.0 / of_now.0)).sqrt();
        (!now.is_empty()).then_some(Test {
            scale,
            now: of_now.1,
            past: of_past.1,
            error,
            freedom,
        })
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
        let beyond = match self.error > 0.0 {
            true => student_beyond((worse / self.error).abs(), self.freedom),
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
        let errors = student_quantile(2.0 * level, self.freedom);
        let bound = self
            .scale
            .back(self.past + (errors * self.error).max(self.scale.least));
        match self.scale.log {
            Some(_) => bound,
            None => bound.clamp(0.0, 1.0),
        }
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
            Judged {
                worse: p_value <= ERROR_RATE && !test.is_small(),
                p_value,
                bound: test.bound(ERROR_RATE / (tests.len() - before) as f64),
            }
        });
    judged.collect()
}

#[cfg(test)]
mod tests {
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
