//! Beginnings and ends become intervals, and never a wrong one.
//!
//! Records of one CPU come in, in the order in which the kernel wrote them; what comes out are intervals that lie within one another (an interrupt in a
//! softirq in the time of another task), in order of their starts, and spans in which nothing is known: where records were lost, or an end came without its
//! beginning. A record is written after its time was taken, and an interrupt may come in between. So times may run back by some microseconds from record to
//! record, and intervals are held back by [`SETTLED_NS`] before they are in their order.

mod frame;
mod held;
mod unknown;

use super::functions::Function;
use super::point::{Left, Level, Point};
use super::points::PAGE_FAULT;
use bandscope_recording::EventKind;
use frame::{Expiry, Frame};
use std::sync::Arc;

/// After so long no record of before comes any more: a thousand times what an interrupt takes.
const SETTLED_NS: u64 = 1_000_000;
/// Another task's time on a measured CPU is cut into pieces of at most this, so that what lies within need not wait longer; and on other CPUs, which
/// other tasks have most of the time.
pub const PIECE_NS: u64 = 1_000_000_000;
pub const PIECE_OF_OTHERS_NS: u64 = 50_000_000;
/// Intervals that may wait for the end of what they lie in before it is cut.
const MOST_WAITING: usize = 1 << 16;
/// Nothing but tasks lasts longer: its end is not to be had any more.
const LONGEST_NS: u64 = 1_000_000_000;
/// How deep interrupts and softirqs nest, at most.
const DEEPEST: usize = 16;
/// Functions that are told of one stay of a kernel worker, and of one interrupt.
const MOST_FUNCTIONS: usize = 3;
/// Spans that are kept apart; beyond it the last one grows.
const MOST_SPANS: usize = 1000;

/// What took the CPU from one time to another, in nanoseconds of the events' clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// What it was.
    pub kind: EventKind,
    /// By its kind: the line, the vector, or the thread id.
    pub number: u32,
    pub name: Arc<str>,
    /// What a kernel worker did, an interrupt that another CPU sent, or the softirq of timers.
    pub functions: Vec<Arc<str>>,
    /// The timer that it is, by its address; 0 where it is none.
    pub timer: u64,
}

/// A span in which something happened that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First nanosecond of which nothing is known, by the events' clock.
    pub from: u64,
    /// First nanosecond that is known again.
    pub to: u64,
    /// Records that were lost.
    pub records: u64,
}

/// Who has the CPU.
#[derive(Clone, Debug)]
enum Running {
    Unknown,
    Own,
    Other(Frame),
}

/// The pairing of one CPU.
#[derive(Debug)]
pub struct Pairing {
    /// The measuring thread as samples name it, and as switches do: in a container the two differ.
    thread: u32,
    own_number: u32,
    /// How it left the CPU last.
    own_left: Left,
    /// When it left, and when its last page fault began.
    left_at: u64,
    faulted_at: Option<u64>,
    /// Whether the functions of timers are recorded.
    tells_timers: bool,
    piece_ns: u64,
    running: Running,
    frames: Vec<Frame>,
    waiting: Vec<Interval>,
    spans: Vec<Span>,
    latest: u64,
    /// Nothing that began before this is known.
    known_from: u64,
    /// Records were lost, and none has come since.
    lost: Option<Span>,
}

impl Pairing {
    /// For the CPU of measuring thread `thread`; `tells_timers` as the catalogue does, and other tasks' time in pieces of `piece_ns` at most.
    pub fn new(thread: u32, tells_timers: bool, piece_ns: u64) -> Pairing {
        Pairing {
            thread,
            own_number: thread,
            own_left: Left::Unknown,
            left_at: 0,
            faulted_at: None,
            tells_timers,
            piece_ns,
            running: Running::Unknown,
            frames: Vec::new(),
            waiting: Vec::new(),
            spans: Vec::new(),
            latest: 0,
            known_from: 0,
            lost: None,
        }
    }

    /// Takes a record of a tracepoint, passed at `time` while `thread` ran.
    pub fn push(&mut self, time: u64, thread: u32, point: Point) {
        if self.latest == 0 {
            self.known_from = time;
        }
        self.latest = self.latest.max(time);
        if let Some(lost) = self.lost.take() {
            self.known_from = time;
            self.note(Span { to: time, ..lost });
        }
        self.see(time, thread);
        match point {
            Point::Enter { kind, number, name } => self.enter(time, kind, number, name),
            Point::Exit { kind, number } => self.exit(time, kind, number),
            Point::Switch {
                previous,
                next,
                name,
                left,
            } => {
                if thread == self.thread {
                    self.own_number = previous;
                    self.own_left = left;
                    self.left_at = time;
                }
                self.switch(time, next, name);
            }
            Point::Expires {
                timer, function, ..
            } => self.expire(time, timer, function),
            Point::Wakes {
                by: Level::Task, ..
            } => {}
            Point::Wakes { number, name, .. } => self.wake(number, name),
            Point::Works(function) => self.work(function, Some(thread)),
            Point::Calls(function) | Point::Runs { function, .. } => self.work(function, None),
            Point::Sends { .. }
            | Point::Raises { .. }
            | Point::Sets { .. }
            | Point::Ends { .. } => {}
            Point::Over {
                kind,
                number,
                name,
                ns,
            } => self.over((time, thread), (kind, number), name, ns),
        }
        self.cut(time);
    }

    /// Something happened at `time`, while `thread` ran, that took so many nanoseconds.
    fn over(
        &mut self,
        (time, thread): (u64, u32),
        (kind, number): (EventKind, u32),
        name: Arc<str>,
        ns: u64,
    ) {
        if thread == self.thread && (kind, number) == (EventKind::Exception, PAGE_FAULT) {
            self.faulted_at = Some(time);
        }
        self.waiting.push(Interval {
            // It lies within what is open: the kernel timed it by another clock.
            start: time
                .saturating_sub(ns)
                .max(self.frames.last().map_or(0, |frame| frame.start)),
            end: time,
            kind,
            number: match kind {
                EventKind::Tracepoint => thread,
                _ => number,
            },
            name,
            functions: Vec::new(),
            timer: 0,
        });
    }

    /// Beginning of what is open and outermost.
    fn first_open(&self) -> Option<u64> {
        let task = match &self.running {
            Running::Other(task) => Some(task.start),
            _ => None,
        };
        let frames = self.frames.iter().map(|frame| frame.start);
        frames.chain(task).min()
    }

    /// Who runs is said by each record.
    fn see(&mut self, time: u64, thread: u32) {
        if thread == self.thread {
            // Also where a switch named it by another number: then it was no other task.
            let running = std::mem::replace(&mut self.running, Running::Own);
            match running {
                // Where RCU does not watch the idle task, its records are missing, the switch back among them: what held the thread ended by now.
                Running::Other(held) if held.kind == EventKind::Held && self.frames.is_empty() => {
                    self.close(held, time);
                }
                // So are those of a task that the kernel keeps from perf, and this thread has run for who knows how long. When the task came is
                // known: this thread said it when it left, and not so long ago that the task was cut.
                Running::Other(task)
                    if task.kind == EventKind::Task
                        && self.left_at > 0
                        && time.saturating_sub(self.left_at) <= self.piece_ns =>
                {
                    let start = task.start;
                    self.close(task, start);
                }
                _ => {}
            }
        } else if matches!(self.running, Running::Unknown) {
            self.doubt(time);
            // A stop goes on until the thread is seen to run.
            if let Some(why) = self.held(thread) {
                let held = Frame::new(time, EventKind::Held, thread, why.into());
                self.running = Running::Other(held);
            }
        }
    }

    fn enter(&mut self, time: u64, kind: EventKind, number: u32, name: Arc<str>) {
        let old = |frame: &Frame| time.saturating_sub(frame.start) > LONGEST_NS;
        if self.frames.first().is_some_and(old) || self.frames.len() >= DEEPEST {
            self.drop_frames(0, time);
        }
        // Nothing lies within itself: the end of the one before was not recorded.
        let same = |frame: &Frame| (frame.kind, frame.number) == (kind, number);
        if let Some(place) = self.frames.iter().position(same) {
            self.drop_frames(place, time);
        }
        self.frames.push(Frame::new(time, kind, number, name));
    }

    fn expire(&mut self, time: u64, timer: u64, function: Function) {
        // Outside of an interrupt, as where tracing began within one, there is nothing to name.
        if let Some(frame) = self.frames.last_mut() {
            frame.timers.push(Expiry {
                start: time.max(frame.start),
                timer,
                is_tick: function.is_tick,
                number: 0,
                name: function.name,
            });
        }
    }

    fn wake(&mut self, number: u32, name: Arc<str>) {
        let timer = self
            .frames
            .last_mut()
            .and_then(|frame| frame.timers.last_mut());
        // The tick wakes tasks for many reasons; of several that another timer wakes the first is its owner.
        if let Some(timer) = timer.filter(|timer| !timer.is_tick && timer.number == 0) {
            (timer.number, timer.name) = (number, name);
        }
    }

    /// A function began to run, in `worker` or, where that is `None`, in an interrupt.
    ///
    /// A task that the kernel keeps from perf leaves without a record, and the worker that took the CPU from it tells what it does: that is not the
    /// task's. In a namespace of process ids records and switches have different numbers for a thread, and none tells, once this thread
    /// has been switched.
    fn work(&mut self, function: Arc<str>, worker: Option<u32>) {
        let tells = self.own_number == self.thread;
        let is_it = |task: &Frame| worker.is_some_and(|worker| task.number == worker || !tells);
        let running = match &mut self.running {
            Running::Other(task) if task.kind == EventKind::Task && is_it(task) => Some(task),
            _ => None,
        };
        let frame = self.frames.last_mut().or(running);
        if let Some(frame) = frame.filter(|frame| {
            frame.functions.len() < MOST_FUNCTIONS && !frame.functions.contains(&function)
        }) {
            frame.functions.push(function);
        }
    }

    fn exit(&mut self, time: u64, kind: EventKind, number: u32) {
        let is_it = |frame: &Frame| (frame.kind, frame.number) == (kind, number);
        let Some(place) = self.frames.iter().rposition(is_it) else {
            // It began before anything was known.
            self.drop_frames(0, time);
            self.doubt(time);
            return;
        };
        // What began within it and has no end of its own.
        self.drop_frames(place + 1, time);
        if let Some(frame) = self.frames.pop() {
            self.close(frame, time);
        }
    }

    fn switch(&mut self, time: u64, next: u32, name: Arc<str>) {
        self.drop_frames(0, time);
        let running = match (next == self.own_number, self.held(next)) {
            (true, _) => Running::Own,
            (false, Some(why)) => {
                Running::Other(Frame::new(time, EventKind::Held, next, why.into()))
            }
            (false, None) => Running::Other(Frame::new(time, EventKind::Task, next, name)),
        };
        if let Running::Other(task) = std::mem::replace(&mut self.running, running) {
            self.close(task, time);
        }
    }

    /// Hands out a frame, and what lies within it.
    fn close(&mut self, frame: Frame, end: u64) {
        frame.hand_out(end, self.tells_timers, &mut self.waiting);
    }

    /// Gives up what began and did not end.
    fn drop_frames(&mut self, keep: usize, time: u64) {
        if let Some(first) = self.frames.get(keep) {
            let from = first.start;
            self.frames.truncate(keep);
            self.note(Span {
                from,
                to: time.max(from),
                records: 0,
            });
        }
    }

    /// Cuts the time of another task where it has lasted long.
    fn cut(&mut self, time: u64) {
        let crowded = self.waiting.len() >= MOST_WAITING;
        if let Running::Other(task) = &mut self.running
            && self.frames.is_empty()
            && time > task.start
            && (crowded || time.saturating_sub(task.start) > self.piece_ns)
        {
            let piece = task.clone();
            task.start = time;
            self.close(piece, time);
        }
    }

    /// What began before this is settled, where all records up to `seen` have been taken.
    pub fn horizon(&self, seen: u64) -> u64 {
        let horizon = seen.saturating_sub(SETTLED_NS);
        self.first_open().map_or(horizon, |open| open.min(horizon))
    }

    /// Moves what is settled to `into`, in order of the starts, an outer interval before those within; all records up to `seen` have been taken.
    pub fn take(&mut self, seen: u64, into: &mut Vec<Interval>) {
        // A task that has a CPU for long without any record is not waited for.
        self.cut(seen.saturating_sub(SETTLED_NS));
        let horizon = self.horizon(seen);
        self.waiting
            .sort_by_key(|interval| (interval.start, u64::MAX - interval.end));
        let settled = self
            .waiting
            .partition_point(|interval| interval.start < horizon);
        into.extend(self.waiting.drain(..settled));
    }

    /// Moves all that is whole to `into`; what is still open is dropped, and marked.
    pub fn finish(&mut self, into: &mut Vec<Interval>) {
        let latest = self.latest;
        self.drop_frames(0, latest);
        // It ran until the last record at least.
        if let Running::Other(task) = std::mem::replace(&mut self.running, Running::Unknown) {
            self.close(task, latest);
        }
        if let Some(lost) = self.lost.take() {
            self.note(Span {
                to: u64::MAX,
                ..lost
            });
        }
        self.take(latest, into);
        into.append(&mut self.waiting);
    }
}

#[cfg(test)]
mod tests;
