//! How much longer a phase of fixed work takes, wherever it begins: pieces of work and of lost time in, losses of phases out.
//!
//! A phase that begins where other work ended never begins within a gap. One that begins at any time may, and has the rest of that gap before
//! it. A job's ranks begin phases in both ways (`sample`).

use bandscope_analysis::work::Piece;
use std::collections::VecDeque;

/// A start and the one so many later do not overlap.
pub(super) const STARTS: usize = 4;
/// From one start to the next, as a share of a phase: a little more than a quarter, and a fraction of the golden section, so that starts never keep
/// step with periodic noise. Phases of 1 or 10 ms are whole numbers of ticks, as people choose them.
const STEP: f64 = 0.618_033_988_749_895 * 5.0 / 12.0;
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

/// A phase that began, or several in a row.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    weight: u32,
    start: f64,
    /// The work that ends it.
    target: f64,
}

/// Phases of one kind of start.
#[derive(Clone, Debug)]
struct Begun {
    start: Start,
    /// Number of the next, counted over breaks.
    next: u64,
    /// Time or work of that with number 0, moved by breaks.
    origin: f64,
    waiting: VecDeque<Waiting>,
}

impl Begun {
    fn new(start: Start) -> Begun {
        Begun {
            start,
            next: 0,
            origin: 0.0,
            waiting: VecDeque::new(),
        }
    }

    /// No phase goes over a break, and the first after it does not seem to follow on the last before.
    fn begin_again(&mut self, now: f64, step: f64) {
        self.waiting.clear();
        self.next += STARTS as u64 + 1;
        self.origin = now - self.next as f64 * step;
    }

    /// Time or work of the next.
    fn next_at(&self, step: f64) -> f64 {
        self.origin + self.next as f64 * step
    }
}

/// Follows the work of one CPU.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    phase_ns: f64,
    /// Where the pieces so far end.
    time: f64,
    work: f64,
    by_work: Begun,
    by_time: Begun,
}

impl Windows {
    pub(super) fn new(phase_ns: f64) -> Windows {
        Windows {
            phase_ns,
            time: 0.0,
            work: 0.0,
            by_work: Begun::new(Start::Work),
            by_time: Begun::new(Start::Time),
        }
    }

    /// Takes a piece, and hands out the phases that end in it.
    pub(super) fn push(&mut self, piece: &Piece, found: &mut impl FnMut(Phase)) {
        match *piece {
            Piece::Own { .. } => {}
            Piece::Break { .. } => {
                let step = self.phase_ns * STEP;
                self.by_work.begin_again(self.work, step);
                self.by_time.begin_again(self.time, step);
            }
            Piece::Run { ns, work_ns } => self.advance(ns, work_ns, found),
            Piece::Lost { ns, .. } => self.advance(ns, 0.0, found),
        }
    }

    fn advance(&mut self, ns: f64, work_ns: f64, found: &mut impl FnMut(Phase)) {
        let step = self.phase_ns * STEP;
        let (time, work) = (self.time + ns, self.work + work_ns);
        let time_at = |at: f64| self.time + ns * ((at - self.work) / work_ns).clamp(0.0, 1.0);
        let work_at = |at: f64| self.work + work_ns * ((at - self.time) / ns).clamp(0.0, 1.0);
        let begun = &mut self.by_work;
        while work_ns > 0.0 && begun.next_at(step) <= work {
            let at = begun.next_at(step);
            begun.waiting.push_back(Waiting {
                number: begun.next,
                weight: 1,
                start: time_at(at),
                target: at + self.phase_ns,
            });
            begun.next += 1;
        }
        let begun = &mut self.by_time;
        let first = begun.next;
        while begun.next_at(step) < time {
            let weight = match work_ns < SLOW * ns {
                true => together(begun.next - first, (time - begun.next_at(step)) / step),
                false => 1,
            };
            let start = (begun.next_at(step) + f64::from(weight - 1) / 2.0 * step).min(time);
            begun.waiting.push_back(Waiting {
                number: begun.next,
                weight,
                start,
                target: work_at(start) + self.phase_ns,
            });
            begun.next += u64::from(weight);
        }
        for begun in [&mut self.by_work, &mut self.by_time] {
            let is_done = |one: &Waiting| work_ns > 0.0 && one.target <= work;
            while let Some(one) = begun.waiting.front().copied().filter(is_done) {
                let now = time_at(one.target);
                found(Phase {
                    start: begun.start,
                    number: one.number,
                    end_ns: now,
                    loss_ns: now - one.start - self.phase_ns,
                    weight: one.weight,
                });
                begun.waiting.pop_front();
            }
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
            Piece::Break { at_ns: 0.0 },
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
        for phase in &mut phases {
            phase.loss_ns = (phase.loss_ns * 1e6).round() / 1e6;
        }
        let of = |start: Start| phases.iter().filter(move |phase| phase.start == start);
        // By work: each of the four starts in the 100 before the gap has all of it.
        let losses: Vec<f64> = of(Start::Work)
            .map(|phase| phase.loss_ns)
            .filter(|loss| *loss > 1e-9)
            .collect();
        assert_eq!(losses, [300.0; 4]);
        assert_eq!(of(Start::Work).count(), 35);
        // By time: those before it all of it, those within it what is left.
        let losses: Vec<f64> = of(Start::Time)
            .map(|phase| phase.loss_ns)
            .filter(|loss| *loss > 1e-9)
            .collect();
        assert_eq!(losses.len(), 16);
        assert_eq!(losses[..4], [300.0; 4]);
        let step = 100.0 * STEP;
        let left = [19.0, 20.0].map(|number| 780.0 - number * step);
        assert!(
            losses[4..6]
                .iter()
                .zip(left)
                .all(|(a, b)| (a - b).abs() < 1e-5)
        );
        // Every fourth begins after the one before has ended.
        let begins = |phase: &Phase| phase.end_ns - phase.loss_ns - 100.0;
        let apart: Vec<&Phase> = of(Start::Work).step_by(STARTS).collect();
        assert!(apart.is_sorted_by(|one, next| one.end_ns < begins(next)));
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
        for piece in [Piece::Break { at_ns: 0.0 }, run(1e6), lost, run(1e6)] {
            windows.push(&piece, &mut |phase| {
                if phase.start == Start::Time {
                    starts += 1;
                    weight += f64::from(phase.weight);
                    loss += phase.loss_ns * f64::from(phase.weight);
                }
            });
        }
        assert!(starts < 30_000, "{starts}");
        let all = away_ns / phase_ns / STEP;
        assert!((weight / all - 1.0).abs() < 1e-6, "{weight}");
        assert!((loss / weight / away_ns - 0.5).abs() < 1e-3, "{loss}");
    }

    #[test]
    fn no_phase_goes_over_a_break() {
        let mut windows = Windows::new(100.0);
        let mut phases = 0;
        for piece in [
            Piece::Break { at_ns: 0.0 },
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
