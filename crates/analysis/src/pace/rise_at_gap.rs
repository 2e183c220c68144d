//! Second pass: whether the pace rises where the CPU was interrupted.
//!
//! Each quantum in a slow state is a trial for a rise, each in a fast state one for a fall, with or without a gap in it. The
//! quantum of a change is the edge quantum between two stays; where there is none, the gap may lie in either
//! neighbour. That makes changes look a little more like gaps than the other quanta do, but rises and falls alike, so the two
//! directions are held against each other as well. Fisher's exact test, one-sided, on both tables.

use crate::periods::signals::SMALLEST_P;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use crate::series::levels::{Levels, NO_BAND};
use bandscope_statistics::counts::fisher_exact;
use std::cmp::Ordering;

/// Bands within this ratio are one pace, as for `bistable-pace`.
const MIN_RATIO_APART: f64 = 1.05;
/// Quanta in no band between two stays; more, and where the change took place is not known.
const EDGE: u64 = 2;

/// Quanta in which the pace could change and did, without and with a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Quanta in a state that has another one in this direction: `[without, with]` a gap.
    pub trials: [u64; 2],
    /// Those in which it changed.
    pub changes: [u64; 2],
}

impl Direction {
    fn add(&mut self, gap: bool, changed: bool) {
        self.trials[usize::from(gap)] += 1;
        self.changes[usize::from(gap)] += u64::from(changed);
    }

    /// Odds of a change with a gap over those without, and its 95 % interval (Haldane and Anscombe, Woolf).
    pub fn odds_ratio(&self) -> (f64, [f64; 2]) {
        let cell = |changed: u64| changed as f64 + 0.5;
        let stayed = |gap: usize| self.trials[gap] - self.changes[gap];
        let cells = [
            cell(self.changes[1]),
            cell(stayed(1)),
            cell(self.changes[0]),
            cell(stayed(0)),
        ];
        let ratio = cells[0] * cells[3] / (cells[1] * cells[2]);
        let width = (1.96 * cells.iter().map(|cell| 1.0 / cell).sum::<f64>().sqrt()).exp();
        (ratio, [ratio / width, ratio * width])
    }
}

/// Changes of pace in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// To a faster pace.
    pub rises: Direction,
    /// To a slower one.
    pub falls: Direction,
    /// Stays between a rise and a fall: number, sum and sum of squares of their quanta.
    fast: [u64; 3],
}

impl Changes {
    /// Whether the fast stays are all of one length, so that the changes have a clock of their own: their deviation is below a
    /// fifth of their mean, where what ends by chance has one of about the mean.
    pub fn is_clockwork(&self) -> bool {
        let [number, sum, squares] = self.fast.map(|sum| sum as f64);
        let mean = sum / number.max(1.0);
        let variance = (squares / number.max(1.0) - mean * mean).max(0.0);
        // A quantum more or less is no difference.
        variance.sqrt() < 0.2 * mean + 0.5
    }

    /// Probability that gaps would be at least as frequent in rises if they had nothing to do with them: against the
    /// slow quanta without a rise, and against falls; the greater of the two.
    pub fn p_value(&self) -> f64 {
        let [without, with] = self.rises.changes;
        let stayed = [0, 1].map(|gap| self.rises.trials[gap] - self.rises.changes[gap]);
        let against_stays = fisher_exact(with, with + without, stayed[1], stayed[0] + stayed[1]);
        let [falls_without, falls_with] = self.falls.changes;
        let against_falls =
            fisher_exact(with, with + without, falls_with, falls_with + falls_without);
        against_stays.max(against_falls).max(SMALLEST_P)
    }
}

/// Counts changes of pace by whether there was a gap.
#[derive(Clone, Debug)]
pub struct RisesAtGaps {
    /// The pace that each band belongs to, fastest first.
    paces: Vec<u8>,
    slowest: u8,
    /// Pace of the last quantum in a band, and whether it had a gap.
    last: Option<(u8, bool)>,
    /// Quanta since the last rise.
    since_rise: Option<u64>,
    /// Quanta in no band since: their number, and whether one had a gap.
    between: (u64, bool),
    changes: Changes,
}

impl RisesAtGaps {
    /// `None` where there is but one pace.
    pub fn new(levels: &Levels) -> Option<RisesAtGaps> {
        let mut paces: Vec<u8> = Vec::new();
        let mut before = f64::INFINITY;
        for &centre in levels.centres() {
            let pace = match paces.last() {
                None => 0,
                Some(pace) => pace + u8::from(centre > before * MIN_RATIO_APART),
            };
            paces.push(pace);
            before = centre;
        }
        let slowest = paces.last().copied().filter(|&pace| pace > 0)?;
        Some(RisesAtGaps {
            paces,
            slowest,
            last: None,
            since_rise: None,
            between: (0, false),
            changes: Changes::default(),
        })
    }

    /// What was counted.
    pub fn changes(&self) -> Changes {
        self.changes
    }

    #[inline]
    fn quantum(&mut self, band: u8, gap: bool) {
        if band == NO_BAND {
            self.between.0 += 1;
            self.between.1 |= gap;
            return;
        }
        let pace = self.paces[usize::from(band)];
        if let Some((last, last_gap)) = self.last.filter(|_| self.between.0 <= EDGE) {
            let gap = match (self.between.0, pace == last) {
                (0, true) => gap,
                (0, false) => gap || last_gap,
                _ => self.between.1,
            };
            if last > 0 {
                self.changes.rises.add(gap, pace < last);
            }
            if last < self.slowest {
                self.changes.falls.add(gap, pace > last);
            }
            self.stay(pace.cmp(&last));
        } else {
            self.since_rise = None;
        }
        self.last = Some((pace, gap));
        self.between = (0, false);
    }
}

impl RisesAtGaps {
    /// Takes the quanta that go on in the band of the last one together, and says how many they were: one by one they take
    /// 3.6 times as many instructions.
    fn go_on(&mut self, band: u8, bands: &[u8], gaps: &[u64]) -> usize {
        let Some((pace, last_gap)) = self.last.as_mut().filter(|_| band != NO_BAND) else {
            return 0;
        };
        let others = bands.iter().position(|&other| other != band);
        let gaps = &gaps[..others.unwrap_or(bands.len())];
        let Some(&last) = gaps.last() else { return 0 };
        let quanta = gaps.len() as u64;
        let with = gaps.iter().filter(|&&gap| gap > 0).count() as u64;
        for (direction, can_change) in [
            (&mut self.changes.rises, *pace > 0),
            (&mut self.changes.falls, *pace < self.slowest),
        ] {
            if can_change {
                direction.trials[0] += quanta - with;
                direction.trials[1] += with;
            }
        }
        if let Some(since) = &mut self.since_rise {
            *since += quanta;
        }
        *last_gap = last > 0;
        gaps.len()
    }

    /// Counts the quanta of the stay after a rise.
    #[inline]
    fn stay(&mut self, change: Ordering) {
        match change {
            Ordering::Less => self.since_rise = Some(1),
            Ordering::Equal => {
                if let Some(quanta) = &mut self.since_rise {
                    *quanta += 1;
                }
            }
            Ordering::Greater => {
                if let Some(quanta) = self.since_rise.take() {
                    let [number, sum, squares] = &mut self.changes.fast;
                    *number += 1;
                    *sum += quanta;
                    *squares = squares.saturating_add(quanta.saturating_mul(quanta));
                }
            }
        }
    }
}

impl Detector for RisesAtGaps {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.last = None;
            self.since_rise = None;
            self.between = (0, false);
        }
        let (mut bands, mut gaps) = (chunk.band, chunk.chunk.gap_ticks);
        while let (Some(&band), Some(&gap)) = (bands.first(), gaps.first()) {
            self.quantum(band, gap > 0);
            let same = self.go_on(band, &bands[1..], &gaps[1..]);
            (bands, gaps) = (&bands[1 + same..], &gaps[1 + same..]);
        }
    }
}
