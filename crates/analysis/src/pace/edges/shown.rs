//! What the edges of a series show once the last has been placed: times with gaps put back, shares of the time, dwells.

use super::{Edge, Edges};
use crate::gaps::statistics::{EVENTS, Event};
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
    /// Share of the time in each band, of that which gaps leave.
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
        let known_until = match gaps.last() {
            Some(last) if gaps.len() >= EVENTS => last.start,
            _ => u64::MAX,
        };
        for edge in &mut self.kept {
            if edge.quantum > known_until {
                // Anywhere in that time.
                edge.resolution = edge.resolution.hypot(edge.away / 12_f32.sqrt());
            }
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

    /// Share of the time spent in each band, of that which gaps leave.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::bands::{Mode, levels};
    use crate::series::bins::bin_of;
    use crate::series::context::Context;
    use crate::series::derive::Deriver;
    use crate::series::detector::Detector;
    use bandscope_recording::{Manifest, Quanta, Quantum};

    const QUANTUM: u64 = 100_000;
    const PACES: [u64; 2] = [100, 200];

    /// What is shown of quanta in which so many ticks are at each pace, and a gap the rest.
    fn shown(quanta: &[[u64; 2]]) -> Shown {
        let mode = |pace| Mode {
            bins: (bin_of(pace), bin_of(pace)),
            centre: pace,
            half_width: 1e-3,
            quanta: 10,
        };
        let modes = PACES.map(|pace| mode(pace as f64));
        let context = Context::of_10_khz(&Manifest::default());
        let mut columns = Quanta::default();
        for (start, ticks) in (0u64..).step_by(QUANTUM as usize).zip(quanta) {
            let gap_ticks = QUANTUM - ticks[0] - ticks[1];
            let gaps = u32::from(gap_ticks > 0);
            columns.push(Quantum {
                start,
                end: start + QUANTUM,
                count: (ticks[0] / PACES[0] + ticks[1] / PACES[1]) as u32 + gaps,
                gaps,
                gap_ticks,
                ..Quantum::default()
            });
        }
        let (mut edges, mut deriver) = (Edges::new(&modes, &context), Deriver::new(&context));
        let levels = levels(&modes);
        columns.for_each_chunk(&mut |chunk| {
            deriver.feed(chunk, Some(&levels), |derived| edges.push(derived));
        });
        edges.finish(&[]);
        edges.show()
    }

    #[test]
    fn a_gap_is_no_time_at_the_pace_that_it_lies_in() {
        let whole = [QUANTUM, 0];
        let half = [QUANTUM / 2; 2];
        // Gaps in stays, over a whole quantum, and in the quantum of an edge.
        let with_gaps = [
            whole,
            [30_000, 0],
            whole,
            [20_000, 60_000],
            [0, QUANTUM],
            [0, 0],
            [0, QUANTUM],
            half,
        ];
        let without = [whole, whole, half, [0, QUANTUM], [0, QUANTUM], half];
        // Of the second, edges are kept at the beginning only, where gaps are.
        for turns in [[100, 0], [100, 40_000]] {
            let mut quanta = with_gaps.repeat(turns[0]);
            quanta.extend(without.repeat(turns[1]));
            quanta.push(whole);
            let shown = shown(&quanta);
            assert_eq!(shown.number, 2 * (turns[0] + turns[1]) as u64);
            let ticks = |pace: usize| quanta.iter().map(|ticks| ticks[pace]).sum::<u64>() as f64;
            let share = ticks(0) / (ticks(0) + ticks(1));
            assert!(
                (shown.shares[0] - share).abs() < 1e-9
                    && (shown.shares[1] + share - 1.0).abs() < 1e-9,
                "{:?}, {share}",
                shown.shares
            );
        }
    }
}
