//! First pass: sums and extremes of the measured columns, in integers, and the counts' distribution for FTQ's fractions.

use crate::series::derive::Derived;
use crate::series::detector::Detector;
use bandscope_recording::Chunk;
use bandscope_statistics::quantiles::Distribution;

/// Segments whose extents are kept, for periods: what comes after them is left out there.
const SEGMENTS: usize = 4096;
/// Counts below this have an exact place; of those above the 99.9th percentile is known to 0.1 %.
const LOW_COUNTS: usize = 1 << 14;

/// What an account is closed from besides: sums of the measured columns, in ticks and numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// Number of quanta.
    pub quanta: u64,
    /// Units of work that were completed in them.
    pub units: u128,
    /// Wall time of the quanta, ticks.
    pub wall: u128,
    /// Units that contain a gap.
    pub gaps: u64,
    /// Time in them.
    pub gap_ticks: u128,
    /// Time spent on the measurement inside quanta.
    pub measurement: u128,
}

/// Sums over a series.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Number of quanta.
    pub quanta: u64,
    /// Units of work that were completed in them.
    pub units: u128,
    /// Segments that hold at least one quantum.
    pub segments: u64,
    /// Quanta of the longest segment.
    pub longest_segment: u64,
    /// Wall time, ticks: the sum of all quanta.
    pub wall: u128,
    /// Units that contain a gap.
    pub gaps: u64,
    /// Time in them, ticks.
    pub gap_ticks: u128,
    /// Time spent on the measurement inside quanta, ticks.
    pub measurement: u128,
    /// First and last tick; `None` before the first quantum.
    pub extent: Option<(u64, u64)>,
    /// First and last tick of the first [`SEGMENTS`] segments.
    pub extents: Vec<(u64, u64)>,
    /// Quanta on another CPU than the one before them, in the same segment or in the next of the run, which a change of CPU begins.
    pub migrations: u64,
    /// Start of the first of them, ticks.
    pub first_migration: Option<u64>,
    /// Quanta by count, and those with a count beyond the table.
    low_counts: Vec<u64>,
    high_counts: Distribution,
    segment_quanta: u64,
    /// Segment and CPU of the last quantum.
    last_cpu: Option<(u32, u32)>,
}

impl Totals {
    /// Nothing seen yet.
    pub fn new() -> Totals {
        Totals {
            quanta: 0,
            units: 0,
            segments: 0,
            longest_segment: 0,
            wall: 0,
            gaps: 0,
            gap_ticks: 0,
            measurement: 0,
            extent: None,
            extents: Vec::new(),
            migrations: 0,
            first_migration: None,
            low_counts: vec![0; LOW_COUNTS],
            high_counts: Distribution::new(3),
            segment_quanta: 0,
            last_cpu: None,
        }
    }

    /// What the ledger needs of it.
    pub fn measures(&self) -> Measures {
        Measures {
            quanta: self.quanta,
            units: self.units,
            wall: self.wall,
            gaps: self.gaps,
            gap_ticks: self.gap_ticks,
            measurement: self.measurement,
        }
    }

    /// Mean count; 0 without quanta.
    pub fn mean_count(&self) -> f64 {
        self.units as f64 / self.quanta.max(1) as f64
    }

    /// Highest count of units in one quantum.
    pub fn max_count(&self) -> u64 {
        if self.high_counts.is_empty() {
            self.low_counts
                .iter()
                .rposition(|&number| number > 0)
                .unwrap_or(0) as u64
        } else {
            self.high_counts.highest()
        }
    }

    /// 99.9th percentile of counts.
    pub fn p999_count(&self) -> f64 {
        let wanted = 0.999 * self.quanta as f64;
        let mut seen = 0;
        for (count, number) in self.low_counts.iter().enumerate() {
            seen += number;
            if seen as f64 >= wanted {
                return count as f64;
            }
        }
        self.high_counts
            .quantile((wanted - seen as f64) / self.high_counts.len().max(1) as f64)
    }
}

/// Sums of a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Wall time of the quanta, ticks.
    pub wall: u128,
    /// Time in gaps.
    pub gap_ticks: u128,
    /// The measurement's own.
    pub measurement: u128,
}

/// Wall time, gaps and measurement of a block, each within what the one before leaves.
pub fn sums(columns: &Chunk<'_>) -> Sums {
    let n = columns.len();
    let (start, end) = (&columns.start[..n], &columns.end[..n]);
    let (gaps, own) = (&columns.gap_ticks[..n], &columns.measurement_ticks[..n]);
    // Where no part exceeds what the one before leaves, which only bad input does, there is nothing to bound, and two quanta are
    // done at a time.
    let (mut wall, mut gap_ticks, mut measurement, mut bits) = (0u64, 0u64, 0u64, 0u64);
    for k in 0..n {
        let length = end[k].wrapping_sub(start[k]);
        let rest = length.wrapping_sub(gaps[k]).wrapping_sub(own[k]);
        wall = wall.wrapping_add(length);
        gap_ticks = gap_ticks.wrapping_add(gaps[k]);
        measurement = measurement.wrapping_add(own[k]);
        // A difference below 0 has the highest bit, unless it is from a tick that has it as well.
        bits |= length | gaps[k] | own[k] | rest | (start[k] & (1 << 63));
    }
    // So many times below 2^48 fit into 64 bits (and a block holds far fewer).
    if bits >> 48 == 0 && n < 1 << 16 {
        return Sums {
            wall: wall.into(),
            gap_ticks: gap_ticks.into(),
            measurement: measurement.into(),
        };
    }
    let parts = |k: usize| {
        let length = end[k].saturating_sub(start[k]);
        let gap = length.min(gaps[k]);
        (length, gap, (length - gap).min(own[k]))
    };
    (0..n).map(parts).fold(Sums::default(), |sums, part| Sums {
        wall: sums.wall + u128::from(part.0),
        gap_ticks: sums.gap_ticks + u128::from(part.1),
        measurement: sums.measurement + u128::from(part.2),
    })
}

impl Detector for Totals {
    fn push(&mut self, chunk: &Derived<'_>) {
        let columns = &chunk.chunk;
        if chunk.opens_segment {
            self.segments += 1;
            self.segment_quanta = 0;
            // What happened during another series' segment is counted there.
            self.last_cpu = self
                .last_cpu
                .filter(|last| last.0.checked_add(1) == Some(columns.segment));
        }
        let n = chunk.len() as u64;
        self.quanta += n;
        self.segment_quanta += n;
        self.longest_segment = self.longest_segment.max(self.segment_quanta);
        let sums = sums(columns);
        self.wall += sums.wall;
        self.gap_ticks += sums.gap_ticks;
        self.measurement += sums.measurement;
        let units: u64 = columns.count.iter().map(|&count| u64::from(count)).sum();
        self.units += u128::from(units);
        self.gaps += columns
            .gaps
            .iter()
            .map(|&gaps| u64::from(gaps))
            .sum::<u64>();
        for &count in columns.count {
            match self.low_counts.get_mut(count as usize) {
                Some(number) => *number += 1,
                None => self.high_counts.record(u64::from(count), 1),
            }
        }
        let changes = columns
            .cpu
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .count();
        let moved = self.last_cpu.is_some_and(|last| last.1 != columns.cpu[0]);
        self.migrations += changes as u64 + u64::from(moved);
        if self.migrations > 0 && self.first_migration.is_none() {
            let changed = columns.cpu.windows(2).position(|pair| pair[0] != pair[1]);
            let first = if moved {
                0
            } else {
                changed.map_or(0, |k| k + 1)
            };
            self.first_migration = Some(columns.start[first]);
        }
        self.last_cpu = columns.cpu.last().map(|cpu| (columns.segment, *cpu));
        let (start, end) = (columns.start[0], columns.end[chunk.len() - 1]);
        if chunk.opens_segment && self.extents.len() < SEGMENTS {
            self.extents.push((start, end));
        } else if let Some(extent) = self
            .extents
            .last_mut()
            .filter(|_| self.segments <= SEGMENTS as u64)
        {
            extent.1 = end;
        }
        self.extent = Some(match self.extent {
            Some((first, last)) => (first.min(start), last.max(end)),
            None => (start, end),
        });
    }
}
