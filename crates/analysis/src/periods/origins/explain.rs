//! What a line may be, and what the other rate says of each explanation.

use super::{HIGHEST_HZ, MAX_STRENGTH_RATIO, SAME_DEVIATIONS, apparent};
use crate::periods::follow::{FUNDAMENTAL, Lines, Track};
use bandscope_report::{Origin, Signal};

/// Share of the best place's power above which a second place leaves it open which is meant.
const RIVAL: f64 = 0.5;
/// Least reach of a search at the second rate.
const NARROWEST_HZ: f64 = 2e-3;
/// By how much leakage moves a line, in lines.
const LEAK: f64 = 0.03;
/// A line of a period of so nearly a whole number of quanta is the measurement's own or external, and no alias that happens to
/// lie there.
const WHOLE: f64 = 3e-3;
/// Power over the noise from which on a line is there.
const VISIBLE: f64 = 15.0;
/// Part of its loss below which an alias is not looked for: near a multiple of a rate a weak line of noise would be a large loss. Real noise once was an
/// alias at 0.002 (139,994 Hz at 10 kHz); chosen between that and 0.1, which a second rate still shows.
const BLIND: f64 = 0.05;
/// Fractions of a true frequency that may be its fundamental.
const DIVISORS: u32 = 16;
/// How far from its place a fundamental is looked for, hertz.
const NEAR_HZ: f64 = 0.02;

/// What a line comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LineOrigin {
    /// What it looks like.
    External,
    /// A higher frequency.
    Alias,
}

impl LineOrigin {
    /// Its word in the report.
    pub(super) fn in_report(self) -> Origin {
        match self {
            LineOrigin::External => Origin::External,
            LineOrigin::Alias => Origin::Alias,
        }
    }
}

/// One explanation of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hypothesis {
    /// What it says of the line.
    pub(super) origin: LineOrigin,
    /// True frequency, hertz.
    pub(super) hz: f64,
    /// Where it shows at the second rate.
    seen_hz: f64,
}

/// The one explanation of a line that the other rate bears out, and the line there.
pub(super) fn explain(
    signal: &Signal,
    mine: &Lines,
    other: &Lines,
) -> Option<(Hypothesis, f64, Track)> {
    let (rate, second) = (mine.rate_hz(), other.rate_hz());
    let reach = (SAME_DEVIATIONS * signal.uncertainty_hz).max(mine.grid() * signal.frequency_hz);
    let here = mine.follow(signal.frequency_hz, reach, 1)?;
    let fitting: Vec<(Hypothesis, Track)> = hypotheses(signal.frequency_hz, rate, second)
        .into_iter()
        .filter_map(|hypothesis| {
            let track = there(hypothesis, signal, &here, rate, other)?;
            Some((hypothesis, track))
        })
        .collect();
    // What is seen as it is needs no frequency that nobody saw.
    let direct = |one: &&(Hypothesis, Track)| one.0.origin != LineOrigin::Alias;
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
    other: &Lines,
) -> Option<Track> {
    let second = other.rate_hz();
    let sigma = signal.uncertainty_hz;
    // Of few periods in a segment what leaks from their images moves a line; what is direct has no rivals that this would let in.
    let leak = match hypothesis.origin {
        LineOrigin::Alias => 0.0,
        LineOrigin::External => LEAK / other.longest_s(),
    };
    let grid = (other.grid() * hypothesis.hz).max(leak);
    let reach = (SAME_DEVIATIONS * sigma).max(grid).max(NARROWEST_HZ);
    let least = VISIBLE * other.power().around(hypothesis.seen_hz).max(1.0);
    // Bins of the transform see up to a fifth less of it.
    if other.power().near(hypothesis.seen_hz, reach) < 0.8 * least {
        return None;
    }
    let track = other.follow(hypothesis.seen_hz, reach, 1)?;
    let same = (track.hz - hypothesis.seen_hz).abs()
        <= SAME_DEVIATIONS * sigma.hypot(track.sigma_hz) + grid;
    let expected = visible(hypothesis.hz, second) / visible(hypothesis.hz, rate);
    let ratio = track.amplitude / here.amplitude / expected;
    let alike = ratio.ln().abs() <= MAX_STRENGTH_RATIO.ln();
    (same && alike && track.power > least).then_some(track)
}

/// Of a short event every `hz` the line has 2/pi of this part of its loss.
fn visible(hz: f64, rate: f64) -> f64 {
    (std::f64::consts::PI * hz / rate).sin().abs()
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
                    LineOrigin::External
                } else {
                    LineOrigin::Alias
                },
                hz: true_hz,
                seen_hz,
            });
        }
    }
    let is_blind = |hz: f64| [rate, second].iter().any(|rate| visible(hz, *rate) < BLIND);
    // Too slow to be told from a trend.
    all.retain(|one| one.seen_hz > 1.0 && (one.origin != LineOrigin::Alias || !is_blind(one.hz)));
    all
}

/// The explanation, or the one of which it is a harmonic, and what fraction that is of it.
fn fundamental(found: Hypothesis, mine: &Lines, other: &Lines) -> (Hypothesis, f64) {
    let power = |lines: &Lines, hz: f64| lines.power().near(hz, NEAR_HZ);
    let rates = [mine.rate_hz(), other.rate_hz()];
    let divisors = (2..=DIVISORS).rev().map(f64::from);
    let places = |divisor: f64| match found.origin {
        LineOrigin::Alias => rates.map(|rate| apparent(found.hz / divisor, rate).0),
        LineOrigin::External => [found.hz / divisor, found.seen_hz / divisor],
    };
    let lower = divisors.into_iter().find(|&divisor| {
        let lines = [mine, other].into_iter();
        // One line of noise at one rate is no fundamental.
        lines
            .zip(places(divisor))
            .zip(places(1.0))
            .all(|((lines, lower), line)| {
                let noise = lines.power().around(lower).max(1.0);
                // All harmonics of short events are alike but for what averaging over a quantum leaves of them.
                let seen = |hz: f64| (std::f64::consts::PI * hz / lines.rate_hz()).sin() / hz;
                let expected = (seen(found.hz / divisor) / seen(found.hz)).powi(2);
                let least = FUNDAMENTAL * expected * power(lines, line);
                power(lines, lower) > least.max(VISIBLE * noise)
            })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_differ_at_the_second_rate() {
        let all = hypotheses(2_345.6, 10_000.0, 7_777.0);
        // Twenty zones of two and itself, without what one of the rates hardly shows.
        assert_eq!(all.len(), 38);
        assert!(all.iter().all(|one| visible(one.hz, 7_777.0) >= BLIND));
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
