//! How many pairs a cure gets, fixed before the first that counts.

use super::LEVEL;
use super::figures::matches;
use bandscope_recording::cures::{Figures, Pair};
use bandscope_statistics::distributions::student_95;
use bandscope_statistics::paired::{Mean, least_pairs};
use std::collections::BTreeMap;

/// Half width of the intervals that is asked for at least: 0.05 points of the time. A smaller effect is nobody's problem; chosen, not measured.
const HALF_WIDTH: f64 = 5e-4;
/// The same as a part of what the cure acts on: of a loss of 10 points 0.5 are enough.
const HALF_WIDTH_OF_OWN: f64 = 0.05;
/// The line that has the host's way to others.
const HOST: &str = "host";
/// Tests of each cure: of all that was lost, and of its own lines.
const TESTS_OF_A_CURE: usize = 2;
/// Pairs beyond the fewest that can reach the level. With the fewest all differences must have one sign; with two more, one or two small ones need not.
const SPARE_PAIRS: usize = 2;

/// The number of pairs for a cure, pilots not counted, from its pilots.
///
/// As many as make the 95 % interval of the mean difference narrow enough, of `lost` and of the lines acted on: Stein's rule (1945), n = (t s / d)²,
/// with the pilots' standard deviation s, the half width d, and t of the pilots' degrees of freedom. That t allows for how little four pilots
/// tell of s. At least as many as the sign-flip test needs to reach 5 %, corrected by Holm over the tests of `cures` cures; at most `most`.
/// `None` if `most` is below that: then no number of pairs that there is time for can say anything.
///
/// `cures` is the number of single cures tried in the session, as of [`least`].
///
/// Nothing else of the pilots counts, and no later pair does: who looks at p to decide when to stop finds effects in noise.
pub fn pairs(pilots: &[Pair], acts_on: &[String], cures: usize, most: usize) -> Option<usize> {
    let least = least(cures);
    if most < least {
        return None;
    }
    let lost = |figures: &Figures| figures.lost;
    let pairs: Vec<&Pair> = pilots.iter().collect();
    let own = own_of_pairs(&pairs, acts_on);
    let of_lost: Vec<f64> = pilots
        .iter()
        .map(|pair| lost(&pair.without) - lost(&pair.with))
        .collect();
    let of_own: Vec<f64> = own.iter().map(|[without, with]| without - with).collect();
    let without: f64 = match acts_on.is_empty() {
        true => pilots.iter().map(|pair| lost(&pair.without)).sum(),
        false => own.iter().map(|[without, _]| without).sum(),
    };
    let without = without / pilots.len().max(1) as f64;
    let half_width = HALF_WIDTH.max(HALF_WIDTH_OF_OWN * without);
    let wanted = [of_lost, of_own].map(|values| narrow(&values, half_width));
    let wanted = wanted.into_iter().fold(0.0, f64::max);
    // A float beyond all numbers is the largest.
    Some((wanted.ceil() as usize).max(least + SPARE_PAIRS).min(most))
}

/// Pairs by Stein's rule; 0 of pilots that do not tell how they scatter.
fn narrow(differences: &[f64], half_width: f64) -> f64 {
    Mean::of(differences).map_or(0.0, |mean| {
        let variance = mean.error.powi(2) * differences.len() as f64;
        (student_95(mean.freedom) / half_width).powi(2) * variance
    })
}

/// The fewest pairs that can say anything of one of `cures` cures, pilots not counted.
///
/// `cures` is the number of single cures tried in the session, the sham among them: those that share one error rate. `together` is tested alone, so
/// for that it is 1.
pub fn least(cures: usize) -> usize {
    least_pairs(TESTS_OF_A_CURE * cures.max(1), LEVEL)
}

/// Pairs without which one cure alone cannot be judged, with so many pilots.
pub fn fewest(pilots: usize) -> f64 {
    (pilots + least(1)) as f64
}

/// How many of `cures` cures, the first ones, there are enough pairs for: `pairs` in all, of which each cure has so many pilots. One at least, whose
/// pilots may tell that a pair takes less time than was thought.
pub fn affordable(cures: usize, pilots: usize, pairs: f64) -> usize {
    let costs = |number: usize| (number * (pilots + least(number))) as f64;
    let fits = |number: &usize| costs(*number) <= pairs;
    (1..=cures).rev().find(fits).unwrap_or(1)
}

/// Share of the time that the lines took on which a cure acts, with the host's way to them: what is moved takes that along.
pub fn own_lines(figures: &Figures, acts_on: &[String]) -> f64 {
    sum_of_own(&figures.lines, acts_on) + host_beside(figures, acts_on)
}

/// The same of each pair, without the cure and with it.
///
/// The host does some work of its own on the way to an interrupt. Where nothing makes it come that way it stops the CPU for that at other times: what its other
/// short stops rise by is not saved, and counts as taken with the cure. In the mean, and never more than the way: from trial to trial they scatter more than many
/// a line takes.
pub(super) fn own_of_pairs(pairs: &[&Pair], acts_on: &[String]) -> Vec<[f64; 2]> {
    let mean_fall = |of: &dyn Fn(&Figures) -> f64| {
        let falls = pairs.iter().map(|pair| of(&pair.without) - of(&pair.with));
        falls.sum::<f64>() / pairs.len().max(1) as f64
    };
    let way = |figures: &Figures| host_beside(figures, acts_on);
    let others = |figures: &Figures| figures.host_beside.values().sum::<f64>() - way(figures);
    let elsewhere = (-mean_fall(&others)).clamp(0.0, mean_fall(&way).max(0.0));
    let own = |figures: &Figures| own_lines(figures, acts_on);
    let of_pair = |pair: &&Pair| [own(&pair.without), own(&pair.with) + elsewhere];
    pairs.iter().map(of_pair).collect()
}

/// The host's way to these lines, where the line `host` is none of them.
pub(super) fn host_beside(figures: &Figures, acts_on: &[String]) -> f64 {
    match acts_on.iter().any(|pattern| matches(pattern, HOST)) {
        true => 0.0,
        false => sum_of_own(&figures.host_beside, acts_on),
    }
}

fn sum_of_own(lines: &BTreeMap<String, f64>, acts_on: &[String]) -> f64 {
    let is_own = |line: &str| acts_on.iter().any(|pattern| matches(pattern, line));
    let own = lines.iter().filter(|(line, _)| is_own(line));
    // A sum of nothing is -0 otherwise.
    0.0 + own.map(|(_, share)| share).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pilots that lose `without` and `with` of the time to a task.
    fn pilots(trials: &[[f64; 2]]) -> Vec<Pair> {
        let figures = |lost: f64| Figures {
            lost,
            lines: [("task:cc1".to_owned(), lost)].into(),
            ..Figures::default()
        };
        let pair = |&[without, with]: &[f64; 2]| Pair {
            pilot: true,
            without: figures(without),
            with: figures(with),
            ..Pair::default()
        };
        trials.iter().map(pair).collect()
    }

    fn planned(trials: &[[f64; 2]], cures: usize, most: usize) -> Option<usize> {
        pairs(&pilots(trials), &["task:*".to_owned()], cures, most)
    }

    #[test]
    fn pilots_that_agree_need_what_the_test_needs() {
        let same = [[0.05, 0.01]; 4];
        // 2^(1 - n) of 20 tests is 5 % from 10 pairs on.
        assert_eq!(planned(&same, 10, 1000), Some(12));
        assert_eq!(planned(&same, 1, 1000), Some(9));
        assert_eq!(planned(&[], 10, 1000), Some(12));
    }

    #[test]
    fn what_there_is_no_time_for_is_not_tried() {
        let same = [[0.05, 0.01]; 4];
        assert_eq!(planned(&same, 10, 9), None);
        assert_eq!(planned(&same, 10, 10), Some(10));
    }

    #[test]
    fn as_many_cures_are_tried_as_there_is_time_for() {
        // 13 pairs each of six, 11 of one alone.
        for (pairs, cures) in [(78.0, 6), (77.9, 5), (16.0, 1), (3.0, 1)] {
            assert_eq!(affordable(6, 4, pairs), cures, "{pairs}");
        }
        assert_eq!(affordable(1, 4, 1e9), 1);
    }

    #[test]
    fn pilots_that_scatter_need_more() {
        // Differences of 0.1, -0.1, 0.1 and -0.1 points: (3.18 * 0.1155 / 0.05)^2.
        let small = [
            [0.002, 0.001],
            [0.001, 0.002],
            [0.002, 0.001],
            [0.001, 0.002],
        ];
        assert_eq!(planned(&small, 1, 1000), Some(55));
        assert_eq!(planned(&small, 1, 30), Some(30));
        // The same beside a loss of 10 points: half a point is narrow enough.
        let large = small.map(|pair| pair.map(|lost| lost + 0.1));
        assert_eq!(planned(&large, 1, 1000), Some(9));
    }

    #[test]
    fn an_effect_alone_changes_nothing() {
        let scatter = [[0.061, 0.06], [0.06, 0.061], [0.062, 0.06], [0.06, 0.06]];
        let cured = scatter.map(|[without, with]| [without, with - 0.05]);
        assert_eq!(planned(&scatter, 3, 1000), planned(&cured, 3, 1000));
    }
}
