//! Second pass: the pyramid and the density raster that pictures are drawn from.
//!
//! Sizes are fixed (4096 bins of time at the finest level, 1024 x 512 cells of density: more than a screen shows), so a
//! picture of 10^9 quanta costs the memory of one of 10^4, and overplotting becomes density.

use crate::picture::pyramid::{Bin, Density, Level, Pyramid};
use crate::series::bins::{BINS, pace_of};
use crate::series::context::Context;
use crate::series::derive::{Derived, as_float};
use crate::series::detector::Detector;

const FINEST: usize = 4096;
const COLUMNS: usize = 1024;
const ROWS: usize = 512;
/// No row: the pace lies outside of the raster.
const OUTSIDE: u16 = u16::MAX;

const EMPTY: Bin = Bin {
    quanta: 0,
    pace_min: f64::INFINITY,
    pace_max: 0.0,
    pace_sum: 0.0,
    count_min: u32::MAX,
    count_max: 0,
    gap_ns: 0.0,
};

/// Fills bins; paces are in ticks per unit until the end.
#[derive(Clone, Debug)]
pub struct Raster {
    origin: u64,
    bins_per_tick: f64,
    bins: Vec<Bin>,
    rows: Vec<u16>,
    pace: (f64, f64),
    counts: Vec<u32>,
    outside: u64,
}

impl Raster {
    /// Over `extent` (first and last tick of the whole recording) and `pace` (ticks per unit).
    pub fn new(extent: (u64, u64), pace: (f64, f64)) -> Raster {
        let ticks = extent.1.saturating_sub(extent.0).max(1) as f64;
        let (low, span) = (pace.0.ln(), (pace.1 / pace.0).ln());
        let row = |bin: usize| {
            let position = (pace_of(bin).ln() - low) / span * ROWS as f64;
            if (0.0..ROWS as f64).contains(&position) {
                position as u16
            } else {
                OUTSIDE
            }
        };
        Raster {
            origin: extent.0,
            bins_per_tick: FINEST as f64 / ticks,
            bins: vec![EMPTY; FINEST],
            rows: (0..BINS).map(row).collect(),
            pace,
            counts: vec![0; COLUMNS * ROWS],
            outside: 0,
        }
    }

    /// The bin of a quantum that starts at this tick.
    fn bin_at(&self, start: u64) -> usize {
        let since = start.saturating_sub(self.origin) as f64;
        ((since * self.bins_per_tick) as usize).min(FINEST - 1)
    }

    /// Ticks that lie in a bin for certain, however [`Raster::bin_at`] rounds: first, and the one after the last.
    fn extent_of(&self, bin: usize) -> (u64, u64) {
        // Two ticks, and 2^-50 of the time since the origin, are more than its two roundings.
        let edge = |bin: usize| bin as f64 / self.bins_per_tick;
        let room = 2.0 + edge(FINEST) * f64::EPSILON * 4.0;
        let first = self.origin.saturating_add((edge(bin) + room) as u64);
        let last = (edge(bin + 1) - room).max(0.0) as u64;
        (first, self.origin.saturating_add(last))
    }

    /// Adds quanta to the bin of time that they share.
    fn fill(&mut self, at: usize, chunk: &Derived<'_>, range: std::ops::Range<usize>) {
        let mut bin = self.bins[at];
        let column = at * COLUMNS / FINEST * ROWS;
        let cells = &mut self.counts[column..column + ROWS];
        bin.quanta += range.len() as u64;
        // A loop for each column keeps its sum in a register.
        for &count in &chunk.chunk.count[range.clone()] {
            bin.count_min = bin.count_min.min(count);
            bin.count_max = bin.count_max.max(count);
        }
        for &gap in &chunk.chunk.gap_ticks[range.clone()] {
            if gap > 0 {
                bin.gap_ns += as_float(gap);
            }
        }
        let paces = &chunk.pace[range.clone()];
        let mut placed = 0;
        let (mut low, mut high, mut sum) = (bin.pace_min, bin.pace_max, bin.pace_sum);
        for (&pace, &pace_bin) in paces.iter().zip(&chunk.bin[range.clone()]) {
            if pace > 0.0 {
                // A row outside of the raster is outside of the column, too.
                if let Some(cell) = cells.get_mut(usize::from(self.rows[usize::from(pace_bin)])) {
                    *cell = cell.saturating_add(1);
                    placed += 1;
                }
                // Not `min` and `max`, which look after numbers that are none.
                low = if pace < low { pace } else { low };
                high = if pace > high { pace } else { high };
                sum += pace;
            }
        }
        (bin.pace_min, bin.pace_max, bin.pace_sum) = (low, high, sum);
        self.outside += (range.len() - placed) as u64;
        self.bins[at] = bin;
    }

    /// Levels and density; gaps and spectrum are left to the caller.
    pub fn finish(self, context: &Context) -> Pyramid {
        let seconds = context.seconds(FINEST as f64 / self.bins_per_tick);
        let mut rows = vec![0u64; ROWS];
        for (cell, &count) in self.counts.iter().enumerate() {
            rows[cell % ROWS] += u64::from(count);
        }
        Pyramid {
            time_s: (0.0, seconds),
            levels: levels(self.bins, context),
            density: Density {
                columns: COLUMNS,
                rows: ROWS,
                pace_ns: (context.ns(self.pace.0), context.ns(self.pace.1)),
                counts: self.counts,
                outside: self.outside,
            },
            pace_histogram: rows,
            ..Pyramid::default()
        }
    }
}

fn levels(mut finest: Vec<Bin>, context: &Context) -> Vec<Level> {
    for bin in &mut finest {
        bin.pace_min = context.ns(bin.pace_min);
        bin.pace_max = context.ns(bin.pace_max);
        bin.pace_sum = context.ns(bin.pace_sum);
        bin.gap_ns = context.ns(bin.gap_ns);
        if bin.quanta == 0 {
            bin.count_min = 0;
        }
    }
    let mut levels = vec![Level { bins: finest }];
    while levels[levels.len() - 1].bins.len() > 1 {
        let finer = &levels[levels.len() - 1].bins;
        let bins = finer
            .chunks(2)
            .map(|pair| join(&pair[0], &pair[1]))
            .collect();
        levels.push(Level { bins });
    }
    levels
}

fn join(a: &Bin, b: &Bin) -> Bin {
    if a.quanta == 0 || b.quanta == 0 {
        return if a.quanta == 0 { *b } else { *a };
    }
    Bin {
        quanta: a.quanta + b.quanta,
        pace_min: a.pace_min.min(b.pace_min),
        pace_max: a.pace_max.max(b.pace_max),
        pace_sum: a.pace_sum + b.pace_sum,
        count_min: a.count_min.min(b.count_min),
        count_max: a.count_max.max(b.count_max),
        gap_ns: a.gap_ns + b.gap_ns,
    }
}

impl Detector for Raster {
    fn push(&mut self, chunk: &Derived<'_>) {
        let columns = &chunk.chunk;
        let mut from = 0;
        while from < chunk.len() {
            let at = self.bin_at(columns.start[from]);
            // Many successive quanta share a bin: where the next one begins is worked out once for all of them.
            let (first, last) = self.extent_of(at);
            let same = columns.start[from..]
                .iter()
                .take_while(|&&start| first <= start && start < last)
                .count();
            // At the limits, where rounding decides, one by one.
            let to = from + same.max(1);
            self.fill(at, chunk, from..to);
            from = to;
        }
    }
}
