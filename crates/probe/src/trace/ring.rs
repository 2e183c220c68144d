//! The tracepoints of one CPU, open, and the ring that their records come in.

use super::buffer::Buffer;
use super::error::TraceError;
use super::open;
use super::point::Point;
use super::points::{Catalogue, Tracepoint};
use super::records::Record;
use super::senders::{Doing, Senders};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// What a ring says.
#[derive(Debug)]
pub enum Said {
    /// A tracepoint was passed.
    Point {
        /// When, in nanoseconds of the events' clock.
        time: u64,
        /// Thread and process that ran, as this process counts them.
        thread: u32,
        process: u32,
        point: Point,
    },
    /// So many records were lost, or cannot be read.
    Lost(u64),
}

/// An open ring.
#[derive(Debug)]
pub struct Ring {
    cpu: u32,
    events: Vec<File>,
    buffer: Buffer,
    catalogue: Catalogue,
    doing: Doing,
    /// Records that the ring said it had lost.
    told_lost: u64,
    is_empty: bool,
    /// When the last record that was taken was made.
    latest: u64,
}

/// Events of the ring that was closed last, switched off.
///
/// The last to close a tracepoint waits until no CPU can be in it, some 30 ms each, and whoever opens one meanwhile waits with it: 0.6 s between the
/// trials of `cure`. As long as these are open nobody is the last.
static KEPT: Mutex<Vec<File>> = Mutex::new(Vec::new());

impl Drop for Ring {
    /// Switched off, and closed when the next ring is: before whatever measures next, as each event that is closed interrupts its CPU.
    fn drop(&mut self) {
        let _ = self.switch(false);
        let events = std::mem::take(&mut self.events);
        *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = events;
    }
}

impl Ring {
    /// Opens those tracepoints of a CPU that are `wanted`, switched off; `thread` measures it.
    ///
    /// # Errors
    /// One line: what the kernel refuses.
    pub fn open(
        catalogue: &Catalogue,
        (cpu, thread): (u32, u32),
        bytes: usize,
        wanted: impl Fn(&Tracepoint) -> bool,
    ) -> Result<Ring, TraceError> {
        let mut events: Vec<File> = Vec::new();
        let mut buffer = None;
        let all = catalogue.tracepoints().iter();
        for tracepoint in all.filter(|one| wanted(one)) {
            let refused = |error| TraceError::NotOpened {
                tracepoint: tracepoint.name.clone(),
                cpu,
                error,
            };
            for (stacks, filter) in catalogue.opened(tracepoint) {
                let (who, filter) = tracepoint.who(thread).by_filter(filter);
                let event = open::open(tracepoint.id, cpu, who, stacks).map_err(refused)?;
                match events.first() {
                    None => {
                        let ring = Buffer::new(&event, bytes)
                            .map_err(|error| TraceError::NoRing { cpu, error })?;
                        buffer = Some(ring);
                    }
                    Some(leader) => open::redirect(&event, leader).map_err(refused)?,
                }
                if !filter.is_empty() {
                    open::filter(&event, &filter).map_err(|error| TraceError::NoFilter {
                        tracepoint: tracepoint.name.clone(),
                        filter: filter.clone(),
                        error,
                    })?;
                }
                events.push(event);
            }
        }
        Ok(Ring {
            cpu,
            events,
            buffer: buffer.ok_or(TraceError::NothingToOpen)?,
            catalogue: catalogue.clone(),
            doing: Doing::default(),
            told_lost: 0,
            is_empty: true,
            latest: 0,
        })
    }

    /// Switches all on, or off: ends before beginnings, as the catalogue has them the other way round. What is under way at that moment then
    /// lacks its beginning at the start, and its end at the end, and is known to.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn switch(&self, on: bool) -> io::Result<()> {
        let mut events = self.events.iter().rev();
        events.try_for_each(|event| open::switch(event, on))
    }

    /// Takes so many records at most: what is done to others goes to `senders`, and everything to `visit`.
    pub fn drain(&mut self, most: usize, senders: &mut Senders, mut visit: impl FnMut(Said)) {
        let (cpu, catalogue, latest) = (self.cpu, &mut self.catalogue, &mut self.latest);
        let (doing, told_lost) = (&mut self.doing, &mut self.told_lost);
        let has_stacks = catalogue.with_stacks;
        self.is_empty = self
            .buffer
            .drain(most, |record| match Record::parse(record, has_stacks) {
                Some(Record::Sample {
                    process,
                    thread,
                    time,
                    stack,
                    raw,
                }) => match catalogue.decode(raw) {
                    Some(point) => {
                        *latest = time.max(*latest);
                        let thread = who(thread, raw);
                        let caller = match stack {
                            [] => Arc::default(),
                            stack => catalogue.caller(stack),
                        };
                        senders.see((time, cpu, thread), doing, &point, caller);
                        doing.see(time, &point);
                        visit(Said::Point {
                            time,
                            thread,
                            process,
                            point,
                        });
                    }
                    None => visit(Said::Lost(1)),
                },
                Some(Record::Lost { records }) => {
                    *told_lost += records;
                    // An end, or who set a timer, may be among them.
                    *doing = Doing::default();
                    senders.lose();
                    visit(Said::Lost(records));
                }
                Some(Record::Other) => {}
                None => visit(Said::Lost(1)),
            });
    }

    /// Up to when all records were taken, where those of empty rings were up to `seen`.
    pub fn taken_until(&self, seen: u64) -> u64 {
        match self.is_empty {
            true => seen,
            false => seen.min(self.latest),
        }
    }

    /// When the last record that was taken was made, where more are left.
    pub fn left_at(&self) -> Option<u64> {
        (!self.is_empty).then_some(self.latest)
    }

    /// Whether nothing was left in it.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether records may have been lost after the last that was taken.
    pub fn was_full(&self) -> bool {
        self.buffer.was_full()
    }

    /// Records that were lost and of which nothing was said: the ring tells of a loss with the next record that finds room, and at the end there is
    /// none.
    pub fn untold_losses(&self) -> u64 {
        let lost: Option<u64> = self.events.iter().map(open::lost).sum();
        match lost {
            Some(lost) => lost.saturating_sub(self.told_lost),
            None => u64::from(self.was_full()),
        }
    }
}

/// The thread of a sample. In a namespace of process ids the kernel calls every task outside of it 0, as it calls the idle task; `common_pid` of the
/// tracepoint's own record tells which it is (include/linux/trace_events.h, `trace_entry`). The others get the number of a thread that is gone.
fn who(thread: u32, raw: &[u8]) -> u32 {
    match raw.get(4..8) {
        Some(common_pid) if thread == 0 && common_pid != [0; 4] => u32::MAX,
        _ => thread,
    }
}

#[cfg(test)]
mod tests {
    use super::who;

    #[test]
    fn a_task_outside_of_the_namespace_is_not_the_idle_task() {
        let record = |pid: u32| [&[1, 0, 0, 0][..], &pid.to_ne_bytes(), &[7; 4]].concat();
        assert_eq!(who(0, &record(0)), 0, "idle");
        assert_eq!(who(0, &record(4242)), u32::MAX);
        assert_eq!(who(17, &record(4242)), 17);
        assert_eq!(who(0, &record(4242)[..6]), 0, "cut short");
    }
}
