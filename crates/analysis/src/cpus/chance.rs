//! How probable a number of coincidences is where only chance makes them.

/// Smallest expectation: no rate is known to be nothing.
const LEAST: f64 = 1e-9;
/// Terms of the tail that are summed at most; each is smaller than the one before.
const TERMS: u32 = 10_000;

/// Natural logarithm of the probability of `number` or more of a Poisson distribution with mean `expected`; 0 where as many were expected.
pub(super) fn ln_tail(number: u64, expected: f64) -> f64 {
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

fn ln_factorial(number: u64) -> f64 {
    if number < 32 {
        return (2..=number).map(|k| (k as f64).ln()).sum();
    }
    // Stirling with one term: wrong by less than 1 / (360 n^3).
    let n = number as f64;
    (n + 0.5) * n.ln() - n + 0.5 * std::f64::consts::TAU.ln() + 1.0 / (12.0 * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_the_distribution() {
        for mean in [0.01, 0.7, 5.0, 60.0] {
            for number in [1u64, 3, 8, 40, 90] {
                // 1 less what lies below, where that does not cancel.
                let mut below = 0.0;
                let mut term = f64::exp(-mean);
                for k in 0..number {
                    below += term;
                    term *= mean / (k + 1) as f64;
                }
                let tail = ln_tail(number, mean);
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
        assert!((ln_tail(10, 0.01) - expected).abs() < 1e-2);
        assert!(ln_tail(5, 0.0) < -90.0);
    }
}
