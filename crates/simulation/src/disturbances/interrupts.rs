//! Disturbances that take the CPU away and leave the pace alone.

use super::random::{Times, exponential};
use super::{Action, Disturbance};

/// Interrupts of constant cost.
#[derive(Debug)]
pub struct Tick {
    /// When each begins.
    pub times: Times,
    /// Ticks of each absence.
    pub cost: f64,
}

impl Disturbance for Tick {
    fn next(&mut self) -> (f64, Action) {
        (self.times.next_time(), Action::Away(self.cost))
    }
}

/// Other tasks: random times, exponential lengths.
#[derive(Debug)]
pub struct Tasks {
    /// Mean interval, in ticks.
    pub interval: f64,
    /// Mean length, in ticks.
    pub mean: f64,
    /// Time of the last one.
    pub at: f64,
    /// Of this part and CPU alone.
    pub random: fastrand::Rng,
}

impl Disturbance for Tasks {
    fn next(&mut self) -> (f64, Action) {
        self.at += exponential(&mut self.random, self.interval);
        (
            self.at,
            Action::Away(exponential(&mut self.random, self.mean)),
        )
    }
}
