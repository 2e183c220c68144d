//! Crowds: two to four periodic disturbances of round frequencies, which share sub-multiples as those of real machines do, beside what is
//! easily taken for a period: gaps of all lengths, groups of gaps, another task's time slices.
//!
//! Frequencies are those of timer ticks and of programs that sleep for whole milliseconds. Each has a constant cost, below the gap
//! threshold or above it. Either all of them start at the same time, as timers on whole milliseconds do, or each when it likes.

use crate::draw::{Draw, Noise};
use crate::families::Family;
use crate::figure::{Figure, Why};
use crate::scene::{Expected, FREQUENCY, Medium, Scene, Tolerance, Train};
use Tolerance::{Relative, Stated};
use bandscope_report::{Cause, Certainty, Kind};

/// Ticks of Linux (100, 250, 300, 1000 Hz) and periods of 2, 3, 5, 7, 8 and 10 ms and half of 5.
const ROUND_HZ: [f64; 10] = [
    100.0,
    125.0,
    142.857142857,
    200.0,
    250.0,
    300.0,
    333.333333333,
    400.0,
    500.0,
    1000.0,
];
/// How far a cost may be off, as a share of it.
const COST: f64 = 0.05;
/// As [`COST`], of a tick half of whose events fall into another task's slices.
const COST_BESIDE_SLICES: f64 = 0.6;
/// Losses that a unit can hold without being a gap, and losses that always make one, in seconds: the threshold of `mulss80` is 1.01 us.
const NO_GAP_S: (f64, f64) = (0.4e-6, 0.9e-6);
const GAP_S: (f64, f64) = (1.2e-6, 60e-6);

/// Families of crowds.
pub const CROWDS: &[Family] = &[
    Family {
        name: "crowd",
        draw: |draw| crowd(draw, Medium::Recording),
    },
    Family {
        name: "crowd-events",
        draw: |draw| crowd(draw, Medium::Events),
    },
    Family {
        name: "heavy-tails",
        draw: |draw| beside(draw, heavy_tail),
    },
    Family {
        name: "bursts",
        draw: |draw| beside(draw, bursts),
    },
    Family {
        name: "slices",
        draw: slices,
    },
    Family {
        name: "counts-one-rate",
        draw: |draw| counts(draw, false),
    },
    Family {
        name: "counts-two-rates",
        draw: |draw| counts(draw, true),
    },
];

/// A periodic disturbance as it is drawn.
struct Drawn {
    /// Its part of the scenario.
    text: String,
    cause: Cause,
    hz: f64,
    cost: f64,
}

/// `number` periodic disturbances, the first parts of a scenario.
fn trains(draw: &mut Draw, number: usize) -> Vec<Drawn> {
    let aligned = draw.chance(0.5);
    let frequencies = draw.some_of(&ROUND_HZ, number);
    let mut trains = Vec::new();
    for (part, hz) in frequencies.into_iter().enumerate() {
        // What falls into the gaps of another train each time and is none itself cannot be told from that one's cost.
        let short = !aligned && draw.chance(0.2);
        let (from, to) = if short { NO_GAP_S } else { GAP_S };
        let cost = draw.log_uniform(from, to);
        let phase = if aligned {
            0.0
        } else {
            draw.uniform(0.0, 1.0 / hz)
        };
        let (name, cause) = match part {
            0 if draw.chance(0.6) => ("tick", Cause::Tick),
            _ if draw.chance(0.6) => ("timed-task", program(part)),
            _ => ("timed-device", device(part)),
        };
        trains.push(Drawn {
            text: format!("{name}:hz={hz:.9},cost={cost:.10},phase={phase:.9}"),
            cause,
            hz,
            cost,
        });
    }
    trains
}

/// A scene of `trains` and then of `others`, with what must be said of it.
fn scene(draw: &mut Draw, trains: &[Drawn], others: &[String], medium: Medium) -> Scene {
    let noise = draw.one_of(&[Noise::None, Noise::Weak]);
    let parts = trains.iter().map(|train| &train.text).chain(others);
    let parts: Vec<&str> = parts.map(String::as_str).collect();
    let scenario = if parts.is_empty() {
        "quiet".to_owned()
    } else {
        parts.join("+")
    };
    let mut scene = draw.scene(&scenario, noise);
    scene.medium = medium;
    scene.trains = (trains.iter().enumerate())
        .map(|(part, train)| Train {
            part,
            cause: train.cause.clone(),
        })
        .collect();
    if medium == Medium::Events {
        for cause in causes(trains, others) {
            scene = scene.allowing(Expected::new(Kind::TimeAway).saying(Why::Cause(cause)));
        }
    }
    scene
}

/// The program and the device that part number `part` of a scenario is.
pub fn program(part: usize) -> Cause {
    Cause::Task(format!("program-{part}").into())
}

pub fn device(part: usize) -> Cause {
    Cause::Interrupt(format!("device-{part}").into())
}

/// Everything that takes the CPU away; noise has other tasks.
fn causes(trains: &[Drawn], others: &[String]) -> Vec<Cause> {
    let mut causes: Vec<Cause> = trains.iter().map(|train| train.cause.clone()).collect();
    for (number, other) in others.iter().enumerate() {
        let part = trains.len() + number;
        match other.split(':').next() {
            Some("slices") => causes.push(program(part)),
            Some("bursts") => causes.push(device(part)),
            _ => {}
        }
    }
    causes.push(Cause::Task("other".into()));
    causes
}

/// What must be said of each train, once its rates are known.
fn expecting(mut scene: Scene, trains: &[Drawn], cost: f64) -> Scene {
    for train in trains {
        let is_gap = train.cost >= GAP_S.0;
        let timed = is_gap && scene.medium != Medium::Counts;
        let frequency = if timed { Relative(FREQUENCY) } else { Stated };
        let mut expected = Expected::new(Kind::PeriodicInterference)
            .with(Figure::FrequencyHz, train.hz, frequency)
            .with(Figure::NsPerEvent, train.cost * 1e9, Relative(cost));
        if scene.medium == Medium::Events && is_gap {
            expected = expected
                .saying(Why::Cause(train.cause.clone()))
                .decided(true);
        }
        if !timed && !scene.two_rates() {
            // In the residual of one rate it might be the measurement's own doing.
            let quanta = scene.rates_hz[0] / train.hz;
            let artefact = Expected::new(Kind::SamplingArtefact)
                .with(Figure::PeriodQuanta, quanta, Relative(FREQUENCY))
                .only_possible();
            scene = scene.allowing(artefact);
        }
        // ... or an alias: no more than possible.
        let open = !is_gap && !scene.two_rates() && scene.least > Certainty::Possible;
        scene = if open {
            scene.allowing(expected)
        } else {
            scene.expecting(expected)
        };
    }
    scene
}

fn crowd(draw: &mut Draw, medium: Medium) -> Scene {
    let number = draw.one_of(&[2, 2, 3, 4]);
    let trains = trains(draw, number);
    let scene = scene(draw, &trains, &[], medium);
    expecting(scene, &trains, COST)
}

fn heavy_tail(draw: &mut Draw) -> String {
    format!(
        "heavy-tail:hz={:.3},least={:.9},tail={:.3},most={:.6}",
        draw.log_uniform(30.0, 600.0),
        draw.log_uniform(1e-6, 5e-6),
        draw.uniform(1.05, 2.0),
        draw.log_uniform(2e-3, 20e-3)
    )
}

fn bursts(draw: &mut Draw) -> String {
    format!(
        "bursts:hz={:.3},gaps={:.2},every={:.9},mean={:.9}",
        draw.uniform(2.0, 20.0),
        draw.uniform(4.0, 30.0),
        draw.log_uniform(50e-6, 1e-3),
        draw.log_uniform(2e-6, 50e-6)
    )
}

/// What comes at random times, beside three trains at most, or alone.
fn beside(draw: &mut Draw, other: fn(&mut Draw) -> String) -> Scene {
    let medium = draw.one_of(&[Medium::Recording, Medium::Events]);
    let number = draw.one_of(&[0, 1, 2, 3]);
    let trains = trains(draw, number);
    let others = [other(draw)];
    let scene = scene(draw, &trains, &others, medium);
    expecting(scene, &trains, COST)
}

/// Another task shares the CPU, switched on a tick of 250 Hz.
fn slices(draw: &mut Draw) -> Scene {
    let medium = draw.one_of(&[Medium::Recording, Medium::Events]);
    let cost = draw.log_uniform(1.5e-6, 6e-6);
    let tick = Drawn {
        text: format!("tick:hz=250,cost={cost:.10}"),
        cause: Cause::Tick,
        hz: 250.0,
        cost,
    };
    // The switch comes at the end of the tick.
    let others = [format!(
        "slices:hz=250,phase={cost:.10},blocks={:.3}",
        draw.uniform(0.1, 0.6)
    )];
    let trains = [tick];
    let scene = scene(draw, &trains, &others, medium);
    expecting(scene, &trains, COST_BESIDE_SLICES)
}

/// FTQ files of counts: at one rate they decide nothing, at two rates what both show.
fn counts(draw: &mut Draw, two_rates: bool) -> Scene {
    let number = draw.one_of(&[1, 2, 2, 3, 4]);
    let trains = trains(draw, number);
    let other = draw.one_of(&[
        None,
        Some(heavy_tail as fn(&mut Draw) -> String),
        Some(bursts),
    ]);
    let others: Vec<String> = other.map(|other| other(draw)).into_iter().collect();
    let mut scene = scene(draw, &trains, &others, Medium::Counts);
    scene.rates_hz = if two_rates {
        vec![10_000.0, 7_777.0]
    } else {
        vec![draw.one_of(&[10_000.0, 7_777.0])]
    };
    if !two_rates {
        scene.least = Certainty::Possible;
    }
    expecting(scene, &trains, COST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::{self, KNOWN};
    use bandscope_simulation::Scenario;

    fn scenes(family: &Family, number: u64) -> impl Iterator<Item = Scene> {
        (0..number).map(|number| (family.draw)(&mut Draw::new(7, family.name, number)))
    }

    #[test]
    fn every_scene_can_be_made_and_is_the_same_again() {
        for family in CROWDS {
            for (first, again) in scenes(family, 40).zip(scenes(family, 40)) {
                Scenario::parse(&first.scenario).unwrap();
                assert_eq!(first.command(), again.command());
                // Each train is to be found, or may be said where it is no gap at one rate.
                let periodic = first.expected.iter().chain(&first.allowed);
                let periodic = periodic.filter(|one| one.kind == Kind::PeriodicInterference);
                assert_eq!(periodic.count(), first.trains.len(), "{}", first.command());
            }
        }
    }

    #[test]
    fn every_family_draws_what_its_name_says() {
        let family = |name: &str| CROWDS.iter().find(|family| family.name == name).unwrap();
        assert!(scenes(family("crowd"), 40).all(|scene| (2..=4).contains(&scene.trains.len())));
        assert!(scenes(family("crowd-events"), 40).all(|scene| scene.medium == Medium::Events));
        assert!(scenes(family("slices"), 40).all(|scene| scene.scenario.contains("slices:")));
        // With nothing periodic in some, so that what is said of those is untrue.
        assert!(scenes(family("heavy-tails"), 40).any(|scene| scene.trains.is_empty()));
        for (name, rates) in [("counts-one-rate", 1), ("counts-two-rates", 2)] {
            let is_right =
                |scene: Scene| scene.medium == Medium::Counts && scene.rates_hz.len() == rates;
            assert!(scenes(family(name), 40).all(is_right), "{name}");
        }
    }

    #[test]
    fn named_scenes_have_names_of_their_own() {
        let names: Vec<&str> = scenes(&KNOWN, known::number())
            .map(|scene| {
                Scenario::parse(&scene.scenario).unwrap();
                scene.name.unwrap()
            })
            .collect();
        let different: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!(different.len(), names.len());
    }
}
