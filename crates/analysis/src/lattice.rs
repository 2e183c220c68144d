//! Whether levels of pace are steps of one clock: frequencies k * 100 MHz, so ratios k/N of the fastest.
//!
//! Published: 34, 32 and 30 of 38. Core clocks are made by multiplying a reference of 100 MHz (Intel; AMD in steps of 25 to
//! 100 MHz), so a fastest level of up to 6 GHz is N <= 60 steps. Some ratio k/N lies near any number, so each match
//! comes with the number of accidental ones to be expected; only levels that leave few of those say anything. Data comes from
//! [`crate::bands`], the conclusion is drawn in `findings/frequency_steps.rs`.

/// Steps of 100 MHz that the fastest level may have: 0.8 to 6 GHz, cores in use.
const STEPS: std::ops::RangeInclusive<u32> = 8..=60;
/// Standard deviations within which a level lies on its step.
const WITHIN: f64 = 3.0;

/// Frequency of a level over that of the fastest, and its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Below 1.
    pub ratio: f64,
    /// Absolute.
    pub error: f64,
}

/// Levels that lie on steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// Steps of the fastest level: the smallest number that fits.
    pub top: u32,
    /// Steps of the other levels, in the order given.
    pub steps: Vec<u32>,
    /// Expected number of accidental matches with as few steps: levels anywhere, all numbers of steps tried.
    pub chance: f64,
}

/// The coarsest lattice that all levels lie on; `None` if there is none, or no level.
pub fn fit(ratios: &[Ratio]) -> Option<Lattice> {
    if ratios.is_empty() {
        return None;
    }
    let mut chance = 0.0;
    for top in STEPS {
        let scale = f64::from(top);
        // The share of all numbers that lie as close to a whole one.
        let width = |level: &Ratio| (2.0 * WITHIN * level.error * scale).min(1.0);
        chance += ratios.iter().map(width).product::<f64>();
        let lies_on = |level: &Ratio| {
            let place = level.ratio * scale;
            let distance = (place - place.round()).abs();
            distance <= WITHIN * level.error * scale && place.round() < scale
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

    fn levels(ratios: &[f64], error: f64) -> Vec<Ratio> {
        let level = |&ratio: &f64| Ratio { ratio, error };
        ratios.iter().map(level).collect()
    }

    #[test]
    fn the_published_steps_lie_on_38() {
        let found = fit(&levels(&[34.0 / 38.0, 32.0 / 38.0, 29.0 / 38.0], 2e-5)).unwrap();
        assert_eq!((found.top, found.steps), (38, vec![34, 32, 29]));
        assert!(found.chance < 1e-5, "{}", found.chance);
        // 34, 32 and 30 of 38 are 17, 16 and 15 of 19.
        let found = fit(&levels(&[34.0 / 38.0, 32.0 / 38.0, 30.0 / 38.0], 2e-5)).unwrap();
        assert_eq!(found.top, 19);
    }

    #[test]
    fn accidental_matches_are_as_many_as_expected() {
        // Two levels anywhere between a half and 1, a thousand times: how many are claimed below 1 %, and below 0.1 %.
        let mut state = 1u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut below = [0; 2];
        for _ in 0..20_000 {
            let pair = [0.5 + 0.49 * uniform(), 0.5 + 0.49 * uniform()];
            if let Some(found) = fit(&levels(&pair, 3e-5)) {
                below[0] += u32::from(found.chance < 1e-2);
                below[1] += u32::from(found.chance < 1e-3);
            }
        }
        assert!(below[0] > 10 && below[0] < 250, "{below:?}");
        assert!(below[1] < 30, "{below:?}");
    }

    #[test]
    fn one_ratio_says_little() {
        let found = fit(&levels(&[0.83], 2e-4));
        assert!(found.is_none_or(|found| found.chance > 0.01));
        assert_eq!(fit(&[]), None);
    }
}
