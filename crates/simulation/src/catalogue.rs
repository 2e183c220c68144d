//! The named scenarios, one entry each in [`CATALOGUE`]: parameters, the findings that they are examples
//! of, and what they do to a machine.
//!
//! What they do is in [`crate::disturbances`]; the phenomena are those of docs/method.md, section 8.

mod crowds;
mod examples;
mod several_cpus;

use crate::disturbances::Disturbance;
use crate::disturbances::artefacts::{Alternate, Pages};
use crate::disturbances::interrupts::{Tasks, Tick};
use crate::disturbances::jumps::{Jumping, Jumps};
use crate::disturbances::paces::{Flips, Noise, States};
use crate::disturbances::random::Times;
use crate::disturbances::reactions::{Helps, Interrupted, Phase, WarmUp};
use crate::events::Told;
use crate::kernels::Feels;
use crate::parameters::{
    JITTER, MEMORY, POISSON, Parameter, Values, hz, is_on, ratio, share, span, switch, time, whole,
    within,
};
use bandscope_recording::EventKind;
pub use examples::Example;
pub(crate) use examples::Seen;
use examples::example;
use fastrand::Rng;

/// Makes a disturbance.
type Build = fn(&Values, &Setup) -> Box<dyn Disturbance>;

/// A named scenario.
pub struct Entry {
    /// As written by the user.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// Findings that it is an example of, if its parameters and the run let them be seen;
    /// [`crate::Truth`] has those of a run.
    pub examples: &'static [Example],
    /// What a user may set of it, besides `seed`.
    pub parameters: &'static [Parameter],
    /// What it sets once and for all.
    pub(crate) settings: fn(&Values, &mut Settings),
    /// What it does from time to time.
    pub(crate) disturbance: Option<Build>,
    /// What of it recurs in time.
    pub(crate) rhythm: Rhythm,
    /// Whose doing it is.
    pub(crate) by: By,
}

/// What of a scenario recurs in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rhythm {
    /// Nothing, or at random times only.
    None,
    /// Something `hz` times a second, unless `poisson` makes its times random.
    Hz,
    /// The same, and it is the kernel's tick.
    Tick,
    /// A whole turn of the paces, in `period`.
    Period,
    /// Slices between ticks of `hz`, of which many stay empty.
    Slices,
}

/// Whose doing a scenario is: what the kernel tells of it follows from that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The core itself, or the benchmark.
    Core,
    /// The kernel's timer.
    Timer,
    /// A device, of one name in all scenarios.
    Device,
    /// Other tasks, of one name in all scenarios.
    Task,
    /// A program of its own, whose name tells it from others.
    OwnTask,
    /// A device of its own, likewise.
    OwnDevice,
    /// The timer that wakes another task.
    Sleeper,
    /// A CPU quota.
    Quota,
    /// Whatever runs beneath this kernel, which knows nothing of it.
    Host,
    /// A thread on the core's other hardware thread, which the machine then says that there is: what fills the core feels it.
    Sibling,
}

impl By {
    /// What the kernel tells of the absences of part number `part` of a scenario.
    pub(crate) fn told(self, part: usize) -> Option<Told> {
        let part = part as u32;
        let (kind, number, name) = match self {
            // The vector of Linux on x86.
            By::Timer => (EventKind::Vector, 236, "local_timer".into()),
            By::Device => (EventKind::Interrupt, 24 + part, "device".into()),
            By::OwnDevice => (
                EventKind::Interrupt,
                24 + part,
                format!("device-{part}").into(),
            ),
            By::Task => (EventKind::Task, 1000 + part, "other".into()),
            By::OwnTask => (
                EventKind::Task,
                1000 + part,
                format!("program-{part}").into(),
            ),
            By::Sleeper => (EventKind::Timer, 1000 + part, "sleeper".into()),
            // The idle task runs meanwhile.
            By::Quota => (EventKind::Held, 0, "throttled:quota".into()),
            By::Core | By::Host | By::Sibling => return None,
        };
        Some(Told { kind, number, name })
    }
}

/// What a scenario sets once and for all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Ticks that the clock really counts per nanosecond.
    pub ticks_per_ns: f64,
    /// Relative error of the ticks per nanosecond that quanta are made with.
    pub calibration_error: f64,
    /// Times are printed with the true clock, although quanta are made with a wrong one.
    pub prints_true_time: bool,
    /// Quanta are truncated to whole ticks.
    pub truncates: bool,
    /// Standard deviation of a reading of the clock, in seconds.
    pub read_wobble_s: f64,
    /// Undisturbed unit of every work kernel over its usual one.
    pub unit_ratio: f64,
    /// Interval and size of jumps of the phase, in seconds.
    pub jumps: Option<(f64, f64)>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            // 2 GHz, as in the published X.
            ticks_per_ns: 2.0,
            calibration_error: 0.0,
            prints_true_time: false,
            truncates: false,
            read_wobble_s: 0.0,
            unit_ratio: 1.0,
            jumps: None,
        }
    }
}

/// CPUs that a jump may lead to: what a seed of the scoreboard gives must not change with the machine's number of CPUs.
const JUMPED_TO: u32 = 64;

/// What a disturbance is made with.
#[derive(Clone)]
pub(crate) struct Setup {
    /// Ticks per second.
    pub scale: f64,
    /// The CPU that it is made for.
    pub cpu: u32,
    /// A generator of this part and CPU alone.
    pub random: Rng,
    /// A generator of this part, the same on every CPU.
    pub shared: Rng,
    /// The jumps of the phase, if there are any.
    pub jumps: Jumps,
}

fn nothing(_: &Values, _: &mut Settings) {}

/// Scenarios, in the order in which they are listed.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "quiet",
        description: "nothing disturbs the work",
        examples: &[],
        parameters: &[],
        settings: nothing,
        disturbance: None,
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "tick",
        description: "a timer interrupt of constant cost; an alias where `hz` is above half the rate and the cost is not a gap",
        examples: &[
            example("periodic-interference", Seen::Regular),
            example("alias", Seen::Aliased),
        ],
        parameters: &[
            hz(250.0),
            time("cost", 3e-6),
            time("phase", 0.0),
            time("skew", 0.0),
            JITTER,
            POISSON,
        ],
        settings: nothing,
        disturbance: Some(|v, setup| {
            Box::new(Tick {
                times: times(v, setup, v["phase"] + f64::from(setup.cpu) * v["skew"]),
                cost: v["cost"] * setup.scale,
            })
        }),
        rhythm: Rhythm::Tick,
        by: By::Timer,
    },
    Entry {
        name: "tasks",
        description: "other tasks at random times, exponential lengths",
        examples: &[example("time-away", Seen::Traced)],
        parameters: &[hz(20.0), time("mean", 50e-6)],
        settings: nothing,
        disturbance: Some(|v, setup| {
            Box::new(Tasks {
                interval: setup.scale / v["hz"],
                mean: v["mean"] * setup.scale,
                at: 0.0,
                random: setup.random.clone(),
            })
        }),
        rhythm: Rhythm::None,
        by: By::Task,
    },
    crowds::TIMED_TASK,
    crowds::TIMED_DEVICE,
    crowds::HEAVY_TAIL,
    crowds::BURSTS,
    crowds::SLICES,
    Entry {
        name: "sleeper",
        description: "the timer that another program sleeps on",
        examples: &[example("periodic-interference", Seen::Always)],
        parameters: &[hz(1000.0), time("cost", 3e-6), time("phase", 0.0)],
        settings: nothing,
        disturbance: Some(|v, setup| {
            Box::new(Tick {
                times: regular(setup.scale / v["hz"], v["phase"] * setup.scale, setup),
                cost: v["cost"] * setup.scale,
            })
        }),
        rhythm: Rhythm::Hz,
        by: By::Sleeper,
    },
    Entry {
        name: "quota",
        description: "a CPU quota: the thread stands still for the rest of each period",
        examples: &[example("throttled", Seen::Traced)],
        parameters: &[span("period", 0.1), share("share", 0.6)],
        settings: nothing,
        disturbance: Some(|v, setup| {
            let period = v["period"] * setup.scale;
            let cost = period * (1.0 - v["share"]);
            Box::new(Tick {
                times: regular(period, -cost, setup),
                cost,
            })
        }),
        rhythm: Rhythm::None,
        by: By::Quota,
    },
    several_cpus::HOST_STEAL,
    crowds::HOST_LINE,
    several_cpus::CORE_COUPLING,
    Entry {
        name: "flips",
        description: "the pace flips between two states with a fixed period: the published X, with its defaults",
        examples: &[
            example("bistable-pace", Seen::Always),
            example("edge-pairs", Seen::Always),
            example("moving-edges", Seen::Always),
        ],
        parameters: &[
            ratio("ratio", 5.35),
            span("period", 2.0e-3),
            time("dwell", 1.0e-3).at_most("`period`", |v| v["period"]),
            time("phase", 0.0),
            MEMORY,
        ],
        settings: nothing,
        disturbance: Some(|v, setup| {
            Box::new(Flips {
                factor: v["ratio"],
                period: v["period"] * setup.scale,
                dwell: v["dwell"] * setup.scale,
                phase: v["phase"] * setup.scale,
                jumps: setup.jumps.clone(),
                number: 0,
            })
        }),
        rhythm: Rhythm::Period,
        by: By::Core,
    },
    Entry {
        name: "states",
        description: "the pace changes at random between two states, as on the isolated core",
        examples: &[
            example("bistable-pace", Seen::Always),
            example("edge-pairs", Seen::Always),
        ],
        parameters: &[ratio("ratio", 5.35), span("dwell", 1.5), MEMORY],
        settings: nothing,
        disturbance: Some(|v, setup| states(v, setup, vec![1.0, v["ratio"]], 0.0)),
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "neighbour",
        description: "at random times another thread works on the core, and slows what fills it",
        examples: &[example("smt-neighbour", Seen::BesideChain)],
        parameters: &[ratio("ratio", 1.35), span("dwell", 50e-3)],
        settings: nothing,
        disturbance: Some(|v, setup| states(v, setup, vec![1.0, v["ratio"]], 0.0)),
        rhythm: Rhythm::None,
        by: By::Sibling,
    },
    Entry {
        name: "mixture",
        description: "random stays in a fast, a slow and a third state that is `fraction` of the way between in time per unit",
        examples: &[
            example("sub-loop-mixture", Seen::InnerLoops),
            example("bistable-pace", Seen::Always),
            example("edge-pairs", Seen::Always),
        ],
        parameters: &[
            ratio("ratio", 5.35),
            share("fraction", 0.502),
            span("dwell", 1e-3),
            // Five quanta at 10 kHz.
            time("shortest", 0.5e-3).at_most("`dwell`", |v| v["dwell"]),
            MEMORY,
        ],
        settings: nothing,
        disturbance: Some(|v, setup| {
            let middle = 1.0 + v["fraction"] * (v["ratio"] - 1.0);
            states(v, setup, vec![1.0, v["ratio"], middle], v["shortest"])
        }),
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "frequency",
        description: "the core clock changes at random between steps of 100 MHz, `low` to `top` of them",
        examples: &[example("frequency-steps", Seen::Always)],
        parameters: &[
            whole("top", 38.0, 1.0, 100.0, ""),
            whole("low", 30.0, 1.0, 100.0, "").at_most("`top`", |v| v["top"]),
            span("dwell", 50e-3),
        ],
        settings: nothing,
        disturbance: Some(|v, setup| {
            let top = v["top"] as u32;
            let steps = (v["low"] as u32..=top).rev();
            let factors = steps.map(|step| f64::from(top) / f64::from(step));
            states(v, setup, factors.collect(), 0.0)
        }),
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "alternate",
        description: "every `period`-th quantum has another pace: {710, 711, 710, 720}",
        examples: &[example("alternating-bands", Seen::Always)],
        parameters: &[
            whole("period", 4.0, 1.0, 1e9, "quanta"),
            ratio("ratio", 0.987),
        ],
        settings: nothing,
        disturbance: Some(|v, _| {
            Box::new(Alternate {
                period: v["period"] as u64,
                ratio: v["ratio"],
            })
        }),
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "noise",
        description: "the pace wanders: Gaussian with deviation `sigma`, another one in each interval",
        examples: &[],
        parameters: &[within("sigma", 1e-3, 0.0, 0.3, ""), span("every", 1e-3)],
        settings: nothing,
        disturbance: Some(|v, setup| {
            Box::new(Noise {
                sigma: v["sigma"],
                every: v["every"] * setup.scale,
                number: 0,
                random: setup.random.clone(),
            })
        }),
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "reads",
        description: "readings of the clock scatter: Gaussian with deviation `sigma`, never backwards",
        examples: &[],
        parameters: &[within("sigma", 5e-9, 0.0, 1e-6, "s")],
        settings: |v, settings| settings.read_wobble_s = v["sigma"],
        disturbance: None,
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "helps",
        description: "two paces: an interrupt makes the slow one fast with probability `up`, for a time of mean `decay`",
        examples: &[
            example("interrupt-helps", Seen::Always),
            example("bistable-pace", Seen::Always),
        ],
        parameters: &[
            hz(100.0),
            time("cost", 4e-6),
            ratio("ratio", 1.8),
            share("up", 0.8),
            span("decay", 30e-3),
            JITTER,
            POISSON,
            MEMORY,
        ],
        settings: nothing,
        disturbance: Some(|v, setup| {
            // Not the numbers that the interrupts are made of.
            let random = setup.random.clone().fork();
            Box::new(Helps::new(
                times(v, setup, 0.0),
                v["cost"] * setup.scale,
                v["ratio"],
                v["up"],
                v["decay"] * setup.scale,
                random,
            ))
        }),
        rhythm: Rhythm::Hz,
        by: By::Device,
    },
    Entry {
        name: "interrupted",
        description: "after an interrupt the work is slow until the end of the quantum",
        examples: &[example("interrupted-loop", Seen::Always)],
        parameters: &[
            hz(250.0),
            time("cost", 4e-6),
            ratio("factor", 3.0),
            JITTER,
            POISSON,
            MEMORY,
        ],
        settings: nothing,
        disturbance: Some(|v, setup| {
            Box::new(Interrupted {
                times: times(v, setup, 0.0),
                cost: v["cost"] * setup.scale,
                factor: v["factor"],
                begins: None,
            })
        }),
        rhythm: Rhythm::Hz,
        by: By::Device,
    },
    Entry {
        name: "warmup",
        description: "a slow pace and long losses until `duration` after the machine's start; --start-delay consumes it",
        examples: &[example("warm-up", Seen::BeforeWarm)],
        parameters: &[
            time("duration", 0.18),
            ratio("ratio", 1.2),
            hz(100.0),
            time("cost", 200e-6),
            JITTER,
            POISSON,
        ],
        settings: nothing,
        disturbance: Some(|v, setup| {
            Box::new(WarmUp {
                times: times(v, setup, 0.0),
                cost: v["cost"] * setup.scale,
                factor: v["ratio"],
                duration: v["duration"] * setup.scale,
                phase: Phase::Cold,
            })
        }),
        rhythm: Rhythm::Hz,
        by: By::Task,
    },
    Entry {
        name: "jump",
        description: "the phase of `flips` jumps from time to time; with cpu=1 the thread changes its CPU, too",
        examples: &[example("migration", Seen::Moved)],
        parameters: &[
            span("every", 2.0),
            // Jumps may come half an interval after one another, and what they delay must come between them.
            time("size", 300e-6).at_most("half of `every`", |v| v["every"] / 2.0),
            switch("cpu", 0.0),
        ],
        settings: |v, settings| settings.jumps = Some((v["every"], v["size"])),
        disturbance: Some(|v, setup| {
            Box::new(Jumping {
                jumps: setup.jumps.clone(),
                cpus: is_on(v, "cpu").then_some(JUMPED_TO),
                cpu: setup.cpu,
                random: setup.random.clone(),
            })
        }),
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "pages",
        description: "each N-th quantum boundary costs extra: a page of the benchmark's own memory",
        examples: &[example("sampling-artefact", Seen::Always)],
        parameters: &[
            whole("quanta", 256.0, 1.0, 1e9, "quanta"),
            time("cost", 200e-9),
        ],
        settings: nothing,
        disturbance: Some(|v, setup| {
            Box::new(Pages {
                quanta: v["quanta"] as u64,
                cost: v["cost"] * setup.scale,
            })
        }),
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "drift",
        description: "the ticks per ns are `ppm` too many, which calibration notices; with printed=1 only the quanta use them, and nothing notices",
        examples: &[example("clock-drift", Seen::Drifting)],
        parameters: &[within("ppm", 750.0, -1e5, 1e5, ""), switch("printed", 0.0)],
        settings: |v, settings| {
            settings.calibration_error += v["ppm"] * 1e-6;
            settings.prints_true_time |= is_on(v, "printed");
        },
        disturbance: None,
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "truncation",
        description: "quanta are truncated to whole ticks, as by the original FTQ",
        examples: &[example("clock-drift", Seen::Drifting)],
        parameters: &[],
        settings: |_, settings| settings.truncates = true,
        disturbance: None,
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "clock",
        description: "the clock counts so many ticks per nanosecond",
        examples: &[],
        parameters: &[within("ghz", 2.0, 0.05, 20.0, "")],
        settings: |v, settings| settings.ticks_per_ns = v["ghz"],
        disturbance: None,
        rhythm: Rhythm::None,
        by: By::Core,
    },
    Entry {
        name: "unit",
        description: "an undisturbed unit of any work kernel takes `ratio` times as long as usual",
        examples: &[],
        parameters: &[ratio("ratio", 1.0)],
        settings: |v, settings| settings.unit_ratio = v["ratio"],
        disturbance: None,
        rhythm: Rhythm::None,
        by: By::Core,
    },
];

/// Times without a scatter; `period` and `phase` in ticks.
fn regular(period: f64, phase: f64, setup: &Setup) -> Times {
    Times::new(period, phase, 0.0, false, setup.random.clone())
}

fn times(v: &Values, setup: &Setup, phase: f64) -> Times {
    Times::new(
        setup.scale / v["hz"],
        phase * setup.scale,
        v["jitter"],
        is_on(v, "poisson"),
        setup.random.clone(),
    )
}

/// Random stays in states with these factors, of which `dwell` is the mean length.
fn states(v: &Values, setup: &Setup, factors: Vec<f64>, shortest: f64) -> Box<dyn Disturbance> {
    Box::new(States {
        factors,
        dwell: v["dwell"] * setup.scale,
        shortest: shortest * setup.scale,
        state: 0,
        at: 0.0,
        random: setup.random.clone(),
    })
}

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
    /// Kinds of the findings that it may be an example of.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.examples.iter().map(|example| example.kind).collect()
    }

    /// The only work kernels whose pace it changes, where it does not change that of all.
    pub(crate) fn only(&self, values: &Values) -> Option<Feels> {
        match self.by {
            By::Sibling => Some(Feels::Throughput),
            _ => is_on(values, MEMORY.name).then_some(Feels::Memory),
        }
    }

    /// All parameters, for messages.
    pub fn parameter_names(&self) -> String {
        let names = self.parameters.iter().map(|p| p.name).chain(["seed"]);
        names.collect::<Vec<_>>().join(", ")
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
