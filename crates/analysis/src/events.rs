//! Periods in the times of gaps: unbinned, so they are neither aliased by the quanta nor blind at multiples of their rate.
//!
//! A Fourier transform of the event train, binned to 122 us and less its mean rate inside each segment, gives candidates;
//! each is refined and tested on the event times themselves by the H-test (de Jager, Raubenheimer and Swanepoel 1989), whose false-alarm
//! probability is exp(-0.4 H) (de Jager and Buesching 2010), times the number of frequencies tried.

use crate::comb::{Comb, SIGNIFICANT, Search};
use bandscope_transform::Planner;

/// Bins per second; combs are looked for below half of it.
const BINS_PER_SECOND: f64 = 8192.0;
/// Longest transform: the first 16 s.
const LONGEST: usize = 1 << 17;
/// Fewest events that can show a period.
const FEWEST: usize = 32;
/// Events on which a frequency is searched; all are used for the last digit.
const SEARCHED: usize = 2048;
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
/// Periods that are looked for.
const MOST: usize = 8;
/// Harmonics of the H-test (the value of its authors).
const HARMONICS: usize = 20;
/// Independent frequencies that are tried around a bin.
const AROUND: f64 = 5.0;
/// Frequencies at which the train's bunching is measured.
const CONTROLS: usize = 9;
/// Share of the mean power below which there is no background: beyond the guard, side lobes of a segment's window are
/// weaker than this.
const FLOOR: f64 = 0.25;
/// Phases of a folded profile.
const PHASES: usize = 64;

/// Events of a series, in seconds since the first segment starts.
#[derive(Clone, Debug, Default)]
pub struct Train {
    /// Times, ascending.
    pub times: Vec<f64>,
    /// Nanoseconds lost to each.
    pub losses: Vec<f64>,
    /// Segments in which events could be seen: start and end.
    pub segments: Vec<(f64, f64)>,
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
}

/// Periods of the train, most significant first.
///
/// After each period its events are taken out before the next is looked for: side lobes of a strong period stand out of
/// what is left by far more than weak periods do.
pub fn search(train: &Train) -> Vec<Periodic> {
    let mut rest = train.clone();
    let mut found: Vec<Periodic> = Vec::new();
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

/// The most significant period of the train that is none of `known`.
fn strongest(train: &Train, known: &[Periodic], planner: &mut Planner) -> Option<Periodic> {
    let (first, last) = (*train.times.first()?, *train.times.last()?);
    if train.times.len() < FEWEST || last - first <= 0.0 {
        return None;
    }
    let bins = (((last * BINS_PER_SECOND) as usize + 1).next_power_of_two()).clamp(1024, LONGEST);
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
    let known: Vec<f64> = known.iter().map(|period| period.frequency * span).collect();
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
    .iter()
    .map(|comb| periodic(train, comb, span, power.len()))
    .find(|period| period.log_p < SIGNIFICANT.ln() && period.ns_per_event > 0.0)
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
        let (from, to) = (bin_of(segment.0).min(bins), bin_of(segment.1).min(bins));
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
    let (frequency, uncertainty) = by_pulse(train, frequency).unwrap_or_else(|| {
        let strength = z_squared(&train.times, frequency, 1)[0].max(1.0);
        let span = train.times[train.times.len() - 1] - train.times[0];
        // Of a sinusoid: Bretthorst's sqrt(6)/(pi T) over the root of the power.
        (
            frequency,
            6f64.sqrt() / (std::f64::consts::PI * span * strength.sqrt()),
        )
    });
    let h = h_test(&train.times, frequency) / bunching(train, frequency);
    // Around each bin several frequencies were tried, and their fractions.
    let trials = trials as f64 * f64::from(LOWER) * AROUND;
    Periodic {
        frequency,
        uncertainty,
        ns_per_event: loss_per_period(train, frequency),
        log_p: (-0.4 * h + trials.ln()).min(0.0),
        harmonics: comb.harmonics,
    }
}

/// How many times more than single events the train's bunches make of every frequency: the median of Z^2 over what it should
/// be, at frequencies nearby. The H-test takes events for independent, and those of a busy machine come in bursts.
fn bunching(train: &Train, frequency: f64) -> f64 {
    let stride = train.times.len().div_ceil(SEARCHED);
    let times: Vec<f64> = train.times.iter().copied().step_by(stride).collect();
    let all = controls(train, frequency).map(|beside| {
        z_squared(&times, beside, HARMONICS)[HARMONICS - 1] / (2.0 * HARMONICS as f64)
    });
    // Of fewer events than there are, bursts show less.
    ((median(all) - 1.0) * stride as f64 + 1.0).max(1.0)
}

/// Frequencies beside one, beyond the side lobes that a segment's length gives every line.
fn controls(train: &Train, frequency: f64) -> [f64; CONTROLS] {
    let shortest = train
        .segments
        .iter()
        .map(|segment| segment.1 - segment.0)
        .fold(f64::INFINITY, f64::min);
    // What happens in a part of it only has side lobes as wide as that.
    let extent = train.times.last().zip(train.times.first());
    let extent = extent.map_or(f64::INFINITY, |(last, first)| last - first);
    let shortest = shortest.min(extent).clamp(1e-3, 10.0);
    std::array::from_fn(|k| frequency + (16.0 + 3.1 * k as f64) / shortest)
}

fn median(mut values: [f64; CONTROLS]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[CONTROLS / 2]
}

/// The frequency near `start` with the highest Z^2 over `harmonics`.
fn maximum(train: &Train, start: f64, span: f64, harmonics: usize) -> f64 {
    let stride = train.times.len().div_ceil(SEARCHED);
    let times: Vec<f64> = train.times.iter().copied().step_by(stride).collect();
    let step = 0.2 / (span * harmonics as f64);
    let reach = (1.0 / (span * step)).ceil() as i32;
    let lowest = start - f64::from(reach) * step;
    strengths(&times, lowest, step, 2 * reach as usize + 1, harmonics)
        .into_iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(start, |(k, _)| lowest + k as f64 * step)
}

/// Z^2 of `harmonics` harmonics at `number` frequencies in steps: two sines and cosines an event, and rotations from there.
fn strengths(times: &[f64], lowest: f64, step: f64, number: usize, harmonics: usize) -> Vec<f64> {
    let mut sums = vec![vec![(0.0, 0.0); number]; harmonics];
    let mut first = vec![(1.0, 0.0); number];
    for &time in times {
        let mut at = turn(time * lowest);
        let by = turn(time * step);
        for phasor in &mut first {
            *phasor = at;
            at = rotated(at, by);
        }
        let mut phasors = first.clone();
        for (h, sums) in sums.iter_mut().enumerate() {
            if h > 0 {
                for (phasor, by) in phasors.iter_mut().zip(&first) {
                    *phasor = rotated(*phasor, *by);
                }
            }
            for (sum, phasor) in sums.iter_mut().zip(&phasors) {
                sum.0 += phasor.0;
                sum.1 += phasor.1;
            }
        }
    }
    let power = |k: usize| {
        sums.iter()
            .map(move |sums| sums[k].0.powi(2) + sums[k].1.powi(2))
    };
    let scale = 2.0 / times.len() as f64;
    (0..number).map(|k| power(k).sum::<f64>() * scale).collect()
}

/// Cosine and sine of so many turns.
fn turn(turns: f64) -> (f64, f64) {
    let (sin, cos) = (part_of_turn(turns) * std::f64::consts::TAU).sin_cos();
    (cos, sin)
}

/// What is left of `turns` without the whole ones, at least 0. (`rem_euclid` calls a library's `fmod`.)
#[inline]
fn part_of_turn(turns: f64) -> f64 {
    let part = turns - turns as i64 as f64;
    if part < 0.0 { part + 1.0 } else { part }
}

#[inline]
fn rotated(a: (f64, f64), by: (f64, f64)) -> (f64, f64) {
    (a.0 * by.0 - a.1 * by.1, a.0 * by.1 + a.1 * by.0)
}

/// `frequency`, or the multiple or fraction of it that is the true fundamental: the lowest line of the train, where an event each
/// period has them all.
fn fundamental(train: &Train, frequency: f64) -> f64 {
    // Not every n-th event: those of a regular train have a period of their own.
    let times = &train.times[..train.times.len().min(COUNTED)];
    let power = |frequency: f64| z_squared(times, frequency, 1)[0];
    let multiples: Vec<f64> = (1..=LOWER)
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
        .map(|divisor| frequency / f64::from(divisor))
        .map(|lower| (lower, h_test(times, lower)))
        .filter(|&(lower, h)| {
            let line = power(lower);
            let stands_out = || line >= STANDS_OUT * median(controls(train, lower).map(power));
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

/// Z^2 of 1, 2, ... `harmonics` harmonics (Buccheri et al. 1983), four events at a time.
fn z_squared(times: &[f64], frequency: f64, harmonics: usize) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); harmonics];
    for four in times.chunks(4) {
        let mut first = [(0.0, 0.0); 4];
        for (phasor, time) in first.iter_mut().zip(four) {
            *phasor = turn(time * frequency);
        }
        let mut phasors = first;
        for sum in &mut sums {
            sum.0 += phasors.iter().map(|phasor| phasor.0).sum::<f64>();
            sum.1 += phasors.iter().map(|phasor| phasor.1).sum::<f64>();
            for (phasor, by) in phasors.iter_mut().zip(first) {
                *phasor = rotated(*phasor, by);
            }
        }
    }
    let mut total = 0.0;
    sums.iter()
        .map(|(c, s)| {
            total += 2.0 * (c * c + s * s) / times.len() as f64;
            total
        })
        .collect()
}

fn h_test(times: &[f64], frequency: f64) -> f64 {
    z_squared(times, frequency, HARMONICS)
        .iter()
        .enumerate()
        .map(|(m, z)| z - 4.0 * m as f64)
        .fold(0.0, f64::max)
}

/// Where the events form a pulse: the frequency by regression of their phase on time, with its standard deviation.
fn by_pulse(train: &Train, frequency: f64) -> Option<(f64, f64)> {
    let mut profile = [0u32; PHASES];
    let phase = |time: f64| part_of_turn(time * frequency);
    for &time in &train.times {
        profile[(phase(time) * PHASES as f64) as usize % PHASES] += 1;
    }
    let peak = (0..PHASES).max_by_key(|&bin| profile[bin])?;
    let centre = (peak as f64 + 0.5) / PHASES as f64;
    // Within 1/20 of a period of the peak.
    let offset = |time: f64| part_of_turn(phase(time) - centre + 0.5) - 0.5;
    let inside: Vec<(f64, f64)> = train
        .times
        .iter()
        .map(|&time| (time, offset(time)))
        .filter(|(_, offset)| offset.abs() < 0.05)
        .collect();
    let expected = 0.1 * train.times.len() as f64;
    if (inside.len() as f64) < expected + 5.0 * expected.sqrt().max(2.0) {
        return None;
    }
    let n = inside.len() as f64;
    let mean_t = inside.iter().map(|point| point.0).sum::<f64>() / n;
    let mean_o = inside.iter().map(|point| point.1).sum::<f64>() / n;
    let square: f64 = inside.iter().map(|point| (point.0 - mean_t).powi(2)).sum();
    let product: f64 = inside
        .iter()
        .map(|point| (point.0 - mean_t) * (point.1 - mean_o))
        .sum();
    let slope = product / square;
    let rest: f64 = inside
        .iter()
        .map(|point| (point.1 - mean_o - slope * (point.0 - mean_t)).powi(2))
        .sum();
    let uncertainty = (rest / n / square).sqrt();
    // Events of a true frequency f fall behind the folding one by f - `frequency` turns a second.
    (slope.is_finite() && uncertainty.is_finite()).then_some((frequency - slope, uncertainty))
}

/// Bin of a folded profile.
fn phase_of(time: f64, frequency: f64) -> usize {
    (part_of_turn(time * frequency) * PHASES as f64) as usize % PHASES
}

impl Train {
    /// Takes out the events at the phases at which there are more than elsewhere.
    fn remove_pulse(&mut self, frequency: f64) {
        let mut profile = [0.0; PHASES];
        for &time in &self.times {
            profile[phase_of(time, frequency)] += 1.0;
        }
        let (_, limit) = random_level(&profile);
        let keep: Vec<bool> = self
            .times
            .iter()
            .map(|&time| profile[phase_of(time, frequency)] <= limit)
            .collect();
        let mut kept = keep.iter();
        self.times.retain(|_| *kept.next().unwrap_or(&true));
        let mut kept = keep.iter();
        self.losses.retain(|_| *kept.next().unwrap_or(&true));
    }
}

/// What there is at random phases, and the limit above which a phase belongs to the pulse.
fn random_level(profile: &[f64; PHASES]) -> (f64, f64) {
    let mut sorted = *profile;
    sorted.sort_by(f64::total_cmp);
    // The median, and its spread from the lower half, which no pulse reaches.
    let base = sorted[PHASES / 2];
    (base, base + 3.0 * (base - sorted[PHASES / 8]))
}

/// Nanoseconds lost per period at the phases of the pulse, less what is lost at as many others. The pulse is where the
/// events are, not where the losses are: one long absence would count as many ticks.
fn loss_per_period(train: &Train, frequency: f64) -> f64 {
    let (mut events, mut losses) = ([0.0; PHASES], [0.0; PHASES]);
    for (&time, loss) in train.times.iter().zip(&train.losses) {
        let phase = phase_of(time, frequency);
        events[phase] += 1.0;
        losses[phase] += loss;
    }
    let (_, limit) = random_level(&events);
    let (mut pulse, mut others, mut phases) = (0.0, 0.0, 0.0);
    for (events, loss) in events.iter().zip(losses) {
        if *events > limit {
            pulse += loss;
            phases += 1.0;
        } else {
            others += loss;
        }
    }
    let excess = pulse - others * phases / (PHASES as f64 - phases).max(1.0);
    let last = train.times.last().copied().unwrap_or(0.0);
    let seconds: f64 = train
        .segments
        .iter()
        .map(|segment| (segment.1.min(last) - segment.0).max(0.0))
        .sum();
    let periods = seconds * frequency;
    if periods > 0.0 { excess / periods } else { 0.0 }
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
}
