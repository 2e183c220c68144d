//! The named scenarios, one line each in [`CATALOGUE`], and what they do to a machine.

use crate::world::{Action, Disturbance};
use std::collections::BTreeMap;

/// Values of an entry's parameters: seconds, hertz, shares or plain numbers.
pub type Values = BTreeMap<&'static str, f64>;

/// A parameter of a scenario.
#[derive(Debug)]
pub struct Parameter {
    /// As written by the user.
    pub name: &'static str,
    /// Taken where the user says nothing.
    pub default: f64,
}

/// A named scenario.
#[derive(Debug)]
pub struct Entry {
    /// As written by the user.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes the disturbances for one CPU; the second argument is ticks per second.
    pub build: fn(&Values, f64, fastrand::Rng) -> Vec<Box<dyn Disturbance>>,
}

const fn p(name: &'static str, default: f64) -> Parameter {
    Parameter { name, default }
}

/// All scenarios.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "quiet",
        description: "nothing disturbs the work",
        parameters: &[],
        build: |_, _, _| Vec::new(),
    },
    Entry {
        name: "tick",
        description: "a timer interrupt of constant cost",
        parameters: &[p("hz", 250.0), p("cost", 3e-6), p("phase", 0.0)],
        build: |v, scale, _| {
            vec![Box::new(Tick {
                period: scale / v["hz"].max(1e-3),
                cost: v["cost"] * scale,
                phase: v["phase"] * scale,
                number: 0,
            })]
        },
    },
    Entry {
        name: "tasks",
        description: "other tasks at random times, exponential lengths",
        parameters: &[p("hz", 20.0), p("mean", 50e-6)],
        build: |v, scale, random| {
            vec![Box::new(Tasks {
                interval: scale / v["hz"].max(1e-3),
                mean: v["mean"] * scale,
                at: 0.0,
                random,
            })]
        },
    },
    Entry {
        name: "flips",
        description: "the pace flips between two states: the published X, with its defaults",
        parameters: &[
            p("ratio", 5.35),
            p("period", 2.0e-3),
            p("dwell", 1.0e-3),
            p("phase", 0.0),
        ],
        build: |v, scale, _| {
            vec![Box::new(Flips {
                factor: v["ratio"].max(1e-3),
                period: (v["period"] * scale).max(1.0),
                dwell: (v["dwell"] * scale).min(v["period"] * scale),
                phase: v["phase"] * scale,
                number: 0,
            })]
        },
    },
    Entry {
        name: "states",
        description: "the pace changes at random between two states, as on the isolated core",
        parameters: &[p("ratio", 5.35), p("dwell", 1.5)],
        build: |v, scale, random| {
            vec![Box::new(States {
                factor: v["ratio"].max(1e-3),
                dwell: (v["dwell"] * scale).max(1.0),
                slow: false,
                at: 0.0,
                random,
            })]
        },
    },
    Entry {
        name: "pages",
        description: "each N-th quantum boundary costs: a page of the benchmark's own memory",
        parameters: &[p("quanta", 256.0), p("cost", 200e-9)],
        build: |v, scale, _| {
            vec![Box::new(Pages {
                quanta: (v["quanta"] as u64).max(1),
                cost: v["cost"] * scale,
            })]
        },
    },
    Entry {
        name: "drift",
        description: "the calibration is wrong by so many parts per million",
        parameters: &[p("ppm", 750.0)],
        build: |_, _, _| Vec::new(),
    },
];

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

/// All names, for messages.
pub fn names() -> String {
    let names: Vec<_> = CATALOGUE.iter().map(|entry| entry.name).collect();
    names.join(", ")
}

impl Entry {
    /// All parameters, for messages.
    pub fn parameter_names(&self) -> String {
        let names = self.parameters.iter().map(|p| p.name).chain(["seed"]);
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Far enough that no run gets there: an hour less than the time that fits the fixed point.
const NEVER: f64 = 2.7e14;

struct Tick {
    period: f64,
    cost: f64,
    phase: f64,
    number: u64,
}

impl Disturbance for Tick {
    fn next(&mut self) -> (f64, Action) {
        self.number += 1;
        let at = self.phase + self.number as f64 * self.period;
        (at, Action::Away(self.cost))
    }
}

struct Tasks {
    interval: f64,
    mean: f64,
    at: f64,
    random: fastrand::Rng,
}

/// An exponentially distributed number with the given mean.
fn exponential(random: &mut fastrand::Rng, mean: f64) -> f64 {
    // 1 - [0, 1) is never 0.
    -mean * (1.0 - random.f64()).ln()
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

struct Flips {
    factor: f64,
    period: f64,
    dwell: f64,
    phase: f64,
    number: u64,
}

impl Disturbance for Flips {
    fn next(&mut self) -> (f64, Action) {
        let cycle = self.phase + (self.number / 2) as f64 * self.period;
        let slow = self.number.is_multiple_of(2);
        self.number += 1;
        if slow {
            (
                cycle + self.period - self.dwell,
                Action::Slowdown(self.factor),
            )
        } else {
            (cycle + self.period, Action::Slowdown(1.0))
        }
    }
}

struct States {
    factor: f64,
    dwell: f64,
    slow: bool,
    at: f64,
    random: fastrand::Rng,
}

impl Disturbance for States {
    fn next(&mut self) -> (f64, Action) {
        self.at += exponential(&mut self.random, self.dwell);
        self.slow = !self.slow;
        let factor = if self.slow { self.factor } else { 1.0 };
        (self.at, Action::Slowdown(factor))
    }
}

struct Pages {
    quanta: u64,
    cost: f64,
}

impl Disturbance for Pages {
    fn next(&mut self) -> (f64, Action) {
        (NEVER, Action::Away(0.0))
    }

    fn boundary(&mut self, quantum: u64) -> f64 {
        if quantum.is_multiple_of(self.quanta) {
            self.cost
        } else {
            0.0
        }
    }
}
