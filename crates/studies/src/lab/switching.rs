//! Loops under interruptions: the chance that one changes the pace.
//!
//! Between two interruptions a loop keeps a pace that is known, because each tells how far the loop was. Stretches at one of two paces are
//! in that state; those between were changed by something else, such as this system's tick or the host's. An interruption between
//! two stretches in known states is a trial. That it brings about the change and does not merely come with it needs no argument:
//! the program sends it, at times that nothing else knows.

use super::states::{State, states};
use bandscope_recording::experiments::{self, Experiments, Run};
use bandscope_statistics::counts::wilson_interval;
use serde::Serialize;
use std::collections::BTreeMap;

/// One loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Switching {
    /// The loop.
    pub code: String,
    /// What it does.
    pub description: String,
    /// Its paces, fastest first; two where it is bistable.
    pub states: Vec<State>,
    /// Index in `states` of the pace that the loop has when it is entered; `None` where that is not one of them.
    pub entered: Option<usize>,
    /// That an interruption changes the slow pace to the fast one; `None` where there are no two, or none was interrupted.
    pub to_fast: Option<Chance>,
    /// That it changes the fast to the slow one.
    pub to_slow: Option<Chance>,
    /// By signals a second: interruptions in a known state, and of these those that changed it.
    pub by_rate: BTreeMap<u32, [u64; 2]>,
    /// Changes at an interruption, and those between two: stretches whose pace lies between the two paces. `None` where there are no two.
    pub changes: Option<[u64; 2]>,
    /// How many times as many changes came at interruptions as would if they came at any time; what comes at any time comes near an
    /// interruption now and then, and looks as if it came at it.
    pub excess: Option<f64>,
    /// Of `excess`, 95 %.
    pub excess_interval: Option<[f64; 2]>,
}

/// A share of trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chance {
    /// Interruptions in that state.
    pub trials: u64,
    /// Of these, those after which the loop was in the other state.
    pub changes: u64,
    /// `changes` over `trials`.
    pub probability: f64,
    /// 95 % (Wilson 1927).
    pub interval: [f64; 2],
}

/// Interruptions that are too few to decide anything.
pub(super) const MIN_CHANGES: u64 = 20;
/// A pace of a smaller share of the stretches is an accident: those that something else changed lie anywhere between two.
const MIN_SHARE_OF_A_PACE: f64 = 0.02;
/// Paces that differ by less are one: a stretch is longer by what its interruption took, up to a tenth.
const MIN_RATIO_OF_TWO_PACES: f64 = 1.5;
/// A stretch is in a state if its pace lies no farther from it than this part of the way to the other one.
const MAX_WAY_FROM_A_PACE: f64 = 0.2;
/// A pace belongs to a state of several if it has this part of the share of its most frequent one; one of less may be of stretches
/// that something else changed.
const MIN_SHARE_OF_MOST_FREQUENT: f64 = 1.0 / 3.0;
/// A stretch slower than the slow state by more than this was preempted; one faster than the fast state by as much is a mistake.
const MAX_RATIO_TO_A_PACE: f64 = 1.3;
/// A stretch must be so long, in seconds, that what an interruption takes (2 to 5 us) is a tenth of it at most.
const MIN_STRETCH_S: f64 = 50e-6;

impl Chance {
    fn new([trials, changes]: [u64; 2]) -> Option<Chance> {
        (trials > 0).then(|| Chance {
            trials,
            changes,
            probability: changes as f64 / trials as f64,
            interval: wilson_interval(changes, trials),
        })
    }
}

impl Switching {
    /// Whether interruptions bring changes about: there are enough, and more come with them than would by chance.
    pub fn is_switched(&self) -> bool {
        let enough = self.changes.is_some_and(|[at, _]| at >= MIN_CHANGES);
        enough && self.excess_interval.is_some_and(|[low, _]| low > 1.0)
    }

    /// Whether enough interruptions met it in a known state.
    pub(super) fn was_tried(&self) -> bool {
        let trials = (self.by_rate.iter()).filter(|(rate_hz, _)| **rate_hz > 0);
        trials.map(|(_, [trials, _])| trials).sum::<u64>() >= MIN_CHANGES
    }
}

/// All loops, in the order in which they were first measured.
pub fn all(experiments: &Experiments) -> Vec<Switching> {
    let mut codes: Vec<&str> = Vec::new();
    for one in &experiments.switching {
        if !codes.contains(&one.code.as_str()) {
            codes.push(&one.code);
        }
    }
    let of = |code: &str| {
        experiments
            .switching
            .iter()
            .filter(|one| one.code == code)
            .collect::<Vec<_>>()
    };
    let shortest = MIN_STRETCH_S * 1e9 * experiments.ticks_per_ns;
    codes
        .into_iter()
        .map(|code| one(&of(code), experiments.reference_cycles, shortest))
        .collect()
}

/// Cycles per operation between one interruption and the next; `None` where that is too short to tell.
type Stretch = Option<f64>;

fn stretches(
    run: &Run,
    experiment: &experiments::Switching,
    reference_cycles: f64,
    shortest: f64,
) -> Vec<Stretch> {
    let stretch = |pair: &[(u64, u64)]| {
        let (ticks, turns) = (
            (pair[1].0 - pair[0].0) as f64,
            (pair[0].1 - pair[1].1) as f64,
        );
        let cycles = ticks / (turns * f64::from(experiment.operations)) / experiment.reference
            * reference_cycles;
        (ticks >= shortest && cycles.is_finite()).then_some(cycles)
    };
    run.points().windows(2).map(stretch).collect()
}

fn one(measured: &[&experiments::Switching], reference_cycles: f64, shortest: f64) -> Switching {
    let runs: Vec<(u32, Vec<Stretch>)> = measured
        .iter()
        .flat_map(|one| {
            one.runs
                .iter()
                .map(|run| (one.rate_hz, stretches(run, one, reference_cycles, shortest)))
        })
        .collect();
    let all: Vec<f64> = runs
        .iter()
        .flat_map(|(_, stretches)| stretches.iter().flatten().copied())
        .collect();
    let paces = Paces::of(&all);
    let highest = runs.iter().map(|(rate_hz, _)| *rate_hz).max().unwrap_or(0);
    let mut counted = Counted::default();
    for (rate_hz, stretches) in &runs {
        counted.run(*rate_hz, stretches, &paces, *rate_hz == highest);
    }
    let bistable = paces.bounds.is_some();
    let chance = |from: usize| Chance::new(counted.trials[from]).filter(|_| bistable);
    let changes = [counted.trials[0][1] + counted.trials[1][1], counted.between];
    let excess = paces
        .bounds
        .filter(|_| changes[0] + changes[1] > 0)
        .map(|bounds| {
            let near = near(bounds);
            let times = |share: f64| share / (1.0 - share) * (1.0 - near) / near;
            let [at, between] = changes.map(|number| number as f64);
            (
                times(at / (at + between)),
                wilson_interval(changes[0], changes[0] + changes[1]).map(times),
            )
        });
    let most = usize::from(counted.entered[1] > counted.entered[0]);
    Switching {
        code: measured[0].code.clone(),
        description: measured[0].description.clone(),
        entered: (counted.entered[most] > 0).then_some(most),
        to_fast: chance(1),
        to_slow: chance(0),
        by_rate: counted.by_rate,
        changes: bistable.then_some(changes),
        excess: excess.map(|(excess, _)| excess.min(f64::MAX)),
        excess_interval: excess.map(|(_, interval)| interval.map(|bound| bound.min(f64::MAX))),
        states: paces.states,
    }
}

/// The paces of a loop: one, or a fast and a slow one. Several that lie near each other count as one: they differ by what else runs
/// on the core, such as a neighbour that comes and goes.
struct Paces {
    states: Vec<State>,
    /// Where two are: the slowest of the fast ones, and the fastest of the slow.
    bounds: Option<[f64; 2]>,
}

/// Part of a stretch in which a change makes it look like one that did not change: near its ends, by [`MAX_WAY_FROM_A_PACE`] on the logarithm of the pace.
fn near([fast, slow]: [f64; 2]) -> f64 {
    let ratio = slow / fast;
    (ratio.powf(MAX_WAY_FROM_A_PACE) - 1.0 + ratio - ratio.powf(1.0 - MAX_WAY_FROM_A_PACE))
        / (ratio - 1.0)
}

/// What a stretch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Index of the state.
    In(usize),
    /// Something changed it on the way.
    Between,
    /// Too short, or preempted.
    Unknown,
}

impl Paces {
    /// Split where two neighbouring paces are farthest apart.
    fn of(cycles: &[f64]) -> Paces {
        let states = states(cycles, MIN_SHARE_OF_A_PACE);
        let ratio = |index: usize| states[index].cycles / states[index - 1].cycles;
        let widest = (1..states.len()).max_by(|&a, &b| ratio(a).total_cmp(&ratio(b)));
        match widest.filter(|&index| ratio(index) > MIN_RATIO_OF_TWO_PACES) {
            Some(index) => Paces {
                bounds: Some([
                    edge(&states[..index], f64::max),
                    edge(&states[index..], f64::min),
                ]),
                states: [&states[..index], &states[index..]]
                    .into_iter()
                    .filter_map(together)
                    .collect(),
            },
            None => Paces {
                bounds: None,
                states: together(&states).into_iter().collect(),
            },
        }
    }

    fn class(&self, stretch: Stretch) -> Class {
        let Some(cycles) = stretch else {
            return Class::Unknown;
        };
        let one = |index: usize| self.states[index].cycles;
        match self.bounds {
            None if self.states.is_empty() || cycles > MAX_RATIO_TO_A_PACE * one(0) => {
                Class::Unknown
            }
            None => Class::In(0),
            Some([fast, slow]) => {
                let way = (cycles / fast).ln() / (slow / fast).ln();
                match way {
                    _ if cycles > MAX_RATIO_TO_A_PACE * one(1).max(slow)
                        || cycles < one(0).min(fast) / MAX_RATIO_TO_A_PACE =>
                    {
                        Class::Unknown
                    }
                    _ if way <= MAX_WAY_FROM_A_PACE => Class::In(0),
                    _ if way >= 1.0 - MAX_WAY_FROM_A_PACE => Class::In(1),
                    _ => Class::Between,
                }
            }
        }
    }
}

/// The outermost, as `outer` says, of those paces that are no accident beside the one that most keep to.
fn edge(states: &[State], outer: fn(f64, f64) -> f64) -> f64 {
    let most = states.iter().map(|state| state.share).fold(0.0, f64::max);
    let such = states
        .iter()
        .filter(|state| state.share >= most * MIN_SHARE_OF_MOST_FREQUENT);
    such.map(|state| state.cycles)
        .reduce(outer)
        .unwrap_or(f64::NAN)
}

/// The pace that most of some keep to, and the share of all of them.
fn together(states: &[State]) -> Option<State> {
    let most = states.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    Some(State {
        cycles: most.cycles,
        share: states.iter().map(|state| state.share).sum(),
    })
}

#[derive(Default)]
struct Counted {
    /// By state: interruptions in it, and those that changed it.
    trials: [[u64; 2]; 2],
    by_rate: BTreeMap<u32, [u64; 2]>,
    /// Stretches in which something else changed it, at rates at which there are trials.
    between: u64,
    /// By state: first stretches of a run, at the highest rate, where they are shortest and fewest were changed.
    entered: [u64; 2],
}

impl Counted {
    fn run(&mut self, rate_hz: u32, stretches: &[Stretch], paces: &Paces, is_highest: bool) {
        let classes: Vec<Class> = stretches
            .iter()
            .map(|&stretch| paces.class(stretch))
            .collect();
        if let (true, Some(Class::In(state))) = (is_highest, classes.first()) {
            self.entered[*state] += 1;
        }
        if stretches.len() > 1 {
            self.between += classes
                .iter()
                .filter(|class| **class == Class::Between)
                .count() as u64;
        }
        for pair in classes.windows(2) {
            let [Class::In(before), Class::In(after)] = pair else {
                continue;
            };
            let rate = self.by_rate.entry(rate_hz).or_default();
            for counts in [rate, &mut self.trials[*before]] {
                counts[0] += 1;
                counts[1] += u64::from(before != after);
            }
        }
    }
}

#[cfg(test)]
mod tests;
