//! A disturber of known kind, period and length, which says what it really did on the clock of recordings.
//!
//! [`Disturber::start`] calibrates the clock and starts a thread on the CPU to be disturbed (`thread.rs`), which follows a
//! plan (`plan.rs`) and does what its kind does (`action.rs` and a file each). What it did passes through a ring; whoever
//! started it takes the rows out from another CPU, so that writing them disturbs nothing. The log's format is
//! [`bandscope_recording::disturbances`]; the command is `bandscope inject`; docs/inject.md.

mod action;
mod child;
mod faults;
mod kinds;
mod neighbour;
mod plan;
mod request;
mod signal;
mod softirq;
mod spin;
mod thread;
mod usage;
mod witness;

use crate::Error;
use action::Waiting;
use bandscope_probe::calibration::Calibration;
use bandscope_probe::priority::{self, Scheduling};
use bandscope_probe::ring::{Reader, Writer, ring};
use bandscope_probe::{clock, pin};
use bandscope_recording::disturbances::{Disturbance, End, Header, SCHEMA, Settings, Task};
use bandscope_recording::events::escaped;
use bandscope_recording::manifest::{self, ClockOrigin, Missing, State};
use bandscope_sampler::MachineError;
use bandscope_sampler::machine::Priority;
pub use child::{pass_on, start_bound};
pub use kinds::{Kind, Neighbour, UnknownKind};
use plan::Plan;
pub use request::{Request, choose_cpu, choose_neighbour};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use thread::{Assembler, Entry, Orders, Tally};

/// The clock is calibrated for so long before the first disturbance, as before a recording; the whole run corrects it.
const CALIBRATION: Duration = Duration::from_millis(120);
/// Entries that the ring holds while they are taken out as they come: 4 MiB, or 6 s of 10,000 a second.
const RING: usize = 1 << 16;
/// And where they all must stay until the end, because there is no other CPU: 64 MiB, or 100 s of 10,000 a second.
const LARGE_RING: usize = 1 << 20;
/// What is said of a disturbing thread that panicked.
const PANICKED: Error = Error::Panicked("the disturbing thread");

/// A thread that disturbs, and what it has done so far. Dropping it ends it.
#[derive(Debug)]
pub struct Disturber {
    header: Header,
    kind: Kind,
    calibration: Calibration,
    waiting: Arc<Waiting>,
    tally: Arc<Tally>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    reader: Reader<Entry>,
    assembler: Assembler,
    rows: u64,
    others: Vec<u32>,
    counts: BTreeMap<String, u64>,
}

/// What the thread says of itself when it is ready.
struct Ready {
    name: String,
    thread: u32,
    scheduling: Scheduling,
    sees_absences: bool,
}

impl Disturber {
    /// Checks the request, calibrates the clock, and starts to disturb.
    ///
    /// # Errors
    /// [`MachineError::Request`] if period, length and jitter do not fit, or the CPU is not to be had;
    /// [`MachineError::Refused`] if the machine refuses what the kind needs.
    pub fn start(request: &Request) -> Result<Disturber, MachineError> {
        request.check()?;
        let others = request.others()?;
        let (calibration, ticks_per_ns, error_ppm) = calibrate()?;
        let ticks = |seconds: f64| seconds * 1e9 * ticks_per_ns;
        let waiting = Arc::new(Waiting {
            stop: AtomicBool::new(false),
            ticks_per_ns,
            away_threshold: (spin::AWAY_NS * ticks_per_ns) as u64,
        });
        let tally = Arc::new(Tally::default());
        let size = if others.is_empty() { LARGE_RING } else { RING };
        let (writer, reader) = ring(size)
            .map_err(|error| MachineError::Refused(format!("no memory for the log: {error}")))?;
        let counts = witness::counts(request.kind, request.cpu);
        let origin = clock::ticks();
        let plan = Plan {
            origin,
            period_ticks: ticks(request.period_s),
            jitter_ticks: ticks(request.jitter_s),
            seed: request.seed,
        };
        let orders = Orders {
            plan,
            length_ticks: ticks(request.length_s) as u64,
            last_tick: request.duration_s.map(|seconds| plan.end(ticks(seconds))),
            cpu: request.cpu,
        };
        let (thread, ready) = spawn(request, orders, &waiting, &tally, writer)?;
        let clock = clock_of(&calibration, origin, ticks_per_ns, error_ppm);
        Ok(Disturber {
            header: header(request, ready, clock, &waiting, others.is_empty()),
            kind: request.kind,
            calibration,
            waiting,
            tally,
            thread: Some(thread),
            reader,
            assembler: Assembler::default(),
            rows: 0,
            others,
            counts,
        })
    }

    /// The first line of its log; the caller adds which program it was, when, and the command that ran meanwhile.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Keeps the calling thread off the disturbed CPU until the answer is dropped; `None` where there is no other CPU.
    pub fn step_aside(&self) -> Option<pin::Restore> {
        if self.others.is_empty() {
            return None;
        }
        let restore = pin::Restore::remember().ok()?;
        // If they cannot be had the caller disturbs by itself, a little and unlogged, as if there were no others.
        pin::pin(&self.others).ok()?;
        Some(restore)
    }

    /// Whether there is no other CPU: then rows are best taken at the end.
    pub fn alone(&self) -> bool {
        self.others.is_empty()
    }

    /// Whether it has come to its end by itself.
    pub fn ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// What it has done since the last call.
    pub fn take(&mut self) -> Vec<Disturbance> {
        self.calibration.read();
        self.drain()
    }

    fn drain(&mut self) -> Vec<Disturbance> {
        let mut entries = Vec::new();
        self.reader.take(u64::MAX, &mut entries);
        let taken = entries.into_iter();
        let rows: Vec<_> = taken
            .filter_map(|entry| self.assembler.take(entry))
            .collect();
        self.rows += rows.len() as u64;
        rows
    }

    /// Ends it. Returns what it has done since the last [`Disturber::take`], and the last line of its log.
    pub fn finish(mut self) -> (Vec<Disturbance>, End) {
        let outcome = self.stop();
        let rows = self.take();
        let mut clock = self.header.clock.clone();
        if let Some(fit) = self.calibration.fit() {
            clock.ticks_per_ns = fit.ticks_per_ns;
            clock.error_ppm = Some(fit.error_ppm);
        }
        clock.readings = self.calibration.rows(clock.origin_ticks);
        let after = witness::counts(self.kind, self.header.cpu);
        let end = End {
            state: match outcome {
                Ok(()) => State::Complete,
                Err(_) => State::Failed,
            },
            disturbances: self.rows,
            skipped: self.tally.skipped.load(Ordering::Relaxed),
            lost: self.tally.lost.load(Ordering::Relaxed),
            why: outcome.err().map(|why| why.to_string()),
            clock,
            kernel_counts: witness::grown(&self.counts, after),
        };
        (rows, end)
    }

    /// Ends the thread and waits for it.
    fn stop(&mut self) -> Result<(), Error> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        self.waiting.stop.store(true, Ordering::Relaxed);
        thread.thread().unpark();
        if self.kind == Kind::Signal && !thread.is_finished() {
            signal::wake(self.header.task.thread);
        }
        thread.join().unwrap_or(Err(PANICKED))
    }
}

impl Drop for Disturber {
    fn drop(&mut self) {
        // Nobody is left to be told how it ended.
        let _ = self.stop();
    }
}

fn calibrate() -> Result<(Calibration, f64, f64), MachineError> {
    let mut calibration = Calibration::default();
    for _ in 0..4 {
        calibration.read();
        std::thread::sleep(CALIBRATION / 4);
    }
    calibration.read();
    let fit = calibration.fit().ok_or_else(|| {
        MachineError::Refused(
            "the CPU's counter does not advance, so it cannot be used as a clock".to_owned(),
        )
    })?;
    Ok((calibration, fit.ticks_per_ns, fit.error_ppm))
}

/// Starts the disturbing thread, and waits until it is ready.
fn spawn(
    request: &Request,
    orders: Orders,
    waiting: &Arc<Waiting>,
    tally: &Arc<Tally>,
    mut writer: Writer<Entry>,
) -> Result<(JoinHandle<Result<(), Error>>, Ready), MachineError> {
    let (sender, ready) = mpsc::channel();
    let (kind, priority, length_ns) = (request.kind, request.priority, request.length_s * 1e9);
    let (waiting, tally) = (waiting.clone(), tally.clone());
    // A report books threads to their process: it is to show the disturber, not the program that is measured with. Where it fails the
    // name of the program stands there.
    let _ = std::fs::write("/proc/self/comm", kind.thread_name());
    let thread = std::thread::Builder::new()
        .name(kind.thread_name().to_owned())
        .spawn(move || {
            let (mut action, ready) = match set_up((kind, priority), orders.cpu, length_ns) {
                Ok(made) => made,
                Err(why) => {
                    // Whoever waits is told by the thread's end, too.
                    let _ = sender.send(Err(why));
                    return Ok(());
                }
            };
            let _ = sender.send(Ok(ready));
            thread::disturb(&mut *action, &orders, &waiting, &tally, &mut writer)
        })
        .map_err(|error| MachineError::Refused(format!("cannot make a thread: {error}")))?;
    let ready = ready
        .recv()
        .unwrap_or(Err(PANICKED))
        .map_err(|why| MachineError::Refused(why.to_string()))?;
    Ok((thread, ready))
}

/// In the disturbing thread: its CPU, its priority, and what its kind needs.
fn set_up(
    (kind, wanted): (Kind, Priority),
    cpu: u32,
    length_ns: f64,
) -> Result<(Box<dyn action::Action>, Ready), Error> {
    pin::pin(&[cpu]).map_err(|error| Error::Pin { cpu, error })?;
    // A neighbour may keep its CPU busy all the time, where others want to run, too.
    let mut scheduling = priority::raise(kind.takes_the_cpu());
    if scheduling.priority > 0 {
        match priority::set(wanted) {
            Ok(()) => scheduling.priority = wanted.level.into(),
            Err(error) => scheduling.why = Some(error.to_string()),
        }
    }
    let action = action::action(kind, length_ns).map_err(|error| Error::Prepare { kind, error })?;
    let ready = Ready {
        name: own_name().unwrap_or_else(|| kind.thread_name().to_owned()),
        thread: rustix::thread::gettid().as_raw_nonzero().get() as u32,
        scheduling,
        sees_absences: action.sees_absences(),
    };
    Ok((action, ready))
}

/// The calling thread's name as the kernel has it, escaped as in kernel events.
fn own_name() -> Option<String> {
    let name = rustix::thread::name().ok()?;
    Some(escaped(name.to_bytes()))
}

fn clock_of(
    calibration: &Calibration,
    origin: u64,
    ticks_per_ns: f64,
    error_ppm: f64,
) -> manifest::Clock {
    // The wall clock at the origin, from what it reads now.
    let (now, unix_ns) = (clock::ticks(), bandscope_probe::unix_ns());
    let passed = (now.wrapping_sub(origin) as f64 / ticks_per_ns) as i64;
    manifest::Clock {
        name: clock::NAME.to_owned(),
        ticks_per_ns,
        error_ppm: Some(error_ppm),
        origin: ClockOrigin::Calibrated,
        readings: calibration.rows(origin),
        invariant: clock::invariant(),
        origin_ticks: origin,
        origin_unix_ns: unix_ns - passed,
        ..manifest::Clock::default()
    }
}

fn header(
    request: &Request,
    ready: Ready,
    clock: manifest::Clock,
    waiting: &Waiting,
    alone: bool,
) -> Header {
    let mut missing = Vec::new();
    if let Some(why) = ready.scheduling.why {
        missing.push(Missing {
            what: format!("real-time priority {}", request.priority.level),
            why,
            leaves_undecided:
                "nothing: disturbances begin when the scheduler lets them, and the log says when"
                    .to_owned(),
        });
    }
    if alone {
        missing.push(Missing {
            what: "another CPU to write the log on".to_owned(),
            why: format!("this process may use CPU {} only", request.cpu),
            leaves_undecided:
                "how much time of the CPU this program takes; a killed run leaves no rows"
                    .to_owned(),
        });
    }
    Header {
        schema: SCHEMA.to_owned(),
        kind: request.kind.to_string(),
        cpu: request.cpu,
        settings: Settings {
            period_s: request.period_s,
            length_s: request.length_s,
            jitter_s: request.jitter_s,
            seed: request.seed,
            duration_s: request.duration_s,
            then: Vec::new(),
        },
        task: Task {
            name: ready.name,
            pid: std::process::id(),
            thread: ready.thread,
            policy: ready.scheduling.policy.to_owned(),
            priority: ready.scheduling.priority,
        },
        clock,
        away_threshold_ticks: ready.sees_absences.then_some(waiting.away_threshold),
        missing,
        ..Header::default()
    }
}
