//! Where the measuring loop puts what it measures on the simulated machine.
//!
//! Packed records go through the same assembler as a real machine's, and to the consumer as columns.

use crate::world::World;
use bandscope_recording::manifest::{Incident, IncidentKind};
use bandscope_recording::{Gap, Quanta};
use bandscope_sampler::machine::Consumed;
use bandscope_sampler::record::Unpacked;
use bandscope_sampler::{Assembler, Batch, Flow, GapRecord, QuantumRecord, Sink};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a scenario is told that leads beyond simulated time.
pub(crate) const EXHAUSTED: &str = "the simulated machine's 2.7e14 ticks (37 hours at 2 GHz) are over: choose a shorter run or smaller parameters";
/// Quanta, or gaps, that are handed over at a time.
const BATCH: usize = 1 << 15;
/// Seconds that are handed over at a time, where there are fewer quanta: at 10 kHz a batch is full before.
const BATCH_S: u64 = 4;
/// Changes of CPU that are kept; the rest is counted, as on a real machine.
const MOST_INCIDENTS: usize = 64;

/// Keeps records until there are enough of them, then hands them over as columns.
pub(crate) struct SimulatedSink<'a> {
    cpu: u32,
    /// Tick of the machine at which the recording begins.
    pub origin: u64,
    world: World,
    /// Ticks of a second.
    second: u64,
    stop: &'a AtomicBool,
    consume: &'a mut dyn FnMut(Batch<'_>) -> Consumed,
    /// What the consumer answered, or why simulated time ended.
    pub error: Option<Box<dyn std::error::Error + Send + Sync>>,
    assembler: Assembler,
    records: Vec<QuantumRecord>,
    gap_records: Vec<GapRecord>,
    quanta: Quanta,
    gaps: Vec<Gap>,
    series: u32,
    /// Quanta of the segment so far.
    number: u64,
    /// End of the last quantum, modulo 2^48 as records have it.
    last_end: u64,
    /// The same when records were last handed over.
    flushed: u64,
    /// The CPU that the last record was of.
    present_cpu: u32,
    /// Changes of CPU.
    incidents: Vec<Incident>,
    /// Changes of CPU beyond those.
    more_incidents: u64,
}

impl<'a> SimulatedSink<'a> {
    /// A sink of the thread that was asked to stay on `cpu`, where a second has `second` ticks.
    pub fn new(
        cpu: u32,
        world: World,
        second: u64,
        stop: &'a AtomicBool,
        consume: &'a mut dyn FnMut(Batch<'_>) -> Consumed,
    ) -> SimulatedSink<'a> {
        SimulatedSink {
            cpu,
            origin: 0,
            world,
            second,
            stop,
            consume,
            error: None,
            assembler: Assembler::new(0),
            records: Vec::with_capacity(BATCH + 1),
            gap_records: Vec::new(),
            quanta: Quanta::default(),
            gaps: Vec::new(),
            series: 0,
            number: 0,
            last_end: 0,
            flushed: 0,
            present_cpu: cpu,
            incidents: Vec::new(),
            more_incidents: 0,
        }
    }

    /// Changes of CPU, and how many of them are not listed.
    pub fn into_incidents(mut self) -> Vec<Incident> {
        if self.more_incidents > 0 {
            self.incidents.push(Incident {
                kind: IncidentKind::MoreIncidents,
                ticks: self.last_end,
                detail: format!("{} more incidents are not listed", self.more_incidents),
            });
        }
        self.incidents
    }

    /// A segment begins.
    pub fn begin_segment(&mut self, start: u64, series: usize) {
        self.number = 0;
        self.series = series as u32;
        self.last_end = start;
        self.present_cpu = self.world.cpu();
        self.records
            .push(QuantumRecord::segment(start, self.series, self.present_cpu));
    }

    /// As on a real machine another CPU cuts the segment, at the start of the quantum that ended on it.
    fn note_cpu(&mut self) {
        let cpu = self.world.cpu();
        if cpu == self.present_cpu {
            return;
        }
        if self.incidents.len() < MOST_INCIDENTS {
            self.incidents.push(Incident {
                kind: IncidentKind::CpuChange,
                ticks: self.last_end,
                detail: format!(
                    "the measuring thread moved from CPU {} to CPU {cpu}",
                    self.present_cpu
                ),
            });
        } else {
            self.more_incidents += 1;
        }
        self.present_cpu = cpu;
        self.records
            .push(QuantumRecord::segment(self.last_end, self.series, cpu));
    }

    /// Whether there is enough to be handed over.
    fn is_due(&self) -> bool {
        self.records.len() >= BATCH
            || self.gap_records.len() >= BATCH
            || self.last_end.wrapping_sub(self.flushed) >= BATCH_S * self.second
    }

    /// Hands over what there is.
    pub fn flush(&mut self) {
        self.flushed = self.last_end;
        // Before the quanta in which they happened: whoever looks on while time passes as ours does waits for events no longer than
        // a real machine takes to hand them out.
        let events = self.world.take_events(self.origin);
        if self.error.is_none() && !events.is_empty() {
            let batch = Batch {
                cpu: self.cpu,
                series: self.series as usize,
                quanta: &Quanta::default(),
                gaps: &[],
                events: &events,
                tasks: &[],
            };
            self.error = (self.consume)(batch).err();
        }
        let (cpu, consume, error) = (self.cpu, &mut *self.consume, &mut self.error);
        let mut hand_over = |series: u32, quanta: &mut Quanta, gaps: &mut Vec<Gap>| {
            if error.is_none() && !quanta.is_empty() {
                let batch = Batch {
                    cpu,
                    series: series as usize,
                    quanta,
                    gaps,
                    events: &[],
                    tasks: &[],
                };
                *error = consume(batch).err();
            }
            quanta.clear();
            gaps.clear();
        };
        self.assembler.push_gaps(self.gap_records.drain(..));
        self.assembler.push_quanta(
            self.records.drain(..),
            &mut self.quanta,
            &mut self.gaps,
            &mut hand_over,
        );
        hand_over(self.assembler.series(), &mut self.quanta, &mut self.gaps);
    }
}

impl Sink for SimulatedSink<'_> {
    fn quantum(&mut self, record: QuantumRecord) -> Flow {
        self.note_cpu();
        if let Unpacked::Quantum { end, .. } = record.unpack() {
            self.last_end = end;
        }
        self.records.push(record);
        if self.world.is_exhausted() {
            self.error = Some(EXHAUSTED.into());
            return Flow::Stop;
        }
        if self.is_due() {
            self.flush();
        }
        if self.error.is_some() || self.stop.load(Ordering::Relaxed) {
            return Flow::Stop;
        }
        self.number += 1;
        self.world.cross_boundary(self.number);
        Flow::Continue
    }

    fn gap(&mut self, start: u64, duration: u64) {
        self.gap_records.push(GapRecord {
            start,
            duration,
            ..GapRecord::default()
        });
    }

    fn checkpoint(&mut self, _now: u64) {}

    fn caught_up(&mut self, _now: u64) {}

    fn handled(&mut self, _ticks: u64) {}
}
