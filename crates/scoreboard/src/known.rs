//! Scenes with names: what was seen to go wrong on real machines, as far as the simulated one can show it. They are the same for every
//! seed.

use crate::crowds::{device, program};
use crate::families::Family;
use crate::figure::{Figure, Why};
use crate::scene::{Expected, FREQUENCY, Medium, Scene, Tolerance, Train};
use Tolerance::{Absolute, Relative, Stated};
use bandscope_report::evidence::DriftCause;
use bandscope_report::{Cause, Certainty, Kind};

/// The scenes, one a number.
pub const KNOWN: Family = Family {
    name: "known",
    draw: |draw| scene(draw.number as usize),
};

/// Frequencies beside a tick of 250 Hz, as people write them.
const BESIDE_250_HZ: [(&str, f64); 7] = [
    ("250 Hz beside 333.333 Hz", 333.333),
    ("250 Hz beside 200 Hz", 200.0),
    ("250 Hz beside 300 Hz", 300.0),
    ("250 Hz beside 400 Hz", 400.0),
    ("250 Hz beside 100 Hz", 100.0),
    ("250 Hz beside 125 Hz", 125.0),
    ("250 Hz beside 142.857 Hz", 142.857),
];

/// Noise of a machine in use: a core that wanders by 0.02 %, clock readings that scatter by 5 ns.
const WEAK: &str = "noise:sigma=0.02%+reads:sigma=5ns";
/// 3 % of the time lost at random times, in gaps of 5 us to 50 ms.
const HEAVY: &str = "heavy-tail:hz=500,least=5us,tail=0.9,most=50ms";

/// Scenes beyond [`BESIDE_250_HZ`], in order.
const OTHERS: &[fn() -> Scene] = &[
    || task_beside_tick("a task each 5 ms beside the tick, with events", 200.0),
    || {
        task_beside_tick(
            "a task each 3 ms beside the tick, with events",
            333.333333333,
        )
    },
    two_timers,
    time_slices,
    || {
        counts(
            "a 29 us tick among heavy tails, FTQ at 10000 Hz",
            &[10_000.0],
        )
    },
    || counts("a 29 us tick among heavy tails, FTQ at 7777 Hz", &[7_777.0]),
    || {
        counts(
            "a 29 us tick among heavy tails, FTQ at two rates",
            &[10_000.0, 7_777.0],
        )
    },
    long_file,
    short_turbo,
    wandering_line,
    short_wandering_line,
];

/// How many scenes there are.
pub fn number() -> u64 {
    (BESIDE_250_HZ.len() + OTHERS.len()) as u64
}

fn scene(number: usize) -> Scene {
    match BESIDE_250_HZ.get(number) {
        Some(&(name, hz)) => two_trains(name, hz),
        None => OTHERS[number - BESIDE_250_HZ.len()](),
    }
}

fn bare(name: &'static str, scenario: &str) -> Scene {
    Scene {
        scenario: scenario.to_owned(),
        rates_hz: vec![10_000.0, 7_777.0],
        kernels: vec!["mulss80"],
        seconds: 4.0,
        expected: Vec::new(),
        allowed: vec![Expected::new(Kind::Quantisation)],
        name: Some(name),
        medium: Medium::Recording,
        least: Certainty::Likely,
        trains: Vec::new(),
        most_pace_loss: None,
    }
}

fn train(hz: f64, cost_us: f64, frequency: Tolerance) -> Expected {
    Expected::new(Kind::PeriodicInterference)
        .with(Figure::FrequencyHz, hz, frequency)
        .with(Figure::NsPerEvent, cost_us * 1e3, Relative(0.05))
}

fn is_train(part: usize, cause: Cause) -> Train {
    Train { part, cause }
}

fn two_trains(name: &'static str, hz: f64) -> Scene {
    let scene = bare(
        name,
        &format!("tick:hz=250,cost=20us+tick:hz={hz},cost=50us"),
    );
    Scene {
        trains: vec![is_train(0, Cause::Tick), is_train(1, Cause::Tick)],
        ..scene
    }
    .expecting(train(250.0, 20.0, Relative(FREQUENCY)))
    .expecting(train(hz, 50.0, Relative(FREQUENCY)))
}

/// With kernel events, which decide what has which period.
fn traced(mut scene: Scene, causes: &[(Cause, f64, f64)], others: &[Cause]) -> Scene {
    scene.medium = Medium::Events;
    for (part, (cause, hz, cost_us)) in causes.iter().enumerate() {
        scene.trains.push(is_train(part, cause.clone()));
        let expected = train(*hz, *cost_us, Relative(FREQUENCY));
        scene = scene.expecting(expected.saying(Why::Cause(cause.clone())).decided(true));
    }
    let causes = causes.iter().map(|(cause, ..)| cause);
    for cause in causes.chain(others) {
        scene = scene.allowing(Expected::new(Kind::TimeAway).saying(Why::Cause(cause.clone())));
    }
    scene
}

fn task_beside_tick(name: &'static str, hz: f64) -> Scene {
    let scenario = format!("tick:hz=250,cost=4us+timed-task:hz={hz},cost=50us+{WEAK}");
    let causes = [(Cause::Tick, 250.0, 4.0), (program(1), hz, 50.0)];
    traced(bare(name, &scenario), &causes, &[])
}

fn two_timers() -> Scene {
    let scenario = format!(
        "tick:hz=250,cost=4us+timed-task:hz=1000,cost=40us,phase=0.3ms+timed-device:hz=100,cost=6us,phase=1ms+{WEAK}"
    );
    let causes = [
        (Cause::Tick, 250.0, 4.0),
        (program(1), 1000.0, 40.0),
        (device(2), 100.0, 6.0),
    ];
    let name = "a task each 1 ms and a device beside the tick, with events";
    traced(bare(name, &scenario), &causes, &[])
}

fn time_slices() -> Scene {
    let scenario = format!("tick:hz=250,cost=4us+slices:hz=250,phase=4us,blocks=0.3+{WEAK}");
    let mut scene = traced(
        bare("two programs share the CPU, with events", &scenario),
        &[],
        &[Cause::Tick, program(1)],
    );
    scene.trains.push(is_train(0, Cause::Tick));
    // Half of the ticks fall into the other program's slices.
    let tick = Expected::new(Kind::PeriodicInterference)
        .with(Figure::FrequencyHz, 250.0, Relative(FREQUENCY))
        .with(Figure::NsPerEvent, 4e3, Relative(0.6));
    scene.expecting(tick.saying(Why::Cause(Cause::Tick)).decided(true))
}

fn counts(name: &'static str, rates_hz: &[f64]) -> Scene {
    // The tick comes up to 10 us early or late.
    let mut scene = bare(
        name,
        &format!("tick:hz=250,cost=29us,jitter=0.005+{HEAVY}+{WEAK}"),
    );
    if let [rate] = rates_hz {
        // It might be the measurement's own doing.
        let artefact = Expected::new(Kind::SamplingArtefact);
        let quanta = Relative(FREQUENCY);
        scene = scene.allowing(
            artefact
                .with(Figure::PeriodQuanta, rate / 250.0, quanta)
                .only_possible(),
        );
    }
    Scene {
        medium: Medium::Counts,
        rates_hz: rates_hz.to_vec(),
        seconds: 10.0,
        // One rate decides nothing.
        least: if rates_hz.len() > 1 {
            Certainty::Likely
        } else {
            Certainty::Possible
        },
        trains: vec![is_train(0, Cause::Tick)],
        ..scene
    }
    .expecting(train(250.0, 29.0, Stated))
}

/// That the file's quanta are too long is sure; whether its clock or its calibration is wrong a file cannot say.
fn long_file() -> Scene {
    let scene = bare(
        "an FTQ file whose time runs 750 ppm long",
        &format!("clock:ghz=2.3982+drift:ppm=750,printed=1+{WEAK}"),
    );
    Scene {
        medium: Medium::Counts,
        rates_hz: vec![10_000.0],
        seconds: 10.0,
        ..scene
    }
    .expecting(
        Expected::new(Kind::ClockDrift)
            .with(Figure::DriftPpm, 750.0, Relative(0.02))
            .saying(Why::Drift(DriftCause::Undecided))
            .decided(true),
    )
}

/// The core is 2 % faster for 1 ms of each second: what it does the rest of the time is no loss.
fn short_turbo() -> Scene {
    let scene = bare(
        "0.1 % of turbo",
        &format!("flips:ratio=1.02,period=1s,dwell=0.999s,phase=0.2s+{WEAK}"),
    );
    Scene {
        most_pace_loss: Some(0.003),
        ..scene
    }
    .allowing_kinds(&[
        Kind::EdgePairs,
        Kind::BistablePace,
        Kind::FrequencySteps,
        Kind::MovingEdges,
    ])
}

/// A host's timer at 99.9992 Hz whose phase is a random walk, as seen in guests.
fn wandering_line() -> Scene {
    let scene = bare(
        "a host line at 99.9992 Hz that wanders",
        &format!(
            "host-line:hz=99.9992,cost=20us,wander=2us+tick:hz=250,cost=4us+{WEAK}+tasks:hz=20,mean=30us"
        ),
    );
    Scene {
        seconds: 10.0,
        ..scene
    }
    // The walk of 1,000 steps of 2 us leaves the mean frequency of ten seconds open by 6e-6; three of those.
    .expecting(train(99.9992, 20.0, Absolute(2e-3)))
    .expecting(train(250.0, 4.0, Relative(FREQUENCY)))
}

/// The same line where what it takes is no gap, on a machine in use: its skirts, and what it makes with the quanta, are no signals.
fn short_wandering_line() -> Scene {
    let scene = bare(
        "a host line at 99.9992 Hz that wanders, below the gap threshold",
        "host-line:hz=99.9992,cost=600ns,wander=5us+noise:sigma=0.2%,every=2ms+reads:sigma=20ns+tasks:hz=200,mean=30us",
    );
    // The walk of 1,000 steps of 5 us: 1.6e-5; three of those.
    let line = train(99.9992, 0.6, Absolute(5e-3));
    Scene {
        seconds: 10.0,
        ..scene
    }
    .expecting(line)
}
