//! Second pass: Welch periodograms of the time lost per quantum.
//!
//! Two signals: everything that was lost (gaps and residual), for the eye, and the residual alone, in which
//! [`crate::periods::signals`] looks for what gaps do not show. Both are losses against the band that the series is in, so the
//! edges between bands, which are no interference, do not swamp the rest. No window crosses a segment.

use crate::series::context::Context;
use crate::series::derive::{BLOCK, Derived};
use crate::series::detector::Detector;
use bandscope_statistics::welch::Welch;

/// A Welch periodogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spectrum {
    /// Distance of two points, hertz; the first point is at 0.
    pub step_hz: f64,
    /// Power density of time lost, ns^2/Hz.
    pub power: Vec<f64>,
    /// Windows whose periodograms were averaged.
    pub windows: u64,
}

/// The value, or the limit that it exceeds. Not `clamp` in an `extend`, which is done value by value and not by twos: twice
/// the instructions.
#[inline]
fn within(value: f64, limit: f64) -> f64 {
    let value = if value < -limit { -limit } else { value };
    if value > limit { limit } else { value }
}

/// One-sided power density; losses in ticks become ns.
fn report(welch: &Welch, context: &Context) -> Spectrum {
    if welch.windows() == 0 {
        return Spectrum::default();
    }
    Spectrum {
        step_hz: welch.step_hz(context.rate_hz),
        power: welch.density(context.rate_hz, context.ticks_per_ns),
        windows: welch.windows(),
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
        welch.begin_segment();
        for block in segment.chunks(BLOCK) {
            let losses: Vec<f64> = block.iter().map(|&loss| f64::from(loss)).collect();
            welch.push(&losses);
        }
    }
    report(&welch, context)
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
        let residual = self.residual.as_ref().map(|welch| report(welch, context));
        let total = self.total.as_ref().map(|welch| report(welch, context));
        let residual = residual.unwrap_or_default();
        (total.unwrap_or_else(|| residual.clone()), residual)
    }
}

impl Detector for Spectra {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            for welch in [&mut self.residual, &mut self.total].into_iter().flatten() {
                welch.begin_segment();
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
}

/// Frequency that `hz` shows as at a rate, and whether it runs backwards there.
pub fn apparent(hz: f64, rate_hz: f64) -> (f64, bool) {
    let within = hz.rem_euclid(rate_hz);
    if within > rate_hz / 2.0 {
        (rate_hz - within, true)
    } else {
        (within, false)
    }
}
