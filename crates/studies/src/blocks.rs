//! A series cut into blocks of time, which say how its figures scatter.
//!
//! Twenty blocks of equal wall time (batch means: Schmeiser 1982 has 10 to 30 as enough). A figure's standard error is that of the blocks' mean; where a block is like
//! the one before it, which a slow change makes them, the variance is inflated by (1 + r) / (1 - r) with their correlation r. That is what a
//! recording knows of itself: how the next recording would differ, with another placement or another day, it does not.

use bandscope_analysis::context::Context;
use bandscope_analysis::derive::Derived;
use bandscope_analysis::detector::Detector;
use bandscope_analysis::levels::{Levels, MAX_BANDS};
use bandscope_analysis::{named, replay};
use bandscope_recording::{Error, Source};
use bandscope_report as report;
use bandscope_report::Cause;
use bandscope_statistics::distributions::{student_95, welch};
use std::collections::BTreeMap;

/// Blocks of a series.
const MAX_BLOCKS: usize = 20;
/// Quanta of a block, at least.
const MIN_QUANTA_OF_A_BLOCK: u64 = 10;
/// With fewer nothing is known of how they scatter.
pub const MIN_BLOCKS: usize = 5;
/// A quantum is of a band within three of its half widths, and a hundredth.
const WIDTHS: f64 = 3.0;
const NEAR: f64 = 0.01;

/// Sums over one block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Tick at which it begins.
    start: u64,
    /// Ticks.
    pub wall: f64,
    /// Quanta, and the units completed in them.
    pub quanta: f64,
    /// See `quanta`.
    pub units: f64,
    /// Ticks of units without a gap, and how many they are.
    pub present: f64,
    /// See `present`.
    pub present_units: f64,
    /// Ticks lost to gaps.
    pub gap_loss: f64,
    /// Number of gaps.
    pub gaps: f64,
    /// The longest, ticks.
    pub longest: f64,
    /// Ticks by cause.
    pub causes: BTreeMap<Cause, f64>,
    /// By band: quanta, ticks of units without a gap, and how many they are.
    pub bands: Vec<[f64; 3]>,
}

/// All blocks of a series.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// In order of time.
    pub blocks: Vec<Block>,
    /// Ticks per nanosecond.
    pub ticks_per_ns: f64,
    length: f64,
    number_of_bands: usize,
}

impl Blocks {
    /// Those of series `index`, of which `series` is the report.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn new(
        source: &dyn Source,
        index: usize,
        series: &report::Series,
    ) -> Result<Blocks, Error> {
        let context = Context::new(source.manifest(), &source.series()[index]);
        let number = (series.quanta / MIN_QUANTA_OF_A_BLOCK).clamp(1, MAX_BLOCKS as u64);
        let mut blocks = Blocks {
            blocks: Vec::with_capacity(MAX_BLOCKS + 1),
            ticks_per_ns: context.ticks_per_ns,
            // Rounding must not make a twenty-first.
            length: context.ticks(series.duration_s) / number as f64 * 0.9999,
            number_of_bands: series.bands.len().min(MAX_BANDS),
        };
        let levels = levels(series, &context);
        replay(source, index, Some(&levels), &mut blocks, &context)?;
        if context.gaps_known {
            blocks.gaps(source, index)?;
        }
        // What is left over is no block.
        blocks
            .blocks
            .retain(|block| block.wall >= 0.5 * blocks.length);
        Ok(blocks)
    }

    fn gaps(&mut self, source: &dyn Source, index: usize) -> Result<(), Error> {
        let (present, units) = self
            .blocks
            .iter()
            .fold((0.0, 0.0), |(ticks, units), block| {
                (ticks + block.present, units + block.present_units)
            });
        let unit = if units > 0.0 { present / units } else { 0.0 };
        named::each(source, index, &mut |named| {
            let gap = named.gap;
            let place = self
                .blocks
                .partition_point(|block| block.start <= gap.start);
            let Some(block) = place
                .checked_sub(1)
                .and_then(|place| self.blocks.get_mut(place))
            else {
                return;
            };
            block.gaps += 1.0;
            block.longest = block.longest.max(gap.duration as f64);
            for (number, (cause, ticks)) in named.shares.iter().enumerate() {
                // The unit of work that the gap is in.
                let own = if number == 0 { unit } else { 0.0 };
                let ticks = (*ticks as f64 - own).max(0.0);
                match block.causes.get_mut(cause) {
                    Some(sum) => *sum += ticks,
                    None => {
                        block.causes.insert(cause.clone(), ticks);
                    }
                }
            }
        })?;
        Ok(())
    }

    /// A figure of each block that has it.
    pub fn each(&self, figure: impl Fn(&Block) -> Option<f64>) -> Vec<f64> {
        self.blocks
            .iter()
            .filter_map(figure)
            .filter(|value| value.is_finite())
            .collect()
    }
}

/// The bands of a report as a table of bins.
fn levels(series: &report::Series, context: &Context) -> Levels {
    let centres: Vec<f64> = series
        .bands
        .iter()
        .take(MAX_BANDS)
        .map(|band| band.ns_per_unit * context.ticks_per_ns)
        .collect();
    let mut ranges = Vec::new();
    for (place, (&centre, band)) in centres.iter().zip(&series.bands).enumerate() {
        let reach = (WIDTHS * band.half_width).max(NEAR);
        // Not beyond the middle between two bands.
        let middle = |other: Option<&f64>| other.map(|other| (other * centre).sqrt());
        let low = middle(place.checked_sub(1).and_then(|place| centres.get(place)))
            .unwrap_or(0.0)
            .max(centre * (1.0 - reach));
        let high = middle(centres.get(place + 1))
            .unwrap_or(f64::INFINITY)
            .min(centre * (1.0 + reach));
        ranges.push((low, high, centre));
    }
    Levels::of_paces(ranges)
}

impl Detector for Blocks {
    fn push(&mut self, chunk: &Derived<'_>) {
        for k in 0..chunk.len() {
            if self
                .blocks
                .last()
                .is_none_or(|block| block.wall >= self.length)
            {
                self.blocks.push(Block {
                    start: chunk.chunk.start[k],
                    bands: vec![[0.0; 3]; self.number_of_bands],
                    ..Block::default()
                });
            }
            let Some(block) = self.blocks.last_mut() else {
                return;
            };
            block.wall += chunk.length[k];
            block.quanta += 1.0;
            block.units += f64::from(chunk.chunk.count[k]);
            block.present += chunk.present[k];
            block.present_units += chunk.units[k];
            block.gap_loss += chunk.gap_loss[k];
            // Of no band is the number of none.
            if let Some(band) = block.bands.get_mut(usize::from(chunk.band[k])) {
                *band = [
                    band[0] + 1.0,
                    band[1] + chunk.present[k],
                    band[2] + chunk.units[k],
                ];
            }
        }
    }
}

/// Standard error of the mean of blocks, and its degrees of freedom; `None` of too few.
pub fn error(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < MIN_BLOCKS {
        return None;
    }
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|two| (two[0] - mean) * (two[1] - mean))
        .sum();
    let correlation = if squares > 0.0 {
        (products / squares).clamp(0.0, 0.9)
    } else {
        0.0
    };
    let inflated = squares / (number - 1.0) / number * (1.0 + correlation) / (1.0 - correlation);
    Some((inflated.sqrt(), number - 1.0))
}

/// How far the difference of two means reaches either way, with 95 %.
pub fn reach(a: &[f64], b: &[f64]) -> Option<f64> {
    let ((error_a, freedom_a), (error_b, freedom_b)) = (error(a)?, error(b)?);
    let variance = error_a * error_a + error_b * error_b;
    let freedom = welch(
        [error_a, error_b].map(|error| error * error),
        [freedom_a, freedom_b],
    );
    // Where neither scatters there is nothing to multiply.
    match variance > 0.0 {
        true => Some(student_95(freedom) * variance.sqrt()),
        false => Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_follow_each_other_are_less_sure() {
        let alternating: Vec<f64> = (0..20).map(|k| f64::from(k % 2)).collect();
        let slow: Vec<f64> = (0..20).map(|k| f64::from(u8::from(k >= 10))).collect();
        let (fast, slow) = (error(&alternating).unwrap().0, error(&slow).unwrap().0);
        assert!(
            (fast - 0.1147).abs() < 1e-3 && slow > 3.0 * fast,
            "{fast} {slow}"
        );
        assert!(error(&[1.0; 4]).is_none());
        assert_eq!(reach(&[1.0; 20], &[2.0; 20]), Some(0.0));
    }
}
