//! How much longer a phase of fixed work takes, wherever it begins: pieces of work and of lost time in, losses of phases out.
//!
//! A phase that begins where other work ended never begins within a gap. One that begins at any time may, and has the rest of that gap before
//! it. A job's ranks begin phases in both ways (`sample`).

use bandscope_analysis::work::Piece;
use std::collections::VecDeque;

/// Phases begin so many times in the time or the work of one.
pub(super) const STARTS: usize = 4;
/// Starts within one absence that are looked at one by one: four times the largest losses that are kept of a CPU (`sample`). A suspended machine
/// is away for hours.
const APART: u64 = 1 << 14;
/// One part in so many of those before them are looked at as one after that.
const RESOLUTION: u64 = 256;
/// What works at less than this part of the reference pace is an absence: a rank in it is late as one in a gap is.
pub(super) const SLOW: f64 = 0.9;

/// How a phase begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Where work ended.
    Work,
    /// At any time.
    Time,
}

/// A phase that ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Phase {
    pub start: Start,
    /// Number of its start: every [`STARTS`]th follows on the one before without overlap.
    pub number: u64,
    /// When it ended, in nanoseconds of measured time.
    pub end_ns: f64,
    /// Time that it took beyond its work.
    pub loss_ns: f64,
    /// How many it stands for.
    pub weight: u32,
}

/// A phase that began at any time, or several in a row.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    weight: u32,
    start: f64,
    /// The work that ends it.
    target: f64,
}

/// Follows the work of one CPU.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    phase_ns: f64,
    /// Where the pieces so far end.
    time: f64,
    work: f64,
    /// Number of the next start of each kind, counted over breaks.
    next: [u64; 2],
    /// Time or work of the start with number 0, moved by breaks.
    origin: [f64; 2],
    /// Times at which the work of the last starts was reached.
    marks: VecDeque<f64>,
    waiting: VecDeque<Waiting>,
}

impl Windows {
    pub(super) fn new(phase_ns: f64) -> Windows {
        Windows {
            phase_ns,
            time: 0.0,
            work: 0.0,
            next: [0; 2],
            origin: [0.0; 2],
            marks: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Takes a piece, and hands out the phases that end in it.
    pub(super) fn push(&mut self, piece: &Piece, found: &mut impl FnMut(Phase)) {
        match *piece {
            Piece::Break => self.begin_again(),
            Piece::Run { ns, work_ns } => self.advance(ns, work_ns, found),
            Piece::Lost { ns, .. } => self.advance(ns, 0.0, found),
        }
    }

    /// No phase goes over a break.
    fn begin_again(&mut self) {
        self.marks.clear();
        self.waiting.clear();
        let step = self.step();
        for (origin, (next, now)) in self
            .origin
            .iter_mut()
            .zip(self.next.iter_mut().zip([self.work, self.time]))
        {
            // So that the first after it does not seem to follow on the last before.
            *next += STARTS as u64 + 1;
            *origin = now - *next as f64 * step;
        }
    }

    fn step(&self) -> f64 {
        self.phase_ns / STARTS as f64
    }

    fn advance(&mut self, ns: f64, work_ns: f64, found: &mut impl FnMut(Phase)) {
        let step = self.step();
        let (time, work) = (self.time + ns, self.work + work_ns);
        let time_at = |at: f64| self.time + ns * ((at - self.work) / work_ns).clamp(0.0, 1.0);
        while work_ns > 0.0 && self.origin[0] + self.next[0] as f64 * step <= work {
            let now = time_at(self.origin[0] + self.next[0] as f64 * step);
            self.marks.push_back(now);
            if self.marks.len() > STARTS {
                let from = self.marks.pop_front().unwrap_or(now);
                found(Phase {
                    start: Start::Work,
                    number: self.next[0] - STARTS as u64,
                    end_ns: now,
                    loss_ns: now - from - self.phase_ns,
                    weight: 1,
                });
            }
            self.next[0] += 1;
        }
        let first = self.next[1];
        while self.origin[1] + self.next[1] as f64 * step < time {
            let number = self.next[1];
            let weight = match work_ns < SLOW * ns {
                true => together(
                    number - first,
                    (time - self.origin[1]) / step - number as f64,
                ),
                false => 1,
            };
            let middle = number as f64 + f64::from(weight - 1) / 2.0;
            let start = (self.origin[1] + middle * step).min(time);
            let done = work_ns * ((start - self.time) / ns).clamp(0.0, 1.0);
            self.waiting.push_back(Waiting {
                number,
                weight,
                start,
                target: self.work + done + self.phase_ns,
            });
            self.next[1] += u64::from(weight);
        }
        let is_done = |one: &Waiting| work_ns > 0.0 && one.target <= work;
        while let Some(one) = self.waiting.front().copied().filter(is_done) {
            let now = time_at(one.target);
            found(Phase {
                start: Start::Time,
                number: one.number,
                end_ns: now,
                loss_ns: now - one.start - self.phase_ns,
                weight: one.weight,
            });
            self.waiting.pop_front();
        }
        (self.time, self.work) = (time, work);
    }
}

/// How many of the starts that are left in an absence are looked at as one after so many: the more, the less it matters which of them.
fn together(after: u64, left: f64) -> u32 {
    (after.saturating_sub(APART) / RESOLUTION)
        .min(left as u64)
        .clamp(1, u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gap of 300 in the middle of 1000 of work, phases of 100.
    #[test]
    fn phases_meet_a_gap_by_where_they_begin() {
        let run = |ns: f64| Piece::Run { ns, work_ns: ns };
        let pieces = [
            Piece::Break,
            run(480.0),
            Piece::Lost {
                ns: 300.0,
                cause: 0,
            },
            run(520.0),
        ];
        let mut windows = Windows::new(100.0);
        let mut phases = Vec::new();
        for piece in &pieces {
            windows.push(piece, &mut |phase| phases.push(phase));
        }
        let of = |start: Start| phases.iter().filter(move |phase| phase.start == start);
        // By work: each of the four starts in the 100 before the gap has all of it.
        let losses: Vec<f64> = of(Start::Work)
            .map(|phase| phase.loss_ns)
            .filter(|loss| *loss > 1e-9)
            .collect();
        assert_eq!(losses, [300.0; 4]);
        assert_eq!(of(Start::Work).count(), 37);
        // By time: those before it all of it, those within it what is left.
        let losses: Vec<f64> = of(Start::Time)
            .map(|phase| phase.loss_ns)
            .filter(|loss| *loss > 1e-9)
            .collect();
        assert_eq!(losses.len(), 16);
        assert_eq!(losses[..4], [300.0; 4]);
        assert_eq!(losses[4..6], [280.0, 255.0]);
        // The sum of what phases took that follow on each other is all the time that there was.
        let apart = of(Start::Work).filter(|phase| phase.number % STARTS as u64 == 1);
        let sum: f64 = apart.map(|phase| phase.loss_ns).sum();
        assert_eq!(sum, 300.0);
    }

    /// A machine that was suspended for 11 days is held by some 20,000 starts, which lose as all would.
    #[test]
    fn a_long_absence_takes_little_memory() {
        let (phase_ns, away_ns) = (100e3, 1e15);
        let run = |ns: f64| Piece::Run { ns, work_ns: ns };
        let mut windows = Windows::new(phase_ns);
        let lost = Piece::Lost {
            ns: away_ns,
            cause: 0,
        };
        let (mut starts, mut weight, mut loss) = (0, 0.0, 0.0);
        for piece in [Piece::Break, run(1e6), lost, run(1e6)] {
            windows.push(&piece, &mut |phase| {
                if phase.start == Start::Time {
                    starts += 1;
                    weight += f64::from(phase.weight);
                    loss += phase.loss_ns * f64::from(phase.weight);
                }
            });
        }
        assert!(starts < 30_000, "{starts}");
        let all = away_ns / phase_ns * STARTS as f64;
        assert!((weight / all - 1.0).abs() < 1e-6, "{weight}");
        assert!((loss / weight / away_ns - 0.5).abs() < 1e-3, "{loss}");
    }

    #[test]
    fn no_phase_goes_over_a_break() {
        let mut windows = Windows::new(100.0);
        let mut phases = 0;
        for piece in [
            Piece::Break,
            Piece::Run {
                ns: 90.0,
                work_ns: 90.0,
            },
        ]
        .iter()
        .cycle()
        .take(40)
        {
            windows.push(piece, &mut |_| phases += 1);
        }
        assert_eq!(phases, 0);
    }
}
