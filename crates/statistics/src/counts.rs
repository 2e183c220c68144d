//! Tests and intervals of shares: so many of so many.

use crate::NORMAL_95;
use crate::distributions::ln_factorial;
use crate::random::Random;

/// Permutations: a p-value of a hundredth is then known to a tenth of itself.
const PERMUTATIONS: u32 = 9_999;

/// Wilson's score interval of a share, 95 % (Wilson 1927); all of 0 to 1 where there was no trial.
pub fn wilson_interval(number: u64, all: u64) -> [f64; 2] {
    if all == 0 {
        return [0.0, 1.0];
    }
    let (share, all) = (number as f64 / all as f64, all as f64);
    let z2 = NORMAL_95 * NORMAL_95;
    let middle = share + z2 / (2.0 * all);
    let half = (z2 * (share * (1.0 - share) / all + z2 / (4.0 * all * all))).sqrt();
    [middle - half, middle + half].map(|end| (end / (1.0 + z2 / all)).clamp(0.0, 1.0))
}

/// Fisher's exact test (1922): chance of `marked` of `number` and of `other_marked` of `other_number`, or what is further apart in the same
/// direction (more marked in the first), if the marks had nothing to do with the groups.
pub fn fisher_exact(marked: u64, number: u64, other_marked: u64, other_number: u64) -> f64 {
    let all_marked = marked + other_marked;
    let ln_choose = |n: u64, k: u64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let whole = ln_choose(number + other_number, all_marked);
    let term = |ways: u64| {
        let others = all_marked - ways;
        match others <= other_number {
            true => (ln_choose(number, ways) + ln_choose(other_number, others) - whole).exp(),
            false => 0.0,
        }
    };
    // Away from the mode, which lies beside the mean, terms fall faster than a geometric series.
    let sum = |ways: &mut dyn Iterator<Item = u64>| {
        let mut sum = 0.0;
        for term in ways.map(term) {
            sum += term;
            if term <= sum * 1e-13 {
                break;
            }
        }
        sum
    };
    let mean = number as f64 * all_marked as f64 / (number + other_number).max(1) as f64;
    match marked as f64 > mean {
        true => sum(&mut (marked..=number.min(all_marked))).min(1.0),
        false => (1.0 - sum(&mut (0..marked).rev())).max(0.0),
    }
}

/// Chance that groups differ in their shares of marks as much as these, or more, if marks were dealt out by chance: chi square, by permutation.
pub fn chi_square(groups: &[usize], marked: &[bool], seed: u64) -> f64 {
    let number = groups.iter().max().map_or(0, |most| most + 1);
    let mut sizes = vec![0.0; number];
    for &group in groups {
        sizes[group] += 1.0;
    }
    // With the margins as they are, chi square grows with this sum.
    let apart = |marked: &[bool]| -> f64 {
        let mut counts = vec![0.0f64; number];
        for (&group, _) in groups.iter().zip(marked).filter(|(_, marked)| **marked) {
            counts[group] += 1.0;
        }
        counts
            .iter()
            .zip(&sizes)
            .filter(|(_, size)| **size > 0.0)
            .map(|(count, size)| count * count / size)
            .sum()
    };
    by_permutation(marked, seed, apart)
}

/// Number of stretches of equal marks, and the chance of as few if the order were random (Wald and Wolfowitz 1940), by permutation.
pub fn runs_test(marked: &[bool], seed: u64) -> (usize, f64) {
    let count = |marked: &[bool]| marked.chunk_by(|a, b| a == b).count();
    (
        count(marked),
        by_permutation(marked, seed, |marked| -(count(marked) as f64)),
    )
}

/// Share of permutations in which a figure is as large as in this order, this order among them.
fn by_permutation(marked: &[bool], seed: u64, figure: impl Fn(&[bool]) -> f64) -> f64 {
    let here = figure(marked);
    let mut random = Random::new(seed);
    let mut order = marked.to_vec();
    let mut as_large = 1;
    for _ in 0..PERMUTATIONS {
        random.shuffle(&mut order);
        as_large += u32::from(figure(&order) >= here - 1e-9);
    }
    f64::from(as_large) / f64::from(PERMUTATIONS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilsons_interval_is_the_published_one() {
        // 81 of 263: 0.2553 to 0.3662 (Newcombe 1998, table I).
        let [low, high] = wilson_interval(81, 263);
        assert!(
            (low - 0.2553).abs() < 1e-4 && (high - 0.3662).abs() < 1e-4,
            "{low} {high}"
        );
        assert_eq!(wilson_interval(0, 20)[0], 0.0);
        assert_eq!(wilson_interval(0, 0), [0.0, 1.0]);
    }

    #[test]
    fn fisher_is_exact() {
        // 7 of 20 against 0 of 20: C(20,7)/C(40,7).
        assert!((fisher_exact(7, 20, 0, 20) - 0.004_158).abs() < 1e-6);
        assert!((fisher_exact(0, 20, 7, 20) - 1.0).abs() < 1e-12);
        // The lady who tasted tea: 3 of 4 cups, 17/70.
        assert!((fisher_exact(3, 4, 1, 4) - 17.0 / 70.0).abs() < 1e-12);
        assert_eq!(fisher_exact(0, 0, 0, 0), 1.0);
    }

    #[test]
    fn fisher_of_millions_begins_anywhere() {
        // Far below the mode everything is further apart; far above it nothing is; at it, about half.
        assert!((fisher_exact(10, 3_000_000, 1_000_000, 3_000_000) - 1.0).abs() < 1e-6);
        assert!(fisher_exact(600_000, 3_000_000, 400_000, 3_000_000) < 1e-100);
        assert!((fisher_exact(500_000, 3_000_000, 500_000, 3_000_000) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn permutations_agree_with_fisher() {
        let groups: Vec<usize> = (0..20).map(|n| n / 10).collect();
        let marked: Vec<bool> = (0..20).map(|n| n >= 14).collect();
        let exact = 2.0 * fisher_exact(6, 10, 0, 10);
        let p_value = chi_square(&groups, &marked, 1);
        assert!((p_value / exact - 1.0).abs() < 0.4, "{p_value} {exact}");
        assert_eq!(chi_square(&groups, &[false; 20], 1), 1.0);
    }

    #[test]
    fn marks_that_come_together_have_few_stretches() {
        let together: Vec<bool> = (0..40).map(|n| n >= 30).collect();
        let (number, p_value) = runs_test(&together, 1);
        assert!(number == 2 && p_value < 0.001, "{p_value}");
        let apart: Vec<bool> = (0..40).map(|n| n % 4 == 0).collect();
        assert!(runs_test(&apart, 1).1 > 0.9);
    }
}
