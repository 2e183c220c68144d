//! A stretch of a recording as a source of its own: whatever reads it sees nothing else.
//!
//! The window is of whole quanta: those that begin in it, with their gaps. Kernel events are those of the whole run, as one that says what a
//! gap was may begin before it.

use crate::events::EventStream;
use crate::manifest::{Events, Rank};
use crate::read::ReadWarning;
use crate::{Chunk, Error, Gap, Manifest, Series, Source};

/// Quanta that begin from one time up to another.
pub struct Window<'a> {
    source: &'a dyn Source,
    /// First tick, and the first beyond, at which quanta that are in it begin.
    ticks: (u64, u64),
    /// Of each series: start of the first quantum in the window and end of the last.
    extents: Vec<Option<(u64, u64)>>,
    /// First and last tick of the whole recording.
    whole: (u64, u64),
}

impl<'a> Window<'a> {
    /// From and to in seconds since the first quantum of all; infinity is the end.
    ///
    /// # Errors
    /// If the quanta cannot be read.
    pub fn new(source: &'a dyn Source, from_s: f64, to_s: f64) -> Result<Window<'a>, Error> {
        let whole = extents(source)?
            .into_iter()
            .flatten()
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .unwrap_or_default();
        let ticks_per_s = source.manifest().clock.ticks_per_ns * 1e9;
        // A cast saturates: what is beyond all ticks is the last.
        let tick = |seconds: f64| {
            whole
                .0
                .saturating_add((seconds * ticks_per_s).round() as u64)
        };
        let mut window = Window {
            source,
            ticks: (tick(from_s), tick(to_s)),
            extents: Vec::new(),
            whole,
        };
        window.extents = extents(&window)?;
        Ok(window)
    }

    /// Whether no quantum begins in it.
    pub fn is_empty(&self) -> bool {
        self.extents.iter().all(Option::is_none)
    }

    /// Length of the whole recording in seconds.
    pub fn whole_s(&self) -> f64 {
        self.seconds(self.whole.1)
    }

    /// Where the first quantum of the window begins, in seconds since the first of all.
    pub fn start_s(&self) -> f64 {
        let starts = self.extents.iter().flatten().map(|extent| extent.0);
        starts.min().map_or(0.0, |start| self.seconds(start))
    }

    fn seconds(&self, tick: u64) -> f64 {
        (tick - self.whole.0) as f64 / self.source.manifest().clock.ticks_per_ns / 1e9
    }
}

/// Of each series: start of the first quantum and end of the last.
fn extents(source: &dyn Source) -> Result<Vec<Option<(u64, u64)>>, Error> {
    let mut extents = vec![None; source.series().len()];
    for (index, extent) in extents.iter_mut().enumerate() {
        source.replay_quanta(index, &mut |chunk| {
            let (start, end) = (chunk.start[0], chunk.end[chunk.len() - 1]);
            *extent = Some(extent.map_or((start, end), |(first, _)| (first, end)));
        })?;
    }
    Ok(extents)
}

impl Source for Window<'_> {
    fn manifest(&self) -> &Manifest {
        self.source.manifest()
    }

    fn series(&self) -> &[Series] {
        self.source.series()
    }

    fn warnings(&self) -> &[ReadWarning] {
        self.source.warnings()
    }

    fn replay_quanta(&self, index: usize, visit: &mut dyn FnMut(Chunk<'_>)) -> Result<(), Error> {
        self.source.replay_quanta(index, &mut |chunk| {
            let from = chunk.start.partition_point(|&start| start < self.ticks.0);
            let to = chunk.start.partition_point(|&start| start < self.ticks.1);
            if from < to {
                visit(chunk.slice(from, to));
            }
        })
    }

    fn replay_gaps(&self, index: usize, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        let Some((first, last)) = self.extents[index] else {
            return Ok(());
        };
        self.source.replay_gaps(index, &mut |gaps| {
            let from = gaps.partition_point(|gap| gap.start < first);
            let to = gaps.partition_point(|gap| gap.start < last);
            if from < to {
                visit(&gaps[from..to]);
            }
        })
    }

    fn events(&self, index: usize) -> Result<Box<dyn EventStream + '_>, Error> {
        self.source.events(index)
    }

    fn cpus_with_events(&self) -> Vec<u32> {
        self.source.cpus_with_events()
    }

    fn events_of(&self, cpu: u32) -> Result<Box<dyn EventStream + '_>, Error> {
        self.source.events_of(cpu)
    }

    fn events_known(&self, index: usize) -> &Events {
        self.source.events_known(index)
    }

    fn rank(&self, index: usize) -> Option<&Rank> {
        self.source.rank(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::InMemory;
    use crate::{Quanta, Quantum};

    /// Two series in turn, quanta of 1 us at a tick a nanosecond from tick 5000, each with a gap at its end.
    fn source() -> InMemory {
        let series = Series {
            cpu: Some(0),
            rate_hz: 1e6,
            kernel: "imul20".into(),
            gaps_known: true,
            ends_known: true,
            origin: String::new(),
        };
        let mut source = InMemory {
            series: vec![series.clone(), series],
            quanta: vec![Quanta::default(); 2],
            gaps: vec![Vec::new(); 2],
            ..InMemory::default()
        };
        source.manifest.clock.ticks_per_ns = 1.0;
        for k in 0..40 {
            let (index, start) = ((k / 10 % 2) as usize, 5_000 + 1_000 * k);
            source.quanta[index].push(Quantum {
                start,
                end: start + 1_000,
                count: 10,
                segment: (k / 10) as u32,
                ..Quantum::default()
            });
            source.gaps[index].push(Gap {
                start: start + 900,
                duration: 100,
                ..Gap::default()
            });
        }
        source
    }

    fn starts(source: &dyn Source, index: usize) -> (Vec<u64>, Vec<u64>) {
        let (mut quanta, mut gaps) = (Vec::new(), Vec::new());
        source
            .replay_quanta(index, &mut |chunk| quanta.extend_from_slice(chunk.start))
            .unwrap();
        source
            .replay_gaps(index, &mut |some| {
                gaps.extend(some.iter().map(|gap| gap.start));
            })
            .unwrap();
        (quanta, gaps)
    }

    #[test]
    fn a_window_has_whole_quanta_and_their_gaps() {
        let source = source();
        let window = Window::new(&source, 7.5e-6, 12e-6).unwrap();
        assert_eq!(
            starts(&window, 0),
            (vec![13_000, 14_000], vec![13_900, 14_900])
        );
        assert_eq!(
            starts(&window, 1),
            (vec![15_000, 16_000], vec![15_900, 16_900])
        );
        assert!(!window.is_empty());
        assert_eq!((window.start_s(), window.whole_s()), (8e-6, 40e-6));
    }

    #[test]
    fn all_of_it_and_nothing() {
        let source = source();
        let window = Window::new(&source, 0.0, f64::INFINITY).unwrap();
        for index in 0..2 {
            assert_eq!(starts(&window, index), starts(&source, index));
        }
        for (from, to) in [(1.0, f64::INFINITY), (2e-6, 2e-6), (3e-6, 2e-6)] {
            let window = Window::new(&source, from, to).unwrap();
            assert!(window.is_empty() && starts(&window, 0).1.is_empty());
        }
        assert!(
            Window::new(&InMemory::default(), 0.0, 1.0)
                .unwrap()
                .is_empty()
        );
    }
}
