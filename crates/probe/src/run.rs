//! A run: one measuring thread a CPU, and the calling thread, on the other CPUs, consuming.
//!
//! Where there is no other CPU, or everything is to stay in memory, the calling thread sleeps until the
//! measuring threads have ended and consumes then.

mod rings;

use crate::calibration::Calibration;
use crate::clock;
use crate::consumer::Consumer;
use crate::facts::{self, Counts, Quotas, SystemManagement};
use crate::measuring_thread::{self, Plan, ThreadError};
use crate::pin;
use crate::sink::Account;
use crate::trace::{self, Catalogue, Trace, TraceError};
use bandscope_recording::manifest::{KernelCounts, MeasuringThread, Quota, TaskThread};
use bandscope_recording::{KernelEvent, Quanta};
use bandscope_sampler::machine::{Consumed, Watch};
use bandscope_sampler::{Batch, MachineError};
pub use rings::memory_holds;
use rings::{Writers, rings};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// How long the consumer sleeps between two looks: 25 ms of 1 MHz are 5 % of the smallest ring.
const NAP: Duration = Duration::from_millis(25);

/// What a run is made of, besides its [`Plan`].
#[derive(Debug)]
pub struct Setup<'a> {
    /// CPUs to measure.
    pub cpus: &'a [u32],
    /// CPUs for the consumer; empty to buffer everything.
    pub others: Vec<u32>,
    /// Length of the run in seconds, at most.
    pub duration_s: f64,
    /// Ticks from the moment when all threads are ready to the first quantum.
    pub delay_ticks: u64,
    /// Set by the user to end the run.
    pub stop: &'a AtomicBool,
    /// Kernel events to record.
    pub events: Option<EventsSetup<'a>>,
    /// Counts of what firmware does, to be read before and after.
    pub system_management: Option<&'a SystemManagement>,
}

/// Which kernel events are recorded.
#[derive(Clone, Copy, Debug)]
pub struct EventsSetup<'a> {
    /// All that this kernel has.
    pub catalogue: &'a Catalogue,
    /// Which of them, and of which CPUs.
    pub watch: Watch,
    /// Whether there is no run without them.
    pub required: bool,
    /// Ticks per nanosecond, to some 100 ppm.
    pub ticks_per_ns: f64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Summary {
    /// One for each CPU.
    pub accounts: Vec<Account>,
    /// Whether all rings were locked in memory.
    pub locked: bool,
    /// What `consume` said, if it failed.
    pub failed: Option<Failure>,
    /// Why a thread could not be made, set up, or brought to its end.
    pub refused: Option<MachineError>,
    /// Quanta and gaps that were measured and handed to nobody.
    pub not_consumed: (u64, u64),
    /// What came of the kernel events, or why there are none; `None` if none were asked for.
    pub events: Option<Result<trace::Ended, TraceError>>,
    /// What the kernel counted meanwhile on each CPU.
    pub counts: Vec<KernelCounts>,
    /// How the CPU quotas of this process grew meanwhile.
    pub quotas: Vec<Quota>,
}

/// What `consume` says when it fails.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A measuring thread.
type Thread<'scope> = ScopedJoinHandle<'scope, Result<Account, ThreadError>>;

/// Runs. `halt` and `go` are those of the plan.
///
/// # Errors
/// If there is not enough memory. A thread that fails stands in the summary, beside what the others
/// measured.
pub fn run<'p>(
    setup: &Setup<'_>,
    plan: &Plan<'p>,
    halt: &AtomicBool,
    go: &AtomicU64,
    calibration: &mut Calibration,
    consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
) -> Result<Summary, MachineError> {
    let (writers, mut consumers) = rings(setup, plan)?;
    let locked = writers
        .iter()
        .all(|(quanta, gaps)| quanta.locked() && gaps.locked());
    let _restore = pin::Restore::remember();
    if !setup.others.is_empty() {
        // If it cannot be had, the consumer disturbs what it measures, and the gaps will show it.
        let _ = pin::pin(&setup.others);
    }
    thread::scope(|scope| {
        let started = start(scope, setup.cpus, plan, writers);
        let (threads, measuring) = (started.threads, started.ready);
        let mut refused = started.refused.map(MachineError::from);
        if measuring.len() < setup.cpus.len() {
            halt.store(true, Ordering::Relaxed);
        }
        let mut events =
            (setup.events).map(|events| begin_trace(setup, plan, events, &measuring, calibration));
        if let (Some(Err(why)), Some(EventsSetup { required: true, .. })) = (&events, setup.events)
        {
            refused = refused.or_else(|| Some(MachineError::Refused(why.to_string())));
            halt.store(true, Ordering::Relaxed);
        }
        let before = MachineCounts::read(setup);
        let begin = clock::ticks().wrapping_add(setup.delay_ticks);
        // 0 means that it is not known yet.
        go.store(begin.max(1), Ordering::Release);
        let mut failed = None;
        if !setup.others.is_empty() {
            let trace = events.as_mut().and_then(|trace| trace.as_mut().ok());
            failed = stream(
                setup,
                &threads,
                halt,
                calibration,
                &mut consumers,
                trace,
                consume,
            );
        }
        let (accounts, died) = join(threads);
        let (counts, quotas) = before.grown(setup);
        let not_consumed = drain_the_rest(&mut consumers, &mut failed, consume);
        let ticks_per_ns = setup.events.map_or(1.0, |events| events.ticks_per_ns);
        let events = events.map(|trace| {
            trace.map(|trace| trace.finish(ticks_per_ns, hand_on(&mut failed, consume)))
        });
        calibration.read();
        Ok(Summary {
            accounts,
            locked,
            failed,
            refused: refused.or(died.map(MachineError::from)),
            not_consumed,
            events,
            counts,
            quotas,
        })
    })
}

/// The measuring threads, as far as they could be started.
struct Started<'scope> {
    threads: Vec<Thread<'scope>>,
    /// Those that are set up and wait for the start.
    ready: Vec<MeasuringThread>,
    /// Why one could not be made; none is made after it.
    refused: Option<ThreadError>,
}

/// Starts a thread for each CPU, and waits until each is ready or has failed.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    cpus: &[u32],
    plan: &'scope Plan<'_>,
    writers: Vec<Writers>,
) -> Started<'scope> {
    let (sender, ready) = mpsc::channel();
    let consumer_thread = thread::current();
    let mut threads = Vec::new();
    let mut refused = None;
    for (&cpu, (quanta, gaps)) in cpus.iter().zip(writers) {
        let (sender, consumer_thread) = (sender.clone(), consumer_thread.clone());
        let thread = thread::Builder::new().spawn_scoped(scope, move || {
            // The sender goes with the closure: when it is called, or when the thread fails.
            let ready = move |pid: u32| {
                // If the receiver is gone the run has failed and is being ended.
                let _ = sender.send(MeasuringThread { cpu, pid });
            };
            let outcome = measuring_thread::run(cpu, plan, quanta, gaps, ready);
            consumer_thread.unpark();
            outcome
        });
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                refused = Some(ThreadError::NotMade { cpu, error });
                break;
            }
        }
    }
    // With the last sender gone a thread that dies makes no one wait for ever.
    drop(sender);
    Started {
        threads,
        ready: ready.iter().collect(),
        refused,
    }
}

/// What the kernel and firmware have counted of the measured CPUs.
struct MachineCounts {
    counts: Counts,
    quotas: Quotas,
    /// System management interrupts by CPU, where they are counted.
    firmware: Option<Vec<(u32, Option<u64>)>>,
}

impl MachineCounts {
    fn read(setup: &Setup<'_>) -> MachineCounts {
        MachineCounts {
            counts: Counts::read(setup.cpus),
            quotas: Quotas::read(),
            firmware: setup.system_management.map(SystemManagement::read),
        }
    }

    /// How much it has grown since.
    fn grown(self, setup: &Setup<'_>) -> (Vec<KernelCounts>, Vec<Quota>) {
        let mut counts = self.counts.grown(&Counts::read(setup.cpus));
        let quotas = self.quotas.grown(Quotas::read());
        if let (Some(before), Some(count)) = (self.firmware, setup.system_management) {
            facts::book_system_management(&before, &count.read(), &mut counts);
        }
        (counts, quotas)
    }
}

/// Empties all rings after the threads have ended; returns the quanta and gaps handed to nobody.
fn drain_the_rest(
    consumers: &mut [Consumer],
    failed: &mut Option<Failure>,
    consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
) -> (u64, u64) {
    let mut lost = (0, 0);
    for consumer in consumers {
        match failed {
            Some(_) => consumer.discard(),
            None => *failed = consumer.drain(consume).err(),
        }
        let (quanta, gaps) = consumer.lost();
        lost = (lost.0 + quanta, lost.1 + gaps);
    }
    lost
}

/// Consumes until all threads have ended; returns the consumer's failure.
fn stream(
    setup: &Setup<'_>,
    threads: &[Thread<'_>],
    halt: &AtomicBool,
    calibration: &mut Calibration,
    consumers: &mut [Consumer],
    mut trace: Option<&mut Trace>,
    consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
) -> Option<Failure> {
    // A few hundred readings over a short run, one a second over a long one.
    let between = Duration::from_secs_f64((setup.duration_s / 300.0).clamp(0.0, 1.0));
    let mut last_reading = Instant::now();
    while threads.iter().any(|thread| !thread.is_finished()) {
        thread::park_timeout(NAP);
        if setup.stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
        if last_reading.elapsed() >= between {
            calibration.read();
            last_reading = Instant::now();
        }
        let mut failed = consumers
            .iter_mut()
            .find_map(|consumer| consumer.drain(consume).err());
        if let Some(trace) = &mut trace {
            trace.drain(hand_on(&mut failed, consume));
        }
        if failed.is_some() {
            halt.store(true, Ordering::Relaxed);
            return failed;
        }
    }
    None
}

/// Opens the kernel events of the CPUs of these threads, and switches them on.
fn begin_trace(
    setup: &Setup<'_>,
    plan: &Plan<'_>,
    events: EventsSetup<'_>,
    threads: &[MeasuringThread],
    calibration: &Calibration,
) -> Result<Trace, TraceError> {
    let bytes = match setup.others.is_empty() {
        true => trace::buffered_ring_bytes(setup.duration_s),
        false => trace::RING_BYTES,
    };
    let readings = calibration.readings();
    let origin = (plan.origin, readings);
    let trace = Trace::open(events.catalogue, threads, events.watch, bytes, origin)?;
    trace.switch(true)?;
    Ok(trace)
}

/// Hands kernel events on until that fails.
fn hand_on<'f>(
    failed: &'f mut Option<Failure>,
    consume: &'f mut dyn FnMut(Batch<'_>) -> Consumed,
) -> impl FnMut(u32, &[KernelEvent], &[TaskThread]) + 'f {
    let none = Quanta::default();
    move |cpu, events, tasks| {
        if failed.is_none() {
            let batch = Batch {
                cpu,
                series: 0,
                quanta: &none,
                gaps: &[],
                events,
                tasks,
            };
            *failed = consume(batch).err();
        }
    }
}

/// Waits for all threads; the accounts of those that ended well, and why the first other one did not.
fn join(threads: Vec<Thread<'_>>) -> (Vec<Account>, Option<ThreadError>) {
    let mut accounts = Vec::new();
    let mut died = None;
    for thread in threads {
        match thread.join().unwrap_or(Err(ThreadError::Panicked)) {
            Ok(account) => accounts.push(account),
            Err(why) => died = died.or(Some(why)),
        }
    }
    (accounts, died)
}
