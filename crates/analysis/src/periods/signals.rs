//! Periodic signals: what was found in the residual, and which signals of a series are kept.
//!
//! Three searches feed it: event times ([`crate::periods::gap_trains`]), combs in the residual's periodogram ([`bandscope_statistics::comb`]) and
//! periods in quanta ([`crate::periods::fold`]). Two rates decide the origin (docs/method.md, section 6.7): the same frequency
//! in both is `external`, the same number of quanta is `sampling`, and a pair that one true frequency above half the
//! rates explains is `alias` ([`crate::periods::origins`]). One rate decides nothing but what gaps show, whose times are not
//! sampled.

use crate::periods::fold::Folded;
use crate::periods::follow::Lines;
use crate::periods::kept::Kept;
use crate::periods::spectrum::{Spectrum, apparent};
use crate::series::context::Context;
use bandscope_report::{Origin, SeenIn, Signal};
use bandscope_statistics::comb::{SIGNIFICANT, Search};

/// Smallest p-value that is stated: what lies below is no probability that anybody can check.
pub(crate) const SMALLEST_P: f64 = 1e-300;
/// Signals of one series that are kept.
const MAX_SIGNALS: usize = 16;
/// Standard deviations within which two frequencies are the same.
pub(super) const SAME_DEVIATIONS: f64 = 3.0;
/// Error of a unit's time in the main band, as a share, and harmonics of its beat with the quanta.
const BEAT: f64 = 1e-6;
const BEATS: u32 = 4;
/// Whole multiples of two trains whose difference is how often they meet, at most.
const MEETING: u32 = 4;
/// Share of what the smaller of two trains takes that is wrong, at most, where they meet.
const WRONG_WHERE_THEY_MEET: f64 = 0.02;
/// Uncertainties on each side within which a line's frequency is looked for again.
const REACH_DEVIATIONS: f64 = 5.0;

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
            origin: Origin::Unresolved,
            ns_per_event: context.ns(folded.ticks_per_event),
            p_value: p_value(folded.log_p),
            harmonics: 1,
            occupied: None,
            seen_in: SeenIn::Residual,
            cause: None,
            cause_by: None,
        });
    }
    for comb in residual_search(spectrum).run() {
        let frequency = comb.fundamental * spectrum.step_hz;
        // Lines that the fold knows better: its fundamental and its harmonics.
        if signals
            .first()
            .is_some_and(|known| is_harmonic(frequency, known, spectrum.step_hz))
        {
            continue;
        }
        let uncertainty = of_a_comb(spectrum, comb.harmonics);
        signals.push(Signal {
            frequency_hz: frequency,
            uncertainty_hz: uncertainty.hypot(clock_error(frequency, context)),
            origin: Origin::Unresolved,
            ns_per_event: amplitude(spectrum, &comb, rate),
            p_value: p_value(comb.log_p),
            harmonics: comb.harmonics,
            occupied: None,
            seen_in: SeenIn::Residual,
            cause: None,
            cause_by: None,
        });
    }
    signals
}

/// Standard deviation of the frequency of a comb with so many harmonics, hertz.
pub fn of_a_comb(spectrum: &Spectrum, harmonics: u32) -> f64 {
    0.3 * spectrum.step_hz / f64::from(harmonics.min(32))
}

/// The search for combs in the periodogram of a residual.
pub fn residual_search(spectrum: &Spectrum) -> Search<'_> {
    Search {
        power: &spectrum.power,
        // Half-overlapping Hann windows are nearly independent (Welch 1967).
        averages: (spectrum.windows as f64 / 1.056).max(1.0),
        first: 8,
        guard: 4,
        most_teeth: 32,
        floor: 0.0,
        folds: true,
    }
}

fn is_harmonic(frequency: f64, known: &Signal, step_hz: f64) -> bool {
    let ratio = frequency / known.frequency_hz;
    (ratio - ratio.round()).abs() * known.frequency_hz < 2.0 * step_hz && ratio.round() >= 1.0
}

/// Whether two signals have one frequency, within so many standard deviations of both.
pub(super) fn are_as_often(a: &Signal, b: &Signal, deviations: f64) -> bool {
    let tolerance = deviations * a.uncertainty_hz.hypot(b.uncertainty_hz);
    (a.frequency_hz - b.frequency_hz).abs() <= tolerance
}

/// Adds trains of quanta that lost, if they are `settled`. Those that come as often as gaps do are left out in any case: what a gap costs the quantum
/// after it is the gap's.
pub fn add_trains(signals: &mut Vec<Signal>, trains: &mut Vec<Signal>, settled: bool) {
    trains.retain(|train| {
        let mut gaps = signals.iter().filter(|one| one.seen_in == SeenIn::Gaps);
        !gaps.any(|gaps| are_as_often(train, gaps, SAME_DEVIATIONS))
    });
    if settled {
        signals.append(trains);
    }
}

/// What the clock's error makes of a frequency's, hertz.
pub fn clock_error(frequency: f64, context: &Context) -> f64 {
    frequency * context.clock_error_ppm.unwrap_or(0.0) * 1e-6
}

/// The p-value of this logarithm, as far as one is stated.
pub fn p_value(log_p: f64) -> f64 {
    log_p.min(0.0).exp().max(SMALLEST_P)
}

/// Time lost per period by an impulse train whose teeth have the power seen: each tooth is a sinusoid of amplitude
/// 2a/M with a loss of a every M quanta, and a Hann window spreads it over three bins.
fn amplitude(spectrum: &Spectrum, comb: &bandscope_statistics::comb::Comb, rate: f64) -> f64 {
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
    signals.retain(|signal| signal.seen_in == SeenIn::Gaps || signal.ns_per_event >= resolution_ns);
    signals.retain(|signal| signal.p_value < SIGNIFICANT && signal.frequency_hz.is_finite());
    strongest_first(signals);
}

/// Those that take most of the time, in order: other rates add some, and tell what others cost.
pub fn strongest_first(signals: &mut Vec<Signal>) {
    signals.sort_by(|a, b| {
        let loss = |signal: &Signal| signal.ns_per_event * signal.frequency_hz;
        loss(b).total_cmp(&loss(a))
    });
    signals.truncate(MAX_SIGNALS);
}

/// Takes out of the residual what recurs as often as two trains of gaps meet, and is little beside both: where a quantum holds a gap of each, what the
/// work beside them took is known less well.
pub fn take_out_meetings(signals: &mut Vec<Signal>) {
    let trains = signals.iter().filter(|one| one.seen_in == SeenIn::Gaps);
    let trains: Vec<Signal> = trains.cloned().collect();
    let multiples = || (1..=MEETING).map(f64::from);
    let meet = |a: &Signal, b: &Signal, line: &Signal| {
        let sigma = line
            .uncertainty_hz
            .hypot(a.uncertainty_hz)
            .hypot(b.uncertainty_hz);
        let is_little =
            line.ns_per_event < WRONG_WHERE_THEY_MEET * a.ns_per_event.min(b.ns_per_event);
        let is_often = |m: f64| {
            let apart = |n: f64| (m * a.frequency_hz - n * b.frequency_hz).abs();
            multiples().any(|n| (apart(n) - line.frequency_hz).abs() <= REACH_DEVIATIONS * sigma)
        };
        is_little && multiples().any(is_often)
    };
    signals.retain(|line| {
        let mut pairs = trains
            .iter()
            .enumerate()
            .flat_map(|(k, a)| trains[..k].iter().map(move |b| (a, b)));
        line.seen_in != SeenIn::Residual || !pairs.any(|(a, b)| meet(a, b, line))
    });
}

/// Follows the lines of the residual over the segments, which makes their frequencies exact; takes out what recurs with changes of
/// band.
///
/// Quanta end with whole units, so the unit's own frequency, folded at the rate, beats with them: a line there is the rounding of
/// time to units. `unit_ticks` is that of the main band; `followed` are the lines of `kept`.
pub fn follow(
    signals: &mut Vec<Signal>,
    kept: &Kept,
    followed: &Lines,
    unit_ticks: Option<f64>,
    context: &Context,
) {
    let rate = context.rate_hz;
    let unit_hz = unit_ticks.map(|ticks| context.seconds(ticks).recip());
    let beats = |signal: &Signal| {
        unit_hz.is_some_and(|unit_hz| {
            // The pace of a band is known to a millionth or so.
            let reach = SAME_DEVIATIONS * signal.uncertainty_hz + BEAT * unit_hz;
            (1..=BEATS).map(f64::from).any(|h| {
                h * reach < 0.02 * rate
                    && (apparent(h * unit_hz, rate).0 - signal.frequency_hz).abs() < h * reach
            })
        })
    };
    let shadow = |signal: &Signal| {
        is_line(signal) && (beats(signal) || kept.is_of_edges(signal.frequency_hz, context))
    };
    signals.retain(|signal| !shadow(signal));
    let mut teeth: Vec<Signal> = Vec::new();
    // A line without harmonics that cannot be followed is a hump of noise, or of a pace that wanders.
    signals.retain_mut(|signal| {
        if !is_line(signal) || is_folded(signal, rate) {
            return true;
        }
        let reach = REACH_DEVIATIONS * signal.uncertainty_hz;
        let (hz, sigma_hz) = (signal.frequency_hz, signal.uncertainty_hz);
        let tooth = followed.strongest(hz, sigma_hz, signal.harmonics);
        teeth.extend(tooth.map(|tooth| Signal {
            frequency_hz: tooth.hz,
            uncertainty_hz: tooth.sigma_hz.hypot(clock_error(tooth.hz, context)),
            // A train of short losses has a line of twice their mean.
            ns_per_event: context.ns(tooth.amplitude) * rate / (2.0 * tooth.hz),
            harmonics: 1,
            ..signal.clone()
        }));
        let Some(track) = followed.follow(hz, reach, signal.harmonics) else {
            return signal.harmonics > 1;
        };
        let line = track.hz;
        let track = followed.fundamental(track);
        // The same line is that much more of a loss that comes less often.
        signal.ns_per_event *= (line / track.hz).round().max(1.0);
        signal.frequency_hz = track.hz;
        signal.uncertainty_hz = track.sigma_hz.hypot(clock_error(track.hz, context));
        true
    });
    signals.extend(teeth);
}

/// Whether it is a line of the residual, and not a train of events.
pub fn is_line(signal: &Signal) -> bool {
    signal.seen_in == SeenIn::Residual && signal.occupied.is_none()
}

/// What was folded over a power of two has its period to the last digit.
fn is_folded(signal: &Signal, rate_hz: f64) -> bool {
    let period = rate_hz / signal.frequency_hz;
    period.fract() == 0.0 && (period as u64).is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_two_trains_meet_is_no_signal_of_its_own() {
        let signal = |frequency_hz, ns_per_event, seen_in| Signal {
            frequency_hz,
            ns_per_event,
            seen_in,
            uncertainty_hz: 1e-3,
            ..Signal::default()
        };
        let gaps = |hz, ns| signal(hz, ns, SeenIn::Gaps);
        let line = |hz, ns| signal(hz, ns, SeenIn::Residual);
        let mut signals = vec![
            gaps(1e3 / 3.0, 57_400.0),
            gaps(250.0, 13_265.0),
            line(83.333, 75.0),
            line(83.333, 2_000.0),
            line(90.0, 75.0),
        ];
        take_out_meetings(&mut signals);
        let left: Vec<(f64, f64)> = (signals.iter())
            .map(|one| (one.frequency_hz, one.ns_per_event))
            .collect();
        assert_eq!(left[2..], [(83.333, 2_000.0), (90.0, 75.0)]);
        // Of one train nothing meets.
        let mut alone = vec![gaps(250.0, 13_265.0), line(83.333, 75.0)];
        take_out_meetings(&mut alone);
        assert_eq!(alone.len(), 2);
    }
}
