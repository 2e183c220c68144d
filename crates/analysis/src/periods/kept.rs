//! Second pass: the residual of the first quanta, kept so that what was found can be looked at again: folded, and followed
//! ([`crate::periods::follow`]).

use crate::periods::fold::{self, Folded};
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use crate::series::levels::NO_BAND;
use bandscope_statistics::comb::SIGNIFICANT;

/// Quanta kept: 105 s at 10 kHz, 4 MiB.
const MAX_QUANTA: usize = 1 << 20;
/// Fewest quanta of a segment that is used.
pub const SHORTEST: usize = 64;
/// A residual beyond this many mean ones is cut to that: a rare long loss hides no line.
const CLIP: f32 = 20.0;

/// Edges of a segment that can show a period, harmonics of theirs that are looked at, and -ln of the chance that is too small for one.
const FEWEST_EDGES: usize = 8;
const EDGE_HARMONICS: usize = 4;
const SURPRISE: f64 = 7.0;
/// Quanta on each side of a change of band that it may spoil, and the share of a line's power that a loss keeps without them.
const BESIDE: usize = 1;
const APART: f64 = 0.25;

/// The residual of the first quanta of a series, ticks.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    samples: Vec<f32>,
    /// Ticks at which they start, until trains were looked for.
    starts: Vec<u64>,
    /// First sample of each segment.
    segments: Vec<usize>,
    /// Samples at which the band changes.
    edges: Vec<u32>,
    band: Option<u8>,
    /// A residual of up to this many ticks is never cut: where gaps are known, what is longer stands among them.
    whole: f32,
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
    pub fn segments(&self) -> impl Iterator<Item = &[f32]> + Clone {
        self.extents().map(|(from, to)| &self.samples[from..to])
    }

    /// The samples, and the ticks at which each starts, which are kept no longer.
    pub fn timed(&mut self) -> (&[f32], Vec<u64>) {
        (&self.samples, std::mem::take(&mut self.starts))
    }

    /// The samples.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// The samples, to take something out of them.
    pub fn samples_mut(&mut self) -> &mut [f32] {
        &mut self.samples
    }

    /// Keeps the first samples only.
    pub fn truncate(&mut self, samples: usize) {
        self.samples.truncate(samples);
        self.segments.retain(|&from| from < samples);
        self.edges.retain(|&edge| (edge as usize) < samples);
    }

    /// Share of the quanta whose residual is known: not of those with a gap, or where the band changes.
    pub fn seen(&self) -> f64 {
        let seen = self.samples.iter().filter(|&&loss| loss != 0.0).count();
        seen as f64 / self.samples.len().max(1) as f64
    }

    /// First sample of each segment, and of what comes after it.
    pub fn extents(&self) -> impl Iterator<Item = (usize, usize)> + Clone {
        let ends = self.segments.iter().skip(1).copied();
        let ends = ends.chain([self.samples.len()]);
        self.segments.iter().copied().zip(ends)
    }

    /// The period in quanta that stands out most, if it is significant.
    pub fn folded(&self) -> Option<Folded> {
        fold::search(self.segments(), self.limit(), SIGNIFICANT)
    }

    /// What a period of so many quanta shows, if anything.
    pub fn folded_at(&self, period: usize) -> Option<Folded> {
        fold::at(period, self.segments(), self.limit())
    }

    /// Ticks to which a residual is cut.
    fn limit(&self) -> f32 {
        let sum: f32 = self.samples.iter().map(|loss| loss.abs()).sum();
        self.whole
            .max(CLIP * sum / self.samples.len().max(1) as f32)
    }

    /// Whether changes of band recur at this frequency: a line there is the shadow of a pace that changes, and no loss.
    pub fn is_of_edges(&self, hz: f64, context: &Context) -> bool {
        let turns = hz / context.rate_hz;
        let (mut power, mut segments) = ([0.0; EDGE_HARMONICS], 0.0);
        for (from, to) in self.extents() {
            let (from, to) = (from as u32, to as u32);
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
        let recurs = power.iter().any(|power| {
            let mean = power / f64::max(segments, 1.0);
            mean > 1.0 && segments * (mean - 1.0 - mean.ln()) > SURPRISE
        });
        recurs && self.apart_from_edges(turns) < APART
    }

    /// Share of a line's power that is left without the quanta next to changes of band: a loss that comes with changes of pace, as an
    /// interrupt does, keeps most of it.
    fn apart_from_edges(&self, turns: f64) -> f64 {
        let (mut all, mut apart) = (0.0, 0.0);
        for (from, to) in self.extents() {
            for h in 1..=EDGE_HARMONICS {
                let (mut whole, mut without) = ((0.0, 0.0), (0.0, 0.0));
                let mut edges = self.edges[self.edges.partition_point(|&e| (e as usize) < from)..]
                    .iter()
                    .map(|&edge| edge as usize)
                    .peekable();
                for (k, &loss) in (from..to).zip(&self.samples[from..to]) {
                    while edges.next_if(|edge| edge + BESIDE < k).is_some() {}
                    let (cos, sin) = phase(((k - from) as f64 * turns * h as f64).fract());
                    let part = (f64::from(loss) * cos, f64::from(loss) * sin);
                    whole = (whole.0 + part.0, whole.1 + part.1);
                    if edges.peek().is_none_or(|edge| k + BESIDE < *edge) {
                        without = (without.0 + part.0, without.1 + part.1);
                    }
                }
                all += norm(whole);
                apart += norm(without);
            }
        }
        apart / f64::max(all, f64::MIN_POSITIVE)
    }

    /// A segment less its mean, and without single samples that outweigh all others and are no disturbance that gaps leave to the residual.
    pub fn cleaned(&self, samples: &[f32]) -> Vec<f32> {
        let n = samples.len().max(1) as f32;
        let mean_size = samples.iter().map(|v| v.abs()).sum::<f32>() / n;
        let limit = self.whole.max(CLIP * mean_size);
        let cut = samples.iter().map(|v| v.clamp(-limit, limit));
        let mean = cut.clone().sum::<f32>() / n;
        cut.map(|v| v - mean).collect()
    }
}

impl Detector for Kept {
    fn push(&mut self, chunk: &Derived<'_>) {
        let room = MAX_QUANTA - self.samples.len().min(MAX_QUANTA);
        if room == 0 {
            return;
        }
        if chunk.opens_segment {
            self.band = None;
            self.segments.push(self.samples.len());
        }
        for (k, &band) in chunk.band.iter().take(room).enumerate() {
            if band != NO_BAND && self.band != Some(band) {
                if self.band.is_some() {
                    self.edges.push((self.samples.len() + k) as u32);
                }
                self.band = Some(band);
            }
        }
        self.starts.extend(chunk.chunk.start.iter().take(room));
        let samples = chunk.undisturbed_residual().take(room);
        self.samples.extend(samples.map(|loss| loss as f32));
    }
}

/// Cosine and sine of so many turns.
pub fn phase(turns: f64) -> (f64, f64) {
    let (sin, cos) = (turns * std::f64::consts::TAU).sin_cos();
    (cos, sin)
}

/// Square of a phasor's length.
pub fn norm(a: (f64, f64)) -> f64 {
    a.0 * a.0 + a.1 * a.1
}
