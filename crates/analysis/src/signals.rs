//! Periodic signals: what was found in gaps and in the residual, and what two rates say of its origin.
//!
//! Three searches feed it: event times ([`crate::events`]), combs in the residual's periodogram ([`crate::comb`]) and periods in
//! quanta ([`crate::fold`]). Two rates decide the origin (METHOD, "Periodic signals and aliases"): the same frequency in both
//! is `external`, the same number of quanta is `sampling`, and a pair that one true frequency above half the rates
//! explains is `alias`. One rate decides nothing but what gaps show, whose times are not sampled.

use crate::comb::{SIGNIFICANT, Search};
use crate::context::Context;
use crate::events::{self, Train};
use crate::fold::Folded;
use crate::gaps::Event;
use crate::pyramid::Spectrum;
use crate::report::{Series, Signal};

/// Smallest p-value that is stated: what lies below is no probability that anybody can check.
const SMALLEST_P: f64 = 1e-300;
/// Signals of one series that are kept.
const MOST: usize = 16;
/// Standard deviations within which two frequencies are the same.
const SAME: f64 = 3.0;
/// Zones of half a rate searched for a common true frequency; with more, chance matches are not rare.
const ZONES: i32 = 8;
/// Expected chance matches above which no alias is claimed: 8 Fmax d / (f1 f2).
const CHANCE: f64 = 0.05;

/// Signals in the times of gaps.
pub fn in_gaps(
    events: &[Event],
    segments: &[(u64, u64)],
    unit: f64,
    context: &Context,
) -> Vec<Signal> {
    let Some(&(origin, _)) = segments.first() else {
        return Vec::new();
    };
    let seconds = |ticks: u64| context.seconds(ticks.saturating_sub(origin) as f64);
    let train = Train {
        times: events.iter().map(|event| seconds(event.start)).collect(),
        losses: events
            .iter()
            .map(|event| context.ns((event.duration as f64 - unit).max(0.0)))
            .collect(),
        segments: segments
            .iter()
            .map(|&(from, to)| (seconds(from), seconds(to)))
            .collect(),
    };
    events::search(&train)
        .into_iter()
        .map(|found| Signal {
            frequency_hz: found.frequency,
            uncertainty_hz: found
                .uncertainty
                .hypot(clock_error(found.frequency, context)),
            origin: "unresolved",
            ns_per_event: found.ns_per_event,
            p_value: found.log_p.exp().max(SMALLEST_P),
            harmonics: found.harmonics,
            seen_in: "gaps",
        })
        .collect()
}

/// Signals in the residual.
pub fn in_residual(
    spectrum: &Spectrum,
    folded: Option<Folded>,
    longest: u64,
    context: &Context,
) -> Vec<Signal> {
    let mut signals = Vec::new();
    let rate = context.rate_hz;
    if let Some(folded) = folded {
        let frequency = rate / folded.period as f64;
        let seconds = longest as f64 / rate;
        let uncertainty =
            6f64.sqrt() / (std::f64::consts::PI * seconds * folded.deviations.max(1.0));
        signals.push(Signal {
            frequency_hz: frequency,
            uncertainty_hz: uncertainty.hypot(clock_error(frequency, context)),
            origin: "unresolved",
            ns_per_event: context.ns(folded.ticks_per_event),
            p_value: folded.log_p.exp().max(SMALLEST_P),
            harmonics: 1,
            seen_in: "residual",
        });
    }
    // Half-overlapping Hann windows are nearly independent (Welch 1967).
    let averages = (spectrum.windows as f64 / 1.056).max(1.0);
    let combs = Search {
        power: &spectrum.power,
        averages,
        first: 8,
        guard: 4,
        most_teeth: 32,
        floor: 0.0,
    }
    .run();
    for comb in combs {
        let frequency = comb.fundamental * spectrum.step_hz;
        // Lines that the fold knows better: its fundamental and its harmonics.
        if signals
            .first()
            .is_some_and(|known| is_harmonic(frequency, known, spectrum.step_hz))
        {
            continue;
        }
        let uncertainty = 0.3 * spectrum.step_hz / f64::from(comb.harmonics.min(32));
        signals.push(Signal {
            frequency_hz: frequency,
            uncertainty_hz: uncertainty.hypot(clock_error(frequency, context)),
            origin: "unresolved",
            ns_per_event: amplitude(spectrum, &comb, rate),
            p_value: comb.log_p.exp().max(SMALLEST_P),
            harmonics: comb.harmonics,
            seen_in: "residual",
        });
    }
    signals
}

fn is_harmonic(frequency: f64, known: &Signal, step_hz: f64) -> bool {
    let ratio = frequency / known.frequency_hz;
    (ratio - ratio.round()).abs() * known.frequency_hz < 2.0 * step_hz && ratio.round() >= 1.0
}

fn clock_error(frequency: f64, context: &Context) -> f64 {
    frequency * context.clock_error_ppm.unwrap_or(0.0) * 1e-6
}

/// Time lost per period by an impulse train whose teeth have the power seen: each tooth is a sinusoid of amplitude
/// 2a/M with a loss of a every M quanta, and a Hann window spreads it over three bins.
fn amplitude(spectrum: &Spectrum, comb: &crate::comb::Comb, rate: f64) -> f64 {
    let teeth = (comb.teeth as f64).min(spectrum.power.len() as f64 / comb.fundamental);
    let mut powers: Vec<f64> = (1..=teeth.max(1.0) as usize)
        .filter_map(|h| {
            let bin = (h as f64 * comb.fundamental).round() as usize;
            let around = spectrum.power.get(bin.saturating_sub(1)..=bin + 1)?;
            Some(around.iter().sum::<f64>() * spectrum.step_hz)
        })
        .collect();
    powers.sort_by(f64::total_cmp);
    let Some(&power) = powers.get(powers.len() / 2) else {
        return 0.0;
    };
    let above = power * comb.excess / (1.0 + comb.excess);
    let quanta_per_period = rate / (comb.fundamental * spectrum.step_hz);
    (2.0 * above).sqrt() * quanta_per_period / 2.0
}

/// Keeps the significant signals, strongest first. A loss in the residual of less than `resolution_ns` is the rounding
/// of times to ticks, or of time to whole units, which beats with the grid.
pub fn rank(signals: &mut Vec<Signal>, resolution_ns: f64) {
    signals.retain(|signal| signal.seen_in == "gaps" || signal.ns_per_event >= resolution_ns);
    signals.retain(|signal| signal.p_value < SIGNIFICANT && signal.frequency_hz.is_finite());
    signals.sort_by(|a, b| {
        let loss = |signal: &Signal| signal.ns_per_event * signal.frequency_hz;
        loss(b).total_cmp(&loss(a))
    });
    signals.truncate(MOST);
}

/// Settles origins between series of the same CPU and work kernel at different rates.
pub fn settle_origins(series: &mut [Series]) {
    let seen: Vec<Series> = series.iter().map(only_signals).collect();
    for (number, mine) in series.iter_mut().enumerate() {
        for other in seen
            .iter()
            .enumerate()
            .filter(|(n, _)| *n != number)
            .map(|(_, other)| other)
        {
            let comparable = other.cpu == mine.cpu
                && other.kernel == mine.kernel
                && (other.rate_hz / mine.rate_hz - 1.0).abs() > 1e-3;
            if !comparable {
                continue;
            }
            let rates = (mine.rate_hz, other.rate_hz);
            for signal in mine
                .signals
                .iter_mut()
                .filter(|signal| signal.origin == "unresolved")
            {
                let origins = other
                    .signals
                    .iter()
                    .filter(|candidate| candidate.seen_in == signal.seen_in)
                    .filter_map(|candidate| origin(signal, candidate, rates));
                if let Some(origin) = origins.min_by_key(|origin| match *origin {
                    "external" => 0,
                    "sampling" => 1,
                    _ => 2,
                }) {
                    signal.origin = origin;
                }
            }
        }
    }
}

fn only_signals(series: &Series) -> Series {
    Series {
        cpu: series.cpu,
        rate_hz: series.rate_hz,
        kernel: series.kernel.clone(),
        signals: series.signals.clone(),
        ..Series::default()
    }
}

/// What explains a signal that is seen at two rates, if anything does.
fn origin(a: &Signal, b: &Signal, rates: (f64, f64)) -> Option<&'static str> {
    let same = |x: f64, y: f64| {
        (x - y).abs() <= SAME * a.uncertainty_hz.hypot(b.uncertainty_hz).max(1e-6 * x)
    };
    if same(a.frequency_hz, b.frequency_hz) {
        return Some("external");
    }
    if same(a.frequency_hz, b.frequency_hz * rates.0 / rates.1) {
        return Some("sampling");
    }
    // Times of gaps are not sampled, so they have no aliases.
    let highest = f64::from(ZONES) * rates.0.min(rates.1);
    let tolerance = a.uncertainty_hz.hypot(b.uncertainty_hz);
    let chance = 8.0 * highest * tolerance / (rates.0 * rates.1);
    if a.seen_in == "gaps" || chance > CHANCE {
        return None;
    }
    let images = |signal: &Signal, rate: f64| -> Vec<f64> {
        (1..=ZONES)
            .flat_map(|zone| {
                [-1.0, 1.0].map(|sign| f64::from(zone) * rate + sign * signal.frequency_hz)
            })
            .collect()
    };
    let others = images(b, rates.1);
    let common = images(a, rates.0)
        .into_iter()
        .any(|true_hz| others.iter().any(|&other| same(true_hz, other)));
    common.then_some("alias")
}
