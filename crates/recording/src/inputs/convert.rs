//! Ticks and counters of one input in the terms of another.

use crate::gaps::MAX_COUNTERS;
use crate::{Chunk, Gap, Manifest, Quanta, Quantum};

/// How one input becomes part of another.
#[derive(Clone, Debug)]
pub struct Converter {
    /// Ticks of the target in one tick of the input.
    factor: f64,
    /// For each counter of the target, its place in the input.
    counters: [Option<usize>; MAX_COUNTERS],
}

impl Converter {
    /// From the terms of `from` to those of `to`.
    pub fn new(from: &Manifest, to: &Manifest) -> Converter {
        let mut counters = [None; MAX_COUNTERS];
        for (place, wanted) in counters.iter_mut().zip(&to.counters) {
            *place = from
                .counters
                .iter()
                .take(MAX_COUNTERS)
                .position(|counter| counter.name == wanted.name);
        }
        Converter {
            factor: to.clock.ticks_per_ns / from.clock.ticks_per_ns,
            counters,
        }
    }

    /// Whether ticks stay as they are.
    pub fn keeps_ticks(&self) -> bool {
        self.factor == 1.0
    }

    fn ticks(&self, ticks: u64) -> u64 {
        if self.keeps_ticks() {
            return ticks;
        }
        (ticks as f64 * self.factor).round() as u64
    }

    /// Converts quanta in place of what `converted` holds. Times are rounded one by one, so that an end
    /// stays the next start; durations give way to them by the tick that rounding may cost.
    pub fn quanta(&self, chunk: Chunk<'_>, converted: &mut Quanta) {
        converted.clear();
        for index in 0..chunk.len() {
            let quantum = chunk.get(index);
            let (start, end) = (self.ticks(quantum.start), self.ticks(quantum.end));
            let gap_ticks = self.ticks(quantum.gap_ticks).min(end.saturating_sub(start));
            let measurement_ticks = self.ticks(quantum.measurement_ticks);
            converted.push(Quantum {
                start,
                end,
                gap_ticks,
                measurement_ticks: measurement_ticks.min(end.saturating_sub(start) - gap_ticks),
                ..quantum
            });
        }
    }

    /// Converts gaps in place of what `converted` holds.
    pub fn gaps(&self, gaps: &[Gap], converted: &mut Vec<Gap>) {
        converted.clear();
        converted.extend(gaps.iter().map(|gap| {
            Gap {
                start: self.ticks(gap.start),
                duration: self.ticks(gap.duration),
                handling: self.ticks(gap.handling),
                counters: self
                    .counters
                    .map(|place| place.map_or(0, |place| gap.counters[place])),
                ..*gap
            }
        }));
    }
}
