//! Periodic signals: what was found in gaps and in the residual, and what two rates say of its origin.
//!
//! Three searches feed it: event times ([`crate::events`]), combs in the residual's periodogram ([`crate::comb`]) and periods in
//! quanta ([`crate::fold`]). Two rates decide the origin (METHOD, "Periodic signals and aliases"): the same frequency in both
//! is `external`, the same number of quanta is `sampling`, and a pair that one true frequency above half the rates
//! explains is `alias` ([`crate::alias`]). One rate decides nothing but what gaps show, whose times are not sampled.

use crate::alias::{self, Alias, apparent};
use crate::comb::{SIGNIFICANT, Search};
use crate::context::Context;
use crate::events::{self, Train};
use crate::fold::Folded;
use crate::gaps::Event;
use crate::kept::{Kept, Track};
use crate::pyramid::Spectrum;
use crate::report::{Series, Signal};

/// Smallest p-value that is stated: what lies below is no probability that anybody can check.
const SMALLEST_P: f64 = 1e-300;
/// Signals of one series that are kept.
const MOST: usize = 16;
/// Standard deviations within which two frequencies are the same.
const SAME: f64 = 3.0;
/// Error of a grid that two frequencies are allowed to differ by, as a share: FTQ's truncation is up to 5 ppm.
const GRID: f64 = 3e-6;
/// Error of a unit's time in the main band, as a share, and harmonics of its beat with the quanta.
const BEAT: f64 = 1e-6;
const BEATS: u32 = 4;
/// Relative uncertainty of a frequency beyond which a period in quanta is not compared.
const PRECISE: f64 = 1e-3;
/// Uncertainties on each side within which a line's frequency is looked for again.
const REACH: f64 = 5.0;
/// Lines of a series that are followed.
const FOLLOWED: usize = 8;
/// Harmonics of a true frequency that are looked for among the lines of a rate.
const FOLDED: u32 = 64;

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
        folds: true,
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

/// Follows the lines of the residual over the segments, which makes their frequencies exact; takes out what recurs with changes of
/// band. One track, or none, for each signal.
///
/// Quanta end with whole units, so the unit's own frequency, folded at the rate, beats with them: a line there is the rounding of
/// time to units. `unit_ticks` is that of the main band.
pub fn follow(
    signals: &mut Vec<Signal>,
    kept: &Kept,
    unit_ticks: Option<f64>,
    context: &Context,
) -> Vec<Option<Track>> {
    let rate = context.rate_hz;
    let unit_hz = unit_ticks.map(|ticks| context.seconds(ticks).recip());
    let beats = |signal: &Signal| {
        unit_hz.is_some_and(|unit_hz| {
            // The pace of a band is known to a millionth or so.
            let reach = SAME * signal.uncertainty_hz + BEAT * unit_hz;
            (1..=BEATS).map(f64::from).any(|h| {
                h * reach < 0.02 * rate
                    && (apparent(h * unit_hz, rate).0 - signal.frequency_hz).abs() < h * reach
            })
        })
    };
    let shadow = |signal: &Signal| {
        signal.seen_in == "residual"
            && (beats(signal) || kept.is_of_edges(signal.frequency_hz, context))
    };
    signals.retain(|signal| !shadow(signal));
    let mut followed = 0;
    signals
        .iter_mut()
        .map(|signal| {
            let folded = is_folded(signal, context.rate_hz);
            if signal.seen_in != "residual" || folded || followed == FOLLOWED {
                return None;
            }
            followed += 1;
            let reach = REACH * signal.uncertainty_hz;
            let track = kept.follow(signal.frequency_hz, reach, signal.harmonics, context)?;
            let track = kept.fundamental(track, context);
            signal.frequency_hz = track.hz;
            signal.uncertainty_hz = track.sigma_hz.hypot(clock_error(track.hz, context));
            Some(track)
        })
        .collect()
}

/// What was folded over a power of two has its period to the last digit.
fn is_folded(signal: &Signal, rate_hz: f64) -> bool {
    let period = rate_hz / signal.frequency_hz;
    period.fract() == 0.0 && (period as u64).is_power_of_two()
}

/// A true frequency above half the rate that two series agree on.
#[derive(Clone, Debug, PartialEq)]
pub struct AliasSeen {
    /// The frequency and what is known of it.
    pub found: Alias,
    /// What it looks like at each of the two rates, hertz.
    pub apparent_hz: [f64; 2],
    /// Nanoseconds lost to each event.
    pub ns_per_event: f64,
}

/// Settles origins between series of the same CPU and work kernel at different rates; `tracks` are those of [`follow`]. Returns the
/// aliases of each series.
pub fn settle_origins(
    series: &mut [Series],
    mut tracks: Vec<Vec<Option<Track>>>,
) -> Vec<Vec<AliasSeen>> {
    let mut aliases = vec![Vec::new(); series.len()];
    let pairs: Vec<(usize, usize)> = (0..series.len())
        .flat_map(|a| (a + 1..series.len()).map(move |b| (a, b)))
        .filter(|&(a, b)| comparable(&series[a], &series[b]))
        .collect();
    for origin in ["external", "sampling"] {
        for &(a, b) in &pairs {
            settle_pair(series, a, b, origin);
        }
        // 1,000 Hz is ten quanta at 10 kHz, and its seventh harmonic nearly that at 7,777.
        for (one, tracks) in series.iter_mut().zip(&mut tracks) {
            leave_out_harmonics(one, &[], tracks);
        }
    }
    for &(a, b) in &pairs {
        for (one, tracks) in [a, b].into_iter().zip([a, b].map(|one| &tracks[one])) {
            debug_assert_eq!(series[one].signals.len(), tracks.len());
        }
        let open = |index: usize| -> Vec<Option<Track>> {
            let signals = series[index].signals.iter();
            signals
                .zip(&tracks[index])
                .map(|(signal, track)| track.clone().filter(|_| signal.origin == "unresolved"))
                .collect()
        };
        for found in alias::settle(&open(a), &open(b)) {
            let mine = [(a, found.tracks.0), (b, found.tracks.1)];
            let seen = mine.map(|(index, line)| &series[index].signals[line]);
            let ns = [0, 1].map(|k| loss(seen[k], found.hz, series[mine[k].0].rate_hz));
            let alias = AliasSeen {
                found,
                apparent_hz: seen.map(|signal| signal.frequency_hz),
                ns_per_event: 0.5 * (ns[0] + ns[1]),
            };
            for (index, line) in mine {
                series[index].signals[line].origin = "alias";
                aliases[index].push(alias.clone());
            }
        }
    }
    for (index, one) in series.iter_mut().enumerate() {
        leave_out_harmonics(one, &aliases[index], &mut tracks[index]);
    }
    aliases
}

fn comparable(a: &Series, b: &Series) -> bool {
    (a.cpu, &a.kernel, &a.origin) == (b.cpu, &b.kernel, &b.origin)
        && (b.rate_hz / a.rate_hz - 1.0).abs() > 1e-3
}

/// What frequencies alone say: the same in both, or the same in quanta.
fn settle_pair(series: &mut [Series], a: usize, b: usize, wanted: &'static str) {
    let rates = (series[a].rate_hz, series[b].rate_hz);
    let (left, right) = series.split_at_mut(b);
    for one in &mut left[a].signals {
        for other in &mut right[0].signals {
            if one.seen_in == other.seen_in && origin(one, other, rates) == Some(wanted) {
                // One and the same: what is known better is known of both.
                let better = if one.uncertainty_hz <= other.uncertainty_hz {
                    (one.frequency_hz, one.uncertainty_hz)
                } else {
                    (other.frequency_hz, other.uncertainty_hz)
                };
                for signal in [&mut *one, other] {
                    if signal.origin == "unresolved" {
                        signal.origin = wanted;
                        if wanted == "external" && signal.seen_in == "residual" {
                            (signal.frequency_hz, signal.uncertainty_hz) = better;
                        }
                    }
                }
            }
        }
    }
}

/// Loss per event of a true frequency, from that of the line: a train of `hz` in quanta of 1/`rate` has a line of amplitude
/// 2 |sin(pi hz/rate)| / pi times the loss, and [`amplitude`] took it for a train of the line's own frequency.
fn loss(signal: &Signal, hz: f64, rate: f64) -> f64 {
    let line = 2.0 * signal.ns_per_event * signal.frequency_hz / rate;
    let turns = std::f64::consts::PI * hz / rate;
    line * std::f64::consts::FRAC_PI_2 / turns.sin().abs().max(1e-3)
}

/// Leaves out unresolved lines that are harmonics, folded at the rate, of a frequency that is known: one train of events is one
/// signal.
fn leave_out_harmonics(
    series: &mut Series,
    aliases: &[AliasSeen],
    tracks: &mut Vec<Option<Track>>,
) {
    let known: Vec<(f64, f64)> = series
        .signals
        .iter()
        .filter(|signal| signal.origin == "external" || signal.origin == "sampling")
        .map(|signal| (signal.frequency_hz, signal.uncertainty_hz))
        .chain(
            aliases
                .iter()
                .map(|alias| (alias.found.hz, alias.found.sigma_hz)),
        )
        .collect();
    let rate = series.rate_hz;
    let explained = |signal: &Signal| {
        known.iter().any(|&(hz, sigma)| {
            (1..=FOLDED).any(|h| {
                let h = f64::from(h);
                let tolerance = SAME * (h * sigma).hypot(signal.uncertainty_hz);
                // Where the harmonics' tolerances cover the spectrum everything would fit.
                tolerance * f64::from(FOLDED) < 0.05 * rate
                    && (apparent(h * hz, rate).0 - signal.frequency_hz).abs() <= tolerance
            })
        })
    };
    let keep: Vec<bool> = series
        .signals
        .iter()
        .map(|signal| {
            signal.seen_in != "residual" || signal.origin != "unresolved" || !explained(signal)
        })
        .collect();
    let mut kept = keep.iter();
    series.signals.retain(|_| kept.next() == Some(&true));
    let mut kept = keep.iter();
    tracks.retain(|_| kept.next() == Some(&true));
}

/// What the frequencies of a signal at two rates say by themselves.
fn origin(a: &Signal, b: &Signal, rates: (f64, f64)) -> Option<&'static str> {
    // A grid that is wrong by millionths (a truncated step) moves a frequency as much.
    let same = |x: f64, y: f64| {
        (x - y).abs() <= SAME * a.uncertainty_hz.hypot(b.uncertainty_hz).max(GRID * x)
    };
    // At times that are not sampled nothing else is to be thought of, and a frequency known badly fits anything.
    let known = |signal: &Signal, rate: f64| {
        signal.uncertainty_hz < PRECISE * signal.frequency_hz || is_folded(signal, rate)
    };
    if same(a.frequency_hz, b.frequency_hz) {
        Some("external")
    } else if same(a.frequency_hz, b.frequency_hz * rates.0 / rates.1)
        && known(a, rates.0)
        && known(b, rates.1)
    {
        Some("sampling")
    } else {
        None
    }
}
