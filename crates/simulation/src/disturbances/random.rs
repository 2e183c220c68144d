//! Random numbers and random times, all from one seeded generator.

use fastrand::Rng;

/// An exponentially distributed number with the given mean.
pub fn exponential(random: &mut Rng, mean: f64) -> f64 {
    // 1 - [0, 1) is never 0.
    -mean * (1.0 - random.f64()).ln()
}

/// A number of the standard normal distribution (Box and Muller 1958, its cosine half).
pub fn gaussian(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// How interrupts follow one another.
#[derive(Clone, Debug)]
pub struct Times {
    /// Mean interval, in ticks.
    pub period: f64,
    /// Ticks from the origin to event number 0, which does not take place.
    pub phase: f64,
    /// Full width of the uniform scatter about the regular time, in periods: 0 to 1.
    pub jitter: f64,
    /// Exponential intervals in place of regular ones.
    pub poisson: bool,
    /// Of the part and CPU; of the part alone where all CPUs share its times.
    pub random: Rng,
    number: u64,
    last: f64,
}

impl Times {
    /// Times of one event per `period`.
    pub fn new(period: f64, phase: f64, jitter: f64, poisson: bool, random: Rng) -> Times {
        Times {
            period,
            phase,
            jitter,
            poisson,
            random,
            number: 0,
            last: phase,
        }
    }

    /// The next time, in ticks; never before the last one.
    pub fn next_time(&mut self) -> f64 {
        self.number += 1;
        self.last = if self.poisson {
            self.last + exponential(&mut self.random, self.period)
        } else {
            let regular = self.phase + self.number as f64 * self.period;
            if self.jitter == 0.0 {
                regular
            } else {
                // A width of at most one period keeps the order.
                regular + self.period * self.jitter * (self.random.f64() - 0.5)
            }
        };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_never_run_backwards_and_keep_their_mean() {
        for (jitter, poisson) in [(0.0, false), (1.0, false), (0.0, true)] {
            let mut times = Times::new(10.0, 5.0, jitter, poisson, Rng::with_seed(4));
            let seen: Vec<f64> = (0..10_000).map(|_| times.next_time()).collect();
            assert!(seen.is_sorted(), "{jitter} {poisson}");
            // Exponential intervals: sd of the sum is 10 * sqrt(10,000).
            assert!((seen[9999] - 100_005.0).abs() < 4000.0, "{}", seen[9999]);
        }
    }

    #[test]
    fn gaussian_numbers_have_mean_0_and_deviation_1() {
        let mut random = Rng::with_seed(9);
        let numbers: Vec<f64> = (0..40_000).map(|_| gaussian(&mut random)).collect();
        let mean = numbers.iter().sum::<f64>() / 4e4;
        let square = numbers.iter().map(|n| n * n).sum::<f64>() / 4e4;
        // Five standard errors: 1 / sqrt(n), and sqrt(2 / n) of the square.
        assert!(mean.abs() < 0.025 && (square - 1.0).abs() < 0.036);
    }
}
