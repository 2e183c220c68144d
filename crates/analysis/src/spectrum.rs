//! Second pass: Welch periodograms of the time lost per quantum.
//!
//! Two signals: everything that was lost (gaps and residual), for the eye, and the residual alone, in which
//! [`crate::signals`] looks for what gaps do not show. Both are losses against the band that the series is in, so the
//! edges between bands, which are no interference, do not swamp the rest. Hann windows of 50 % overlap, the mean of each removed,
//! none across a segment (Welch 1967).

use crate::context::Context;
use crate::derive::{BLOCK, Derived};
use crate::detector::Detector;
use crate::pyramid::Spectrum;
use bandscope_transform::{Complex, Planner, RealToComplex};
use std::sync::Arc;

/// Longest window: 0.6 Hz at 10 kHz.
const LONGEST: u64 = 16_384;
/// Shortest window that shows a line.
const SHORTEST: u64 = 32;
/// Windows that the longest segment should hold.
const WINDOWS: u64 = 4;
/// A loss beyond this many mean losses is cut to that: one long absence must not hide all lines, and a tick that comes
/// once in a thousand quanta must stay whole.
const CLIP: f64 = 1000.0;

/// A sum in four parts, which do not wait for one another.
pub(crate) fn in_lanes<T: Copy>(values: &[T], of: impl Fn(T) -> f64) -> f64 {
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

/// One signal's periodogram.
#[derive(Clone)]
struct Welch {
    window: Arc<[f32]>,
    transform: Arc<dyn RealToComplex<f32>>,
    samples: Vec<f32>,
    work: Vec<f32>,
    output: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    power: Vec<f64>,
    windows: u64,
    mean_loss: f64,
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
    /// With windows that suit the longest segment; `None` if it is too short for one.
    fn suiting(longest_segment: u64) -> Option<Welch> {
        let most = (longest_segment / WINDOWS).min(LONGEST);
        (most >= SHORTEST).then(|| Welch::new(1 << most.ilog2()))
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
            mean_loss: 0.0,
            transform,
        }
    }

    fn push(&mut self, losses: &[f64]) {
        let sum = in_lanes(losses, |loss| loss.abs());
        let mean = sum / losses.len().max(1) as f64;
        self.mean_loss = if self.mean_loss == 0.0 {
            mean
        } else {
            0.9 * self.mean_loss + 0.1 * mean
        };
        let limit = CLIP * self.mean_loss;
        let mut rest = losses;
        while !rest.is_empty() {
            let room = self.window.len() - self.samples.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            let from = self.samples.len();
            self.samples.resize(from + now.len(), 0.0);
            for (sample, &loss) in self.samples[from..].iter_mut().zip(now) {
                *sample = within(loss, limit) as f32;
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

    fn merge(&mut self, later: &Welch) {
        for (power, other) in self.power.iter_mut().zip(&later.power) {
            *power += other;
        }
        self.windows += later.windows;
        self.samples.clear();
    }

    /// One-sided power density; losses in ticks become ns.
    fn report(&self, context: &Context) -> Spectrum {
        if self.windows == 0 {
            return Spectrum::default();
        }
        let rate = context.rate_hz;
        let energy: f64 = self.window.iter().map(|w| f64::from(*w).powi(2)).sum();
        let scale = 2.0 / (rate * energy * self.windows as f64 * context.ticks_per_ns.powi(2));
        let last = self.power.len() - 1;
        let one_sided = |bin: usize| if bin == 0 || bin == last { 0.5 } else { 1.0 };
        let power = self.power.iter().enumerate();
        Spectrum {
            step_hz: rate / self.window.len() as f64,
            power: power.map(|(bin, p)| p * scale * one_sided(bin)).collect(),
            windows: self.windows,
        }
    }
}

/// Of segments of a residual, in ticks, with windows that suit the longest of them.
pub fn of_segments<'a>(
    segments: impl Iterator<Item = &'a [f32]> + Clone,
    context: &Context,
) -> Spectrum {
    let longest = segments.clone().map(<[f32]>::len).max().unwrap_or(0);
    let Some(mut welch) = Welch::suiting(longest as u64) else {
        return Spectrum::default();
    };
    for segment in segments {
        welch.samples.clear();
        for block in segment.chunks(BLOCK) {
            let losses: Vec<f64> = block.iter().map(|&loss| f64::from(loss)).collect();
            welch.push(&losses);
        }
    }
    welch.report(context)
}

/// Spectra of a series.
#[derive(Clone, Debug)]
pub struct Spectra {
    /// `None` for a series too short for a window.
    residual: Option<Welch>,
    /// `None` where the residual is all there is.
    total: Option<Welch>,
    quantum_ticks: f64,
    /// Losses of the block at hand.
    losses: Vec<f64>,
}

impl Spectra {
    /// With windows that suit the longest segment.
    pub fn new(longest_segment: u64, context: &Context) -> Spectra {
        let residual = Welch::suiting(longest_segment);
        Spectra {
            total: residual.clone().filter(|_| context.gaps_known),
            residual,
            quantum_ticks: context.quantum_ticks,
            losses: Vec::new(),
        }
    }

    /// Spectra of all that was lost, and of the residual alone.
    pub fn report(&self, context: &Context) -> (Spectrum, Spectrum) {
        let residual = self.residual.as_ref().map(|welch| welch.report(context));
        let total = self.total.as_ref().map(|welch| welch.report(context));
        let residual = residual.unwrap_or_default();
        (total.unwrap_or_else(|| residual.clone()), residual)
    }
}

impl Detector for Spectra {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            for welch in [&mut self.residual, &mut self.total].into_iter().flatten() {
                welch.samples.clear();
            }
        }
        let quantum = self.quantum_ticks;
        self.losses.resize(chunk.len(), 0.0);
        if let Some(welch) = &mut self.residual {
            for (loss, residual) in self.losses.iter_mut().zip(chunk.undisturbed_residual()) {
                *loss = within(residual, quantum);
            }
            welch.push(&self.losses);
        }
        if let Some(welch) = &mut self.total {
            let columns = chunk.residual.iter().zip(chunk.gap_loss);
            for (loss, (&residual, &gap)) in self.losses.iter_mut().zip(columns) {
                *loss = within(residual + gap, quantum);
            }
            welch.push(&self.losses);
        }
    }

    fn merge(&mut self, later: Spectra) {
        for (mine, other) in [
            (&mut self.residual, &later.residual),
            (&mut self.total, &later.total),
        ] {
            if let (Some(mine), Some(other)) = (mine, other) {
                mine.merge(other);
            }
        }
    }
}
