//! Packed records of the loop in, the columns of a recording out.
//!
//! Quanta and gaps come in two streams, each in order of time. A gap belongs to the quantum in which it
//! starts; the time spent handling it is told from the gap here. If a gap's details were lost (its ring
//! was full), its time still stands in the quantum.
//!
//! A gap without a unit (the CPU was taken away while a gap was handled) is in no quantum's number of
//! gaps, and its time is in the quantum's gap time as any other's. Increments of counters are never taken
//! over the border of a segment: the first record of a segment has none, so a sink that reads
//! counters hands out a checkpoint at the segment's start.

use crate::record::{GapRecord, QuantumRecord, Unpacked, unwrap_end};
use bandscope_recording::gaps::MAX_COUNTERS;
use bandscope_recording::{Gap, GapKind, Quanta, Quantum};
use std::collections::VecDeque;

/// Turns the two packed streams of one CPU into quanta and gaps.
#[derive(Debug, Default)]
pub struct Assembler {
    /// End of the last record, unwrapped.
    last_end: u64,
    /// Segments begun so far, over all series.
    segments: u32,
    series: u32,
    cpu: u32,
    in_segment: bool,
    waiting: VecDeque<GapRecord>,
    /// Counter values at the last read, for increments; `None` before the first.
    last_counters: Option<[u64; MAX_COUNTERS]>,
    /// Gaps of quanta that were lost or not finished.
    dropped_gaps: u64,
}

impl Assembler {
    /// An assembler that numbers its first segment `first_segment`.
    pub fn new(first_segment: u32) -> Assembler {
        Assembler {
            segments: first_segment,
            ..Assembler::default()
        }
    }

    /// Takes gaps; they must come before the quanta in which they lie.
    pub fn push_gaps(&mut self, gaps: impl IntoIterator<Item = GapRecord>) {
        self.waiting.extend(gaps);
    }

    /// Takes quanta and appends what they make, calling `segment_ended` with the series before each
    /// change of series so that the caller can take the columns away.
    pub fn push_quanta(
        &mut self,
        records: impl IntoIterator<Item = QuantumRecord>,
        quanta: &mut Quanta,
        gaps: &mut Vec<Gap>,
        mut segment_ended: impl FnMut(u32, &mut Quanta, &mut Vec<Gap>),
    ) {
        for record in records {
            match record.unpack() {
                Unpacked::Segment { start, series, cpu } => {
                    if self.in_segment && !quanta.is_empty() {
                        segment_ended(self.series, quanta, gaps);
                    }
                    self.segments += u32::from(self.in_segment);
                    self.in_segment = true;
                    self.series = series;
                    self.cpu = cpu;
                    self.last_end = unwrap_end(self.last_end, start);
                    self.drop_gaps_until(self.last_end);
                    self.last_counters = None;
                }
                Unpacked::Quantum {
                    end,
                    count,
                    gaps: with_gap,
                    present,
                } => {
                    let start = self.last_end;
                    let end = unwrap_end(start, end);
                    self.last_end = end;
                    let absent = (end - start).saturating_sub(u64::from(present));
                    let handling = self.take_gaps_until(end, gaps).min(absent);
                    quanta.push(Quantum {
                        start,
                        end,
                        count,
                        gaps: u32::from(with_gap),
                        gap_ticks: absent - handling,
                        measurement_ticks: handling,
                        cpu: self.cpu,
                        segment: self.segments,
                    });
                }
            }
        }
    }

    /// The series of the segment under way.
    pub fn series(&self) -> u32 {
        self.series
    }

    /// The number of the segment under way.
    pub fn segment(&self) -> u32 {
        self.segments
    }

    /// Gaps, not checkpoints, that lie in no quantum: theirs found no room or was not finished. To be
    /// asked when all quanta were taken; gaps that still wait are counted too.
    pub fn dropped_gaps(&self) -> u64 {
        let waiting = self.waiting.iter().filter(|gap| gap.duration > 0);
        self.dropped_gaps + waiting.count() as u64
    }

    /// Drops the gaps before the segment that starts at `start`: they belong to none.
    fn drop_gaps_until(&mut self, start: u64) {
        while let Some(gap) = self.waiting.pop_front_if(|gap| gap.start < start) {
            self.dropped_gaps += u64::from(gap.duration > 0);
        }
    }

    /// Moves the gaps that start before `end` to `gaps` and returns the time spent handling them.
    fn take_gaps_until(&mut self, end: u64, gaps: &mut Vec<Gap>) -> u64 {
        let mut handling = 0;
        while self.waiting.front().is_some_and(|gap| gap.start < end) {
            handling += self.take_gap(gaps);
        }
        handling
    }

    fn take_gap(&mut self, gaps: &mut Vec<Gap>) -> u64 {
        let Some(record) = self.waiting.pop_front() else {
            return 0;
        };
        let last = self.last_counters.replace(record.counters);
        let known = record.flags & GapRecord::PREEMPTION_KNOWN != 0;
        gaps.push(Gap {
            start: record.start,
            duration: record.duration,
            handling: u64::from(record.handling),
            kind: if record.duration == 0 {
                GapKind::Checkpoint
            } else {
                GapKind::Gap
            },
            preempted: known.then_some(record.flags & GapRecord::PREEMPTED != 0),
            segment: self.segments,
            counters: last.map_or([0; MAX_COUNTERS], |last| {
                std::array::from_fn(|n| record.counters[n].wrapping_sub(last[n]))
            }),
        });
        u64::from(record.handling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(start: u64, duration: u64, handling: u32, counter: u64) -> GapRecord {
        GapRecord {
            start,
            duration,
            handling,
            flags: GapRecord::PREEMPTION_KNOWN,
            counters: [counter, 0, 0, 0, 0],
        }
    }

    #[test]
    fn gaps_find_their_quanta_and_handling_is_told_apart() {
        let mut assembler = Assembler::new(0);
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        // The checkpoint at 100 lies between two quanta and belongs to the second.
        assembler.push_gaps([gap(20, 60, 7, 5), gap(100, 0, 3, 6), gap(150, 40, 2, 9)]);
        assembler.push_quanta(
            [
                QuantumRecord::segment(0, 1, 3),
                QuantumRecord::quantum(100, 4, 1, 33),
                QuantumRecord::quantum(200, 6, 1, 55),
            ],
            &mut quanta,
            &mut gaps,
            |_, _, _| panic!("one segment"),
        );
        assert_eq!(quanta.gap_ticks, [60, 40]);
        assert_eq!(quanta.measurement_ticks, [7, 5]);
        assert_eq!(quanta.cpu, [3, 3]);
        assert_eq!(
            gaps.iter().map(|gap| gap.counters[0]).collect::<Vec<_>>(),
            [0, 1, 3]
        );
        assert_eq!(gaps[1].kind, GapKind::Checkpoint);
        for k in 0..2 {
            let quantum = quanta.get(k);
            assert_eq!(
                quantum.length(),
                quantum.present() + quantum.gap_ticks + quantum.measurement_ticks
            );
        }
    }

    #[test]
    fn a_lost_gap_keeps_its_time() {
        let mut assembler = Assembler::new(0);
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        assembler.push_quanta(
            [
                QuantumRecord::segment(50, 0, 0),
                QuantumRecord::quantum(150, 4, 1, 33),
            ],
            &mut quanta,
            &mut gaps,
            |_, _, _| {},
        );
        assert_eq!(quanta.gap_ticks, [67]);
        assert!(gaps.is_empty());
    }

    #[test]
    fn a_gap_without_a_unit_is_gap_time_all_the_same() {
        let mut assembler = Assembler::new(0);
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        assembler.push_gaps([gap(10, 60, 0, 5), gap(70, 71, 8, 6)]);
        assembler.push_quanta(
            [
                QuantumRecord::segment(0, 0, 0),
                QuantumRecord::quantum(149, 2, 1, 10),
            ],
            &mut quanta,
            &mut gaps,
            |_, _, _| {},
        );
        assert_eq!((quanta.gaps[0], gaps.len()), (1, 2));
        assert_eq!((quanta.gap_ticks[0], quanta.measurement_ticks[0]), (131, 8));
    }

    #[test]
    fn gaps_of_lost_quanta_are_counted_and_increments_stay_within_a_segment() {
        let mut assembler = Assembler::new(0);
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        // One gap in a quantum, one and a checkpoint in lost quanta, the checkpoint of the second
        // segment's start, a gap of it, and one of a quantum that was not finished.
        assembler.push_gaps([
            gap(20, 60, 0, 5),
            gap(120, 60, 0, 50),
            gap(180, 0, 0, 60),
            gap(200, 0, 0, 100),
            gap(220, 60, 0, 103),
            gap(320, 60, 0, 109),
        ]);
        assembler.push_quanta(
            [
                QuantumRecord::segment(0, 0, 0),
                QuantumRecord::quantum(100, 4, 1, 40),
                QuantumRecord::segment(200, 0, 0),
                QuantumRecord::quantum(300, 4, 1, 40),
            ],
            &mut quanta,
            &mut gaps,
            |_, _, _| {},
        );
        let rows: Vec<_> = gaps
            .iter()
            .map(|gap| (gap.start, gap.counters[0]))
            .collect();
        assert_eq!(rows, [(20, 0), (200, 0), (220, 3)]);
        assert_eq!(assembler.dropped_gaps(), 2);
    }

    #[test]
    fn series_change_at_segments_only() {
        let mut assembler = Assembler::new(4);
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        let mut ended = Vec::new();
        assembler.push_quanta(
            [
                QuantumRecord::segment(0, 0, 0),
                QuantumRecord::quantum(10, 1, 0, 10),
                QuantumRecord::segment(25, 1, 0),
                QuantumRecord::quantum(40, 1, 0, 15),
            ],
            &mut quanta,
            &mut gaps,
            |series, quanta, _| {
                ended.push((series, quanta.len()));
                quanta.clear();
            },
        );
        assert_eq!(ended, [(0, 1)]);
        assert_eq!((quanta.start[0], quanta.segment[0]), (25, 5));
        assert_eq!(assembler.series(), 1);
    }
}
