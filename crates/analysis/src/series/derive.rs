//! Chunks with the columns that detectors share, computed once and in blocks that stay in the cache.
//!
//! Counts are not analysed (docs/method.md, section 1.1): pace is additive over bands and free of quantisation, and the
//! loss against the local band is additive over interruptions. Data comes from
//! [`bandscope_recording::Source::replay_quanta`] and goes to the detectors of [`crate::passes`].

use crate::series::bins::bin_of;
use crate::series::context::Context;
use crate::series::levels::{Levels, NO_BAND};
use bandscope_recording::Chunk;

/// Quanta handed to the detectors at a time: eight columns of it fit into a second-level cache.
pub const BLOCK: usize = 4096;

/// Share of the nominal quantum that gaps must leave for what remains to have a pace: what they take from the work beside them is known to some
/// ns each, 0.1 % of a quarter of 100 us.
pub(crate) const MIN_PRESENT: f64 = 0.25;

/// Nominal quanta that a quantum of a file of counts may last and still have a pace; one that lasts longer holds an absence (suspended, stopped).
/// Two units and more end within two quanta at any pace, and a header may miss the rate by a fifth. A single unit may be longer than a quantum.
pub(crate) const MAX_QUANTA_OF_UNITS: f64 = 4.0;
pub(crate) const MAX_QUANTA_OF_ONE_UNIT: f64 = 64.0;

/// Ticks as a float. An instruction where the plain conversion of an unsigned number takes ten; beyond 2^63 ticks (a century) it
/// stays at that.
#[inline]
pub fn as_float(ticks: u64) -> f64 {
    ticks.min(i64::MAX as u64) as i64 as f64
}

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
    /// Ticks of the units without a gap, with what gaps took from them ([`Context::read_ahead_ticks`]).
    pub present: &'a [f64],
    /// Units without a gap.
    pub units: &'a [f64],
    /// Pace in ticks per unit; 0 where no unit completed without a gap, where gaps left too few of them (`MIN_PRESENT`), and where counts hide an
    /// absence (`MAX_QUANTA_OF_UNITS`).
    pub pace: &'a [f64],
    /// Bin of the pace in the tables that are kept by pace (`bins::bin_of`); 0 where there is no pace.
    pub bin: &'a [u16],
    /// Ticks lost to gaps: their duration less what they took from the units before them, and less a unit each at the pace around them.
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

    /// The residual of the quanta without a gap and without reading of counters, 0 in the others: what these do to the quantum that they are
    /// in belongs to them, and has their period.
    pub fn undisturbed_residual(&self) -> impl Iterator<Item = f64> {
        let disturbed = (self.chunk.gap_ticks.iter()).zip(self.chunk.measurement_ticks);
        let quanta = self.residual.iter().zip(disturbed);
        quanta.map(|(&residual, (gap, own))| if gap | own > 0 { 0.0 } else { residual })
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
    bin: Vec<u16>,
    gap_loss: Vec<f64>,
    band: Vec<u8>,
    residual: Vec<f64>,
    segment: Option<u32>,
    index: u64,
    /// Ticks that each gap gives back to the units before it.
    read_ahead: f64,
    /// Ticks of the shortest rest of a quantum with a gap that has a pace.
    min_present: f64,
    /// Ticks of the longest quantum that has a pace, of one unit and of several.
    max_length: (f64, f64),
    last_pace: f64,
    last_band: u8,
}

impl Deriver {
    /// A deriver at the start of a series.
    pub fn new(context: &Context) -> Deriver {
        Deriver {
            read_ahead: context.read_ahead_ticks(),
            min_present: MIN_PRESENT * context.quantum_ticks,
            max_length: match context.gaps_known {
                true => (f64::INFINITY, f64::INFINITY),
                false => (
                    MAX_QUANTA_OF_ONE_UNIT * context.quantum_ticks,
                    MAX_QUANTA_OF_UNITS * context.quantum_ticks,
                ),
            },
            last_band: NO_BAND,
            ..Deriver::default()
        }
    }

    /// Hands out `chunk` in blocks; `levels` are the bands, known in the second pass.
    pub fn feed(
        &mut self,
        chunk: Chunk<'_>,
        levels: Option<&Levels>,
        mut visit: impl FnMut(&Derived<'_>),
    ) {
        let mut from = 0;
        while from < chunk.len() {
            let to = (from + BLOCK).min(chunk.len());
            let block = chunk.slice(from, to);
            let opens_segment = self.segment != Some(chunk.segment);
            if opens_segment {
                self.segment = Some(chunk.segment);
                self.index = 0;
                self.last_band = NO_BAND;
            }
            self.columns(&block);
            self.bands(levels);
            visit(&Derived {
                chunk: block,
                opens_segment,
                index: self.index,
                length: &self.length,
                present: &self.present,
                units: &self.units,
                pace: &self.pace,
                bin: &self.bin,
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
        // Every element is written below, so what an earlier block left need not be cleared.
        for column in [
            &mut self.length,
            &mut self.present,
            &mut self.units,
            &mut self.pace,
            &mut self.gap_loss,
        ] {
            column.resize(n, 0.0);
        }
        self.bin.resize(n, 0);
        // Slices of one known length: the loops are free of bounds checks.
        let (count, gaps) = (&block.count[..n], &block.gaps[..n]);
        let gap_ticks = &block.gap_ticks[..n];
        let (lengths, presents) = (&mut self.length[..n], &mut self.present[..n]);
        let (units, paces) = (&mut self.units[..n], &mut self.pace[..n]);
        let (bins, losses) = (&mut self.bin[..n], &mut self.gap_loss[..n]);
        lengths_and_presents(block, lengths, presents);
        for k in 0..n {
            units[k] = positive(f64::from(count[k]) - f64::from(gaps[k]));
        }
        // A clock read inside a quantum does not wait for the work before it, but the one after a gap does: the gap seems longer by the
        // rest of that work. Where no unit was done in the quantum the read at its start has waited already.
        let read_ahead = self.read_ahead;
        let given_back = |k: usize, done: f64| match done > 0.0 {
            true => (f64::from(gaps[k]) * read_ahead).min(as_float(gap_ticks[k])),
            false => 0.0,
        };
        if read_ahead > 0.0 {
            for k in 0..n {
                presents[k] = (presents[k] + given_back(k, units[k])).min(lengths[k]);
            }
        }
        let (of_one, of_several) = self.max_length;
        for k in 0..n {
            // Divided where nothing was done, too, so that there is no branch.
            let pace = presents[k] / units[k];
            let few = gap_ticks[k] > 0 && presents[k] < self.min_present;
            let long = lengths[k] > if units[k] > 1.0 { of_several } else { of_one };
            let has_pace = units[k] > 0.0 && !few && !long;
            paces[k] = if has_pace { pace } else { 0.0 };
        }
        for (bin, &pace) in bins.iter_mut().zip(&*paces) {
            *bin = bin_of(pace) as u16;
        }
        // The pace around a gap is looked for where there is one.
        let latest = |paces: &[f64]| paces.iter().rev().copied().find(|&pace| pace > 0.0);
        let mut looked_at = 0;
        for k in 0..n {
            losses[k] = 0.0;
            if gap_ticks[k] > 0 {
                self.last_pace = latest(&paces[looked_at..=k]).unwrap_or(self.last_pace);
                looked_at = k + 1;
                // Not the number of gaps: an interruption while counters were read is time away in which no unit was done.
                let away = (as_float(gap_ticks[k]) - given_back(k, units[k])).min(lengths[k]);
                losses[k] = (away - f64::from(gaps[k]) * self.last_pace).max(0.0);
            }
        }
        self.last_pace = latest(&paces[looked_at..]).unwrap_or(self.last_pace);
    }

    /// Bands, and what was lost against them.
    fn bands(&mut self, levels: Option<&Levels>) {
        let n = self.pace.len();
        self.band.resize(n, NO_BAND);
        self.residual.resize(n, 0.0);
        let Some(levels) = levels else {
            self.band.fill(NO_BAND);
            self.residual.fill(0.0);
            return;
        };
        for ((band, &pace), &bin) in self.band.iter_mut().zip(&self.pace).zip(&self.bin) {
            *band = if pace > 0.0 {
                levels.band_of_bin(bin)
            } else {
                NO_BAND
            };
        }
        let (present, units) = (&self.present[..n], &self.units[..n]);
        let (bands, residuals) = (&self.band[..n], &mut self.residual[..n]);
        // By runs of quanta in one band, inside of which there is nothing to decide.
        let mut from = 0;
        while from < n {
            let to = end_of_run(bands, from);
            let last = self.last_band;
            if let Some(centre) = levels.centre(bands[from]) {
                for k in from..to {
                    residuals[k] = present[k] - units[k] * centre;
                }
                // A share of the edge may lie in the quanta beside it.
                if last != bands[from] && last != NO_BAND {
                    residuals[from] = 0.0;
                }
                if changes_after(bands, to - 1) {
                    residuals[to - 1] = 0.0;
                }
                self.last_band = bands[from];
            } else {
                // Of several quanta in no band the last alone is followed by another. The block after this one is not known yet: its
                // first quantum counts as more of the same. What the slower of two bands does not explain is no edge.
                let next = bands.get(to).and_then(|&next| levels.centre(next));
                let level = levels.centre(last);
                let level_of_last = level.map(|level| level.max(next.unwrap_or(0.0)));
                for k in from..to {
                    let level = if k + 1 < to { level } else { level_of_last };
                    // A unit-less quantum is an absence, and says nothing of what else was lost in it: bursts of them would drown
                    // whatever is shorter.
                    residuals[k] = match level {
                        Some(_) if units[k] == 0.0 => 0.0,
                        Some(centre) => (present[k] - units[k] * centre).max(0.0),
                        None => 0.0,
                    };
                }
            }
            from = to;
        }
    }
}

/// The longest times that are computed in the short way, and ticks that no recording gets to.
const SHORT: u64 = i32::MAX as u64;
const BEYOND: u64 = 1 << 63;

/// Wall time of each quantum in ticks, and what gaps and the reading of counters left of it.
#[inline]
fn lengths_and_presents(block: &Chunk<'_>, lengths: &mut [f64], presents: &mut [f64]) {
    let n = block.len();
    let (start, end) = (&block.start[..n], &block.end[..n]);
    let (gap_ticks, own) = (&block.gap_ticks[..n], &block.measurement_ticks[..n]);
    let (lengths, presents) = (&mut lengths[..n], &mut presents[..n]);
    let mut bits = 0;
    for k in 0..n {
        // The last term is for ends before starts, whose difference wraps to something small from a start beyond 2^63 only.
        bits |= end[k].wrapping_sub(start[k]) | gap_ticks[k] | own[k] | (start[k] & BEYOND);
    }
    if bits <= SHORT {
        // All times fit into 31 bits, which is so but for absences of a second and bad input: floats then hold their
        // differences exactly, and two quanta are done at a time.
        for k in 0..n {
            let length = small(end[k].wrapping_sub(start[k]));
            let away = small(gap_ticks[k]) + small(own[k]);
            lengths[k] = length;
            presents[k] = positive(length - away);
        }
    } else {
        for k in 0..n {
            let length = end[k].saturating_sub(start[k]);
            let away = gap_ticks[k].saturating_add(own[k]);
            lengths[k] = as_float(length);
            presents[k] = as_float(length.saturating_sub(away));
        }
    }
}

/// A number of up to [`SHORT`] ticks as a float, two at a time: by way of 32 bits, because there is an instruction for two of these.
#[inline]
fn small(ticks: u64) -> f64 {
    f64::from(ticks as i32)
}

/// The number, or 0 if it is less.
#[inline]
fn positive(number: f64) -> f64 {
    if number > 0.0 { number } else { 0.0 }
}

/// Where the run of quanta of one band ends that begins at `from`.
#[inline]
fn end_of_run(bands: &[u8], from: usize) -> usize {
    let others = bands[from..].iter().position(|&band| band != bands[from]);
    others.map_or(bands.len(), |length| from + length)
}

/// Whether another band follows on the quantum, at most one between.
#[inline]
fn changes_after(bands: &[u8], k: usize) -> bool {
    match bands.get(k + 1) {
        Some(&next) if next != bands[k] => {
            next != NO_BAND
                || bands
                    .get(k + 2)
                    .is_some_and(|&second| second != NO_BAND && second != bands[k])
        }
        _ => false,
    }
}
