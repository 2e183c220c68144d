//! Second pass: folding the residual over powers of two of quanta.
//!
//! What the measurement does to itself recurs in quanta and not in seconds: a page of 4,096 bytes is full every 256
//! records of 16 bytes, 40 Hz at 10 kHz. Folding is coherent over a whole segment, where a periodogram averages over windows:
//! 5 ns every 256 quanta stand out by 11 standard deviations in ten seconds.
//!
//! Only what distinguishes a period from its own half is tested, so a period of 10 quanta, which has
//! a factor of two in common with them, does not pass for 8.

use crate::derive::Derived;
use crate::detector::Detector;
use crate::spectrum::in_lanes;

/// Longest period: 2^12 quanta; all shorter ones follow from its table.
const LONGEST: usize = 1 << 12;
/// Shortest: 2^3. Below, alternating bands would show.
const SHORTEST: usize = 1 << 3;
/// Periods tried.
const PERIODS: usize = 10;
/// A residual beyond this many mean ones is cut to that.
const CLIP: f64 = 50.0;

/// What a period showed in all segments.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    segments: f64,
    /// Sum of -ln p.
    surprise: f64,
    /// Sum of the loss at the worst phase over the one half a period away, ticks, weighted by segments.
    loss: f64,
    deviations: f64,
}

/// A period in quanta that stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Folded {
    /// Quanta.
    pub period: usize,
    /// Ticks lost in each.
    pub ticks_per_event: f64,
    /// Standard deviations by which it stands out, in the mean over segments.
    pub deviations: f64,
    /// Natural logarithm of the p-value, corrected for phases and periods.
    pub log_p: f64,
}

/// Folds a series.
#[derive(Clone, Debug)]
pub struct Fold {
    sums: Vec<f64>,
    numbers: Vec<f64>,
    square: f64,
    total: f64,
    mean_loss: f64,
    evidence: [Evidence; PERIODS],
}

impl Fold {
    /// Nothing folded yet.
    pub fn new() -> Fold {
        Fold {
            sums: vec![0.0; LONGEST],
            numbers: vec![0.0; LONGEST],
            square: 0.0,
            total: 0.0,
            mean_loss: 0.0,
            evidence: [Evidence::default(); PERIODS],
        }
    }

    fn end_segment(&mut self) {
        let quanta: f64 = self.numbers.iter().sum();
        if quanta >= 8.0 * SHORTEST as f64 {
            let mean = self.total / quanta;
            let variance = self.square / quanta - mean * mean;
            let (mut sums, mut numbers) = (self.sums.clone(), self.numbers.clone());
            for evidence in self.evidence.iter_mut().rev() {
                judge(evidence, &sums, &numbers, variance);
                halve(&mut sums);
                halve(&mut numbers);
            }
        }
        self.sums.fill(0.0);
        self.numbers.fill(0.0);
        self.square = 0.0;
        self.total = 0.0;
    }

    /// The period that stands out most, if its corrected p-value is below `limit`.
    pub fn finish(mut self, limit: f64) -> Option<Folded> {
        self.end_segment();
        let folded = self
            .evidence
            .iter()
            .enumerate()
            .filter_map(|(number, evidence)| {
                // Fisher's combination, bounded by Chernoff as in `comb`.
                let mean = evidence.surprise / evidence.segments;
                (mean > 1.0).then(|| Folded {
                    period: SHORTEST << number,
                    ticks_per_event: evidence.loss / evidence.segments,
                    deviations: evidence.deviations / evidence.segments,
                    log_p: (-evidence.segments * (mean - 1.0 - mean.ln()) + (PERIODS as f64).ln())
                        .min(0.0),
                })
            });
        folded
            .min_by(|a, b| a.log_p.total_cmp(&b.log_p))
            .filter(|folded| folded.log_p < limit.ln())
    }
}

/// Compares each phase with the one half a period away.
fn judge(evidence: &mut Evidence, sums: &[f64], numbers: &[f64], variance: f64) {
    let half = sums.len() / 2;
    // Every phase must have been seen often enough for its mean to be Gaussian.
    let enough = numbers.iter().all(|&number| number >= 4.0);
    if !enough || variance <= 0.0 {
        return;
    }
    let differences: Vec<(f64, f64)> = (0..half)
        .map(|phase| {
            let other = phase + half;
            let difference = sums[phase] / numbers[phase] - sums[other] / numbers[other];
            let error = (variance * (1.0 / numbers[phase] + 1.0 / numbers[other])).sqrt();
            (difference.abs() / error, difference.abs())
        })
        .collect();
    // A pace that wanders slowly makes phases differ by more than single quanta do: the median of all differences is the measure
    // of that, as one phase of many is what is looked for. Of a Gaussian it is 0.6745 standard deviations.
    let mut sorted: Vec<f64> = differences.iter().map(|difference| difference.0).collect();
    sorted.sort_by(f64::total_cmp);
    let wider = (sorted[half / 2] / 0.6745).max(1.0);
    let worst = differences
        .iter()
        .map(|difference| (difference.0 / wider, difference.1))
        .fold(
            (0.0, 0.0),
            |worst: (f64, f64), one| {
                if one.0 > worst.0 { one } else { worst }
            },
        );
    // P(|Z| > z) <= exp(-z^2/2), for each phase that could have been the worst.
    let log_p = (-worst.0 * worst.0 / 2.0 + (half as f64).ln()).min(0.0);
    evidence.segments += 1.0;
    evidence.surprise -= log_p;
    evidence.loss += worst.1;
    evidence.deviations += worst.0;
}

fn halve(values: &mut Vec<f64>) {
    let half = values.len() / 2;
    for k in 0..half {
        values[k] += values[k + half];
    }
    values.truncate(half);
}

impl Detector for Fold {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.end_segment();
        }
        let sum = in_lanes(chunk.residual, |loss| loss.abs());
        let mean = sum / chunk.len() as f64;
        self.mean_loss = if self.mean_loss == 0.0 {
            mean
        } else {
            0.9 * self.mean_loss + 0.1 * mean
        };
        let limit = CLIP * self.mean_loss;
        let (mut rest, mut phase) = (chunk.residual, chunk.index as usize % LONGEST);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(LONGEST - phase));
            let phases = phase..phase + now.len();
            for (sum, loss) in self.sums[phases.clone()].iter_mut().zip(now) {
                *sum += loss.clamp(-limit, limit);
            }
            for number in &mut self.numbers[phases] {
                *number += 1.0;
            }
            let cut = |loss: f64| loss.clamp(-limit, limit);
            self.square += in_lanes(now, |loss| cut(loss) * cut(loss));
            self.total += in_lanes(now, cut);
            (rest, phase) = (later, 0);
        }
    }

    fn merge(&mut self, mut later: Fold) {
        self.end_segment();
        later.end_segment();
        for (mine, other) in self.evidence.iter_mut().zip(&later.evidence) {
            mine.segments += other.segments;
            mine.surprise += other.surprise;
            mine.loss += other.loss;
            mine.deviations += other.deviations;
        }
    }
}
