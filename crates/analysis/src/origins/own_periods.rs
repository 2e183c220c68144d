//! Periods in quanta that two rates share: the measurement's own.
//!
//! A loss in one of P quanta has all its harmonics at the same strength, up to half the rate. Their sum in the transform says where to
//! look, of all periods at once; folding the residual at the few best decides ([`crate::fold`]).

use super::{GRID, Residual, SMALLEST_P, STRENGTH};
use crate::comb::SIGNIFICANT;
use crate::follow::Lines;
use crate::report::{Series, Signal};

/// Periods in quanta that may be the measurement's own: from where alternating bands end to a page of the smallest records.
const OWN_PERIODS: std::ops::RangeInclusive<usize> = 8..=4096;
/// Harmonics that are added up, from the lowest to the highest.
const HARMONICS: usize = 128;
/// Standard deviations of noise above which a sum is worth a fold at both rates, and periods that are folded at most.
const WORTH_IT: f64 = 4.0;
const MOST: usize = 24;
/// A line that a period explains is this near to it, in quanta.
const NEARLY_WHOLE: f64 = 0.3;

/// Finds periods in quanta that both of two series show, and writes them down in both.
pub(super) fn find(
    series: &mut [Series],
    (a, b): (usize, usize),
    residuals: &[Residual],
    lines: &[Lines],
) {
    let significant = SIGNIFICANT.ln() - (OWN_PERIODS.count() as f64).ln();
    let mut known: Vec<usize> = Vec::new();
    for period in candidates(&lines[a], &lines[b]) {
        // A part of a period shows it, too.
        if known.iter().any(|known| known.is_multiple_of(period)) {
            continue;
        }
        let folded = [a, b].map(|one| residuals[one].kept.folded_at(period));
        let [Some(one), Some(two)] = folded else {
            continue;
        };
        let ns = |index: usize, ticks: f64| residuals[index].context.ns(ticks);
        let losses = [ns(a, one.ticks_per_event), ns(b, two.ticks_per_event)];
        let alike = (losses[0] / losses[1]).ln().abs() <= STRENGTH.ln();
        if alike && one.log_p < significant && two.log_p < significant {
            known.push(period);
            for (index, loss, folded) in [(a, losses[0], one), (b, losses[1], two)] {
                own_period(&mut series[index], period, loss, folded.log_p);
            }
        }
    }
}

/// The periods whose harmonics stand out most at both rates, the longest first.
fn candidates(one: &Lines, two: &Lines) -> Vec<usize> {
    let mut scored: Vec<(f64, usize)> = OWN_PERIODS
        .map(|period| (score(one, period).min(score(two, period)), period))
        .filter(|(score, _)| *score > WORTH_IT)
        .collect();
    scored.sort_by(|x, y| y.0.total_cmp(&x.0));
    let mut periods: Vec<usize> = scored.into_iter().take(MOST).map(|one| one.1).collect();
    periods.sort_unstable_by(|x, y| y.cmp(x));
    periods
}

/// By how many standard deviations of noise the harmonics of a period outweigh what lies half way between them, which coloured noise
/// raises as well.
fn score(lines: &Lines, period: usize) -> f64 {
    let (power, rate) = (lines.power(), lines.rate_hz());
    let stride = (period / 2).div_ceil(HARMONICS);
    let (mut sum, mut number) = (0.0, 0.0);
    for harmonic in (1..=period / 2).step_by(stride) {
        let hz = |harmonic: f64| harmonic * rate / period as f64;
        // The last one, at half the rate, has nothing above it.
        let between = hz(harmonic as f64 - 0.5);
        sum += power.at(hz(harmonic as f64)) - power.at(between);
        number += 2.0;
    }
    sum / (number * power.segments().max(1.0)).sqrt()
}

/// Writes down a period in quanta, in place of the line that shows it.
fn own_period(series: &mut Series, period: usize, ns_per_event: f64, log_p: f64) {
    let hz = series.rate_hz / period as f64;
    // It is exact: what is uncertain of a number of quanta is nothing, or everything.
    series.signals.retain(|signal| {
        let near = (signal.frequency_hz / hz - 1.0).abs() * (period as f64) < NEARLY_WHOLE;
        signal.seen_in != "residual" || signal.origin != "unresolved" || !near
    });
    series.signals.push(Signal {
        frequency_hz: hz,
        uncertainty_hz: GRID * hz,
        origin: "sampling",
        ns_per_event,
        p_value: log_p.exp().max(SMALLEST_P),
        harmonics: 1,
        seen_in: "residual",
    });
}
