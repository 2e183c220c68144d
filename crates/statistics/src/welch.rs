//! Welch's periodogram (1967): Hann windows of 50 % overlap, the mean of each removed, and the power of their transforms added up.

use crate::transform::{Complex, Planner, RealToComplex};
use std::sync::Arc;

/// Longest window, samples: 0.6 Hz at 10 kHz.
const MAX_WINDOW: u64 = 16_384;
/// Shortest window that shows a line, samples.
const MIN_WINDOW: u64 = 32;
/// Windows that the longest segment should hold.
const WINDOWS_PER_SEGMENT: u64 = 4;
/// A value beyond this many mean absolute values is cut to that: one outlier must not hide all lines, and what comes once in a thousand samples
/// must stay whole.
const MAX_OVER_MEAN: f64 = 1000.0;

/// A sum in four parts, which do not wait for one another.
fn in_lanes<T: Copy>(values: &[T], of: impl Fn(T) -> f64) -> f64 {
    let mut lanes = [0.0; 4];
    let fours = values.chunks_exact(4);
    let rest: f64 = fours.remainder().iter().map(|&value| of(value)).sum();
    for four in fours {
        for (lane, &value) in lanes.iter_mut().zip(four) {
            *lane += of(value);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// The value, or the limit that it exceeds. Not `clamp` in an `extend`, which is done value by value and not by twos: twice
/// the instructions.
#[inline]
fn within(value: f64, limit: f64) -> f64 {
    let value = if value < -limit { -limit } else { value };
    if value > limit { limit } else { value }
}

/// The periodogram of one signal, which takes samples as they come.
#[derive(Clone)]
pub struct Welch {
    window: Arc<[f32]>,
    transform: Arc<dyn RealToComplex<f32>>,
    samples: Vec<f32>,
    work: Vec<f32>,
    output: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    power: Vec<f64>,
    windows: u64,
    mean_absolute: f64,
}

impl std::fmt::Debug for Welch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Welch")
            .field("length", &self.window.len())
            .field("windows", &self.windows)
            .finish_non_exhaustive()
    }
}

impl Welch {
    /// With windows that suit the longest segment, in samples; `None` if it is too short for one.
    pub fn suiting(longest_segment: u64) -> Option<Welch> {
        let most = (longest_segment / WINDOWS_PER_SEGMENT).min(MAX_WINDOW);
        (most >= MIN_WINDOW).then(|| Welch::new(1 << most.ilog2()))
    }

    fn new(length: usize) -> Welch {
        let transform = Planner::new().plan(length);
        let hann = |k: usize| {
            let phase = std::f64::consts::TAU * k as f64 / length as f64;
            (0.5 - 0.5 * phase.cos()) as f32
        };
        Welch {
            window: (0..length).map(hann).collect(),
            samples: Vec::with_capacity(length),
            work: transform.make_input_vec(),
            output: transform.make_output_vec(),
            scratch: transform.make_scratch_vec(),
            power: vec![0.0; length / 2 + 1],
            windows: 0,
            mean_absolute: 0.0,
            transform,
        }
    }

    /// Adds samples that follow the last ones. What they are cut to follows the mean of each such block.
    pub fn push(&mut self, values: &[f64]) {
        let sum = in_lanes(values, |value| value.abs());
        let mean = sum / values.len().max(1) as f64;
        self.mean_absolute = if self.mean_absolute == 0.0 {
            mean
        } else {
            0.9 * self.mean_absolute + 0.1 * mean
        };
        let limit = MAX_OVER_MEAN * self.mean_absolute;
        let mut rest = values;
        while !rest.is_empty() {
            let room = self.window.len() - self.samples.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            let from = self.samples.len();
            self.samples.resize(from + now.len(), 0.0);
            for (sample, &value) in self.samples[from..].iter_mut().zip(now) {
                *sample = within(value, limit) as f32;
            }
            if self.samples.len() == self.window.len() {
                self.transform();
            }
            rest = later;
        }
    }

    fn transform(&mut self) {
        let length = self.samples.len();
        let mean = in_lanes(&self.samples, f64::from) / length as f64;
        let mean = mean as f32;
        for ((work, sample), window) in self.work.iter_mut().zip(&self.samples).zip(&*self.window) {
            *work = (sample - mean) * window;
        }
        let done = self.transform.process_with_scratch(
            &mut self.work,
            &mut self.output,
            &mut self.scratch,
        );
        // The buffers are the plan's own, so their lengths fit.
        debug_assert!(done.is_ok());
        for (power, value) in self.power.iter_mut().zip(&self.output) {
            *power += f64::from(value.norm_sqr());
        }
        self.windows += 1;
        self.samples.copy_within(length / 2.., 0);
        self.samples.truncate(length - length / 2);
    }

    /// What follows is of another segment: no window crosses to it.
    pub fn begin_segment(&mut self) {
        self.samples.clear();
    }

    /// One-sided power density by bin, [`Welch::step_hz`] apart: squares of the values over that of `unit`, per hertz. Empty before the first
    /// window was full.
    pub fn density(&self, rate_hz: f64, unit: f64) -> Vec<f64> {
        if self.windows == 0 {
            return Vec::new();
        }
        let energy: f64 = self.window.iter().map(|w| f64::from(*w).powi(2)).sum();
        let scale = 2.0 / (rate_hz * energy * self.windows as f64 * unit.powi(2));
        let last = self.power.len() - 1;
        let one_sided = |bin: usize| if bin == 0 || bin == last { 0.5 } else { 1.0 };
        let power = self.power.iter().enumerate();
        power.map(|(bin, p)| p * scale * one_sided(bin)).collect()
    }

    /// Hertz from one bin to the next.
    pub fn step_hz(&self, rate_hz: f64) -> f64 {
        rate_hz / self.window.len() as f64
    }

    /// Windows that were added up.
    pub fn windows(&self) -> u64 {
        self.windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn noise_has_the_density_of_its_variance_and_a_line_its_power() {
        let mut random = Random::new(4);
        let samples: Vec<f64> = (0..65_536)
            .map(|k| {
                3.0 * random.normal() + 2.0 * (0.125 * std::f64::consts::TAU * f64::from(k)).cos()
            })
            .collect();
        let mut welch = Welch::suiting(samples.len() as u64).unwrap();
        samples.chunks(1024).for_each(|block| welch.push(block));
        let (rate_hz, unit) = (1e4, 2.0);
        let power = welch.density(rate_hz, unit);
        let step_hz = welch.step_hz(rate_hz);
        let line = (1250.0 / step_hz) as usize;
        let noise: f64 = power[4..line - 4].iter().sum::<f64>() / (line - 8) as f64;
        // A variance of 9, in units of 2, over 5 kHz.
        assert!((noise / (9.0 / 4.0 / 5e3) - 1.0).abs() < 0.1, "{noise}");
        let of_line: f64 = power[line - 2..=line + 2].iter().sum::<f64>() * step_hz;
        assert!((of_line / (2.0 / 4.0) - 1.0).abs() < 0.1, "{of_line}");
    }

    #[test]
    fn windows_do_not_cross_segments() {
        let mut welch = Welch::suiting(256).unwrap();
        welch.push(&[1.0; 63]);
        welch.begin_segment();
        welch.push(&[1.0; 63]);
        assert_eq!((welch.windows(), welch.density(1.0, 1.0).len()), (0, 0));
        welch.push(&[1.0]);
        assert_eq!(welch.windows(), 1);
        assert!(Welch::suiting(127).is_none());
    }
}
