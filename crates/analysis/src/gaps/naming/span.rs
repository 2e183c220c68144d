//! Kernel events as they lie in one gap.

use super::Key;
use super::causes::Keys;
use bandscope_recording::{EventKind, KernelEvent, Sender};
use std::sync::Arc;

/// An event, cut to a gap.
#[derive(Clone, Debug)]
pub struct Span {
    /// First tick and the first beyond.
    pub from: u64,
    pub to: u64,
    pub(super) key: Key,
    /// The thread did not run, for a reason that has an event.
    pub(super) away: bool,
    /// A task of which only the beginning is known.
    is_untold: bool,
    /// A task: its id, and whether it is known what made it run.
    pub(super) turn: Option<Turn>,
    /// An interrupt of the timer in which no function of a timer ran.
    pub(super) is_bare_timer: bool,
    /// A timer that expired, by the name of the task that it woke.
    pub(super) is_expiry: bool,
    /// The thread's name, where its process has the key, and another name; and the id of the process.
    pub(super) thread: Option<Arc<str>>,
    pub(super) process: Option<u32>,
    /// Who is behind it, as far as that is known.
    pub sender: Option<Arc<Sender>>,
    /// Ticks from what that did until the event began.
    pub waited: u64,
}

impl Span {
    /// An event that lies in a gap from and to these ticks.
    pub(super) fn new(event: &KernelEvent, (from, to): (u64, u64), key: Key, keys: &Keys) -> Span {
        let is_task = event.kind == EventKind::Task;
        let is_timer = event.kind == EventKind::Timer;
        Span {
            from,
            to,
            key,
            away: is_task || event.kind == EventKind::Held,
            is_untold: is_task && event.duration == 0,
            turn: is_task.then(|| Turn {
                task: event.number,
                woken: (event.sender.iter()).any(|sender| sender.is_somebody()),
                follows: false,
            }),
            is_bare_timer: is_timer && event.name.is_empty(),
            is_expiry: is_timer && !event.name.is_empty(),
            thread: (keys.process(event))
                .filter(|process| is_task && **process != event.name)
                .map(|_| event.name.clone()),
            process: keys.process_id(event),
            sender: event.sender.clone(),
            waited: event.waited,
        }
    }
}

/// How a task got the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its id.
    pub task: u32,
    /// Whether it is known what woke it.
    pub woken: bool,
    /// Whether it got the CPU from another task, or had it already, and not from the measuring thread.
    pub follows: bool,
}

/// Says of which tasks of a gap the turn follows another one's, of spans in order. Ends and begins are one switch within `error` ticks.
pub(super) fn follow(spans: &mut [Span], error: u64) {
    let mut until: Option<u64> = None;
    for span in spans.iter_mut() {
        if let Some(turn) = &mut span.turn {
            turn.follows = until.is_some_and(|until| until.abs_diff(span.from) <= error);
            until = Some(span.to);
        }
    }
}

/// Gives tasks of which only the beginning is known their end, of the spans of a gap up to `to`, in order. No record tells what happens while such a
/// task runs, so it was over by the next one; and the measuring thread ran again when the gap was over.
pub(super) fn end_untold(spans: &mut [Span], to: u64) {
    let mut until = to;
    for span in spans.iter_mut().rev() {
        if span.is_untold {
            span.to = until;
        }
        until = span.from;
    }
}
