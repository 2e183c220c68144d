//! Changes of pace that interrupts bring about, each with the interrupts themselves.
//!
//! Published: a pace that rises after an interrupt, so that the quietest core is the slowest; a loop
//! that runs at a third of its pace after an interrupt until it is left; a signal of 100 Hz and a low
//! pace in the first 180 ms (docs/method.md, sections 8.9, 8.10 and 8.23).

use super::random::{Times, exponential};
use super::{Action, Boundary, Disturbance, NEVER};
use fastrand::Rng;

/// The slow pace becomes the fast one with an interrupt, and the fast one the slow one by itself.
#[derive(Debug)]
pub struct Helps {
    /// When interrupts come.
    pub times: Times,
    /// Ticks of an interrupt.
    pub cost: f64,
    /// Time per unit of the slow pace over that of the fast one.
    pub factor: f64,
    /// Probability that an interrupt helps.
    pub up: f64,
    /// Mean time in the fast state, in ticks.
    pub decay: f64,
    /// Of this part and CPU alone.
    pub random: Rng,
    /// Time of the next interrupt.
    interrupt: f64,
    /// When the fast state ends; `None` while slow.
    fall: Option<f64>,
    /// What is to be done next, if it is already decided.
    decided: Option<(f64, Action)>,
}

impl Helps {
    /// Interrupts at `times`; the pace is slow until one of them helps.
    pub fn new(
        mut times: Times,
        cost: f64,
        factor: f64,
        up: f64,
        decay: f64,
        random: Rng,
    ) -> Helps {
        let interrupt = times.next_time();
        Helps {
            times,
            cost,
            factor,
            up,
            decay,
            random,
            interrupt,
            fall: None,
            decided: Some((0.0, Action::Slowdown(factor))),
        }
    }
}

impl Disturbance for Helps {
    fn next(&mut self) -> (f64, Action) {
        if let Some(decided) = self.decided.take() {
            return decided;
        }
        if let Some(fall) = self.fall.take_if(|fall| *fall < self.interrupt) {
            return (fall, Action::Slowdown(self.factor));
        }
        let at = self.interrupt;
        if self.fall.is_none() && self.random.f64() < self.up {
            self.decided = Some((at, Action::Slowdown(1.0)));
            self.fall = Some(at + exponential(&mut self.random, self.decay));
        }
        self.interrupt = self.times.next_time();
        (at, Action::Away(self.cost))
    }
}

/// After an interrupt the work is slow until the loop is left, at the end of the quantum.
#[derive(Debug)]
pub struct Interrupted {
    /// When interrupts come.
    pub times: Times,
    /// Ticks of an interrupt.
    pub cost: f64,
    /// Time per unit after an interrupt over that before it.
    pub factor: f64,
    /// When the slow stretch begins, if that is next.
    pub begins: Option<f64>,
}

impl Disturbance for Interrupted {
    fn next(&mut self) -> (f64, Action) {
        if let Some(at) = self.begins.take() {
            return (at, Action::Slowdown(self.factor));
        }
        let at = self.times.next_time();
        self.begins = Some(at);
        (at, Action::Away(self.cost))
    }

    fn boundary(&mut self, _quantum: u64, slowdown: f64) -> Boundary {
        Boundary {
            cost: 0.0,
            slowdown: (slowdown != 1.0).then_some(1.0),
        }
    }
}

/// A low pace and long losses until a time after the start of the machine.
#[derive(Debug)]
pub struct WarmUp {
    /// When the CPU is away, as long as it is cold.
    pub times: Times,
    /// Ticks of a loss.
    pub cost: f64,
    /// Time per unit until then over that afterwards.
    pub factor: f64,
    /// Ticks until it is over.
    pub duration: f64,
    /// How far it is.
    pub phase: Phase,
}

/// How far a warm-up is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing happened yet.
    Cold,
    /// The slow pace has begun.
    Warming,
    /// The pace is the usual one for good.
    Warm,
}

impl Disturbance for WarmUp {
    fn next(&mut self) -> (f64, Action) {
        match self.phase {
            Phase::Cold => {
                self.phase = Phase::Warming;
                (0.0, Action::Slowdown(self.factor))
            }
            Phase::Warming => {
                let at = self.times.next_time();
                if at < self.duration {
                    return (at, Action::Away(self.cost));
                }
                self.phase = Phase::Warm;
                (self.duration, Action::Slowdown(1.0))
            }
            Phase::Warm => (NEVER, Action::Away(0.0)),
        }
    }
}
