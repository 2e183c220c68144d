//! Second pass: folding the residual over powers of two of quanta.
//!
//! What the measurement does to itself recurs in quanta and not in seconds: a page of 4,096 bytes is full every 256
//! records of 16 bytes, 40 Hz at 10 kHz. Folding is coherent over a whole segment, where a periodogram averages over windows:
//! 5 ns every 256 quanta stand out by 11 standard deviations in ten seconds.
//!
//! Only what distinguishes a period from its own half is tested, so a period of 10 quanta, which has
//! a factor of two in common with them, does not pass for 8.
//!
//! A few large losses that happen to fall on one phase are no period: what stands out must do so by the scatter of its own phase, too
//! (Welch 1947), which k losses in n turns do by no more than the root of k.

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
/// A mean loss beyond this share of that is one that was cut in most turns: then it is stated as it was.
const CUT: f64 = 0.5;

/// Sums over the quanta of one phase.
#[derive(Clone, Copy, Debug, Default)]
struct Phase {
    number: f64,
    sum: f64,
    square: f64,
    /// Not cut.
    whole: f64,
}

impl Phase {
    fn add(&mut self, other: &Phase) {
        self.number += other.number;
        self.sum += other.sum;
        self.square += other.square;
        self.whole += other.whole;
    }

    fn mean(&self) -> f64 {
        self.sum / self.number
    }

    /// Variance of the mean, by the scatter of this phase alone.
    fn variance(&self) -> f64 {
        (self.square / self.number - self.mean().powi(2)).max(0.0) / (self.number - 1.0)
    }
}

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
    phases: Vec<Phase>,
    mean_loss: f64,
    evidence: [Evidence; PERIODS],
}

impl Fold {
    /// Nothing folded yet.
    pub fn new() -> Fold {
        Fold {
            phases: vec![Phase::default(); LONGEST],
            mean_loss: 0.0,
            evidence: [Evidence::default(); PERIODS],
        }
    }

    fn end_segment(&mut self) {
        let mut all = Phase::default();
        self.phases.iter().for_each(|phase| all.add(phase));
        if all.number >= 8.0 * SHORTEST as f64 {
            let variance = all.square / all.number - all.mean().powi(2);
            let cut = CUT * CLIP * self.mean_loss;
            let mut phases = self.phases.clone();
            for evidence in self.evidence.iter_mut().rev() {
                judge(evidence, &phases, variance, cut);
                halve(&mut phases);
            }
        }
        self.phases.fill(Phase::default());
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

/// Compares each phase with the one half a period away; a difference beyond `cut` is stated as it was before losses were cut.
fn judge(evidence: &mut Evidence, phases: &[Phase], variance: f64, cut: f64) {
    let half = phases.len() / 2;
    // Every phase must have been seen often enough for its mean to be Gaussian.
    let enough = phases.iter().all(|phase| phase.number >= 4.0);
    if !enough || variance <= 0.0 {
        return;
    }
    let differences: Vec<(f64, f64)> = (0..half)
        .map(|phase| {
            let (one, other) = (&phases[phase], &phases[phase + half]);
            let difference = (one.mean() - other.mean()).abs();
            let pooled = variance * (1.0 / one.number + 1.0 / other.number);
            let error = pooled.max(one.variance() + other.variance()).sqrt();
            let loss = if difference > cut {
                (one.whole / one.number - other.whole / other.number).abs()
            } else {
                difference
            };
            (difference / error, loss)
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

fn halve(phases: &mut Vec<Phase>) {
    let half = phases.len() / 2;
    let (first, second) = phases.split_at_mut(half);
    for (one, other) in first.iter_mut().zip(second) {
        one.add(other);
    }
    phases.truncate(half);
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
            for (phase, &loss) in self.phases[phase..].iter_mut().zip(now) {
                let cut = loss.clamp(-limit, limit);
                phase.number += 1.0;
                phase.sum += cut;
                phase.square += cut * cut;
                phase.whole += loss;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How far the one phase of 4,096 stands out that loses 1 in `losses` of `turns`; in so many other phases it happens once.
    fn deviations(turns: u32, losses: u32, others: usize) -> f64 {
        let phase = |losses: u32| Phase {
            number: f64::from(turns),
            sum: f64::from(losses),
            square: f64::from(losses),
            whole: f64::from(losses),
        };
        let mut phases = vec![phase(0); LONGEST];
        phases[7] = phase(losses);
        phases[100..100 + others].fill(phase(1));
        let mut all = Phase::default();
        phases.iter().for_each(|phase| all.add(phase));
        let variance = all.square / all.number - all.mean().powi(2);
        let mut evidence = Evidence::default();
        judge(&mut evidence, &phases, variance, f64::INFINITY);
        evidence.deviations
    }

    #[test]
    fn a_loss_in_each_turn_stands_out_and_a_few_that_coincide_do_not() {
        assert!(deviations(24, 24, 0) > 20.0);
        assert!(deviations(100, 60, 40) > 10.0);
        assert!(deviations(100, 3, 40) < 2.0);
        assert!(deviations(100, 6, 0) < 3.0);
    }
}
