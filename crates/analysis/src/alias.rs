//! What two rates say of lines in the residual: a true frequency that both explain (METHOD, section 4).
//!
//! A line at apparent frequency a and rate f1 may be any of m f1 +- a. A second rate leaves those that both have; below Fmax,
//! 8 Fmax d / (f1 f2) of them agree by accident within a tolerance d (METHOD's formula). Where segments alternate there is more: they
//! start at times that are no whole number of quanta apart, so phases of a line agree over them at its true frequency only.

use crate::kept::{Track, norm, phase, times};

/// Highest true frequency that is looked for, hertz: METHOD's figure.
pub const HIGHEST_HZ: f64 = 200_000.0;
/// Standard deviations within which two frequencies are the same.
const SAME: f64 = 4.0;
/// Expected accidental agreements above which nothing is claimed.
const CHANCE: f64 = 0.05;
/// Share of the phasors' lengths that must add up at a true frequency. At a false one, with n segments, 1/sqrt(n) does.
const COHERENT: f64 = 0.75;
/// Segments of each series from which on phases decide: four random ones add up to 0.75 one time in ten, of two series one in a hundred.
const SEGMENTS: usize = 4;
/// Lines of which multiples are looked for.
const MULTIPLES: f64 = 64.0;

/// A true frequency that explains a line at each of two rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alias {
    /// Hertz.
    pub hz: f64,
    /// One standard deviation.
    pub sigma_hz: f64,
    /// Accidental agreements that were to be expected: METHOD's formula, times the chance that phases agree, where they were compared.
    pub chance: f64,
    /// Whether phases agree over segments; `None` where there were too few.
    pub coherent: Option<bool>,
    /// Which track of each series.
    pub tracks: (usize, usize),
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

/// The true frequencies of the lines of two series, lowest first, each unique; multiples of one are left out.
pub fn settle(a: &[Option<Track>], b: &[Option<Track>]) -> Vec<Alias> {
    let lines = |tracks: &[Option<Track>]| tracks.iter().flatten().count();
    let pairs = (lines(a) * lines(b)) as f64;
    let mut found: Vec<Alias> = Vec::new();
    for (i, one) in a.iter().enumerate() {
        for (j, other) in b.iter().enumerate() {
            if let (Some(one), Some(other)) = (one, other) {
                found.extend(unique(one, other, pairs).map(|alias| Alias {
                    tracks: (i, j),
                    ..alias
                }));
            }
        }
    }
    found.sort_by(|x, y| x.hz.total_cmp(&y.hz));
    let mut kept: Vec<Alias> = Vec::new();
    for alias in found {
        let known = kept
            .iter()
            .any(|one| is_multiple(alias.hz, one.hz, one.sigma_hz.hypot(alias.sigma_hz)));
        if !known {
            kept.push(alias);
        }
    }
    kept
}

/// Whether one frequency is a multiple of another, known to `sigma_hz`.
pub fn is_multiple(hz: f64, of: f64, sigma_hz: f64) -> bool {
    let number = (hz / of).round();
    (1.0..=MULTIPLES).contains(&number)
        && (hz - number * of).abs() <= SAME * sigma_hz * number + 1e-9 * hz
}

/// The one true frequency that explains both lines, if there is one and only one.
fn unique(a: &Track, b: &Track, pairs: f64) -> Option<Alias> {
    let tolerance = SAME * a.sigma_hz.hypot(b.sigma_hz);
    let chance = pairs * 8.0 * HIGHEST_HZ * tolerance / (a.rate_hz * b.rate_hz);
    let phases = a.phasors.len().min(b.phasors.len()) >= SEGMENTS;
    let mut fitting = Vec::new();
    let zones = (HIGHEST_HZ / a.rate_hz).ceil() as u32;
    for (zone, backwards) in (0..=zones).flat_map(|zone| [(zone, false), (zone, true)]) {
        let sign = if backwards { -1.0 } else { 1.0 };
        let hz = f64::from(zone) * a.rate_hz + sign * a.hz;
        let (seen, turned) = apparent(hz, b.rate_hz);
        let direct = zone == 0 && !turned && hz < b.rate_hz / 2.0;
        if hz <= 0.0 || hz > HIGHEST_HZ || direct || (seen - b.hz).abs() > tolerance {
            continue;
        }
        let from_b = hz + if turned { seen - b.hz } else { b.hz - seen };
        fitting.push(refined(a, b, hz, from_b, phases));
    }
    if phases {
        fitting.retain(|alias| alias.coherent == Some(true));
    }
    // Where phases decide they leave one true frequency of many; elsewhere accidents must be rare.
    match fitting[..] {
        [only] => Some(Alias {
            chance: chance * by_phases(a, b, phases),
            ..only
        })
        .filter(|alias| alias.chance <= CHANCE),
        _ => None,
    }
}

/// The chance that random phases agree as far as is asked for, at one of the frequencies tried (Rayleigh); 1 where they were not asked.
fn by_phases(a: &Track, b: &Track, phases: bool) -> f64 {
    if !phases {
        return 1.0;
    }
    let all = a.phasors.iter().chain(&b.phasors).map(|phasor| phasor.0);
    let first = all.clone().fold(f64::INFINITY, f64::min);
    let span = all.fold(f64::NEG_INFINITY, f64::max) - first;
    let tried = 1.0 + 2.0 * SAME * a.sigma_hz.hypot(b.sigma_hz) * span;
    let segments = (a.phasors.len() + b.phasors.len()) as f64;
    (tried * (-COHERENT * COHERENT * segments).exp()).min(1.0)
}

/// The frequency near two estimates at which phases agree best, or their weighted mean.
fn refined(a: &Track, b: &Track, from_a: f64, from_b: f64, phases: bool) -> Alias {
    let (wa, wb) = (a.sigma_hz.powi(-2), b.sigma_hz.powi(-2));
    let mean = (wa * from_a + wb * from_b) / (wa + wb);
    let sigma = (wa + wb).sqrt().recip();
    let mut alias = Alias {
        hz: mean,
        sigma_hz: sigma,
        chance: 0.0,
        coherent: None,
        tracks: (0, 0),
    };
    if !phases {
        return alias;
    }
    let times = a.phasors.iter().chain(&b.phasors).map(|phasor| phasor.0);
    let first = times.clone().fold(f64::INFINITY, f64::min);
    let span = times.fold(f64::NEG_INFINITY, f64::max) - first;
    let step = 1.0 / (16.0 * span);
    let steps = (SAME * sigma / step).ceil().min(4096.0) as i32;
    let best = (-steps..=steps)
        .map(|k| {
            let hz = mean + f64::from(k) * step;
            let (x, y) = (agreement(a, hz, first), agreement(b, hz, first));
            (hz, x, y)
        })
        .max_by(|x, y| (x.1 + x.2).total_cmp(&(y.1 + y.2)));
    if let Some((hz, x, y)) = best {
        let coherent = x.min(y) >= COHERENT;
        alias.coherent = Some(coherent);
        if coherent {
            alias.hz = hz;
            let information = (a.power + b.power) * (std::f64::consts::TAU * span).powi(2) / 6.0;
            alias.sigma_hz = information
                .sqrt()
                .recip()
                .max(step / 4.0)
                .min(sigma.max(step));
        }
    }
    alias
}

/// Share of the phasors' lengths that adds up if the line's true frequency is `hz`.
fn agreement(track: &Track, hz: f64, first: f64) -> f64 {
    let (_, backwards) = apparent(hz, track.rate_hz);
    let (mut sum, mut lengths) = ((0.0, 0.0), 0.0);
    for &(time, phasor) in &track.phasors {
        let phasor = if backwards {
            (phasor.0, -phasor.1)
        } else {
            phasor
        };
        let turned = times(phasor, phase(-(hz * (time - first)).fract()));
        sum = (sum.0 + turned.0, sum.1 + turned.1);
        lengths += norm(phasor).sqrt();
    }
    norm(sum).sqrt() / f64::max(lengths, f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a true frequency, as ten segments of a second at each of two rates in turn show it.
    fn track(hz: f64, rate_hz: f64, late: f64, error: f64) -> Track {
        let (seen, backwards) = apparent(hz, rate_hz);
        let phasors = (0..10).map(|k| {
            let time = late + 2.0137 * f64::from(k);
            let (cos, sin) = phase((hz * time).fract() + 0.3);
            (
                time,
                (cos * 20.0, if backwards { -sin } else { sin } * 20.0),
            )
        });
        Track {
            hz: seen + error,
            sigma_hz: 0.01,
            rate_hz,
            phasors: phasors.collect(),
            power: 4000.0,
        }
    }

    #[test]
    fn two_rates_give_the_true_frequency() {
        for hz in [9_876.5, 23_456.789, 70_123.4, 123_456.7, 198_765.4] {
            let a = [Some(track(hz, 10_000.0, 0.5, 0.012))];
            let b = [Some(track(hz, 7777.0, 1.507, -0.008))];
            let found = settle(&a, &b);
            assert_eq!(found.len(), 1, "{hz}: {found:?}");
            assert!((found[0].hz - hz).abs() < 0.005, "{hz}: {found:?}");
            assert!(found[0].chance < 0.01, "{found:?}");
        }
    }

    #[test]
    fn lines_that_nothing_explains_stay_unexplained() {
        let a = [Some(track(23_456.789, 10_000.0, 0.5, 0.0))];
        let b = [Some(track(31_777.123, 7777.0, 1.507, 0.0))];
        assert_eq!(settle(&a, &b), []);
    }

    #[test]
    fn a_multiple_is_no_second_frequency() {
        let tracks = |rate, late| [1.0, 2.0].map(|h| Some(track(h * 23_456.7, rate, late, 0.0)));
        let found = settle(&tracks(10_000.0, 0.5), &tracks(7777.0, 1.507));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].hz - 23_456.7).abs() < 0.005, "{found:?}");
    }
}
