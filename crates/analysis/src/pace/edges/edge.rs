//! What an edge is, and what it is placed by: stays, and the quanta between them.

use crate::series::derive::Derived;

/// Most quanta between two stays that still place an edge; with more the pace did not change at an instant.
const BLURRED: usize = 3;

/// One edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// First tick of the quantum in which it lies.
    pub quantum: u64,
    /// Ticks after that; gaps of this quantum are left out until [`Edges::finish`].
    pub offset: f64,
    /// One standard deviation, ticks.
    pub resolution: f32,
    /// Ticks of this quantum in which the CPU was away.
    pub away: f32,
    /// Band before the edge.
    pub from: u8,
    /// Band after the edge.
    pub to: u8,
    /// How it was placed.
    pub place: Place,
    /// Whether the stay before it began with the edge before it.
    pub chained: bool,
}

/// How an edge was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Inside the one quantum between two stays.
    Inside,
    /// At the boundary of two quanta.
    Boundary,
    /// Anywhere in several quanta, or one of two inside one.
    Blurred,
}

impl Edge {
    /// Ticks since `origin`.
    pub fn ticks(&self, origin: u64) -> f64 {
        // Exact: the difference of two ticks of one run has fewer than 53 bits.
        self.quantum as f64 - origin as f64 + self.offset
    }
}

/// What an edge is placed by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quantum {
    pub(super) start: u64,
    /// Present ticks of the series before it.
    pub(super) passed: f64,
    pub(super) present: f64,
    pub(super) units: f64,
    pub(super) away: f64,
    pub(super) count: u32,
}

impl Quantum {
    pub(super) fn of(chunk: &Derived<'_>, k: usize, passed: f64) -> Quantum {
        Quantum {
            start: chunk.chunk.start[k],
            passed,
            present: chunk.present[k],
            units: chunk.units[k],
            away: chunk.length[k] - chunk.present[k],
            count: chunk.chunk.count[k],
        }
    }
}

/// Quanta in a row in one band, or in none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) band: u8,
    pub(super) quanta: u64,
    pub(super) first: Quantum,
    pub(super) last: Quantum,
}

/// Quanta between two stays: their number, and the first few.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Between {
    pub(super) quanta: u64,
    pub(super) first: [Quantum; BLURRED],
}

impl Between {
    pub(super) fn add(&mut self, run: &Run) {
        let ends = [run.first, run.last];
        for k in 0..run.quanta.min(BLURRED as u64) {
            if let Some(place) = self.first.get_mut((self.quanta + k) as usize) {
                // Of runs of up to two quanta these are all of them; longer ones place no edge exactly.
                *place = ends[usize::from(k > 0)];
            }
        }
        self.quanta += run.quanta;
    }

    pub(super) fn quanta(&self) -> &[Quantum] {
        &self.first[..(self.quanta as usize).min(BLURRED)]
    }
}

/// A stay under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stay {
    pub(super) band: u8,
    /// Quanta in the band.
    pub(super) quanta: u64,
    pub(super) last: Quantum,
    /// Present ticks of the series before it.
    pub(super) from: f64,
    /// Whether it began with an edge that was kept.
    pub(super) chained: bool,
}
