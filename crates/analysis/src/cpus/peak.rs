//! The lag that two sequences of instants keep: the peak of their differences, and whether a sequence is regular.
//!
//! [`super::coupling`] asks it of changes of pace.

/// Fewest changes that coincide, how many times the expectation and the next peak, and what share of the rarer side.
pub(super) const MIN_COINCIDENCES: u64 = 8;
const MIN_TIMES_EXPECTED: f64 = 3.0;
const MIN_TIMES_NEXT_PEAK: f64 = 1.5;
const MIN_SHARE_OF_RARER: f64 = 0.2;
/// Intervals that agree within this, and the share of all that makes a sequence regular.
const SAME_INTERVAL: f64 = 0.02;
const REGULAR: f64 = 0.5;

/// A peak of the differences of two sequences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peak {
    /// Differences in it.
    pub(super) number: u64,
    /// As many would be by chance.
    pub(super) expected: f64,
    /// Median difference, ticks; positive where the first sequence comes later.
    pub(super) lag: i64,
}

/// The highest number of pairs whose differences lie within `width`, of differences up to `lags` either way, if it stands out of all others.
pub(super) fn find(a: &[u64], b: &[u64], width: i64, lags: i64, wall: u64) -> Option<Peak> {
    // Bins of half the width: two neighbours hold what a peak of less than half the width spreads over.
    let half = width / 2;
    let bins = (2 * lags / half) as usize + 1;
    let mut histogram = vec![0u32; bins];
    each_difference(a, b, lags, |difference| {
        histogram[((difference + lags) / half) as usize] += 1;
    });
    let pairs = |bin: usize| u64::from(histogram[bin]) + u64::from(histogram[bin + 1]);
    let best = (0..bins - 1).max_by_key(|&bin| pairs(bin))?;
    let number = pairs(best);
    let elsewhere = (0..bins - 1).filter(|&bin| bin.abs_diff(best) > 4);
    let (mut highest, mut sum, mut places) = (0, 0, 0u64);
    for bin in elsewhere {
        highest = highest.max(pairs(bin));
        sum += pairs(bin);
        places += 1;
    }
    let around = sum as f64 / places.max(1) as f64;
    let throughout = a.len() as f64 * b.len() as f64 * width as f64 / (wall as f64).max(1.0);
    let expected = around.max(throughout);
    let stands_out = number >= MIN_COINCIDENCES
        && number as f64 >= MIN_TIMES_EXPECTED * expected
        && number as f64 >= MIN_TIMES_NEXT_PEAK * highest as f64
        && number as f64 >= MIN_SHARE_OF_RARER * a.len().min(b.len()) as f64;
    if !stands_out {
        return None;
    }
    let from = best as i64 * half - lags;
    let mut inside: Vec<i64> = Vec::new();
    each_difference(a, b, lags, |difference| {
        if (from..from + 2 * half).contains(&difference) {
            inside.push(difference);
        }
    });
    inside.sort_unstable();
    Some(Peak {
        number,
        expected,
        lag: inside[inside.len() / 2],
    })
}

/// The differences `a - b` up to `most` either way, of sequences in order.
fn each_difference(a: &[u64], b: &[u64], most: i64, mut act: impl FnMut(i64)) {
    let mut first = 0;
    for &at in a {
        let earliest = at.saturating_sub(most as u64);
        while b.get(first).is_some_and(|&other| other < earliest) {
            first += 1;
        }
        for &other in &b[first..] {
            // Either is far below 2^63, which the times themselves may be beyond.
            match other.checked_sub(at) {
                Some(later) if later > most as u64 => break,
                Some(later) => act(-(later as i64)),
                None => act((at - other) as i64),
            }
        }
    }
}

/// Whether half of the intervals from each instant to the next, or to the one after, are equal.
pub(super) fn is_regular(times: &[u64]) -> bool {
    (1..=2).any(|step| {
        let mut intervals: Vec<f64> = times
            .windows(step + 1)
            .map(|window| (window[step] - window[0]) as f64)
            .collect();
        intervals.sort_by(f64::total_cmp);
        let mut from = 0;
        let most = (0..intervals.len())
            .map(|to| {
                while intervals[from] < intervals[to] * (1.0 - SAME_INTERVAL) {
                    from += 1;
                }
                to + 1 - from
            })
            .max();
        most.is_some_and(|most| most as f64 >= REGULAR * intervals.len() as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_period_is_regular() {
        let every = |period: u64| (0..100).map(|k| k * period).collect::<Vec<_>>();
        assert!(is_regular(&every(1_000)));
        // On for 300, off for 700.
        let flips: Vec<u64> = (0..100).map(|k| k / 2 * 1_000 + k % 2 * 300).collect();
        assert!(is_regular(&flips));
        let squares: Vec<u64> = (0..100).map(|k| k * k * 10).collect();
        assert!(!is_regular(&squares) && !is_regular(&[]));
    }

    #[test]
    fn the_peak_is_where_most_differences_are() {
        let a: Vec<u64> = (1..100).map(|k| k * k * 1_000).collect();
        let b: Vec<u64> = a.iter().map(|at| at - 250).collect();
        let found = find(&a, &b, 20, 2_000, 10_000_000).unwrap();
        assert_eq!((found.number, found.lag), (99, 250));
        assert_eq!(find(&b, &a, 20, 2_000, 10_000_000).unwrap().lag, -250);
        assert!(find(&a, &b[..5], 20, 2_000, 10_000_000).is_none());
    }
}
