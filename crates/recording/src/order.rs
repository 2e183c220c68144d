//! What must hold from row to row, whoever wrote them.
//!
//! The writer refuses what the reader would refuse, so that no run ends in a recording that does not
//! read. An analysis may rely on it: no quantum ends before it starts, none overlaps the next, and no
//! difference of two columns is negative.

mod events;

pub use events::EventOrder;

use crate::{Gap, GapKind, Quanta};

/// The largest tick: times are signed in the files, since people subtract them there.
pub const MAX_TICKS: u64 = i64::MAX as u64;
/// The largest value of a 32-bit column.
const MAX_NUMBER: u32 = i32::MAX as u32;

/// A row that cannot follow upon the rows before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disorder {
    /// Row among all rows that were checked, counted from 0.
    pub row: u64,
    /// What stands there.
    pub found: String,
    /// What may stand there.
    pub expected: String,
}

/// Checks quanta batch by batch.
#[derive(Clone, Debug, Default)]
pub struct QuantaOrder {
    rows: u64,
    end: u64,
    segment: u32,
}

impl QuantaOrder {
    /// Checks the next batch.
    pub fn check(&mut self, quanta: &Quanta) -> Result<(), Disorder> {
        // The usual case is decided by comparisons without a branch, which the compiler turns into
        // vector instructions; only where something is wrong is it looked for row by row.
        if !self.is_fine(quanta) {
            self.find(quanta)?;
        }
        if let (Some(&end), Some(&segment)) = (quanta.end.last(), quanta.segment.last()) {
            self.end = end;
            self.segment = segment;
        }
        self.rows += quanta.len() as u64;
        Ok(())
    }

    fn is_fine(&self, quanta: &Quanta) -> bool {
        let (Some(&start), Some(&segment)) = (quanta.start.first(), quanta.segment.first()) else {
            return true;
        };
        let mut wrong = (start < self.end) | (segment < self.segment);
        for (&end, &next) in quanta.end.iter().zip(&quanta.start[1..]) {
            wrong |= next < end;
        }
        for (&segment, &next) in quanta.segment.iter().zip(&quanta.segment[1..]) {
            wrong |= next < segment;
        }
        for (&start, &end) in quanta.start.iter().zip(&quanta.end) {
            wrong |= (end < start) | (end > MAX_TICKS);
        }
        for ((&start, &end), (&gap, &measurement)) in (quanta.start.iter().zip(&quanta.end))
            .zip(quanta.gap_ticks.iter().zip(&quanta.measurement_ticks))
        {
            let absent = gap.wrapping_add(measurement);
            wrong |= (absent > end.wrapping_sub(start)) | (absent < gap);
        }
        for (&count, &gaps) in quanta.count.iter().zip(&quanta.gaps) {
            wrong |= (gaps > count) | (count > MAX_NUMBER);
        }
        for (&cpu, &segment) in quanta.cpu.iter().zip(&quanta.segment) {
            wrong |= (cpu | segment) > MAX_NUMBER;
        }
        !wrong
    }

    fn find(&self, quanta: &Quanta) -> Result<(), Disorder> {
        let (mut last_end, mut last_segment) = (self.end, self.segment);
        for index in 0..quanta.len() {
            let quantum = quanta.get(index);
            let (start, end) = (quantum.start, quantum.end);
            let absent = quantum.gap_ticks.saturating_add(quantum.measurement_ticks);
            let wrong = if start < last_end {
                Some((
                    format!("start {start}"),
                    format!("{last_end} or later, where the quantum before it ended"),
                ))
            } else if end < start {
                Some((
                    format!("end {end}"),
                    format!("no end before the start, {start}"),
                ))
            } else if end > MAX_TICKS {
                Some((format!("end {end}"), format!("at most {MAX_TICKS}")))
            } else if absent > end - start {
                Some((
                    format!("{absent} ticks in gaps and measurement"),
                    format!("at most the length of the quantum, {}", end - start),
                ))
            } else if quantum.gaps > quantum.count {
                Some((
                    format!("{} units with a gap", quantum.gaps),
                    format!("at most the count, {}", quantum.count),
                ))
            } else if quantum.segment < last_segment {
                Some((
                    format!("segment {}", quantum.segment),
                    format!("{last_segment} or later"),
                ))
            } else {
                let largest = quantum.count.max(quantum.cpu).max(quantum.segment);
                (largest > MAX_NUMBER)
                    .then(|| (largest.to_string(), format!("at most {MAX_NUMBER}")))
            };
            if let Some((found, expected)) = wrong {
                return Err(Disorder {
                    row: self.rows + index as u64,
                    found,
                    expected,
                });
            }
            (last_end, last_segment) = (end, quantum.segment);
        }
        Ok(())
    }
}

/// Checks gaps batch by batch.
#[derive(Clone, Debug, Default)]
pub struct GapOrder {
    rows: u64,
    /// Where the last gap was dealt with.
    end: u64,
    segment: u32,
}

impl GapOrder {
    /// Checks the next batch.
    pub fn check(&mut self, gaps: &[Gap]) -> Result<(), Disorder> {
        for gap in gaps {
            if let Some((found, expected)) = self.find(gap) {
                return Err(Disorder {
                    row: self.rows,
                    found,
                    expected,
                });
            }
            self.end = end(gap);
            self.segment = gap.segment;
            self.rows += 1;
        }
        Ok(())
    }

    /// What is wrong with a gap that follows upon those before it: found and expected.
    fn find(&self, gap: &Gap) -> Option<(String, String)> {
        if gap.start < self.end {
            return Some((
                format!("start {}", gap.start),
                format!(
                    "{} or later, where the gap before it was dealt with",
                    self.end
                ),
            ));
        }
        if end(gap) > MAX_TICKS {
            return Some((
                format!(
                    "a gap of {} ticks, handled in {}",
                    gap.duration, gap.handling
                ),
                format!("times up to {MAX_TICKS}"),
            ));
        }
        if (gap.kind == GapKind::Checkpoint) != (gap.duration == 0) {
            return Some((
                format!("a {:?} of {} ticks", gap.kind, gap.duration),
                "gaps of more than 0 ticks and checkpoints of 0".into(),
            ));
        }
        if gap.segment < self.segment || gap.segment > MAX_NUMBER {
            return Some((
                format!("segment {}", gap.segment),
                format!("{} to {MAX_NUMBER}", self.segment),
            ));
        }
        None
    }
}

/// The tick at which measuring went on after a gap.
fn end(gap: &Gap) -> u64 {
    gap.start
        .saturating_add(gap.duration)
        .saturating_add(gap.handling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantum;

    fn quantum(start: u64, end: u64) -> Quantum {
        Quantum {
            start,
            end,
            count: 5,
            ..Quantum::default()
        }
    }

    fn check(rows: &[Quantum]) -> Result<(), Disorder> {
        let mut order = QuantaOrder::default();
        // One batch a row, and all at once: the verdict must be the same.
        let mut all = Quanta::default();
        for &row in rows {
            all.push(row);
        }
        let at_once = QuantaOrder::default().check(&all);
        let one_by_one = rows.iter().try_for_each(|&row| {
            let mut one = Quanta::default();
            one.push(row);
            order.check(&one)
        });
        assert_eq!(at_once, one_by_one);
        at_once
    }

    #[test]
    fn quanta_in_order_pass() {
        let pause = Quantum {
            segment: 1,
            ..quantum(35, 40)
        };
        assert_eq!(
            check(&[quantum(0, 10), quantum(10, 10), quantum(10, 30), pause]),
            Ok(())
        );
    }

    #[test]
    fn each_disorder_is_found_in_its_row() {
        let good = Quantum {
            segment: 3,
            ..quantum(10, 20)
        };
        let next = Quantum {
            segment: 3,
            ..quantum(20, 30)
        };
        for (wrong, found) in [
            (Quantum { start: 19, ..next }, "start 19"),
            (Quantum { end: 19, ..next }, "end 19"),
            (
                Quantum {
                    end: 1 << 63,
                    ..next
                },
                "end 9223372036854775808",
            ),
            (
                Quantum {
                    gap_ticks: 6,
                    measurement_ticks: 5,
                    ..next
                },
                "11 ticks in gaps and measurement",
            ),
            (
                Quantum {
                    gap_ticks: u64::MAX,
                    measurement_ticks: 5,
                    ..next
                },
                "18446744073709551615 ticks in gaps and measurement",
            ),
            (Quantum { gaps: 6, ..next }, "6 units with a gap"),
            (Quantum { segment: 2, ..next }, "segment 2"),
            (
                Quantum {
                    count: 1 << 31,
                    ..next
                },
                "2147483648",
            ),
            (
                Quantum {
                    cpu: 1 << 31,
                    ..next
                },
                "2147483648",
            ),
        ] {
            let disorder = check(&[good, wrong]).unwrap_err();
            assert_eq!((disorder.row, &*disorder.found), (1, found));
        }
    }

    #[test]
    fn gaps_run_forward() {
        let gap = |start, duration| Gap {
            start,
            duration,
            segment: 2,
            ..Gap::default()
        };
        let checkpoint = Gap {
            kind: GapKind::Checkpoint,
            handling: 7,
            ..gap(15, 0)
        };
        let mut order = GapOrder::default();
        assert_eq!(order.check(&[gap(5, 10), checkpoint]), Ok(()));
        assert_eq!(order.check(&[gap(22, 2)]), Ok(()));
        let back = Gap {
            segment: 1,
            ..gap(24, 2)
        };
        for (wrong, found) in [
            (gap(23, 2), "start 23"),
            (gap(24, 0), "a Gap of 0 ticks"),
            (
                Gap {
                    duration: 1,
                    start: 30,
                    ..checkpoint
                },
                "a Checkpoint of 1 ticks",
            ),
            (back, "segment 1"),
            (
                Gap {
                    segment: 1 << 31,
                    ..back
                },
                "segment 2147483648",
            ),
            (
                gap(30, u64::MAX),
                "a gap of 18446744073709551615 ticks, handled in 0",
            ),
            (
                Gap {
                    handling: 1 << 63,
                    ..gap(30, 1)
                },
                "a gap of 1 ticks, handled in 9223372036854775808",
            ),
        ] {
            let disorder = order.clone().check(&[wrong]).unwrap_err();
            assert_eq!((disorder.row, &*disorder.found), (3, found));
        }
    }

    #[test]
    fn a_gap_starts_after_the_one_before_was_handled() {
        let gap = |start| Gap {
            start,
            duration: 10,
            handling: 5,
            ..Gap::default()
        };
        assert_eq!(GapOrder::default().check(&[gap(0), gap(15)]), Ok(()));
        let overlap = GapOrder::default().check(&[gap(0), gap(14)]).unwrap_err();
        assert!(overlap.expected.contains("15 or later"));
    }
}
