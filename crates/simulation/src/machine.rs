//! A run on the simulated machine: the same loop, assembler and manifest as on a real one.
//!
//! CPUs are simulated one after the other and are independent of each other. Simulated time passes as
//! fast as it can be computed.

use crate::events::TIME_ERROR_TICKS;
use crate::kernels::{feels, kernel};
use crate::scenario::Scenario;
use crate::sink::{EXHAUSTED, SimulatedSink};
use crate::truth::{Truth, quantum_ticks};
use crate::world::{Unit, World};
use bandscope_recording::manifest::{
    Clock, ClockOrigin, Events, EventsState, MeasuringThread, SCHEMA, State,
};
use bandscope_recording::{Manifest, manifest};
use bandscope_sampler::machine::{Choice, Consumed, Length, StoreBypass, Watch};
use bandscope_sampler::{
    Batch, Clock as _, Machine, MachineError, Outcome, Request, Segment, check_quantum, measure,
};
use std::sync::atomic::AtomicBool;

/// The fastest rate: a quantum is then shorter than a unit of most work kernels.
const FASTEST_HZ: f64 = 1e7;
/// CPUs that the simulated machine has.
pub(crate) const CPUS: u32 = 128;
/// The shortest unit, in ticks: time must pass for the measuring loop, and a quantum's units must fit their counter.
const SHORTEST_UNIT_TICKS: f64 = 1.0;
/// Time between two segments, in nanoseconds: about what changing the work kernel takes.
const BETWEEN_SEGMENTS_NS: f64 = 10_000.0;

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

    /// As [`SimulatedMachine::truths`], and forgets them.
    pub fn into_truths(self) -> Vec<Truth> {
        self.truths
    }
}

/// A plain request: CPU 0, no start delay, segments of a second, nothing that a simulated machine lacks.
pub fn request(rates_hz: &[f64], kernels: &[&str], seconds: f64) -> Request {
    Request {
        cpus: vec![0],
        rates_hz: rates_hz.to_vec(),
        kernels: kernels.iter().map(|name| (*name).to_owned()).collect(),
        length: Length::Duration(seconds),
        start_delay_s: 0.0,
        segment_s: 1.0,
        ticks_per_ns: None,
        ordered_reads: false,
        buffered: false,
        counters: Choice::Off,
        trace: Choice::Off,
        watch: Watch::default(),
        tracepoints: Vec::new(),
        store_bypass: Default::default(),
        priority: None,
        housekeeping: Vec::new(),
        self_test: true,
    }
}

impl Machine for SimulatedMachine {
    fn prepare(&mut self, request: &Request) -> Result<Manifest, MachineError> {
        let cpus = if request.cpus.is_empty() {
            vec![0]
        } else {
            request.cpus.clone()
        };
        if request.store_bypass != StoreBypass::Leave {
            return Err(MachineError::Request(
                "the simulated machine has no such setting as speculative store bypass: `flips:memory=1` changes the pace of work kernels that go through memory".to_owned(),
            ));
        }
        if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= CPUS) {
            return Err(MachineError::Request(format!(
                "CPU {cpu} is not there: the simulated machine has CPUs 0-{}",
                CPUS - 1
            )));
        }
        let clock = self.clock(request);
        check_rates(request, self.used_ticks_per_ns(request))?;
        let settings = self.scenario.settings();
        let kernels = self.kernels(request)?;
        let wobble_ticks = settings.read_wobble_s * 1e9 * settings.ticks_per_ns;
        let events = events(request, &cpus, wobble_ticks);
        Ok(Manifest {
            schema: SCHEMA.into(),
            clock,
            kernels,
            machine: manifest::Machine {
                cpu_model: Some(format!("simulated ({})", self.scenario.text())),
                architecture: Some("simulated".into()),
                tick_hz: self.scenario.tick_hz(),
                // The other thread of a core is beyond the CPUs that can be measured.
                smt_siblings: (cpus.iter())
                    .map(|&cpu| match self.scenario.has_siblings() {
                        true => (cpu, format!("{cpu},{}", cpu + CPUS)),
                        false => (cpu, cpu.to_string()),
                    })
                    .collect(),
                ..manifest::Machine::default()
            },
            settings: manifest::Settings {
                machine: format!("simulated:{}", self.scenario.text()),
                cpus,
                rates_hz: request.rates_hz.clone(),
                kernels: request.kernels.clone(),
                segment_s: request.segment_s,
                duration_s: request.duration_s(),
                start_delay_s: request.start_delay_s,
                clock_read: "plain".into(),
                buffered: request.buffered,
                trace: request.trace.name().into(),
                store_bypass: request.store_bypass.name().into(),
                chosen: String::new(),
                ..manifest::Settings::default()
            },
            events,
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
            let world = self.world(cpu, request, manifest);
            let second = self.scenario.settings().ticks_per_ns * 1e9;
            let mut sink = SimulatedSink::new(cpu, world.clone(), second as u64, stop, consume);
            let (origin, stopped) = self.run_segments(request, manifest, &world, &mut sink);
            sink.flush();
            let error = sink.error.take();
            manifest.incidents.extend(sink.into_incidents());
            let truth = Truth {
                parts: (self.scenario).truths(request, self.used_ticks_per_ns(request)),
                ticks_per_ns: self.scenario.settings().ticks_per_ns,
                used_ticks_per_ns: self.used_ticks_per_ns(request),
                truncated: self.scenario.settings().truncates,
                ..world.take_truth()
            };
            self.truths.push(truth.since(origin));
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
    /// Ticks per nanosecond that quanta are made with.
    fn used_ticks_per_ns(&self, request: &Request) -> f64 {
        let settings = self.scenario.settings();
        let calibrated = settings.ticks_per_ns * (1.0 + settings.calibration_error);
        request.ticks_per_ns.unwrap_or(calibrated)
    }

    /// The work kernels asked for.
    fn kernels(&self, request: &Request) -> Result<Vec<manifest::Kernel>, MachineError> {
        let settings = self.scenario.settings();
        let mut kernels = Vec::new();
        for name in &request.kernels {
            let kernel = kernel(name, settings.ticks_per_ns, settings.unit_ratio)?;
            let Unit { ticks, feels } = unit(&kernel);
            let shortest = ticks * self.scenario.least_slowdown(feels);
            if shortest < SHORTEST_UNIT_TICKS {
                return Err(MachineError::Request(format!(
                    "work kernel {name}: found units of {shortest:.2e} ticks at the fastest pace of the scenario, expected at least {SHORTEST_UNIT_TICKS}; choose larger ratios or a faster clock"
                )));
            }
            kernels.push(kernel);
        }
        Ok(kernels)
    }

    fn clock(&self, request: &Request) -> Clock {
        let settings = self.scenario.settings();
        let used = self.used_ticks_per_ns(request);
        // Somebody said so; calibration knows better, and the manifest has both.
        let given = request.ticks_per_ns.is_some() || used != settings.ticks_per_ns;
        let given = given && !settings.prints_true_time;
        Clock {
            name: "simulated".into(),
            ticks_per_ns: if settings.prints_true_time {
                settings.ticks_per_ns
            } else {
                used
            },
            error_ppm: Some(0.0),
            measured_ticks_per_ns: given.then_some(settings.ticks_per_ns),
            origin: if given {
                ClockOrigin::Given
            } else {
                ClockOrigin::Simulated
            },
            invariant: Some(true),
            ..Clock::default()
        }
    }

    /// The machine as it is when `cpu` begins.
    fn world(&self, cpu: u32, request: &Request, manifest: &Manifest) -> World {
        let settings = self.scenario.settings();
        let unit = unit(&manifest.kernels[0]);
        let world = World::new(cpu, unit, self.scenario.disturbances(cpu));
        if settings.read_wobble_s > 0.0 {
            let ticks = settings.read_wobble_s * 1e9 * settings.ticks_per_ns;
            world.wobble(ticks, self.scenario.random(cpu, "reads", 0));
        }
        world.idle(request.start_delay_s * 1e9 * settings.ticks_per_ns);
        // Not before: what happens during the start delay is in no recording.
        if request.trace != Choice::Off {
            world.tell_events();
        }
        world
    }

    /// Runs all segments of one CPU; the origin, in ticks since the machine's start, and whether the run was
    /// stopped.
    fn run_segments(
        &self,
        request: &Request,
        manifest: &Manifest,
        world: &World,
        sink: &mut SimulatedSink<'_>,
    ) -> (f64, bool) {
        let settings = self.scenario.settings();
        let used = self.used_ticks_per_ns(request);
        let series = request.series();
        let (mut clock, mut kernel) = (world.clone(), world.clone());
        let origin = clock.now();
        sink.origin = origin;
        for (index, quanta) in request.segments() {
            let (rate, name) = &series[index];
            let Some(facts) = manifest.kernels.iter().find(|k| k.name == *name) else {
                continue;
            };
            world.change_unit(unit(facts));
            let segment = Segment {
                quantum_ticks: quantum_ticks(used, *rate, settings.truncates),
                quanta,
                gap_threshold_ticks: facts.gap_threshold_ticks,
                // Reading no counter takes no simulated time.
                handling_limit_ticks: facts.gap_threshold_ticks,
                origin,
            };
            if world.is_exhausted() {
                sink.error = Some(EXHAUSTED.into());
                return (origin as f64, true);
            }
            world.begin_segment(index, segment.quantum_ticks);
            let start = clock.now();
            sink.begin_segment(start - origin, index);
            let outcome = measure(&mut clock, &mut kernel, sink, &segment, start);
            world.end_segment();
            if outcome == Outcome::Stopped {
                return (origin as f64, true);
            }
            world.idle(BETWEEN_SEGMENTS_NS * settings.ticks_per_ns);
        }
        (origin as f64, false)
    }
}

/// What the manifest says of the kernel events: all are recorded where anybody asks, at no cost. Readings of the clock scatter by
/// `wobble_ticks`, and six deviations are as good as never.
fn events(request: &Request, cpus: &[u32], wobble_ticks: f64) -> Events {
    if request.trace == Choice::Off {
        return Events::default();
    }
    let tracepoints = [
        "irq_vectors:local_timer_entry",
        "irq:irq_handler_entry",
        "sched:sched_switch",
    ];
    Events {
        state: EventsState::On,
        tracepoints: tracepoints.map(str::to_owned).to_vec(),
        clock: "simulated".into(),
        time_error_ticks: Some(TIME_ERROR_TICKS + 6.0 * wobble_ticks),
        threads: cpus
            .iter()
            .map(|&cpu| MeasuringThread { cpu, pid: cpu + 1 })
            .collect(),
        ..Events::default()
    }
}

/// What the machine needs to know of a work kernel.
fn unit(kernel: &manifest::Kernel) -> Unit {
    Unit {
        ticks: kernel.best_ticks_per_unit.unwrap_or(1.0),
        feels: feels(&kernel.name),
    }
}

fn check_rates(request: &Request, ticks_per_ns: f64) -> Result<(), MachineError> {
    for &rate in &request.rates_hz {
        check_quantum(rate, ticks_per_ns)?;
        if rate > FASTEST_HZ {
            return Err(MachineError::Request(format!(
                "rate {rate} Hz: the simulated machine measures up to {FASTEST_HZ} Hz"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
