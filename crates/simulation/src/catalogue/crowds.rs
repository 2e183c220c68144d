//! What crowds of disturbances are made of: periodic ones under names of their own, and what stands beside them on a busy machine.

use super::examples::{Seen, example};
use super::{By, Entry, Rhythm, nothing, times};
use crate::disturbances::crowds::{Bursts, HeavyTail, Slices, WanderingLine};
use crate::disturbances::interrupts::Tick;
use crate::parameters::{JITTER, Values, hz, share, span, time, within};

/// A program that wakes up at regular times.
pub(super) const TIMED_TASK: Entry = Entry {
    name: "timed-task",
    description: "a program of its own name wakes up `hz` times a second and runs for `cost`",
    examples: &[example("periodic-interference", Seen::Always)],
    parameters: &[hz(200.0), time("cost", 50e-6), time("phase", 0.0), JITTER],
    settings: nothing,
    disturbance: Some(|v, setup| periodic(v, setup)),
    rhythm: Rhythm::Hz,
    by: By::OwnTask,
};

/// A device that interrupts at regular times.
pub(super) const TIMED_DEVICE: Entry = Entry {
    name: "timed-device",
    description: "a device of its own name interrupts `hz` times a second for `cost`",
    examples: &[example("periodic-interference", Seen::Always)],
    parameters: &[hz(300.0), time("cost", 5e-6), time("phase", 0.0), JITTER],
    settings: nothing,
    disturbance: Some(|v, setup| periodic(v, setup)),
    rhythm: Rhythm::Hz,
    by: By::OwnDevice,
};

/// Gaps of all lengths.
pub(super) const HEAVY_TAIL: Entry = Entry {
    name: "heavy-tail",
    description: "other tasks at random times; lengths are Pareto distributed with exponent `tail`, from `least` to `most`",
    examples: &[example("time-away", Seen::Traced)],
    parameters: &[
        hz(200.0),
        span("least", 2e-6).at_most("`most`", |v| v["most"]),
        within("tail", 1.2, 0.1, 100.0, ""),
        span("most", 10e-3),
    ],
    settings: nothing,
    disturbance: Some(|v, setup| {
        Box::new(HeavyTail {
            interval: setup.scale / v["hz"],
            least: v["least"] * setup.scale,
            tail: v["tail"],
            most: v["most"] * setup.scale,
            at: 0.0,
            random: setup.random.clone(),
        })
    }),
    rhythm: Rhythm::None,
    by: By::Task,
};

/// Groups of gaps.
pub(super) const BURSTS: Entry = Entry {
    name: "bursts",
    description: "a device interrupts in groups: `hz` groups a second at random times, of `gaps` interrupts that are `every` apart; exponential lengths of mean `mean`",
    examples: &[example("time-away", Seen::Traced)],
    parameters: &[
        hz(5.0),
        within("gaps", 10.0, 1.0, 1e6, ""),
        span("every", 200e-6),
        time("mean", 10e-6),
    ],
    settings: nothing,
    disturbance: Some(|v, setup| {
        Box::new(Bursts {
            interval: setup.scale / v["hz"],
            gaps: v["gaps"],
            every: v["every"] * setup.scale,
            mean: v["mean"] * setup.scale,
            group: 0.0,
            at: 0.0,
            random: setup.random.clone(),
        })
    }),
    rhythm: Rhythm::None,
    by: By::OwnDevice,
};

/// Another task that wants the CPU all the time, or nearly.
pub(super) const SLICES: Entry = Entry {
    name: "slices",
    description: "another program shares the CPU in time slices of one tick of `hz`, `phase` after it; with probability `blocks` it sleeps early",
    examples: &[example("time-away", Seen::Traced)],
    parameters: &[hz(250.0), share("blocks", 0.3), time("phase", 0.0)],
    settings: nothing,
    disturbance: Some(|v, setup| {
        Box::new(Slices {
            tick: setup.scale / v["hz"],
            phase: v["phase"] * setup.scale,
            blocks: v["blocks"],
            number: 0,
            asleep: 0,
            random: setup.random.clone(),
        })
    }),
    rhythm: Rhythm::Slices,
    by: By::OwnTask,
};

/// A period of the host's, by a clock of its own.
pub(super) const HOST_LINE: Entry = Entry {
    name: "host-line",
    description: "the host takes the CPU `hz` times a second for `cost`; its phase wanders by a Gaussian step of deviation `wander` each time",
    examples: &[
        example("periodic-interference", Seen::Always),
        example("stolen-time", Seen::Traced),
    ],
    parameters: &[
        hz(99.9992),
        time("cost", 20e-6),
        // Ten deviations: no interval is negative.
        time("wander", 200e-9).at_most("a tenth of an interval", |v| 0.1 / v["hz"]),
    ],
    settings: nothing,
    disturbance: Some(|v, setup| {
        Box::new(WanderingLine {
            period: setup.scale / v["hz"],
            wander: v["wander"] * setup.scale,
            cost: v["cost"] * setup.scale,
            at: 0.0,
            random: setup.random.clone(),
        })
    }),
    rhythm: Rhythm::Hz,
    by: By::Host,
};

fn periodic(v: &Values, setup: &super::Setup) -> Box<dyn crate::disturbances::Disturbance> {
    Box::new(Tick {
        times: times(v, setup, v["phase"]),
        cost: v["cost"] * setup.scale,
    })
}
