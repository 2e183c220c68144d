//! What depends on the number of the quantum and not on time: the benchmark's own doing.
//!
//! Published: every 256 samples of 16 bytes fill a page (40 Hz at 10 kHz, 27 Hz at 7 kHz), and the
//! counts {710, 711, 710, 720} (docs/method.md, sections 8.3 and 8.16).

use super::{Action, Boundary, Disturbance, NEVER};

/// Each N-th boundary costs.
#[derive(Debug)]
pub struct Pages {
    /// Quanta between two costs.
    pub quanta: u64,
    /// Ticks that such a boundary takes.
    pub cost: f64,
}

impl Disturbance for Pages {
    fn next(&mut self) -> (f64, Action) {
        (NEVER, Action::Away(0.0))
    }

    fn boundary(&mut self, quantum: u64, _slowdown: f64) -> Boundary {
        let due = quantum > 0 && quantum.is_multiple_of(self.quanta);
        Boundary {
            cost: if due { self.cost } else { 0.0 },
            slowdown: None,
        }
    }
}

/// Each N-th quantum has another pace.
#[derive(Debug)]
pub struct Alternate {
    /// Quanta of one turn.
    pub period: u64,
    /// Time per unit in the last quantum of a turn over that in the others.
    pub ratio: f64,
}

impl Disturbance for Alternate {
    fn next(&mut self) -> (f64, Action) {
        (NEVER, Action::Away(0.0))
    }

    fn boundary(&mut self, quantum: u64, slowdown: f64) -> Boundary {
        let last = (quantum + 1).is_multiple_of(self.period);
        let wanted = if last { self.ratio } else { 1.0 };
        Boundary {
            cost: 0.0,
            slowdown: (wanted != slowdown).then_some(wanted),
        }
    }
}
