//! Jumps of the phase: the edges of `flips` come later from then on, as after a change of CPU.
//!
//! The jumps and what they delay take their times from clones of one schedule, so they agree.

use super::{Action, Disturbance};
use fastrand::Rng;

/// Scatter of the time of a jump, in intervals: a jump falls anywhere in the middle half of its own.
const SCATTER: f64 = 0.5;

/// When jumps take place.
#[derive(Clone, Debug)]
pub struct Jumps {
    /// Mean interval, in ticks.
    every: f64,
    /// Ticks by which one jump delays.
    size: f64,
    number: u64,
    next: f64,
    /// All jumps so far together, in ticks.
    delay: f64,
    random: Rng,
}

impl Jumps {
    /// One jump of `size` per `every`, both in ticks; none where `every` is infinite. A size of at most half of `every` leaves time
    /// between any two jumps.
    pub fn new(every: f64, size: f64, random: Rng) -> Jumps {
        let mut jumps = Jumps {
            every,
            size,
            number: 0,
            next: 0.0,
            delay: 0.0,
            random,
        };
        jumps.advance();
        jumps
    }

    fn advance(&mut self) -> f64 {
        let last = self.next;
        self.number += 1;
        let scatter = SCATTER * (self.random.f64() - 0.5);
        self.next = (self.number as f64 + scatter) * self.every;
        last
    }

    /// When `at` takes place after the jumps before it; to be asked in order of time.
    pub fn delayed(&mut self, at: f64) -> f64 {
        while at + self.delay >= self.next {
            self.delay += self.size;
            self.advance();
        }
        at + self.delay
    }
}

/// The jumps themselves.
#[derive(Debug)]
pub struct Jumping {
    /// When the phase jumps, and by how much.
    pub jumps: Jumps,
    /// The CPUs there are, if a jump leads to another one.
    pub cpus: Option<u32>,
    /// The present one.
    pub cpu: u32,
    /// Chooses the next CPU.
    pub random: Rng,
}

impl Disturbance for Jumping {
    fn next(&mut self) -> (f64, Action) {
        let at = self.jumps.advance();
        let from = self.cpu;
        if let Some(cpus) = self.cpus {
            self.cpu = (from + self.random.u32(1..cpus)) % cpus;
        }
        let (delay, to) = (self.jumps.size, self.cpu);
        (at, Action::Jump { delay, from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_periodic_comes_later_after_each_jump() {
        let jumps = Jumps::new(100.0, 3.0, Rng::with_seed(2));
        let mut times = jumps.clone();
        let mut jumping = Jumping {
            jumps,
            cpus: Some(4),
            cpu: 1,
            random: Rng::with_seed(5),
        };
        let jumps: Vec<_> = (0..9).map(|_| jumping.next()).collect();
        for (n, (at, action)) in jumps.iter().enumerate() {
            let regular = 100.0 * (n + 1) as f64;
            assert!((at - regular).abs() <= 25.0, "{at}");
            let Action::Jump { from, to, .. } = action else {
                panic!("{action:?}");
            };
            assert!(from != to && *to < 4);
        }
        for k in 0..800 {
            let at = f64::from(k);
            let delayed = times.delayed(at);
            let before = jumps.iter().filter(|(jump, _)| *jump <= delayed).count();
            assert_eq!(delayed, at + 3.0 * before as f64);
        }
    }
}
