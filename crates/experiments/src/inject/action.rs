//! What a disturber does until its next start, and during a disturbance: one implementation a kind.

use super::faults::Faults;
use super::kinds::{Kind, Neighbour};
use super::neighbour::{Deep, Shallow};
use super::signal::Signal;
use super::softirq::Softirq;
use super::spin::{Turn, spin};
use bandscope_probe::clock;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What the disturbing thread has to know of the clock and of the end of the run.
#[derive(Debug)]
pub struct Waiting {
    /// Set, and the thread unparked, to end the run.
    pub stop: AtomicBool,
    /// Rate of the clock.
    pub ticks_per_ns: f64,
    /// A jump of the clock by more is an absence.
    pub away_threshold: u64,
}

impl Waiting {
    /// Whether the run ends.
    pub fn ends(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Nanoseconds until `tick`, rounded up; 0 if it has passed.
    pub fn ns_until(&self, tick: u64) -> u64 {
        (tick.saturating_sub(clock::ticks()) as f64 / self.ticks_per_ns).ceil() as u64
    }

    /// Sleeps until `tick`, in one sleep if the kernel does not wake it early. Returns the tick read after it, or `None` if
    /// the run ends.
    pub fn sleep(&self, tick: u64) -> Option<u64> {
        loop {
            if self.ends() {
                return None;
            }
            let now = clock::ticks();
            if now >= tick {
                return Some(now);
            }
            // A futex with an absolute deadline of CLOCK_MONOTONIC, which whoever ends the run can wake.
            thread::park_timeout(Duration::from_nanos(self.ns_until(tick)));
        }
    }
}

/// A kind of disturber.
pub trait Action {
    /// Whether an absence can be told from its own work: its turns are shorter than the threshold.
    fn sees_absences(&self) -> bool {
        false
    }

    /// Waits until `planned`. Returns the tick at which the disturbance begins, or `None` if the run ends.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn wait(&mut self, planned: u64, waiting: &Waiting) -> io::Result<Option<u64>> {
        Ok(waiting.sleep(planned))
    }

    /// Disturbs from `start` until `until`, or until the run ends. `away` gets its absences, if it sees them. Returns how
    /// many events there were, or `None` where the kernel's count of page faults says it.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn disturb(
        &mut self,
        start: u64,
        until: u64,
        waiting: &Waiting,
        away: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Option<u64>>;
}

/// Makes the action of a kind, in the thread that will do it.
///
/// # Errors
/// What the kernel refuses.
pub fn action(kind: Kind, length_ns: f64) -> io::Result<Box<dyn Action>> {
    Ok(match kind {
        Kind::Task | Kind::Neighbour(Neighbour::Spin) => Box::new(Spin(Turn::Busy)),
        Kind::Neighbour(Neighbour::Pause) => Box::new(Spin(Turn::Pause)),
        Kind::Neighbour(Neighbour::Shallow) => Box::new(Shallow),
        Kind::Neighbour(Neighbour::Deep) => Box::new(Deep),
        Kind::Signal => Box::new(Signal::new()?),
        Kind::Faults => Box::new(Faults::new(length_ns)?),
        Kind::Softirq => Box::new(Softirq::new()?),
    })
}

/// Keeps the CPU busy and sees when it is away.
pub struct Spin(pub Turn);

impl Action for Spin {
    fn sees_absences(&self) -> bool {
        true
    }

    fn disturb(
        &mut self,
        start: u64,
        until: u64,
        waiting: &Waiting,
        away: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Option<u64>> {
        spin(self.0, start, until, waiting, away);
        Ok(Some(0))
    }
}
