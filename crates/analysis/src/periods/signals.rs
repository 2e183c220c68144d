//! Periodic signals: what was found in gaps and in the residual, and what two rates say of its origin.
//!
//! Three searches feed it: event times ([`crate::periods::events`]), combs in the residual's periodogram ([`bandscope_statistics::comb`]) and
//! periods in quanta ([`crate::periods::fold`]). Two rates decide the origin (docs/method.md, section 6.7): the same frequency
//! in both is `external`, the same number of quanta is `sampling`, and a pair that one true frequency above half the
//! rates explains is `alias` ([`crate::periods::origins`]). One rate decides nothing but what gaps show, whose times are not
//! sampled.

use crate::gaps::naming::Key;
use crate::gaps::statistics::{Event, Statistics};
use crate::periods::events::{self, Periodic, Train};
use crate::periods::fold::Folded;
use crate::periods::follow::Lines;
use crate::periods::kept::Kept;
use crate::periods::spectrum::{Spectrum, apparent};
use crate::series::context::Context;
use bandscope_report::{Cause, CauseSource, Origin, SeenIn, Signal};
use bandscope_statistics::comb::{SIGNIFICANT, Search};

/// Smallest p-value that is stated: what lies below is no probability that anybody can check.
const SMALLEST_P: f64 = 1e-300;
/// Signals of one series that are kept.
const MOST: usize = 16;
/// Standard deviations within which two frequencies are the same.
const SAME: f64 = 3.0;
/// Error of a unit's time in the main band, as a share, and harmonics of its beat with the quanta.
const BEAT: f64 = 1e-6;
const BEATS: u32 = 4;
/// Uncertainties on each side within which a line's frequency is looked for again.
const REACH: f64 = 5.0;
/// Causes whose gaps are searched by themselves, and gaps that it takes.
const CAUSES: usize = 8;
const FEWEST_OF_A_CAUSE: usize = 64;
/// How far a kernel's tick may be from its name: its clock is disciplined to some hundred ppm.
const AS_NAMED: f64 = 1e-3;
/// Share of a tick's period from which on a task that runs may have a time slice, and parts of it after the tick, or before it, at which a slice
/// begins.
const SLICE: f64 = 0.4;
const TICK_TO_TASK: std::ops::Range<f64> = -0.01..0.05;

/// Signals in the times of gaps: of those of each frequent cause, where kernel events name them, and of all others together.
pub fn in_gaps(
    gaps: &Statistics,
    segments: &[(u64, u64)],
    unit: f64,
    context: &Context,
) -> Vec<Signal> {
    let Some(&(origin, _)) = segments.first() else {
        return Vec::new();
    };
    let seconds = |ticks: u64| context.seconds(ticks.saturating_sub(origin) as f64);
    let span = |event: &Event| {
        let end = event.start.saturating_add(event.duration);
        (seconds(event.start), seconds(end))
    };
    let segments: Vec<(f64, f64)> = (segments.iter())
        .map(|&(from, to)| (seconds(from), seconds(to)))
        .collect();
    let of = |events: Vec<&Event>, away: Vec<(f64, f64)>, has_tick: bool, is_mixture: bool| {
        let own = |event: &Event| if event.holds_unit { unit } else { 0.0 };
        let loss = |event: &Event| event.duration as f64 - own(event);
        Train {
            times: events.iter().map(|event| seconds(event.start)).collect(),
            losses: events
                .iter()
                .map(|event| context.ns(loss(event).max(0.0)))
                .collect(),
            early: events
                .iter()
                .map(|event| context.seconds(event.after as f64))
                .collect(),
            late: Vec::new(),
            jitter: 0.0,
            segments: segments.clone(),
            away,
            is_mixture,
            tick_hz: context.tick_hz.filter(|_| has_tick),
        }
    };
    let away: Vec<(f64, f64)> = gaps.events.iter().map(span).collect();
    let (causes, main) = frequent_causes(gaps);
    let is_main = |cause: Key| causes[..main].contains(&cause);
    let mut tick: Option<Periodic> = None;
    let mut signals: Vec<Signal> = Vec::new();
    for &cause in &causes {
        let mine = gaps.pieces.iter().filter(|piece| piece.cause == cause);
        let name = &gaps.names()[cause as usize];
        // An interrupt comes while tasks run, too, and is then seen as well.
        let away = if is_interrupt(name) {
            let hidden = |piece: &&Event| hides_interrupts(&gaps.names()[piece.cause as usize]);
            gaps.pieces.iter().filter(hidden).map(span).collect()
        } else {
            away.clone()
        };
        let mine = of(mine.collect(), away, *name == Cause::Tick, false);
        let mut found = events::trains(&mine);
        tick = tick.or(the_tick(&found, context));
        found.retain(|one| !is_time_slice(one, tick, context));
        if !is_main(cause) {
            // What comes as often as something that takes longer was brought in by that, or brought it in.
            let is_said = |one: &Periodic| signals.iter().any(|said| is_same(one, said));
            found.retain(|one| !is_said(one));
        }
        within_books(&mut found, &mine);
        signals.extend(found.iter().map(|one| Signal {
            cause: Some(name.clone()),
            cause_by: Some(CauseSource::Events),
            ..in_gap_times(one, context)
        }));
    }
    let others = (gaps.events.iter()).filter(|event| !causes.contains(&event.cause));
    let mut found = events::trains(&of(others.collect(), away, true, true));
    tick = tick.or(the_tick(&found, context));
    found.retain(|one| !is_time_slice(one, tick, context));
    signals.extend(found.iter().map(|one| in_gap_times(one, context)));
    signals
}

/// Whether tasks do not hold it up.
fn is_interrupt(cause: &Cause) -> bool {
    matches!(cause, Cause::Tick | Cause::Interrupt(_) | Cause::Timer(_))
}

/// Whether interrupts do not come, or cannot be seen, while this has the CPU: an idle CPU stops its tick.
fn hides_interrupts(cause: &Cause) -> bool {
    cause.is_held() || matches!(cause, Cause::Host | Cause::Unnamed | Cause::Preempted)
}

/// The train that has the frequency of the kernel's tick.
fn the_tick(found: &[Periodic], context: &Context) -> Option<Periodic> {
    let hz = context.tick_hz?;
    let is_it = |one: &&Periodic| (one.frequency / hz - 1.0).abs() < AS_NAMED;
    found.iter().find(is_it).copied()
}

/// Whether it is the scheduler that takes turns: it lets another task run for whole ticks, from one of them to another one, and as often as tasks
/// and ticks happen to make it. Their frequency is the tick's, or a part of it.
fn is_time_slice(found: &Periodic, tick: Option<Periodic>, context: &Context) -> bool {
    let Some(hz) = tick.map(|tick| tick.frequency).or(context.tick_hz) else {
        return false;
    };
    let ticks = hz / found.frequency;
    let whole = ticks.round().max(1.0);
    let on_ticks = match (found.begins, tick.and_then(|tick| tick.begins)) {
        (Some(at), Some(tick_at)) => {
            let turns = (at - tick_at) * hz;
            TICK_TO_TASK.contains(&(turns - turns.round()))
        }
        _ => true,
    };
    on_ticks && found.ns_per_event * hz / 1e9 >= SLICE && (ticks / whole - 1.0).abs() < AS_NAMED
}

/// What trains of one cause take is no more than all of its events took.
pub fn within_books(found: &mut [Periodic], train: &Train) {
    let last = train.times.last().copied().unwrap_or(0.0);
    let segments = train.segments.iter();
    let seconds: f64 = segments
        .map(|segment| (segment.1.min(last) - segment.0).max(0.0))
        .sum();
    let booked: f64 = train.losses.iter().sum::<f64>() / seconds;
    let said: f64 = found
        .iter()
        .map(|one| one.ns_per_event * one.frequency)
        .sum();
    if said > booked {
        for one in found {
            one.ns_per_event *= booked / said;
        }
    }
}

/// The causes with the most gaps, where kernel events name any, and how many of them are the largest part of enough gaps, or the tick, which
/// often comes with what it lets run. The others come with something longer, most of the time. Softirqs are the work of an interrupt.
fn frequent_causes(gaps: &Statistics) -> (Vec<Key>, usize) {
    let mut mains = vec![0usize; gaps.names().len()];
    let mut pieces = mains.clone();
    for event in &gaps.events {
        mains[event.cause as usize] += 1;
    }
    for piece in &gaps.pieces {
        pieces[piece.cause as usize] += 1;
    }
    let name = |key: usize| &gaps.names()[key];
    let is_named = |key: &usize| name(*key).is_named();
    let enough = |numbers: &[usize]| {
        let mut keys: Vec<usize> = (0..numbers.len()).filter(is_named).collect();
        keys.retain(|&key| numbers[key] >= FEWEST_OF_A_CAUSE);
        keys.sort_by_key(|&key| std::cmp::Reverse(numbers[key]));
        keys
    };
    let mut keys = enough(&mains);
    keys.truncate(CAUSES);
    let others = enough(&pieces);
    let tick = others
        .iter()
        .copied()
        .find(|&key| *name(key) == Cause::Tick);
    // Time slices are told by it.
    keys.retain(|&key| Some(key) != tick);
    keys.splice(0..0, tick);
    let main = keys.len();
    let is_new = |key: &usize| !keys.contains(key) && !matches!(name(*key), Cause::Softirq(_));
    let new: Vec<usize> = others.into_iter().filter(is_new).take(CAUSES).collect();
    keys.extend(new);
    (keys.into_iter().map(|key| key as Key).collect(), main)
}

/// Whether a train has the frequency of a signal.
fn is_same(found: &Periodic, signal: &Signal) -> bool {
    let apart = (found.frequency - signal.frequency_hz).abs();
    apart <= SAME * found.uncertainty.hypot(signal.uncertainty_hz)
}

/// A train of gaps as a signal.
pub fn in_gap_times(found: &Periodic, context: &Context) -> Signal {
    Signal {
        frequency_hz: found.frequency,
        uncertainty_hz: found
            .uncertainty
            .hypot(clock_error(found.frequency, context)),
        origin: Origin::Unresolved,
        ns_per_event: found.ns_per_event,
        p_value: p_value(found.log_p),
        harmonics: found.harmonics,
        occupied: found.occupied,
        seen_in: SeenIn::Gaps,
        cause: None,
        cause_by: None,
    }
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

/// What the clock's error makes of a frequency's, hertz.
pub fn clock_error(frequency: f64, context: &Context) -> f64 {
    frequency * context.clock_error_ppm.unwrap_or(0.0) * 1e-6
}

/// The p-value of this logarithm, as far as one is stated.
pub fn p_value(log_p: f64) -> f64 {
    log_p.exp().max(SMALLEST_P)
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
    signals.sort_by(|a, b| {
        let loss = |signal: &Signal| signal.ns_per_event * signal.frequency_hz;
        loss(b).total_cmp(&loss(a))
    });
    signals.truncate(MOST);
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
            let reach = SAME * signal.uncertainty_hz + BEAT * unit_hz;
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
        let reach = REACH * signal.uncertainty_hz;
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
