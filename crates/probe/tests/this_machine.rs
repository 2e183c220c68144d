//! Short runs of the real machine. They assert what holds on any: how much was measured and that it adds
//! up, never how long anything took.

use bandscope_probe::{ThisMachine, default_kernel, pin};
use bandscope_recording::manifest::{ClockOrigin, EventsState, State};
use bandscope_recording::{EventKind, Gap, Manifest, Quanta, Quantum};
use bandscope_sampler::machine::{Choice, Length, Watch};
use bandscope_sampler::{Batch, Machine, MachineError, Request};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

fn request() -> Request {
    Request {
        cpus: Vec::new(),
        rates_hz: vec![10_000.0, 7_777.0],
        kernels: vec![default_kernel().to_owned()],
        length: Length::Samples(600),
        start_delay_s: 0.01,
        segment_s: 0.02,
        ticks_per_ns: None,
        ordered_reads: false,
        buffered: false,
        counters: Choice::Auto,
        trace: Choice::Off,
        watch: Watch::default(),
        tracepoints: Vec::new(),
        store_bypass: Default::default(),
        priority: None,
        housekeeping: Vec::new(),
        self_test: false,
    }
}

/// Everything that a run handed out, by series.
#[derive(Default)]
struct Kept {
    quanta: Vec<Vec<Quantum>>,
    gaps: Vec<Gap>,
}

impl Kept {
    fn keep(&mut self, batch: Batch<'_>) {
        let quanta: &Quanta = batch.quanta;
        self.quanta
            .resize_with(self.quanta.len().max(batch.series + 1), Vec::new);
        self.quanta[batch.series].extend((0..quanta.len()).map(|k| quanta.get(k)));
        self.gaps.extend_from_slice(batch.gaps);
    }
}

fn measure(request: &Request) -> (Manifest, Kept) {
    let mut machine = ThisMachine::new();
    let mut manifest = machine.prepare(request).unwrap();
    let mut kept = Kept::default();
    let stop = AtomicBool::new(false);
    machine
        .run(request, &mut manifest, &stop, &mut |batch| {
            kept.keep(batch);
            Ok(())
        })
        .unwrap();
    (manifest, kept)
}

fn assert_adds_up(manifest: &Manifest, kept: &Kept, samples: usize) {
    assert_eq!(manifest.state, State::Complete);
    let number: usize = kept.quanta.iter().map(Vec::len).sum();
    assert_eq!(number as u64 + manifest.lost.quanta, 2 * samples as u64);
    for series in &kept.quanta {
        for quantum in series {
            let parts = quantum.present() + quantum.gap_ticks + quantum.measurement_ticks;
            assert_eq!(quantum.length(), parts, "{quantum:?}");
            assert!(quantum.count >= quantum.gaps);
        }
        for pair in series.windows(2) {
            assert!(pair[0].segment <= pair[1].segment);
            if pair[0].segment == pair[1].segment {
                assert_eq!(pair[0].end, pair[1].start);
            } else {
                assert!(pair[0].end <= pair[1].start);
            }
        }
    }
    let segments = |series: &Vec<Quantum>| -> BTreeSet<u32> {
        series.iter().map(|quantum| quantum.segment).collect()
    };
    assert!(segments(&kept.quanta[0]).is_disjoint(&segments(&kept.quanta[1])));
    let in_quanta: u64 = kept
        .quanta
        .iter()
        .flatten()
        .map(|q| u64::from(q.gaps))
        .sum();
    let detailed = kept.gaps.iter().filter(|gap| gap.duration > 0).count() as u64;
    // A gap without a unit, while another was handled, is in no quantum's number.
    assert!(in_quanta <= detailed + manifest.lost.gaps);
}

#[test]
fn a_run_that_streams_keeps_every_quantum_and_adds_up() {
    let before = pin::allowed().unwrap();
    let (manifest, kept) = measure(&request());
    assert_adds_up(&manifest, &kept, 600);
    assert_eq!(pin::allowed().unwrap(), before);
    assert!(manifest.clock.error_ppm.unwrap() > 0.0);
    assert!(manifest.clock.readings.len() >= 4);
    assert_eq!(manifest.settings.cpus.len(), 1);
    println!("{manifest:#?}");
}

#[test]
fn a_buffered_run_keeps_every_quantum_and_adds_up() {
    let request = Request {
        buffered: true,
        ordered_reads: true,
        ..request()
    };
    let (manifest, kept) = measure(&request);
    assert_adds_up(&manifest, &kept, 600);
    assert!(manifest.settings.buffered);
    assert_eq!(manifest.settings.clock_read, "ordered");
}

#[test]
fn two_cpus_are_measured_at_once() {
    let cpus = pin::allowed().unwrap();
    if cpus.len() < 2 {
        println!("skipped: this process may use one CPU");
        return;
    }
    let request = Request {
        cpus: cpus[..2].to_vec(),
        rates_hz: vec![1_000.0],
        length: Length::Samples(50),
        ..request()
    };
    let (manifest, kept) = measure(&request);
    assert_eq!(manifest.settings.cpus, cpus[..2]);
    assert_eq!(kept.quanta[0].len() as u64 + manifest.lost.quanta, 100);
    assert!(
        manifest
            .missing
            .iter()
            .any(|missing| missing.what.contains("self-test"))
    );
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_measured() {
    let request = Request {
        length: Length::Duration(3600.0),
        ..request()
    };
    let mut machine = ThisMachine::new();
    let mut manifest = machine.prepare(&request).unwrap();
    if manifest.settings.buffered {
        println!("skipped: with one CPU nothing is consumed before the end");
        return;
    }
    let stop = AtomicBool::new(false);
    let mut quanta = 0;
    machine
        .run(&request, &mut manifest, &stop, &mut |batch| {
            quanta += batch.quanta.len();
            stop.store(true, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    assert_eq!(manifest.state, State::Interrupted);
    assert!(quanta > 0);
}

#[test]
fn a_buffered_run_can_be_stopped_too() {
    let request = Request {
        length: Length::Duration(60.0),
        buffered: true,
        ..request()
    };
    let mut machine = ThisMachine::new();
    let mut manifest = machine.prepare(&request).unwrap();
    // Before it begins: then it ends at once, whatever the machine is busy with.
    let stop = AtomicBool::new(true);
    machine
        .run(&request, &mut manifest, &stop, &mut |_| Ok(()))
        .unwrap();
    assert_eq!(manifest.state, State::Interrupted);
}

#[test]
fn a_consumer_that_fails_ends_the_run_in_order() {
    let before = pin::allowed().unwrap();
    let request = Request {
        length: Length::Duration(3600.0),
        ..request()
    };
    let mut machine = ThisMachine::new();
    let mut manifest = machine.prepare(&request).unwrap();
    if manifest.settings.buffered {
        println!("skipped: with one CPU nothing is consumed before the end");
        return;
    }
    let stop = AtomicBool::new(false);
    let mut calls = 0;
    let error = machine
        .run(&request, &mut manifest, &stop, &mut |_| {
            calls += 1;
            Err("no space left on device".into())
        })
        .unwrap_err();
    assert!(matches!(error, MachineError::Consumer(_)));
    assert_eq!(error.to_string(), "no space left on device");
    assert_eq!((calls, manifest.state), (1, State::Failed));
    // What was measured and not taken is not passed over in silence.
    assert!(manifest.lost.quanta > 0);
    assert_eq!(pin::allowed().unwrap(), before);
}

#[test]
fn what_cannot_be_had_is_refused() {
    let refusal = |request: Request| {
        let error = ThisMachine::new().prepare(&request).unwrap_err();
        assert!(matches!(error, MachineError::Request(_)));
        error.to_string()
    };
    let cpu = refusal(Request {
        cpus: vec![100_000],
        ..request()
    });
    assert!(cpu.contains("CPU 100000"), "{cpu}");
    let rate = refusal(Request {
        rates_hz: vec![1e12],
        ..request()
    });
    assert!(rate.contains("1000000000000 Hz"), "{rate}");
    let request = Request {
        buffered: true,
        length: Length::Samples(1 << 47),
        rates_hz: vec![100_000.0],
        ..request()
    };
    let mut machine = ThisMachine::new();
    let mut manifest = machine.prepare(&request).unwrap();
    let stop = AtomicBool::new(false);
    let error = machine
        .run(&request, &mut manifest, &stop, &mut |_| Ok(()))
        .unwrap_err();
    assert!(error.to_string().contains("MiB"), "{error}");
}

#[test]
fn ticks_given_by_hand_stand_beside_the_measured_ones() {
    let request = Request {
        ticks_per_ns: Some(1.25),
        rates_hz: vec![1_000.0],
        length: Length::Samples(20),
        ..request()
    };
    let (manifest, _) = measure(&request);
    assert_eq!(manifest.clock.ticks_per_ns, 1.25);
    assert_eq!(manifest.clock.origin, ClockOrigin::Given);
    assert!(manifest.clock.measured_ticks_per_ns.unwrap() > 0.0);
}

#[test]
fn kernel_events_come_with_the_gaps_or_the_manifest_says_why_not() {
    for buffered in [false, true] {
        assert_events(&Request {
            rates_hz: vec![10_000.0],
            length: Length::Samples(5_000),
            trace: Choice::Auto,
            watch: Watch::default(),
            tracepoints: Vec::new(),
            buffered,
            ..request()
        });
    }
}

fn assert_events(request: &Request) {
    let mut machine = ThisMachine::new();
    let mut manifest = machine.prepare(request).unwrap();
    let (mut events, mut quanta, mut end) = (Vec::new(), 0, 0);
    let stop = AtomicBool::new(false);
    let cpu = manifest.settings.cpus[0];
    machine
        .run(request, &mut manifest, &stop, &mut |batch| {
            assert_eq!(batch.cpu, cpu);
            events.extend_from_slice(batch.events);
            quanta += batch.quanta.len() as u64;
            end = batch.quanta.end.last().copied().unwrap_or(end);
            Ok(())
        })
        .unwrap();
    assert_eq!(quanta + manifest.lost.quanta, 5_000);
    assert_eq!(manifest.settings.trace, "auto");
    let told = &manifest.events;
    let missing = manifest
        .missing
        .iter()
        .any(|missing| missing.what == "kernel events");
    match told.state {
        EventsState::On => {
            assert!(!missing && told.why.is_empty());
            assert_eq!((told.threads.len(), told.threads[0].cpu), (1, cpu));
            assert!(told.cost.as_ref().unwrap().with.ticks > 0);
            assert!(events.is_sorted_by_key(|event| event.start));
            // The measuring thread ends by switching to another task, if nothing else.
            assert!(!events.is_empty());
            assert!(
                events
                    .iter()
                    .all(|event| event.number != told.threads[0].pid
                        || event.kind != EventKind::Task)
            );
        }
        _ => {
            assert!(missing && !told.why.is_empty() && events.is_empty());
            println!("SKIPPED: kernel events: {}", told.why);
        }
    }
}
