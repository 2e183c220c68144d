//! What has begun and has not ended, and the intervals that it becomes when it does.

use super::Interval;
use bandscope_recording::EventKind;
use std::sync::Arc;

/// An interrupt, a softirq or another task that has begun.
#[derive(Clone, Debug)]
pub struct Frame {
    /// When it began.
    pub start: u64,
    /// What it is.
    pub kind: EventKind,
    /// By its kind: the line, the vector, or the thread id.
    pub number: u32,
    name: Arc<str>,
    /// Timers whose functions ran in it, in order.
    pub timers: Vec<Expiry>,
    /// What a kernel worker did, an interrupt that another CPU sent, or the softirq of timers, each once.
    pub functions: Vec<Arc<str>>,
}

/// A timer whose function began to run.
#[derive(Clone, Debug)]
pub struct Expiry {
    /// When it did.
    pub start: u64,
    /// Its address.
    pub timer: u64,
    /// It is the tick.
    pub is_tick: bool,
    /// The task that it woke, or 0.
    pub number: u32,
    /// That task's name, or the function's.
    pub name: Arc<str>,
}

impl Frame {
    /// Something that begins at `start`.
    pub fn new(start: u64, kind: EventKind, number: u32, name: Arc<str>) -> Frame {
        Frame {
            start,
            kind,
            number,
            name,
            timers: Vec::new(),
            functions: Vec::new(),
        }
    }

    /// Whether the kernel's tick comes as this interrupt, among other timers.
    fn may_be_tick(&self) -> bool {
        matches!(
            (self.kind, &*self.name),
            (EventKind::Vector, "local_timer") | (EventKind::Interrupt, "arch_timer")
        )
    }

    fn interval(&self, end: u64) -> Interval {
        Interval {
            start: self.start,
            end: end.max(self.start),
            kind: self.kind,
            number: self.number,
            name: self.name.clone(),
            functions: self.functions.clone(),
            timer: 0,
        }
    }

    /// Adds to `intervals` what ends at `end`: an interrupt of the timer is that of the timers that expired in it, each until the next;
    /// `tells_timers` as the catalogue does.
    pub fn hand_out(self, end: u64, tells_timers: bool, intervals: &mut Vec<Interval>) {
        let mut whole = self.interval(end);
        let named = |timer: &Expiry, end: u64| match timer.is_tick {
            true => Interval {
                start: timer.start,
                ..self.interval(end)
            },
            false => Interval {
                start: timer.start,
                end: end.max(timer.start),
                kind: EventKind::Timer,
                number: timer.number,
                name: timer.name.clone(),
                functions: Vec::new(),
                timer: timer.timer,
            },
        };
        if let Some(first) = self.timers.first() {
            whole = Interval {
                start: whole.start,
                ..named(first, whole.end)
            };
        } else if tells_timers && self.may_be_tick() {
            // It came for nothing, or for a softirq.
            (whole.kind, whole.name) = (EventKind::Timer, "".into());
        }
        let end = whole.end;
        intervals.push(whole);
        for (place, timer) in self.timers.iter().enumerate().skip(1) {
            let next = self.timers.get(place + 1).map_or(end, |next| next.start);
            intervals.push(named(timer, next.min(end)));
        }
    }
}
