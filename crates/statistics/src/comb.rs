//! Combs in a periodogram: a fundamental and its harmonics.
//!
//! An interrupt is short, so its power spreads evenly over many harmonics; a line at a time would miss what their sum shows.
//! The periodogram is divided by its local median, so that noise is Gamma-distributed with mean 1 everywhere, and summed over
//! combs of 1 to 32 teeth. P-values are Chernoff's upper bound for a sum of Gamma variables,
//! exp(-a (x - 1 - ln x)) with shape a and x times the mean, times the number of combs tried:
//! both err on the safe side.

mod bound;

use crate::order;
use bound::BoundedCombs;

/// Teeth of the combs that are tried: powers of two.
const TEETH_TRIED: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Bins of a local median.
const BINS_PER_MEDIAN: usize = 64;
/// Combs that are looked for in one periodogram.
const MAX_COMBS: usize = 8;
/// Teeth between those of a comb make a lower fundamental if none has less than this share of the power of the one
/// known: impulses have equal teeth, while times rounded to bins leave faint ones between.
const MIN_SHARE_BETWEEN: f64 = 0.05;
/// Power over the background from which on a single tooth may be seen, and most teeth that are folded back.
const MIN_VISIBLE_POWER: f64 = 6.0;
const MAX_FOLDED_TEETH: u32 = 64;
/// How many times more power than predicted a harmonic may have: several share a bin, and a line between two fills both.
const MAX_EXCESS_OF_HARMONIC: f64 = 16.0;
/// Teeth of a comb that may be the one line of which all others are harmonics.
const MAX_LINES_TRIED: usize = 4;
/// A comb is reported below this corrected p-value.
pub const SIGNIFICANT: f64 = 1e-3;

/// A periodogram to search.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// Power by bin.
    pub power: &'a [f64],
    /// Independent periodograms averaged in it.
    pub averages: f64,
    /// Lowest bin that may be a fundamental.
    pub first: usize,
    /// Bins on each side of a line that belong to it.
    pub guard: usize,
    /// Most teeth to try.
    pub most_teeth: usize,
    /// The background is at least this share of the mean power. A train of nothing but equal periods has none of
    /// its own, and its side lobes would stand out of that.
    pub floor: f64,
    /// Whether harmonics above the last bin are folded back, as those of sampled losses are.
    pub folds: bool,
}

/// A comb that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comb {
    /// Fundamental in bins.
    pub fundamental: f64,
    /// Teeth that were summed.
    pub teeth: usize,
    /// Teeth that stand out one by one.
    pub harmonics: u32,
    /// Natural logarithm of the corrected p-value.
    pub log_p: f64,
    /// Median power of its teeth over the background, in units of the background.
    pub excess: f64,
}

impl Search<'_> {
    /// The combs, most significant first.
    pub fn run(&self) -> Vec<Comb> {
        self.run_without(&[], MAX_COMBS)
    }

    /// At most `most` combs but those of `known` fundamentals, given in bins.
    pub fn run_without(&self, known: &[f64], most: usize) -> Vec<Comb> {
        let mut combs = Vec::new();
        if self.power.len() < BINS_PER_MEDIAN / 4 || self.first + 2 >= self.power.len() {
            return combs;
        }
        let mut white = self.whitened();
        for &fundamental in known {
            self.mask(&mut white, fundamental);
        }
        while combs.len() < most {
            let Some(comb) = self.best(&white) else { break };
            if comb.log_p >= SIGNIFICANT.ln() {
                break;
            }
            self.mask(&mut white, comb.fundamental);
            combs.push(comb);
        }
        combs
    }

    /// Natural logarithm of the corrected p-value that a comb of this fundamental has, in bins: what [`Search::run`] would weigh
    /// it by, without looking for others.
    pub fn weigh(&self, fundamental: f64) -> f64 {
        let white = self.whitened();
        let last = white.len() - 1;
        let trials = (white.len() * TEETH_TRIED.len()) as f64;
        let teeth = TEETH_TRIED
            .iter()
            .filter(|&&teeth| teeth <= self.most_teeth);
        let lowest = teeth
            .filter(|&&teeth| teeth as f64 * (fundamental + 0.5) < last as f64)
            .map(|&teeth| {
                let sum: f64 = (1..=teeth)
                    .map(|h| white[(h as f64 * fundamental).round() as usize])
                    .sum();
                self.log_p(teeth, sum / teeth as f64)
            })
            .fold(0.0, f64::min);
        (lowest + trials.ln()).min(0.0)
    }

    fn whitened(&self) -> Vec<f64> {
        // The median of a Gamma variable of this shape over its mean (Wilson and Hilferty 1931).
        let over_mean = (1.0 - 1.0 / (9.0 * self.averages)).powi(3);
        let medians: Vec<f64> = self
            .power
            .chunks(BINS_PER_MEDIAN)
            .map(|bins| median(bins) / over_mean)
            .collect();
        let mean = self.power.iter().sum::<f64>() / self.power.len() as f64;
        let least = (median(&medians) * 1e-6)
            .max(mean * self.floor)
            .max(f64::MIN_POSITIVE);
        let mut white: Vec<f64> = Vec::with_capacity(self.power.len());
        for (bin, power) in self.power.iter().enumerate() {
            let position = bin as f64 / BINS_PER_MEDIAN as f64 - 0.5;
            let left = (position.max(0.0) as usize).min(medians.len() - 1);
            let right = (left + 1).min(medians.len() - 1);
            let weight = (position - left as f64).clamp(0.0, 1.0);
            let background = medians[left] * (1.0 - weight) + medians[right] * weight;
            white.push(power / background.max(least));
        }
        // The lowest bins hold the trend and the highest is not complex.
        white[..self.first.min(4)].fill(1.0);
        white
    }

    fn log_p(&self, teeth: usize, mean: f64) -> f64 {
        if mean <= 1.0 {
            return 0.0;
        }
        -(teeth as f64 * self.averages) * (mean - 1.0 - mean.ln())
    }

    /// The mean from which on so many teeth have this logarithm of a p-value or a lower one.
    fn mean_of(&self, teeth: usize, log_p: f64) -> f64 {
        let wanted = -log_p / (teeth as f64 * self.averages);
        // Newton's method, from above.
        let mut mean = 1.0 + wanted + (2.0 * wanted).sqrt();
        for _ in 0..8 {
            mean -= (mean - 1.0 - mean.ln() - wanted) / (1.0 - 1.0 / mean);
        }
        // A hair less, because log_p is rounded, too.
        mean * (1.0 - 1e-9)
    }

    /// The most significant comb; `None` where none is significant.
    fn best(&self, white: &[f64]) -> Option<Comb> {
        let trials = (white.len() * TEETH_TRIED.len()) as f64;
        let prepared = BoundedCombs::new(white);
        let mut best: Option<(f64, usize)> = None;
        let mut lowest = SIGNIFICANT.ln() - trials.ln();
        for &teeth in TEETH_TRIED
            .iter()
            .filter(|&&teeth| teeth <= self.most_teeth)
        {
            let least = self.mean_of(teeth, lowest) * teeth as f64;
            if let Some((sum, j)) = prepared.highest(teeth, self.first * teeth, least) {
                let log_p = self.log_p(teeth, sum / teeth as f64);
                if best.is_none() || log_p < lowest {
                    lowest = log_p;
                    best = Some((j as f64 / teeth as f64, teeth));
                }
            }
        }
        let (log_p, (fundamental, teeth)) = (lowest, best?);
        let (fundamental, teeth) = match self.explained_by_one(white, fundamental, teeth) {
            Some(line) => (line, 1),
            None => {
                // A harmonic that was folded back between the teeth is no tooth of a lower fundamental.
                let mut plain = white.to_vec();
                self.mask_folded(&mut plain, fundamental);
                let lower = self.subharmonic(&plain, fundamental);
                (self.refine(white, lower), teeth)
            }
        };
        let (harmonics, excess) = self.standing_out(white, fundamental);
        Some(Comb {
            fundamental,
            teeth,
            harmonics,
            log_p: (log_p + trials.ln()).min(0.0),
            excess,
        })
    }

    /// The tooth, one of the strongest, whose own harmonics, those folded back among them, are all that the comb holds. A strong line has
    /// many, and some comb always catches several.
    fn explained_by_one(&self, white: &[f64], fundamental: f64, teeth: usize) -> Option<f64> {
        if !self.folds || teeth == 1 {
            return None;
        }
        let bins: Vec<usize> = (1..=teeth)
            .map(|h| (h as f64 * fundamental).round() as usize)
            .filter(|&bin| bin > 0 && bin + 1 < white.len())
            .collect();
        let mut strongest = bins.clone();
        strongest.sort_by(|&a, &b| white[b].total_cmp(&white[a]));
        strongest.into_iter().take(MAX_LINES_TRIED).find_map(|bin| {
            let (left, middle, right) = (white[bin - 1], white[bin], white[bin + 1]);
            // Between the bins of a Hann window a line lies where the ratio of two neighbours says.
            let ratio = (left.max(right) / middle).sqrt();
            let offset = ((2.0 * ratio - 1.0) / (ratio + 1.0)).max(0.0);
            let line = bin as f64 + if right > left { offset } else { -offset };
            if line < 1.5 * fundamental {
                return None;
            }
            let rest = self.without_harmonics(white, line, middle);
            let left: f64 = bins.iter().map(|&bin| rest[bin]).sum();
            let mean = left / bins.len() as f64;
            (self.log_p(bins.len(), mean) > SIGNIFICANT.ln()).then_some(line)
        })
    }

    /// Without those harmonics of a line of this power that have no more than a train of events gives them: the h-th has
    /// (sin(h pi f) / (h sin(pi f)))^2 of the power of the first, where f is its frequency over the rate.
    fn without_harmonics(&self, white: &[f64], line: f64, power: f64) -> Vec<f64> {
        let mut rest = white.to_vec();
        let turns = 2.0 * (white.len() - 1) as f64;
        let f = std::f64::consts::PI * line / turns;
        for h in 1..=MAX_FOLDED_TEETH {
            let h = f64::from(h);
            let most =
                MAX_EXCESS_OF_HARMONIC * power * ((h * f).sin() / (h * f.sin().max(1e-3))).powi(2)
                    + MIN_VISIBLE_POWER;
            let within = (h * line).rem_euclid(turns);
            let bin = within.min(turns - within).round() as usize;
            let to = (bin + self.guard + 1).min(white.len());
            for value in &mut rest[bin.saturating_sub(self.guard)..to] {
                if *value <= most {
                    *value = 1.0;
                }
            }
        }
        rest
    }

    /// The lowest fraction of `fundamental` whose own teeth, those between, stand out too.
    fn subharmonic(&self, white: &[f64], fundamental: f64) -> f64 {
        for divisor in (2..=8usize).rev() {
            let lower = fundamental / divisor as f64;
            let between = (1..2 * divisor).filter(|h| h % divisor != 0);
            let teeth: Vec<f64> = between
                .filter_map(|h| white.get((h as f64 * lower).round() as usize).copied())
                .collect();
            let weakest = teeth.iter().copied().fold(f64::INFINITY, f64::min);
            let known = white
                .get(fundamental.round() as usize)
                .copied()
                .unwrap_or(0.0);
            if lower >= self.first as f64
                && self.log_p(1, weakest) < -3.0
                && weakest > MIN_SHARE_BETWEEN * known
            {
                return lower;
            }
        }
        fundamental
    }

    /// Fundamental from the positions of the teeth, each weighted by its power and its number.
    fn refine(&self, white: &[f64], fundamental: f64) -> f64 {
        let (mut weighted, mut weight) = (0.0, 0.0);
        for h in 1..=self.most_teeth {
            let bin = (h as f64 * fundamental).round() as usize;
            if bin + 1 >= white.len() || bin == 0 {
                break;
            }
            let (left, middle, right) = (white[bin - 1], white[bin], white[bin + 1]);
            if self.log_p(1, middle) < -7.0 {
                let offset = (right - left) / (left + middle + right);
                weighted += middle * h as f64 * (bin as f64 + offset);
                weight += middle * (h * h) as f64;
            }
        }
        let refined = weighted / weight;
        if (refined - fundamental).abs() <= 1.0 {
            refined
        } else {
            fundamental
        }
    }

    fn standing_out(&self, white: &[f64], fundamental: f64) -> (u32, f64) {
        let teeth = (white.len() as f64 / fundamental) as usize;
        let mut values: Vec<f64> = (1..=teeth.clamp(1, 64))
            .filter_map(|h| {
                white
                    .get((h as f64 * fundamental).round() as usize)
                    .copied()
            })
            .collect();
        let harmonics = values.iter().filter(|&&v| self.log_p(1, v) < -7.0).count();
        values.truncate(self.most_teeth);
        (harmonics.max(1) as u32, (median(&values) - 1.0).max(0.0))
    }

    /// Harmonics, folded ones included, that may stand out. The h-th of a train of events in bins of time has at most
    /// 1/(h sin(pi f))^2 of the power of the first, where f is its frequency over the rate.
    fn folded(&self, white: &[f64], fundamental: f64) -> u32 {
        let turns = 2.0 * (white.len() - 1) as f64;
        let first = white.get(fundamental.round() as usize).copied();
        let most = (first.unwrap_or(1.0) / MIN_VISIBLE_POWER).sqrt()
            / (std::f64::consts::PI * fundamental / turns).sin().max(1e-3);
        (most as u32).min(MAX_FOLDED_TEETH)
    }

    /// Takes out the harmonics that are folded back.
    fn mask_folded(&self, white: &mut [f64], fundamental: f64) {
        let turns = 2.0 * (white.len() - 1) as f64;
        let most = if self.folds {
            self.folded(white, fundamental)
        } else {
            0
        };
        for h in 1..=most {
            let straight = f64::from(h) * fundamental;
            if straight > turns / 2.0 {
                let within = straight.rem_euclid(turns);
                let bin = within.min(turns - within).round() as usize;
                let to = (bin + self.guard + 1).min(white.len());
                white[bin.saturating_sub(self.guard)..to].fill(1.0);
            }
        }
    }

    fn mask(&self, white: &mut [f64], fundamental: f64) {
        // What was measured of a few events may be no frequency at all, and its multiples would never end.
        if fundamental.is_nan() || fundamental < 1.0 {
            return;
        }
        self.mask_folded(white, fundamental);
        let mut h = 1.0;
        while h * fundamental < (white.len() + self.guard) as f64 {
            let bin = (h * fundamental).round() as usize;
            let from = bin.saturating_sub(self.guard).min(white.len());
            let to = (bin + self.guard + 1).min(white.len());
            white[from..to].fill(1.0);
            h += 1.0;
        }
    }
}

/// 0 of nothing.
fn median(values: &[f64]) -> f64 {
    order::median(values.iter().copied()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
