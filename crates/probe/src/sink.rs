//! Where the measuring loop puts what it measures: two rings, and the counters.
//!
//! A quantum costs a store, a prefetch, and a look at the CPU's number and the stop flag. All else
//! stands in functions of its own that are not inlined: reading counters after a gap, and what happens
//! when a ring is full or the thread finds itself on another CPU. Quanta that do not fit are counted,
//! and the segment is cut: a new one starts with the first quantum that is kept.

use crate::clock;
use crate::counters::Counters;
use crate::owned::Owned;
use crate::ring::Writer;
use crate::rseq::Rseq;
use bandscope_recording::gaps::MAX_COUNTERS;
use bandscope_recording::manifest::{Incident, IncidentKind, Schedstat, StoreBypassSet};
use bandscope_sampler::record::Unpacked;
use bandscope_sampler::{Flow, GapRecord, QuantumRecord, Sink};
use std::sync::atomic::{AtomicBool, Ordering};

/// Incidents kept; the rest is counted. Their memory is set aside before the run.
const MOST_INCIDENTS: usize = 64;
/// A new segment needs room for its header and a quantum, and is worth it only for some more.
const ROOM_TO_RESUME: u64 = 64;

/// The sink of one measuring thread. Bound to its thread by what the kernel shares with it.
#[derive(Debug)]
pub struct RingSink<'a> {
    quanta: Writer<QuantumRecord>,
    gaps: Writer<GapRecord>,
    stop: &'a AtomicBool,
    /// Where the CPU's number stands: in the thread's rseq area, or in `polled_cpu`.
    cpu_now: *const u32,
    /// The CPU of the segment under way.
    cpu: u32,
    /// The CPU as it was last asked for, where there is no rseq.
    polled_cpu: Owned<u32>,
    quanta_until_checkpoint: u32,
    quanta_between_checkpoints: u32,
    series: u32,
    /// Start of a segment whose header found no room yet.
    header: Option<u64>,
    /// The gap being handled.
    gap: GapRecord,
    counters: Option<Counters>,
    rseq: Option<Rseq>,
    preemption_known: bool,
    cold_handling_ticks: u64,
    account: Account,
}

/// What happened on the way.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Quanta of the segment under way, kept or lost.
    pub quanta_in_segment: u64,
    /// Quanta that found no room.
    pub lost_quanta: u64,
    /// Gaps that found no room.
    pub lost_gaps: u64,
    /// Counter value at tick 0 of the recording.
    pub origin: u64,
    /// CPU changes and cuts.
    pub incidents: Vec<Incident>,
    /// Incidents beyond those.
    pub more_incidents: u64,
    /// Settings of speculative store bypass.
    pub store_bypass: Vec<StoreBypassSet>,
    /// What the scheduler counted of this thread while it measured.
    pub schedstat: Option<Schedstat>,
}

/// Settings that are noted: 18 hours of a segment a second.
const MOST_SETTINGS: usize = 1 << 16;

impl Account {
    /// Ticks since the origin.
    pub fn now(&self) -> u64 {
        clock::ticks().wrapping_sub(self.origin)
    }

    /// Notes an incident at this moment.
    pub fn incident(&mut self, kind: IncidentKind, detail: String) {
        if self.incidents.len() >= MOST_INCIDENTS {
            self.more_incidents += 1;
            return;
        }
        self.incidents.push(Incident {
            kind,
            ticks: self.now(),
            detail,
        });
    }

    /// Notes that speculative store bypass was set at this moment, between two segments.
    pub fn store_bypass(&mut self, cpu: u32, allowed: bool) {
        if self.store_bypass.last().map(|set| set.allowed) == Some(allowed)
            || self.store_bypass.len() >= MOST_SETTINGS
        {
            return;
        }
        self.store_bypass.push(StoreBypassSet {
            cpu,
            ticks: self.now(),
            allowed,
        });
    }
}

impl<'a> RingSink<'a> {
    /// A sink of the calling thread, which must stay on it and was put on `cpu`.
    pub fn new(
        cpu: u32,
        quanta: Writer<QuantumRecord>,
        gaps: Writer<GapRecord>,
        stop: &'a AtomicBool,
        counters: Option<Counters>,
        rseq: Option<Rseq>,
        preemption_known: bool,
    ) -> RingSink<'a> {
        let polled_cpu = Owned::new(cpu);
        let polled: *const u32 = polled_cpu.pointer().as_ptr();
        let cpu_now = rseq.as_ref().map_or(polled, Rseq::cpu);
        RingSink {
            quanta,
            gaps,
            stop,
            cpu_now,
            cpu,
            polled_cpu,
            quanta_until_checkpoint: u32::MAX,
            quanta_between_checkpoints: u32::MAX,
            series: 0,
            header: None,
            gap: GapRecord::default(),
            counters,
            rseq,
            preemption_known,
            cold_handling_ticks: 0,
            account: Account {
                incidents: Vec::with_capacity(MOST_INCIDENTS),
                ..Account::default()
            },
        }
    }

    /// Handling a gap takes up to so many ticks after somebody else had the CPU.
    pub fn allow_cold_handling(&mut self, ticks: u64) {
        self.cold_handling_ticks = ticks;
    }

    /// Starts a segment, with a checkpoint after each `quanta_between_checkpoints` quanta without a gap.
    ///
    /// `start` gives the time in ticks since the origin. It is called when only storing is left to be
    /// done, so that preparing the segment is not a part of its first unit. Counters are read before,
    /// as a checkpoint at the start: increments never reach back into another segment.
    pub fn begin_segment(
        &mut self,
        series: u32,
        quanta_between_checkpoints: u32,
        start: impl FnOnce() -> u64,
    ) {
        self.poll_cpu();
        // A move while the thread warmed up, or between two segments, is no less a move.
        self.note_move();
        self.series = series;
        self.quanta_between_checkpoints = quanta_between_checkpoints.max(1);
        self.quanta_until_checkpoint = self.quanta_between_checkpoints;
        self.account.quanta_in_segment = 0;
        self.quanta.look_for_room();
        self.read(0, 0);
        if let Some(rseq) = &self.rseq {
            rseq.arm();
        }
        let start = start();
        self.header = Some(start);
        self.store_header();
        if self.counters.is_some() {
            self.gap.start = start;
            self.gap.flags &= !GapRecord::PREEMPTED;
            self.handled(0);
        }
    }

    /// Whether the CPU's number must be asked for, because the kernel does not keep it in memory.
    pub fn must_poll_cpu(&self) -> bool {
        self.rseq.is_none()
    }

    /// What happened on the way.
    pub fn account(&mut self) -> &mut Account {
        &mut self.account
    }

    #[inline(always)]
    fn cpu_now(&self) -> u32 {
        // SAFETY: it points into the rseq area of this thread, or to `polled_cpu`: both live as long
        // as the sink, which does not leave its thread. The kernel may change the former at any time.
        unsafe { self.cpu_now.read_volatile() }
    }

    /// Notes an incident if the thread is on another CPU than before; whether it is.
    fn note_move(&mut self) -> bool {
        let cpu = self.cpu_now();
        let before = std::mem::replace(&mut self.cpu, cpu);
        if cpu != before {
            let detail = format!("the measuring thread moved from CPU {before} to CPU {cpu}");
            self.account.incident(IncidentKind::CpuChange, detail);
        }
        cpu != before
    }

    fn poll_cpu(&mut self) {
        if self.must_poll_cpu() {
            let cpu = rustix::thread::sched_getcpu() as u32;
            let polled = self.polled_cpu.pointer();
            // SAFETY: the memory is this sink's own; written volatile because it is read so.
            unsafe { polled.write_volatile(cpu) };
        }
    }

    /// Stores the header of the segment under way if there is room for it and some quanta.
    fn store_header(&mut self) -> bool {
        let Some(start) = self.header else {
            return true;
        };
        if self.quanta.look_for_room() < ROOM_TO_RESUME {
            self.quanta.close();
            return false;
        }
        self.header = None;
        self.quanta
            .push(QuantumRecord::segment(start, self.series, self.cpu))
    }

    /// A quantum for which the common path did not do: the ring is full, or the CPU has changed.
    #[cold]
    #[inline(never)]
    fn store_uncommon(&mut self, words: [u64; 2]) {
        // By words: a record handed on by reference would have to be put together in memory each time.
        let record = QuantumRecord::from_words(words);
        if self.note_move() {
            // The quantum that ends on the new CPU begins where the last record ended.
            self.header = self.header.or(self.quanta.last().map(end));
        }
        let cut = self.header.is_some();
        if cut {
            if self.store_header() && self.counters.is_some() {
                // Increments begin anew in a new segment: after its first quantum.
                self.quanta_until_checkpoint = 1;
            }
        } else {
            self.quanta.look_for_room();
        }
        if !self.quanta.push(record) {
            if !cut {
                self.account.incident(
                    IncidentKind::SegmentCut,
                    "the consumer fell behind and quanta were lost".to_owned(),
                );
            }
            self.account.lost_quanta += 1;
            self.header = Some(end(record));
            self.quanta.close();
        }
    }

    /// Reads counters and the preemption flag.
    fn read(&mut self, start: u64, duration: u64) {
        self.gap.start = start;
        self.gap.duration = duration;
        self.gap.flags = 0;
        if let Some(rseq) = self.rseq.as_ref().filter(|_| self.preemption_known) {
            self.gap.flags = GapRecord::PREEMPTION_KNOWN;
            if rseq.preempted() {
                self.gap.flags |= GapRecord::PREEMPTED;
                rseq.arm();
            }
        }
        if let Some(counters) = &self.counters {
            counters.read(&mut self.gap.counters);
        }
        self.quanta_until_checkpoint = self.quanta_between_checkpoints;
    }
}

/// End of a record, or start of the segment that it announces, modulo 2^48.
fn end(record: QuantumRecord) -> u64 {
    match record.unpack() {
        Unpacked::Segment { start, .. } => start,
        Unpacked::Quantum { end, .. } => end,
    }
}

impl Sink for RingSink<'_> {
    #[inline(always)]
    fn quantum(&mut self, record: QuantumRecord) -> Flow {
        if self.cpu_now() != self.cpu || !self.quanta.push(record) {
            self.store_uncommon(record.words());
        }
        self.account.quanta_in_segment += 1;
        self.quanta_until_checkpoint -= 1;
        if self.stop.load(Ordering::Relaxed) {
            Flow::Stop
        } else if self.quanta_until_checkpoint == 0 {
            Flow::Checkpoint
        } else {
            Flow::Continue
        }
    }

    #[cold]
    #[inline(never)]
    fn gap(&mut self, start: u64, duration: u64) {
        self.read(start, duration);
    }

    #[cold]
    #[inline(never)]
    fn checkpoint(&mut self, now: u64) {
        self.poll_cpu();
        self.read(now, 0);
    }

    #[cold]
    #[inline(never)]
    fn caught_up(&mut self, now: u64) {
        // The counters as they were read last, so that they grew by nothing.
        self.gap.start = now;
        self.gap.duration = 0;
        self.gap.flags &= !GapRecord::PREEMPTED;
    }

    /// Whoever had the CPU left caches of his own: the handler's time is still the measurement's.
    fn handling_limit(&self, warm: u64) -> u64 {
        let preempted = self.gap.flags & GapRecord::PREEMPTED != 0;
        match preempted || self.gap.duration > self.cold_handling_ticks {
            true => warm.max(self.cold_handling_ticks),
            false => warm,
        }
    }

    #[cold]
    #[inline(never)]
    fn handled(&mut self, ticks: u64) {
        self.gap.handling = u32::try_from(ticks).unwrap_or(u32::MAX);
        if !self.gaps.push(self.gap)
            && (self.gaps.look_for_room() == 0 || !self.gaps.push(self.gap))
            && self.gap.duration > 0
        {
            self.account.lost_gaps += 1;
        }
    }
}

const _: () = assert!(MAX_COUNTERS == 5, "a gap's record is one cache line");

#[cfg(test)]
mod tests;
