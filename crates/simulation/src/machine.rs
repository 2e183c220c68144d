//! A run on the simulated machine: the same loop, assembler and manifest as on a real one.
//!
//! CPUs are simulated one after the other and are independent of each other. Simulated time passes as
//! fast as it can be computed.

use crate::scenario::Scenario;
use crate::truth::Truth;
use crate::world::World;
use bandscope_recording::manifest::{Clock, Kernel, State};
use bandscope_recording::{Gap, Manifest, Quanta, manifest};
use bandscope_sampler::machine::Consumed;
use bandscope_sampler::{
    Assembler, Batch, Clock as _, Flow, GapRecord, Machine, MachineError, Outcome, QuantumRecord,
    Request, Segment, Sink, check_quantum, measure,
};
use std::sync::atomic::{AtomicBool, Ordering};

/// Ticks per nanosecond of the simulated clock: 2 GHz, as in the published X.
const TICKS_PER_NS: f64 = 2.0;
/// The fastest rate: a quantum is then shorter than a unit of most work kernels.
const FASTEST_HZ: f64 = 1e7;
/// CPUs that the simulated machine has.
const CPUS: u32 = 64;
/// Time between two segments, in ticks: 10 us, about what changing the work kernel takes.
const BETWEEN_SEGMENTS: f64 = 20_000.0;
/// What a scenario is told that leads beyond simulated time.
const EXHAUSTED: &str =
    "the simulated machine's 37 hours are over: choose a shorter run or smaller parameters";
/// Quanta that are handed over at a time.
const BATCH: usize = 1 << 15;

/// Work kernels of the simulated machine: name and nanoseconds of an undisturbed unit. The values are of
/// the order of what real cores do; `ftq-o2` is the published 23.96 ns.
const KERNELS: &[(&str, f64)] = &[
    ("mulss80", 112.25),
    ("fmul80", 112.25),
    ("mulss20", 37.125),
    ("fmul20", 37.125),
    ("imul20", 30.5),
    ("crc32x20", 30.5),
    ("ftq-o2", 23.96),
    ("ftq-unrolled", 22.5),
    ("ftq-o0", 128.2),
    ("ftq-float20-stack", 101.0),
];

/// A machine with known truth.
#[derive(Clone, Debug)]
pub struct SimulatedMachine {
    scenario: Scenario,
    truths: Vec<Truth>,
}

impl SimulatedMachine {
    /// A machine on which `scenario` happens.
    pub fn new(scenario: Scenario) -> SimulatedMachine {
        SimulatedMachine {
            scenario,
            truths: Vec::new(),
        }
    }

    /// What really happened in the last run, one entry a CPU.
    pub fn truths(&self) -> &[Truth] {
        &self.truths
    }
}

impl Machine for SimulatedMachine {
    fn prepare(&mut self, request: &Request) -> Result<Manifest, MachineError> {
        let cpus = if request.cpus.is_empty() {
            vec![0]
        } else {
            request.cpus.clone()
        };
        if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= CPUS) {
            return Err(MachineError::Request(format!(
                "CPU {cpu} is not there: the simulated machine has CPUs 0-{}",
                CPUS - 1
            )));
        }
        let clock = self.clock(request);
        check_rates(request, clock.ticks_per_ns)?;
        let kernels = request.kernels.iter().map(|name| kernel(name));
        Ok(Manifest {
            clock,
            kernels: kernels.collect::<Result<_, _>>()?,
            machine: manifest::Machine {
                cpu_model: Some(format!("simulated ({})", self.scenario.text())),
                architecture: Some("simulated".into()),
                ..manifest::Machine::default()
            },
            settings: manifest::Settings {
                machine: format!("simulated:{}", self.scenario.text()),
                cpus,
                buffered: request.buffered,
                ..manifest::Settings::default()
            },
            ..Manifest::default()
        })
    }

    fn run(
        &mut self,
        request: &Request,
        manifest: &mut Manifest,
        stop: &AtomicBool,
        consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
    ) -> Result<(), MachineError> {
        self.truths.clear();
        manifest.state = State::Complete;
        for cpu in manifest.settings.cpus.clone() {
            let disturbances = self.scenario.disturbances(cpu, TICKS_PER_NS * 1e9);
            let world = World::new(cpu, 1.0, disturbances);
            let mut sink = SimulatedSink::new(cpu, world.clone(), stop, consume);
            let stopped = run_segments(request, manifest, &world, &mut sink);
            sink.flush();
            let error = sink.error.take();
            self.truths.push(world.truth());
            if let Some(error) = error {
                manifest.state = State::Failed;
                return Err(MachineError::Consumer(error));
            }
            if stopped {
                manifest.state = State::Interrupted;
                break;
            }
        }
        Ok(())
    }
}

impl SimulatedMachine {
    fn clock(&self, request: &Request) -> Clock {
        let measured = TICKS_PER_NS * (1.0 + self.scenario.calibration_error());
        Clock {
            name: "simulated".into(),
            ticks_per_ns: request.ticks_per_ns.unwrap_or(measured),
            error_ppm: Some(0.0),
            measured_ticks_per_ns: request.ticks_per_ns.map(|_| measured),
            origin: if request.ticks_per_ns.is_some() {
                "given".into()
            } else {
                "simulated".into()
            },
            invariant: Some(true),
            ..Clock::default()
        }
    }
}

fn check_rates(request: &Request, ticks_per_ns: f64) -> Result<(), MachineError> {
    for &rate in &request.rates_hz {
        check_quantum(rate, ticks_per_ns).map_err(MachineError::Request)?;
        if rate > FASTEST_HZ {
            return Err(MachineError::Request(format!(
                "rate {rate} Hz: the simulated machine measures up to {FASTEST_HZ} Hz"
            )));
        }
    }
    Ok(())
}

fn kernel(name: &str) -> Result<Kernel, MachineError> {
    let Some((name, ns)) = KERNELS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<_> = KERNELS.iter().map(|(name, _)| *name).collect();
        return Err(MachineError::Request(format!(
            "no work kernel is called {name:?}; the simulated machine has: {}",
            known.join(", ")
        )));
    };
    let ticks = ns * TICKS_PER_NS;
    Ok(Kernel {
        name: (*name).into(),
        description: "simulated".into(),
        gap_threshold_ticks: (ticks * 10.0).max(ticks + 1000.0) as u64,
        best_ticks_per_unit: Some(ticks),
        placement_spread: Some(0.0),
        invariant: Some(true),
        boundary_ticks: Some(0.0),
        ..Kernel::default()
    })
}

/// Runs all segments of one CPU; true if the run was stopped.
fn run_segments(
    request: &Request,
    manifest: &Manifest,
    world: &World,
    sink: &mut SimulatedSink<'_>,
) -> bool {
    let series = request.series();
    let (mut clock, mut kernel) = (world.clone(), world.clone());
    world.change_unit(manifest.kernels[0].best_ticks_per_unit.unwrap_or(1.0));
    world.idle(request.start_delay_s * 1e9 * TICKS_PER_NS);
    let origin = clock.now();
    for (index, quanta) in request.segments() {
        let (rate, name) = &series[index];
        let Some(facts) = manifest.kernels.iter().find(|k| k.name == *name) else {
            continue;
        };
        world.change_unit(facts.best_ticks_per_unit.unwrap_or(1.0));
        let segment = Segment {
            quantum_ticks: manifest.clock.ticks_per_ns * 1e9 / rate,
            quanta,
            gap_threshold_ticks: facts.gap_threshold_ticks,
            // Reading no counter takes no simulated time.
            handling_limit_ticks: facts.gap_threshold_ticks,
            origin,
        };
        if world.is_exhausted() {
            sink.error = Some(EXHAUSTED.into());
            return true;
        }
        let start = clock.now();
        sink.begin_segment(start - origin, index);
        if measure(&mut clock, &mut kernel, sink, &segment, start) == Outcome::Stopped {
            return true;
        }
        world.idle(BETWEEN_SEGMENTS);
    }
    false
}

/// Keeps records until there are enough of them, then hands them over as columns.
struct SimulatedSink<'a> {
    cpu: u32,
    world: World,
    stop: &'a AtomicBool,
    consume: &'a mut dyn FnMut(Batch<'_>) -> Consumed,
    error: Option<Box<dyn std::error::Error + Send + Sync>>,
    assembler: Assembler,
    records: Vec<QuantumRecord>,
    gap_records: Vec<GapRecord>,
    quanta: Quanta,
    gaps: Vec<Gap>,
    /// Quanta of the segment so far.
    number: u64,
}

impl<'a> SimulatedSink<'a> {
    fn new(
        cpu: u32,
        world: World,
        stop: &'a AtomicBool,
        consume: &'a mut dyn FnMut(Batch<'_>) -> Consumed,
    ) -> SimulatedSink<'a> {
        SimulatedSink {
            cpu,
            world,
            stop,
            consume,
            error: None,
            assembler: Assembler::new(0),
            records: Vec::with_capacity(BATCH + 1),
            gap_records: Vec::new(),
            quanta: Quanta::default(),
            gaps: Vec::new(),
            number: 0,
        }
    }

    fn begin_segment(&mut self, start: u64, series: usize) {
        self.number = 0;
        self.records
            .push(QuantumRecord::segment(start, series as u32, self.cpu));
    }

    fn flush(&mut self) {
        let (cpu, consume, error) = (self.cpu, &mut *self.consume, &mut self.error);
        let mut hand_over = |series: u32, quanta: &mut Quanta, gaps: &mut Vec<Gap>| {
            if error.is_none() && !quanta.is_empty() {
                let batch = Batch {
                    cpu,
                    series: series as usize,
                    quanta,
                    gaps,
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
        self.records.push(record);
        if self.records.len() >= BATCH {
            self.flush();
        }
        if self.error.is_some() || self.stop.load(Ordering::Relaxed) {
            return Flow::Stop;
        }
        if self.world.is_exhausted() {
            self.error = Some(EXHAUSTED.into());
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

    fn handled(&mut self, _ticks: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_sampler::machine::{Choice, Length};

    fn request(rates_hz: Vec<f64>, seconds: f64) -> Request {
        Request {
            cpus: vec![2],
            rates_hz,
            kernels: vec!["mulss80".into()],
            length: Length::Duration(seconds),
            start_delay_s: 0.0,
            segment_s: 0.1,
            ticks_per_ns: None,
            ordered_reads: false,
            buffered: false,
            counters: Choice::Off,
            self_test: true,
        }
    }

    /// Runs a scenario and returns the quanta and gaps of each series, and the truth.
    fn run(scenario: &str, request: &Request) -> (Vec<Quanta>, Vec<Gap>, Truth) {
        let mut machine = SimulatedMachine::new(Scenario::parse(scenario).unwrap());
        let mut manifest = machine.prepare(request).unwrap();
        let mut quanta = vec![Quanta::default(); request.series().len()];
        let mut gaps = Vec::new();
        machine
            .run(
                request,
                &mut manifest,
                &AtomicBool::new(false),
                &mut |batch| {
                    (0..batch.quanta.len())
                        .for_each(|k| quanta[batch.series].push(batch.quanta.get(k)));
                    gaps.extend_from_slice(batch.gaps);
                    Ok(())
                },
            )
            .unwrap();
        assert_eq!(manifest.state, State::Complete);
        (quanta, gaps, machine.truths()[0].clone())
    }

    #[test]
    fn a_quiet_machine_has_one_pace_and_no_gap() {
        let (quanta, gaps, truth) = run("quiet", &request(vec![10_000.0], 0.5));
        assert_eq!(quanta[0].len(), 5000);
        assert!(gaps.is_empty() && truth.absences.is_empty());
        for k in 0..5000 {
            let pace = quanta[0].get(k).pace().unwrap() / TICKS_PER_NS;
            // Ends are whole ticks: half a tick at either end of 890 units.
            assert!((pace - 112.25).abs() < 0.5 / 890.0, "{pace}");
        }
    }

    #[test]
    fn every_absence_is_a_gap_of_its_length_and_a_unit() {
        let (quanta, gaps, truth) = run("tick:hz=1000,cost=2.5us", &request(vec![10_000.0], 0.5));
        assert_eq!(gaps.len(), 500);
        assert_eq!(truth.absences.len(), gaps.len());
        for (gap, absence) in gaps.iter().zip(&truth.absences) {
            let lost = gap.duration as f64 - 112.25 * TICKS_PER_NS;
            assert!((lost - absence.length).abs() <= 1.0, "{lost}");
        }
        let in_quanta: u64 = quanta[0].gap_ticks.iter().sum();
        assert_eq!(in_quanta, gaps.iter().map(|gap| gap.duration).sum::<u64>());
    }

    #[test]
    fn a_flip_of_pace_is_no_gap() {
        let (quanta, gaps, truth) = run("flips", &request(vec![10_000.0], 0.2));
        assert!(gaps.is_empty());
        assert!(truth.paces.len() > 190);
        let slow = quanta[0].count.iter().filter(|&&count| count < 170).count();
        // 1 ms of each 2 ms is slow: 10 quanta of 20, less at most one edge.
        assert!((900..=1000).contains(&slow), "{slow}");
    }

    #[test]
    fn rates_alternate_and_segments_are_numbered() {
        let (quanta, _, _) = run("tick", &request(vec![10_000.0, 7_777.0], 0.4));
        assert_eq!(quanta[0].len(), 2000);
        assert_eq!(quanta[1].len(), (0.2f64 * 7_777.0).round() as usize);
        assert_eq!(quanta[0].segment.last(), Some(&2));
        assert_eq!(quanta[1].segment.last(), Some(&3));
    }

    #[test]
    fn a_wrong_calibration_shortens_the_quanta() {
        let (quanta, _, _) = run("drift:ppm=750", &request(vec![10_000.0], 0.5));
        let last = quanta[0].end[4999] as f64;
        assert!((last / (5000.0 * 200_000.0) - 1.00075).abs() < 1e-6);
    }

    #[test]
    fn simulated_time_ends_in_an_error() {
        for (scenario, delay) in [("tick:cost=1000000s", 0.0), ("quiet", 180_000.0)] {
            let mut machine = SimulatedMachine::new(Scenario::parse(scenario).unwrap());
            let request = Request {
                start_delay_s: delay,
                ..request(vec![1e4], 1.0)
            };
            let mut manifest = machine.prepare(&request).unwrap();
            let stop = AtomicBool::new(false);
            let error = machine.run(&request, &mut manifest, &stop, &mut |_| Ok(()));
            assert!(error.unwrap_err().to_string().contains("37 hours"));
            assert_eq!(manifest.state, State::Failed);
        }
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        let mut machine = SimulatedMachine::new(Scenario::parse("quiet").unwrap());
        let mut wrong = request(vec![0.0], 1.0);
        assert!(
            machine
                .prepare(&wrong)
                .unwrap_err()
                .to_string()
                .contains("rate 0 Hz")
        );
        wrong = request(vec![1e4], 1.0);
        wrong.cpus = vec![64];
        assert!(
            machine
                .prepare(&wrong)
                .unwrap_err()
                .to_string()
                .contains("CPU 64")
        );
        wrong.cpus = vec![0];
        wrong.kernels = vec!["nothing".into()];
        assert!(
            machine
                .prepare(&wrong)
                .unwrap_err()
                .to_string()
                .contains("mulss80")
        );
    }
}
