//! First pass: pace and losses of the start of a run in blocks of 10 ms, and when they settle.
//!
//! Published: a signal of 100 Hz and a low pace in the first 180 ms, which depends on time and not on samples thrown away.
//! Blocks of all series of a CPU are set in one order of time, because segments alternate. One change from worse to
//! better near the start is looked for by maximum likelihood: pace, share of time away and scatter of pace together, each in
//! deviations of the settled part of the run and none worth more than [`CAP`] of them, so that a single bad block decides
//! nothing (Fearnhead and Rigaill 2019). What was there before must not come back.

use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use bandscope_statistics::order::{self, SIGMA_PER_MAD};

/// Length of a block in seconds.
const BLOCK: f64 = 0.01;
/// Blocks that are kept of a series: the first 20 s of the run.
const BLOCKS: usize = 2048;
/// Share of a block that must have been measured.
const MEASURED: f64 = 0.25;
/// Fewest blocks before the change, and in all.
const MIN_BLOCKS_BEFORE: usize = 2;
const MIN_BLOCKS: usize = 24;
/// A warm-up is at the start: at most this share of what was seen.
const MAX_SHARE_OF_RUN: f64 = 0.4;
/// Deviations that one block counts at most.
const CAP: f64 = 8.0;
/// Twice the gain in log likelihood that a change must bring: the square of 6 deviations, for some 10^3 places and three quantities.
const GAIN: f64 = 36.0;
/// Shares of the blocks on the worse side of the middle, before the change at least and after it at most.
const WORSE_BEFORE: f64 = 0.75;
const WORSE_AFTER: f64 = 0.02;
/// Smallest differences that matter: of pace (a ratio), of the share of time away, of the scatter of pace (a ratio of the pace).
const MIN_DIFFERENCES: [f64; QUANTITIES] = [2e-3, 1e-3, 2e-3];

/// Pace, share of time away, scatter of pace.
const QUANTITIES: usize = 3;

/// Sums over 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// Its number since tick 0 of the recording.
    number: u64,
    length: f64,
    present: f64,
    units: f64,
    away: f64,
    /// Number, sum and sum of squares of paces.
    paces: [f64; 3],
}

impl Block {
    fn join(&mut self, other: &Block) {
        self.length += other.length;
        self.present += other.present;
        self.units += other.units;
        self.away += other.away;
        for (mine, other) in self.paces.iter_mut().zip(other.paces) {
            *mine += other;
        }
    }

    fn quantities(&self) -> [f64; QUANTITIES] {
        let pace = self.present / self.units;
        let [number, sum, squares] = self.paces;
        let mean = sum / number;
        let variance = (squares / number - mean * mean).max(0.0);
        [pace, self.away / self.length, variance.sqrt() / mean]
    }
}

/// The start of a series.
#[derive(Clone, Debug)]
pub struct Start {
    block_ticks: f64,
    blocks: Vec<Block>,
}

impl Start {
    /// Nothing seen yet.
    pub fn new(context: &Context) -> Start {
        Start {
            block_ticks: context.ticks(BLOCK).max(1.0),
            blocks: Vec::new(),
        }
    }

    /// Pace over its median, time away and scatter less theirs, of each block that was measured well enough, in order of time.
    pub fn finish(self) -> Vec<Observed> {
        let mut observed: Vec<Observed> = self
            .blocks
            .iter()
            .filter(|block| block.length >= MEASURED * self.block_ticks && block.units > 0.0)
            .map(|block| Observed {
                number: block.number,
                quantities: block.quantities(),
            })
            .collect();
        // Each work kernel has its own pace and gap threshold; what is compared is each against itself.
        let usual: [f64; QUANTITIES] =
            std::array::from_fn(|q| median(observed.iter().map(|block| block.quantities[q])));
        for block in &mut observed {
            block.quantities[0] /= usual[0];
            block.quantities[1] -= usual[1];
            block.quantities[2] -= usual[2];
        }
        observed
    }

    fn add(&mut self, block: Block) {
        let full = self.blocks.len() >= BLOCKS;
        match self.blocks.last_mut() {
            Some(last) if last.number >= block.number => last.join(&block),
            _ if full => {}
            _ => self.blocks.push(block),
        }
    }
}

impl Detector for Start {
    fn push(&mut self, chunk: &Derived<'_>) {
        let starts = chunk.chunk.start;
        let mut from = 0;
        while from < starts.len() && self.blocks.len() < BLOCKS {
            let number = (starts[from] as f64 / self.block_ticks) as u64;
            let end = (number + 1) as f64 * self.block_ticks;
            let to = from
                + starts[from..]
                    .partition_point(|start| (*start as f64) < end)
                    .max(1);
            let mut block = Block {
                number,
                length: chunk.length[from..to].iter().sum(),
                present: chunk.present[from..to].iter().sum(),
                units: chunk.units[from..to].iter().sum(),
                away: chunk.gap_loss[from..to].iter().sum(),
                ..Block::default()
            };
            for &pace in chunk.pace[from..to].iter().filter(|pace| **pace > 0.0) {
                block.paces[0] += 1.0;
                block.paces[1] += pace;
                block.paces[2] += pace * pace;
            }
            self.add(block);
            from = to;
        }
    }
}

/// What was seen in a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Its number since tick 0 of the recording.
    number: u64,
    quantities: [f64; QUANTITIES],
}

/// A start that was worse than the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp {
    /// Seconds from tick 0 to its end, and their uncertainty.
    pub duration_s: f64,
    pub uncertainty_s: f64,
    /// Pace before over pace after.
    pub ratio: f64,
    /// Share of the time away, before less after.
    pub away: f64,
    /// Whether time away or the scatter of pace changed too, and not the pace alone.
    pub noise: bool,
    /// Whether it ends where another series begins, whose own state may be all there is to it.
    pub switched: bool,
    /// Time that was seen after it over its length.
    pub settled: f64,
    /// Probability that one bad stretch of a run lies at its very start.
    pub p_value: f64,
}

/// Looks for a warm-up in the blocks of all series of one CPU.
pub fn find(series: &[&[Observed]]) -> Option<WarmUp> {
    let mut tagged: Vec<(Observed, usize)> = series
        .iter()
        .zip(0..)
        .flat_map(|(blocks, series)| blocks.iter().map(move |block| (*block, series)))
        .collect();
    tagged.sort_by_key(|(block, _)| block.number);
    let blocks: Vec<Observed> = tagged.iter().map(|(block, _)| *block).collect();
    let n = blocks.len();
    if n < MIN_BLOCKS {
        return None;
    }
    let settled = &blocks[n / 2..];
    let mut scores = vec![[0.0; QUANTITIES]; n];
    for q in 0..QUANTITIES {
        let of = |block: &Observed| block.quantities[q];
        let middle = median(settled.iter().map(of));
        let deviation =
            SIGMA_PER_MAD * median(settled.iter().map(|block| (of(block) - middle).abs()));
        // What is too small to matter is not a deviation either.
        let scale = deviation.max(MIN_DIFFERENCES[q] / CAP);
        for (score, block) in scores.iter_mut().zip(&blocks) {
            score[q] = ((of(block) - middle) / scale).clamp(-CAP, CAP);
        }
    }
    let change = change(&scores)?;
    let near = &tagged[change.saturating_sub(2)..(change + 2).min(n)];
    let switched = near.iter().any(|(_, series)| *series != near[0].1);
    let (before, after) = blocks.split_at(change);
    let mut worse = [false; QUANTITIES];
    let mut levels = [[0.0; 2]; QUANTITIES];
    for q in 0..QUANTITIES {
        let of = |blocks: &[Observed]| median(blocks.iter().map(|block| block.quantities[q]));
        levels[q] = [of(before), of(after)];
        worse[q] = is_worse(q, before, after, levels[q]);
    }
    let single_block = BLOCK / 2.0;
    let end_s = BLOCK * after[0].number as f64;
    let (duration_s, uncertainty_s) = if worse[0] {
        (refined(&blocks, change, levels[0]), single_block / 5.0)
    } else {
        (end_s, single_block)
    };
    // A pace that only scatters more costs nothing.
    (worse[0] || worse[1]).then(|| WarmUp {
        duration_s,
        uncertainty_s,
        ratio: levels[0][0] / levels[0][1],
        away: levels[1][0] - levels[1][1],
        noise: worse[1] || worse[2],
        switched,
        settled: after.len() as f64 / before.len() as f64,
        p_value: 1.0 / (after.len() + 1) as f64,
    })
}

/// The number of blocks before the change that explains the scores best; `None` if none is needed.
fn change(scores: &[[f64; QUANTITIES]]) -> Option<usize> {
    let most = (scores.len() as f64 * MAX_SHARE_OF_RUN) as usize;
    let mut sums = [0.0; QUANTITIES];
    let mut best = (GAIN, None);
    for (number, score) in (1..=most).zip(scores) {
        for (sum, score) in sums.iter_mut().zip(score) {
            *sum += score;
        }
        // After the change the mean is 0 and the deviation 1, so this is twice the gain in log likelihood.
        let square = |sum: &f64| sum.max(0.0).powi(2) / number as f64;
        let gain: f64 = sums.iter().map(square).sum();
        if number >= MIN_BLOCKS_BEFORE && gain > best.0 {
            best = (gain, Some(number));
        }
    }
    best.1
}

/// Whether a quantity was worse before the change, nearly always, and after it nearly never.
fn is_worse(q: usize, before: &[Observed], after: &[Observed], [bad, good]: [f64; 2]) -> bool {
    let middle = f64::midpoint(bad, good);
    let share = |blocks: &[Observed]| {
        let worse = blocks.iter().filter(|block| block.quantities[q] > middle);
        worse.count() as f64 / blocks.len() as f64
    };
    // The first block after the change may be half of it.
    let rest = &after[1.min(after.len() - 1)..];
    bad - good >= MIN_DIFFERENCES[q] && share(before) >= WORSE_BEFORE && share(rest) <= WORSE_AFTER
}

/// The end in seconds, to a part of a block: the pace of the block in which it lies is mixed.
fn refined(blocks: &[Observed], change: usize, [bad, good]: [f64; 2]) -> f64 {
    let from = change.saturating_sub(1);
    let part = |block: &Observed| ((block.quantities[0] - good) / (bad - good)).clamp(0.0, 1.0);
    let near = blocks.iter().skip(from).take(2);
    BLOCK * (blocks[from].number as f64 + near.map(part).sum::<f64>())
}

/// 0 of nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    order::median(values).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of which the first quarter has these quantities.
    fn starting(first: [f64; QUANTITIES]) -> Option<WarmUp> {
        let quantities = |number| match number < 100 {
            true => first,
            false => [100.0, 0.01, 0.001],
        };
        let blocks: Vec<Observed> = (0..400)
            .map(|number| Observed {
                number,
                quantities: quantities(number),
            })
            .collect();
        find(&[&blocks])
    }

    #[test]
    fn a_start_that_only_scatters_more_is_no_warm_up() {
        assert_eq!(starting([100.0, 0.01, 0.005]), None);
        assert_eq!(starting([100.0, 0.0, 0.005]), None);
        for worse in [[101.0, 0.01, 0.001], [100.0, 0.02, 0.005]] {
            let found = starting(worse).expect("a warm-up");
            assert!((found.duration_s - 1.0).abs() < 0.02, "{found:?}");
        }
    }
}
