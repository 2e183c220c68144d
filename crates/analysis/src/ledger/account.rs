//! The ledger: wall time = work + pace + gaps + measurement + unexplained, in whole ticks, and no term below 0.
//!
//! With u0 the reference pace and tau the pace of a quantum, a unit costs u0 of work and tau - u0 of pace, the unit inside a gap
//! included; a gap costs its duration less a unit at the pace around it. Where tau is below u0 a unit costs tau of work, and u0 - tau is a
//! bonus, which is no part of the sum. Inside the band of the reference both signs are noise, and only their sum counts. So the lines add up
//! to every quantum that has a pace, and what they do not cover stands in `unexplained`. Sums run over the quanta ([`Measured`], or
//! [`crate::ledger::inferred`] for files of counts) and are rounded to ticks once, here.

use crate::gaps::causes::{Causes, by_cause};
use crate::series::context::Context;
use crate::series::derive::{Derived, as_float};
use crate::series::detector::Detector;
use crate::series::totals::Measures;
use bandscope_report as report;
use bandscope_report::Cause;
use std::collections::BTreeMap;

/// Time lost, in ticks, as a pass over the quanta saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Books {
    /// Lost to gaps.
    pub gaps: f64,
    /// To pace, less what was gained; the cost of storing a quantum is still in it.
    pub pace: f64,
    /// Gained in quanta that were faster than the reference's band.
    pub bonus: f64,
}

/// Second pass where gaps are known.
#[derive(Clone, Debug)]
pub struct Measured {
    best: f64,
    books: Books,
}

impl Measured {
    /// Against `best` ticks per unit.
    pub fn new(best: f64) -> Measured {
        Measured {
            best,
            books: Books::default(),
        }
    }

    /// Takes what another one saw, and leaves that with nothing.
    pub fn take(&mut self, later: &mut Measured) {
        let books = std::mem::take(&mut later.books);
        self.books.gaps += books.gaps;
        self.books.pace += books.pace;
    }

    /// What was lost.
    pub fn finish(self) -> Books {
        self.books
    }
}

impl Detector for Measured {
    fn push(&mut self, chunk: &Derived<'_>) {
        let (mut gaps, mut pace) = (0.0, 0.0);
        let n = chunk.len();
        let (units, present) = (&chunk.units[..n], &chunk.present[..n]);
        let (length, gap_loss) = (&chunk.length[..n], &chunk.gap_loss[..n]);
        let (in_quantum, gap_ticks) = (&chunk.chunk.gaps[..n], &chunk.chunk.gap_ticks[..n]);
        let own = &chunk.chunk.measurement_ticks[..n];
        for k in 0..n {
            if units[k] > 0.0 {
                pace += present[k] - units[k] * self.best;
            }
            if gap_ticks[k] > 0 {
                // With what it gave back to the work beside it taken off.
                let away = (length[k] - present[k] - as_float(own[k])).max(0.0);
                gaps += gap_loss[k];
                // The unit inside each gap ran at the pace around it.
                pace += away - gap_loss[k] - f64::from(in_quantum[k]) * self.best;
            }
        }
        self.books.gaps += gaps;
        self.books.pace += pace;
    }
}

/// The ledger in ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What all other lines add up to.
    pub wall: i128,
    /// Units times the reference pace, less the bonus.
    pub work: i128,
    /// What was gained at a faster pace; not in the sum.
    pub bonus: i128,
    /// Slower pace, never negative.
    pub pace: i128,
    /// Gaps by cause, never negative.
    pub gaps: BTreeMap<Cause, i128>,
    /// The measurement's own.
    pub measurement: i128,
    /// What no other line explains.
    pub unexplained: i128,
}

impl Account {
    /// Closes the books of a series. `best` is `None` where no unit completed: then nothing can be booked
    /// but gaps and the measurement.
    pub fn close(
        totals: &Measures,
        books: Books,
        causes: &Causes,
        best: Option<f64>,
        context: &Context,
    ) -> Account {
        let wall = totals.wall as i128;
        let units = best.map_or(0, |best| whole(totals.units as f64 * best));
        // A damaged recording may hold more than there was time for: each line gets what those before it leave.
        let lost = whole(books.gaps).clamp(0, wall);
        // Within the band of the reference, what a series gained as a whole is a bonus, too.
        let (net, faster) = (whole(books.pace), whole(books.bonus.max(0.0)));
        let bonus = faster.max(-net).clamp(0, units);
        let pace = (net + bonus).clamp(0, wall - lost);
        // Storing a quantum makes its first unit longer, and so its pace slower.
        let storing = whole(totals.quanta as f64 * context.boundary_ticks()).min(pace);
        let pace = pace - storing;
        let measurement = (totals.measurement as i128 + storing).min(wall - lost - pace);
        let rest = wall - lost - pace - measurement;
        // At whatever pace they were done, units are work up to the time that there was.
        let work = (units - bonus).min(rest);
        Account {
            wall,
            work,
            bonus: units - work,
            pace,
            gaps: by_cause(lost, totals, causes),
            measurement,
            unexplained: rest - work,
        }
    }

    /// Time lost to gaps.
    pub fn lost_to_gaps(&self) -> i128 {
        self.gaps.values().sum()
    }

    /// In nanoseconds, rounded by largest remainder so that the lines still add up to the wall time.
    pub fn report(&self, context: &Context) -> report::Ledger {
        // What exceeds centuries is senseless input; it closes in `unexplained`, which must stay within its numbers.
        let ns = |ticks: i128| (ticks as f64 / context.ticks_per_ns).clamp(-MOST_NS, MOST_NS);
        let wall_ns = (self.wall as f64 / context.ticks_per_ns).round() as i128;
        let mut lines = vec![
            ns(self.work),
            ns(self.pace),
            ns(self.measurement),
            ns(self.unexplained),
        ];
        lines.extend(self.gaps.values().map(|&ticks| ns(ticks)));
        let whole = largest_remainder(&lines, wall_ns);
        report::Ledger {
            wall_ns: wall_ns as u64,
            work_ns: whole[0] as u64,
            pace_ns: report::PaceLoss {
                unsplit: whole[1] as u64,
                ..report::PaceLoss::default()
            },
            gaps_ns: self
                .gaps
                .keys()
                .cloned()
                .zip(whole[4..].iter().map(|&ns| ns as u64))
                .collect(),
            measurement_ns: whole[2] as u64,
            bonus_ns: ns(self.bonus).round() as u64,
            unexplained_ns: whole[3] as i64,
            basis: if context.gaps_known {
                report::Basis::Measured
            } else {
                report::Basis::Inferred
            },
        }
    }
}

/// A line of the account is no longer than this, 63 years.
const MOST_NS: f64 = 2e18;

/// Nearest whole number of ticks.
fn whole(ticks: f64) -> i128 {
    ticks.round() as i128
}

/// Whole numbers near `lines` that add up to `total` (which must be near their sum).
fn largest_remainder(lines: &[f64], total: i128) -> Vec<i128> {
    let mut whole: Vec<i128> = lines.iter().map(|line| line.floor() as i128).collect();
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|&a, &b| (lines[b] - lines[b].floor()).total_cmp(&(lines[a] - lines[a].floor())));
    let missing = total - whole.iter().sum::<i128>();
    for &line in order
        .iter()
        .take(missing.clamp(0, lines.len() as i128) as usize)
    {
        whole[line] += 1;
    }
    // Beyond 2^53 a float's own rounding is left; `unexplained` is what no other line holds.
    whole[3] += total - whole.iter().sum::<i128>();
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_still_add_up() {
        let whole = largest_remainder(&[10.6, 3.7, 1.9, -2.2], 14);
        assert_eq!(whole.iter().sum::<i128>(), 14);
        assert_eq!(whole, [10, 4, 2, -2]);
    }

    #[test]
    fn numbers_beyond_the_floats_close_in_unexplained() {
        let lines = [1e17, 3.0, 5.0, 0.0];
        let whole = largest_remainder(&lines, 100_000_000_000_000_017);
        assert_eq!(whole.iter().sum::<i128>(), 100_000_000_000_000_017);
    }
}
