//! Periods in the times of gaps: unbinned, so they are neither aliased by the quanta nor blind at multiples of their rate.
//!
//! A Fourier transform of the event train, binned to 122 us and less its mean rate inside each segment, gives candidates;
//! each is refined and tested on the event times themselves by the H-test (de Jager, Raubenheimer and Swanepoel 1989), whose false-alarm
//! probability is exp(-0.4 H) (de Jager and Buesching 2010), times the number of frequencies tried.

mod cost;
mod pulse;
mod regular;
mod strength;
mod trains;

use bandscope_statistics::comb::{Comb, SIGNIFICANT, Search};
use bandscope_statistics::order::median;
use bandscope_statistics::transform::Planner;
use pulse::{Pulse, by_pulse, loss_per_period, periods, pulse_events};
use rayon::prelude::*;
pub use regular::MAX_UNSEEN;
use strength::{HARMONICS, bunching, controls, h_test, maximum, z_squared};
pub use trains::{is_train, trains, trains_and_rest};

/// Bins per second; combs are looked for below half of it.
const BINS_PER_SECOND: f64 = 8192.0;
/// Longest transform: the first 16 s.
const MAX_BINS: usize = 1 << 17;
/// Fewest events that can show a period.
const MIN_EVENTS: usize = 32;
/// Combs that are tested on the event times for each period.
const CANDIDATES: usize = 2;
/// A fundamental may be lower or higher than what was found by a whole number up to this: the lowest line with this share of the
/// strongest one's power.
const MAX_DIVISOR: u32 = 8;
const MIN_SHARE_OF_STRONGEST: f64 = 0.2;
/// A lower one must stand out of what is around it as well, by this factor over the median: bursts have power at all low frequencies. Of noise
/// that is 8 times the mean, one in 4,000.
const MIN_TIMES_MEDIAN: f64 = 12.0;
/// H-tests that differ by less than this share are equal.
const MAX_TIE: f64 = 0.05;
/// Events on which that is looked at: seconds of a busy machine, so that bursts do not matter.
const MAX_EVENTS_COUNTED: usize = 16_384;
/// Or, for a lower one, if the H-test is better by more than this share and this much.
const MIN_SHARE_BETTER: f64 = 0.02;
const MIN_H_BETTER: f64 = 40.0;
/// Events of a tick in each period: some fall into longer absences, some are two.
const EVENTS_A_TICK: std::ops::RangeInclusive<f64> = 0.7..=1.3;
/// How far a kernel's tick may be from its name: its clock is disciplined to some hundred ppm.
const AS_NAMED: f64 = 1e-3;
/// Seconds in which that is a part of a turn.
const FIRST_SPAN_S: f64 = 4.0;
/// Periods that are looked for.
const MAX_PERIODS: usize = 8;
/// Independent frequencies that are tried around a bin.
const TRIALS_A_BIN: f64 = 5.0;
/// Share of the mean power below which there is no background: beyond the guard, side lobes of a segment's window are
/// weaker than this.
const FLOOR: f64 = 0.25;

/// By how much the middle of its quantum may miss an event, in quanta: half of one, and a tenth of that for what a train's phase may be off by.
pub const JITTER_QUANTA: f64 = 0.55;

/// Events of a series, in seconds since the first segment starts.
#[derive(Clone, Debug, Default)]
pub struct Train {
    /// When each began, seconds, in ascending order.
    pub times: Vec<f64>,
    /// Nanoseconds lost to each.
    pub losses: Vec<f64>,
    /// Seconds by which each may have been due later: when what was taken out of it ended; and earlier: when its gap began. Empty where none is.
    pub late: Vec<f64>,
    /// See `late`.
    pub early: Vec<f64>,
    /// Seconds by which every time may be off to either side: a count says in which quantum an event was, not when. 0 of what was timed.
    pub jitter: f64,
    /// Segments in which events could be seen: start and end.
    pub segments: Vec<(f64, f64)>,
    /// When the CPU was away, for whatever reason, in order: no event can begin then.
    pub away: Vec<(f64, f64)>,
    /// Whether events of several causes are in it, two of which may fall together.
    pub is_mixture: bool,
    /// Frequency of the kernel's tick, where that is known: it is looked for by itself, because with another regular train, such as a
    /// host's tick of 100 Hz beside one of 250, it has a common divisor that has the lines of both.
    pub tick_hz: Option<f64>,
}

impl Train {
    /// Seconds in which events could be seen, until the last of them.
    pub fn seconds(&self) -> f64 {
        let last = self.times.last().copied().unwrap_or(0.0);
        let segments = self.segments.iter();
        segments
            .map(|segment| (segment.1.min(last) - segment.0).max(0.0))
            .sum()
    }
}

/// A period that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Periodic {
    /// Periods a second.
    pub frequency: f64,
    /// One standard deviation, hertz, by the events alone.
    pub uncertainty: f64,
    /// Nanoseconds lost per period.
    pub ns_per_event: f64,
    /// Natural logarithm of the corrected p-value.
    pub log_p: f64,
    /// Harmonics that stand out.
    pub harmonics: u32,
    /// A time at which a period begins, of a train of one event each.
    pub begins: Option<f64>,
    /// The share of the periods with an event, of such a train, and of events of one cause that scatter.
    pub occupied: Option<f64>,
}

/// Periods of the train, most significant first.
///
/// After each period its events are taken out before the next is looked for: side lobes of a strong period stand out of
/// what is left by far more than weak periods do.
pub fn search(train: &Train) -> Vec<Periodic> {
    let mut rest = train.clone();
    let mut found: Vec<Periodic> = Vec::new();
    if let Some(tick) = train.tick_hz.and_then(|hz| ticking(train, hz)) {
        rest.remove_pulse(tick.frequency);
        found.push(tick);
    }
    // Keeps its tables from one search to the next.
    let mut planner = Planner::new();
    while found.len() < MAX_PERIODS {
        let Some(period) = strongest(&rest, &found, &mut planner) else {
            break;
        };
        let events = rest.times.len();
        rest.remove_pulse(period.frequency);
        found.push(period);
        if rest.times.len() == events {
            break;
        }
    }
    found
}

/// The kernel's tick of `hz`, if the train has it: one event a period, whatever else there is.
fn ticking(train: &Train, hz: f64) -> Option<Periodic> {
    let start = trains::near_name(train, hz)?;
    let Pulse {
        frequency,
        uncertainty,
        ..
    } = by_pulse(train, start)?;
    let one = EVENTS_A_TICK.contains(&(pulse_events(train, frequency) / periods(train, frequency)));
    if !one || (frequency / hz - 1.0).abs() > AS_NAMED {
        return None;
    }
    let h = h_test(&train.times, frequency) / bunching(train, frequency);
    let period = Periodic {
        frequency,
        uncertainty,
        ns_per_event: loss_per_period(train, frequency),
        log_p: (-0.4 * h + TRIALS_A_BIN.ln()).min(0.0),
        harmonics: HARMONICS as u32,
        begins: None,
        occupied: None,
    };
    (period.log_p < SIGNIFICANT.ln() && period.ns_per_event > 0.0).then_some(period)
}

/// The most significant period of the train that is none of `known`.
fn strongest(train: &Train, known: &[Periodic], planner: &mut Planner) -> Option<Periodic> {
    let known: Vec<f64> = known.iter().map(|period| period.frequency).collect();
    candidates(train, &known, planner)
        .iter()
        .map(|hint| periodic(train, &hint.comb, hint.span, hint.trials))
        .find(|period| period.log_p < SIGNIFICANT.ln() && period.ns_per_event > 0.0)
}

/// A comb in the transform of a train.
struct Hint {
    comb: Comb,
    /// Seconds of the transform, and its bins.
    span: f64,
    trials: usize,
}

impl Hint {
    /// As the times themselves have it.
    fn frequency(&self, train: &Train) -> f64 {
        let about = self.comb.fundamental / self.span;
        maximum(train, about, self.span, self.comb.teeth.min(8))
    }
}

/// The most significant combs in the transform of a train, but those of `known` frequencies.
fn candidates(train: &Train, known: &[f64], planner: &mut Planner) -> Vec<Hint> {
    let (Some(&first), Some(&last)) = (train.times.first(), train.times.last()) else {
        return Vec::new();
    };
    if train.times.len() < MIN_EVENTS || last - first <= 0.0 {
        return Vec::new();
    }
    let bins = (last * BINS_PER_SECOND) as usize;
    let bins = bins.clamp(1023, MAX_BINS - 1) + 1;
    let bins = bins.next_power_of_two();
    let span = bins as f64 / BINS_PER_SECOND;
    let power = periodogram(train, bins, planner);
    let shortest = train
        .segments
        .iter()
        .map(|segment| segment.1 - segment.0)
        .fold(f64::INFINITY, f64::min)
        .max(8.0 / BINS_PER_SECOND);
    // A segment's own length is a window: its side lobes surround every line, and the train's own.
    let windows = (span / shortest.min(span)).ceil() as usize;
    let known: Vec<f64> = known.iter().map(|hz| hz * span).collect();
    Search {
        power: &power,
        averages: 1.0,
        first: 8 * windows,
        guard: 16 * windows,
        most_teeth: 8,
        floor: FLOOR,
        folds: false,
    }
    .run_without(&known, CANDIDATES)
    .into_iter()
    .map(|comb| Hint {
        comb,
        span,
        trials: power.len(),
    })
    .collect()
}

fn periodogram(train: &Train, bins: usize, planner: &mut Planner) -> Vec<f64> {
    let transform = planner.plan(bins);
    let mut signal = transform.make_input_vec();
    let bin_of = |time: f64| (time * BINS_PER_SECOND) as usize;
    for &time in &train.times {
        if let Some(value) = signal.get_mut(bin_of(time)) {
            *value += 1.0;
        }
    }
    for segment in &train.segments {
        let from = bin_of(segment.0).min(bins);
        let to = bin_of(segment.1).clamp(from, bins);
        let mean = signal[from..to].iter().sum::<f32>() / (to - from).max(1) as f32;
        signal[from..to].iter_mut().for_each(|value| *value -= mean);
    }
    let mut output = transform.make_output_vec();
    // The buffers are the plan's own, so their lengths fit.
    let done = transform.process(&mut signal, &mut output);
    debug_assert!(done.is_ok());
    output
        .iter()
        .map(|value| f64::from(value.norm_sqr()))
        .collect()
}

fn periodic(train: &Train, comb: &Comb, span: f64, trials: usize) -> Periodic {
    let frequency = maximum(train, comb.fundamental / span, span, comb.teeth.min(8));
    let frequency = fundamental(train, frequency);
    let pulse = by_pulse(train, frequency).map(|pulse| (pulse.frequency, pulse.uncertainty));
    let (frequency, uncertainty) = pulse.unwrap_or_else(|| {
        let strength = z_squared(&train.times, frequency, 1)[0].max(1.0);
        let span = train.times[train.times.len() - 1] - train.times[0];
        // Of a sinusoid: Bretthorst's sqrt(6)/(pi T) over the root of the power.
        (
            frequency,
            6f64.sqrt() / (std::f64::consts::PI * span * strength.sqrt()),
        )
    });
    let (h, bunching) = rayon::join(
        || h_test(&train.times, frequency),
        || bunching(train, frequency),
    );
    let h = h / bunching;
    // Around each bin several frequencies were tried, and their fractions.
    let trials = trials as f64 * f64::from(MAX_DIVISOR) * TRIALS_A_BIN;
    Periodic {
        frequency,
        uncertainty,
        ns_per_event: loss_per_period(train, frequency),
        log_p: (-0.4 * h + trials.ln()).min(0.0),
        harmonics: comb.harmonics,
        begins: None,
        occupied: None,
    }
}

/// `frequency`, or the multiple or fraction of it that is the true fundamental: the lowest line of the train, where an event each
/// period has them all.
fn fundamental(train: &Train, frequency: f64) -> f64 {
    // Not every n-th event: those of a regular train have a period of their own.
    let times = &train.times[..train.times.len().min(MAX_EVENTS_COUNTED)];
    let power = |frequency: f64| z_squared(times, frequency, 1)[0];
    let multiples: Vec<f64> = (1..=MAX_DIVISOR)
        .into_par_iter()
        .map(|k| power(f64::from(k) * frequency))
        .collect();
    let strongest = multiples.iter().copied().fold(0.0, f64::max);
    let lowest = multiples
        .iter()
        .position(|power| *power >= MIN_SHARE_OF_STRONGEST * strongest);
    let frequency = frequency * (lowest.unwrap_or(0) + 1) as f64;
    let whole = h_test(times, frequency);
    // Two events a period may have next to no line at the fundamental itself: then the lines between those of the multiple tell.
    let enough = whole * (1.0 + MIN_SHARE_BETTER) + MIN_H_BETTER;
    let fractions: Vec<(f64, f64)> = (2..=MAX_DIVISOR)
        .into_par_iter()
        .map(|divisor| frequency / f64::from(divisor))
        .map(|lower| (lower, h_test(times, lower)))
        .filter(|&(lower, h)| {
            let line = power(lower);
            let stands_out = || {
                line >= MIN_TIMES_MEDIAN * median(controls(train, lower).map(power)).unwrap_or(0.0)
            };
            h > enough || (line >= MIN_SHARE_OF_STRONGEST * strongest && stands_out())
        })
        .collect();
    let best = fractions.iter().map(|one| one.1).fold(whole, f64::max);
    // Half of a fundamental has half of its lines; where these are few it has them all, and none between.
    fractions
        .into_iter()
        .rev()
        .find(|(_, h)| *h >= (1.0 - MAX_TIE) * best)
        .map_or(frequency, |(lower, _)| lower)
}

#[cfg(test)]
mod tests;
