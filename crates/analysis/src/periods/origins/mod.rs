//! What a second rate says of a line in the residual: its origin, and its true frequency
//! (docs/method.md, section 6.7).
//!
//! A line at `a` in quanta of rate f1 may be an external frequency `a`, a period of f1/a quanta of the measurement's
//! own, or any of m f1 +- a. Each of these says where it must show at the second rate, to millihertz; so the second
//! rate is not searched for lines but asked at those places, which is far more sensitive, and the answer counts if one
//! place alone has the line. Below Fmax, 8 Fmax d / (f1 f2) true frequencies agree with two lines by accident within a
//! tolerance d (docs/method.md, section 6.7).

mod explain;
mod known;
mod own_periods;
mod trains;

use crate::periods::follow::{Lines, Track};
use crate::periods::kept::Kept;
use crate::periods::signals::{is_line, p_value};
use crate::periods::spectrum::apparent;
use crate::series::context::Context;
use bandscope_report::{Origin, SeenIn, Series, Signal};
use explain::{Hypothesis, LineOrigin, explain};
pub use known::Known;
use known::is_harmonic;
use rayon::prelude::*;
use trains::is_train;

/// Highest true frequency that is looked for, hertz (docs/method.md, section 11).
const HIGHEST_HZ: f64 = 200_000.0;
/// Standard deviations within which two frequencies are the same.
const SAME_DEVIATIONS: f64 = 4.0;
/// Share by which another rate differs at least.
const OTHER_RATE: f64 = 1e-3;
/// By how much, as a factor, a line may be stronger or weaker than the other one makes expect.
const MAX_STRENGTH_RATIO: f64 = 1.6;
/// Expected accidental agreements above which no alias is claimed. Lines are many, and products of lines with the units' own frequency
/// agree as well: in one scene in twenty one of them did at 0.03.
const MAX_EXPECTED_AGREEMENTS: f64 = 0.01;
/// By how much, as a factor, a harmonic may seem stronger than its fundamental.
const OVERTONE: f64 = 1.3;

/// What is kept of a series until all have been analysed.
#[derive(Debug)]
pub struct Residual {
    /// Trains in quanta beside gaps, which another rate must show.
    pub trains: Vec<Signal>,
    /// The samples in which lines are looked for.
    pub kept: Kept,
    /// The same as lines are followed in them.
    pub lines: Lines,
    /// Its clock and rate.
    pub context: Context,
}

/// A true frequency above half the rate that two series agree on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alias {
    /// The true frequency, hertz.
    pub hz: f64,
    /// One standard deviation.
    pub sigma_hz: f64,
    /// Accidental agreements that were to be expected.
    pub chance: f64,
    /// What it looks like at each of the two rates, hertz.
    pub apparent_hz: [f64; 2],
    /// Nanoseconds lost to each event.
    pub ns_per_event: f64,
}

/// Settles origins between series of the same CPU and work kernel at different rates. Returns the aliases of each series.
pub fn settle(series: &mut [Series], residuals: &[Residual]) -> Vec<Vec<Alias>> {
    let groups: Vec<(Vec<usize>, Vec<Series>)> = groups(series)
        .into_iter()
        .map(|members| {
            let mine = members.iter().map(|&one| std::mem::take(&mut series[one]));
            let mine = mine.collect();
            (members, mine)
        })
        .collect();
    let settled = groups.into_par_iter().map(|(members, mut mine)| {
        let residuals: Vec<&Residual> = members.iter().map(|&one| &residuals[one]).collect();
        let aliases = settle_group(&mut mine, &residuals);
        (members, mine, aliases)
    });
    let settled: Vec<_> = settled.collect();
    let mut aliases = vec![Vec::new(); series.len()];
    for (members, mine, found) in settled {
        for ((member, one), found) in members.into_iter().zip(mine).zip(found) {
            series[member] = one;
            aliases[member] = found;
        }
    }
    aliases
}

/// The series that can be compared, with each other or by way of others, in their order. No group has anything to do with another.
fn groups(series: &[Series]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, one) in series.iter().enumerate() {
        let are_comparable =
            |&other: &usize| comparable(one, &series[other]) || comparable(&series[other], one);
        let (mut joined, apart): (Vec<_>, Vec<_>) =
            (groups.into_iter()).partition(|group| group.iter().any(are_comparable));
        joined.push(vec![index]);
        let mut joined = joined.concat();
        joined.sort_unstable();
        groups = apart;
        groups.push(joined);
    }
    groups
}

fn settle_group(series: &mut [Series], residuals: &[&Residual]) -> Vec<Vec<Alias>> {
    let mut aliases = vec![Vec::new(); series.len()];
    let pairs: Vec<(usize, usize)> = (0..series.len())
        .flat_map(|a| (0..series.len()).map(move |b| (a, b)))
        .filter(|&(a, b)| a != b && comparable(&series[a], &series[b]))
        .collect();
    for &(a, b) in &pairs {
        trains::add(series, a, &residuals[a].trains, &residuals[b].trains);
    }
    for &(a, b) in &pairs {
        trains::same(series, a, b);
    }
    for &(a, b) in pairs.iter().filter(|(a, b)| a < b) {
        own_periods::find(series, (a, b), residuals);
    }
    for one in series.iter_mut() {
        leave_out_harmonics(one, &[]);
    }
    let mut asked: Vec<(usize, usize, u64)> = Vec::new();
    // The strongest line first: what it explains is then no line of its own.
    while let Some((a, b, number)) = strongest(series, &pairs, &asked) {
        let signal = series[a].signals[number].clone();
        asked.push((a, b, signal.frequency_hz.to_bits()));
        if let Some((mut found, divisor, mut track)) =
            explain(&signal, &residuals[a].lines, &residuals[b].lines)
        {
            let rates = [a, b].map(|index| series[index].rate_hz);
            if found.origin == LineOrigin::Alias && found.hz < 0.5 * rates[0].min(rates[1]) {
                // A harmonic, folded, of what both rates show as it is, unless the two agree by accident.
                if chance(series, (a, number), &track, b) > MAX_EXPECTED_AGREEMENTS {
                    continue;
                }
                found.origin = LineOrigin::External;
                if names(&series[a], &signal, found.hz) {
                    series[a].signals.remove(number);
                    continue;
                }
                let line = &mut series[a].signals[number];
                line.ns_per_event = loss(&signal, found.hz * divisor, rates[0]);
                line.frequency_hz = found.hz * divisor;
                track.hz = line.frequency_hz;
            }
            if found.origin != LineOrigin::Alias {
                // The fundamental stands for its harmonic in both series.
                let signal = &mut series[a].signals[number];
                signal.frequency_hz /= divisor;
                signal.uncertainty_hz /= divisor;
                signal.ns_per_event *= divisor;
                track.hz /= divisor;
                track.sigma_hz /= divisor;
            }
            let place = (a, number);
            apply(series, place, b, (found, divisor), &track, &mut aliases);
            for one in [a, b] {
                leave_out_harmonics(&mut series[one], &aliases[one]);
            }
        }
    }
    for one in series {
        leave_out_overtones(one);
    }
    aliases
}

/// Whether another signal than a line has this frequency, as well as the line's is known.
fn names(series: &Series, line: &Signal, hz: f64) -> bool {
    let mut others = series.signals.iter().filter(|other| *other != line);
    others.any(|other| {
        let tolerance = SAME_DEVIATIONS * other.uncertainty_hz.hypot(line.uncertainty_hz);
        (other.frequency_hz - hz).abs() <= tolerance
    })
}

/// Leaves out external lines of the residual that are no stronger than another one of which they are harmonics: they were asked for before it
/// was known.
fn leave_out_overtones(series: &mut Series) {
    let line = |signal: &Signal| signal.ns_per_event * signal.frequency_hz;
    let external = |signal: &&Signal| signal.origin == Origin::External;
    let known: Vec<Signal> = series.signals.iter().filter(external).cloned().collect();
    let rate = series.rate_hz;
    series.signals.retain(|signal| {
        let overtone = known.iter().any(|lower| {
            lower.frequency_hz < 0.75 * signal.frequency_hz
                && line(signal) <= OVERTONE * line(lower)
                && is_harmonic(signal, (lower.frequency_hz, lower.uncertainty_hz), rate)
        });
        !is_line(signal) || signal.origin != Origin::External || !overtone
    });
}

/// Whether no other series of a recording has the same CPU and work kernel at another rate.
pub fn is_alone(series: &bandscope_recording::Series, all: &[bandscope_recording::Series]) -> bool {
    let mut others = all.iter();
    !others.any(|other| {
        (other.cpu, &other.kernel, &other.origin) == (series.cpu, &series.kernel, &series.origin)
            && (other.rate_hz / series.rate_hz - 1.0).abs() > OTHER_RATE
    })
}

fn comparable(a: &Series, b: &Series) -> bool {
    let one_run = (a.cpu, &a.kernel, &a.origin) == (b.cpu, &b.kernel, &b.origin);
    (one_run && is_other_rate(a, b)) || are_files_of_two_rates(a, b)
}

fn is_other_rate(a: &Series, b: &Series) -> bool {
    (b.rate_hz / a.rate_hz - 1.0).abs() > OTHER_RATE
}

/// Whether they are two files of counts, which say neither CPU nor time, at two rates: whoever names them together means one machine.
pub fn are_files_of_two_rates(a: &Series, b: &Series) -> bool {
    let counts = |series: &Series| series.cpu.is_none() && !series.gaps_known;
    counts(a) && counts(b) && a.kernel == b.kernel && a.origin != b.origin && is_other_rate(a, b)
}

/// The line with the greatest loss of which a second rate was not asked yet: series, the other one, number of its signal.
fn strongest(
    series: &[Series],
    pairs: &[(usize, usize)],
    asked: &[(usize, usize, u64)],
) -> Option<(usize, usize, usize)> {
    let open = pairs.iter().flat_map(|&(a, b)| {
        let signals = series[a].signals.iter().enumerate();
        signals
            .filter(move |(_, signal)| {
                let key = (a, b, signal.frequency_hz.to_bits());
                is_line(signal) && signal.origin == Origin::Unresolved && !asked.contains(&key)
            })
            .map(move |(number, signal)| {
                (signal.ns_per_event * signal.frequency_hz, (a, b, number))
            })
    });
    open.max_by(|x, y| x.0.total_cmp(&y.0)).map(|(_, one)| one)
}

/// Writes down what was found, in both series.
fn apply(
    series: &mut [Series],
    (a, number): (usize, usize),
    b: usize,
    (found, divisor): (Hypothesis, f64),
    track: &Track,
    aliases: &mut [Vec<Alias>],
) {
    let word = found.origin.in_report();
    if found.origin == LineOrigin::Alias
        && chance(series, (a, number), track, b) > MAX_EXPECTED_AGREEMENTS
    {
        return;
    }
    let [one, two] = [a, b].map(|index| series[index].rate_hz);
    let signal = &mut series[a].signals[number];
    signal.origin = word;
    let mut there = Signal {
        frequency_hz: track.hz,
        uncertainty_hz: track.sigma_hz,
        p_value: p_value(track.log_p),
        ..signal.clone()
    };
    match found.origin {
        LineOrigin::External => {
            // One and the same: both estimates of it are worth their information.
            let (wa, wb) = (signal.uncertainty_hz.powi(-2), track.sigma_hz.powi(-2));
            signal.frequency_hz = (wa * signal.frequency_hz + wb * track.hz) / (wa + wb);
            signal.uncertainty_hz = (wa + wb).sqrt().recip();
            there.frequency_hz = signal.frequency_hz;
            there.uncertainty_hz = signal.uncertainty_hz;
        }
        LineOrigin::Alias => {
            let sigma_hz = signal.uncertainty_hz.min(track.sigma_hz);
            let chance = chance(series, (a, number), track, b);
            let signal = &series[a].signals[number];
            let alias = Alias {
                hz: true_hz(found, signal, track, one, two),
                sigma_hz,
                chance,
                apparent_hz: [apparent(found.hz, one).0, apparent(found.hz, two).0],
                // Each harmonic of a train of short events is that much of a loss that comes less often.
                ns_per_event: divisor * loss(signal, found.hz * divisor, one),
            };
            aliases[a].push(alias);
            aliases[b].push(alias);
        }
    }
    let known = series[b].signals.iter_mut().find(|other| {
        let tolerance = SAME_DEVIATIONS * other.uncertainty_hz.hypot(track.sigma_hz);
        other.seen_in == SeenIn::Residual && (other.frequency_hz - track.hz).abs() <= tolerance
    });
    match known {
        Some(known) => {
            known.origin = word;
            known.frequency_hz = there.frequency_hz;
            known.uncertainty_hz = there.uncertainty_hz;
        }
        None => series[b].signals.push(there),
    }
}

/// Accidental agreements to be expected between a line and those of the other rate, for all lines (docs/method.md,
/// section 6.7).
fn chance(series: &[Series], (a, number): (usize, usize), track: &Track, b: usize) -> f64 {
    let tolerance = SAME_DEVIATIONS
        * series[a].signals[number]
            .uncertainty_hz
            .hypot(track.sigma_hz);
    let lines = series[a].signals.len().max(1) as f64;
    lines * 8.0 * HIGHEST_HZ * tolerance / (series[a].rate_hz * series[b].rate_hz)
}

/// The true frequency by both lines, each weighted with its information.
fn true_hz(found: Hypothesis, signal: &Signal, track: &Track, one: f64, two: f64) -> f64 {
    let near = |seen: f64, rate: f64| {
        let (expected, backwards) = apparent(found.hz, rate);
        found.hz
            + if backwards {
                expected - seen
            } else {
                seen - expected
            }
    };
    let from_a = near(signal.frequency_hz, one);
    // A fundamental that was found below the line has no line of its own here.
    if (from_a - found.hz).abs() > 1.0 {
        return found.hz;
    }
    let from_b = near(track.hz, two);
    let (wa, wb) = (signal.uncertainty_hz.powi(-2), track.sigma_hz.powi(-2));
    (wa * from_a + wb * from_b) / (wa + wb)
}

/// Loss per event of a true frequency, from that of the line: a train of `hz` in quanta of 1/`rate` has a line of amplitude
/// 2 |sin(pi hz/rate)| / pi times the loss, and the line was taken for a train of its own frequency.
fn loss(signal: &Signal, hz: f64, rate: f64) -> f64 {
    let line = 2.0 * signal.ns_per_event * signal.frequency_hz / rate;
    let turns = std::f64::consts::PI * hz / rate;
    line * std::f64::consts::FRAC_PI_2 / turns.sin().abs().max(1e-3)
}

/// Leaves out unresolved lines that are harmonics, folded at the rate, of a frequency that is known: one train of events is one
/// signal.
fn leave_out_harmonics(series: &mut Series, aliases: &[Alias]) {
    let known = Known::new(&series.signals, aliases, series.rate_hz);
    series.signals.retain(|signal| {
        !is_line(signal) || signal.origin != Origin::Unresolved || !known.explain(signal)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_fold_at_the_rate() {
        assert_eq!(apparent(3_000.0, 10_000.0), (3_000.0, false));
        assert_eq!(apparent(13_000.0, 10_000.0), (3_000.0, false));
        assert_eq!(apparent(17_000.0, 10_000.0), (3_000.0, true));
    }
}
