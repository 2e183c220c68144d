//! Second pass: edges, the instants at which the pace changes.
//!
//! In a quantum between pace A before and pace B after, of rates rA and rB, the units c and the present time dt give
//! `f = (c/dt - rB) / (rA - rB)` and the edge lies `f * dt` after its start (docs/method.md, section 5.1): to a
//! fraction of a microsecond, where counts show a hundred. Time in gaps is left out of c and dt, and put back once the
//! times of the gaps are known ([`Edges::finish`]). With no quantum between the two stays the last of one and the first
//! of the other are pooled: then the edge lies at their boundary, as closely as their paces are known.
//!
//! Bands come from [`crate::series::levels`]; what edges say of periods is [`crate::pace::recurrence`]'s. Work is done where the band changes only; present time is summed over all quanta. The first 2^16
//! edges of a series are kept (65 s of a 1 kHz flip, 3 MB), of the others the number; time in each band is of all edges.

mod edge;
mod shown;

use crate::pace::bands::Mode;
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use crate::series::levels::NO_BAND;
use edge::{Between, Quantum, Run, Stay};

pub use edge::{Edge, Place};
pub use shown::{Pairs, Shown};

/// Edges that are kept.
const MAX_EDGES: usize = 1 << 16;
/// Half of a band's width that holds 90 %, in standard deviations of a Gaussian.
const HALF_WIDTH: f64 = 1.645;
/// Standard deviation of a difference of two readings, each rounded to a whole: 1/sqrt(6) of one, twice a uniform error's 1/sqrt(12)
/// in squares (docs/method.md, section 5.1).
const TWO_ROUNDINGS: f64 = 0.41;
/// Units by which a count is off where starts are printed and ends are not known.
const COUNT_ERROR_UNITS: f64 = TWO_ROUNDINGS;
/// Ticks by which a time is off.
const CLOCK_ERROR_TICKS: f64 = TWO_ROUNDINGS;
/// A quantum is an edge quantum if this share of it lies on either side.
const EITHER_SIDE: f64 = 0.01;
/// Half-widths of both bands that lie between their centres: a pace that wanders has bands as well, and is between them all the time. On a real
/// machine such bands lie 1.4 to 9 of them apart, those of a core that flips hundreds (docs/scoreboard.md).
const MIN_HALF_WIDTHS_APART: f64 = 10.0;
/// A stay of less than a quantum must take this share of it, and so many standard deviations, to be told from noise.
const MIN_SHARE_OF_SHORT_STAY: f64 = 0.05;
const MIN_DEVIATIONS_OF_SHORT_STAY: f64 = 6.0;
/// Quanta of a level that is held.
const MIN_QUANTA_HELD: u64 = 2;

/// Places the edges of a series.
#[derive(Clone, Debug)]
pub struct Edges {
    /// Units per tick, and relative standard deviation, of each band.
    rates: Vec<(f64, f64)>,
    context: Context,
    run: Option<Run>,
    stay: Option<Stay>,
    between: Between,
    kept: Vec<Edge>,
    number: u64,
    /// Present ticks so far, and those of them in each band.
    passed: f64,
    time: Vec<f64>,
    pairs: Pairs,
}

impl Edges {
    /// Between these bands.
    pub fn new(modes: &[Mode], context: &Context) -> Edges {
        Edges {
            rates: modes
                .iter()
                .map(|mode| (1.0 / mode.centre, mode.half_width / HALF_WIDTH))
                .collect(),
            context: context.clone(),
            run: None,
            stay: None,
            between: Between::default(),
            kept: Vec::new(),
            number: 0,
            passed: 0.0,
            time: vec![0.0; modes.len()],
            pairs: Pairs::default(),
        }
    }

    fn end_segment(&mut self) {
        if let Some(run) = self.run.take() {
            self.end_run(run, NO_BAND);
        }
        if let Some(stay) = self.stay.take() {
            self.time[usize::from(stay.band)] += self.passed - stay.from;
        }
        self.between = Between::default();
    }

    /// A run is over and the next is in the band `next`.
    fn end_run(&mut self, run: Run, next: u8) {
        if run.band == NO_BAND || self.passes(&run, next) {
            self.between.add(&run);
            return;
        }
        let between = std::mem::take(&mut self.between);
        match self.stay {
            Some(stay) if stay.band != run.band => self.change(stay, &between, &run),
            Some(mut stay) => {
                let is_held = stay.quanta >= MIN_QUANTA_HELD && run.quanta >= MIN_QUANTA_HELD;
                let is_dip = is_held && between.quanta == 1 && between.first[0].away == 0.0;
                self.pairs.dips += u64::from(is_dip);
                self.short_stay(&mut stay, &between);
                stay.quanta += run.quanta;
                stay.last = run.last;
                self.stay = Some(stay);
            }
            None => {
                let first = between.quanta().first().unwrap_or(&run.first);
                self.stay = Some(Stay {
                    band: run.band,
                    quanta: run.quanta,
                    last: run.last,
                    from: first.passed,
                    chained: false,
                });
            }
        }
    }

    /// Whether a single quantum in a band is on its way from one band to another: its pace is a mixture of theirs by chance.
    fn passes(&self, run: &Run, next: u8) -> bool {
        let Some(stay) = self.stay.filter(|_| run.quanta == 1 && next != NO_BAND) else {
            return false;
        };
        // Bands are in order of pace.
        (stay.band < run.band && run.band < next) || (next < run.band && run.band < stay.band)
    }

    fn change(&mut self, stay: Stay, between: &Between, run: &Run) {
        let pooled = [stay.last, run.first];
        let (window, place) = match between.quanta {
            0 => (&pooled[..], Place::Boundary),
            1 => (between.quanta(), Place::Inside),
            _ => (between.quanta(), Place::Blurred),
        };
        let (mut edge, passed) = self.place(window, stay.band, run.band);
        edge.place = place;
        edge.chained = stay.chained;
        let length: f64 = window.iter().map(|quantum| quantum.present).sum();
        if place == Place::Blurred {
            edge.resolution = edge.resolution.max((length / 12f64.sqrt()) as f32);
        } else if place == Place::Inside
            && stay.quanta >= MIN_QUANTA_HELD
            && run.quanta >= MIN_QUANTA_HELD
        {
            self.note_pair(&edge, &between.first[0]);
        }
        let at = (passed + edge.offset).max(stay.from);
        self.time[usize::from(stay.band)] += at - stay.from;
        let kept = self.keep(edge);
        self.stay = Some(Stay {
            band: run.band,
            quanta: run.quanta,
            last: run.last,
            from: at,
            chained: kept,
        });
    }

    fn note_pair(&mut self, edge: &Edge, quantum: &Quantum) {
        let share = edge.offset / quantum.present;
        let [from, to] = [edge.from, edge.to].map(|band| self.rates[usize::from(band)]);
        let apart = (from.0 - to.0).abs()
            > MIN_HALF_WIDTHS_APART * HALF_WIDTH * (from.1 * from.0 + to.1 * to.0);
        // What gaps left of a quantum has few units, and a pace of its own.
        let is_whole = quantum.away == 0.0;
        if !apart || !is_whole || !(EITHER_SIDE..=1.0 - EITHER_SIDE).contains(&share) {
            return;
        }
        self.pairs.number += 1;
        let example = if edge.from < edge.to {
            &mut self.pairs.falling
        } else {
            &mut self.pairs.rising
        };
        example.get_or_insert(quantum.count);
    }

    /// The edge from one band to another inside of these quanta, and the present ticks before its quantum.
    fn place(&self, window: &[Quantum], from: u8, to: u8) -> (Edge, f64) {
        let ((a, noise_a), (b, noise_b)) =
            (self.rates[usize::from(from)], self.rates[usize::from(to)]);
        let present: f64 = window.iter().map(|quantum| quantum.present).sum();
        let units: f64 = window.iter().map(|quantum| quantum.units).sum();
        let mut before = ((units - b * present) / (a - b)).clamp(0.0, present);
        let rounding = if self.context.ends_known {
            0.0
        } else {
            COUNT_ERROR_UNITS
        };
        let error = (noise_a * a * before).hypot(noise_b * b * (present - before));
        let resolution = error.hypot(rounding) / (a - b).abs();
        let mut quantum = window[0];
        for next in &window[1..] {
            if before <= quantum.present {
                break;
            }
            before -= quantum.present;
            quantum = *next;
        }
        let edge = Edge {
            quantum: quantum.start,
            offset: before,
            resolution: resolution.hypot(CLOCK_ERROR_TICKS) as f32,
            away: quantum.away as f32,
            from,
            to,
            place: Place::Inside,
            chained: false,
        };
        (edge, quantum.passed)
    }

    fn keep(&mut self, edge: Edge) -> bool {
        self.number += 1;
        let room = self.kept.len() < MAX_EDGES;
        if room {
            self.kept.push(edge);
        }
        room
    }

    /// A stay in the other of two bands that filled no quantum: two edges in one quantum, or in two neighbours. Where gaps
    /// are not known it is an interruption.
    fn short_stay(&mut self, stay: &mut Stay, between: &Between) {
        let known = self.context.gaps_known && self.rates.len() == 2;
        if !known || !(1..=2).contains(&between.quanta) {
            return;
        }
        let other = 1 - stay.band;
        let ((a, noise), (b, _)) = (
            self.rates[usize::from(stay.band)],
            self.rates[usize::from(other)],
        );
        // Time in the other band.
        let inside = |quantum: &Quantum| {
            let inside = (quantum.units - a * quantum.present) / (b - a);
            let least = (MIN_SHARE_OF_SHORT_STAY * quantum.present)
                .max(MIN_DEVIATIONS_OF_SHORT_STAY * noise * a * quantum.present / (a - b).abs());
            let plain = quantum.away == 0.0 && inside > least && inside < quantum.present;
            plain.then_some(inside)
        };
        let quanta = between.quanta();
        let parts: Vec<(f64, &Quantum)> = quanta
            .iter()
            .filter_map(|quantum| Some((inside(quantum)?, quantum)))
            .collect();
        let (entry, exit, place) = match parts[..] {
            [(one, quantum)] => {
                let middle = 0.5 * quantum.present;
                let at = |offset| (quantum, offset);
                (
                    at(middle - 0.5 * one),
                    at(middle + 0.5 * one),
                    Place::Blurred,
                )
            }
            [(one, first), (two, second)] => {
                ((first, first.present - one), (second, two), Place::Inside)
            }
            _ => return,
        };
        for ((quantum, offset), from, to) in [(entry, stay.band, other), (exit, other, stay.band)] {
            let (mut edge, passed) = self.place(&[*quantum], from, to);
            if place == Place::Blurred {
                let free = 2.0 * offset.min(quantum.present - offset);
                edge.resolution = edge.resolution.max((free / 12f64.sqrt()) as f32);
            }
            edge = Edge {
                offset,
                place,
                chained: stay.chained,
                ..edge
            };
            let at = (passed + offset).max(stay.from);
            self.time[usize::from(from)] += at - stay.from;
            stay.from = at;
            stay.chained = self.keep(edge);
        }
        stay.quanta = 0;
    }
}

impl Detector for Edges {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.end_segment();
        }
        // With one band there is nothing to change to.
        if self.rates.len() < 2 {
            return;
        }
        let mut from = 0;
        while from < chunk.len() {
            let band = chunk.band[from];
            let run = chunk.band[from..]
                .iter()
                .take_while(|&&other| other == band);
            let to = from + run.count();
            let first = Quantum::of(chunk, from, self.passed);
            self.passed += chunk.present[from..to].iter().sum::<f64>();
            let last = Quantum::of(chunk, to - 1, self.passed - chunk.present[to - 1]);
            let quanta = (to - from) as u64;
            match &mut self.run {
                Some(run) if run.band == band => {
                    run.quanta += quanta;
                    run.last = last;
                }
                _ => {
                    let before = self.run.replace(Run {
                        band,
                        quanta,
                        first,
                        last,
                    });
                    if let Some(before) = before {
                        self.end_run(before, band);
                    }
                }
            }
            from = to;
        }
    }
}
