//! What the largest of many draws is expected to be, from a sample that stands in a table of bins.
//!
//! The estimate is the mean over all choices of N values of the sample (Hoeffding 1948: it has no bias), for N that need not be whole: samples
//! of several populations then share the draws.

use crate::distributions::ln_gamma;

/// Bins of an octave: a value is known to 1.6 %, and its bin's centre to half of that.
const PER_OCTAVE: i32 = 64;
/// What a bin's centre may be off, as a share: half of the width of the first bin of an octave.
pub const RESOLUTION: f64 = 0.5 / PER_OCTAVE as f64;
/// Bits of a double's fraction below those that tell bins apart.
const SHIFT: u32 = 52 - PER_OCTAVE.trailing_zeros();
/// Where the bins of 1 would begin.
const ONE: i32 = 1023 * PER_OCTAVE;

/// The bin of a number of either sign; below 1 all are in bin 0.
#[inline]
pub fn bin_of(value: f64) -> i32 {
    let size = value.abs();
    if size < 1.0 {
        return 0;
    }
    let bin = (size.to_bits() >> SHIFT) as i32 - ONE + 1;
    if value < 0.0 { -bin } else { bin }
}

/// The centre of a bin.
pub fn centre(bin: i32) -> f64 {
    if bin == 0 {
        return 0.0;
    }
    let edge = |bin: i32| f64::from_bits(((bin + ONE - 1) as u64) << SHIFT);
    let size = (edge(bin.abs()) + edge(bin.abs() + 1)) / 2.0;
    size.copysign(f64::from(bin))
}

/// All choices of some of the values of a sample, drawn without putting back.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    number: f64,
    draws: f64,
    /// Logarithm of how many ordered choices there are of all values; nothing where there are none.
    ln_all: f64,
}

impl Choices {
    /// Of `draws` out of `number` values; neither needs to be whole.
    pub fn new(number: f64, draws: f64) -> Choices {
        Choices {
            number,
            draws,
            ln_all: if draws <= number {
                ln_ordered(number, draws)
            } else {
                0.0
            },
        }
    }

    /// Logarithm of the chance that the largest is among the lowest `below`.
    pub fn ln_all_among(&self, below: f64) -> f64 {
        let Choices { number, draws, .. } = *self;
        if below >= number {
            0.0
        } else if below <= 0.0 || below < draws {
            f64::NEG_INFINITY
        } else if draws * draws < 1e-2 * below {
            // Two terms of the series in draws / below; the third is below 1e-4 / 3.
            draws * (below / number).ln()
                - draws * (draws - 1.0) / 2.0 * (1.0 / below - 1.0 / number)
        } else {
            ln_ordered(below, draws) - self.ln_all
        }
    }
}

/// Logarithm of the number of ordered choices.
fn ln_ordered(of: f64, draws: f64) -> f64 {
    ln_gamma(of + 1.0) - ln_gamma(of - draws + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn bins_are_narrow_in_order_and_of_either_sign() {
        let mut last = i32::MIN;
        for value in [-5e9, -1000.0, -1.5, 0.3, 1.0, 1.01, 7.0, 999.0, 1e12] {
            let bin = bin_of(value);
            assert!(bin >= last, "{value}");
            last = bin;
            let near = (centre(bin) - value).abs();
            assert!(
                near <= 0.008 * f64::abs(value) || f64::abs(value) < 1.0,
                "{value} {}",
                centre(bin)
            );
        }
    }

    /// Against all choices of 3 of 7, and the two ways of computing against each other.
    #[test]
    fn chances_are_those_of_choices() {
        let choices = |n: u32| f64::from(n * (n - 1) * (n - 2)) / 6.0;
        for below in 3..=7_u32 {
            let chance = Choices::new(7.0, 3.0).ln_all_among(f64::from(below)).exp();
            assert!(
                (chance - choices(below) / choices(7)).abs() < 1e-9,
                "{below} {chance}"
            );
        }
        assert_eq!(Choices::new(7.0, 3.0).ln_all_among(2.0), f64::NEG_INFINITY);
        let (long, short) = (
            Choices::new(50_000.0, 20.0).ln_all_among(40_300.0),
            Choices::new(50_000.0, 20.0).ln_all_among(39_900.0),
        );
        assert!(
            (long - short - 20.0 * (40_300.0_f64 / 39_900.0).ln()).abs() < 1e-4,
            "{long} {short}"
        );
    }

    #[test]
    fn the_mean_of_the_largest_has_no_bias() {
        let mut random = Random::new(3);
        let (mut sum, rounds, draws) = (0.0, 4000, 10.0);
        for _ in 0..rounds {
            let mut values: Vec<f64> = (0..30).map(|_| -(1.0 - random.unit()).ln()).collect();
            values.sort_by(f64::total_cmp);
            let mut before = 0.0;
            for (place, value) in (1..).zip(&values) {
                let chance = Choices::new(30.0, draws)
                    .ln_all_among(f64::from(place))
                    .exp();
                sum += value * (chance - before);
                before = chance;
            }
        }
        // Of an exponential distribution: 1 + 1/2 + ... + 1/10.
        let expected: f64 = (1..=10).map(|k| 1.0 / f64::from(k)).sum();
        let found = sum / f64::from(rounds);
        assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
    }
}
