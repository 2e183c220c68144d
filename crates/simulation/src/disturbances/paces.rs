//! Disturbances that change the pace at times of their own.
//!
//! Published: the X (two states, 5.35 apart, on a grid of 1 ms), an isolated core that changes state
//! after seconds, a third band half way in between, and a clock of 34, 32 or 30 of 38 steps of 100 MHz
//! (docs/method.md, sections 8.4, 8.8 and 8.19).

use super::jumps::Jumps;
use super::random::{exponential, gaussian};
use super::{Action, Disturbance};
use fastrand::Rng;

/// Two states that alternate with a fixed period.
#[derive(Debug)]
pub struct Flips {
    /// Time per unit of the slow state over that of the fast one.
    pub factor: f64,
    /// Ticks of a whole turn: fast, then slow.
    pub period: f64,
    /// Ticks of a period that are slow: its last ones.
    pub dwell: f64,
    /// Ticks by which all of it is late.
    pub phase: f64,
    /// Jumps of the phase.
    pub jumps: Jumps,
    /// Changes so far.
    pub number: u64,
}

impl Disturbance for Flips {
    fn next(&mut self) -> (f64, Action) {
        let cycle = self.phase + (self.number / 2) as f64 * self.period;
        let slow = self.number.is_multiple_of(2);
        self.number += 1;
        let (at, factor) = if slow {
            (cycle + self.period - self.dwell, self.factor)
        } else {
            (cycle + self.period, 1.0)
        };
        (self.jumps.delayed(at), Action::Slowdown(factor))
    }
}

/// Several states, from each to any other at random, after stays of a random length.
#[derive(Debug)]
pub struct States {
    /// Time per unit of each state over the best; the first is the state at the start.
    pub factors: Vec<f64>,
    /// Mean length of a stay, in ticks.
    pub dwell: f64,
    /// Shortest stay, in ticks; beyond it stays are exponential.
    pub shortest: f64,
    /// The present one.
    pub state: usize,
    /// Time of the last change.
    pub at: f64,
    /// Of this part and CPU alone.
    pub random: Rng,
}

impl Disturbance for States {
    fn next(&mut self) -> (f64, Action) {
        let mean = self.dwell - self.shortest;
        self.at += self.shortest + exponential(&mut self.random, mean);
        let others = self.factors.len() - 1;
        if others > 0 {
            // Of two states the other one, without asking chance.
            let step = if others == 1 {
                1
            } else {
                self.random.usize(1..=others)
            };
            self.state = (self.state + step) % self.factors.len();
        }
        (self.at, Action::Slowdown(self.factors[self.state]))
    }
}

/// A pace that wanders: another one in each interval of a grid, independent of the one before.
#[derive(Debug)]
pub struct Noise {
    /// Standard deviation of the logarithm of the pace.
    pub sigma: f64,
    /// Ticks between two changes.
    pub every: f64,
    /// Changes so far.
    pub number: u64,
    /// Of this part and CPU alone.
    pub random: Rng,
}

impl Disturbance for Noise {
    fn next(&mut self) -> (f64, Action) {
        let at = self.number as f64 * self.every;
        self.number += 1;
        let factor = (self.sigma * gaussian(&mut self.random)).exp();
        // A best pace exists on any machine: three deviations below the usual one.
        (at, Action::Slowdown(factor.max(1.0 - 3.0 * self.sigma)))
    }
}
