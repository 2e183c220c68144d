//! Whether a pace lies between two others where the work kernel's own structure puts it.
//!
//! FTQ's old unit has two inner loops, of 32 and of 31 turns. If one of them is in the slow state and the other is not, the
//! unit takes 32/63 or 31/63 of the way from the fast time to the slow one: 0.508 and 0.492; published 0.502 and 0.484. Any
//! number lies near some fraction, so only those count that the work kernel declares, and each match comes
//! with the chance of an accidental one. Times per unit come from [`crate::pace::bands`].

use crate::series::context::Context;

/// The work kernels that have FTQ's two inner loops, for recordings that do not say so themselves, and what a file of counts
/// that does not name its work kernel holds, if it is an old one.
const OLD_FTQ: [&str; 4] = ["ftq-o0", "ftq-o2", "ftq-unrolled", UNKNOWN];
/// The name of a work kernel that a file does not name.
pub const UNKNOWN: &str = "unknown";
/// Shares of the turns of its two inner loops.
const OLD_LOOPS: [f64; 2] = [32.0 / 63.0, 31.0 / 63.0];
/// How near is near: the published ones miss by 0.006 and 0.008.
const MAX_FRACTION_ERROR: f64 = 0.01;

/// The fractions of a unit that the work kernel called `name` declares: its manifest's, or those known by its name.
pub fn fractions(name: &str, context: &Context) -> Vec<f64> {
    let declared = context.kernel.iter().flat_map(|kernel| &kernel.fractions);
    let mut fractions: Vec<f64> = declared
        .copied()
        .filter(|fraction| *fraction > 0.0 && *fraction < 1.0)
        .collect();
    if fractions.is_empty() && OLD_FTQ.contains(&name) {
        fractions = OLD_LOOPS.to_vec();
    }
    fractions.sort_by(f64::total_cmp);
    fractions
}

/// A pace between two others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture {
    /// Places in the list of paces: fast, between, slow.
    pub places: [usize; 3],
    /// How far it is from fast to slow, in time per unit.
    pub fraction: f64,
    /// The declared fraction that it is near.
    pub declared: f64,
    /// Probability that some pace between two others lies as near to a declared fraction by accident.
    pub chance: f64,
}

/// The best match among `paces`, times per unit in rising order.
pub fn find(paces: &[f64], fractions: &[f64]) -> Option<Mixture> {
    let n = paces.len();
    let mut best: Option<Mixture> = None;
    let mut tried = 0;
    for fast in 0..n {
        for between in fast + 1..n {
            for slow in between + 1..n {
                tried += 1;
                let fraction = (paces[between] - paces[fast]) / (paces[slow] - paces[fast]);
                let near = |declared: f64| (fraction - declared).abs();
                let nearest = fractions
                    .iter()
                    .copied()
                    .min_by(|a, b| near(*a).total_cmp(&near(*b)));
                let Some(declared) =
                    nearest.filter(|declared| near(*declared) <= MAX_FRACTION_ERROR)
                else {
                    continue;
                };
                if best.is_none_or(|best| near(declared) < (best.fraction - best.declared).abs()) {
                    best = Some(Mixture {
                        places: [fast, between, slow],
                        fraction,
                        declared,
                        chance: 0.0,
                    });
                }
            }
        }
    }
    let width = covered(fractions);
    best.map(|mixture| Mixture {
        chance: 1.0 - (1.0 - width).powi(tried),
        ..mixture
    })
}

/// The share of all numbers from 0 to 1 that lie near one of these, which are in rising order.
fn covered(fractions: &[f64]) -> f64 {
    let (mut sum, mut end) = (0.0, 0.0f64);
    for fraction in fractions {
        let (from, to) = (
            (fraction - MAX_FRACTION_ERROR).max(end),
            (fraction + MAX_FRACTION_ERROR).min(1.0),
        );
        sum += (to - from).max(0.0);
        end = end.max(to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_band_is_one_loop_of_two() {
        let fractions = [31.0 / 63.0, 32.0 / 63.0];
        for (between, fraction) in [(76.3, 0.502), (74.4, 0.484)] {
            let found = find(&[23.96, between, 128.2], &fractions).unwrap();
            assert!((found.fraction - fraction).abs() < 1e-3, "{found:?}");
            assert!((found.chance - 0.0359).abs() < 1e-3, "{found:?}");
        }
        assert_eq!(find(&[23.96, 70.0, 128.2], &fractions), None);
        assert_eq!(find(&[23.96, 76.3, 128.2], &[]), None);
        assert_eq!(find(&[23.96, 128.2], &fractions), None);
    }

    #[test]
    fn many_paces_match_by_accident() {
        let paces: Vec<f64> = (0..12u32).map(|k| 20.0 * 1.13f64.powi(k as i32)).collect();
        let found = find(&paces, &[31.0 / 63.0, 32.0 / 63.0]).unwrap();
        assert!(found.chance > 0.99, "{found:?}");
    }
}
