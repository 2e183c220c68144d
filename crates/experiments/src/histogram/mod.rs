//! Fixed work instead of fixed time: how long N us of a loop or work kernel take, again and again, one thread a CPU.
//!
//! All lengths of work and all kernels take turns in slices, so that they see the same machine. Out comes a
//! `recording::histogram::FixedWork`, which `studies::histogram` explains; `bandscope histogram` does both.

mod request;
mod rung;
mod work;

use crate::Error;
use bandscope_probe::calibration::Calibration;
use bandscope_probe::{clock, facts, pin, preparation};
use bandscope_recording::histogram::{FixedWork, Histogram, SCHEMA};
use bandscope_recording::manifest::{self, ClockOrigin, Missing, State};
use bandscope_sampler::MachineError;
use bandscope_sampler::machine::Length;
pub use request::Request;
use rung::{Amount, LOOK_NS, Rung, Seen};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};
use work::Work;
pub use work::names;

/// Length of a slice: short against what changes on a machine, long against the samples.
const SLICE_NS: f64 = 50e6;
/// How long the first work runs before it counts, as of `record` (docs/method.md, section 8.23).
const WARM_UP_NS: f64 = 200e6;
/// How often the calling thread looks, where it has a CPU of its own.
const NAP: Duration = Duration::from_millis(100);

/// What a measuring thread does, and where its samples go.
struct Task<'a> {
    cpu: u32,
    rungs: &'a [(String, f64)],
    seen: &'a Mutex<Vec<(Amount, Seen)>>,
    ticks_per_ns: f64,
    origin: u64,
    length: Length,
    stop: &'a AtomicBool,
}

/// Measures. `progress` hears the part that is done, from 0 to 1, and may ask for what was measured until then; it is not called
/// where every CPU is measured. When `stop` becomes true, what was measured is returned.
///
/// # Errors
/// [`MachineError::Request`] for what cannot be had; [`MachineError::Refused`] if a thread cannot be made or pinned.
pub fn run(
    request: &Request,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(f64, &dyn Fn() -> FixedWork),
) -> Result<FixedWork, MachineError> {
    let allowed = pin::allowed().map_err(|error| {
        MachineError::Refused(format!("cannot ask which CPUs may be used: {error}"))
    })?;
    request.check(&pin::reachable().unwrap_or_else(|_| allowed.clone()))?;
    let mut calibration = Calibration::default();
    calibration.read();
    let ticks_per_ns = preparation::rough_ticks_per_ns();
    let cpus = request.choose(&allowed, ticks_per_ns)?;
    let mut measured = empty(&cpus);
    let measurement = Measurement {
        seen: cpus.iter().map(|_| Mutex::default()).collect(),
        cpus,
        rungs: (request.kernels.iter())
            .flat_map(|kernel| request.works_us.iter().map(|work| (kernel.clone(), *work)))
            .collect(),
        tick_hz: measured.machine.tick_hz,
        ticks_per_ns,
        origin_unix_ns: bandscope_probe::unix_ns(),
        origin: clock::ticks(),
        length: request.length,
    };
    let others: Vec<u32> = (allowed.iter().copied())
        .filter(|cpu| !measurement.cpus.contains(cpu))
        .collect();
    let _restore = pin::Restore::remember();
    if !others.is_empty() {
        // If it cannot be had, this thread disturbs what it measures, and the samples will show it.
        let _ = pin::pin(&others);
    }
    let mut tell = |part: f64| {
        progress(part, &|| FixedWork {
            histograms: measurement.histograms(ticks_per_ns),
            ..measured.clone()
        });
    };
    let tell: &mut dyn FnMut(f64) = &mut tell;
    let lost = measurement.run(stop, (!others.is_empty()).then_some(tell))?;
    measured.missing.extend(lost.into_iter().map(|why| Missing {
        what: "a CPU".to_owned(),
        why,
        leaves_undecided: "how long work takes on it".to_owned(),
    }));
    measured.missing.extend(measurement.other_lengths());
    let clock = clock_of(calibration, &measurement)?;
    measured.histograms = measurement.histograms(clock.ticks_per_ns);
    measured
        .histograms
        .retain(|histogram| histogram.samples > 0);
    measured.state = match stop.load(Ordering::Relaxed) {
        true => State::Interrupted,
        false => State::Complete,
    };
    measured.clock = Some(clock);
    Ok(measured)
}

/// What all threads measure, and what they have measured so far.
struct Measurement {
    cpus: Vec<u32>,
    /// Kernels and lengths of work in microseconds.
    rungs: Vec<(String, f64)>,
    /// By CPU: what each rung is made of, and its samples.
    seen: Vec<Mutex<Vec<(Amount, Seen)>>>,
    tick_hz: Option<f64>,
    ticks_per_ns: f64,
    origin: u64,
    /// The wall clock at the origin.
    origin_unix_ns: i64,
    length: Length,
}

impl Measurement {
    /// A thread a CPU, until all have ended; `tell` hears the part that is done. Says why CPUs were lost, unless all were.
    fn run(
        &self,
        stop: &AtomicBool,
        tell: Option<&mut dyn FnMut(f64)>,
    ) -> Result<Vec<String>, MachineError> {
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (&cpu, seen) in self.cpus.iter().zip(&self.seen) {
                let task = Task {
                    cpu,
                    rungs: &self.rungs,
                    seen,
                    ticks_per_ns: self.ticks_per_ns,
                    origin: self.origin,
                    length: self.length,
                    stop,
                };
                let thread = thread::Builder::new().spawn_scoped(scope, move || task.run());
                threads.push(thread.map_err(|error| {
                    MachineError::Refused(format!(
                        "CPU {cpu}: cannot make a thread for it: {error}"
                    ))
                })?);
            }
            if let Some(tell) = tell {
                follow(self.length, &threads, tell);
            }
            let ended = threads.into_iter().map(|thread| {
                let died = |_| Err(Error::Panicked("a measuring thread"));
                thread.join().unwrap_or_else(died)
            });
            // All of them, so that none is left behind an error.
            let ended: Vec<Result<(), Error>> = ended.collect();
            let lost = ended.into_iter().filter_map(Result::err);
            let lost: Vec<String> = lost.map(|why| why.to_string()).collect();
            // A CPU that went offline does not take the others' samples along.
            match lost.len() < self.cpus.len() {
                true => Ok(lost),
                false => Err(MachineError::Refused(lost.join("; "))),
            }
        })
    }

    /// What there is by now, at this rate of the clock.
    fn histograms(&self, ticks_per_ns: f64) -> Vec<Histogram> {
        let of = |(cpu, seen): (&u32, &Mutex<Vec<(Amount, Seen)>>)| {
            let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let rungs = self.rungs.iter().zip(seen.iter());
            rungs
                .map(|((kernel, work_us), (amount, seen))| {
                    let named = Histogram {
                        cpu: Some(*cpu),
                        kernel: kernel.clone(),
                        work_us: Some(self.other_us(*work_us, *amount).unwrap_or(*work_us)),
                        turns: Some(amount.turns),
                        tick_hz: self.tick_hz,
                        ..Histogram::default()
                    };
                    seen.histogram(ticks_per_ns, named)
                })
                .collect::<Vec<_>>()
        };
        self.cpus.iter().zip(&self.seen).flat_map(of).collect()
    }

    /// How long the work takes, in microseconds, where that is not what was asked for.
    fn other_us(&self, asked_us: f64, amount: Amount) -> Option<f64> {
        let ticks = asked_us * 1e3 * self.ticks_per_ns;
        (amount.ticks != ticks).then(|| amount.ticks / ticks * asked_us)
    }

    /// Lengths of work that no whole turns make up, each once.
    fn other_lengths(&self) -> Vec<Missing> {
        let missing = |(index, (kernel, asked)): (usize, &(String, f64))| {
            let mut all = self.cpus.iter().zip(&self.seen);
            all.find_map(|(cpu, seen)| {
                let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                let amount = seen.get(index)?.0;
                let other = self.other_us(*asked, amount)?;
                Some(Missing {
                    what: format!("{asked} µs of {kernel}"),
                    why: format!(
                        "whole turns come no nearer than {other:.3} µs on CPU {cpu}, which was measured"
                    ),
                    leaves_undecided: format!("how long {asked} µs of it take"),
                })
            })
        };
        self.rungs.iter().enumerate().filter_map(missing).collect()
    }
}

/// The clock as the whole run calibrated it.
fn clock_of(
    mut calibration: Calibration,
    measurement: &Measurement,
) -> Result<manifest::Clock, MachineError> {
    calibration.read();
    let fit = calibration.fit().ok_or_else(|| {
        MachineError::Refused(
            "the CPU's counter does not advance, so it cannot be used as a clock".into(),
        )
    })?;
    Ok(manifest::Clock {
        name: clock::NAME.to_owned(),
        ticks_per_ns: fit.ticks_per_ns,
        error_ppm: Some(fit.error_ppm),
        origin: ClockOrigin::Calibrated,
        readings: calibration.rows(measurement.origin),
        invariant: clock::invariant(),
        origin_ticks: measurement.origin,
        origin_unix_ns: measurement.origin_unix_ns,
        read_ticks: clock::read_costs(),
        ..manifest::Clock::default()
    })
}

/// Tells how far it is, until all threads have ended.
fn follow(
    length: Length,
    threads: &[ScopedJoinHandle<'_, Result<(), Error>>],
    tell: &mut dyn FnMut(f64),
) {
    let begun = Instant::now();
    while !threads.iter().all(ScopedJoinHandle::is_finished) {
        thread::sleep(NAP);
        tell(match length {
            Length::Duration(seconds) => (begun.elapsed().as_secs_f64() / seconds).min(1.0),
            Length::Samples(_) => f64::NAN,
        });
    }
}

impl Task<'_> {
    /// On a thread of its own.
    fn run(&self) -> Result<(), Error> {
        let cpu = self.cpu;
        pin::pin(&[cpu]).map_err(|error| Error::Pin { cpu, error })?;
        let ticks = |ns: f64| (ns * self.ticks_per_ns) as u64;
        let mut rungs = self.chosen(ticks(LOOK_NS))?;
        if self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        if let Some(first) = rungs.first_mut() {
            first.measure(ticks(WARM_UP_NS), u64::MAX, self.origin, self.stop);
            first.publish(&mut Seen::default());
        }
        *self.lock() = rungs
            .iter()
            .map(|rung| (rung.amount, Seen::default()))
            .collect();
        let (samples, duration) = match self.length {
            Length::Samples(samples) => (samples, u64::MAX),
            Length::Duration(seconds) => (u64::MAX, ticks(seconds * 1e9)),
        };
        let begun = clock::ticks();
        loop {
            let mut left = false;
            for (index, rung) in rungs.iter_mut().enumerate() {
                let missing = samples - self.lock()[index].1.samples().min(samples);
                let spent = clock::ticks().wrapping_sub(begun);
                // Every rung has its first slice, so that none is without a sample in a short run.
                let first = missing == samples;
                if missing == 0 || (spent >= duration && !first) {
                    continue;
                }
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                left = true;
                let share = duration / (4 * self.rungs.len() as u64);
                rung.measure(ticks(SLICE_NS).min(share), missing, self.origin, self.stop);
                rung.publish(&mut self.lock()[index].1);
            }
            if !left {
                return Ok(());
            }
        }
    }

    /// Every length of work of every kernel, and how many turns it takes.
    fn chosen(&self, look: u64) -> Result<Vec<Rung>, Error> {
        let mut rungs: Vec<Rung> = Vec::with_capacity(self.rungs.len());
        for (index, (kernel, work_us)) in self.rungs.iter().enumerate() {
            let work = Work::named(kernel)?;
            let ticks = work_us * 1e3 * self.ticks_per_ns;
            let mut rung = Rung::new(work, ticks, look, self.stop);
            // Turns that make up several lengths have one length.
            let mut before = self.rungs.iter().zip(&rungs).take(index);
            let same = before
                .find(|((name, _), it)| name == kernel && it.amount.turns == rung.amount.turns);
            if let Some((_, same)) = same {
                rung.amount = same.amount;
            }
            rungs.push(rung);
        }
        Ok(rungs)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Amount, Seen)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known before anything is measured.
fn empty(cpus: &[u32]) -> FixedWork {
    let machine = facts::gather(cpus);
    let mut missing = Vec::new();
    if machine.tick_hz.is_none() {
        missing.push(Missing {
            what: "tick".to_owned(),
            why: "the resolution of CLOCK_MONOTONIC_COARSE is not that of a tick".to_owned(),
            leaves_undecided: "whether each tick made a sample slow".to_owned(),
        });
    }
    FixedWork {
        schema: SCHEMA.to_owned(),
        machine,
        missing,
        ..FixedWork::default()
    }
}

#[cfg(test)]
mod tests;
