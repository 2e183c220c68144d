//! Kernel events of one CPU on their way to the disk.
//!
//! Unlike quanta and gaps, events that are lost change what those that are left mean: a gap without an event would be
//! taken for the hypervisor's. So what could not be written is kept as a span.

use crate::columns::{
    EVENT_ROWS, Storage, caller_columns, event_columns, sender_columns, setter_columns,
};
use crate::layout::Directory;
use crate::manifest::{LostEvents, Parts};
use crate::order::EventOrder;
use crate::write::part::RowGroup;
use crate::write::rows::{Rows, Scratch, put};
use crate::write::track::Track;
use crate::write::{close_or_abandon, refused};
use crate::{Error, KernelEvent, Sender};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use std::path::Path;

impl Rows for Vec<KernelEvent> {
    const ROW_GROUP: usize = EVENT_ROWS;

    fn columns(&self) -> Vec<(String, Storage)> {
        let mut columns = event_columns();
        columns.extend(sender_columns());
        columns.extend(caller_columns());
        columns.extend(setter_columns());
        columns
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn first(&self) -> Option<(u64, u32)> {
        // Events belong to no segment.
        Some((<[KernelEvent]>::first(self)?.start, 0))
    }

    fn encode(&self, group: &mut RowGroup<'_>, scratch: &mut Scratch) -> Result<(), ParquetError> {
        scratch.put_wide(group, self.iter().map(|event| event.start))?;
        scratch.put_wide(group, self.iter().map(|event| event.duration))?;
        scratch.put_narrow(group, self.iter().map(|event| event.kind.number()))?;
        scratch.put_narrow(group, self.iter().map(|event| event.number))?;
        put_texts(group, self.iter().map(|event| &*event.name))?;
        // Nobody is told by an empty name, and nothing by an empty function.
        let nobody = Sender::default();
        let senders = || (self.iter()).map(|event| event.sender.as_deref().unwrap_or(&nobody));
        put_texts(group, senders().map(|sender| &*sender.name))?;
        scratch.put_narrow(group, senders().map(|sender| sender.cpu))?;
        put_texts(group, senders().map(|sender| &*sender.function))?;
        scratch.put_wide(group, self.iter().map(|event| event.waited))?;
        put_texts(group, senders().map(|sender| &*sender.caller))?;
        put_texts(group, senders().map(|sender| &*sender.set_by))
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }
}

fn put_texts<'a>(
    group: &mut RowGroup<'_>,
    texts: impl Iterator<Item = &'a str>,
) -> Result<(), ParquetError> {
    let texts: Vec<ByteArray> = texts.map(ByteArray::from).collect();
    put::<ByteArrayType>(group, &texts, None)
}

/// The events of one CPU.
pub struct EventTrack {
    cpu: u32,
    track: Track<Vec<KernelEvent>>,
    order: EventOrder,
    /// Start of the first event that is in no finished part, and the latest end of all.
    unfinished_from: Option<u64>,
    latest_end: u64,
    unwritten_before: u64,
    lost: Vec<LostEvents>,
}

impl EventTrack {
    /// Makes the directory inside the recording at `root`.
    pub fn create(root: &Path, cpu: u32) -> Result<EventTrack, Error> {
        Ok(EventTrack {
            cpu,
            track: Track::create(root, Directory::Events { cpu }, Vec::new())?,
            order: EventOrder::default(),
            unfinished_from: None,
            latest_end: 0,
            unwritten_before: 0,
            lost: Vec::new(),
        })
    }

    /// CPU on which they happened.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// What was finished.
    pub fn finished(&self) -> &Parts {
        self.track.finished()
    }

    /// Events that are in no finished part.
    pub fn unwritten(&self) -> u64 {
        self.track.unwritten()
    }

    /// Where events could not be written.
    pub fn lost(&self) -> &[LostEvents] {
        &self.lost
    }

    /// Adds events piece by piece, so that no row group and no part holds too many.
    pub fn append(
        &mut self,
        events: &[KernelEvent],
        run: &str,
        ticks_per_s: f64,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        self.order
            .check(events)
            .map_err(|disorder| refused(self.track.path(), disorder))?;
        self.track.accept(events.len());
        let ends = events.iter().map(KernelEvent::end);
        self.latest_end = ends.fold(self.latest_end, u64::max);
        let added = self.add(events, run, ticks_per_s, scratch);
        if added.is_err() {
            self.track.abandon();
            self.note_loss(events.first().map(|event| event.start));
        }
        added
    }

    fn add(
        &mut self,
        events: &[KernelEvent],
        run: &str,
        ticks_per_s: f64,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let mut from = 0;
        while from < events.len() {
            let limit = self.track.part_limit(events[from].start, ticks_per_s);
            let in_part = events[from..].partition_point(|event| event.start < limit);
            let room = EVENT_ROWS - self.track.waiting.len();
            let to = from + in_part.min(room);
            self.unfinished_from = self.unfinished_from.or(Some(events[from].start));
            self.track.waiting.extend_from_slice(&events[from..to]);
            self.track.added(scratch)?;
            if in_part <= room && to < events.len() {
                self.track.close_part(run, scratch)?;
                self.unfinished_from = None;
            }
            from = to;
        }
        Ok(())
    }

    /// Closes the part under way if it began long before `now`, or copies it into its place.
    pub fn close_if_due(
        &mut self,
        now: u64,
        ticks_per_s: f64,
        run: &str,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        if self.track.is_due(now, ticks_per_s) {
            return self.close(run, scratch);
        }
        if self.track.copy_if_due(now, ticks_per_s, run, scratch) {
            self.unfinished_from = None;
        }
        Ok(())
    }

    /// Writes what waits and waits until it is on the disk.
    pub fn finish(&mut self, run: &str, scratch: &mut Scratch) -> Result<(), Error> {
        let closed = self.close(run, scratch);
        closed.and(self.track.sync())
    }

    fn close(&mut self, run: &str, scratch: &mut Scratch) -> Result<(), Error> {
        let closed = close_or_abandon(&mut self.track, run, scratch);
        match closed {
            Ok(()) => self.unfinished_from = None,
            Err(_) => self.note_loss(None),
        }
        closed
    }

    /// Notes the span of all that is in no finished part, after the part under way was given up.
    fn note_loss(&mut self, begin: Option<u64>) {
        let unwritten = self.track.unwritten();
        let from = self.unfinished_from.take().or(begin);
        self.lost.push(LostEvents {
            cpu: self.cpu,
            from: from.unwrap_or(self.latest_end),
            to: self.latest_end.saturating_add(1),
            events: unwritten - self.unwritten_before,
        });
        self.unwritten_before = unwritten;
    }
}
