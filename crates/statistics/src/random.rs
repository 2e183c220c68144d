//! Random numbers that are the same for the same seed, on every machine and in every version: SplitMix64 (Steele, Lea and Flood 2014, figure 17).
//!
//! The generator of the workspace: for orders of runs, permutations, the scatter of injected disturbances, and what tests draw. Not a crate,
//! because its streams are promised: a seed in a file of `repeat` or `inject` plans the same run again, and p-values by permutation
//! are part of a report. Of the generators in well-kept crates none has this stream and can begin at any number ([`Random::after`]). The simulation and
//! its scoreboard keep fastrand (wyrand), because a scene and its seed promise every quantum, too.

/// Increment of the state: 2^64 over the golden ratio, made odd.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The stream of a seed without its first `skipped` numbers, at no cost: for numbers that follow from their place alone.
    pub const fn after(seed: u64, skipped: u64) -> Random {
        Random(seed.wrapping_add(INCREMENT.wrapping_mul(skipped)))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform from 0 to below 1, in steps of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number from 0 to below `limit`, which is above 0. Biased by at most `limit` / 2^64.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// Mean 0, standard deviation 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first outputs for seed 1234567, as in the test vectors that implementations share.
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        let mut random = Random::new(1_234_567);
        assert_eq!([(); 3].map(|()| random.bits()), expected);
        for (skipped, value) in (0..).zip(expected) {
            assert_eq!(Random::after(1_234_567, skipped).bits(), value);
        }
    }

    #[test]
    fn an_order_holds_every_item() {
        let mut random = Random::new(1);
        let orders: [[u8; 8]; 20] = std::array::from_fn(|_| {
            let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
            random.shuffle(&mut order);
            order
        });
        // The orders of a seed are promised.
        assert_eq!(orders[0], [4, 3, 2, 7, 5, 6, 0, 1]);
        for mut order in orders {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
        assert!(orders.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let mut random = Random::new(2);
        let values: Vec<f64> = (0..10_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / 1e4;
        let square = values.iter().map(|value| value * value).sum::<f64>() / 1e4;
        // Five standard errors.
        assert!(
            mean.abs() < 0.05 && (square - 1.0).abs() < 0.071,
            "{mean} {square}"
        );
    }
}
