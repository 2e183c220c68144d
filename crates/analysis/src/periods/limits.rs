//! Detection limits of losses: what this very recording would have shown.
//!
//! Silence proves nothing by itself. So known losses are added to what was recorded, and the detectors that the report
//! uses are asked again (docs/method.md, section 6.9): a second band is added to the histogram of pace, ever closer to
//! the main one, until [`crate::pace::bands`] no longer tells them apart; the lines of a periodic loss are added to the
//! residual's periodogram, ever weaker, until the search for combs no longer finds them.

use crate::periods::origins::Known;
use crate::periods::signals::{self, residual_search};
use crate::periods::spectrum::Spectrum;
use crate::series::context::Context;
use bandscope_report::{LossLimit, Signal};
use bandscope_statistics::comb::SIGNIFICANT;
use rayon::prelude::*;

/// Frequencies that are asked for: the usual timer ticks.
const TICKS_HZ: [f64; 3] = [100.0, 250.0, 1000.0];
/// A frequency is asked for if this many periods fit a quantum's rate: above it a line is hardly a comb.
const QUANTA_PER_PERIOD: f64 = 4.0;
/// Losses that are tried, in nanoseconds.
const SMALLEST_NS: f64 = 0.1;
const LARGEST_NS: f64 = 1e6;
/// By how much the estimate of a loss so small may fall short of it, so that what is just above the resolution is not shown.
const ESTIMATE: f64 = 1.4;
/// Precision of the answer, as a ratio.
const PRECISION: f64 = 1.1;
/// By how much a loss that the weights call visible and the search itself does not find is raised, and how often.
const RAISE: f64 = 1.3;
const RAISES: usize = 16;
/// How far beside a frequency that is there already its limit is asked for.
const FURTHEST_BINS: u32 = 16;
/// A comb further than this from the loss that was added is another one.
const SAME_BINS: f64 = 1.0;
/// Largest fraction of the frequency that the search may take for it.
const MOST_DIVIDED: f64 = 8.0;

/// The smallest periodic losses that would have been seen: as a line of the residual, or, where the report would leave that out as one of what it
/// knows, as events, each of which must take what `event_ns` says of a frequency. A loss of `gap_ns` or more would be a gap, where gaps are
/// known; a line of less than `resolution_ns` would pass for rounding. Of its losses a line has what falls into the share of the quanta that
/// are `seen`. None at a frequency that is there already.
pub fn losses(
    (spectrum, seen): (&Spectrum, f64),
    resolution_ns: f64,
    gap_ns: Option<f64>,
    event_ns: impl Fn(f64) -> Option<f64> + Sync,
    signals: &[Signal],
    context: &Context,
) -> Vec<LossLimit> {
    let known = Known::new(signals, &[], context.rate_hz);
    let reach = f64::from(FURTHEST_BINS) * spectrum.step_hz;
    let is_there = |hz: f64| {
        let mut there = signals.iter();
        there.any(|signal| (signal.frequency_hz - hz).abs() <= reach)
    };
    let limit = |hz: f64| {
        let line = Signal {
            frequency_hz: hz,
            uncertainty_hz: signals::of_a_comb(spectrum, 1),
            ..Signal::default()
        };
        let as_line = (!known.explain(&line))
            .then(|| smallest_loss((spectrum, seen), hz, resolution_ns, context))
            .flatten()
            .filter(|&ns| gap_ns.is_none_or(|gap| ns < gap));
        Some(LossLimit {
            frequency_hz: hz,
            ns_per_event: as_line.or_else(|| event_ns(hz))?,
        })
    };
    TICKS_HZ
        .into_par_iter()
        .filter(|hz| hz * QUANTA_PER_PERIOD <= context.rate_hz && !is_there(*hz))
        .filter_map(limit)
        .collect()
}

fn smallest_loss(
    (spectrum, seen): (&Spectrum, f64),
    hz: f64,
    resolution_ns: f64,
    context: &Context,
) -> Option<f64> {
    let search = residual_search(spectrum);
    if spectrum.windows == 0 || hz / spectrum.step_hz < search.first as f64 {
        return None;
    }
    // Where such a loss is already, less of it would stand out only beside it.
    let hz = (0..=FURTHEST_BINS)
        .flat_map(|beside| [1.0, -1.0].map(|side| hz + side * f64::from(beside) * spectrum.step_hz))
        .filter(|hz| *hz >= search.first as f64 * spectrum.step_hz)
        .find(|hz| search.weigh(hz / spectrum.step_hz) >= SIGNIFICANT.ln())?;
    let bin = hz / spectrum.step_hz;
    let weighty = |ns: f64| {
        let with = with_loss(spectrum, hz, ns * seen, context);
        residual_search(&with).weigh(bin) < SIGNIFICANT.ln()
    };
    let (mut low, mut high) = (SMALLEST_NS.max(ESTIMATE * resolution_ns), LARGEST_NS);
    if !weighty(high) {
        return None;
    }
    if weighty(low) {
        high = low;
    }
    while high / low > PRECISION {
        let middle = (low * high).sqrt();
        if weighty(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    // The weight is that of one comb; whether the search finds this one and no other, the search must say.
    let found = |ns: f64| {
        let with = with_loss(spectrum, hz, ns * seen, context);
        residual_search(&with).run().iter().any(|comb| {
            // The search may take a fraction of it first; following the line mends that.
            let times = (bin / comb.fundamental).round();
            (1.0..=MOST_DIVIDED).contains(&times)
                && (comb.fundamental * times - bin).abs() < SAME_BINS
        })
    };
    let raised = (0..RAISES).map(|times| high * RAISE.powi(times as i32));
    raised.into_iter().find(|&ns| found(ns))
}

/// The periodogram, had there been a loss of `ns` `hz` times a second: each tooth of its comb is a sinusoid of
/// amplitude 2 a/M for a loss of a every M quanta, weakened by sin(x)/x because a loss counts for the quantum that it falls in, and a
/// Hann window spreads it.
fn with_loss(spectrum: &Spectrum, hz: f64, ns: f64, context: &Context) -> Spectrum {
    let mut with = spectrum.clone();
    let share = hz / context.rate_hz;
    let tooth = (2.0 * ns * share).powi(2) / 2.0 / spectrum.step_hz;
    let mut harmonic = 1.0;
    while harmonic * share < 0.5 {
        let x = std::f64::consts::PI * harmonic * share;
        let power = tooth * (x.sin() / x).powi(2);
        let at = harmonic * hz / spectrum.step_hz;
        let nearest = at.round() as usize;
        for bin in nearest.saturating_sub(2)..=nearest + 2 {
            if let Some(value) = with.power.get_mut(bin) {
                *value += power * hann(bin as f64 - at);
            }
        }
        harmonic += 1.0;
    }
    with
}

/// Share of a line's power that a Hann window puts `offset` bins from it; the shares of all bins add up to 1.
fn hann(offset: f64) -> f64 {
    let x = std::f64::consts::PI * offset;
    let amplitude = if offset.abs() < 1e-9 {
        1.0
    } else if (offset.abs() - 1.0).abs() < 1e-9 {
        0.5
    } else {
        x.sin() / x / (1.0 - offset * offset)
    };
    amplitude * amplitude / 1.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_keeps_the_power_of_a_line() {
        for offset in [0.0, 0.1, 0.37, 0.5] {
            let sum: f64 = (-40..=40).map(|bin| hann(f64::from(bin) - offset)).sum();
            assert!((sum - 1.0).abs() < 1e-3, "{offset}: {sum}");
        }
    }
}
