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
        self.note_away(gaps);
    }

    /// Books gaps to the bands that they lie in. Where edges or gaps are more than are kept, a band lost the same share later.
    fn note_away(&mut self, gaps: &[Event]) {
        self.away = vec![0.0; self.rates.len()];
        let (Some(first), Some(last)) = (self.kept.first(), self.kept.last()) else {
            return;
        };
        let origin = first.quantum;
        let mut until = f64::INFINITY;
        if self.number > self.kept.len() as u64 {
            until = last.ticks(origin);
        }
        if let Some(gap) = gaps.last().filter(|_| gaps.len() >= EVENTS) {
            until = until.min(gap.start as f64 - origin as f64);
        }
        let (mut band, mut next) = (first.from, self.kept.iter().peekable());
        for gap in gaps {
            let start = gap.start as f64 - origin as f64;
            // One that begins at an edge comes after it.
            while let Some(edge) = next.next_if(|edge| edge.ticks(origin) <= start) {
                band = edge.to;
            }
            if start < until {
                self.away[usize::from(band)] += gap.duration as f64;
            }
        }
        if until.is_finite() {
            let mut known = vec![0.0; self.rates.len()];
            let stays = self.kept.windows(2).filter(|pair| pair[1].chained);
            for pair in stays.filter(|pair| pair[1].ticks(origin) <= until) {
                known[usize::from(pair[1].from)] += pair[1].ticks(origin) - pair[0].ticks(origin);
            }
            for ((away, time), known) in self.away.iter_mut().zip(&self.time).zip(known) {
                *away *= if known > 0.0 { time / known } else { 0.0 };
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

    /// Share of the time spent in each band, once finished of that which gaps leave.
    pub fn shares(&self) -> Vec<f64> {
        let present = self.time.iter().zip(&self.away);
        let present: Vec<f64> = present.map(|(time, away)| (time - away).max(0.0)).collect();
        let all: f64 = present.iter().sum();
        present.iter().map(|time| time / all.max(1.0)).collect()
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
    use crate::pace::bands::Mode;
    use crate::pace::edges::Place;
    use crate::series::context::Context;
    use bandscope_recording::Manifest;

    #[test]
    fn a_gap_is_no_time_at_the_pace_that_it_lies_in() {
        let mode = |centre| Mode {
            bins: (0, 0),
            centre,
            half_width: 1e-3,
            quanta: 10,
        };
        let context = Context::of_10_khz(&Manifest::default());
        let mut edges = Edges::new(&[mode(1.0), mode(1.3)], &context);
        let edge = |at: u64, from, to| Edge {
            quantum: 5_000 + at,
            offset: 0.0,
            resolution: 0.0,
            away: 0.0,
            from,
            to,
            place: Place::Boundary,
            chained: true,
        };
        edges.kept = vec![edge(300, 0, 1), edge(800, 1, 0)];
        edges.time = vec![1_000.0, 500.0];
        assert_eq!(edges.shares(), [2.0 / 3.0, 1.0 / 3.0]);
        // Before both edges, at the first, and after both.
        let gap = |(at, duration): (u64, u64)| Event {
            start: 5_000 + at,
            duration,
            cause: 0,
            after: 0,
            holds_unit: false,
            goes_on: false,
        };
        edges.note_away(&[(100, 50), (300, 400), (900, 50)].map(gap));
        assert_eq!(edges.shares(), [0.9, 0.1]);
        // Ten times as many edges, of which the first are kept: in the band between them 4 of 5 ticks were a gap.
        (edges.number, edges.time) = (20, vec![10_000.0, 5_000.0]);
        edges.note_away(&[(100, 50), (300, 400), (900, 50)].map(gap));
        assert_eq!(edges.shares(), [10.0 / 11.0, 1.0 / 11.0]);
    }
}
