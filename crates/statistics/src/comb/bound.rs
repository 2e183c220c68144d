//! The comb with the highest sum of teeth, without summing them all.
//!
//! A search sums 63 teeth for each of some thousand fundamentals, and detection limits search a periodogram twenty times. So
//! fundamentals are first taken four at a time: tooth by tooth the highest value that any of the four can have, which is the maximum of a
//! few neighbouring bins, and bounds their sums. Only where the bound exceeds what is to be beaten are the sums themselves made. Noise stays
//! below it nearly everywhere, so a quarter of the instructions is left. Rounded sums keep the order of what is summed, so the bound holds to the
//! last bit, and the answer is that of summing them all.
//!
//! Whitened periodograms come from [`super`], and fundamentals go back there.

/// Neighbouring fundamentals that are bounded together: of more, the bounds of 32 teeth of noise lie above what is to be beaten.
const TOGETHER: usize = 4;

/// A whitened periodogram, prepared.
#[derive(Clone, Debug)]
pub struct BoundedCombs<'a> {
    white: &'a [f64],
    /// The highest value of 1, 2, 3 and 4 bins from each one on.
    highest_of: [Vec<f64>; TOGETHER],
}

impl BoundedCombs<'_> {
    /// Of values that are not negative.
    pub fn new(white: &[f64]) -> BoundedCombs<'_> {
        let mut highest_of = [const { Vec::new() }; TOGETHER];
        highest_of[0] = white.to_vec();
        for bins in 1..TOGETHER {
            let mut highest = highest_of[bins - 1].clone();
            for (value, further) in highest.iter_mut().zip(white.iter().skip(bins)) {
                *value = value.max(*further);
            }
            highest_of[bins] = highest;
        }
        BoundedCombs { white, highest_of }
    }

    /// The highest sum above `least` of so many teeth (a power of two), and its fundamental in bins times the teeth, `first` at least; of
    /// equal ones the lowest. Fundamentals are a part of a bin apart, so that the last tooth is within half a bin.
    pub fn highest(&self, teeth: usize, first: usize, least: f64) -> Option<(f64, usize)> {
        let last = self.white.len().checked_sub(1)?;
        let (mut highest, mut found) = (least, None);
        for (group, bound) in self.bounds(teeth, first).into_iter().enumerate() {
            if bound > highest {
                let from = first + group * TOGETHER;
                for j in from..(from + TOGETHER).min(last + 1) {
                    let sum = self.sum(teeth, j);
                    if sum > highest {
                        highest = sum;
                        found = Some(j);
                    }
                }
            }
        }
        found.map(|j| (highest, j))
    }

    fn sum(&self, teeth: usize, j: usize) -> f64 {
        // A shift, because each number of teeth is a power of two: a division by it would take most of the search.
        let (half, shift) = (teeth / 2, teeth.ilog2());
        (1..=teeth)
            .map(|h| self.white[(h * j + half) >> shift])
            .sum()
    }

    /// What the sums of each [`TOGETHER`] fundamentals cannot exceed.
    fn bounds(&self, teeth: usize, first: usize) -> Vec<f64> {
        let (half, shift) = (teeth / 2, teeth.ilog2());
        let fundamentals = self.white.len().saturating_sub(first);
        let mut bounds = vec![0.0; fundamentals.div_ceil(TOGETHER)];
        for h in 1..=teeth {
            // From the first of them to the last a tooth moves by at most so many bins, rounded up.
            let highest = &self.highest_of[((TOGETHER - 1) * h).div_ceil(teeth)][..];
            let mut position = h * first + half;
            for bound in &mut bounds {
                *bound += highest[position >> shift];
                position += h * TOGETHER;
            }
        }
        bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_highest_is_that_of_all_sums() {
        let mut random = Random::new(1);
        for bins in [1, 17, 64, 257, 1023] {
            // Few values, so that many sums are equal.
            let white: Vec<f64> = (0..bins)
                .map(|_| (random.unit() * 9.0).floor() / 7.0)
                .collect();
            let prepared = BoundedCombs::new(&white);
            for teeth in [1, 2, 4, 8, 16, 32] {
                for least in [0.0, 0.9 * teeth as f64, 1e3] {
                    let (mut highest, mut found) = (least, None);
                    for j in 3 * teeth..bins {
                        let sum = (1..=teeth)
                            .map(|h| white[(h * j + teeth / 2) / teeth])
                            .sum();
                        if sum > highest {
                            highest = sum;
                            found = Some((sum, j));
                        }
                    }
                    assert_eq!(prepared.highest(teeth, 3 * teeth, least), found);
                }
            }
        }
    }
}
