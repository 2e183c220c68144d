//! Second pass over a file of counts: losses are split by how long they persist.
//!
//! Such a file holds no gaps. The rule: a band that is held for three quanta is a level, and what it costs over the best
//! pace is pace. One quantum or more that leave a level and return to it without holding another one lost time to
//! a gap: what they cost over the level around them is booked to `unnamed`, the rest to pace. Between two
//! different levels lie edges, which are pace too, up to the slower of the two.
//!
//! Limit: a slow state of one or two quanta cannot be told from an interruption of that length, nor a gap of three
//! quanta and more, during which units went on, from a slow pace. The report says `inferred`.

use crate::ledger::account::Books;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use crate::series::levels::{Levels, NO_BAND};

/// Quanta that make a level.
const LEVEL: u32 = 3;

/// Time and units of some quanta.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    ticks: f64,
    units: f64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.ticks += other.ticks;
        self.units += other.units;
    }
}

/// Splits the losses of a series.
#[derive(Clone, Debug)]
pub struct Inferred {
    best: f64,
    levels: Levels,
    books: Books,
    level: Option<u8>,
    /// Quanta since the level was left that belong to no new one so far.
    unsettled: Sum,
    /// The band that is being held, for how many quanta, and their sum.
    held: (u8, u32, Sum),
}

impl Inferred {
    /// Against `best` ticks per unit.
    pub fn new(best: f64, levels: Levels) -> Inferred {
        Inferred {
            best,
            levels,
            books: Books::default(),
            level: None,
            unsettled: Sum::default(),
            held: (NO_BAND, 0, Sum::default()),
        }
    }

    /// What was lost.
    pub fn finish(mut self) -> Books {
        self.end_segment();
        self.books
    }

    #[inline]
    fn quantum(&mut self, band: u8, quantum: Sum) {
        if band != self.held.0 {
            let left = std::mem::take(&mut self.held.2);
            self.unsettled.add(left);
            self.held = (band, 0, Sum::default());
        }
        self.held.1 = self.held.1.saturating_add(1);
        self.held.2.add(quantum);
        if band != NO_BAND && (self.level == Some(band) || self.held.1 >= LEVEL) {
            self.settle(band);
        } else if band == NO_BAND {
            let left = std::mem::take(&mut self.held.2);
            self.unsettled.add(left);
        }
    }

    /// A level stands: books what lies before it and what was held of it.
    fn settle(&mut self, band: u8) {
        let unsettled = std::mem::take(&mut self.unsettled);
        let slower = [self.level, Some(band)]
            .into_iter()
            .flatten()
            .filter_map(|band| self.levels.centre(band))
            .fold(0.0, f64::max);
        self.book(unsettled, slower);
        let held = std::mem::take(&mut self.held.2);
        self.books.pace += held.ticks - held.units * self.best;
        self.level = Some(band);
    }

    /// Books what was lost over `level` to gaps and the rest to pace.
    fn book(&mut self, sum: Sum, level: f64) {
        let gap = (sum.ticks - sum.units * level).max(0.0);
        self.books.gaps += gap;
        self.books.pace += sum.ticks - gap - sum.units * self.best;
    }

    fn end_segment(&mut self) {
        // Up to two quanta of a band before the end cannot be judged by how long they last: they are taken for pace.
        if self.held.0 != NO_BAND {
            self.settle(self.held.0);
        } else {
            let unsettled = std::mem::take(&mut self.unsettled);
            let level = self.level.and_then(|band| self.levels.centre(band));
            self.book(unsettled, level.unwrap_or(self.best));
        }
        self.level = None;
        self.held = (NO_BAND, 0, Sum::default());
    }
}

impl Detector for Inferred {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.end_segment();
        }
        for k in 0..chunk.len() {
            if chunk.length[k] > 0.0 {
                let quantum = Sum {
                    ticks: chunk.present[k],
                    units: chunk.units[k],
                };
                self.quantum(chunk.band[k], quantum);
            }
        }
    }
}
