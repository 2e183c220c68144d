//! First pass: sums and extremes of the measured columns, in integers, and the counts' distribution for FTQ's fractions.

use crate::derive::Derived;
use crate::detector::Detector;
use crate::distribution::Distribution;

/// Segments whose extents are kept, for [`crate::events`], which looks at the first seconds only.
const SEGMENTS: usize = 4096;

/// Sums over a series.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Quanta.
    pub quanta: u64,
    /// Units completed.
    pub units: u128,
    /// Segments.
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
    /// Quanta that ended on another CPU than the one before them in the same segment.
    pub migrations: u64,
    counts: Distribution,
    segment_quanta: u64,
    last_cpu: Option<u32>,
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
            // Exact up to 2,048, to 0.1 % above.
            counts: Distribution::new(3),
            segment_quanta: 0,
            last_cpu: None,
        }
    }

    /// Mean count; 0 without quanta.
    pub fn mean_count(&self) -> f64 {
        self.units as f64 / self.quanta.max(1) as f64
    }

    /// Highest count.
    pub fn max_count(&self) -> u64 {
        self.counts.highest()
    }

    /// 99.9th percentile of counts (to 0.1 %).
    pub fn p999_count(&self) -> f64 {
        self.counts.quantile(0.999)
    }
}

impl Detector for Totals {
    fn push(&mut self, chunk: &Derived<'_>) {
        let columns = &chunk.chunk;
        if chunk.opens_segment {
            self.segments += 1;
            self.segment_quanta = 0;
            self.last_cpu = None;
        }
        let n = chunk.len() as u64;
        self.quanta += n;
        self.segment_quanta += n;
        self.longest_segment = self.longest_segment.max(self.segment_quanta);
        let mut run = (columns.count[0], 0u64);
        for k in 0..chunk.len() {
            let length = columns.end[k].saturating_sub(columns.start[k]);
            let gap = columns.gap_ticks[k].min(length);
            let own = columns.measurement_ticks[k].min(length - gap);
            self.wall += u128::from(length);
            self.gap_ticks += u128::from(gap);
            self.measurement += u128::from(own);
            self.units += u128::from(columns.count[k]);
            self.gaps += u64::from(columns.gaps[k]);
            // Counts repeat: one entry for each run of equal ones.
            if columns.count[k] == run.0 {
                run.1 += 1;
            } else {
                self.counts.record(u64::from(run.0), run.1);
                run = (columns.count[k], 1);
            }
        }
        self.counts.record(u64::from(run.0), run.1);
        for &cpu in columns.cpu {
            self.migrations += u64::from(self.last_cpu.is_some_and(|last| last != cpu));
            self.last_cpu = Some(cpu);
        }
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

    fn merge(&mut self, later: Totals) {
        self.quanta += later.quanta;
        self.units += later.units;
        self.segments += later.segments;
        self.longest_segment = self.longest_segment.max(later.longest_segment);
        self.wall += later.wall;
        self.gaps += later.gaps;
        self.gap_ticks += later.gap_ticks;
        self.measurement += later.measurement;
        self.migrations += later.migrations;
        self.extent = match (self.extent, later.extent) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.extents.extend(later.extents);
        self.extents.truncate(SEGMENTS);
        self.counts.merge(&later.counts);
        self.segment_quanta = later.segment_quanta;
        self.last_cpu = later.last_cpu;
    }
}
