//! The power of every line of samples in segments: one transform of each segment, added up.
//!
//! Power is in units of what noise of the same variance has in one segment, so that of white noise it is the number of segments, with
//! that number's square root as its standard deviation. Segments begin at any time: their phases say nothing, and are left out.

use crate::order::median;
use crate::transform::Planner;

/// Zeros are put behind a segment until it is so many times as long: a line then lies within an eighth of a line's width
/// of a bin, and loses 5 % of its power at most.
const PADDING: usize = 4;
/// Longest transform; beyond it only twice the length is taken, where a line loses up to 19 %.
const MAX_PADDED_LENGTH: usize = 1 << 20;
/// Widths of a line on each side that belong to it, and up to which its surroundings reach.
const GUARD: f64 = 4.0;
const SURROUNDINGS: f64 = 40.0;

/// Powers of lines.
#[derive(Clone, Debug, Default)]
pub struct Power {
    bins: Vec<f64>,
    step_hz: f64,
    /// Bins of a line's width.
    width: f64,
    segments: f64,
}

impl Power {
    /// Of segments, each with the sum of its squares, at a rate.
    pub fn new<'a>(
        segments: impl Iterator<Item = (&'a [f32], f64)> + Clone,
        rate_hz: f64,
    ) -> Power {
        let longest = segments
            .clone()
            .map(|(samples, _)| samples.len())
            .max()
            .unwrap_or(0)
            .max(1);
        let padding = if PADDING * longest > MAX_PADDED_LENGTH {
            2
        } else {
            PADDING
        };
        let length = (padding * longest).next_power_of_two();
        let plan = Planner::new().plan(length);
        let (mut input, mut output) = (plan.make_input_vec(), plan.make_output_vec());
        let mut power = Power {
            bins: vec![0.0; output.len()],
            step_hz: rate_hz / length as f64,
            width: length as f64 / longest as f64,
            segments: 0.0,
        };
        for (samples, square) in segments {
            input.fill(0.0);
            input[..samples.len()].copy_from_slice(samples);
            if plan.process(&mut input, &mut output).is_err() {
                continue;
            }
            power.segments += 1.0;
            for (bin, value) in power.bins.iter_mut().zip(&output) {
                *bin += f64::from(value.norm_sqr()) / square;
            }
        }
        power
    }

    /// Segments that were added up, which is the mean power of white noise.
    pub fn segments(&self) -> f64 {
        self.segments
    }

    /// Power in the bin of a frequency.
    pub fn at(&self, hz: f64) -> f64 {
        // Rounded by hand: `round` is a call of a library.
        let place = hz / self.step_hz;
        let below = place as usize;
        let bin = below + usize::from(place - below as f64 >= 0.5);
        self.bins.get(bin).copied().unwrap_or(self.segments)
    }

    /// The highest power within `reach_hz` of `hz`, or in the bins next to it, less 1 for each segment.
    pub fn near(&self, hz: f64, reach_hz: f64) -> f64 {
        let (about, reach) = (hz / self.step_hz, reach_hz / self.step_hz);
        let highest = self
            .between((about - reach).floor(), (about + reach).ceil())
            .iter()
            .copied()
            .fold(0.0, f64::max);
        highest - self.segments
    }

    /// Power around a frequency, in units of what white noise has: more than 1 where the noise is coloured. It is the median, so that
    /// other lines there say nothing.
    pub fn around(&self, hz: f64) -> f64 {
        let about = hz / self.step_hz;
        let (near, far) = (GUARD * self.width, SURROUNDINGS * self.width);
        let powers = [(about - far, about - near), (about + near, about + far)]
            .map(|(from, to)| self.between(from, to))
            .concat();
        let median = median(powers).unwrap_or(0.0);
        // Of a sum of n exponential variables of mean 1 the median is n - 1/3, nearly.
        median / (self.segments - 1.0 / 3.0).max(0.5)
    }

    fn between(&self, from: f64, to: f64) -> &[f64] {
        let last = self.bins.len().saturating_sub(1);
        let bin = |at: f64| (at.max(0.0) as usize).min(last);
        self.bins.get(bin(from)..=bin(to)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Power;
    use crate::random::Random;

    /// Noise of a standard deviation of 1, and a sinusoid of amplitude 0.2 at 1234.3 Hz, at 10 kHz.
    fn segments() -> Vec<Vec<f32>> {
        let mut random = Random::new(7);
        (0..5)
            .map(|segment| {
                (0..10_000)
                    .map(|k| {
                        let noise = random.normal() as f32;
                        let turns = 0.123_43 * k as f32 + 0.3 * segment as f32;
                        noise + 0.2 * (turns * std::f32::consts::TAU).cos()
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn a_line_has_its_power_and_noise_is_one() {
        let segments = segments();
        let square = |samples: &[f32]| samples.iter().map(|&v| f64::from(v).powi(2)).sum();
        let power = Power::new(segments.iter().map(|one| (&one[..], square(one))), 1e4);
        // (n a / 2)^2 over n sigma^2 is n a^2 / 4: 100 in each of five segments.
        let line = power.near(1234.3, 0.1);
        assert!((line / 500.0 - 1.0).abs() < 0.25, "{line}");
        assert!(power.near(2234.3, 0.1) < 15.0);
        for hz in [0.0, 20.0, 1234.3, 3000.0, 5000.0] {
            let around = power.around(hz);
            assert!((around - 1.0).abs() < 0.25, "{hz}: {around}");
        }
    }

    #[test]
    fn nothing_has_no_power() {
        let power = Power::new(std::iter::empty(), 1e4);
        assert_eq!(power.near(100.0, 1.0), 0.0);
        assert_eq!(power.around(100.0), 0.0);
    }
}
