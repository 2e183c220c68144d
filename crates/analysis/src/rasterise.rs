//! Second pass: the pyramid and the density raster that pictures are drawn from.
//!
//! Sizes are fixed (4096 bins of time at the finest level, 1024 x 512 cells of density: more than a screen shows), so a
//! picture of 10^9 quanta costs the memory of one of 10^4, and overplotting becomes density.

use crate::context::Context;
use crate::derive::Derived;
use crate::detector::Detector;
use crate::histogram::{BINS, bin_of, pace_of};
use crate::pyramid::{Bin, Density, Level, Pyramid};

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
        for k in 0..chunk.len() {
            let since = columns.start[k].saturating_sub(self.origin) as f64;
            let at = ((since * self.bins_per_tick) as usize).min(FINEST - 1);
            let bin = &mut self.bins[at];
            bin.quanta += 1;
            bin.count_min = bin.count_min.min(columns.count[k]);
            bin.count_max = bin.count_max.max(columns.count[k]);
            bin.gap_ns += columns.gap_ticks[k] as f64;
            let pace = chunk.pace[k];
            let row = if pace > 0.0 {
                bin.pace_min = bin.pace_min.min(pace);
                bin.pace_max = bin.pace_max.max(pace);
                bin.pace_sum += pace;
                self.rows[bin_of(pace)]
            } else {
                OUTSIDE
            };
            if row == OUTSIDE {
                self.outside += 1;
            } else {
                let cell = at * COLUMNS / FINEST * ROWS + usize::from(row);
                self.counts[cell] = self.counts[cell].saturating_add(1);
            }
        }
    }

    fn merge(&mut self, later: Raster) {
        for (bin, other) in self.bins.iter_mut().zip(&later.bins) {
            *bin = join(bin, other);
        }
        for (cell, other) in self.counts.iter_mut().zip(&later.counts) {
            *cell = cell.saturating_add(*other);
        }
        self.outside += later.outside;
    }
}
