//! Ticks and counters of one input in the terms of another.

use crate::events::EventStream;
use crate::gaps::MAX_COUNTERS;
use crate::manifest::Events;
use crate::manifest::{Incident, Kernel};
use crate::order::MAX_TICKS;
use crate::{Chunk, Error, Gap, KernelEvent, Manifest, Quanta, Quantum};

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

    /// Clamped to what a recording may hold, since the input may use all of it and the factor exceed 1.
    fn ticks(&self, ticks: u64) -> u64 {
        if self.keeps_ticks() {
            return ticks;
        }
        ((ticks as f64 * self.factor).round() as u64).min(MAX_TICKS)
    }

    /// What a self-test said, in ticks of the target.
    pub fn kernel(&self, kernel: &Kernel) -> Kernel {
        Kernel {
            gap_threshold_ticks: self.ticks(kernel.gap_threshold_ticks),
            best_ticks_per_unit: kernel.best_ticks_per_unit.map(|ticks| ticks * self.factor),
            boundary_ticks: kernel.boundary_ticks.map(|ticks| ticks * self.factor),
            read_ahead_ticks: kernel.read_ahead_ticks.map(|ticks| ticks * self.factor),
            ..kernel.clone()
        }
    }

    /// An incident at its time on the clock of the target; `origin` says whose time 0 that counts from.
    pub fn incident(&self, incident: &Incident, origin: &str) -> Incident {
        Incident {
            ticks: self.ticks(incident.ticks),
            detail: format!("{origin}: {}", incident.detail),
            ..incident.clone()
        }
    }

    /// What is known of kernel events, in ticks of the target.
    pub fn events_known(&self, known: &Events) -> Events {
        let mut known = known.clone();
        for lost in &mut known.lost {
            lost.from = self.ticks(lost.from);
            lost.to = self.ticks(lost.to);
        }
        known.time_error_ticks = known.time_error_ticks.map(|ticks| ticks * self.factor);
        if let Some(cost) = &mut known.cost {
            for sample in [&mut cost.with, &mut cost.without] {
                sample.ticks = self.ticks(sample.ticks);
                sample.gap_ticks = self.ticks(sample.gap_ticks);
                sample.median_gap_ticks = self.ticks(sample.median_gap_ticks);
            }
        }
        known
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

    /// Converts gaps in place of what `converted` holds. Durations are those between rounded times, so that no
    /// gap comes to overlap the next.
    pub fn gaps(&self, gaps: &[Gap], converted: &mut Vec<Gap>) {
        converted.clear();
        converted.extend(gaps.iter().map(|gap| {
            let end = gap.start.saturating_add(gap.duration);
            let (from, to) = (self.ticks(gap.start), self.ticks(end));
            Gap {
                start: from,
                duration: to - from,
                handling: self.ticks(end.saturating_add(gap.handling)) - to,
                counters: self
                    .counters
                    .map(|place| place.map_or(0, |place| gap.counters[place])),
                ..*gap
            }
        }));
    }
}

/// Kernel events in ticks of the target: both ends are rounded, so that what lies within another still does.
pub struct ConvertedEvents<'a> {
    pub events: Box<dyn EventStream + 'a>,
    pub converter: &'a Converter,
}

impl EventStream for ConvertedEvents<'_> {
    fn next(&mut self, events: &mut Vec<KernelEvent>) -> Result<bool, Error> {
        let more = self.events.next(events)?;
        for event in events {
            let (start, end) = (event.start, event.end());
            event.start = self.converter.ticks(start);
            event.duration = self.converter.ticks(end) - event.start;
            let woken = self.converter.ticks(start.saturating_sub(event.waited));
            event.waited = event.start - woken;
        }
        Ok(more)
    }
}
