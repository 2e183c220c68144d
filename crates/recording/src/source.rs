//! How an analysis reads a recording, wherever it lies.
//!
//! A source can be replayed: every pass starts from the beginning and sees the same chunks, so that an
//! analysis of two passes needs no memory that grows with the length of the run.

use crate::events::{EventStream, NoEvents};
use crate::read::ReadWarning;
use crate::{Chunk, Error, Gap, KernelEvent, Manifest, Quanta, manifest};

/// The quanta of one CPU at one rate with one work kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// CPU that was measured; `None` where an imported file does not say.
    pub cpu: Option<u32>,
    /// Nominal rate in hertz: 1 over the quantum.
    pub rate_hz: f64,
    /// Name of the work kernel; `unknown` where an imported file does not say.
    pub kernel: String,
    /// Whether gaps were recorded. An imported file of counts has none of its own.
    pub gaps_known: bool,
    /// Whether the end of each quantum was measured. Files of the original FTQ hold starts only, so
    /// an end is the next start; it is exact but for the last row, whose end is set to its nominal one.
    pub ends_known: bool,
    /// Where it was read from, for messages.
    pub origin: String,
}

/// A recording that can be read again and again.
/// Several threads may replay it at once, each its own series.
pub trait Source: Sync {
    /// Settings, machine, clock.
    fn manifest(&self) -> &Manifest;

    /// The series, in a stable order.
    fn series(&self) -> &[Series];

    /// What is strange about the input but harmless.
    fn warnings(&self) -> &[ReadWarning] {
        &[]
    }

    /// Hands out all quanta of series `index` in order of time.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    fn replay_quanta(&self, index: usize, visit: &mut dyn FnMut(Chunk<'_>)) -> Result<(), Error>;

    /// Hands out the gaps and checkpoints that lie in the segments of series `index`, in order of
    /// time; nothing where gaps are not known.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    fn replay_gaps(&self, index: usize, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error>;

    /// The kernel events of the CPU of series `index` over the whole run, from the beginning; none where they are not
    /// known, which [`Source::events_known`] tells from a CPU on which nothing happened.
    ///
    /// They are pulled where gaps are pushed, so that [`Source::replay_gaps`] can walk along both.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    fn events(&self, index: usize) -> Result<Box<dyn EventStream + '_>, Error> {
        let _ = index;
        Ok(Box::new(NoEvents))
    }

    /// CPUs whose kernel events are there, measured or not.
    fn cpus_with_events(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The kernel events of one of those CPUs.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    fn events_of(&self, cpu: u32) -> Result<Box<dyn EventStream + '_>, Error> {
        let _ = cpu;
        Ok(Box::new(NoEvents))
    }

    /// Whether kernel events were recorded for series `index`, where some were lost, how exact their times are: in
    /// ticks of [`Source::manifest`], whose own `events` are those of the first of several inputs.
    fn events_known(&self, index: usize) -> &manifest::Events {
        let _ = index;
        &self.manifest().events
    }

    /// Which task of a job measured series `index`; `None` of a run by itself.
    fn rank(&self, index: usize) -> Option<&manifest::Rank> {
        let _ = index;
        self.manifest().rank.as_ref()
    }
}

/// A recording in memory: what tests, and a short buffered run, are made of.
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    /// Settings, machine, clock.
    pub manifest: Manifest,
    /// What each entry of `quanta` and `gaps` is of.
    pub series: Vec<Series>,
    /// The quanta of each series.
    pub quanta: Vec<Quanta>,
    /// The gaps of each series.
    pub gaps: Vec<Vec<Gap>>,
    /// The kernel events of the CPU of each series; may be left empty.
    pub events: Vec<Vec<KernelEvent>>,
}

/// Events in memory, handed out all at once.
struct Once<'a>(&'a [KernelEvent]);

impl EventStream for Once<'_> {
    fn next(&mut self, events: &mut Vec<KernelEvent>) -> Result<bool, Error> {
        events.clear();
        events.extend_from_slice(std::mem::take(&mut self.0));
        Ok(!events.is_empty())
    }
}

impl Source for InMemory {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn series(&self) -> &[Series] {
        &self.series
    }

    fn replay_quanta(&self, index: usize, visit: &mut dyn FnMut(Chunk<'_>)) -> Result<(), Error> {
        self.quanta[index].for_each_chunk(visit);
        Ok(())
    }

    fn replay_gaps(&self, index: usize, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        if let Some(gaps) = self.gaps.get(index).filter(|gaps| !gaps.is_empty()) {
            visit(gaps);
        }
        Ok(())
    }

    fn events(&self, index: usize) -> Result<Box<dyn EventStream + '_>, Error> {
        let events = self.events.get(index).map_or(&[][..], Vec::as_slice);
        Ok(Box::new(Once(events)))
    }
}
