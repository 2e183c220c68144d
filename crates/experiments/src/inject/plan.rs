//! When disturbances are to begin: a regular grid in ticks, scattered by a jitter that the seed decides. Pure.
//!
//! Each start follows from its number alone, so that starts which had to be skipped change no later one, and the same
//! seed plans the same scatter again.

use bandscope_statistics::random::Random;

/// The grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Raw tick of number 0, which does not take place.
    pub origin: u64,
    /// From one regular start to the next.
    pub period_ticks: f64,
    /// Full width of the scatter about them, at most a period.
    pub jitter_ticks: f64,
    /// Decides the scatter.
    pub seed: u64,
}

impl Plan {
    /// Raw tick at which number `number` is to begin; those of later numbers are no earlier.
    pub fn start(&self, number: u64) -> u64 {
        let scatter = self.jitter_ticks * (Random::after(self.seed, number).unit() - 0.5);
        let ticks = number as f64 * self.period_ticks + scatter;
        // In ticks since the origin a 64-bit float is exact for 45 days at 2.3 GHz.
        self.origin.wrapping_add_signed(ticks.round() as i64)
    }

    /// The last tick at which anything begins in a run of `ticks`. A start that falls on the run's end takes place, whichever
    /// way the two products are rounded: how many are planned must not hang on what the calibration gave.
    pub fn end(&self, ticks: f64) -> u64 {
        self.origin.wrapping_add(ticks.ceil() as u64 + 1)
    }

    /// The first number after `last` that is to begin at `now` or later.
    pub fn next(&self, last: u64, now: u64) -> u64 {
        let passed = now.saturating_sub(self.origin) as f64 / self.period_ticks;
        // The scatter moves a start by half a period at most, and rounding by one tick.
        let mut number = (passed as u64).saturating_sub(2).max(last + 1);
        while self.start(number) < now {
            number += 1;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_jitter_the_grid_does_not_drift() {
        let plan = Plan {
            origin: u64::MAX - 1000,
            period_ticks: 23_069_207.622_868_605,
            jitter_ticks: 0.0,
            seed: 0,
        };
        // 99.7 Hz for a day: number * period, not a sum of rounded steps.
        let number = 8_614_080;
        let ticks = plan.start(number).wrapping_sub(plan.origin);
        assert!((ticks as f64 - 23_069_207.622_868_605 * 8_614_080.0).abs() <= 0.5);
    }

    #[test]
    fn the_scatter_is_uniform() {
        let plan = Plan {
            origin: 1 << 40,
            period_ticks: 1e6,
            jitter_ticks: 1e5,
            seed: 7,
        };
        let offsets: Vec<f64> = (1..=10_000u64)
            .map(|number| (plan.start(number) - plan.origin) as f64 - number as f64 * 1e6)
            .collect();
        assert!(offsets.iter().all(|offset| offset.abs() <= 5e4 + 1.0));
        let mean = offsets.iter().sum::<f64>() / 1e4;
        let square = offsets.iter().map(|offset| offset * offset).sum::<f64>() / 1e4;
        // Uniform of width w: sd w / sqrt(12), here 28868 ticks; five standard errors of mean and variance.
        assert!(mean.abs() < 5.0 * 288.7, "{mean}");
        assert!(
            (square / (1e10 / 12.0) - 1.0).abs() < 5.0 * 0.0089,
            "{square}"
        );
        assert_ne!(plan.start(1), Plan { seed: 8, ..plan }.start(1));
    }

    proptest! {
        /// However wide the scatter, as long as the disturbance fits beside it: starts keep their order and leave room.
        #[test]
        fn disturbances_never_overlap(
            origin in 0u64..u64::MAX / 2, period in 2.0f64..1e10, jitter in 0.0f64..1.0, length in 0.0f64..1.0,
            seed: u64, number in 1u64..1_000_000,
        ) {
            let length = period * (1.0 - jitter) * length;
            let plan = Plan { origin, period_ticks: period, jitter_ticks: period * jitter, seed };
            let distance = plan.start(number + 1).wrapping_sub(plan.start(number)) as i64;
            // Two roundings, and those of the product.
            prop_assert!(distance as f64 >= length - 2.0 - period * number as f64 * 1e-15);
        }

        /// A run of so many periods has so many starts, on any clock.
        #[test]
        fn how_many_are_planned_does_not_hang_on_the_clock(
            ticks_per_ns in 0.01f64..6.0, period_s in 1e-4f64..10.0, count in 1u32..10_000, origin in 0u64..u64::MAX / 2,
        ) {
            let ticks = |seconds: f64| seconds * 1e9 * ticks_per_ns;
            let plan = Plan { origin, period_ticks: ticks(period_s), jitter_ticks: 0.0, seed: 0 };
            let end = plan.end(ticks(period_s * f64::from(count)));
            prop_assert_eq!(plan.next(0, end + 1), u64::from(count) + 1);
        }

        /// The next one is the first that lies ahead, wherever the clock stands.
        #[test]
        fn the_next_start_is_the_first_that_has_not_passed(
            period in 10.0f64..1e6, jitter in 0.0f64..1.0, seed: u64, last in 0u64..1000, passed in 0u64..1_000_000_000,
        ) {
            let plan = Plan { origin: 5_000, period_ticks: period, jitter_ticks: period * jitter, seed };
            let now = plan.origin + passed;
            let next = plan.next(last, now);
            prop_assert!(next > last && plan.start(next) >= now);
            prop_assert!(next == last + 1 || plan.start(next - 1) < now);
        }
    }
}
