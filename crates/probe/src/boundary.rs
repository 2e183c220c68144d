//! What a quantum's boundary costs: the excess of its first unit, which holds the store, and of its
//! last, which ends with an ordered read, over the units around.
//!
//! The real loop runs over the real sink with a clock that also writes down each of its readings.
//!
//! With plain reads only the sum of the two is a cost. A plain read does not wait for the work before
//! it, so all readings inside a quantum come early by as much as the CPU runs ahead; the ordered one at
//! the end catches up in the last unit, and the first unit of the next quantum, whose reading is early
//! again, is short by the same amount: its excess is below zero.

use crate::kernels::NativeKernel;
use crate::ring::{Reader, ring};
use crate::sink::RingSink;
use bandscope_sampler::record::Unpacked;
use bandscope_sampler::{Clock, GapRecord, QuantumRecord, Segment, measure};
use std::sync::atomic::AtomicBool;

/// Units on each side of a boundary that make the pace around it, the two next to it left out.
const AROUND: usize = 8;

/// Costs of a boundary in ticks, medians over many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Excess of a quantum's first unit.
    pub first: f64,
    /// Excess of its last unit.
    pub last: f64,
    /// A unit away from boundaries.
    pub unit: f64,
}

impl Costs {
    /// Excess of both units together: what a boundary costs, however the clock is read.
    pub fn both(&self) -> f64 {
        self.first + self.last
    }

    /// How much earlier than its work a plain read comes: what the first unit after an ordered read is short by. The store, some 15 ticks,
    /// lengthens that unit, so it is that much more.
    pub fn read_ahead(&self) -> f64 {
        (-self.first).max(0.0)
    }
}

/// Writes down every reading of another clock. A read at a boundary replaces the one before it.
struct Logging<C> {
    clock: C,
    log: Vec<u64>,
    next: usize,
}

impl<C: Clock> Clock for Logging<C> {
    const ORDERED: bool = C::ORDERED;

    #[inline(always)]
    fn now(&mut self) -> u64 {
        let now = self.clock.now();
        if let Some(slot) = self.log.get_mut(self.next) {
            *slot = now;
            self.next += 1;
        }
        now
    }

    #[inline(always)]
    fn now_ordered(&mut self) -> u64 {
        let now = self.clock.now_ordered();
        if let Some(slot) = self.log.get_mut(self.next.wrapping_sub(1)) {
            *slot = now;
        }
        now
    }
}

/// Measures `quanta` boundaries on the calling thread's CPU; `None` if gaps left none to look at, or
/// there is no memory.
pub fn costs<C: Clock, K: NativeKernel>(
    clock: C,
    quantum_ticks: f64,
    quanta: u64,
    gap_threshold_ticks: u64,
) -> Option<Costs> {
    let stop = AtomicBool::new(false);
    let (quanta_writer, mut records) = ring::<QuantumRecord>(quanta as usize + 64).ok()?;
    let (gaps_writer, _gaps) = ring::<GapRecord>(64).ok()?;
    let rseq = crate::rseq::Rseq::of_this_thread().ok();
    let mut sink = RingSink::new(
        rustix::thread::sched_getcpu() as u32,
        quanta_writer,
        gaps_writer,
        &stop,
        None,
        rseq,
        false,
    );
    let mut clock = Logging {
        clock,
        // Units are at least some 10 ticks long; beyond the log nothing is written down.
        log: vec![1; (quanta as usize) * (quantum_ticks / 10.0).clamp(64.0, 10_000.0) as usize],
        next: 0,
    };
    clock.next = 0;
    let mut start = 0;
    sink.begin_segment(0, u32::MAX, || {
        start = clock.clock.now_ordered();
        0
    });
    let segment = Segment {
        quantum_ticks,
        quanta,
        gap_threshold_ticks,
        // There are no counters whose reading could take long.
        handling_limit_ticks: gap_threshold_ticks,
        origin: start,
    };
    let mut kernel = K::default();
    measure(&mut clock, &mut kernel, &mut sink, &segment, start);
    evaluate(&clock.log[..clock.next], start, &ends(&mut records))
}

/// Ends of the quanta, and whether a gap makes the surroundings useless: one inside, or one before it
/// that was so long that the quantum is empty.
fn ends(records: &mut Reader<QuantumRecord>) -> Vec<(u64, bool)> {
    let mut taken = Vec::new();
    records.take(u64::MAX, &mut taken);
    taken
        .into_iter()
        .filter_map(|record| match record.unpack() {
            Unpacked::Quantum {
                end, count, gaps, ..
            } => Some((end, gaps > 0 || count == 0)),
            Unpacked::Segment { .. } => None,
        })
        .collect()
}

fn evaluate(log: &[u64], start: u64, ends: &[(u64, bool)]) -> Option<Costs> {
    let (mut first, mut last, mut unit) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    for pair in ends.windows(2) {
        let ((end, gap), (_, next_gap)) = (pair[0], pair[1]);
        let Some(distance) = log[at..].iter().position(|&t| t.wrapping_sub(start) == end) else {
            continue;
        };
        at += distance;
        if gap || next_gap {
            continue;
        }
        let Some(around) = units_around(log, at) else {
            continue;
        };
        first.push(log[at + 1].wrapping_sub(log[at]) as f64 - around);
        last.push(log[at].wrapping_sub(log[at - 1]) as f64 - around);
        unit.push(around);
    }
    Some(Costs {
        first: median(&mut first)?,
        last: median(&mut last)?,
        unit: median(&mut unit)?,
    })
}

/// Mean unit in the neighbourhood of the boundary at `at`, without the two that touch it.
fn units_around(log: &[u64], at: usize) -> Option<f64> {
    let before = log.get(at.checked_sub(AROUND + 1)?..at)?;
    let after = log.get(at + 1..at + 2 + AROUND)?;
    let ticks = span(before) + span(after);
    Some(ticks as f64 / (2 * AROUND) as f64)
}

fn span(log: &[u64]) -> u64 {
    log[log.len() - 1].wrapping_sub(log[0])
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excess_is_told_from_the_pace() {
        // Units of 10; those that end a quantum of 40 units take 14, those that begin one 17.
        let mut log = Vec::new();
        let mut ends = Vec::new();
        let mut now = 1_000;
        for k in 0..400 {
            now += match k % 40 {
                39 => 14,
                0 => 17,
                _ => 10,
            };
            log.push(now);
            if k % 40 == 39 {
                ends.push((now - 1_000, k == 199));
            }
        }
        assert_eq!(
            evaluate(&log, 1_000, &ends),
            Some(Costs {
                first: 7.0,
                last: 4.0,
                unit: 10.0
            })
        );
    }

    #[test]
    fn reads_that_come_early_shorten_the_first_unit() {
        let costs = |first| Costs {
            first,
            last: 25.0,
            unit: 100.0,
        };
        assert_eq!(costs(-20.0).read_ahead(), 20.0);
        assert_eq!(costs(7.0).read_ahead(), 0.0, "ordered reads wait");
    }

    #[test]
    fn gaps_everywhere_leave_nothing() {
        let ends = [(10, true), (20, true)];
        assert_eq!(evaluate(&[10, 20], 0, &ends), None);
    }
}
