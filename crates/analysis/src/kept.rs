//! Second pass: the residual of the first quanta, kept so that a line that was found can be looked at again.
//!
//! A periodogram over windows knows a frequency to a fraction of a bin, hertz. What two rates say of a line (METHOD, section 4) needs
//! hundredths of that: here the line is followed over every segment, one sum of phasors each, and its frequency is where
//! their powers add up highest (maximum likelihood; Bretthorst 1988). Each segment's phasor is kept with the time
//! that it belongs to: segments start at any time, so a line keeps its phase from one to the next only at its true
//! frequency, which [`crate::alias`] makes use of.

use crate::comb::SIGNIFICANT;
use crate::context::Context;
use crate::derive::Derived;
use crate::detector::Detector;
use crate::fold::{self, Folded};
use crate::levels::NO_BAND;
use crate::origins::apparent;

/// Quanta kept: 105 s at 10 kHz, 4 MiB.
const MOST: usize = 1 << 20;
/// Fewest quanta of a segment that is used.
const SHORTEST: usize = 64;
/// Harmonics that are followed.
const HARMONICS: usize = 8;
/// A residual beyond this many mean ones is cut to that: a rare long loss hides no line.
const CLIP: f32 = 20.0;
/// Power, in units of the noise of one segment's phasor, below which a line is too weak to be followed: by chance exp(-this).
const WEAKEST: f64 = 12.0;

/// Edges of a segment that can show a period, harmonics of theirs that are looked at, and -ln of the chance that is too small for one.
const FEWEST_EDGES: usize = 8;
const EDGE_HARMONICS: usize = 4;
const SURPRISE: f64 = 7.0;

/// Fractions of a line that may be its fundamental, harmonics of such a one that must stand out between the line's own, with this
/// share of its power, and samples on which that is looked at.
const DIVISORS: u32 = 8;
const BETWEEN: usize = 3;
const SHARE: f64 = 0.05;
const LOOKED_AT: usize = 1 << 17;
/// Harmonics of a line that may be seen folded back.
const FOLDED: u32 = 64;

#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Tick of its first quantum.
    start: u64,
    /// Its first sample.
    from: usize,
}

/// The residual of the first quanta of a series, ticks.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    samples: Vec<f32>,
    segments: Vec<Segment>,
    /// Samples at which the band changes.
    edges: Vec<u32>,
    band: Option<u8>,
    /// A residual of up to this many ticks is never cut: where gaps are known, what is longer stands among them.
    whole: f32,
}

/// A line, followed over the segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Apparent frequency, hertz.
    pub hz: f64,
    /// Its standard deviation.
    pub sigma_hz: f64,
    /// Rate of the series, hertz.
    pub rate_hz: f64,
    /// Middle of each segment, in seconds of the recording's clock, and the phasor there.
    pub phasors: Vec<(f64, (f64, f64))>,
    /// Sum of the powers over their noise.
    pub power: f64,
    /// Amplitude of the fundamental, ticks.
    pub amplitude: f64,
}

/// Sums over blocks of one segment at one harmonic.
struct Blocks {
    harmonic: f64,
    /// Start in seconds, samples, standard deviation of a phasor of the whole segment.
    start_s: f64,
    samples: usize,
    noise: f64,
    sums: Vec<(f64, f64)>,
}

impl Kept {
    /// Nothing kept yet.
    pub fn new(context: &Context) -> Kept {
        let threshold = context
            .kernel
            .as_ref()
            .map_or(0, |kernel| kernel.gap_threshold_ticks);
        Kept {
            whole: if context.gaps_known {
                threshold as f32
            } else {
                0.0
            },
            ..Kept::default()
        }
    }

    /// The residual of each segment.
    fn segments(&self) -> impl Iterator<Item = &[f32]> + Clone {
        self.segments.iter().enumerate().map(|(number, segment)| {
            let next = self.segments.get(number + 1);
            &self.samples[segment.from..next.map_or(self.samples.len(), |next| next.from)]
        })
    }

    /// Mean power around a frequency, in units of what white noise of the same variance has: more than 1 where the noise is coloured.
    pub fn noise_around(&self, hz: f64, context: &Context) -> f64 {
        let longest = self.segments().map(<[f32]>::len).max().unwrap_or(1).max(1) as f64;
        let offsets =
            [-13.0, -9.0, -5.0, 5.0, 9.0, 13.0].map(|lines| lines * context.rate_hz / longest);
        let powers = offsets.map(|offset| {
            let blocks = self.blocks(
                ((hz + offset) / context.rate_hz).abs(),
                self.block(0.0),
                1,
                context,
            );
            total(&blocks, 0.0, self.block(0.0)) / blocks.len().max(1) as f64
        });
        // The middle ones: another line may lie among them.
        let mut sorted = powers;
        sorted.sort_by(f64::total_cmp);
        0.5 * (sorted[2] + sorted[3])
    }

    /// The longest segment, in seconds.
    pub fn longest_s(&self, context: &Context) -> f64 {
        self.segments().map(<[f32]>::len).max().unwrap_or(0) as f64 / context.rate_hz
    }

    /// Samples of a block over which the phase of what is within `reach` turns a sample turns by an eighth at most; four fit a
    /// segment.
    fn block(&self, reach: f64) -> usize {
        let longest = self.segments().map(<[f32]>::len).max().unwrap_or(0);
        let most = (longest / 4).clamp(8, 4096);
        ((1.0 / (8.0 * reach)) as usize).clamp(8, most)
    }

    /// The period in quanta that stands out most, if it is significant.
    pub fn folded(&self) -> Option<Folded> {
        fold::search(self.segments(), self.limit(), SIGNIFICANT)
    }

    /// What a period of so many quanta shows, if anything.
    pub fn folded_at(&self, period: usize) -> Option<Folded> {
        fold::at(period, self.segments(), self.limit())
    }

    /// Natural logarithm of the p-value that something recurs with a period of so many quanta.
    pub fn surprise_at(&self, period: usize) -> f64 {
        fold::surprise(period, self.segments(), self.limit())
    }

    /// Ticks to which a residual is cut.
    fn limit(&self) -> f32 {
        let sum: f32 = self.samples.iter().map(|loss| loss.abs()).sum();
        self.whole
            .max(CLIP * sum / self.samples.len().max(1) as f32)
    }

    /// Power of the line within `reach_hz` of `hz` over the noise, less 1 for each segment, where it is highest; and the number of
    /// frequencies at which it was looked for.
    pub fn power_near(&self, hz: f64, reach_hz: f64, context: &Context) -> (f64, f64) {
        let (about, reach) = (hz / context.rate_hz, reach_hz / context.rate_hz);
        let block = self.block(reach);
        let blocks = self.blocks(about, block, 1, context);
        let Some(longest) = blocks.iter().map(|one| one.samples).max() else {
            return (0.0, 1.0);
        };
        let step = 0.25 / longest as f64;
        let steps = (reach / step).ceil() as i32;
        let highest = (-steps..=steps)
            .map(|k| total(&blocks, f64::from(k) * step, block))
            .fold(0.0, f64::max);
        (highest - blocks.len() as f64, f64::from(2 * steps + 1))
    }

    /// Whether changes of band recur at this frequency: a line there is the shadow of a pace that changes, and no loss.
    pub fn is_of_edges(&self, hz: f64, context: &Context) -> bool {
        let turns = hz / context.rate_hz;
        let (mut power, mut segments) = ([0.0; EDGE_HARMONICS], 0.0);
        for (number, segment) in self.segments.iter().enumerate() {
            let next = self.segments.get(number + 1);
            let to = next.map_or(self.samples.len(), |next| next.from) as u32;
            let from = segment.from as u32;
            let first = self.edges.partition_point(|&edge| edge < from);
            let last = self.edges.partition_point(|&edge| edge < to);
            let edges = &self.edges[first..last];
            if edges.len() < FEWEST_EDGES {
                continue;
            }
            segments += 1.0;
            for (h, power) in power.iter_mut().enumerate() {
                let turns = turns * (h + 1) as f64;
                let mut sum = (0.0, 0.0);
                for &edge in edges {
                    let (cos, sin) = phase((f64::from(edge - from) * turns).fract());
                    sum = (sum.0 + cos, sum.1 + sin);
                }
                *power += norm(sum) / edges.len() as f64;
            }
        }
        // A sum of `segments` exponential variables of mean 1, and Chernoff's bound of it, as in `comb`.
        power.iter().any(|power| {
            let mean = power / f64::max(segments, 1.0);
            mean > 1.0 && segments * (mean - 1.0 - mean.ln()) > SURPRISE
        })
    }

    /// Follows the line within `reach_hz` of `about_hz` with up to `harmonics` harmonics.
    pub fn follow(
        &self,
        about_hz: f64,
        reach_hz: f64,
        harmonics: u32,
        context: &Context,
    ) -> Option<Track> {
        let rate = context.rate_hz;
        let (about, reach) = (about_hz / rate, reach_hz / rate);
        let block = self.block(reach);
        let most = (0.5 / about).floor().min(f64::from(harmonics)) as usize;
        let blocks = self.blocks(about, block, most.clamp(1, HARMONICS), context);
        let longest = blocks.iter().map(|one| one.samples).max()? as f64;
        let highest = blocks.iter().map(|one| one.harmonic).fold(1.0, f64::max);
        let step = 1.0 / (6.0 * longest * highest);
        let steps = (reach / step).ceil() as i32;
        let power = |k: i32| total(&blocks, f64::from(k) * step, block);
        let powers: Vec<f64> = (-steps..=steps).map(power).collect();
        let peak = (0..powers.len()).max_by(|&a, &b| powers[a].total_cmp(&powers[b]))?;
        let middle = powers[peak];
        let offset = match (peak.checked_sub(1).map(|k| powers[k]), powers.get(peak + 1)) {
            (Some(left), Some(&right)) => 0.5 * (left - right) / (left - 2.0 * middle + right),
            _ => 0.0,
        };
        let offset = if offset.is_finite() {
            offset.clamp(-0.5, 0.5)
        } else {
            0.0
        };
        let shift = (peak as f64 - f64::from(steps) + offset) * step;
        // Noise alone has a power of 1 in each segment at each harmonic.
        let excess = middle - blocks.len() as f64;
        if excess < WEAKEST + 3.0 * (blocks.len() as f64).sqrt() {
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
            rate_hz: rate,
            phasors: blocks
                .iter()
                .filter(|one| one.harmonic == 1.0)
                .map(|one| phasor(one, about, shift, block, rate))
                .collect(),
            power: excess,
            amplitude: amplitude(&blocks, shift, block),
        })
        .filter(|track| track.sigma_hz.is_finite())
    }

    /// The line, or the fundamental of which it is a harmonic: its other harmonics stand between.
    pub fn fundamental(&self, track: Track, context: &Context) -> Track {
        let turns = track.hz / track.rate_hz;
        for divisor in (2..=DIVISORS).rev() {
            let lower = turns / f64::from(divisor);
            let teeth: Vec<f64> = (1..2 * divisor)
                .filter(|h| h % divisor != 0)
                .filter(|&h| !self.is_folded(turns, lower * f64::from(h)))
                .take(BETWEEN)
                .map(|h| self.power(lower * f64::from(h)))
                .collect();
            let weakest = teeth.iter().copied().fold(f64::INFINITY, f64::min);
            if teeth.len() == BETWEEN.min(divisor as usize)
                && weakest > WEAKEST.max(SHARE * track.power)
            {
                let reach = 4.0 * track.sigma_hz / f64::from(divisor);
                let about = track.hz / f64::from(divisor);
                return self
                    .follow(about, reach, divisor * 2, context)
                    .unwrap_or(track);
            }
        }
        track
    }

    /// Whether a harmonic of a line lies there that was folded back: of a fundamental it says nothing.
    fn is_folded(&self, line: f64, turns: f64) -> bool {
        let longest = self.samples.len() / self.segments.len().max(1);
        let near = 4.0 / longest.max(SHORTEST) as f64;
        (1..=FOLDED).map(|h| f64::from(h) * line).any(|harmonic| {
            let (seen, _) = apparent(harmonic, 1.0);
            harmonic > 0.5 && (seen - turns).abs() < near
        })
    }

    /// Power at a frequency in turns a sample over its noise, less 1 for each segment.
    fn power(&self, turns: f64) -> f64 {
        let mut total = 0.0;
        for (number, segment) in self.segments.iter().enumerate() {
            let next = self.segments.get(number + 1);
            let to = next
                .map_or(self.samples.len(), |next| next.from)
                .min(LOOKED_AT);
            if segment.from + SHORTEST > to {
                break;
            }
            let samples = cleaned(&self.samples[segment.from..to], self.whole);
            let square: f64 = samples.iter().map(|&v| f64::from(v).powi(2)).sum();
            let sum = demodulated(&samples, turns, samples.len());
            if square > 0.0 {
                total += norm(sum[0]) / square - 1.0;
            }
        }
        total
    }

    fn blocks(&self, about: f64, block: usize, harmonics: usize, context: &Context) -> Vec<Blocks> {
        let mut all = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            let to = self
                .segments
                .get(number + 1)
                .map_or(self.samples.len(), |next| next.from);
            let samples = cleaned(&self.samples[segment.from..to], self.whole);
            let square: f64 = samples.iter().map(|&v| f64::from(v).powi(2)).sum();
            if samples.len() < SHORTEST.max(4 * block) || square <= 0.0 {
                continue;
            }
            for harmonic in 1..=harmonics {
                all.push(Blocks {
                    harmonic: harmonic as f64,
                    start_s: context.seconds(segment.start as f64),
                    samples: samples.len(),
                    noise: square.sqrt(),
                    sums: demodulated(&samples, about * harmonic as f64, block),
                });
            }
        }
        all
    }
}

/// Less their mean, and without single ones that outweigh all others and are above `whole`.
fn cleaned(samples: &[f32], whole: f32) -> Vec<f32> {
    let n = samples.len().max(1) as f32;
    let limit = whole.max(CLIP * samples.iter().map(|v| v.abs()).sum::<f32>() / n);
    let cut: Vec<f32> = samples.iter().map(|v| v.clamp(-limit, limit)).collect();
    let mean = cut.iter().sum::<f32>() / n;
    cut.iter().map(|v| v - mean).collect()
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

/// Time of the segment's middle, and the phasor there: there an error of the frequency moves its phase least.
fn phasor(one: &Blocks, about: f64, shift: f64, block: usize, rate: f64) -> (f64, (f64, f64)) {
    let middle = (one.samples / 2) as f64;
    let turned = times(
        sum(one, shift, block),
        phase(((about + shift) * middle).fract()),
    );
    let scale = 1.0 / one.noise;
    (
        one.start_s + middle / rate,
        (turned.0 * scale, turned.1 * scale),
    )
}

/// Cosine and sine of so many turns.
pub fn phase(turns: f64) -> (f64, f64) {
    let (sin, cos) = (turns * std::f64::consts::TAU).sin_cos();
    (cos, sin)
}

/// Product of two phasors.
pub fn times(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// Square of a phasor's length.
pub fn norm(a: (f64, f64)) -> f64 {
    a.0 * a.0 + a.1 * a.1
}

impl Detector for Kept {
    fn push(&mut self, chunk: &Derived<'_>) {
        let room = MOST - self.samples.len().min(MOST);
        if room == 0 {
            return;
        }
        if chunk.opens_segment {
            self.band = None;
            self.segments.push(Segment {
                start: chunk.chunk.start[0],
                from: self.samples.len(),
            });
        }
        for (k, &band) in chunk.band.iter().take(room).enumerate() {
            if band != NO_BAND && self.band != Some(band) {
                if self.band.is_some() {
                    self.edges.push((self.samples.len() + k) as u32);
                }
                self.band = Some(band);
            }
        }
        let samples = chunk.residual.iter().take(room);
        self.samples.extend(samples.map(|&loss| loss as f32));
    }

    fn merge(&mut self, later: Kept) {
        let before = self.samples.len();
        let room = MOST - before.min(MOST);
        self.samples.extend(later.samples.into_iter().take(room));
        let segments = later.segments.into_iter().map(|segment| Segment {
            from: segment.from + before,
            ..segment
        });
        let end = self.samples.len();
        let edges = later.edges.into_iter().map(|edge| edge + before as u32);
        self.edges
            .extend(edges.filter(|&edge| (edge as usize) < end));
        self.segments
            .extend(segments.filter(|segment| segment.from < end));
    }
}
