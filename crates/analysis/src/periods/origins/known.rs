//! Lines that known frequencies explain: their harmonics, and sums and differences of their multiples, folded at the rate.

use super::{Alias, HIGHEST_HZ, SAME_DEVIATIONS, is_train};
use crate::periods::spectrum::apparent;
use bandscope_report::{Origin, Signal};

/// Share of the spectrum that the harmonics of a frequency may cover before one of them is no evidence.
const MAX_SHARE_COVERED: f64 = 0.05;
/// Multiples of two frequencies that are mixed.
const MAX_MIXED_MULTIPLE: u32 = 4;

/// Frequencies that are known, and what mixes of them.
pub struct Known {
    frequencies: Vec<(f64, f64)>,
    mixed: Vec<(f64, f64)>,
    rate_hz: f64,
}

impl Known {
    /// Of signals and aliases.
    pub fn new(signals: &[Signal], aliases: &[Alias], rate_hz: f64) -> Known {
        let is_known = |one: &&Signal| {
            matches!(one.origin, Origin::External | Origin::Sampling) || is_train(one)
        };
        let signals = signals.iter().filter(is_known);
        let frequencies: Vec<(f64, f64)> = signals
            .map(|signal| (signal.frequency_hz, signal.uncertainty_hz))
            .chain(aliases.iter().map(|alias| (alias.hz, alias.sigma_hz)))
            .collect();
        Known {
            mixed: mixed(&frequencies),
            frequencies,
            rate_hz,
        }
    }

    /// Whether a line is a harmonic or a mixture of these.
    pub fn explain(&self, line: &Signal) -> bool {
        let mut known = self.frequencies.iter();
        known.any(|&known| is_harmonic(line, known, self.rate_hz))
            || is_mixed(line, &self.mixed, self.rate_hz)
    }
}

/// Sums and differences of multiples of two known frequencies: a gap takes its quantum out of the residual, with all that others lose in it.
fn mixed(known: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let multiples = |(hz, sigma): (f64, f64)| {
        (1..=MAX_MIXED_MULTIPLE)
            .map(f64::from)
            .map(move |h| (h * hz, h * sigma))
    };
    let pairs = known.iter().enumerate();
    let pairs = pairs.flat_map(|(k, &one)| known[k + 1..].iter().map(move |&other| (one, other)));
    pairs
        .flat_map(|(one, other)| {
            multiples(one).flat_map(move |a| multiples(other).map(move |b| (a, b)))
        })
        .flat_map(|(a, b)| {
            [
                (a.0 + b.0, a.1.hypot(b.1)),
                ((a.0 - b.0).abs(), a.1.hypot(b.1)),
            ]
        })
        .collect()
}

/// Whether a line is one of these, folded at the rate, where they are not so many that one would fit by accident.
fn is_mixed(line: &Signal, mixed: &[(f64, f64)], rate: f64) -> bool {
    let tolerance = |sigma: f64| SAME_DEVIATIONS * sigma.hypot(line.uncertainty_hz);
    let covered: f64 = mixed
        .iter()
        .map(|one| 2.0 * tolerance(one.1) / (0.5 * rate))
        .sum();
    covered < MAX_SHARE_COVERED
        && mixed.iter().any(|&(hz, sigma)| {
            (apparent(hz, rate).0 - line.frequency_hz).abs() <= tolerance(sigma)
        })
}

/// Whether a line is a harmonic of a known frequency, folded at the rate: of as many as may be tried without one fitting by accident.
pub(super) fn is_harmonic(line: &Signal, (hz, sigma): (f64, f64), rate: f64) -> bool {
    let mut covered = 0.0;
    (1..)
        .map(f64::from)
        .take_while(|h| h * hz <= HIGHEST_HZ)
        .map(|h| (h, SAME_DEVIATIONS * (h * sigma).hypot(line.uncertainty_hz)))
        .take_while(|(_, tolerance)| {
            // Each covers as much of the half of the rate that is seen.
            covered += 2.0 * tolerance / (0.5 * rate);
            covered < MAX_SHARE_COVERED
        })
        .any(|(h, tolerance)| (apparent(h * hz, rate).0 - line.frequency_hz).abs() <= tolerance)
}
