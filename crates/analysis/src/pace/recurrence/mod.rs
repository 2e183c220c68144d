//! What edges recur on: the period of the change of state, and the grid that edges sit on.
//!
//! Two periods are involved and both are evidence (docs/method.md, section 5.4): a state may change at each tick of
//! 1 ms (`grid`), and come back every two of them (`period`). A period is followed from edge to edge with a line of
//! phase on time, the error of which falls with the third power of the time followed, so that turns are never
//! miscounted over a segment at another rate: its guess comes from the intervals between edges themselves. A grid
//! without a period is looked for as a frequency of all edge times ([`crate::periods::events`], H-test). A phase that steps
//! starts a new piece of the line ([`Follower`]).

mod follower;
mod handful;

use crate::pace::edges::{Edge, Edges, Place};
use crate::periods::events::{self, Train};
use crate::series::context::Context;
use bandscope_statistics::order;
use follower::Follower;
use handful::handful;

/// Intervals that can show a period.
const MIN_INTERVALS: usize = 8;
/// Share of the intervals, and of the edges, that keep a period. Random stays reach 10 %.
const REGULAR: f64 = 0.7;
/// Edges per period of one kind: two slow stays within each period are followed, and three.
const ORDERS: usize = 4;
/// Distance in standard deviations within which an edge keeps a phase.
const DEVIATIONS: f64 = 5.0;
/// What the cost of a tick at the edge may add, seconds: 2.5 us in the published rows, up to (h + l)/(h - l) of it.
const TICK_COST: f64 = 4e-6;
/// What is left of it where gaps are known, seconds: the error of a dwell (docs/method.md, section 11). A pace changes
/// between units, of up to 0.12 us.
const RESOLVED: f64 = 0.2e-6;
/// Largest share of a period within which an edge keeps its phase.
const NARROW: f64 = 0.02;
/// Pieces of a line: one, and one more for so many edges. More are no steps but no period.
const PIECE: usize = 24;
/// Share of random edges that may keep a grid: of the edges within 2 % of a period each side, 4 % do.
const GRID: f64 = 0.6;
/// Chance of a common grid of two phases by accident, above which none is stated.
const ACCIDENT: f64 = 0.03;
/// Quanta of a stay from which on edges at boundaries are no pattern of quanta: those of a level.
const ALIGNED_STAY: f64 = 2.9;
/// Typical stays below this many quanta make no recurrence: a single quantum that an interrupt slows by less than a gap, periodically, would.
const SHORTEST_STAY: f64 = 1.5;
/// A period that edges keep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Period {
    /// Its length, seconds.
    pub seconds: f64,
    /// One standard deviation by the edges alone, seconds.
    pub uncertainty: f64,
    /// Edges looked at, and those that keep it.
    pub edges: u64,
    /// See `edges`.
    pub kept: u64,
    /// Z^2 of one harmonic over the edges looked at (Buccheri et al. 1983); of random times it is 2 in the mean.
    pub z_squared: f64,
    /// Natural logarithm of the chance of that, corrected for the frequencies tried.
    pub log_p: f64,
}

/// What the edges of a series recur on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recurrence {
    /// The period with which the state comes back.
    pub period: Option<Period>,
    /// The grid that the edges sit on.
    pub grid: Option<Period>,
    /// Steps of the phase of the period: time of the first edge after it, and the step, seconds since the recording began.
    pub steps: Vec<(f64, f64)>,
    /// Whether the edges lie at boundaries of quanta and recur after a whole number of them: then one rate cannot tell the machine's time
    /// from the measurement's own.
    pub aligned: bool,
}

/// An edge time with what it is known to, seconds.
#[derive(Clone, Copy, Debug)]
struct Time {
    at: f64,
    error: f64,
    kind: (u8, u8),
    segment: usize,
    boundary: bool,
}

/// What the edges of a series, finished, recur on; `origin` is the first tick of the recording, `extents` the segments.
pub fn find(
    edges: &Edges,
    origin: u64,
    extents: &[(u64, u64)],
    context: &Context,
) -> Option<Recurrence> {
    // What comes after the segments whose extents are kept has no place there.
    let end = extents.last().map_or(0, |extent| extent.1);
    let sharp = |edge: &&Edge| edge.place != Place::Blurred && edge.quantum < end;
    let times: Vec<Time> = edges
        .kept()
        .iter()
        .filter(sharp)
        .map(|edge| Time {
            at: context.seconds(edge.ticks(origin)),
            error: context.seconds(f64::from(edge.resolution)),
            kind: (edge.from, edge.to),
            segment: extents.partition_point(|extent| extent.0 <= edge.quantum),
            boundary: edge.place == Place::Boundary,
        })
        .collect();
    let segments: Vec<(f64, f64)> = extents
        .iter()
        .map(|&(from, to)| {
            let seconds = |tick: u64| context.seconds(tick as f64 - origin as f64);
            (seconds(from), seconds(to))
        })
        .collect();
    let quantum = 1.0 / context.rate_hz;
    if shortest_stay(&times) < SHORTEST_STAY * quantum {
        return None;
    }
    let found = periodic(&times, quantum, context.gaps_known)
        .or_else(|| on_grid(&times, &segments, quantum))
        .or_else(|| handful(edges, &times))?;
    Some(found)
}

/// How far from its phase an edge may lie.
fn tolerance(times: &[Time], period: f64) -> f64 {
    (DEVIATIONS * median_error(times) + TICK_COST).min(NARROW * period)
}

fn median_error(times: &[Time]) -> f64 {
    order::median(times.iter().map(|time| time.error)).unwrap_or(0.0)
}

/// The most frequent kinds of edges come back after a period.
fn periodic(times: &[Time], quantum: f64, gaps_known: bool) -> Option<Recurrence> {
    let mut best: Option<(Follower, (u8, u8))> = None;
    for kind in frequent_kinds(times) {
        let mine: Vec<Time> = times
            .iter()
            .filter(|time| time.kind == kind)
            .copied()
            .collect();
        let Some(line) = follow_kind(&mine) else {
            continue;
        };
        if best
            .as_ref()
            .is_none_or(|(known, _)| line.uncertainty() < known.uncertainty())
        {
            best = Some((line, kind));
        }
    }
    let (line, kind) = best?;
    let period = line.period();
    let mine: Vec<f64> = times
        .iter()
        .filter(|time| time.kind == kind)
        .filter_map(|time| line.phase(time.at))
        .collect();
    let aligned = is_aligned(times, period, quantum);
    // A pattern of quanta is no change of state in time.
    if aligned && shortest_stay(times) < ALIGNED_STAY * quantum {
        return None;
    }
    let phases: Vec<f64> = times
        .iter()
        .filter_map(|time| line.phase(time.at))
        .collect();
    // Where gaps are known a tick at the edge is none of its time.
    let tolerance = if gaps_known {
        DEVIATIONS * median_error(times) + RESOLVED
    } else {
        tolerance(times, period)
    };
    Some(Recurrence {
        grid: common_grid(&phases, &line, tolerance),
        period: Some(line.describe(&mine)),
        steps: line.steps(),
        aligned,
    })
}

/// Whether nine in ten edges lie at boundaries of quanta, and recur after a whole number of them.
fn is_aligned(times: &[Time], period: f64, quantum: f64) -> bool {
    let boundary = times.iter().filter(|time| time.boundary).count();
    fraction(period / quantum).abs() < 1e-4 && boundary * 10 >= times.len() * 9
}

/// The shorter of the typical stays between edges.
fn shortest_stay(times: &[Time]) -> f64 {
    let stays = times
        .windows(2)
        .filter(|pair| pair[0].segment == pair[1].segment)
        .map(|pair| pair[1].at - pair[0].at);
    order::quartiles(stays).map_or(0.0, |quartiles| quartiles[0])
}

/// Kinds of edges that are at least a tenth of all, the most frequent first.
fn frequent_kinds(times: &[Time]) -> Vec<(u8, u8)> {
    let mut kinds: Vec<((u8, u8), usize)> = Vec::new();
    for time in times {
        match kinds.iter_mut().find(|(kind, _)| *kind == time.kind) {
            Some((_, number)) => *number += 1,
            None => kinds.push((time.kind, 1)),
        }
    }
    kinds.retain(|(_, number)| number * 10 >= times.len() && *number > MIN_INTERVALS);
    kinds.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    kinds.into_iter().map(|(kind, _)| kind).take(4).collect()
}

/// The period with which edges of one kind come back.
fn follow_kind(times: &[Time]) -> Option<Follower> {
    (1..=ORDERS).find_map(|order| {
        let intervals = times
            .windows(order + 1)
            .filter(|window| window[0].segment == window[order].segment)
            .map(|window| window[order].at - window[0].at);
        let intervals = order::sorted(intervals);
        if intervals.len() < MIN_INTERVALS {
            return None;
        }
        let median = intervals[intervals.len() / 2];
        let tolerance = tolerance(times, median);
        let regular: Vec<f64> = intervals
            .iter()
            .copied()
            .filter(|interval| (interval - median).abs() <= 2.0 * tolerance)
            .collect();
        if (regular.len() as f64) < REGULAR * intervals.len() as f64 {
            return None;
        }
        let guess = regular.iter().sum::<f64>() / regular.len() as f64;
        let line = Follower::follow(times, guess, regular.len() as f64, tolerance);
        let enough = line.kept as f64 >= REGULAR * times.len() as f64 / order as f64;
        (enough && line.pieces.len() <= 1 + times.len() / PIECE).then_some(line)
    })
}

/// All edges sit on whole multiples of the N-th part of a period: the smallest N for which nine in ten do, as long as
/// that is not to be expected of any two phases.
fn common_grid(phases: &[f64], line: &Follower, tolerance: f64) -> Option<Period> {
    let period = line.period();
    let share = tolerance / period;
    let mut accident = 0.0;
    for parts in 1..=32u32 {
        // Fractions k/N in lowest terms: phi(N) places to be met by accident.
        accident += f64::from(totient(parts)) * 2.0 * share;
        if parts > 1 && accident > ACCIDENT {
            return None;
        }
        let parts = f64::from(parts);
        let (sin, cos) = phases
            .iter()
            .map(|phase| (phase * parts * std::f64::consts::TAU).sin_cos())
            .fold((0.0, 0.0), |sum, (sin, cos)| (sum.0 + sin, sum.1 + cos));
        let middle = sin.atan2(cos) / std::f64::consts::TAU;
        let kept = phases
            .iter()
            .filter(|&&phase| fraction(phase * parts - middle).abs() <= share * parts)
            .count();
        if kept as f64 >= 0.9 * phases.len() as f64 {
            let turns: Vec<f64> = phases.iter().map(|phase| phase * parts).collect();
            let grid = line.describe(&turns);
            return Some(Period {
                seconds: grid.seconds / parts,
                uncertainty: grid.uncertainty / parts,
                kept: kept as u64,
                ..grid
            });
        }
    }
    None
}

fn totient(n: u32) -> u32 {
    let divides = |k: &u32| {
        let (mut a, mut b) = (n, *k);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    (1..=n).filter(divides).count() as u32
}

/// The distance to the nearest whole number.
fn fraction(turns: f64) -> f64 {
    turns - turns.round()
}

/// Stays are random, and yet all edges sit on a grid.
fn on_grid(times: &[Time], segments: &[(f64, f64)], quantum: f64) -> Option<Recurrence> {
    let train = Train {
        times: times.iter().map(|time| time.at).collect(),
        losses: vec![1.0; times.len()],
        segments: segments.to_vec(),
        tick_hz: None,
        ..Train::default()
    };
    let found = events::search(&train).into_iter().next()?;
    let guess = 1.0 / found.frequency;
    // Edges at the boundaries of quanta sit on the quantum and say nothing of the machine.
    let own = (1..=4).any(|k| (guess * f64::from(k) / quantum - 1.0).abs() < NARROW);
    if own {
        return None;
    }
    let tolerance = tolerance(times, guess);
    // As a sum of squared turns, so much that the guess is as good as its uncertainty says.
    let uncertainty = found.uncertainty * guess * guess;
    let weight = (tolerance / uncertainty.max(1e-15)).powi(2).max(1.0);
    let line = Follower::follow(times, guess, weight, tolerance);
    let enough = line.kept as f64 >= GRID * times.len() as f64;
    let phases: Vec<f64> = times
        .iter()
        .filter_map(|time| line.phase(time.at))
        .collect();
    (enough && line.pieces.len() == 1).then(|| Recurrence {
        grid: Some(line.describe(&phases)),
        ..Recurrence::default()
    })
}
