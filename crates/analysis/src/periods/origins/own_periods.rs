//! Periods in quanta that two rates share: the measurement's own.
//!
//! A loss in one of P quanta has all its harmonics at the same strength, up to half the rate. Their sum in the transform says where to
//! look, of all periods at once, as do the lines that were found and the powers of two, which pages are; folding the residual there
//! decides ([`crate::periods::fold`]).

use super::{MAX_STRENGTH_RATIO, Residual};
use crate::periods::follow::{Lines, TRUNCATED};
use crate::periods::signals;
use bandscope_report::{Origin, SeenIn, Series, Signal};
use bandscope_statistics::comb::SIGNIFICANT;
use rayon::prelude::*;

/// Periods in quanta that may be the measurement's own: from where alternating bands end to a page of the smallest records.
const OWN_PERIODS: std::ops::RangeInclusive<usize> = 8..=4096;
/// Harmonics that are added up, from the lowest to the highest.
const HARMONICS: usize = 128;
/// Standard deviations of noise above which a sum is worth a fold at both rates, and periods that are folded at most.
const MIN_DEVIATIONS: f64 = 4.0;
const MAX_FOLDS: usize = 24;
/// Standard deviations of noise as which a harmonic counts at most.
const STRONGEST: f64 = 4.0;
/// A line's period, or a multiple of it up to this one, is folded at if it is this near a whole number of quanta; a line that a period
/// explains is this near to it.
const MULTIPLES: u32 = 8;
const NEARLY_WHOLE: f64 = 0.3;

/// Finds periods in quanta that both of two series show, and writes them down in both.
pub(super) fn find(series: &mut [Series], (a, b): (usize, usize), residuals: &[&Residual]) {
    let significant = SIGNIFICANT.ln() - (OWN_PERIODS.count() as f64).ln();
    let mut known: Vec<usize> = Vec::new();
    let mut periods = by_harmonics(&residuals[a].lines, &residuals[b].lines);
    for one in [&series[a], &series[b]] {
        periods.extend(by_lines(one));
    }
    let powers = (0..usize::BITS).map(|power| 1 << power);
    periods.extend(powers.filter(|period| OWN_PERIODS.contains(period)));
    // The longest first: a part of it loses a share of what it does.
    periods.sort_unstable_by(|x, y| y.cmp(x));
    periods.dedup();
    for period in periods {
        // A part of a period shows it, too.
        if known.iter().any(|known| known.is_multiple_of(period)) {
            continue;
        }
        // What the first does not show is not looked for in the second.
        let stands_out = |one: usize| {
            let folded = residuals[one].kept.folded_at(period);
            folded.filter(|folded| folded.log_p < significant)
        };
        let Some((one, two)) = stands_out(a).and_then(|one| Some((one, stands_out(b)?))) else {
            continue;
        };
        let ns = |index: usize, ticks: f64| residuals[index].context.ns(ticks);
        let losses = [ns(a, one.ticks_per_event), ns(b, two.ticks_per_event)];
        let alike = (losses[0] / losses[1]).ln().abs() <= MAX_STRENGTH_RATIO.ln();
        if alike {
            known.push(period);
            for (index, loss, folded) in [(a, losses[0], one), (b, losses[1], two)] {
                own_period(&mut series[index], period, loss, folded.log_p);
            }
        }
    }
}

/// Whole numbers of quanta near the periods of lines that nothing explains yet, and their multiples.
fn by_lines(series: &Series) -> impl Iterator<Item = usize> {
    let open = series
        .signals
        .iter()
        .filter(|signal| signal.seen_in == SeenIn::Residual && signal.origin == Origin::Unresolved);
    open.map(|signal| series.rate_hz / signal.frequency_hz)
        .flat_map(|period| (1..=MULTIPLES).map(move |times| period * f64::from(times)))
        .filter(|period| (period - period.round()).abs() < NEARLY_WHOLE)
        .map(|period| period.round() as usize)
        .filter(|period| OWN_PERIODS.contains(period))
}

/// The periods whose harmonics stand out most at both rates.
fn by_harmonics(one: &Lines, two: &Lines) -> Vec<usize> {
    // Worked out by both at once, and before anybody asks for it.
    rayon::join(|| one.power(), || two.power());
    let mut scored: Vec<(f64, usize)> = OWN_PERIODS
        .into_par_iter()
        .map(|period| (score(one, period).min(score(two, period)), period))
        .filter(|(score, _)| *score > MIN_DEVIATIONS)
        .collect();
    scored.sort_by(|x, y| y.0.total_cmp(&x.0));
    scored
        .into_iter()
        .take(MAX_FOLDS)
        .map(|one| one.1)
        .collect()
}

/// By how many standard deviations of noise the harmonics of a period outweigh what lies half way between them, which coloured noise
/// raises as well.
fn score(lines: &Lines, period: usize) -> f64 {
    let (power, rate) = (lines.power(), lines.rate_hz());
    let stride = (period / 2).div_ceil(HARMONICS);
    let most = STRONGEST * power.segments().max(1.0).sqrt();
    let (mut sum, mut number) = (0.0, 0.0);
    for harmonic in (1..=period / 2).step_by(stride) {
        let hz = |harmonic: f64| harmonic * rate / period as f64;
        // The last one, at half the rate, has nothing above it.
        let between = hz(harmonic as f64 - 0.5);
        let more = power.at(hz(harmonic as f64)) - power.at(between);
        // A line of something else, however strong, is one of many.
        sum += more.clamp(-most, most);
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
        signal.seen_in != SeenIn::Residual || signal.origin != Origin::Unresolved || !near
    });
    series.signals.push(Signal {
        frequency_hz: hz,
        uncertainty_hz: TRUNCATED * hz,
        origin: Origin::Sampling,
        ns_per_event,
        // Of all that were tried.
        p_value: signals::p_value(log_p + (OWN_PERIODS.count() as f64).ln()),
        harmonics: 1,
        occupied: None,
        seen_in: SeenIn::Residual,
        cause: None,
        cause_by: None,
    });
}
