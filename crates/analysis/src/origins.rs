//! What a second rate says of a line in the residual: its origin, and its true frequency (METHOD, section 4).
//!
//! A line at `a` in quanta of rate f1 may be an external frequency `a`, a period of f1/a quanta of the measurement's own, or any
//! of m f1 +- a. Each of these says where it must show at the second rate, to millihertz; so the second rate is not searched for
//! lines but asked at those places, which is far more sensitive, and the answer counts if one place alone has the line.
//! Below Fmax, 8 Fmax d / (f1 f2) true frequencies agree with two lines by accident within a tolerance d: METHOD's formula.

use crate::comb::SIGNIFICANT;
use crate::context::Context;
use crate::kept::{Kept, Track};
use crate::report::{Series, Signal};

/// Highest true frequency that is looked for, hertz: METHOD's figure.
const HIGHEST_HZ: f64 = 200_000.0;
/// Standard deviations within which two frequencies are the same.
const SAME: f64 = 4.0;
/// Error of a grid that two frequencies are allowed to differ by, as a share: FTQ's truncation is up to 5 ppm.
const GRID: f64 = 3e-6;
/// Share of the best place's power above which a second place leaves it open which is meant.
const RIVAL: f64 = 0.5;
/// Periods in quanta that may be the measurement's own: from where alternating bands end to a page of the smallest records.
const OWN_PERIODS: std::ops::RangeInclusive<usize> = 8..=4096;
/// A line's period, or a multiple of it up to this one, is folded at if it is this near a whole number of quanta.
const MULTIPLES: u32 = 8;
const NEARLY_WHOLE: f64 = 0.3;
/// Share of a period's own surprise above which a part of it is what recurs: of a true period a half has half or a quarter.
const PART: f64 = 0.8;
/// Least reach of a search at the second rate.
const NARROWEST_HZ: f64 = 2e-3;
/// By how much leakage moves a line, in lines.
const LEAK: f64 = 0.03;
/// A line of a period of so nearly a whole number of quanta is the measurement's own or external, and no alias that happens to
/// lie there.
const WHOLE: f64 = 3e-3;
/// By how much, as a factor, a line may be stronger or weaker than the other one makes expect.
const STRENGTH: f64 = 1.6;
/// Expected accidental agreements above which no alias is claimed.
const CHANCE: f64 = 0.05;
/// Fractions of a true frequency that may be its fundamental, and share of its power that the fundamental has at least: a train of
/// short events has no harmonic that is stronger than its fundamental but for what the quanta's length hides.
const DIVISORS: u32 = 4;
const FUNDAMENTAL: f64 = 0.2;
/// Power over the noise from which on a line is there.
const VISIBLE: f64 = 15.0;
/// Harmonics of a true frequency that are looked for among the lines of a rate.
const FOLDED: u32 = 64;
/// Smallest p-value that is stated.
const SMALLEST_P: f64 = 1e-300;

/// What is kept of a series until all have been analysed.
#[derive(Debug)]
pub struct Residual {
    /// Its samples.
    pub kept: Kept,
    /// Its frame.
    pub context: Context,
}

/// A true frequency above half the rate that two series agree on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alias {
    /// Hertz.
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Origin {
    External,
    Alias,
}

impl Origin {
    fn word(self) -> &'static str {
        match self {
            Origin::External => "external",
            Origin::Alias => "alias",
        }
    }
}

/// One explanation of a line.
#[derive(Clone, Copy, Debug)]
struct Hypothesis {
    origin: Origin,
    /// True frequency; for the measurement's own, that at the first rate.
    hz: f64,
    /// Where it shows at the second rate.
    seen_hz: f64,
}

/// Frequency that `hz` shows as at a rate, and whether it runs backwards there.
pub fn apparent(hz: f64, rate_hz: f64) -> (f64, bool) {
    let within = hz.rem_euclid(rate_hz);
    if within > rate_hz / 2.0 {
        (rate_hz - within, true)
    } else {
        (within, false)
    }
}

/// Settles origins between series of the same CPU and work kernel at different rates. Returns the aliases of each series.
pub fn settle(series: &mut [Series], residuals: &[Residual]) -> Vec<Vec<Alias>> {
    let mut aliases = vec![Vec::new(); series.len()];
    let pairs: Vec<(usize, usize)> = (0..series.len())
        .flat_map(|a| (0..series.len()).map(move |b| (a, b)))
        .filter(|&(a, b)| a != b && comparable(&series[a], &series[b]))
        .collect();
    for &(a, b) in &pairs {
        same_gaps(series, a, b);
    }
    for &(a, b) in pairs.iter().filter(|(a, b)| a < b) {
        own_periods(series, (a, b), residuals);
        for one in [a, b] {
            leave_out_harmonics(&mut series[one], &[]);
        }
    }
    let mut asked: Vec<(usize, usize, u64)> = Vec::new();
    // The strongest line first: what it explains is then no line of its own.
    while let Some((a, b, number)) = strongest(series, &pairs, &asked) {
        let signal = series[a].signals[number].clone();
        asked.push((a, b, signal.frequency_hz.to_bits()));
        if let Some((found, divisor, mut track)) = explain(&signal, &residuals[a], &residuals[b]) {
            if found.origin != Origin::Alias {
                // The fundamental stands for its harmonic in both series.
                let signal = &mut series[a].signals[number];
                signal.frequency_hz /= divisor;
                signal.uncertainty_hz /= divisor;
                signal.ns_per_event *= divisor;
                track.hz /= divisor;
                track.sigma_hz /= divisor;
            }
            let place = (a, number);
            apply(series, place, b, found, &track, residuals, &mut aliases);
            for one in [a, b] {
                leave_out_harmonics(&mut series[one], &aliases[one]);
            }
        }
    }
    aliases
}

fn comparable(a: &Series, b: &Series) -> bool {
    (a.cpu, &a.kernel, &a.origin) == (b.cpu, &b.kernel, &b.origin)
        && (b.rate_hz / a.rate_hz - 1.0).abs() > 1e-3
}

/// Times of gaps are not sampled: the same frequency in both is external, and nothing else is to be thought of.
fn same_gaps(series: &mut [Series], a: usize, b: usize) {
    let others: Vec<(f64, f64)> = series[b]
        .signals
        .iter()
        .filter(|signal| signal.seen_in == "gaps")
        .map(|signal| (signal.frequency_hz, signal.uncertainty_hz))
        .collect();
    for signal in &mut series[a].signals {
        let known = others.iter().any(|&(hz, sigma)| {
            let tolerance = (SAME * signal.uncertainty_hz.hypot(sigma)).max(GRID * hz);
            (signal.frequency_hz - hz).abs() <= tolerance
        });
        if signal.seen_in == "gaps" && known {
            signal.origin = "external";
        }
    }
}

/// Periods in quanta that both rates show: the measurement's own. Lines say where to look, folding decides.
fn own_periods(series: &mut [Series], (a, b): (usize, usize), residuals: &[Residual]) {
    let lines = [a, b].into_iter().flat_map(|one| {
        let rate = series[one].rate_hz;
        let open = series[one].signals.iter();
        open.filter(|signal| signal.seen_in == "residual" && signal.origin == "unresolved")
            .map(move |signal| rate / signal.frequency_hz)
    });
    let mut periods: Vec<usize> = lines
        .flat_map(|period| (1..=MULTIPLES).map(move |times| period * f64::from(times)))
        .filter(|period| (period - period.round()).abs() < NEARLY_WHOLE)
        .map(|period| period.round() as usize)
        .filter(|period| OWN_PERIODS.contains(period))
        .collect();
    periods.sort_unstable();
    periods.dedup();
    let significant = SIGNIFICANT.ln() - (periods.len().max(1) as f64).ln();
    let mut known: Vec<usize> = Vec::new();
    for period in periods {
        // A multiple of a period shows it, too.
        if known.iter().any(|known| period.is_multiple_of(*known)) {
            continue;
        }
        let folded = [a, b].map(|one| residuals[one].kept.folded_at(period));
        let [Some(one), Some(two)] = folded else {
            continue;
        };
        // A tick of 100 Hz recurs every 700 quanta at 10 kHz and, nearly, at 7,777; but every 100 it does so seven times as often. Of a
        // true period a part shows less: it has the loss in some of its turns only.
        let better = |index: usize, own: f64| {
            (*OWN_PERIODS.start()..=period / 2)
                .filter(|part| period.is_multiple_of(*part))
                .any(|part| residuals[index].kept.surprise_at(part) < PART * own)
        };
        if better(a, one.log_p) || better(b, two.log_p) {
            continue;
        }
        let ns = |index: usize, ticks: f64| residuals[index].context.ns(ticks);
        let losses = [ns(a, one.ticks_per_event), ns(b, two.ticks_per_event)];
        let alike = (losses[0] / losses[1]).ln().abs() <= STRENGTH.ln();
        if alike && one.log_p < significant && two.log_p < significant {
            known.push(period);
            for (index, loss, folded) in [(a, losses[0], one), (b, losses[1], two)] {
                own_period(&mut series[index], period, loss, folded.log_p);
            }
        }
    }
}

/// Writes down a period in quanta, in place of the line that shows it.
fn own_period(series: &mut Series, period: usize, ns_per_event: f64, log_p: f64) {
    let hz = series.rate_hz / period as f64;
    // It is exact: what is uncertain of a number of quanta is nothing, or everything.
    series.signals.retain(|signal| {
        let near = (signal.frequency_hz / hz - 1.0).abs() * (period as f64) < NEARLY_WHOLE;
        signal.seen_in != "residual" || signal.origin != "unresolved" || !near
    });
    series.signals.push(Signal {
        frequency_hz: hz,
        uncertainty_hz: GRID * hz,
        origin: "sampling",
        ns_per_event,
        p_value: log_p.exp().max(SMALLEST_P),
        harmonics: 1,
        seen_in: "residual",
    });
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
                signal.seen_in == "residual"
                    && signal.origin == "unresolved"
                    && !asked.contains(&key)
            })
            .map(move |(number, signal)| {
                (signal.ns_per_event * signal.frequency_hz, (a, b, number))
            })
    });
    open.max_by(|x, y| x.0.total_cmp(&y.0)).map(|(_, one)| one)
}

/// The one explanation of a line that the other rate bears out, and the line there.
fn explain(signal: &Signal, mine: &Residual, other: &Residual) -> Option<(Hypothesis, f64, Track)> {
    let (rate, second) = (mine.context.rate_hz, other.context.rate_hz);
    let reach = (SAME * signal.uncertainty_hz).max(GRID * signal.frequency_hz);
    let here = mine
        .kept
        .follow(signal.frequency_hz, reach, 1, &mine.context)?;
    let fitting: Vec<(Hypothesis, Track)> = hypotheses(signal.frequency_hz, rate, second)
        .into_iter()
        .filter_map(|hypothesis| {
            let track = there(hypothesis, signal, &here, rate, other)?;
            Some((hypothesis, track))
        })
        .collect();
    // What is seen as it is needs no frequency that nobody saw.
    let direct = |one: &&(Hypothesis, Track)| one.0.origin != Origin::Alias;
    let mut candidates = if fitting.iter().any(|one| direct(&one)) {
        fitting.iter().filter(direct).cloned().collect()
    } else {
        fitting
    };
    candidates.sort_by(|x, y| y.1.power.total_cmp(&x.1.power));
    let rival = candidates.get(1).map_or(0.0, |(_, track)| track.power);
    let (best, track) = candidates.first()?.clone();
    (rival <= RIVAL * track.power).then(|| {
        let (found, divisor) = fundamental(best, mine, other);
        (found, divisor, track)
    })
}

/// The line at the second rate, where a hypothesis says and as strong as it says.
fn there(
    hypothesis: Hypothesis,
    signal: &Signal,
    here: &Track,
    rate: f64,
    other: &Residual,
) -> Option<Track> {
    let second = other.context.rate_hz;
    // Of a short event every `hz` the line has 2 |sin(pi hz/rate)| / pi of its loss.
    let visible = |rate: f64| (std::f64::consts::PI * hypothesis.hz / rate).sin().abs();
    let expected = visible(second) / visible(rate);
    let sigma = signal.uncertainty_hz;
    // Of few periods in a segment what leaks from their images moves a line; what is direct has no rivals that this would let in.
    let leak = match hypothesis.origin {
        Origin::Alias => 0.0,
        Origin::External => LEAK / other.kept.longest_s(&other.context),
    };
    let grid = (GRID * hypothesis.hz).max(leak);
    let reach = (SAME * sigma).max(grid).max(NARROWEST_HZ);
    let track = other
        .kept
        .follow(hypothesis.seen_hz, reach, 1, &other.context)?;
    let same = (track.hz - hypothesis.seen_hz).abs() <= SAME * sigma.hypot(track.sigma_hz) + grid;
    let ratio = track.amplitude / here.amplitude / expected;
    let alike = (ratio.ln()).abs() <= STRENGTH.ln();
    let noise = other
        .kept
        .noise_around(hypothesis.seen_hz, &other.context)
        .max(1.0);
    (same && alike && track.power > VISIBLE * noise).then_some(track)
}

/// All that a line at `hz` may be.
fn hypotheses(hz: f64, rate: f64, second: f64) -> Vec<Hypothesis> {
    let mut all = Vec::new();
    let period = rate / hz;
    let whole = (period - period.round()).abs() < WHOLE;
    let zones = if whole {
        0
    } else {
        (HIGHEST_HZ / rate).floor() as u32
    };
    for (zone, sign) in (0..=zones).flat_map(|zone| [(zone, 1.0), (zone, -1.0)]) {
        let true_hz = f64::from(zone) * rate + sign * hz;
        if true_hz > 0.0 {
            let (seen_hz, _) = apparent(true_hz, second);
            let direct = zone == 0 && true_hz < second / 2.0;
            all.push(Hypothesis {
                origin: if direct {
                    Origin::External
                } else {
                    Origin::Alias
                },
                hz: true_hz,
                seen_hz,
            });
        }
    }
    // Too slow to be told from a trend.
    all.retain(|one| one.seen_hz > 1.0);
    all
}

/// The explanation, or the one of which it is a harmonic, and what fraction that is of it.
fn fundamental(found: Hypothesis, mine: &Residual, other: &Residual) -> (Hypothesis, f64) {
    let power =
        |residual: &Residual, hz: f64| residual.kept.power_near(hz, 0.02, &residual.context).0;
    let rates = [mine, other].map(|residual| residual.context.rate_hz);
    let divisors = (2..=DIVISORS).rev().map(f64::from);
    let places = |divisor: f64| match found.origin {
        Origin::Alias => rates.map(|rate| apparent(found.hz / divisor, rate).0),
        Origin::External => [found.hz / divisor, found.seen_hz / divisor],
    };
    let lower = divisors.into_iter().find(|&divisor| {
        let mut there = [mine, other]
            .into_iter()
            .zip(places(divisor))
            .zip(places(1.0))
            .map(|((residual, lower), line)| {
                let least = VISIBLE.max(FUNDAMENTAL * power(residual, line));
                power(residual, lower) > least
            });
        match found.origin {
            // Some other line may lie where an alias has its fundamental.
            Origin::Alias => there.all(|there| there),
            Origin::External => there.any(|there| there),
        }
    });
    match lower {
        Some(divisor) => {
            let [_, seen_hz] = places(divisor);
            let hz = found.hz / divisor;
            (
                Hypothesis {
                    hz,
                    seen_hz,
                    ..found
                },
                divisor,
            )
        }
        None => (found, 1.0),
    }
}

/// Writes down what was found, in both series.
fn apply(
    series: &mut [Series],
    (a, number): (usize, usize),
    b: usize,
    found: Hypothesis,
    track: &Track,
    residuals: &[Residual],
    aliases: &mut [Vec<Alias>],
) {
    let word = found.origin.word();
    if found.origin == Origin::Alias && chance(series, (a, number), track, b) > CHANCE {
        return;
    }
    let signal = &mut series[a].signals[number];
    signal.origin = word;
    let mut there = Signal {
        frequency_hz: track.hz,
        uncertainty_hz: track.sigma_hz,
        p_value: (-track.power).exp().max(SMALLEST_P),
        ..signal.clone()
    };
    match found.origin {
        Origin::External => {
            // One and the same: both estimates of it are worth their information.
            let (wa, wb) = (signal.uncertainty_hz.powi(-2), track.sigma_hz.powi(-2));
            signal.frequency_hz = (wa * signal.frequency_hz + wb * track.hz) / (wa + wb);
            signal.uncertainty_hz = (wa + wb).sqrt().recip();
            there.frequency_hz = signal.frequency_hz;
            there.uncertainty_hz = signal.uncertainty_hz;
        }
        Origin::Alias => {
            let [one, two] = [a, b].map(|index| residuals[index].context.rate_hz);
            let sigma_hz = signal.uncertainty_hz.min(track.sigma_hz);
            let chance = chance(series, (a, number), track, b);
            let signal = &series[a].signals[number];
            let alias = Alias {
                hz: true_hz(found, signal, track, one, two),
                sigma_hz,
                chance,
                apparent_hz: [apparent(found.hz, one).0, apparent(found.hz, two).0],
                ns_per_event: loss(signal, found.hz, one),
            };
            aliases[a].push(alias);
            aliases[b].push(alias);
        }
    }
    let known = series[b].signals.iter_mut().find(|other| {
        let tolerance = SAME * other.uncertainty_hz.hypot(track.sigma_hz);
        other.seen_in == "residual" && (other.frequency_hz - track.hz).abs() <= tolerance
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

/// Accidental agreements to be expected between a line and those of the other rate: METHOD's formula, for all lines.
fn chance(series: &[Series], (a, number): (usize, usize), track: &Track, b: usize) -> f64 {
    let tolerance = SAME
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
    let known: Vec<(f64, f64)> = series
        .signals
        .iter()
        .filter(|signal| signal.origin == "external" || signal.origin == "sampling")
        .map(|signal| (signal.frequency_hz, signal.uncertainty_hz))
        .chain(aliases.iter().map(|alias| (alias.hz, alias.sigma_hz)))
        .collect();
    let rate = series.rate_hz;
    series.signals.retain(|signal| {
        let explained = known.iter().any(|&(hz, sigma)| {
            (1..=FOLDED).any(|h| {
                let h = f64::from(h);
                let tolerance = SAME * (h * sigma).hypot(signal.uncertainty_hz);
                // Where the harmonics' tolerances cover the spectrum everything would fit.
                tolerance * f64::from(FOLDED) < 0.05 * rate
                    && (apparent(h * hz, rate).0 - signal.frequency_hz).abs() <= tolerance
            })
        });
        signal.seen_in != "residual" || signal.origin != "unresolved" || !explained
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

    #[test]
    fn explanations_differ_at_the_second_rate() {
        let all = hypotheses(2_345.6, 10_000.0, 7_777.0);
        // Twenty zones of two, and itself.
        assert_eq!(all.len(), 41);
        for (k, one) in all.iter().enumerate() {
            for other in &all[k + 1..] {
                assert!(
                    (one.seen_hz - other.seen_hz).abs() > 0.5,
                    "{one:?} {other:?}"
                );
            }
        }
    }
}
