//! The measuring loop.
//!
//! Two signals come out of it. Gaps are units that took so long that the CPU was away: what osnoise and
//! sysjitter see. The count per quantum is what FTQ sees: the CPU was here, at some pace. Together they
//! account for all of the time.
//!
//! The loop knows no operating system and touches nothing but its arguments. It is generic and inlined
//! into each combination of clock, work kernel and sink, so it contains no call but those that the
//! sink's rare paths make; `docs/measuring.md` says how to look at its assembly.

use crate::grid::Grid;
use crate::record::QuantumRecord;

/// A counter of ticks.
pub trait Clock {
    /// Whether [`Clock::now`] is ordered already, so that nothing need be read again at a boundary.
    const ORDERED: bool;

    /// The time, as cheap as it can be had; work before it may still be under way.
    fn now(&mut self) -> u64;

    /// The time after all work before it has completed.
    fn now_ordered(&mut self) -> u64;
}

/// A fixed piece of work.
pub trait WorkKernel {
    /// Does one unit's work.
    fn execute(&mut self);
}

/// Whether the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On with the next quantum.
    Continue,
    /// Counters are due: call [`Sink::checkpoint`], whose time is the measurement's own.
    Checkpoint,
    /// Stop after this quantum.
    Stop,
}

/// Where the loop puts what it measures.
pub trait Sink {
    /// Stores a quantum. Its time falls on the next quantum's first unit, so this must be a store, a
    /// prefetch and little else.
    fn quantum(&mut self, record: QuantumRecord) -> Flow;

    /// A unit from `start` took `duration` ticks. Counters are read here.
    fn gap(&mut self, start: u64, duration: u64);

    /// Counters are read here because they were last read long ago.
    fn checkpoint(&mut self, now: u64);

    /// Quanta without a unit were stored until `now`, because the grid ran ahead during an absence. No counters are read: what the stores
    /// took is the measurement's own, and [`Sink::handled`] tells it.
    fn caught_up(&mut self, now: u64);

    /// How long handling the last gap or checkpoint may take before it counts as interrupted, in ticks; `warm` is
    /// [`Segment::handling_limit_ticks`].
    fn handling_limit(&self, warm: u64) -> u64 {
        warm
    }

    /// How long the last [`Sink::gap`], [`Sink::checkpoint`] or [`Sink::caught_up`] took, in ticks.
    fn handled(&mut self, ticks: u64);
}

/// One segment: consecutive quanta at one rate with one work kernel.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Length of a quantum in ticks, at most [`crate::record::MAX_QUANTUM_TICKS`].
    pub quantum_ticks: f64,
    /// Number of quanta.
    pub quanta: u64,
    /// A unit that takes longer than this is a gap, in ticks.
    pub gap_threshold_ticks: u64,
    /// Handling a gap or a checkpoint that takes longer than this was interrupted, in ticks: what
    /// reading the counters costs at most, and not the gap threshold, which may be far below it.
    pub handling_limit_ticks: u64,
    /// Value of the clock at the recording's tick 0.
    pub origin: u64,
}

/// Storing so many quanta without a unit may take as long as one handling may: a store takes some 35 ns where the ring has left the
/// caches, and reading the counters up to a microsecond.
const STORES_PER_HANDLING: u64 = 16;

/// Why a segment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All quanta were measured.
    Complete,
    /// The sink said stop.
    Stopped,
    /// The clock ran backwards by so many ticks; the quantum under way is not recorded.
    ClockWentBack(u64),
}

/// Measures one segment from `start`, a value that the clock has just had.
///
/// Quantum k ends at the first unit that completes at or after `start + round(k * quantum)`. The
/// overshoot is carried over, and after a long absence quanta of count 0 and length 0 follow while the
/// grid catches up, as in FTQ.
#[inline(always)]
#[expect(
    clippy::too_many_lines,
    reason = "the loop is read, and compiled, as one"
)]
pub fn measure<C: Clock, K: WorkKernel, S: Sink>(
    clock: &mut C,
    kernel: &mut K,
    sink: &mut S,
    segment: &Segment,
    start: u64,
) -> Outcome {
    let mut grid = Grid::new(start, segment.quantum_ticks);
    let mut now = start;
    // Time of a checkpoint, which lies between two quanta and belongs to the later one.
    let mut checkpoint: u64 = 0;
    // Quanta without a unit since the last one with any.
    let mut empty: u64 = 0;
    for _ in 0..segment.quanta {
        let deadline = grid.next_deadline();
        if empty > 0 && (now.wrapping_sub(deadline) as i64) < 0 {
            sink.caught_up(now.wrapping_sub(segment.origin));
            let handled = match end_handling(clock, sink, segment, now, empty) {
                Ok(handled) => handled,
                Err(back) => return Outcome::ClockWentBack(back),
            };
            checkpoint += handled.wrapping_sub(now);
            now = handled;
            empty = 0;
        }
        let quantum_start = now.wrapping_sub(checkpoint);
        let mut count: u32 = 0;
        let mut gaps: u32 = 0;
        let mut away: u64 = checkpoint;
        checkpoint = 0;
        // Signed distance, so that a counter that wraps in mid-run is no special case.
        while (now.wrapping_sub(deadline) as i64) < 0 {
            kernel.execute();
            let mut end = clock.now();
            if !C::ORDERED && end.wrapping_sub(deadline) as i64 >= 0 {
                end = clock.now_ordered();
            }
            count += 1;
            let duration = end.wrapping_sub(now);
            // A clock that ran backwards gives a huge unsigned duration: one comparison for both.
            if duration > segment.gap_threshold_ticks {
                if (duration as i64) < 0 {
                    return Outcome::ClockWentBack(duration.wrapping_neg());
                }
                sink.gap(now.wrapping_sub(segment.origin), duration);
                let handled = match end_handling(clock, sink, segment, end, 0) {
                    Ok(handled) => handled,
                    Err(back) => return Outcome::ClockWentBack(back),
                };
                gaps += 1;
                away += handled.wrapping_sub(now);
                now = handled;
            } else {
                now = end;
            }
        }
        empty = if count == 0 { empty + 1 } else { 0 };
        let present = now.wrapping_sub(quantum_start) - away;
        let end = now.wrapping_sub(segment.origin);
        match sink.quantum(QuantumRecord::quantum(end, count, gaps, present)) {
            Flow::Continue => {}
            Flow::Checkpoint => {
                sink.checkpoint(end);
                let handled = match end_handling(clock, sink, segment, now, empty) {
                    Ok(handled) => handled,
                    Err(back) => return Outcome::ClockWentBack(back),
                };
                checkpoint = handled.wrapping_sub(now);
                now = handled;
                empty = 0;
            }
            Flow::Stop => return Outcome::Stopped,
        }
    }
    Outcome::Complete
}

/// Ends the handling of a gap or checkpoint that began at `begun`, or the storing of `stored` quanta; returns the time after it, or by
/// how much the clock ran backwards meanwhile.
///
/// If the CPU was taken away during the handling, that is a gap too, and not the measurement's own
/// time: a record of its own follows, with the counters and the preemption flag after it, so that the
/// next gap does not inherit them. It is no unit's, so no quantum counts it; its time stands there.
/// How much of it was handling cannot be told, so the first record gets none.
#[cold]
#[inline(never)]
fn end_handling<C: Clock, S: Sink>(
    clock: &mut C,
    sink: &mut S,
    segment: &Segment,
    begun: u64,
    stored: u64,
) -> Result<u64, u64> {
    let handled = clock.now_ordered();
    let took = handled.wrapping_sub(begun);
    let handlings = 1 + stored / STORES_PER_HANDLING;
    if took
        <= sink
            .handling_limit(segment.handling_limit_ticks)
            .saturating_mul(handlings)
    {
        sink.handled(took);
        return Ok(handled);
    }
    sink.handled(0);
    if (took as i64) < 0 {
        return Err(took.wrapping_neg());
    }
    sink.gap(begun.wrapping_sub(segment.origin), took);
    // Once only: on a machine that interrupts every handling, handling must not go on for ever.
    let again = clock.now_ordered();
    let took = again.wrapping_sub(handled);
    if (took as i64) < 0 {
        sink.handled(0);
        return Err(took.wrapping_neg());
    }
    sink.handled(took);
    Ok(again)
}

#[cfg(test)]
mod tests;
