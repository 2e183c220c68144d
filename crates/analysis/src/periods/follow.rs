//! Lines of the residual, followed over its segments.
//!
//! A periodogram over windows knows a frequency to a fraction of a bin, hertz. What two rates say of a line
//! (docs/method.md, section 6.7) needs hundredths of that: here the line is followed over every segment, one sum of
//! phasors each, and its frequency is where their powers add up highest (maximum likelihood; Bretthorst 1988). Where
//! nothing stands out in the transform of the segments ([`bandscope_statistics::power`]) there is nothing to follow.

use crate::periods::kept::{Kept, SHORTEST, norm, phase};
use crate::periods::spectrum::apparent;
use crate::series::context::Context;
use bandscope_statistics::power::Power;
use std::sync::OnceLock;

/// Harmonics that are followed.
const HARMONICS: usize = 8;
/// Power, in units of the noise of one segment's phasor, below which a line is too weak to be followed: by chance exp(-this).
const WEAKEST: f64 = 12.0;
/// Standard deviations of the noise of all segments together that are added to it.
const DEVIATIONS: f64 = 3.0;

/// Fractions of a line that may be its fundamental, harmonics of such a one that must stand out between the line's own, and the share
/// of its power that they have.
const DIVISORS: u32 = 8;
const BETWEEN: usize = 3;
const MIN_SHARE_BETWEEN: f64 = 0.05;
/// Share of a line's power that the fundamental of which it is a harmonic has at least.
pub const FUNDAMENTAL: f64 = 0.2;
/// Harmonics of a line that may be seen folded back.
const FOLDED: u32 = 64;

/// Error of a grid by which frequencies at two rates may differ, as a share: FTQ's truncation is up to 5 ppm. bandscope's own grid is
/// of fixed point, and has none.
pub const TRUNCATED: f64 = 3e-6;

/// A line, followed over the segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Apparent frequency, hertz.
    pub hz: f64,
    /// Its standard deviation.
    pub sigma_hz: f64,
    /// Sum of the powers over their noise, less that of noise.
    pub power: f64,
    /// Natural logarithm of the chance that noise has as much at one of the places that were tried, at most.
    pub log_p: f64,
    /// Amplitude of the fundamental, ticks.
    pub amplitude: f64,
}

/// Natural logarithm of the chance that so many powers of noise, exponential of mean 1, have at least this sum: Chernoff's bound.
fn ln_noise_at_least(sum: f64, number: usize) -> f64 {
    let number = number.max(1) as f64;
    let mean = (sum / number).max(1.0);
    -number * (mean - 1.0 - mean.ln())
}

/// The residual's segments as lines are followed in them: cut, and centred.
#[derive(Debug)]
pub struct Lines {
    rate_hz: f64,
    grid: f64,
    segments: Vec<Segment>,
    power: OnceLock<Power>,
}

/// One segment, and the standard deviation of a phasor over all of it that its samples as noise would have.
#[derive(Debug)]
struct Segment {
    samples: Vec<f32>,
    noise: f64,
}

/// Sums over blocks of one segment at one harmonic.
struct Blocks {
    harmonic: f64,
    samples: usize,
    noise: f64,
    sums: Vec<(f64, f64)>,
}

impl Lines {
    /// Of what was kept of a series.
    pub fn new(kept: &Kept, context: &Context) -> Lines {
        let segments = kept
            .segments()
            .map(|samples| kept.cleaned(samples))
            .filter(|samples| samples.len() >= SHORTEST)
            .map(|samples| Segment {
                noise: samples
                    .iter()
                    .map(|&v| f64::from(v).powi(2))
                    .sum::<f64>()
                    .sqrt(),
                samples,
            })
            .filter(|segment| segment.noise > 0.0)
            .collect();
        Lines {
            rate_hz: context.rate_hz,
            grid: if context.gaps_known { 0.0 } else { TRUNCATED },
            segments,
            power: OnceLock::new(),
        }
    }

    /// The rate of the series, hertz.
    pub fn rate_hz(&self) -> f64 {
        self.rate_hz
    }

    /// Error of the rate, as a share.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    /// The longest segment, in seconds.
    pub fn longest_s(&self) -> f64 {
        self.longest() as f64 / self.rate_hz
    }

    fn longest(&self) -> usize {
        let lengths = self.segments.iter().map(|segment| segment.samples.len());
        lengths.max().unwrap_or(0)
    }

    /// The power of every line, worked out when it is first asked for.
    pub fn power(&self) -> &Power {
        self.power.get_or_init(|| {
            let segments = self.segments.iter();
            Power::new(
                segments.map(|one| (&one.samples[..], one.noise.powi(2))),
                self.rate_hz,
            )
        })
    }

    /// Power over the noise, less 1 for each segment, from which on a line is no accident.
    fn least(&self) -> f64 {
        WEAKEST + DEVIATIONS * (self.segments.len() as f64).sqrt()
    }

    /// Follows the line within `reach_hz` of `about_hz` with up to `harmonics` harmonics.
    pub fn follow(&self, about_hz: f64, reach_hz: f64, harmonics: u32) -> Option<Track> {
        let rate = self.rate_hz;
        let (about, reach) = (about_hz / rate, reach_hz / rate);
        let block = self.block(reach);
        let most = (0.5 / about).floor().min(f64::from(harmonics)) as usize;
        let blocks = self.blocks(about, block, most.clamp(1, HARMONICS));
        let longest = blocks.iter().map(|one| one.samples).max()? as f64;
        let highest = blocks.iter().map(|one| one.harmonic).fold(1.0, f64::max);
        let step = 1.0 / (6.0 * longest * highest);
        let steps = (reach / step).ceil() as i32;
        let power = |k: i32| total(&blocks, f64::from(k) * step, block);
        let powers: Vec<f64> = (-steps..=steps).map(power).collect();
        let peak = (0..powers.len()).max_by(|&a, &b| powers[a].total_cmp(&powers[b]))?;
        let shift = (peak as f64 - f64::from(steps) + summit(&powers, peak)) * step;
        // Noise alone has a power of 1 in each segment at each harmonic.
        let excess = powers[peak] - blocks.len() as f64;
        if excess < WEAKEST + DEVIATIONS * (blocks.len() as f64).sqrt() {
            return None;
        }
        let information: f64 = blocks
            .iter()
            .map(|one| {
                let turns = std::f64::consts::TAU * one.harmonic * one.samples as f64;
                let power = norm(sum(one, shift, block)) / one.noise.powi(2);
                turns.powi(2) * (power - 1.0).max(0.0) / 6.0
            })
            .sum();
        Some(Track {
            hz: (about + shift) * rate,
            sigma_hz: rate / information.sqrt(),
            power: excess,
            log_p: ln_noise_at_least(powers[peak], blocks.len()) + (powers.len() as f64).ln(),
            amplitude: amplitude(&blocks, shift, block),
        })
        .filter(|track| track.sigma_hz.is_finite())
    }

    /// The line, or the fundamental of which it is a harmonic: its other harmonics stand between.
    pub fn fundamental(&self, track: Track) -> Track {
        for divisor in (2..=DIVISORS).rev() {
            let lower = track.hz / f64::from(divisor);
            let teeth: Vec<f64> = (1..2 * divisor)
                .filter(|h| h % divisor != 0)
                .map(|h| lower * f64::from(h))
                .filter(|&tooth| !self.is_folded(track.hz, tooth))
                .take(BETWEEN)
                .map(|tooth| self.power().near(tooth, track.sigma_hz))
                .collect();
            let weakest = teeth.iter().copied().fold(f64::INFINITY, f64::min);
            if teeth.len() == BETWEEN.min(divisor as usize)
                && weakest > self.least().max(MIN_SHARE_BETWEEN * track.power)
            {
                let reach = 4.0 * track.sigma_hz / f64::from(divisor);
                return self.follow(lower, reach, divisor * 2).unwrap_or(track);
            }
        }
        track
    }

    /// The strongest tooth of a comb at `hz`, known to `sigma_hz`, where it is no comb of short events: these have none that is stronger
    /// than the fundamental but for what the quanta's length hides. What is above half the rate makes such a comb of its
    /// harmonics, folded.
    pub fn strongest(&self, hz: f64, sigma_hz: f64, teeth: u32) -> Option<Track> {
        let width = 1.0 / self.longest_s();
        // Half way to the next tooth at most.
        let reach = |h: u32| (4.0 * f64::from(h) * sigma_hz).clamp(width, (0.5 * hz).max(width));
        let power = |h: u32| self.power().near(f64::from(h) * hz, reach(h));
        let highest = ((0.5 * self.rate_hz / hz) as u32).min(teeth);
        let strongest = (2..=highest).max_by(|&a, &b| power(a).total_cmp(&power(b)))?;
        (FUNDAMENTAL * power(strongest) > power(1).max(self.least()))
            .then(|| self.follow(f64::from(strongest) * hz, reach(strongest), 1))
            .flatten()
    }

    /// Whether a harmonic of a line lies there that was folded back: of a fundamental it says nothing.
    fn is_folded(&self, line_hz: f64, hz: f64) -> bool {
        let near = 4.0 * self.rate_hz / self.longest().max(SHORTEST) as f64;
        (1..=FOLDED)
            .map(|h| f64::from(h) * line_hz)
            .filter(|harmonic| *harmonic > self.rate_hz / 2.0)
            .any(|harmonic| (apparent(harmonic, self.rate_hz).0 - hz).abs() < near)
    }

    /// Samples of a block over which the phase of what is within `reach` turns a sample turns by an eighth at most; four fit a
    /// segment.
    fn block(&self, reach: f64) -> usize {
        let most = (self.longest() / 4).clamp(8, 4096);
        ((1.0 / (8.0 * reach)) as usize).clamp(8, most)
    }

    fn blocks(&self, about: f64, block: usize, harmonics: usize) -> Vec<Blocks> {
        self.segments
            .iter()
            .filter(|segment| segment.samples.len() >= 4 * block)
            .flat_map(|segment| (1..=harmonics).map(move |harmonic| (segment, harmonic as f64)))
            .map(|(segment, harmonic)| Blocks {
                harmonic,
                samples: segment.samples.len(),
                noise: segment.noise,
                sums: demodulated(&segment.samples, about * harmonic, block),
            })
            .collect()
    }
}

/// Where a parabola through a peak and its neighbours is highest, in steps from the peak.
fn summit(powers: &[f64], peak: usize) -> f64 {
    let neighbours = peak
        .checked_sub(1)
        .map(|left| powers[left])
        .zip(powers.get(peak + 1));
    let Some((left, right)) = neighbours else {
        return 0.0;
    };
    let offset = 0.5 * (left - right) / (left - 2.0 * powers[peak] + right);
    if offset.is_finite() {
        offset.clamp(-0.5, 0.5)
    } else {
        0.0
    }
}

/// Sums of `samples` turned back by `turns` a sample, block by block.
fn demodulated(samples: &[f32], turns: f64, block: usize) -> Vec<(f64, f64)> {
    let by = phase(-turns);
    samples
        .chunks(block)
        .enumerate()
        .map(|(number, chunk)| {
            let mut at = phase(-((turns * (number * block) as f64).fract()));
            let mut sum = (0.0, 0.0);
            for &value in chunk {
                sum.0 += f64::from(value) * at.0;
                sum.1 += f64::from(value) * at.1;
                at = times(at, by);
            }
            sum
        })
        .collect()
}

/// A segment's phasor at a fundamental that is `shift` turns a sample higher.
fn sum(blocks: &Blocks, shift: f64, block: usize) -> (f64, f64) {
    let turns = shift * blocks.harmonic * block as f64;
    // From the middle of each block.
    let (mut at, by) = (phase(-0.5 * turns), phase(-turns));
    let mut sum = (0.0, 0.0);
    for &one in &blocks.sums {
        let turned = times(one, at);
        sum = (sum.0 + turned.0, sum.1 + turned.1);
        at = times(at, by);
    }
    sum
}

fn total(blocks: &[Blocks], shift: f64, block: usize) -> f64 {
    blocks
        .iter()
        .map(|one| norm(sum(one, shift, block)) / one.noise.powi(2))
        .sum()
}

/// Amplitude of the fundamental: a sinusoid of amplitude a has a sum of n a / 2 over n samples.
fn amplitude(blocks: &[Blocks], shift: f64, block: usize) -> f64 {
    let first = || blocks.iter().filter(|one| one.harmonic == 1.0);
    let lengths: f64 = first().map(|one| norm(sum(one, shift, block)).sqrt()).sum();
    let samples: f64 = first().map(|one| one.samples as f64).sum();
    2.0 * lengths / samples
}

/// Product of two phasors.
fn times(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}
