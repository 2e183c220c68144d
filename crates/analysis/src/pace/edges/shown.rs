//! What the edges of a series show once the last has been placed: times with gaps put back, shares of the time, dwells.

use super::{Edge, Edges};
use crate::gaps::statistics::Event;
use bandscope_statistics::order::{median, sorted};

/// Quanta in which the pace changed: isolated and strictly between the levels on either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Their number.
    pub number: u64,
    /// As isolated, but with the same level on either side.
    pub dips: u64,
    /// The count of the first in which the pace fell, and of the first in which it rose.
    pub falling: Option<u32>,
    /// See `falling`.
    pub rising: Option<u32>,
}

/// What the edges of a series show.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Their number.
    pub number: u64,
    /// Share of the time in each band.
    pub shares: Vec<f64>,
    /// Typical length of a whole stay in each band, ticks.
    pub dwells: Vec<Option<f64>>,
    /// Quanta with an edge whose counts lie between those of two bands.
    pub pairs: Pairs,
}

impl Edges {
    /// Ends the stay under way, and puts the time in gaps back into the edges' quanta; to be called before anything is read. `gaps` are in order
    /// of time; an edge whose gaps are not among them has its `away` for uncertainty.
    ///
    /// What interrupts at an edge is usually its cause, so a gap that begins at the edge, to what the edge is known, comes after it and gives its
    /// time exactly.
    pub fn finish(&mut self, gaps: &[Event]) {
        self.end_segment();
        for edge in &mut self.kept {
            let near = 3.0 * f64::from(edge.resolution) + 2.0;
            let first = gaps.partition_point(|gap| gap.start < edge.quantum);
            // A gap at the end of the quantum before, after which nothing was done before the edge.
            if let Some(gap) = first.checked_sub(1).and_then(|number| gaps.get(number)) {
                let ago = (edge.quantum - gap.start) as f64;
                if edge.offset + ago - gap.duration as f64 <= near {
                    edge.offset = -ago;
                    continue;
                }
            }
            // Present time before the edge.
            let present = edge.offset;
            let mut passed = 0.0;
            for gap in &gaps[first..] {
                let ahead = (gap.start - edge.quantum) as f64 - passed - present;
                if ahead.abs() <= near {
                    // The unit that contains a gap is left out of present time as a whole.
                    edge.offset = (gap.start - edge.quantum) as f64;
                    break;
                }
                edge.offset = present + passed;
                if ahead > 0.0 {
                    break;
                }
                passed += gap.duration as f64;
                edge.offset = present + passed;
            }
        }
    }

    /// What they show, once finished.
    pub fn show(&self) -> Shown {
        Shown {
            number: self.number,
            shares: self.shares(),
            dwells: self.dwells(),
            pairs: self.pairs,
        }
    }

    /// The first edges, in order of time.
    pub fn kept(&self) -> &[Edge] {
        &self.kept
    }

    /// Share of the time spent in each band; an interruption belongs to the band that it returns to.
    pub fn shares(&self) -> Vec<f64> {
        let all: f64 = self.time.iter().sum();
        self.time.iter().map(|time| time / all.max(1.0)).collect()
    }

    /// Typical length of a whole stay in each band, ticks, among the edges that are kept: the mean of those around the median where most are there, so
    /// that a constant dwell is known better than its edges; otherwise the median. None where no stay is whole.
    pub fn dwells(&self) -> Vec<Option<f64>> {
        let mut stays = vec![Vec::new(); self.rates.len()];
        let origin = self.kept.first().map_or(0, |edge| edge.quantum);
        for pair in self.kept.windows(2).filter(|pair| pair[1].chained) {
            stays[usize::from(pair[1].from)].push(pair[1].ticks(origin) - pair[0].ticks(origin));
        }
        stays
            .into_iter()
            .map(|stays| typical(stays, self.resolution()))
            .collect()
    }

    /// Median resolution of an edge, ticks.
    pub fn resolution(&self) -> f64 {
        let resolutions = self.kept.iter().map(|edge| f64::from(edge.resolution));
        median(resolutions).unwrap_or(0.0)
    }
}

fn typical(stays: Vec<f64>, resolution: f64) -> Option<f64> {
    let stays = sorted(stays);
    let median = *stays.get(stays.len() / 2)?;
    let near: Vec<f64> = stays
        .iter()
        .copied()
        .filter(|stay| (stay - median).abs() <= 6.0 * resolution + 2.0)
        .collect();
    let constant = 2 * near.len() > stays.len();
    Some(if constant {
        near.iter().sum::<f64>() / near.len() as f64
    } else {
        median
    })
}
