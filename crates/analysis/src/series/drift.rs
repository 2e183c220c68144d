//! First pass: drift of the quanta against the nominal grid.
//!
//! A quantum can start late (the unit under way must end, an absence must end) and never early, so the
//! lower envelope of `start_k - k * T` is the grid itself, and its slope is the error of the clock or of
//! the grid: 750 ppm if ticks per ns are wrong by that much, -4.775 ppm where FTQ truncates its step.
//!
//! The envelope of a segment is kept as at most 128 minima over equal numbers of quanta; when they are full,
//! neighbours are joined. The slope is the median over pairs half a segment apart (Theil's incomplete
//! method), each within a stretch between shifts of the grid: places where a step between minima is half a quantum off the usual one. A program that
//! counts to the end of its quantum, and begins the next from there, never makes up for an absence; one that keeps its grid does, and its envelope has
//! no shift. Too short stretches say nothing, nor do those whose pauses, one by one, make most of the slope.
//!
//! Its error has two parts. Minima scatter about the line; and where a quantum is nearly a whole number of units, starts creep
//! through a unit, which looks like a slope of up to a unit over the segment: five standard deviations of a place
//! anywhere in a unit (1/sqrt 12 each) are more than that, so such a creep is never taken for a drift. At one pace the starts of all
//! segments creep alike, so more segments do not make that error smaller.

use crate::series::context::Context;
use crate::series::derive::{Derived, as_float};
use crate::series::detector::Detector;
use bandscope_statistics::lines::pairs_half_apart;
use bandscope_statistics::order::{self, SIGMA_PER_MAD};

const MINIMA: usize = 128;
/// Shortest segment that says anything: its end points are a unit uncertain, 1e-3 to 1e-2 of a quantum.
const SHORTEST: u64 = 256;
/// The shortest pause of a file of counts, as a part of a quantum: more than a unit takes where there are some dozens in a quantum.
const SHORTEST_PAUSE: f64 = 0.05;
/// Fewest minima of a stretch whose scatter is known.
const SHORTEST_PIECE: usize = 8;

/// Drift of a series.
#[derive(Clone, Debug)]
pub struct Drift {
    quantum_ticks: f64,
    first: u64,
    index: u64,
    per_minimum: u64,
    /// Quanta that the last minimum still has to cover.
    open: u64,
    minima: Vec<f64>,
    /// What pauses added that nothing made up for, of a file of counts.
    shifted: Option<f64>,
    /// Sum of weights, and of slope times weight, over the segments before; slopes in ticks per quantum.
    weight: f64,
    weighted: f64,
    /// Sum of squares of weight times error by the scatter of the minima.
    scatter: f64,
    /// Sum of weight times error for a unit of one tick: at one pace all segments creep alike.
    unit: f64,
}

/// The quantum as it was over the nominal one, less 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Parts per million.
    pub ppm: f64,
    /// Standard deviation, parts per million.
    pub error_ppm: f64,
}

impl Drift {
    /// Against the nominal quantum.
    pub fn new(context: &Context) -> Drift {
        Drift {
            quantum_ticks: context.quantum_ticks,
            first: 0,
            index: 0,
            per_minimum: 1,
            open: 0,
            minima: Vec::with_capacity(MINIMA),
            shifted: (!context.gaps_known).then_some(0.0),
            weight: 0.0,
            weighted: 0.0,
            scatter: 0.0,
            unit: 0.0,
        }
    }

    fn end_segment(&mut self) {
        if self.index >= SHORTEST {
            self.fit();
        }
        self.index = 0;
        self.per_minimum = 1;
        self.open = 0;
        self.shifted = self.shifted.map(|_| 0.0);
        self.minima.clear();
    }

    /// Adds the segment's slope: of each stretch between shifts of the grid, weighted together.
    fn fit(&mut self) {
        let per = self.per_minimum as f64;
        let steps = || self.minima.windows(2).map(|pair| pair[1] - pair[0]);
        let usual = median(steps().filter(|step| step.is_finite()));
        let is_usual = |step: f64| (step - usual).abs() <= self.quantum_ticks / 2.0;
        let pieces = (self.minima).chunk_by(|earlier, later| is_usual(later - earlier));
        let shifts = steps().filter(|&step| step.is_finite() && !is_usual(step));
        // Where pauses are in most minima, what is usual holds them.
        let hidden = self.shifted.unwrap_or(0.0) - shifts.map(|step| step - usual).sum::<f64>();
        for piece in pieces.filter(|piece| piece.len() >= SHORTEST_PIECE) {
            let half = piece.len() / 2;
            let step = median(pairs_half_apart(piece).map(|(a, b)| b - a)) / half as f64;
            if self.shifted.is_some() && hidden > step / per * self.index as f64 / 2.0 && step > 0.0
            {
                continue;
            }
            let flat = || (piece.iter().zip(0..)).map(|(late, k)| late - step * f64::from(k));
            let middle = median(flat());
            let deviation = SIGMA_PER_MAD * median(flat().map(|late| (late - middle).abs()));
            // The median of `half` slopes between two minima each: sqrt(pi/2) times the error of their mean.
            let error =
                deviation / (half as f64 * per) * (std::f64::consts::PI / half as f64).sqrt();
            let length = (piece.len() as f64 * per).min(self.index as f64);
            // The variance of a slope falls with the third power of the length.
            let weight = length.powi(3);
            self.weight += weight;
            self.weighted += weight * step / per;
            self.scatter += (weight * error).powi(2);
            self.unit += weight / (12f64.sqrt() * length);
        }
    }

    /// Adds up the pauses of a file of counts after which the quanta go on from there: one that keeps its grid makes up for a pause at once, by short quanta.
    fn note_pauses(&mut self, starts: &[u64]) {
        let Some(shifted) = &mut self.shifted else {
            return;
        };
        for three in starts.windows(3) {
            let long = as_float(three[1].saturating_sub(three[0]));
            let next = as_float(three[2].saturating_sub(three[1]));
            let pause = long - self.quantum_ticks;
            if pause > SHORTEST_PAUSE * self.quantum_ticks
                && next > self.quantum_ticks - pause / 2.0
            {
                *shifted += pause;
            }
        }
    }

    /// Takes quanta that belong to the same minimum together. One without time, while the grid catches up after an absence, begins whenever that ended.
    fn note(&mut self, starts: &[u64], ends: &[u64]) {
        let mut rest = (starts, ends);
        while !rest.0.is_empty() {
            if self.open == 0 {
                self.open_minimum();
            }
            let number = rest.0.len().min(self.open as usize);
            let (starts, later_starts) = rest.0.split_at(number);
            let (ends, later_ends) = rest.1.split_at(number);
            let (first, quantum, index) = (self.first, self.quantum_ticks, self.index);
            let mut lowest = f64::INFINITY;
            for (k, (start, end)) in starts.iter().zip(ends).enumerate() {
                let nominal = as_float(index + k as u64) * quantum;
                let late = as_float(start.saturating_sub(first)) - nominal;
                lowest = if late < lowest && end > start {
                    late
                } else {
                    lowest
                };
            }
            if let Some(minimum) = self.minima.last_mut() {
                *minimum = minimum.min(lowest);
            }
            self.open -= number as u64;
            self.index += number as u64;
            rest = (later_starts, later_ends);
        }
    }

    fn open_minimum(&mut self) {
        if self.minima.len() == MINIMA {
            for k in 0..MINIMA / 2 {
                self.minima[k] = self.minima[2 * k].min(self.minima[2 * k + 1]);
            }
            self.minima.truncate(MINIMA / 2);
            self.per_minimum *= 2;
        }
        self.open = self.per_minimum;
        self.minima.push(f64::INFINITY);
    }

    /// The slope where units take up to `unit` ticks; `None` if too short to say.
    pub fn finish(mut self, unit: f64) -> Option<Slope> {
        self.end_segment();
        let ppm = |ticks: f64| ticks / self.weight / self.quantum_ticks * 1e6;
        Some(Slope {
            ppm: ppm(self.weighted),
            error_ppm: ppm(self.scatter.sqrt().hypot(unit * self.unit)),
        })
        .filter(|slope| slope.ppm.is_finite() && slope.error_ppm.is_finite())
    }
}

/// 0 of nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    order::median(values).unwrap_or(0.0)
}

impl Detector for Drift {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.end_segment();
            self.first = chunk.chunk.start[0];
        }
        self.note_pauses(chunk.chunk.start);
        self.note(chunk.chunk.start, chunk.chunk.end);
    }
}
