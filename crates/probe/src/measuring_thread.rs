//! The thread that measures one CPU: pinned, warmed up, through all segments of the run.

use crate::clock::{self, Ordered, Plain};
use crate::counters::{self, Counters};
use crate::facts::Statistics;
use crate::kernels::{self, NativeKernel, Visitor};
use crate::pin::{self, PinError};
use crate::priority;
use crate::ring::Writer;
use crate::rseq::Rseq;
use crate::sink::{Account, RingSink};
use crate::store_bypass;
use bandscope_recording::manifest::IncidentKind;
use bandscope_sampler::machine::{Priority, StoreBypass};
use bandscope_sampler::{
    Clock, GapRecord, MachineError, Outcome, QuantumRecord, Schedule, Segment, measure,
};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How long it sleeps until it looks again whether the start is known.
const NAP: Duration = Duration::from_millis(1);
/// How often the clock may run backwards in a segment before the segment is given up.
const MOST_JUMPS: u32 = 16;

/// One series of the plan, in ticks.
#[derive(Clone, Debug)]
pub struct PlannedSeries {
    /// Its rate in hertz.
    pub rate_hz: f64,
    /// Work kernel, by its name in this architecture's list.
    pub kernel: String,
    /// Length of a quantum.
    pub quantum_ticks: f64,
    /// A unit that takes longer is a gap.
    pub gap_threshold_ticks: u64,
    /// Handling a gap that takes longer was interrupted.
    pub handling_limit_ticks: u64,
    /// A checkpoint after so many quanta without a gap, where something must be looked at.
    pub quanta_between_checkpoints: u32,
}

/// What all measuring threads of a run share.
#[derive(Debug)]
pub struct Plan<'a> {
    /// In the order in which segments name them.
    pub series: Vec<PlannedSeries>,
    /// Which segments to measure, and when each ends.
    pub schedule: Schedule,
    /// Speculative store bypass of the thread.
    pub store_bypass: StoreBypass,
    /// Real-time priority of the thread.
    pub priority: Option<Priority>,
    /// Read the clock ordered inside a quantum.
    pub ordered_reads: bool,
    /// Counters to open.
    pub counters: counters::Plan,
    /// Whether rseq passed its check.
    pub preemption_known: bool,
    /// What handling a gap takes at most after somebody else had the CPU.
    pub cold_handling_ticks: u64,
    /// Counter value at tick 0 of the recording.
    pub origin: u64,
    /// Set to end the run after the quantum under way.
    pub stop: &'a AtomicBool,
    /// Set if the run cannot begin, or ends early without the user's wish.
    pub halt: &'a AtomicBool,
    /// Counter value at which measuring starts; 0 as long as it is not known.
    pub go: &'a AtomicU64,
}

impl Plan<'_> {
    fn ends(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.halt.load(Ordering::Relaxed)
    }
}

/// Why a CPU was not measured to the end.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// The kernel makes no thread.
    #[error("CPU {cpu}: cannot make a thread for it: {error}")]
    NotMade {
        /// The CPU that it was for.
        cpu: u32,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The thread cannot be kept on its CPU.
    #[error(transparent)]
    NotPinned(#[from] PinError),
    /// What was allowed before is refused by now.
    #[error("CPU {cpu}: cannot open the counters again: {error}")]
    NoCounters {
        /// The CPU that the thread is on.
        cpu: u32,
        /// The kernel's answer.
        error: io::Error,
    },
    /// No real-time priority is given.
    #[error(
        "CPU {cpu}: cannot have real-time priority: {error}; it takes root, CAP_SYS_NICE, or a limit (ulimit -r)"
    )]
    NotRealTime {
        /// The CPU that the thread is on.
        cpu: u32,
        /// The kernel's answer.
        error: io::Error,
    },
    /// Speculative store bypass stays as it was.
    #[error("CPU {cpu}: cannot set speculative store bypass: {error}")]
    StoreBypassNotSet {
        /// The CPU that the thread is on.
        cpu: u32,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The thread ended by a panic.
    #[error("a measuring thread panicked: this is a bug, please report it")]
    Panicked,
}

impl From<ThreadError> for MachineError {
    fn from(error: ThreadError) -> MachineError {
        MachineError::Refused(error.to_string())
    }
}

/// Measures: sets the thread up, calls `ready` with the thread's id, runs the first work kernel from when `go` is known until then, then all segments.
///
/// # Errors
/// If the thread cannot be pinned or its counters cannot be opened; `ready` is not called then.
pub fn run(
    cpu: u32,
    plan: &Plan<'_>,
    quanta: Writer<QuantumRecord>,
    gaps: Writer<GapRecord>,
    ready: impl FnOnce(u32),
) -> Result<Account, ThreadError> {
    pin::pin_to(cpu)?;
    if let Some(priority) = plan.priority {
        priority::set(priority).map_err(|error| ThreadError::NotRealTime { cpu, error })?;
    }
    let counters =
        Counters::open(&plan.counters).map_err(|error| ThreadError::NoCounters { cpu, error })?;
    let rseq = Rseq::of_this_thread().ok();
    let statistics = Statistics::open(cpu);
    let mut sink = RingSink::new(
        cpu,
        quanta,
        gaps,
        plan.stop,
        counters,
        rseq,
        plan.preemption_known,
    );
    sink.allow_cold_handling(plan.cold_handling_ticks);
    sink.account().origin = plan.origin;
    ready(rustix::thread::gettid().as_raw_nonzero().get() as u32);
    if let Some(first) = plan.series.first() {
        kernels::dispatch(&first.kernel, WarmUp { plan });
    }
    let before = statistics.as_ref().and_then(Statistics::read);
    run_segments(cpu, plan, &mut sink)?;
    let (statistics, before) = (statistics.as_ref(), before.as_ref());
    sink.account().schedstat = statistics
        .zip(before)
        .and_then(|(now, before)| now.grown(before));
    Ok(std::mem::take(sink.account()))
}

/// Measures the segments of the schedule.
fn run_segments(cpu: u32, plan: &Plan<'_>, sink: &mut RingSink<'_>) -> Result<(), ThreadError> {
    let mut schedule = plan.schedule.clone();
    let mut numbers = vec![0; plan.series.len()];
    let go = plan.go.load(Ordering::Acquire);
    // Ends move with the origin where the clock runs backwards.
    schedule.begin(go.wrapping_sub(plan.origin), sink.account().now());
    while !plan.ends()
        && let Some(turn) = schedule.next_turn(sink.account().now())
    {
        let index = turn.series;
        if let Some(allowed) = plan.store_bypass.in_segment(numbers[index]) {
            store_bypass::set(allowed)
                .map_err(|error| ThreadError::StoreBypassNotSet { cpu, error })?;
            sink.account().store_bypass(cpu, allowed);
        }
        numbers[index] += 1;
        let series = &plan.series[index];
        let visitor = RunSegment {
            index: index as u32,
            series,
            quanta: turn.quanta,
            plan,
            sink: &mut *sink,
        };
        kernels::dispatch(&series.kernel, visitor);
    }
    say_what_was_left_out(cpu, plan, &schedule, &numbers, sink.account());
    Ok(())
}

/// Notes which segments the CPU came too late for, and which series have none at all; `numbers` counts those of each.
fn say_what_was_left_out(
    cpu: u32,
    plan: &Plan<'_>,
    schedule: &Schedule,
    numbers: &[u64],
    account: &mut Account,
) {
    if schedule.left_out() == 0 {
        return;
    }
    let planned = plan.schedule.segments().totals().0;
    let mut detail = format!(
        "{} of {planned} segments of CPU {cpu} were left out: their time was over before the measuring thread had the CPU",
        schedule.left_out()
    );
    // Whoever ends a run early knows that some had no turn.
    let without = |one: &(&PlannedSeries, &u64)| *one.1 == 0 && !plan.ends();
    for (series, _) in plan.series.iter().zip(numbers).filter(without) {
        let (rate, kernel) = (series.rate_hz, &series.kernel);
        detail.push_str(&format!(
            "; nothing was measured at {rate} Hz with {kernel}"
        ));
    }
    account.incident(IncidentKind::SegmentCut, detail);
}

/// Runs the work kernel until `go`, once that is known: by time, not by samples, so that frequency and caches are where
/// they will be (docs/method.md, section 8.23).
struct WarmUp<'a> {
    plan: &'a Plan<'a>,
}

impl Visitor for WarmUp<'_> {
    type Output = ();
    fn visit<K: NativeKernel>(self) {
        let mut kernel = K::default();
        loop {
            let go = self.plan.go.load(Ordering::Acquire);
            let waited = go != 0 && clock::ticks().wrapping_sub(go) as i64 >= 0;
            if waited || self.plan.ends() {
                return;
            }
            if go == 0 {
                // A real-time thread that span here would keep the CPU from all that whoever says when still waits for: his own turn, where
                // there is no other CPU, and kernel threads that end a grace period of RCU.
                thread::sleep(NAP);
                continue;
            }
            (0..64).for_each(|_| kernel.execute());
        }
    }
}

struct RunSegment<'a, 'b> {
    index: u32,
    series: &'a PlannedSeries,
    quanta: u64,
    plan: &'a Plan<'a>,
    sink: &'a mut RingSink<'b>,
}

impl Visitor for RunSegment<'_, '_> {
    type Output = ();
    fn visit<K: NativeKernel>(self) {
        if self.plan.ordered_reads {
            self.measure::<Ordered, K>(Ordered);
        } else {
            self.measure::<Plain, K>(Plain);
        }
    }
}

impl RunSegment<'_, '_> {
    /// Measures the segment, going on after a clock that ran backwards.
    fn measure<C: Clock, K: NativeKernel>(self, mut clock: C) {
        let mut left = self.quanta;
        let mut jumps = 0;
        while left > 0 && !self.plan.ends() {
            let origin = self.sink.account().origin;
            let mut start = 0;
            let checkpoints = self.quanta_between_checkpoints();
            self.sink.begin_segment(self.index, checkpoints, || {
                start = clock.now_ordered();
                start.wrapping_sub(origin)
            });
            let segment = Segment {
                quantum_ticks: self.series.quantum_ticks,
                quanta: left,
                gap_threshold_ticks: self.series.gap_threshold_ticks,
                handling_limit_ticks: self.series.handling_limit_ticks,
                origin,
            };
            match measure_segment::<C, K>(&mut clock, self.sink, &segment, start) {
                Outcome::Complete | Outcome::Stopped => return,
                Outcome::ClockWentBack(ticks) => {
                    let account = self.sink.account();
                    account.incident(
                        IncidentKind::ClockJump,
                        format!(
                            "the clock ran backwards by {ticks} ticks; times continue from there"
                        ),
                    );
                    // Recorded times must not run backwards: the origin moves with the clock.
                    account.origin = origin.wrapping_sub(ticks);
                    left -= account.quanta_in_segment.min(left);
                    jumps += 1;
                    if jumps == MOST_JUMPS {
                        account.incident(
                            IncidentKind::SegmentCut,
                            format!("the clock ran backwards {jumps} times in one segment"),
                        );
                        return;
                    }
                }
            }
        }
    }

    /// Counters that count in quiet stretches are looked at between gaps, and so is the CPU's number
    /// where the kernel does not keep it in memory.
    fn quanta_between_checkpoints(&self) -> u32 {
        match self.plan.counters.needs_checkpoints() || self.sink.must_poll_cpu() {
            true => self.series.quanta_between_checkpoints,
            false => u32::MAX,
        }
    }
}

/// The measuring loop of one clock and one work kernel: a function of its own, so that its assembly
/// can be looked at by name.
#[inline(never)]
pub fn measure_segment<C: Clock, K: NativeKernel>(
    clock: &mut C,
    sink: &mut RingSink<'_>,
    segment: &Segment,
    start: u64,
) -> Outcome {
    let mut kernel = K::default();
    measure(clock, &mut kernel, sink, segment, start)
}
