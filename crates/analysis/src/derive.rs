//! Chunks with the columns that detectors share, computed once and in blocks that stay in the cache.
//!
//! Counts are not analysed (METHOD: "do not analyse counts"): pace is additive over bands and free of quantisation, and the
//! loss against the local band is additive over interruptions. Data comes from
//! [`bandscope_recording::Source::replay_quanta`] and goes to the detectors of [`crate::passes`].

use crate::levels::{Levels, NO_BAND};
use bandscope_recording::Chunk;

/// Quanta handed to the detectors at a time: eight columns of it fit into a second-level cache.
pub const BLOCK: usize = 4096;

/// A part of the quanta of one segment, with derived columns of the same length.
#[derive(Clone, Copy, Debug)]
pub struct Derived<'a> {
    /// The measured columns.
    pub chunk: Chunk<'a>,
    /// Whether a segment starts here.
    pub opens_segment: bool,
    /// Number of the first quantum within its segment.
    pub index: u64,
    /// Wall time, ticks.
    pub length: &'a [f64],
    /// Ticks of the units without a gap.
    pub present: &'a [f64],
    /// Units without a gap.
    pub units: &'a [f64],
    /// Pace in ticks per unit; 0 where no unit completed without a gap.
    pub pace: &'a [f64],
    /// Ticks lost to gaps: their duration less a unit each at the pace around them.
    pub gap_loss: &'a [f64],
    /// Band of each quantum, [`NO_BAND`] where it lies in none; in the first pass all are.
    pub band: &'a [u8],
    /// Ticks lost against the band around it, gaps left out; 0 in the first pass and at edges, because a change of band is
    /// no interference.
    pub residual: &'a [f64],
}

impl Derived<'_> {
    /// Number of quanta.
    pub fn len(&self) -> usize {
        self.pace.len()
    }

    /// Whether there is none; a block that is handed out never is.
    pub fn is_empty(&self) -> bool {
        self.pace.is_empty()
    }
}

/// Cuts chunks into blocks and computes their columns.
#[derive(Debug, Default)]
pub struct Deriver {
    length: Vec<f64>,
    present: Vec<f64>,
    units: Vec<f64>,
    pace: Vec<f64>,
    gap_loss: Vec<f64>,
    band: Vec<u8>,
    residual: Vec<f64>,
    segment: Option<u32>,
    index: u64,
    last_pace: f64,
    last_band: u8,
}

impl Deriver {
    /// A deriver at the start of a series.
    pub fn new() -> Deriver {
        Deriver {
            last_band: NO_BAND,
            ..Deriver::default()
        }
    }

    /// Hands out `chunk` in blocks; `levels` are the bands, known in the second pass.
    pub fn feed(
        &mut self,
        chunk: Chunk<'_>,
        levels: Option<&Levels>,
        gaps_known: bool,
        mut visit: impl FnMut(&Derived<'_>),
    ) {
        let mut from = 0;
        while from < chunk.len() {
            let to = (from + BLOCK).min(chunk.len());
            let block = slice(&chunk, from, to);
            let opens_segment = self.segment != Some(chunk.segment);
            if opens_segment {
                self.segment = Some(chunk.segment);
                self.index = 0;
                self.last_band = NO_BAND;
            }
            self.columns(&block);
            self.bands(levels, gaps_known);
            visit(&Derived {
                chunk: block,
                opens_segment,
                index: self.index,
                length: &self.length,
                present: &self.present,
                units: &self.units,
                pace: &self.pace,
                gap_loss: &self.gap_loss,
                band: &self.band,
                residual: &self.residual,
            });
            self.index += block.len() as u64;
            from = to;
        }
    }

    /// What the measured columns say, whatever they hold: a gap is never longer than its quantum.
    fn columns(&mut self, block: &Chunk<'_>) {
        let n = block.len();
        for column in [
            &mut self.length,
            &mut self.present,
            &mut self.units,
            &mut self.pace,
            &mut self.gap_loss,
        ] {
            column.clear();
            column.resize(n, 0.0);
        }
        for k in 0..n {
            let length = block.end[k].saturating_sub(block.start[k]);
            let away = block.gap_ticks[k].saturating_add(block.measurement_ticks[k]);
            let present = length.saturating_sub(away) as f64;
            let units = f64::from(block.count[k].saturating_sub(block.gaps[k]));
            self.length[k] = length as f64;
            self.present[k] = present;
            self.units[k] = units;
            self.pace[k] = if units > 0.0 { present / units } else { 0.0 };
        }
        for k in 0..n {
            if self.pace[k] > 0.0 {
                self.last_pace = self.pace[k];
            }
            // Not the number of gaps: an interruption while counters were read is time away in which no unit was done.
            if block.gap_ticks[k] > 0 {
                let away = (block.gap_ticks[k] as f64).min(self.length[k]);
                self.gap_loss[k] = (away - f64::from(block.gaps[k]) * self.last_pace).max(0.0);
            }
        }
    }

    /// Bands, and what was lost against them.
    fn bands(&mut self, levels: Option<&Levels>, gaps_known: bool) {
        let n = self.pace.len();
        self.band.clear();
        self.residual.clear();
        let Some(levels) = levels else {
            self.band.resize(n, NO_BAND);
            self.residual.resize(n, 0.0);
            return;
        };
        self.band
            .extend(self.pace.iter().map(|&pace| levels.band_of(pace)));
        let mut last = self.last_band;
        for k in 0..n {
            let band = self.band[k];
            let residual = if let Some(centre) = levels.centre(band) {
                last = band;
                self.present[k] - self.units[k] * centre
            } else {
                // The block after this one is not known yet: its first quantum counts as more of the same.
                let next = self.band.get(k + 1).copied().unwrap_or(NO_BAND);
                let level = levels
                    .centre(last)
                    .filter(|_| next == NO_BAND || next == last);
                // A unit-less quantum is an absence: of its own in a file of counts, else its gap holds it.
                match level {
                    Some(_) if self.units[k] == 0.0 && gaps_known => 0.0,
                    Some(centre) => (self.present[k] - self.units[k] * centre).max(0.0),
                    None => 0.0,
                }
            };
            self.residual.push(residual);
        }
        self.last_band = last;
    }
}

fn slice<'a>(chunk: &Chunk<'a>, from: usize, to: usize) -> Chunk<'a> {
    Chunk {
        segment: chunk.segment,
        start: &chunk.start[from..to],
        end: &chunk.end[from..to],
        count: &chunk.count[from..to],
        gaps: &chunk.gaps[from..to],
        gap_ticks: &chunk.gap_ticks[from..to],
        measurement_ticks: &chunk.measurement_ticks[from..to],
        cpu: &chunk.cpu[from..to],
    }
}
