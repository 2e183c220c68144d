//! Statistics, each in one place: numbers in, figures and chances out. Knows no CPU, no quantum and no recording, and no other crate of ours.
//!
//! | what | where |
//! |---|---|
//! | medians and the spread about them | [`order`] |
//! | quantiles of many whole numbers in bounded memory | [`quantiles`] |
//! | lines: least squares, Theil | [`lines`] |
//! | normal, Student's, Poisson's, binomial distribution | [`distributions`] |
//! | tests and intervals of shares | [`counts`] |
//! | tests of order and size | [`ranks`] |
//! | differences of pairs | [`paired`] |
//! | one mode or several | [`valley`] |
//! | ratios of whole numbers of steps | [`lattice`] |
//! | what the largest of many draws is expected to be | [`maxima`] |
//! | the tail beyond what was seen | [`tail`] |
//! | random numbers | [`random`] |
//! | Fourier transforms | [`transform`] |
//! | periodograms | [`welch`], [`power`] |
//! | a fundamental and its harmonics | [`comb`] |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod comb;
pub mod counts;
pub mod distributions;
pub mod lattice;
pub mod lines;
pub mod maxima;
pub mod order;
pub mod paired;
pub mod power;
pub mod quantiles;
pub mod random;
pub mod ranks;
pub mod tail;
pub mod transform;
pub mod valley;
pub mod welch;

/// Two-sided 95 % of a normal distribution, in standard deviations.
pub const NORMAL_95: f64 = 1.959_964;

/// Holm's correction (1979): what each p-value is worth among all of them, in their order.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (place, index) in order.into_iter().enumerate() {
        least = least.max((p_values[index] * (p_values.len() - place) as f64).min(1.0));
        corrected[index] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn many_tests_are_worth_less() {
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        let near = |(found, expected): (&f64, f64)| (found - expected).abs() < 1e-12;
        assert!(found.iter().zip(expected).all(near), "{found:?}");
        assert_eq!(holm(&[0.01, 0.5, 0.02]), [0.03, 0.5, 0.04]);
        assert_eq!(holm(&[]), [] as [f64; 0]);
    }
}
