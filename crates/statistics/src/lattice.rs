//! Whether ratios are whole numbers of steps of their largest: k/N for one N.
//!
//! Some ratio k/N lies near any number, so each match comes with the number of accidental ones to be expected; only ratios that leave few of
//! those say anything.

use std::ops::RangeInclusive;

/// Standard deviations within which a ratio lies on its step.
const MAX_DEVIATIONS: f64 = 3.0;

/// A value over the largest, and its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The value over the largest, below 1.
    pub ratio: f64,
    /// One standard deviation of the ratio, absolute.
    pub error: f64,
}

/// Ratios that lie on steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// Steps of the largest value: the smallest number that fits.
    pub top: u32,
    /// Steps of the others, in the order given.
    pub steps: Vec<u32>,
    /// Expected number of accidental matches with as few steps: ratios anywhere, all numbers of steps tried.
    pub chance: f64,
}

/// The coarsest lattice that all ratios lie on, with one of `tops` as the steps of the largest value; `None` if there is none, or no ratio.
pub fn fit(ratios: &[Ratio], tops: RangeInclusive<u32>) -> Option<Lattice> {
    if ratios.is_empty() {
        return None;
    }
    let mut chance = 0.0;
    for top in tops {
        let scale = f64::from(top);
        // The share of all numbers that lie as close to a whole one.
        let width = |level: &Ratio| (2.0 * MAX_DEVIATIONS * level.error * scale).min(1.0);
        chance += ratios.iter().map(width).product::<f64>();
        let lies_on = |level: &Ratio| {
            let place = level.ratio * scale;
            let distance = (place - place.round()).abs();
            distance <= MAX_DEVIATIONS * level.error * scale && place.round() < scale
        };
        if ratios.iter().all(lies_on) {
            return Some(Lattice {
                top,
                steps: ratios
                    .iter()
                    .map(|level| (level.ratio * scale).round() as u32)
                    .collect(),
                chance,
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const TOPS: RangeInclusive<u32> = 8..=60;

    fn levels(ratios: &[f64], error: f64) -> Vec<Ratio> {
        let level = |&ratio: &f64| Ratio { ratio, error };
        ratios.iter().map(level).collect()
    }

    #[test]
    fn the_published_steps_lie_on_38() {
        let found = fit(
            &levels(&[34.0 / 38.0, 32.0 / 38.0, 29.0 / 38.0], 2e-5),
            TOPS,
        )
        .unwrap();
        assert_eq!((found.top, found.steps), (38, vec![34, 32, 29]));
        assert!(found.chance < 1e-5, "{}", found.chance);
        // 34, 32 and 30 of 38 are 17, 16 and 15 of 19.
        let found = fit(
            &levels(&[34.0 / 38.0, 32.0 / 38.0, 30.0 / 38.0], 2e-5),
            TOPS,
        )
        .unwrap();
        assert_eq!(found.top, 19);
    }

    #[test]
    fn accidental_matches_are_as_many_as_expected() {
        // Two levels anywhere between a half and 1, a thousand times: how many are claimed below 1 %, and below 0.1 %.
        let mut random = Random::new(1);
        let mut below = [0; 2];
        for _ in 0..20_000 {
            let pair = [(); 2].map(|()| 0.5 + 0.49 * random.unit());
            if let Some(found) = fit(&levels(&pair, 3e-5), TOPS) {
                below[0] += u32::from(found.chance < 1e-2);
                below[1] += u32::from(found.chance < 1e-3);
            }
        }
        assert!(below[0] > 10 && below[0] < 250, "{below:?}");
        assert!(below[1] < 30, "{below:?}");
    }

    #[test]
    fn one_ratio_says_little() {
        let found = fit(&levels(&[0.83], 2e-4), TOPS);
        assert!(found.is_none_or(|found| found.chance > 0.01));
        assert_eq!(fit(&[], TOPS), None);
    }
}
