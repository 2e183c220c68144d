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
    /// The timer that did in the softirq at hand, of the timer wheel or of high resolution.
    soft: Option<Timer>,
    /// Softirqs that are to run, a bit each.
    raised: u64,
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
            Point::Enter { kind, number, name } => match kind {
                EventKind::Softirq => {
                    (self.softirq, self.soft) = (Some(name.clone()), None);
                    self.raised &= !bit(*number);
                }
                // The timers of the one before are over.
                EventKind::Interrupt => (self.expired, self.interrupt) = (None, Some(name.clone())),
                _ => (self.expired, self.vector) = (None, Some(name.clone())),
            },
            Point::Exit { kind, .. } => match kind {
                EventKind::Softirq => (self.softirq, self.soft) = (None, None),
                EventKind::Interrupt => (self.expired, self.interrupt) = (None, None),
                _ => (self.expired, self.vector) = (None, None),
            },
            Point::Raises { number, .. } => self.raised |= bit(*number),
            Point::Expires {
                timer,
                function,
                by,
            } => {
                let name = match function.is_tick {
                    true => "tick".into(),
                    false => format!("timer:{}", function.name).into(),
                };
                let address = *timer;
                let timer = Timer { address, name };
                match by {
                    // A real-time kernel lets the timers of ordinary tasks expire there.
                    Level::Softirq => self.soft = Some(timer),
                    _ => self.expired = Some((time, timer)),
                }
            }
            Point::Runs { timer, function } => {
                let (address, name) = (*timer, format!("timer:{function}").into());
                self.soft = Some(Timer { address, name });
            }
            _ => {}
        }
    }

    /// Whether a softirq is to run already: raising it again changes nothing.
    pub(super) fn is_raised(&self, number: u32) -> bool {
        self.raised & bit(number) != 0
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
        // Where the end of its interrupt is recorded, that ends it.
        let ends = self.interrupt.is_some() || self.vector.is_some();
        let lately =
            |(since, _): &&(u64, Timer)| ends || time.saturating_sub(*since) <= LONGEST_TIMER_NS;
        let expired = self.expired.as_ref().filter(lately);
        match by {
            Level::Task => None,
            // On aarch64 the timer's interrupt is one of a device.
            Level::Interrupt => Some(
                match (expired, self.interrupt.as_ref().or(self.vector.as_ref())) {
                    (Some((_, expired)), _) => timer(expired),
                    (None, Some(name)) => named("irq", name),
                    (None, None) => nameless("interrupt"),
                },
            ),
            Level::Softirq => Some(match (&self.soft, &self.softirq) {
                (Some(soft), _) => timer(soft),
                (None, Some(name)) => named("softirq", name),
                (None, None) => nameless("softirq"),
            }),
        }
    }
}

/// Of a softirq, of which Linux has ten.
fn bit(number: u32) -> u64 {
    1_u64.checked_shl(number).unwrap_or(0)
}
