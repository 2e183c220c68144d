//! Sums over scenes, and what they are worth: shares with their bounds, errors with their quantiles.

use crate::figure::Figure;
use crate::scene::Z95;
use std::collections::BTreeMap;

/// What was counted of one kind of finding.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Scenes in which it was expected.
    pub expected: u64,
    /// Of these, scenes with a right finding at `likely` or better.
    pub found: u64,
    /// Of these, scenes with a right finding of any certainty.
    pub suspected: u64,
    /// Scenes with a right finding at `likely` or better, whether expected or merely allowed.
    pub right: u64,
    /// Scenes with a wrong finding at `likely` or better.
    pub wrong: u64,
    /// Scenes with a wrong finding that was called certain.
    pub wrong_certain: u64,
    /// Expected scenes that the data decide, and those of them in which `certain` was said rightly.
    pub decidable: u64,
    /// See `decidable`.
    pub certain: u64,
    /// Errors of the right findings, by figure.
    pub errors: BTreeMap<Figure, Vec<f64>>,
    /// Findings whose stated 95 % interval holds the truth, and findings that state one, by figure.
    pub coverage: BTreeMap<Figure, (u64, u64)>,
}

/// A share with the lower bound of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share that was counted.
    pub value: f64,
    /// Lower bound (Wilson 1927).
    pub low: f64,
}

/// `hits` of `all`; nothing of nothing is no share.
pub fn share(hits: u64, all: u64) -> Option<Share> {
    if all == 0 {
        return None;
    }
    let (n, z2) = (all as f64, Z95 * Z95);
    let p = hits as f64 / n;
    let centre = p + z2 / (2.0 * n);
    let reach = Z95 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    Some(Share {
        value: p,
        low: ((centre - reach) / (1.0 + z2 / n)).max(0.0),
    })
}

impl Tally {
    /// Of what was said at `likely` or better, the share that is right.
    pub fn precision(&self) -> Option<Share> {
        share(self.right, self.right + self.wrong)
    }

    /// Of what was to be found, the share that was found at `likely` or better.
    pub fn recall(&self) -> Option<Share> {
        share(self.found, self.expected)
    }

    /// Harmonic mean of precision and recall, and the same of their lower bounds.
    pub fn f1(&self) -> Option<Share> {
        let (precision, recall) = (self.precision()?, self.recall()?);
        let mean = |a: f64, b: f64| {
            if a + b > 0.0 {
                2.0 * a * b / (a + b)
            } else {
                0.0
            }
        };
        Some(Share {
            value: mean(precision.value, recall.value),
            low: mean(precision.low, recall.low),
        })
    }

    /// Adds another part's counts.
    pub fn merge(&mut self, other: Tally) {
        self.expected += other.expected;
        self.found += other.found;
        self.suspected += other.suspected;
        self.right += other.right;
        self.wrong += other.wrong;
        self.wrong_certain += other.wrong_certain;
        self.decidable += other.decidable;
        self.certain += other.certain;
        for (key, (covered, all)) in other.coverage {
            let ours = self.coverage.entry(key).or_default();
            ours.0 += covered;
            ours.1 += all;
        }
        for (key, errors) in other.errors {
            self.errors.entry(key).or_default().extend(errors);
        }
    }
}

/// Median and 95th percentile of the size of `errors`.
pub fn median_and_95(errors: &[f64]) -> Option<(f64, f64)> {
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let at = |share: f64| {
        sizes
            .get(((sizes.len() as f64 - 1.0) * share).round() as usize)
            .copied()
    };
    Some((at(0.5)?, at(0.95)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_wilsons_bound() {
        // Wilson's interval of 190 in 200, two-sided 95 %: 0.9104 to 0.9726.
        let share = share(190, 200).unwrap();
        assert!((share.value - 0.95).abs() < 1e-12);
        assert!((share.low - 0.9104).abs() < 5e-4, "{share:?}");
        assert!(super::share(0, 0).is_none());
    }

    #[test]
    fn f1_is_low_where_either_is() {
        let tally = Tally {
            expected: 10,
            found: 5,
            right: 5,
            ..Tally::default()
        };
        assert!((tally.f1().unwrap().value - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn errors_are_judged_by_their_size() {
        let errors: Vec<f64> = (0..=100)
            .map(|n| if n % 2 == 0 { n as f64 } else { -n as f64 })
            .collect();
        assert_eq!(median_and_95(&errors), Some((50.0, 95.0)));
        assert_eq!(median_and_95(&[]), None);
    }
}
