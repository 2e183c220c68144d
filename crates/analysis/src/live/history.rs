//! What is drawn over time: how much was lost in each stretch of time, and which paces were held, at several widths of a stretch.
//!
//! Each width keeps the same number of cells, so that memory does not grow with the length of the run: the finest reaches back 51
//! seconds, the coarsest some eight hours. A cell that is complete is shared by all that look at it.

use crate::series::bins::{BINS, bin_of, pace_of};
use std::collections::VecDeque;
use std::sync::Arc;

/// Widths of a cell in seconds; each is a whole number of the one before.
pub const WIDTHS_S: [f64; 5] = [0.1, 0.5, 2.0, 10.0, 60.0];
/// The same in the finest cells.
const FINEST: [u64; 5] = [1, 5, 20, 100, 600];
/// Cells of each width: more than a terminal has columns.
const CELLS: usize = 512;
/// The last finest cell.
const FARTHEST: f64 = (1u64 << 52) as f64;
/// Paces are told apart by 2 %: a row of the picture is wider than that.
pub const PACE_BINS_PER_OCTAVE: usize = 32;
/// Bins of [`crate::series::histogram`] in one of ours.
const FINER: usize = 1024 / PACE_BINS_PER_OCTAVE;

/// A pace in the middle of a bin, in the unit of the paces that were put in.
pub fn pace_of_bin(bin: u16) -> f64 {
    let finer = usize::from(bin) * FINER + FINER / 2;
    pace_of(finer.min(BINS - 1))
}

/// One stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Its number: cell n begins n widths after the start of the run.
    pub number: u64,
    /// Ticks that were measured.
    pub wall: f64,
    /// Ticks of these that were lost to gaps.
    pub gaps: f64,
    /// Ticks of these that were lost to a slower pace than the best one known at that time.
    pub pace: f64,
    /// Quanta by bin of their pace, ascending.
    pub paces: Vec<(u16, u32)>,
}

impl Cell {
    /// Share of the time that was lost; `None` where nothing was measured.
    pub fn lost(&self) -> Option<f64> {
        (self.wall > 0.0).then(|| ((self.gaps + self.pace) / self.wall).clamp(0.0, 1.0))
    }

    fn add(&mut self, other: &Cell) {
        self.wall += other.wall;
        self.gaps += other.gaps;
        self.pace += other.pace;
        for &(bin, number) in &other.paces {
            match self.paces.binary_search_by_key(&bin, |pace| pace.0) {
                Ok(index) => self.paces[index].1 += number,
                Err(index) => self.paces.insert(index, (bin, number)),
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.wall <= 0.0
    }
}

/// The cells of one width.
#[derive(Clone, Debug, Default)]
pub struct Level {
    /// Width of a cell in seconds.
    pub width_s: f64,
    /// In order of their numbers; where nothing was measured there is none. The last one may still grow.
    pub cells: VecDeque<Arc<Cell>>,
}

impl Level {
    fn add(&mut self, number: u64, part: &Cell) {
        match self.cells.back_mut().filter(|cell| cell.number >= number) {
            Some(cell) => Arc::make_mut(cell).add(part),
            None => {
                let mut cell = Cell {
                    number,
                    ..Cell::default()
                };
                cell.add(part);
                self.cells.push_back(Arc::new(cell));
                while self.cells.front().is_some_and(|first| {
                    first.number + CELLS as u64 <= number || self.cells.len() > CELLS
                }) {
                    self.cells.pop_front();
                }
            }
        }
    }
}

/// All of it, of one CPU.
#[derive(Clone, Debug)]
pub struct History {
    /// From the finest width to the coarsest.
    pub levels: Vec<Level>,
    /// Nanoseconds in a tick, the unit of the paces.
    pub ns_per_tick: f64,
    /// The finest cell, under way.
    open: Cell,
}

impl Default for History {
    fn default() -> History {
        History::new(1.0)
    }
}

impl History {
    /// Nothing seen yet; so many nanoseconds are a tick.
    pub fn new(ns_per_tick: f64) -> History {
        let level = |&width_s: &f64| Level {
            width_s,
            cells: VecDeque::new(),
        };
        History {
            levels: WIDTHS_S.iter().map(level).collect(),
            ns_per_tick,
            open: Cell::default(),
        }
    }

    /// Adds a quantum from `from` to `to`, in finest cells since the start of the run: so many ticks, of which so many were lost to gaps and
    /// to pace. One that is longer than a cell is spread over those that it covers. `pace` is in ticks per unit, 0 for none.
    pub fn add(&mut self, from: f64, to: f64, wall: f64, gaps: f64, lost_pace: f64, pace: f64) {
        // Whole numbers beyond this are not told apart, and no run gets there.
        let to = to.clamp(0.0, FARTHEST);
        let from = from.clamp(0.0, to);
        // Most quanta are much shorter than a cell.
        if to - from <= 1.0 {
            return self.part(((from + to) / 2.0) as u64, wall, gaps, lost_pace, pace);
        }
        let (first, last) = (from as u64, to as u64);
        let reach = (last - first).min((CELLS as u64) * FINEST[4]);
        for number in last - reach..=last {
            let here = (to.min((number + 1) as f64) - from.max(number as f64)).max(0.0);
            let share = here / (to - from);
            let paced = if number == last { pace } else { 0.0 };
            self.part(number, wall * share, gaps * share, lost_pace * share, paced);
        }
    }

    fn part(&mut self, number: u64, wall: f64, gaps: f64, lost_pace: f64, pace: f64) {
        if self.open.number != number {
            self.settle();
            self.open.number = number;
        }
        let open = &mut self.open;
        open.wall += wall;
        open.gaps += gaps;
        open.pace += lost_pace;
        if pace > 0.0 {
            let bin = (bin_of(pace) / FINER) as u16;
            // Neighbouring quanta mostly have the same pace.
            match open.paces.binary_search_by_key(&bin, |pace| pace.0) {
                Ok(index) => open.paces[index].1 += 1,
                Err(index) => open.paces.insert(index, (bin, 1)),
            }
        }
    }

    /// Hands the finest cell on to all widths.
    pub fn settle(&mut self) {
        if self.open.is_empty() {
            return;
        }
        for (level, width) in self.levels.iter_mut().zip(FINEST) {
            level.add(self.open.number / width, &self.open);
        }
        self.open = Cell {
            number: self.open.number,
            ..Cell::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_holds_the_same_time() {
        let mut history = History::default();
        for k in 0..6_000u32 {
            let from = f64::from(k) * 0.1;
            let pace = if k % 2 == 0 { 100.0 } else { 300.0 };
            history.add(from, from + 0.1, 10.0, 1.0, 2.0, pace);
        }
        history.settle();
        for level in &history.levels {
            let sum = |of: fn(&Cell) -> f64| level.cells.iter().map(|cell| of(cell)).sum::<f64>();
            let cells = level.cells.len();
            // 600 cells of the finest width, of which the last 512 are kept.
            let share = if level.width_s == 0.1 {
                512.0 / 600.0
            } else {
                1.0
            };
            assert!(
                (sum(|cell| cell.wall) / 60_000.0 - share).abs() < 1e-3,
                "{cells}"
            );
            assert!(level.cells.iter().all(|cell| cell.paces.len() == 2));
            assert_eq!(level.cells.back().unwrap().lost(), Some(0.3));
        }
        let lengths: Vec<usize> = history
            .levels
            .iter()
            .map(|level| level.cells.len())
            .collect();
        assert_eq!(lengths, [512, 120, 30, 6, 1]);
    }

    #[test]
    fn a_long_absence_is_spread_over_the_time_that_it_took() {
        let mut history = History::default();
        history.add(0.0, 0.5, 50.0, 0.0, 0.0, 100.0);
        history.add(0.5, 30.5, 3000.0, 2900.0, 0.0, 100.0);
        history.settle();
        let finest = &history.levels[0].cells;
        assert_eq!(finest.len(), 31);
        assert!((finest[0].wall - 100.0).abs() < 1e-9, "{:?}", finest[0]);
        assert!((finest[15].lost().unwrap() - 2900.0 / 3000.0).abs() < 1e-9);
    }

    #[test]
    fn where_nothing_was_measured_there_is_no_cell() {
        let mut history = History::default();
        history.add(0.0, 0.5, 50.0, 0.0, 0.0, 100.0);
        history.add(5.2, 5.5, 30.0, 30.0, 0.0, 0.0);
        history.settle();
        let numbers: Vec<u64> = history.levels[0]
            .cells
            .iter()
            .map(|cell| cell.number)
            .collect();
        assert_eq!(numbers, [0, 5]);
        assert_eq!(history.levels[1].cells.len(), 2);
    }

    #[test]
    fn memory_is_bounded_whatever_a_quantum_claims() {
        let mut history = History::default();
        history.add(0.0, 1e15, 1e15, 1e15, 0.0, 5.0);
        history.add(1e15, f64::MAX, 1.0, 0.0, 0.0, 5.0);
        history.settle();
        for level in &history.levels {
            assert!(level.cells.len() <= CELLS);
        }
    }

    #[test]
    fn a_bin_holds_its_pace() {
        for pace in [3.0, 112.25, 5e6] {
            let mut history = History::default();
            history.add(0.0, 0.1, 1.0, 0.0, 0.0, pace);
            history.settle();
            let bin = history.levels[0].cells[0].paces[0].0;
            assert!((pace_of_bin(bin) / pace - 1.0).abs() < 0.02, "{pace}");
        }
    }
}
