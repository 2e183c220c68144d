//! What one of two conditions changes, by the differences of pairs of measurements that were made in random order.

use crate::distributions::{ln_binomial_at_most, student_95, student_quantile};
use crate::order::sorted;
use crate::random::Random;

/// Pairs of which every choice of signs is counted: 32,768 sums.
const MAX_EXACT_PAIRS: usize = 16;
/// Random choices of signs for more pairs: a p-value of 0.0025 is then known to 7 % of itself.
const CHOICES: u32 = 99_999;
/// Of the sum of all sizes: sums of the same numbers in another order differ in their last digits.
const ROUNDING: f64 = 1e-9;
/// Natural logarithm of the chance that a median lies beyond one end of its interval: 2.5 %.
const LN_BEYOND_ONE_END: f64 = -3.688_879;
/// Two-sided level at which Student's quantile is the one-sided one of 80 %: the power of [`Mean::detectable`].
const POWER_BEYOND: f64 = 0.4;

/// Chance of a mean as far from 0, either way, if each difference could as well have had the other sign (Fisher 1935, section 21).
///
/// The order within a pair was drawn by chance, so without an effect both signs of a difference are equally likely, however differences are
/// distributed. Up to 16 pairs every choice of signs is counted; of more pairs random ones are, the observed one among them. So the
/// p-value is never 0, and never below 2^(1 - n) of n pairs. It is 1 without a difference, and of what is not finite.
pub fn sign_flips(differences: &[f64], seed: u64) -> f64 {
    let observed: f64 = differences.iter().sum();
    let size: f64 = differences.iter().map(|one| one.abs()).sum();
    let least = observed.abs() - ROUNDING * size;
    match differences {
        [] => 1.0,
        _ if !size.is_finite() => 1.0,
        few if few.len() <= MAX_EXACT_PAIRS => every_choice(few, observed, least),
        many => random_choices(many, least, seed),
    }
}

/// Share of all choices of signs of which the sum has at least that size. The first sign stays: the other half of the choices mirrors this one.
fn every_choice(differences: &[f64], observed: f64, least: f64) -> f64 {
    let mut signed = differences.to_vec();
    let (mut sum, mut as_large) = (observed, 1u32);
    let choices = 1u32 << (signed.len() - 1);
    // In the order of Gray's code, in which one sign changes at a time.
    for choice in 1..choices {
        let one = &mut signed[1 + choice.trailing_zeros() as usize];
        *one = -*one;
        sum += 2.0 * *one;
        as_large += u32::from(sum.abs() >= least);
    }
    f64::from(as_large) / f64::from(choices)
}

fn random_choices(differences: &[f64], least: f64, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let mut as_large = 1;
    for _ in 0..CHOICES {
        let mut sum = 0.0;
        for some in differences.chunks(64) {
            let mut signs = random.bits();
            for one in some {
                sum += if signs & 1 == 1 { *one } else { -*one };
                signs >>= 1;
            }
        }
        as_large += u32::from(sum.abs() >= least);
    }
    f64::from(as_large) / f64::from(CHOICES + 1)
}

/// Pairs below which no hypothesis of so many can reach `level` by [`sign_flips`] and Holm's correction: 2^(1 - n) is its least p-value.
pub fn least_pairs(hypotheses: usize, level: f64) -> usize {
    let wanted = level / hypotheses.max(1) as f64;
    let reaches = |pairs: &usize| 0.5f64.powi(*pairs as i32 - 1) <= wanted;
    (1..64).find(reaches).unwrap_or(64)
}

/// The mean of some numbers, and how well they tell it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
}

impl Mean {
    /// `None` of fewer than two numbers, which do not tell how they scatter.
    pub fn of(values: &[f64]) -> Option<Mean> {
        let number = values.len() as f64;
        let freedom = values.len().checked_sub(1).filter(|left| *left > 0)? as f64;
        // A sum of nothing but zeros is -0 otherwise.
        let mean = (0.0 + values.iter().sum::<f64>()) / number;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Mean {
            mean,
            error: (squares / freedom / number).sqrt(),
            freedom,
        })
    }

    /// Student's interval, 95 %.
    pub fn interval(&self) -> [f64; 2] {
        let half = student_95(self.freedom) * self.error;
        [self.mean - half, self.mean + half]
    }

    /// The distance from 0 that a two-sided test at `level` would have found in four of five such samples.
    pub fn detectable(&self, level: f64) -> f64 {
        let quantile = |beyond| student_quantile(beyond, self.freedom);
        (quantile(level) + quantile(POWER_BEYOND)) * self.error
    }
}

/// Interval of the median by the sign test, at least 95 %, whatever the distribution (Thompson 1936); `None` of fewer than six numbers.
pub fn median_interval(values: &[f64]) -> Option<[f64; 2]> {
    let number = values.len();
    let is_beyond = |left: usize| ln_binomial_at_most(left, number, 0.5) <= LN_BEYOND_ONE_END;
    // How many may be beyond: fewer are rarer.
    let (mut few, mut many) = (0, number / 2);
    while few < many {
        let middle = usize::midpoint(few, many);
        match is_beyond(middle) {
            true => few = middle + 1,
            false => many = middle,
        }
    }
    let left_out = few.checked_sub(1)?;
    let sorted = sorted(values.iter().copied());
    Some([sorted[left_out], sorted[number - 1 - left_out]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_exact_chance_of_few_pairs() {
        // All of one sign: 2 of 2^n choices.
        assert_eq!(sign_flips(&[1.0, 2.0, 3.0, 4.0], 0), 2.0 / 16.0);
        assert_eq!(sign_flips(&[-1.0, -2.0, -3.0, -4.0], 0), 2.0 / 16.0);
        // Besides, the smallest may have the other sign: as it has here.
        assert_eq!(sign_flips(&[-1.0, 2.0, 3.0, 4.0], 0), 4.0 / 16.0);
        assert_eq!(sign_flips(&[0.1, 0.2, 0.3], 0), 2.0 / 8.0);
        assert_eq!(sign_flips(&[], 0), 1.0);
        assert_eq!(sign_flips(&[0.0; 12], 0), 1.0);
        assert_eq!(sign_flips(&[f64::NAN, 1.0], 0), 1.0);
    }

    #[test]
    fn darwins_plants_as_fisher_counted_them() {
        // Fisher 1935, section 21: 1,726 of the 32,768 choices have a sum as large as that of Darwin's fifteen pairs, either way.
        let eighths = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];
        let found = sign_flips(&eighths.map(f64::from), 0);
        assert_eq!(found, 1_726.0 / 32_768.0);
    }

    #[test]
    fn random_choices_agree_with_all_of_them() {
        let mut random = Random::new(3);
        for shift in [0.0, 0.5, 0.9] {
            let few: Vec<f64> = (0..14).map(|_| random.normal() + shift).collect();
            let observed: f64 = few.iter().sum();
            let exact = sign_flips(&few, 0);
            let drawn = random_choices(&few, observed.abs() - 1e-9, 5);
            let error = (exact * (1.0 - exact) / f64::from(CHOICES)).sqrt();
            assert!(
                (drawn - exact).abs() < 5.0 * error + 1e-5,
                "{drawn} {exact}"
            );
        }
        // More pairs than bits of a random number.
        let many: Vec<f64> = (0..100).map(|_| random.normal() + 0.8).collect();
        assert_eq!(sign_flips(&many, 1), 1.0 / 100_000.0);
        assert_eq!(sign_flips(&[0.0; 40], 1), 1.0);
    }

    #[test]
    fn fewer_pairs_than_the_least_reach_no_level() {
        assert_eq!(least_pairs(1, 0.05), 6);
        assert_eq!(least_pairs(20, 0.05), 10);
        assert_eq!(least_pairs(0, 0.05), 6);
        for hypotheses in [1, 2, 7, 20] {
            let pairs = least_pairs(hypotheses, 0.05);
            let p_value = |pairs: usize| sign_flips(&vec![1.0; pairs], 0) * hypotheses as f64;
            assert!(p_value(pairs) <= 0.05 && p_value(pairs - 1) > 0.05);
        }
    }

    #[test]
    fn means_have_students_interval() {
        let mean = Mean::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        // s^2 = 5/3, and 3.1824 standard errors of sqrt(5/12).
        let half = 3.182_446_3 * (5.0f64 / 12.0).sqrt();
        let [low, high] = mean.interval();
        assert!((low - (2.5 - half)).abs() < 1e-6 && (high - (2.5 + half)).abs() < 1e-6);
        // Student's 0.975 and 0.8 of three degrees of freedom.
        let expected = (3.182_446_3 + 0.978_472_3) * (5.0f64 / 12.0).sqrt();
        assert!((mean.detectable(0.05) - expected).abs() < 1e-6);
        assert_eq!(Mean::of(&[1.0]), None);
        assert_eq!(Mean::of(&[0.0; 3]).unwrap().interval(), [0.0, 0.0]);
    }

    #[test]
    fn medians_have_the_interval_of_the_sign_test() {
        let values: Vec<f64> = (1..=12).map(f64::from).collect();
        // Ranks 3 and 10 of 12 hold 96.1 %.
        assert_eq!(median_interval(&values), Some([3.0, 10.0]));
        assert_eq!(median_interval(&values[..6]), Some([1.0, 6.0]));
        assert_eq!(median_interval(&values[..5]), None);
    }

    proptest! {
        #[test]
        fn the_chance_knows_no_order_no_sign_and_no_unit(
            differences in prop::collection::vec(-1e3f64..1e3, 1..12),
            unit in 1e-6f64..1e6,
        ) {
            let p_value = sign_flips(&differences, 0);
            prop_assert!(p_value >= 0.5f64.powi(differences.len() as i32 - 1) && p_value <= 1.0);
            let mut other: Vec<f64> = differences.iter().map(|one| -unit * one).collect();
            other.reverse();
            prop_assert_eq!(sign_flips(&other, 0), p_value);
        }
    }
}
