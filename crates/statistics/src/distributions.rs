//! The normal, Student's, Poisson's and the binomial distribution, by formulas whose errors are known.
//!
//! Not a crate. Tails of Poisson's and the binomial distribution are needed as logarithms, down to chances of e^-10000, and neither statrs (0.19),
//! nor puruspe (0.4), nor special (0.14) has those: their tails are 0 below e^-745. So such a crate would replace a third of this file, and the
//! rest would stay; p-values of the reports would change in their eighth digit for it.

use crate::NORMAL_95;

/// Smallest expectation of a Poisson distribution: no rate is known to be 0.
const MIN_EXPECTATION: f64 = 1e-9;
/// Terms of a sum or of a continued fraction that are taken at most; each sum ends where the next term is below its last digit.
const MAX_TERMS: u32 = 10_000;
/// Degrees of freedom from which Student's distribution is the normal one: quantiles differ by 2.4 / freedom (Hill 1970).
const NORMAL_FREEDOM: f64 = 1e7;
/// From here on four terms of Stirling's series have an error below 1e-12.
const MIN_STIRLING: f64 = 20.0;

/// Natural logarithm of n!, to 1e-12: summed below 20, from there Stirling's series.
pub fn ln_factorial(n: u64) -> f64 {
    match n < 20 {
        true => (2..=n).map(|k| (k as f64).ln()).sum(),
        false => stirling(n as f64 + 1.0),
    }
}

/// Natural logarithm of the gamma function of `x` above 0, to 1e-12.
pub fn ln_gamma(x: f64) -> f64 {
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < MIN_STIRLING {
        product *= shifted;
        shifted += 1.0;
    }
    stirling(shifted) - f64::ln(product)
}

/// Stirling's series of the logarithm of the gamma function, of [`MIN_STIRLING`] and more.
fn stirling(x: f64) -> f64 {
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

/// How many standard errors hold 95 % of Student's distribution, to 1e-6; `freedom` is above 0, and [`NORMAL_95`] stands for infinitely many.
pub fn student_95(freedom: f64) -> f64 {
    if !freedom.is_finite() || freedom > NORMAL_FREEDOM {
        return NORMAL_95;
    }
    let power = (freedom + 1.0) / 2.0;
    let ln_scale =
        ln_gamma(power) - ln_gamma(freedom / 2.0) - 0.5 * (freedom * std::f64::consts::PI).ln();
    // Newton's method for the logarithm of the tail over that of t, which bends to one side only.
    let mut t = NORMAL_95;
    for _ in 0..64 {
        let density = (ln_scale - power * (t * t / freedom).ln_1p()).exp();
        let beyond = student_beyond(t, freedom);
        let step = (beyond / 0.05).ln() * beyond / (2.0 * t * density);
        t *= step.exp();
        if step.abs() < 1e-9 {
            break;
        }
    }
    t
}

/// How many standard errors are exceeded with the chance `beyond`, above 0, either way, to 1e-7 of itself; 1e9 of what is rarer than that.
pub fn student_quantile(beyond: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_beyond(high, freedom) > beyond && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match student_beyond(middle, freedom) > beyond {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Chance of a deviation of `t` standard errors and more, either way, to 1e-7 of itself.
pub fn student_beyond(t: f64, freedom: f64) -> f64 {
    if !freedom.is_finite() || freedom > NORMAL_FREEDOM {
        return normal_beyond(t);
    }
    let square = t * t / freedom;
    // Shares of 1 that add up to it, neither of them a difference.
    let [x, rest] = [1.0 / (1.0 + square), square / (1.0 + square)];
    match x < (freedom + 2.0) / (freedom + 5.0) {
        true => beta_share(x, rest, freedom / 2.0, 0.5),
        false => 1.0 - beta_share(rest, x, 0.5, freedom / 2.0),
    }
}

/// The regularised incomplete beta function I_x(a, b) of `x` below (a + 1) / (a + b + 2); `rest` is 1 - x. The continued fraction by Lentz's
/// method (Press and others, Numerical Recipes, section 6.4).
fn beta_share(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let nonzero = |value: f64| {
        if value.abs() < f64::MIN_POSITIVE {
            f64::MIN_POSITIVE
        } else {
            value
        }
    };
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut fraction) = (1.0, d);
    for m in (1..=MAX_TERMS).map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    let ln_front = a * x.ln() + b * rest.ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    ln_front.exp() * fraction / a
}

/// Degrees of freedom of a sum of two variances, each with its own (Welch 1947, Satterthwaite 1946).
pub fn welch(variances: [f64; 2], freedoms: [f64; 2]) -> f64 {
    let [a, b] = [0, 1].map(|side| variances[side] * variances[side] / freedoms[side]);
    (variances[0] + variances[1]).powi(2) / (a + b)
}

/// Natural logarithm of the chance of `number` or more of a Poisson distribution with mean `expected`; 0 where as many were expected.
pub fn ln_poisson_at_least(number: u64, expected: f64) -> f64 {
    let (n, mean) = (number as f64, expected.max(MIN_EXPECTATION));
    if n <= mean {
        return 0.0;
    }
    // e^-m m^n / n! * (1 + m/(n+1) + m^2/((n+1)(n+2)) + ...)
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..=MAX_TERMS {
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
    // Relative to the largest term, so that nothing overflows, and nothing that counts underflows.
    let (mut largest, mut sum) = (term, 1.0);
    for k in 0..most {
        term += ((number - k) as f64 / (k + 1) as f64).ln() + odds;
        if term > largest {
            sum = sum * (largest - term).exp() + 1.0;
            largest = term;
        } else {
            sum += (term - largest).exp();
        }
    }
    (largest + sum.ln()).min(0.0)
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
    fn the_gamma_function_is_that_of_factorials_and_of_halves() {
        for n in [0u32, 1, 5, 18, 19, 40] {
            assert!((ln_gamma(f64::from(n) + 1.0) - ln_factorial(u64::from(n))).abs() < 1e-11);
        }
        let root_of_pi = std::f64::consts::PI.sqrt();
        assert!((ln_gamma(0.5) - root_of_pi.ln()).abs() < 1e-12);
        assert!((ln_gamma(2.5) - (0.75 * root_of_pi).ln()).abs() < 1e-12);
    }

    #[test]
    fn quantiles_of_student_are_the_published_ones() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2, with more digits.
        for (freedom, quantile) in [
            (1.0, 12.706_204_7),
            (2.0, 4.302_652_7),
            (3.0, 3.182_446_3),
            (5.0, 2.570_581_8),
            (10.0, 2.228_138_9),
            (30.0, 2.042_272_5),
            (f64::INFINITY, 1.959_964_0),
        ] {
            let found = student_95(freedom);
            assert!((found - quantile).abs() < 1e-6, "{freedom}: {found}");
            assert!((student_beyond(found, freedom) - 0.05).abs() < 1e-7);
            assert!((student_quantile(0.05, freedom) - quantile).abs() < 1e-5);
        }
        // Between whole ones, and where the normal distribution takes over.
        for freedom in [0.5, 1.5, 5.81, 1e3, 1e5, 0.99e7, 1.01e7] {
            let found = student_95(freedom);
            assert!(
                (student_beyond(found, freedom) - 0.05).abs() < 1e-7,
                "{freedom}: {found}"
            );
            assert!(freedom < 1e5 || (found - NORMAL_95 - 2.372_3 / freedom).abs() < 1e-6);
        }
    }

    #[test]
    fn tails_of_student_are_those_in_closed_form() {
        for t in [0.0f64, 0.01, 0.5, 1.0, 1.7, 1.8, 3.0, 12.7, 1e4] {
            let one = 2.0 / std::f64::consts::PI * t.recip().atan();
            assert!((student_beyond(t, 1.0) / one - 1.0).abs() < 1e-10, "{t}");
            // 1 - t / sqrt(2 + t^2), without the difference.
            let root = (2.0 + t * t).sqrt();
            let two = 2.0 / (root * (root + t));
            assert!((student_beyond(-t, 2.0) / two - 1.0).abs() < 1e-10, "{t}");
        }
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
        // Half of them, and half of the middle one.
        let half = ln_binomial_at_most(5_000, 10_000, 0.5).exp();
        assert!((half - 0.503_989).abs() < 1e-5, "{half}");
        assert_eq!(ln_binomial_at_most(3, 9, 0.0), 0.0);
        assert_eq!(ln_binomial_at_most(3, 9, 1.0), f64::NEG_INFINITY);
    }
}
