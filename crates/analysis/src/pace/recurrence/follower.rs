//! A line of phase on time, followed from edge to edge.
//!
//! The error of its slope falls with the third power of the time followed. Edges that agree on another phase open a new piece: one
//! period, and an offset for each piece. Sums about means, after Welford (1962).

use super::{Period, Time, fraction};

/// Edges in a row that agree on another phase: a step of the phase.
const STEP: usize = 5;

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
pub(super) struct Piece {
    from: f64,
    number: f64,
    turns: f64,
    at: f64,
}

/// Phase on time, followed from edge to edge: one slope, and an offset for each piece.
#[derive(Clone, Debug)]
pub(super) struct Follower {
    guess: f64,
    /// Weight of the guess, as sum of squared turns.
    weight: f64,
    tolerance: f64,
    square: f64,
    product: f64,
    rest: f64,
    pub(super) kept: u64,
    pub(super) pieces: Vec<Piece>,
}

impl Follower {
    /// Follows `times`, which recur after `guess`, known as well as by so many squared turns: for a mean of intervals, their number.
    pub(super) fn follow(times: &[Time], guess: f64, weight: f64, tolerance: f64) -> Follower {
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

    pub(super) fn period(&self) -> f64 {
        (self.product + self.guess * self.weight) / (self.square + self.weight)
    }

    /// Standard deviation of the period.
    pub(super) fn uncertainty(&self) -> f64 {
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
    pub(super) fn phase(&self, at: f64) -> Option<f64> {
        let piece = self.piece_of(at)?;
        Some(fraction((at - piece.at) / self.period() + piece.turns))
    }

    /// Steps of the phase between pieces, in (-1/2, 1/2] of a period, in seconds.
    pub(super) fn steps(&self) -> Vec<(f64, f64)> {
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
    pub(super) fn describe(&self, phases: &[f64]) -> Period {
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
