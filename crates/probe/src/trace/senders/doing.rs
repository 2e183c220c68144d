//! What a CPU is in the midst of when somebody is woken there, interrupted, or a timer set.

use crate::trace::point::{Level, Point};
use bandscope_recording::EventKind;
use std::sync::Arc;

/// A timer's function that began so long ago is over: the kernel tells its end by a tracepoint that is not recorded.
pub(super) const LONGEST_TIMER_NS: u64 = 100_000;

/// What one CPU does at the moment, as far as it may wake a task.
#[derive(Clone, Debug, Default)]
pub struct Doing {
    interrupt: Option<Arc<str>>,
    /// The interrupt of the CPU itself at hand, where these are recorded.
    vector: Option<Arc<str>>,
    softirq: Option<Arc<str>>,
    /// The high-resolution timer that expired last, and when.
    expired: Option<(u64, Timer)>,
    /// The timer of the timer wheel that did, in the softirq at hand.
    wheel: Option<Timer>,
}

/// A timer whose function runs.
#[derive(Clone, Debug)]
struct Timer {
    address: u64,
    /// As causes are named.
    name: Arc<str>,
}

/// What wakes, interrupts or sets a timer, where that is no task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agent {
    /// As causes are named.
    pub name: Arc<str>,
    /// The timer that it is, by its address; 0 where it is none.
    pub timer: u64,
}

impl Doing {
    /// Takes what happened on the CPU at `time`.
    pub fn see(&mut self, time: u64, point: &Point) {
        match point {
            Point::Enter { kind, name, .. } => match kind {
                EventKind::Softirq => (self.softirq, self.wheel) = (Some(name.clone()), None),
                EventKind::Interrupt => self.interrupt = Some(name.clone()),
                // The timers of the one before are over.
                _ => (self.expired, self.vector) = (None, Some(name.clone())),
            },
            Point::Exit { kind, .. } => match kind {
                EventKind::Softirq => (self.softirq, self.wheel) = (None, None),
                EventKind::Interrupt => self.interrupt = None,
                _ => (self.expired, self.vector) = (None, None),
            },
            Point::Expires { timer, function } => {
                let name = match function.is_tick {
                    true => "tick".into(),
                    false => format!("timer:{}", function.name).into(),
                };
                let address = *timer;
                self.expired = Some((time, Timer { address, name }));
            }
            Point::Runs { timer, function } => {
                let (address, name) = (*timer, format!("timer:{function}").into());
                self.wheel = Some(Timer { address, name });
            }
            _ => {}
        }
    }

    /// What acts at `time`; `None` for a task.
    pub(super) fn agent(&self, time: u64, by: Level) -> Option<Agent> {
        let named = |kind: &str, name: &Arc<str>| Agent {
            name: format!("{kind}:{name}").into(),
            timer: 0,
        };
        let nameless = |kind: &str| Agent {
            name: kind.into(),
            timer: 0,
        };
        let timer = |timer: &Timer| Agent {
            name: timer.name.clone(),
            timer: timer.address,
        };
        let lately = |(since, _): &&(u64, Timer)| time.saturating_sub(*since) <= LONGEST_TIMER_NS;
        let expired = self.expired.as_ref().filter(lately);
        match by {
            Level::Task => None,
            Level::Interrupt => Some(match (&self.interrupt, expired, &self.vector) {
                (Some(name), ..) => named("irq", name),
                (None, Some((_, expired)), _) => timer(expired),
                (None, None, Some(name)) => named("irq", name),
                (None, None, None) => nameless("interrupt"),
            }),
            Level::Softirq => Some(match (&self.wheel, &self.softirq) {
                (Some(wheel), _) => timer(wheel),
                (None, Some(name)) => named("softirq", name),
                (None, None) => nameless("softirq"),
            }),
        }
    }
}
