//! What edges recur on: the period of the change of state, and the grid that edges sit on.
//!
//! Two periods are involved and both are evidence (METHOD, "Edges"): a state may change at each tick of 1 ms (`grid`), and come back every two of them
//! (`period`). A period is followed from edge to edge with a line of phase on time, the error of which falls with the third power of the
//! time followed, so that turns are never miscounted over a segment at another rate: its guess comes from the intervals between edges
//! themselves. A grid without a period is looked for as a frequency of all edge times ([`crate::events`], H-test). A phase that steps starts a
//! new piece of the line ([`Follower`]).

use crate::context::Context;
use crate::edges::{Edge, Edges, Place};
use crate::events::{self, Train};

/// Intervals that can show a period.
const FEWEST: usize = 8;
/// Share of the intervals, and of the edges, that keep a period. Random stays reach 10 %.
const REGULAR: f64 = 0.7;
/// Edges per period of one kind: two slow stays within each period are followed, and three.
const ORDERS: usize = 4;
/// Distance in standard deviations within which an edge keeps a phase.
const DEVIATIONS: f64 = 5.0;
/// What the cost of a tick at the edge may add, seconds: 2.5 us in the published rows, up to (h + l)/(h - l) of it.
const TICK_COST: f64 = 4e-6;
/// Largest share of a period within which an edge keeps its phase.
const NARROW: f64 = 0.02;
/// Edges in a row that agree on another phase: a step of the phase.
const STEP: usize = 5;
/// Pieces of a line: one, and one more for so many edges. More are no steps but no period.
const PIECE: usize = 24;
/// Share of random edges that may keep a grid: of the edges within 2 % of a period each side, 4 % do.
const GRID: f64 = 0.6;
/// Chance of a common grid of two phases by accident, above which none is stated.
const ACCIDENT: f64 = 0.1;
/// Quanta of a stay from which on edges at boundaries are no pattern of quanta: those of a level.
const ALIGNED_STAY: f64 = 2.9;
/// Typical stays below this many quanta make no recurrence: a single quantum that an interrupt slows by less than a gap, periodically, would.
const SHORTEST_STAY: f64 = 1.5;
/// Rates of operating systems' ticks, tried on a handful of edges, hertz.
const TICKS: [f64; 5] = [100.0, 250.0, 300.0, 1000.0, 1024.0];
/// A handful of edges agrees with a tick within this, seconds ("a few us").
const HANDFUL: f64 = 6e-6;
/// Stays of a handful are this many ticks at most: of longer ones any would fit.
const FEW_TICKS: f64 = 3.0;
/// Chance of such an agreement above which it is not stated.
const CHANCE: f64 = 0.15;

/// A period that edges keep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Period {
    /// Seconds.
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
    let sharp = |edge: &&Edge| edge.place != Place::Blurred;
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
    let found = periodic(&times, quantum)
        .or_else(|| on_grid(&times, &segments, quantum))
        .or_else(|| handful(edges, &times))?;
    Some(found)
}

/// How far from its phase an edge may lie.
fn tolerance(times: &[Time], period: f64) -> f64 {
    let mut errors: Vec<f64> = times.iter().map(|time| time.error).collect();
    errors.sort_by(f64::total_cmp);
    let error = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
    (DEVIATIONS * error + TICK_COST).min(NARROW * period)
}

/// The most frequent kinds of edges come back after a period.
fn periodic(times: &[Time], quantum: f64) -> Option<Recurrence> {
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
    let tolerance = tolerance(times, period);
    let phases: Vec<f64> = times
        .iter()
        .filter_map(|time| line.phase(time.at))
        .collect();
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
    let mut stays: Vec<f64> = times
        .windows(2)
        .filter(|pair| pair[0].segment == pair[1].segment)
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    stays.sort_by(f64::total_cmp);
    stays.get(stays.len() / 4).copied().unwrap_or(0.0)
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
    kinds.retain(|(_, number)| number * 10 >= times.len() && *number > FEWEST);
    kinds.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    kinds.into_iter().map(|(kind, _)| kind).take(4).collect()
}

/// The period with which edges of one kind come back.
fn follow_kind(times: &[Time]) -> Option<Follower> {
    (1..=ORDERS).find_map(|order| {
        let mut intervals: Vec<f64> = times
            .windows(order + 1)
            .filter(|window| window[0].segment == window[order].segment)
            .map(|window| window[order].at - window[0].at)
            .collect();
        if intervals.len() < FEWEST {
            return None;
        }
        intervals.sort_by(f64::total_cmp);
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

/// Two to a few edges, of which a stay is a whole number of an operating system's ticks.
fn handful(edges: &Edges, times: &[Time]) -> Option<Recurrence> {
    let inside = edges.kept().iter().any(|edge| edge.place == Place::Inside);
    if !(2..=FEWEST).contains(&times.len()) || !inside {
        return None;
    }
    let intervals: Vec<f64> = times
        .windows(2)
        .filter(|pair| pair[0].segment == pair[1].segment)
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    let (seconds, kept, chance) = TICKS
        .iter()
        .map(|rate| {
            let tick = 1.0 / rate;
            let fits = |interval: &&f64| {
                let ticks = *interval / tick;
                (0.5..=FEW_TICKS + 0.5).contains(&ticks) && fraction(ticks).abs() * tick <= HANDFUL
            };
            let kept = intervals.iter().filter(fits).count();
            (
                tick,
                kept,
                binomial_tail(intervals.len(), kept, 2.0 * HANDFUL / tick),
            )
        })
        .min_by(|a, b| a.2.total_cmp(&b.2))?;
    let chance = chance * TICKS.len() as f64;
    (kept > 0 && chance <= CHANCE).then(|| Recurrence {
        grid: Some(Period {
            seconds,
            uncertainty: HANDFUL / 3f64.sqrt() / kept as f64,
            edges: times.len() as u64,
            kept: kept as u64 + 1,
            z_squared: 0.0,
            log_p: chance.ln(),
        }),
        ..Recurrence::default()
    })
}

/// Chance of `least` or more successes of `n`, of chance `p` each.
fn binomial_tail(n: usize, least: usize, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(n as i32);
    let mut below = 0.0;
    for k in 0..least {
        below += term;
        term *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    }
    1.0 - below
}

/// Z^2 of one harmonic of phases in turns.
fn z_squared(phases: &[f64]) -> f64 {
    let (sin, cos) = phases
        .iter()
        .map(|phase| (phase * std::f64::consts::TAU).sin_cos())
        .fold((0.0, 0.0), |sum, (sin, cos)| (sum.0 + sin, sum.1 + cos));
    2.0 * (sin * sin + cos * cos) / phases.len().max(1) as f64
}

/// A stretch of one phase: means of turns and times.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    number: f64,
    turns: f64,
    at: f64,
}

/// Phase on time, followed from edge to edge: one slope, and an offset for each piece.
#[derive(Clone, Debug)]
struct Follower {
    guess: f64,
    /// Weight of the guess, as sum of squared turns.
    weight: f64,
    tolerance: f64,
    square: f64,
    product: f64,
    rest: f64,
    kept: u64,
    pieces: Vec<Piece>,
}

impl Follower {
    /// Follows `times`, which recur after `guess`, known as well as by so many squared turns: for a mean of intervals, their number.
    fn follow(times: &[Time], guess: f64, weight: f64, tolerance: f64) -> Follower {
        let mut line = Follower {
            guess,
            weight,
            tolerance,
            square: 0.0,
            product: 0.0,
            rest: 0.0,
            kept: 0,
            pieces: Vec::new(),
        };
        let mut strays: Vec<f64> = Vec::new();
        for time in times {
            if line.pieces.is_empty() {
                line.open(time.at);
                continue;
            }
            let (turns, late) = line.predict(time.at);
            if late.abs() <= tolerance {
                line.add(turns, time.at);
                strays.clear();
                continue;
            }
            strays.push(time.at);
            if strays.len() == STEP {
                if line.agree(&strays) {
                    line.open(strays[0]);
                    for &at in &strays[1..] {
                        let (turns, _) = line.predict(at);
                        line.add(turns, at);
                    }
                    strays.clear();
                } else {
                    strays.remove(0);
                }
            }
        }
        line
    }

    fn period(&self) -> f64 {
        (self.product + self.guess * self.weight) / (self.square + self.weight)
    }

    /// Standard deviation of the period.
    fn uncertainty(&self) -> f64 {
        let freedom = self.kept as f64 - self.pieces.len() as f64 - 1.0;
        if freedom < 1.0 || self.square <= 0.0 {
            return f64::INFINITY;
        }
        (self.rest.max(0.0) / freedom / self.square).sqrt()
    }

    fn open(&mut self, at: f64) {
        self.kept += 1;
        self.pieces.push(Piece {
            from: at,
            number: 1.0,
            turns: 0.0,
            at,
        });
    }

    /// Turns since the piece began, and seconds by which `at` is late.
    fn predict(&self, at: f64) -> (f64, f64) {
        let period = self.period();
        let Some(piece) = self.pieces.last() else {
            return (0.0, 0.0);
        };
        let turns = piece.turns + (at - piece.at) / period;
        let whole = turns.round();
        (whole, (turns - whole) * period)
    }

    fn add(&mut self, turns: f64, at: f64) {
        let late = self.predict(at).1;
        let Some(piece) = self.pieces.last_mut() else {
            return;
        };
        // Sums about the mean of the piece (Welford).
        piece.number += 1.0;
        let (x, y) = (turns - piece.turns, at - piece.at);
        piece.turns += x / piece.number;
        piece.at += y / piece.number;
        self.square += x * (turns - piece.turns);
        self.product += x * (at - piece.at);
        self.rest += late * late;
        self.kept += 1;
    }

    /// Whether strays agree among themselves on another phase.
    fn agree(&self, strays: &[f64]) -> bool {
        let period = self.period();
        strays
            .iter()
            .all(|at| (fraction((at - strays[0]) / period) * period).abs() <= self.tolerance)
    }

    fn piece_of(&self, at: f64) -> Option<&Piece> {
        let number = self.pieces.partition_point(|piece| piece.from <= at);
        self.pieces.get(number.saturating_sub(1))
    }

    /// Phase of a time in turns, from -1/2 to 1/2.
    fn phase(&self, at: f64) -> Option<f64> {
        let piece = self.piece_of(at)?;
        Some(fraction((at - piece.at) / self.period() + piece.turns))
    }

    /// Steps of the phase between pieces, in (-1/2, 1/2] of a period, in seconds.
    fn steps(&self) -> Vec<(f64, f64)> {
        let period = self.period();
        self.pieces
            .windows(2)
            .map(|pair| {
                let offset = |piece: &Piece| piece.at / period - piece.turns;
                let step = fraction(offset(&pair[1]) - offset(&pair[0])) * period;
                (pair[1].from, step)
            })
            .collect()
    }

    /// What is known of the period, given the phases of all edges that were looked at. The chance of their Z^2 is corrected for
    /// the frequencies that so long a train tells apart, up to twice its own.
    fn describe(&self, phases: &[f64]) -> Period {
        let z_squared = z_squared(phases);
        let turns: f64 = self.pieces.iter().map(|piece| 2.0 * piece.turns).sum();
        Period {
            seconds: self.period(),
            uncertainty: self.uncertainty(),
            edges: phases.len() as u64,
            kept: self.kept,
            z_squared,
            log_p: ((2.0 * turns).max(1.0).ln() - 0.5 * z_squared).min(0.0),
        }
    }
}
