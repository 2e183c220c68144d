//! What several CPUs have in common: a host that takes all of them at once, and a core whose pace follows another's.
//!
//! Each CPU of the simulated machine runs by itself; what they share they draw from generators with the same seed
//! ([`crate::catalogue`]), so that no order of the runs is needed.

use super::random::{Times, exponential};
use super::{Action, Disturbance};
use fastrand::Rng;

/// The same absences on every CPU.
#[derive(Debug)]
pub struct Steal {
    /// When: the same numbers on every CPU.
    pub times: Times,
    /// Ticks of each absence.
    pub cost: f64,
    /// Ticks by which a CPU is late at most, each time another number.
    pub skew: f64,
    /// Time of the last one.
    pub last: f64,
    /// A generator of this CPU alone.
    pub random: Rng,
}

impl Disturbance for Steal {
    fn next(&mut self) -> (f64, Action) {
        let at = self.times.next_time() + self.skew * self.random.f64();
        self.last = self.last.max(at);
        (self.last, Action::Away(self.cost))
    }
}

/// What a CPU of a coupled pair does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Changes its pace by itself.
    Leads,
    /// Is away by itself.
    Away,
    /// Changes its pace after the other one.
    Follows,
}

/// One of two CPUs, one of which follows the other.
#[derive(Debug)]
pub struct Coupled {
    /// Which of them.
    pub role: Role,
    /// Time per unit while slow over that while fast.
    pub factor: f64,
    /// Mean length of a stay in either state, ticks.
    pub dwell: f64,
    /// Ticks by which the one that follows is late.
    pub lag: f64,
    /// Time of the last change of the leader.
    pub at: f64,
    /// Whether the slow state is next to end.
    pub slow: bool,
    /// The generator, the same for both.
    pub random: Rng,
}

impl Disturbance for Coupled {
    fn next(&mut self) -> (f64, Action) {
        self.at += exponential(&mut self.random, self.dwell);
        self.slow = !self.slow;
        if self.role == Role::Away {
            let from = self.at;
            self.at += exponential(&mut self.random, self.dwell);
            self.slow = false;
            return (from, Action::Away(self.at - from));
        }
        let factor = if self.slow { self.factor } else { 1.0 };
        let lag = if self.role == Role::Follows {
            self.lag
        } else {
            0.0
        };
        (self.at + lag, Action::Slowdown(factor))
    }
}
