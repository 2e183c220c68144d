//! The reading side of one CPU's rings: records in, batches of quanta and gaps out.

use crate::ring::Reader;
use bandscope_recording::{Gap, Quanta};
use bandscope_sampler::machine::Consumed;
use bandscope_sampler::{Assembler, Batch, GapRecord, QuantumRecord};

/// Quanta assembled at a time: 64 Ki of them are 3.5 MB of columns, however much waits.
const AT_A_TIME: u64 = 1 << 16;

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
        }
    }

    /// Consumes what waits now.
    ///
    /// A gap is published before the quantum in which it lies. Asking the quanta first and the gaps
    /// second therefore finds every gap of every quantum taken; gaps that are ahead wait in the assembler.
    ///
    /// # Errors
    /// What `consume` says; the rest of what waits is left.
    pub fn drain(&mut self, consume: &mut dyn FnMut(Batch<'_>) -> Consumed) -> Consumed {
        let mut waiting = self.quanta_ring.waiting();
        while waiting > 0 {
            let take = waiting.min(AT_A_TIME);
            self.records.clear();
            self.quanta_ring.take(take, &mut self.records);
            self.gap_records.clear();
            self.gaps_ring.take(u64::MAX, &mut self.gap_records);
            self.assemble(consume)?;
            waiting -= take;
        }
        Ok(())
    }

    fn assemble(&mut self, consume: &mut dyn FnMut(Batch<'_>) -> Consumed) -> Consumed {
        let cpu = self.cpu;
        let mut outcome = Ok(());
        let mut hand_out = |series: u32, quanta: &mut Quanta, gaps: &mut Vec<Gap>| {
            if outcome.is_ok() && !quanta.is_empty() {
                outcome = consume(Batch {
                    cpu,
                    series: series as usize,
                    quanta,
                    gaps,
                });
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
        outcome
    }
}
