//! The sink on small rings: losses, cuts, moves and checkpoints.

use super::*;
use crate::ring::{Reader, ring};
use bandscope_recording::{Gap, Quanta};
use bandscope_sampler::Assembler;

struct Rig {
    quanta: Reader<QuantumRecord>,
    gaps: Reader<GapRecord>,
    assembler: Assembler,
}

impl Rig {
    fn new(records: usize, stop: &AtomicBool) -> (RingSink<'_>, Rig) {
        let (quanta_writer, quanta) = ring(records).unwrap();
        let (gaps_writer, gaps) = ring(2).unwrap();
        let rig = Rig {
            quanta,
            gaps,
            assembler: Assembler::new(0),
        };
        (
            RingSink::new(here(), quanta_writer, gaps_writer, stop, None, None, false),
            rig,
        )
    }

    fn drain(&mut self) -> (Quanta, Vec<Gap>) {
        let (mut records, mut gap_records) = (Vec::new(), Vec::new());
        self.quanta.take(u64::MAX, &mut records);
        self.gaps.take(u64::MAX, &mut gap_records);
        self.assembler.push_gaps(gap_records);
        let (mut quanta, mut gaps) = Default::default();
        self.assembler
            .push_quanta(records, &mut quanta, &mut gaps, |_, _, _| {});
        (quanta, gaps)
    }
}

fn here() -> u32 {
    rustix::thread::sched_getcpu() as u32
}

fn quantum(k: u64) -> QuantumRecord {
    QuantumRecord::quantum(100 * (k + 1), 10, 0, 100)
}

#[test]
fn handling_may_take_longer_where_caches_are_cold() {
    let stop = AtomicBool::new(false);
    let (mut sink, _rig) = Rig::new(128, &stop);
    sink.cold_handling_ticks = 50_000;
    let mut limit = |duration, flags| {
        (sink.gap.duration, sink.gap.flags) = (duration, flags);
        sink.handling_limit(4_000)
    };
    assert_eq!(
        limit(10_000, GapRecord::PREEMPTION_KNOWN),
        4_000,
        "an interrupt"
    );
    assert_eq!(limit(10_000, GapRecord::PREEMPTED), 50_000);
    assert_eq!(limit(60_000, 0), 50_000, "a stolen slice");
}

#[test]
fn what_finds_no_room_is_counted_and_cuts_the_segment() {
    let stop = AtomicBool::new(false);
    let (mut sink, mut rig) = Rig::new(128, &stop);
    sink.begin_segment(0, u32::MAX, || 0);
    // 127 fit beside the header.
    for k in 0..130 {
        assert_eq!(sink.quantum(quantum(k)), Flow::Continue);
    }
    assert_eq!(sink.account().lost_quanta, 3);
    let (first, _) = rig.drain();
    for k in 130..140 {
        sink.quantum(quantum(k));
    }
    let (second, _) = rig.drain();
    assert_eq!((first.len(), second.len()), (127, 10));
    assert_eq!((second.start[0], second.end[0]), (13_000, 13_100));
    assert_eq!((first.segment[126], second.segment[0]), (0, 1));
    let account = sink.account();
    assert_eq!(account.quanta_in_segment, 140);
    let cuts = account.incidents.iter();
    // The test's thread may be moved meanwhile, which is another incident.
    assert_eq!(
        cuts.filter(|incident| incident.kind == IncidentKind::SegmentCut)
            .count(),
        1
    );
}

#[test]
fn another_cpu_cuts_the_segment_at_the_start_of_its_quantum() {
    let stop = AtomicBool::new(false);
    let (mut sink, mut rig) = Rig::new(128, &stop);
    sink.begin_segment(3, u32::MAX, || 0);
    let cpu = sink.cpu;
    sink.quantum(quantum(0));
    let polled = sink.polled_cpu.pointer();
    // SAFETY: the sink's own memory.
    unsafe { polled.write_volatile(cpu + 1) };
    sink.quantum(quantum(1));
    sink.quantum(quantum(2));
    let (quanta, _) = rig.drain();
    assert_eq!(quanta.start, [0, 100, 200]);
    assert_eq!(quanta.cpu, [cpu, cpu + 1, cpu + 1]);
    assert_eq!(quanta.segment, [0, 1, 1]);
    assert_eq!(rig.assembler.series(), 3);
    assert_eq!(sink.account().incidents[0].kind, IncidentKind::CpuChange);
}

#[test]
fn a_move_before_a_segment_begins_is_an_incident_too() {
    let stop = AtomicBool::new(false);
    let (quanta, _reader) = ring(128).unwrap();
    let (gaps, _gaps_reader) = ring(2).unwrap();
    // Asked for a CPU that no thread can be on.
    let mut sink = RingSink::new(9999, quanta, gaps, &stop, None, None, false);
    sink.begin_segment(0, u32::MAX, || 0);
    let incident = &sink.account().incidents[0];
    assert_eq!(incident.kind, IncidentKind::CpuChange);
    assert!(
        incident.detail.contains("from CPU 9999 to CPU "),
        "{incident:?}"
    );
}

#[test]
fn gaps_beyond_the_ring_are_counted() {
    let stop = AtomicBool::new(false);
    let (mut sink, mut rig) = Rig::new(128, &stop);
    sink.begin_segment(0, u32::MAX, || 0);
    for k in 0..3 {
        sink.gap(10 * k, 5);
        sink.handled(1);
    }
    sink.quantum(QuantumRecord::quantum(100, 7, 3, 82));
    let (quanta, gaps) = rig.drain();
    assert_eq!(gaps.len(), 2);
    assert_eq!(sink.account().lost_gaps, 1);
    // The lost gap's time still stands in the quantum.
    assert_eq!(quanta.gap_ticks[0] + quanta.measurement_ticks[0], 18);
}

#[test]
fn checkpoints_come_after_quiet_quanta_only() {
    let stop = AtomicBool::new(false);
    let (mut sink, _rig) = Rig::new(128, &stop);
    sink.begin_segment(0, 3, || 0);
    sink.quantum(quantum(0));
    sink.quantum(quantum(1));
    sink.gap(205, 50);
    sink.handled(1);
    let flows: Vec<Flow> = (2..5).map(|k| sink.quantum(quantum(k))).collect();
    assert_eq!(flows, [Flow::Continue, Flow::Continue, Flow::Checkpoint]);
    sink.checkpoint(500);
    sink.handled(1);
    stop.store(true, Ordering::Relaxed);
    assert_eq!(sink.quantum(quantum(5)), Flow::Stop);
}
