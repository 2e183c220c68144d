//! What is shown while a run goes on is what the report of the same run says.

use super::{Monitor, Second};
use crate::analyse;
use bandscope_recording::source::InMemory;
use bandscope_recording::{Gap, KernelEvent, Manifest, Quanta, Series};
use bandscope_report::Cause;
use bandscope_sampler::machine::Choice;
use bandscope_sampler::{Machine, Request};
use bandscope_simulation::{Scenario, SimulatedMachine};
use std::sync::atomic::AtomicBool;

/// What one batch of a run held.
struct Piece {
    cpu: u32,
    series: usize,
    quanta: Quanta,
    gaps: Vec<Gap>,
    events: Vec<KernelEvent>,
}

/// A simulated run: how it was measured, its series, what came of it.
struct Run {
    manifest: Manifest,
    series: Vec<(f64, String)>,
    pieces: Vec<Piece>,
}

fn run(scenario: &str, rates_hz: &[f64], cpus: &[u32], seconds: f64) -> Run {
    let request = Request {
        cpus: cpus.to_vec(),
        trace: Choice::On,
        ..bandscope_simulation::request(rates_hz, &["mulss80"], seconds)
    };
    let mut machine = SimulatedMachine::new(Scenario::parse(scenario).unwrap());
    let mut manifest = machine.prepare(&request).unwrap();
    let mut pieces = Vec::new();
    let mut keep = |batch: bandscope_sampler::Batch<'_>| {
        pieces.push(Piece {
            cpu: batch.cpu,
            series: batch.series,
            quanta: batch.quanta.clone(),
            gaps: batch.gaps.to_vec(),
            events: batch.events.to_vec(),
        });
        Ok(())
    };
    let stop = AtomicBool::new(false);
    machine
        .run(&request, &mut manifest, &stop, &mut keep)
        .unwrap();
    Run {
        manifest,
        series: request.series(),
        pieces,
    }
}

impl Run {
    /// Shown to a monitor in batches of up to `most` quanta, events of each 25 ms after their quanta, as a machine hands them out.
    fn watched(&self, most: usize) -> (Monitor, Vec<Second>) {
        let mut monitor = Monitor::new(&self.manifest, &self.series);
        let late = (0.025e9 * self.manifest.clock.ticks_per_ns) as u64;
        for &cpu in &self.manifest.settings.cpus {
            let pieces = || self.pieces.iter().filter(|piece| piece.cpu == cpu);
            let mut events = pieces().flat_map(|piece| piece.events.clone()).peekable();
            for piece in pieces() {
                let mut from = 0;
                while from < piece.quanta.len() {
                    let to = (from + most).min(piece.quanta.len());
                    let mut quanta = Quanta::default();
                    quanta.extend_from(&piece.quanta, from..to);
                    let (start, end) = (quanta.start[0], quanta.end[to - from - 1]);
                    let due: Vec<KernelEvent> =
                        std::iter::from_fn(|| events.next_if(|event| event.start + late < end))
                            .collect();
                    let within = |gap: &&Gap| start <= gap.start && gap.start < end;
                    let gaps: Vec<Gap> = piece.gaps.iter().filter(within).copied().collect();
                    monitor.push(cpu, piece.series, &quanta, &gaps, &[]);
                    monitor.push(cpu, piece.series, &Quanta::default(), &[], &due);
                    from = to;
                }
            }
            monitor.push(cpu, 0, &Quanta::default(), &[], &events.collect::<Vec<_>>());
        }
        monitor.finish();
        let seconds = monitor.take_seconds();
        (monitor, seconds)
    }

    /// The same as a recording in memory.
    fn source(&self) -> InMemory {
        let mut source = InMemory {
            manifest: self.manifest.clone(),
            ..InMemory::default()
        };
        for &cpu in &self.manifest.settings.cpus {
            for (index, (rate_hz, kernel)) in self.series.iter().enumerate() {
                source.series.push(Series {
                    cpu: Some(cpu),
                    rate_hz: *rate_hz,
                    kernel: kernel.clone(),
                    gaps_known: true,
                    ends_known: true,
                    origin: String::new(),
                });
                let (mut quanta, mut gaps, mut events) = (Quanta::default(), vec![], vec![]);
                for piece in self.pieces.iter().filter(|piece| piece.cpu == cpu) {
                    events.extend(piece.events.iter().cloned());
                    if piece.series == index {
                        quanta.extend_from(&piece.quanta, 0..piece.quanta.len());
                        gaps.extend_from_slice(&piece.gaps);
                    }
                }
                source.quanta.push(quanta);
                source.gaps.push(gaps);
                source.events.push(events);
            }
        }
        source
    }
}

#[test]
fn the_account_since_the_start_is_that_of_the_report() {
    for scenario in [
        "tick:hz=250,cost=3us",
        "flips",
        "tick:hz=100,cost=8us+flips",
        "quiet",
    ] {
        let run = run(scenario, &[10_000.0], &[1], 2.5);
        let report = analyse(&run.source(), &[]).unwrap().report;
        for most in [1, 17, 250, 100_000] {
            let (monitor, seconds) = run.watched(most);
            let shown = &monitor.snapshot().cpus[0];
            assert_eq!(
                shown.whole, report.series[0].ledger,
                "{scenario}, {most} at a time"
            );
            let gaps = report.series[0].gaps.as_ref().unwrap();
            assert_eq!(shown.gaps, gaps.number, "{scenario}");
            for (mine, theirs) in shown.longest.iter().zip(&gaps.longest) {
                // Of those that last the same the report may keep others.
                assert_eq!((mine.ns, &mine.cause), (theirs.ns, &theirs.cause));
            }
            assert_eq!(seconds.len(), 3);
            let walls: u64 = seconds.iter().map(|second| second.ledger.wall_ns).sum();
            assert!(walls.abs_diff(shown.whole.wall_ns) <= 3, "{scenario}");
            let gaps: u64 = seconds.iter().map(|second| second.gaps).sum();
            assert_eq!(gaps, shown.gaps);
        }
    }
}

#[test]
fn two_rates_are_one_account_of_their_cpu() {
    let run = run("tick:hz=250,cost=3us", &[10_000.0, 7_777.0], &[3], 4.0);
    let (monitor, seconds) = run.watched(250);
    let report = analyse(&run.source(), &[]).unwrap().report;
    let shown = &monitor.snapshot().cpus[0];
    let sum = |of: fn(&bandscope_report::Ledger) -> u64| -> u64 {
        report.series.iter().map(|series| of(&series.ledger)).sum()
    };
    assert!(shown.whole.wall_ns.abs_diff(sum(|l| l.wall_ns)) <= 2);
    let ticks = |ledger: &bandscope_report::Ledger| ledger.gaps_ns[&Cause::Tick];
    assert!(shown.whole.gaps_ns[&Cause::Tick].abs_diff(sum(ticks)) <= 2);
    assert_eq!(
        seconds.len(),
        5,
        "the last one holds what lies between segments"
    );
    for second in &seconds[..4] {
        assert_eq!(second.paces.len(), 1, "one work kernel");
        assert!((second.ledger.wall_ns as f64 / 1e9 - 1.0).abs() < 1e-3);
        assert!((245..=255).contains(&second.gaps), "{}", second.gaps);
    }
}

#[test]
fn bands_of_the_second_are_those_of_the_report() {
    let run = run("flips", &[10_000.0], &[1], 3.0);
    let report = analyse(&run.source(), &[]).unwrap().report;
    let (monitor, _) = run.watched(250);
    let shown = &monitor.snapshot().cpus[0];
    let bands = &shown.now.paces[0].bands;
    assert_eq!(bands.len(), report.series[0].bands.len());
    assert!(bands.len() >= 2);
    for (now, whole) in bands.iter().zip(&report.series[0].bands) {
        assert!((now.ns_per_unit / whole.ns_per_unit - 1.0).abs() < 0.01);
        assert!((now.share - whole.share).abs() < 0.05, "{now:?} {whole:?}");
        assert!((now.share_since_start - whole.share).abs() < 0.05);
    }
}

#[test]
fn cpus_are_apart() {
    let run = run("tick:hz=100,cost=5us", &[10_000.0], &[5, 2], 1.5);
    let (mut monitor, _) = run.watched(1000);
    let shown = monitor.snapshot();
    let numbers: Vec<u32> = shown.cpus.iter().map(|cpu| cpu.cpu).collect();
    assert_eq!(numbers, [5, 2]);
    for cpu in &shown.cpus {
        assert!((cpu.measured_s - 1.5).abs() < 1e-3);
        assert_eq!(cpu.gaps, 150);
        let last = &cpu.history.levels[0].cells;
        assert_eq!(last.len(), 15);
        let lost: f64 = last.iter().map(|cell| cell.gaps).sum();
        let wall: f64 = last.iter().map(|cell| cell.wall).sum();
        assert!((lost / wall / 500e-6 - 1.0).abs() < 0.05, "{}", lost / wall);
    }
    // What nobody asked for changes nothing.
    let piece = &run.pieces[0];
    monitor.push(77, 0, &piece.quanta, &piece.gaps, &piece.events);
    monitor.push(5, 9, &piece.quanta, &piece.gaps, &[]);
    assert_eq!(monitor.snapshot().cpus[0].whole, shown.cpus[0].whole);
    assert!(monitor.take_seconds().is_empty());
}

#[test]
fn silence_says_nothing_before_anything_was_heard() {
    let mut run = run("tick:hz=100,cost=5us", &[10_000.0], &[0], 1.0);
    for piece in &mut run.pieces {
        piece.events.clear();
    }
    let causes = |run: &Run| {
        let (monitor, _) = run.watched(1000);
        let whole = monitor.snapshot().cpus[0].whole.clone();
        whole.gaps_ns.into_keys().collect::<Vec<Cause>>()
    };
    assert_eq!(causes(&run), [Cause::Unnamed]);
    run.pieces[0].events.push(KernelEvent {
        duration: 1,
        ..KernelEvent::default()
    });
    assert_eq!(causes(&run), [Cause::Host]);
}

#[test]
fn nothing_measured_is_nothing_shown() {
    let run = run("quiet", &[10_000.0], &[0], 0.5);
    let mut monitor = Monitor::new(&run.manifest, &run.series);
    monitor.finish();
    let shown = monitor.snapshot();
    assert_eq!(shown.cpus[0].whole.wall_ns, 0);
    assert_eq!(shown.cpus[0].now.number, 0);
    assert!(monitor.take_seconds().is_empty());
}
