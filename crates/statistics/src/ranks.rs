//! Tests of size and order that use ranks only, so that neither units nor outliers matter.

use crate::distributions::normal_beyond;

/// Ranks against ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// From -1 to 1: how much more often one is above the other than below (Cliff's delta, Kendall's tau).
    pub effect: f64,
    /// Two-sided, by the normal approximation with ties taken into account.
    pub p_value: f64,
}

/// Whether values of `high` are above those of `low` (Mann and Whitney).
pub fn mann_whitney(high: &[f64], low: &[f64]) -> RankTest {
    let (m, n) = (high.len() as f64, low.len() as f64);
    let number = m + n;
    let lows = low.iter().map(|value| (*value, false));
    let mut all: Vec<(f64, bool)> = high
        .iter()
        .map(|value| (*value, true))
        .chain(lows)
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Twice the sum of the ranks of `high`; equal values share the mean of theirs.
    let (mut ranks, mut ties, mut below) = (0.0, 0.0, 0.0);
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        let t = same.len() as f64;
        let of_high = same.iter().filter(|(_, is_high)| *is_high).count();
        ranks += of_high as f64 * (2.0 * below + t + 1.0);
        ties += t * t * t - t;
        below += t;
    }
    // Pairs in which `high` is above, less those in which it is below.
    let score = ranks - m * (number + 1.0);
    // Of U, and the score is twice U but for a constant.
    let variance = m * n / 12.0 * ((number + 1.0) - ties / (number * (number - 1.0)).max(1.0));
    RankTest {
        effect: if m * n > 0.0 { score / (m * n) } else { 0.0 },
        p_value: two_sided(score, 4.0 * variance),
    }
}

/// Whether values go up or down in this order (Mann and Kendall).
pub fn mann_kendall(values: &[f64]) -> RankTest {
    let number = values.len() as f64;
    let pairs = (1..values.len()).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
    let score: f64 = pairs
        .map(|(earlier, later)| sign(values[later], values[earlier]))
        .sum();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = ties(&sorted).map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
    let variance = (number * (number - 1.0) * (2.0 * number + 5.0) - ties) / 18.0;
    let all = number * (number - 1.0) / 2.0;
    RankTest {
        effect: if all > 0.0 { score / all } else { 0.0 },
        p_value: two_sided(score, variance),
    }
}

fn sign(a: f64, b: f64) -> f64 {
    f64::from(i8::from(a > b) - i8::from(a < b))
}

fn ties(sorted: &[f64]) -> impl Iterator<Item = f64> {
    sorted.chunk_by(|a, b| a == b).map(|same| same.len() as f64)
}

/// Chance of a score as far from 0, either way; corrected by one, half the step that scores go up in.
fn two_sided(score: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    normal_beyond((score.abs() - 1.0).max(0.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        let (low, high): (Vec<f64>, Vec<f64>) = (
            (0..20).map(f64::from).collect(),
            (20..30).map(f64::from).collect(),
        );
        let test = mann_whitney(&high, &low);
        assert_eq!(test.effect, 1.0);
        // z = 199 / sqrt(4 * 20 * 10 * 31 / 12) = 4.378.
        assert!((test.p_value / 1.20e-5 - 1.0).abs() < 0.01, "{test:?}");
        assert_eq!(
            mann_whitney(&[1.0; 5], &[1.0; 9]),
            RankTest {
                effect: 0.0,
                p_value: 1.0
            }
        );
        assert_eq!(mann_whitney(&[], &[1.0]).p_value, 1.0);
        // Of six pairs one is above, one equal, four below.
        assert_eq!(mann_whitney(&[1.0, 2.0], &[1.0, 3.0, 4.0]).effect, -0.5);
        assert_eq!(mann_kendall(&low).effect, 1.0);
        assert!(mann_kendall(&low).p_value < 1e-6);
        assert_eq!(mann_kendall(&[]).p_value, 1.0);
        assert!(mann_kendall(&[1.0, 3.0, 2.0, 2.5, 1.5, 2.2]).p_value > 0.3);
    }
}
