//! Periods in the times of gaps: unbinned, so they are neither aliased by the quanta nor blind at multiples of their rate.
//!
//! A Fourier transform of the event train, binned to 122 us and less its mean rate inside each segment, gives candidates;
//! each is refined and tested on the event times themselves by the H-test (de Jager, Raubenheimer and Swanepoel 1989), whose false-alarm
//! probability is exp(-0.4 H) (de Jager and Buesching 2010), times the number of frequencies tried.

mod cost;
mod pulse;
mod strength;
mod trains;

use bandscope_statistics::comb::{Comb, SIGNIFICANT, Search};
use bandscope_statistics::order::median;
use bandscope_statistics::transform::Planner;
use pulse::{Pulse, by_pulse, loss_per_period, periods, pulse_events};
use rayon::prelude::*;
use strength::{HARMONICS, bunching, controls, h_test, maximum, z_squared};
pub use trains::{MAX_UNSEEN, is_train, trains, trains_and_rest};

/// Bins per second; combs are looked for below half of it.
const BINS_PER_SECOND: f64 = 8192.0;
/// Longest transform: the first 16 s.
const LONGEST: usize = 1 << 17;
/// Fewest events that can show a period.
const FEWEST: usize = 32;
/// Combs that are tested on the event times for each period.
const CANDIDATES: usize = 2;
/// A fundamental may be lower or higher than what was found by a whole number up to this: the lowest line with this share of the
/// strongest one's power.
const LOWER: u32 = 8;
const SHARE: f64 = 0.2;
/// A lower one must stand out of what is around it as well, by this factor over the median: bursts have power at all low frequencies. Of noise
/// that is 8 times the mean, one in 4,000.
const STANDS_OUT: f64 = 12.0;
/// H-tests that differ by less than this share are equal.
const TIED: f64 = 0.05;
/// Events on which that is looked at: seconds of a busy machine, so that bursts do not matter.
const COUNTED: usize = 16_384;
/// Or, for a lower one, if the H-test is better by more than this share and this much.
const BETTER: f64 = 0.02;
const BETTER_H: f64 = 40.0;
/// Events of a tick in each period: some fall into longer absences, some are two.
const ONE: std::ops::RangeInclusive<f64> = 0.7..=1.3;
/// How far a kernel's tick may be from its name: its clock is disciplined to some hundred ppm.
const AS_NAMED: f64 = 1e-3;
/// Seconds in which that is a part of a turn.
const SHORT: f64 = 4.0;
/// Periods that are looked for.
const MOST: usize = 8;
/// Independent frequencies that are tried around a bin.
const AROUND: f64 = 5.0;
/// Share of the mean power below which there is no background: beyond the guard, side lobes of a segment's window are
/// weaker than this.
const FLOOR: f64 = 0.25;

/// Events of a series, in seconds since the first segment starts.
#[derive(Clone, Debug, Default)]
pub struct Train {
    /// Times, ascending.
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

/// A period that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Periodic {
    /// Hertz.
    pub frequency: f64,
    /// One standard deviation, hertz, by the events alone.
    pub uncertainty: f64,
    /// Nanoseconds lost per period.
    pub ns_per_event: f64,
    /// Natural logarithm of the corrected p-value.
    pub log_p: f64,
    /// Harmonics that stand out.
    pub harmonics: u32,
    /// A time at which a period begins, and the share of the periods with an event, of a train of one event each.
    pub begins: Option<f64>,
    /// See `begins`.
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
    while found.len() < MOST {
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
    let one = ONE.contains(&(pulse_events(train, frequency) / periods(train, frequency)));
    if !one || (frequency / hz - 1.0).abs() > AS_NAMED {
        return None;
    }
    let h = h_test(&train.times, frequency) / bunching(train, frequency);
    let period = Periodic {
        frequency,
        uncertainty,
        ns_per_event: loss_per_period(train, frequency),
        log_p: (-0.4 * h + AROUND.ln()).min(0.0),
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
    if train.times.len() < FEWEST || last - first <= 0.0 {
        return Vec::new();
    }
    let bins = (last * BINS_PER_SECOND) as usize;
    let bins = bins.clamp(1023, LONGEST - 1) + 1;
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
    let trials = trials as f64 * f64::from(LOWER) * AROUND;
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
    let times = &train.times[..train.times.len().min(COUNTED)];
    let power = |frequency: f64| z_squared(times, frequency, 1)[0];
    let multiples: Vec<f64> = (1..=LOWER)
        .into_par_iter()
        .map(|k| power(f64::from(k) * frequency))
        .collect();
    let strongest = multiples.iter().copied().fold(0.0, f64::max);
    let lowest = multiples
        .iter()
        .position(|power| *power >= SHARE * strongest);
    let frequency = frequency * (lowest.unwrap_or(0) + 1) as f64;
    let whole = h_test(times, frequency);
    // Two events a period may have next to no line at the fundamental itself: then the lines between those of the multiple tell.
    let enough = whole * (1.0 + BETTER) + BETTER_H;
    let fractions: Vec<(f64, f64)> = (2..=LOWER)
        .into_par_iter()
        .map(|divisor| frequency / f64::from(divisor))
        .map(|lower| (lower, h_test(times, lower)))
        .filter(|&(lower, h)| {
            let line = power(lower);
            let stands_out =
                || line >= STANDS_OUT * median(controls(train, lower).map(power)).unwrap_or(0.0);
            h > enough || (line >= SHARE * strongest && stands_out())
        })
        .collect();
    let best = fractions.iter().map(|one| one.1).fold(whole, f64::max);
    // Half of a fundamental has half of its lines; where these are few it has them all, and none between.
    fractions
        .into_iter()
        .rev()
        .find(|(_, h)| *h >= (1.0 - TIED) * best)
        .map_or(frequency, |(lower, _)| lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_train_of_nothing_but_equal_periods_is_one_period() {
        for frequency in [100.0, 250.0, 1_000.0, 99.7, 713.986_454, 2_080.913_092] {
            let mut train = Train::default();
            for segment in 0..4 {
                let (from, to) = (f64::from(2 * segment), f64::from(2 * segment + 1));
                train.segments.push((from, to));
                let first = (from * frequency).ceil() as u32;
                for k in first..(to * frequency).ceil() as u32 {
                    train.times.push(f64::from(k) / frequency);
                    train.losses.push(3000.0);
                }
            }
            let found = search(&train);
            assert_eq!(found.len(), 1, "{frequency}: {found:?}");
            assert!(
                (found[0].frequency / frequency - 1.0).abs() < 1e-6,
                "{found:?}"
            );
            assert!(
                (found[0].ns_per_event / 3000.0 - 1.0).abs() < 0.01,
                "{found:?}"
            );
        }
    }

    #[test]
    fn strong_even_harmonics_do_not_double_the_frequency() {
        // Two events a period, the second one at half of it but for 1/50.
        let mut train = Train {
            segments: vec![(0.0, 4.0)],
            ..Train::default()
        };
        for k in 0..1000 {
            let start = f64::from(k) / 250.0;
            train.times.extend([start, start + 0.52 / 250.0]);
            train.losses.extend([3000.0, 1000.0]);
        }
        let found = search(&train);
        assert!((found[0].frequency / 250.0 - 1.0).abs() < 1e-6, "{found:?}");
        assert!(
            (found[0].ns_per_event / 4000.0 - 1.0).abs() < 0.01,
            "{found:?}"
        );
    }

    /// Each event a Gaussian's scatter beside its time, and as many others at random: the stated deviation is that of the estimate.
    #[test]
    fn the_frequency_of_a_pulse_is_as_uncertain_as_it_says() {
        let mut state = 11u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for scatter_s in [1e-6, 20e-6, 100e-6] {
            let errors = (0..200).map(|_| {
                let mut times: Vec<f64> = (1..1000)
                    .map(|k| {
                        let normal = (0..12).map(|_| random()).sum::<f64>() - 6.0;
                        f64::from(k) / 250.0 + scatter_s * normal
                    })
                    .collect();
                times.extend((0..1000).map(|_| 4.0 * random()));
                times.sort_by(f64::total_cmp);
                let train = Train {
                    times,
                    segments: vec![(0.0, 4.0)],
                    ..Train::default()
                };
                let pulse = by_pulse(&train, 250.0).unwrap();
                ((pulse.frequency - 250.0) / pulse.uncertainty).powi(2)
            });
            let ratio = (errors.sum::<f64>() / 200.0).sqrt();
            // Of two estimates the larger is stated, so it is too large rather than too small.
            assert!((0.5..1.1).contains(&ratio), "{scatter_s}: {ratio}");
        }
    }

    /// Bursts have every frequency a little, and a pulse through one has any slope: whatever they are, the search ends.
    #[test]
    fn bursts_shorter_than_every_period_end_the_search() {
        let mut state = 3u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for case in 0..3000 {
            let run = 0.1 + 2.0 * random();
            let bursts = 1 + case % 4;
            let mut times: Vec<f64> = Vec::new();
            for _ in 0..bursts {
                let (start, length) = (run * random(), 10f64.powf(-6.0 + 5.0 * random()));
                let number = 33 + (100.0 * random()) as usize;
                times.extend((0..number).map(|_| (start + length * random()).min(run)));
            }
            times.sort_by(f64::total_cmp);
            let train = Train {
                losses: times.iter().map(|_| 1000.0 + 9000.0 * random()).collect(),
                times,
                segments: vec![(0.0, run)],
                is_mixture: case % 2 == 0,
                tick_hz: (case % 3 == 0).then_some(250.0),
                ..Train::default()
            };
            for found in trains(&train) {
                assert!(found.frequency > 0.0, "{found:?}");
            }
        }
    }

    /// A tick of 250 Hz, a host's of 100, and others at random: 50 Hz has the lines of both.
    #[test]
    fn the_kernels_tick_is_told_from_another_that_it_shares_a_divisor_with() {
        let mut state = 7u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut events: Vec<(f64, f64)> = Vec::new();
        events.extend((0..2500).map(|k| ((f64::from(k) + 0.31) / 250.000_3, 40_000.0)));
        events.extend((0..1000).map(|k| ((f64::from(k) + 0.77) / 99.9962, 30_000.0)));
        events.extend((0..15_000).map(|_| (10.0 * random(), 2_000.0)));
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        let train = |tick_hz: Option<f64>| Train {
            times: events.iter().map(|event| event.0).collect(),
            losses: events.iter().map(|event| event.1).collect(),
            segments: vec![(0.0, 10.0)],
            tick_hz,
            ..Train::default()
        };
        let found = search(&train(Some(250.0)));
        assert!(
            (found[0].frequency / 250.000_3 - 1.0).abs() < 1e-6,
            "{found:?}"
        );
        assert!(
            (found[0].ns_per_event / 40_000.0 - 1.0).abs() < 0.08,
            "{found:?}"
        );
        assert!(
            (found[1].frequency / 99.9962 - 1.0).abs() < 1e-6,
            "{found:?}"
        );
        // A kernel whose HZ is another has no such tick: what it finds is what it finds without.
        assert_eq!(search(&train(Some(300.0))), search(&train(None)));
    }
}
