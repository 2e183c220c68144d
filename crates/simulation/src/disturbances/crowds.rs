//! What a busy machine does beside its periods, and what is easily taken for one: gaps whose lengths have a heavy tail, groups of gaps,
//! another task's time slices, and a period that wanders.

use super::random::{exponential, gaussian};
use super::{Action, Disturbance};
use fastrand::Rng;

/// Gaps at random times whose lengths follow a Pareto distribution.
#[derive(Debug)]
pub struct HeavyTail {
    /// Mean interval, in ticks.
    pub interval: f64,
    /// Shortest length, in ticks.
    pub least: f64,
    /// Exponent of the tail: the smaller, the heavier.
    pub tail: f64,
    /// Longest length, in ticks.
    pub most: f64,
    /// Time of the last gap.
    pub at: f64,
    /// Of this part and CPU alone.
    pub random: Rng,
}

impl Disturbance for HeavyTail {
    fn next(&mut self) -> (f64, Action) {
        self.at += exponential(&mut self.random, self.interval);
        // 1 - [0, 1) is never 0.
        let length = self.least * (1.0 - self.random.f64()).powf(-1.0 / self.tail);
        (self.at, Action::Away(length.min(self.most)))
    }
}

/// Groups of gaps at random times.
#[derive(Debug)]
pub struct Bursts {
    /// Mean interval between the starts of two groups, in ticks.
    pub interval: f64,
    /// Mean number of gaps in a group.
    pub gaps: f64,
    /// Mean interval within a group, in ticks.
    pub every: f64,
    /// Mean length of a gap, in ticks.
    pub mean: f64,
    /// Start of the last group.
    pub group: f64,
    /// Time of the last gap.
    pub at: f64,
    /// Of this part and CPU alone.
    pub random: Rng,
}

impl Disturbance for Bursts {
    fn next(&mut self) -> (f64, Action) {
        // A group goes on with a constant probability, so its size is geometric.
        if self.at > 0.0 && self.random.f64() < 1.0 - 1.0 / self.gaps {
            self.at += exponential(&mut self.random, self.every);
        } else {
            self.group += exponential(&mut self.random, self.interval);
            // A group may begin before the last one is over; times never run backwards.
            self.at = self.at.max(self.group);
        }
        let length = exponential(&mut self.random, self.mean);
        (self.at, Action::Away(length))
    }
}

/// Another task shares the CPU. The scheduler switches on its ticks: each of the two runs for one tick while the other waits. The other
/// task may block before its slice is over, and then sleeps for some ticks.
#[derive(Debug)]
pub struct Slices {
    /// Ticks of the clock from one tick of the scheduler to the next.
    pub tick: f64,
    /// Ticks of the clock by which a switch comes after the scheduler's tick.
    pub phase: f64,
    /// Probability that the other task blocks within a slice.
    pub blocks: f64,
    /// Number of the tick at which the other task's last slice ended at the latest.
    pub number: u64,
    /// Ticks that the other task sleeps before it waits for the CPU.
    pub asleep: u64,
    /// Of this part and CPU alone.
    pub random: Rng,
}

impl Disturbance for Slices {
    fn next(&mut self) -> (f64, Action) {
        self.number += 1 + self.asleep;
        let at = self.number as f64 * self.tick + self.phase;
        self.number += 1;
        if self.random.f64() < self.blocks {
            self.asleep = exponential(&mut self.random, 2.0) as u64;
            (at, Action::Away(self.tick * self.random.f64()))
        } else {
            self.asleep = 0;
            (at, Action::Away(self.tick))
        }
    }
}

/// A period that wanders: the error of each interval stays.
#[derive(Debug)]
pub struct WanderingLine {
    /// Mean interval, in ticks.
    pub period: f64,
    /// Standard deviation of one interval, in ticks.
    pub wander: f64,
    /// Length of each absence, in ticks.
    pub cost: f64,
    /// Time of the last absence.
    pub at: f64,
    /// Of this part and CPU alone.
    pub random: Rng,
}

impl Disturbance for WanderingLine {
    fn next(&mut self) -> (f64, Action) {
        self.at += self.period + self.wander * gaussian(&mut self.random);
        (self.at, Action::Away(self.cost))
    }
}
