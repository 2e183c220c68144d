//! The reading side of one CPU's rings: records in, batches of quanta and gaps out.

use crate::ring::Reader;
use bandscope_recording::{Gap, Quanta};
use bandscope_sampler::machine::Consumed;
use bandscope_sampler::{Assembler, Batch, GapRecord, QuantumRecord};

/// Quanta assembled at a time: 16 Ki of them are 0.9 MB of columns, however much waits. A flight recorder has a copy.
const AT_A_TIME: u64 = 1 << 14;

/// Empties the rings of one measuring thread.
#[derive(Debug)]
pub struct Consumer {
    cpu: u32,
    quanta_ring: Reader<QuantumRecord>,
    gaps_ring: Reader<GapRecord>,
    assembler: Assembler,
    records: Vec<QuantumRecord>,
    gap_records: Vec<GapRecord>,
    quanta: Quanta,
    gaps: Vec<Gap>,
    lost_quanta: u64,
    lost_gaps: u64,
}

impl Consumer {
    /// A consumer of the rings of `cpu`.
    pub fn new(
        cpu: u32,
        quanta_ring: Reader<QuantumRecord>,
        gaps_ring: Reader<GapRecord>,
    ) -> Consumer {
        Consumer {
            cpu,
            quanta_ring,
            gaps_ring,
            assembler: Assembler::new(0),
            records: Vec::new(),
            gap_records: Vec::new(),
            quanta: Quanta::default(),
            gaps: Vec::new(),
            lost_quanta: 0,
            lost_gaps: 0,
        }
    }

    /// Quanta and gaps that were measured and handed to nobody: the consumer had failed, or the quantum
    /// of a gap was lost. To be asked at the end.
    pub fn lost(&self) -> (u64, u64) {
        (
            self.lost_quanta,
            self.lost_gaps + self.assembler.dropped_gaps(),
        )
    }

    /// Empties the rings after a failure: all that waits is counted as lost.
    pub fn discard(&mut self) {
        // The error says only that nothing more is wanted.
        let _ = self.empty(&mut |_| Ok(()), Err("the run has failed".into()));
    }

    /// Consumes what waits now.
    ///
    /// A gap is published before the quantum in which it lies. Asking the quanta first and the gaps
    /// second therefore finds every gap of every quantum taken; gaps that are ahead wait in the assembler.
    ///
    /// # Errors
    /// What `consume` says; it is not called again then, and the rest of what waits is counted as lost.
    pub fn drain(&mut self, consume: &mut dyn FnMut(Batch<'_>) -> Consumed) -> Consumed {
        self.empty(consume, Ok(()))
    }

    fn empty(
        &mut self,
        consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
        mut outcome: Consumed,
    ) -> Consumed {
        let mut waiting = self.quanta_ring.waiting();
        while waiting > 0 {
            let take = waiting.min(AT_A_TIME);
            self.records.clear();
            self.quanta_ring.take(take, &mut self.records);
            self.gap_records.clear();
            self.gaps_ring.take(u64::MAX, &mut self.gap_records);
            self.assemble(consume, &mut outcome);
            waiting -= take;
        }
        outcome
    }

    fn assemble(&mut self, consume: &mut dyn FnMut(Batch<'_>) -> Consumed, outcome: &mut Consumed) {
        let cpu = self.cpu;
        let (lost_quanta, lost_gaps) = (&mut self.lost_quanta, &mut self.lost_gaps);
        let mut hand_out = |series: u32, quanta: &mut Quanta, gaps: &mut Vec<Gap>| {
            if outcome.is_ok() && !quanta.is_empty() {
                *outcome = consume(Batch {
                    cpu,
                    series: series as usize,
                    quanta,
                    gaps,
                    events: &[],
                    tasks: &[],
                });
            }
            if outcome.is_err() {
                *lost_quanta += quanta.len() as u64;
                *lost_gaps += gaps.iter().filter(|gap| gap.duration > 0).count() as u64;
            }
            quanta.clear();
            gaps.clear();
        };
        self.assembler.push_gaps(self.gap_records.drain(..));
        self.assembler.push_quanta(
            self.records.drain(..),
            &mut self.quanta,
            &mut self.gaps,
            &mut hand_out,
        );
        hand_out(self.assembler.series(), &mut self.quanta, &mut self.gaps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::ring;

    #[test]
    fn what_nobody_took_is_counted() {
        let (mut quanta, quanta_reader) = ring(64).unwrap();
        let (mut gaps, gaps_reader) = ring(64).unwrap();
        let mut consumer = Consumer::new(0, quanta_reader, gaps_reader);
        let mut measure = |series: u32, start: u64| {
            quanta.push(QuantumRecord::segment(start, series, 0));
            for k in 0..3 {
                gaps.push(GapRecord {
                    start: start + 100 * k,
                    duration: 40,
                    ..GapRecord::default()
                });
                quanta.push(QuantumRecord::quantum(start + 100 * (k + 1), 4, 1, 60));
            }
        };
        measure(0, 0);
        measure(1, 300);
        let mut calls = 0;
        let failed = consumer.drain(&mut |_| {
            calls += 1;
            Err("no space left on device".into())
        });
        // Two series are two batches: the second is not handed out any more.
        assert!(failed.is_err());
        assert_eq!((calls, consumer.lost()), (1, (6, 6)));
        measure(0, 600);
        consumer.discard();
        assert_eq!(consumer.lost(), (9, 9));
    }
}
