//! Which quanta were really disturbed, and which have a gap: one pass over the quanta of a series, and its kernel events beside it.

use super::Track;
use crate::series::context::Context;
use bandscope_recording::disturbances::Intervals;
use bandscope_recording::{Chunk, Error, EventStream, KernelEvent, Source};

/// What the quanta of a series come to.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// First and last tick of each segment.
    pub(super) segments: Vec<(u64, u64)>,
    /// Of each log: quanta really disturbed, and those of them with a gap.
    pub(super) of_logs: Vec<(u64, u64)>,
    /// Quanta with a gap.
    pub(super) with_gaps: u64,
    /// Those that a disturbance touches.
    pub(super) in_logs: u64,
    /// Those that none touches, but a kernel event does.
    pub(super) in_events: u64,
}

/// The pass.
pub(super) struct Quanta<'a> {
    tracks: &'a [&'a Track<'a>],
    all: &'a Intervals,
    threshold: u64,
    events: Seen<'a>,
    counts: Counts,
}

impl<'a> Quanta<'a> {
    /// Counts the quanta of series `index`; `all` are the spans of all logs.
    pub(super) fn count(
        source: &'a dyn Source,
        index: usize,
        tracks: &'a [&'a Track<'a>],
        all: &'a Intervals,
        context: &Context,
    ) -> Result<Counts, Error> {
        let error = source.events_known(index).time_error_ticks.unwrap_or(0.0);
        let kernel = context.kernel.as_ref();
        let mut pass = Quanta {
            tracks,
            all,
            threshold: kernel.map_or(0, |kernel| kernel.gap_threshold_ticks),
            events: Seen {
                stream: source.events(index)?,
                batch: Vec::new(),
                reached: None,
                error: error.max(0.0).ceil() as u64,
            },
            counts: Counts {
                of_logs: vec![(0, 0); tracks.len()],
                ..Counts::default()
            },
        };
        let mut failed = None;
        source.replay_quanta(index, &mut |chunk| {
            if failed.is_none() {
                failed = pass.push(chunk).err();
            }
        })?;
        failed.map_or(Ok(pass.counts), Err)
    }

    fn push(&mut self, chunk: Chunk<'_>) -> Result<(), Error> {
        for k in 0..chunk.start.len() {
            self.quantum(chunk.start[k], chunk.end[k], chunk.gaps[k] > 0)?;
        }
        Ok(())
    }

    fn quantum(&mut self, start: u64, end: u64, has_gap: bool) -> Result<(), Error> {
        let counts = &mut self.counts;
        match counts.segments.last_mut() {
            Some(segment) if segment.1 == start => segment.1 = end,
            _ => counts.segments.push((start, end)),
        }
        for (track, (disturbed, recognised)) in self.tracks.iter().zip(&mut counts.of_logs) {
            if track.disturbed.within(start, end) > self.threshold {
                *disturbed += 1;
                *recognised += u64::from(has_gap);
            }
        }
        if !has_gap {
            return Ok(());
        }
        counts.with_gaps += 1;
        if self.all.within(start, end) > 0 {
            counts.in_logs += 1;
        } else if self.events.touches(start, end)? {
            self.counts.in_events += 1;
        }
        Ok(())
    }
}

/// Whether an event falls into spans that come in order of time.
struct Seen<'a> {
    stream: Box<dyn EventStream + 'a>,
    /// Events to come, last first.
    batch: Vec<KernelEvent>,
    /// The latest end of an event that began before the end of the last span.
    reached: Option<u64>,
    error: u64,
}

impl Seen<'_> {
    fn touches(&mut self, start: u64, end: u64) -> Result<bool, Error> {
        loop {
            if self.batch.is_empty() {
                if !self.stream.next(&mut self.batch)? {
                    break;
                }
                self.batch.reverse();
            }
            let begun = |event: &mut KernelEvent| event.start <= end.saturating_add(self.error);
            let Some(event) = self.batch.pop_if(begun) else {
                break;
            };
            self.reached = self.reached.max(Some(event.end()));
        }
        Ok(self
            .reached
            .is_some_and(|reached| reached.saturating_add(self.error) >= start))
    }
}
