//! The distributions that chances come from, by formulas whose errors are known.

use super::NORMAL_95;

/// Smallest expectation of a Poisson distribution: no rate is known to be nothing.
const LEAST: f64 = 1e-9;
/// Terms of a tail that are summed at most; each is smaller than the one before.
const TERMS: u32 = 10_000;
/// Degrees of freedom from which Student's distribution is the normal one.
const NORMAL_FROM: f64 = 1e6;

/// Natural logarithm of n!, to 1e-12: summed up to 20, from there Stirling's series.
pub fn ln_factorial(n: u64) -> f64 {
    if n < 20 {
        return (2..=n).map(|k| (k as f64).ln()).sum();
    }
    let x = n as f64 + 1.0;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + 1.0 / (12.0 * x)
        - 1.0 / (360.0 * x.powi(3))
        + 1.0 / (1260.0 * x.powi(5))
}

/// The complementary error function of a number at or above 0, to 1.2e-7 of itself (Press and others, Numerical Recipes, section 6.2: Chebyshev).
fn erfc(x: f64) -> f64 {
    const TERMS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x);
    let exponent = TERMS.iter().rev().fold(0.0, |sum, term| sum * t + term);
    t * (exponent - x * x).exp()
}

/// Chance that a normal variable lies `z` standard deviations and more from its mean, either way.
pub fn normal_beyond(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2).min(1.0)
}

/// Student's quantile of 97.5 %, by Wallace 1959: a twentieth too large at 2 degrees of freedom, a hundredth at 3, less above.
pub fn student(freedom: f64) -> f64 {
    if !freedom.is_finite() || freedom > NORMAL_FROM {
        return NORMAL_95;
    }
    let z = NORMAL_95 * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0);
    (freedom * (z * z / freedom).exp_m1()).sqrt()
}

/// Chance of a deviation of `t` standard errors and more, either way; by Wallace 1959.
pub fn student_beyond(t: f64, freedom: f64) -> f64 {
    normal_beyond(match freedom.is_finite() && freedom < NORMAL_FROM {
        true => {
            (freedom * (t * t / freedom).ln_1p()).sqrt() * (8.0 * freedom + 1.0)
                / (8.0 * freedom + 3.0)
        }
        false => t,
    })
}

/// Degrees of freedom of a sum of two variances, each with its own (Welch 1947, Satterthwaite 1946).
pub fn welch(variances: [f64; 2], freedoms: [f64; 2]) -> f64 {
    let [a, b] = [0, 1].map(|side| variances[side] * variances[side] / freedoms[side]);
    (variances[0] + variances[1]).powi(2) / (a + b)
}

/// Natural logarithm of the chance of `number` or more of a Poisson distribution with mean `expected`; 0 where as many were expected.
pub fn ln_poisson_at_least(number: u64, expected: f64) -> f64 {
    let (n, mean) = (number as f64, expected.max(LEAST));
    if n <= mean {
        return 0.0;
    }
    // e^-m m^n / n! * (1 + m/(n+1) + m^2/((n+1)(n+2)) + ...)
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..=TERMS {
        term *= mean / (n + f64::from(k));
        sum += term;
        if term < 1e-15 * sum {
            break;
        }
    }
    (-mean + n * mean.ln() - ln_factorial(number) + f64::ln(sum)).min(0.0)
}

/// Natural logarithm of the chance of `most` successes at most in `number` trials, of chance `share` each.
pub fn ln_binomial_at_most(most: usize, number: usize, share: f64) -> f64 {
    if share <= 0.0 || share.is_nan() || most >= number {
        return 0.0;
    }
    if share >= 1.0 {
        return f64::NEG_INFINITY;
    }
    let odds = (share / (1.0 - share)).ln();
    let mut term = number as f64 * (-share).ln_1p();
    let first = term;
    // Relative to the first term, so that nothing underflows.
    let mut sum = 1.0;
    for k in 0..most {
        term += ((number - k) as f64 / (k + 1) as f64).ln() + odds;
        sum += (term - first).exp();
    }
    (first + sum.ln()).min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_are_continuous_where_the_series_begins() {
        let summed = |n: u64| (2..=n).map(|k| (k as f64).ln()).sum::<f64>();
        for n in [0, 1, 5, 19, 20, 21, 60, 170] {
            assert!((ln_factorial(n) - summed(n)).abs() < 1e-11, "{n}");
        }
    }

    #[test]
    fn quantiles_and_chances_of_student() {
        for (freedom, quantile, within) in [
            (2.0, 4.303, 0.2),
            (3.0, 3.182, 0.04),
            (9.0, 2.262, 0.003),
            (30.0, 2.042, 0.001),
            (f64::INFINITY, 1.96, 1e-4),
        ] {
            let found = student(freedom);
            assert!(
                (found - quantile).abs() < within && found >= quantile - 1e-3,
                "{freedom}: {found}"
            );
            assert!((student_beyond(found, freedom) - 0.05).abs() < 1e-4);
        }
        assert!((student_beyond(0.0, 5.0) - 1.0).abs() < 1e-6);
        assert!((normal_beyond(-1.0) - 0.317_311).abs() < 1e-6);
    }

    #[test]
    fn freedoms_of_two_variances() {
        // Equal ones add up; where one is nothing, the other's counts.
        assert!((welch([2.0, 2.0], [9.0, 9.0]) - 18.0).abs() < 1e-12);
        assert!((welch([2.0, 0.0], [9.0, 4.0]) - 9.0).abs() < 1e-12);
        assert!(welch([0.0, 0.0], [9.0, 9.0]).is_nan());
    }

    #[test]
    fn tails_of_poissons_distribution() {
        for mean in [0.01, 0.7, 5.0, 60.0] {
            for number in [1u64, 3, 8, 40, 90] {
                // 1 less what lies below, where that does not cancel.
                let mut below = 0.0;
                let mut term = f64::exp(-mean);
                for k in 0..number {
                    below += term;
                    term *= mean / (k + 1) as f64;
                }
                let tail = ln_poisson_at_least(number, mean);
                if number as f64 <= mean {
                    assert_eq!(tail, 0.0);
                } else if below < 0.999_999 {
                    assert!(
                        (tail.exp() / (1.0 - below) - 1.0).abs() < 1e-8,
                        "{number} of {mean}"
                    );
                }
            }
        }
        // Of few that are far out only the first term counts.
        let expected = -0.01 + 10.0 * 0.01f64.ln() - 15.104_412_573_075_516;
        assert!((ln_poisson_at_least(10, 0.01) - expected).abs() < 1e-2);
        assert!(ln_poisson_at_least(5, 0.0) < -90.0);
    }

    #[test]
    fn tails_of_the_binomial_distribution() {
        // 0.5^4; (1 + 4) 0.5^4; everything.
        for (most, expected) in [(0, 0.0625), (1, 0.3125), (4, 1.0)] {
            assert!((ln_binomial_at_most(most, 4, 0.5).exp() - expected).abs() < 1e-12);
        }
        assert_eq!(ln_binomial_at_most(3, 9, 0.0), 0.0);
        assert_eq!(ln_binomial_at_most(3, 9, 1.0), f64::NEG_INFINITY);
    }
}
