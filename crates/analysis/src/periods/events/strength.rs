//! How strongly a train of events has a frequency: Z^2 (Buccheri et al. 1983) and the H-test (de Jager, Raubenheimer and Swanepoel
//! 1989), on the event times themselves, and what bursts make of every frequency.

use super::Train;
use bandscope_statistics::order::median;

/// Events on which a frequency is searched; all are used for the last digit.
const SEARCHED: usize = 2048;
/// Harmonics of the H-test (the value of its authors).
pub(super) const HARMONICS: usize = 20;
/// Frequencies at which the train's bunching is measured.
const CONTROLS: usize = 9;

/// How many times more than single events the train's bunches make of every frequency: the median of Z^2 over what it should
/// be, at frequencies nearby. The H-test takes events for independent, and those of a busy machine come in bursts.
pub(super) fn bunching(train: &Train, frequency: f64) -> f64 {
    let stride = train.times.len().div_ceil(SEARCHED);
    let times: Vec<f64> = train.times.iter().copied().step_by(stride).collect();
    let all = controls(train, frequency).map(|beside| {
        z_squared(&times, beside, HARMONICS)[HARMONICS - 1] / (2.0 * HARMONICS as f64)
    });
    // Of fewer events than there are, bursts show less.
    ((median(all).unwrap_or(1.0) - 1.0) * stride as f64 + 1.0).max(1.0)
}

/// Frequencies beside one, beyond the side lobes that a segment's length gives every line.
pub(super) fn controls(train: &Train, frequency: f64) -> [f64; CONTROLS] {
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

/// The frequency near `start` with the highest Z^2 over `harmonics`.
pub(super) fn maximum(train: &Train, start: f64, span: f64, harmonics: usize) -> f64 {
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
pub(super) fn strengths(
    times: &[f64],
    lowest: f64,
    step: f64,
    number: usize,
    harmonics: usize,
) -> Vec<f64> {
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
pub(super) fn turn(turns: f64) -> (f64, f64) {
    let (sin, cos) = (part_of_turn(turns) * std::f64::consts::TAU).sin_cos();
    (cos, sin)
}

/// What is left of `turns` without the whole ones, at least 0. (`rem_euclid` calls a library's `fmod`.)
#[inline]
pub(super) fn part_of_turn(turns: f64) -> f64 {
    let part = turns - turns as i64 as f64;
    if part < 0.0 { part + 1.0 } else { part }
}

#[inline]
pub(super) fn rotated(a: (f64, f64), by: (f64, f64)) -> (f64, f64) {
    (a.0 * by.0 - a.1 * by.1, a.0 * by.1 + a.1 * by.0)
}

/// Z^2 of 1, 2, ... `harmonics` harmonics (Buccheri et al. 1983), four events at a time.
pub(super) fn z_squared(times: &[f64], frequency: f64, harmonics: usize) -> Vec<f64> {
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

pub(super) fn h_test(times: &[f64], frequency: f64) -> f64 {
    z_squared(times, frequency, HARMONICS)
        .iter()
        .enumerate()
        .map(|(m, z)| z - 4.0 * m as f64)
        .fold(0.0, f64::max)
}
