//! What a machine must offer so that a run can be made of it: this machine, or a simulated one.
//!
//! `prepare` looks and tests, `run` measures. Between the two the caller has a complete manifest, from
//! which it can open a recording; everything measured passes through `consume`.

use crate::record::MAX_QUANTUM_TICKS;
use bandscope_recording::manifest::TaskThread;
use bandscope_recording::{Gap, KernelEvent, Manifest, Quanta};
use std::sync::atomic::AtomicBool;

/// What to measure: the resolved plan of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// CPUs to measure at the same time; empty lets the machine choose the quietest.
    pub cpus: Vec<u32>,
    /// Rates in hertz; segments alternate over rates x work kernels.
    pub rates_hz: Vec<f64>,
    /// Work kernels by name.
    pub kernels: Vec<String>,
    /// Length of the run.
    pub length: Length,
    /// How long the work kernel runs before the first quantum, in seconds.
    pub start_delay_s: f64,
    /// Length of a segment in seconds where there is more than one series, or a setting that alternates; else a run is one
    /// segment.
    pub segment_s: f64,
    /// Ticks per nanosecond given by hand.
    pub ticks_per_ns: Option<f64>,
    /// Read the clock ordered inside a quantum too.
    pub ordered_reads: bool,
    /// Keep everything in locked memory until the end.
    pub buffered: bool,
    /// Whether to read counters at gaps.
    pub counters: Choice,
    /// Whether to record kernel events.
    pub trace: Choice,
    /// Which of them, and of which CPUs.
    pub watch: Watch,
    /// Tracepoints that are recorded besides.
    pub tracepoints: Vec<Tracepoint>,
    /// Speculative store bypass of the measuring threads.
    pub store_bypass: StoreBypass,
    /// Real-time priority of the measuring threads; `None` to leave them ordinary tasks.
    pub priority: Option<Priority>,
    /// CPUs that the program's own threads may use, apart from those that measure; empty for any that is not measured.
    pub housekeeping: Vec<u32>,
    /// Run the 64-placement self-test and price the counters.
    pub self_test: bool,
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Seconds, all segments together. A CPU that is away does not lengthen the run ([`crate::Schedule`]).
    Duration(f64),
    /// Quanta of each series.
    Samples(u64),
}

/// Whether to use something that may not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// If it is there and cheap enough.
    Auto,
    /// It must be there: else the run fails.
    On,
    /// Not at all.
    Off,
}

impl Choice {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Auto => "auto",
            Choice::On => "on",
            Choice::Off => "off",
        }
    }
}

/// A real-time priority (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// Whether threads of the same priority take turns (`SCHED_RR`), or not (`SCHED_FIFO`).
    pub takes_turns: bool,
    /// 1 to 99, the highest.
    pub level: u8,
}

impl Priority {
    /// The lowest: above every ordinary task.
    pub const LOWEST: Priority = Priority {
        takes_turns: false,
        level: 1,
    };
}

impl std::fmt::Display for Priority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let policy = if self.takes_turns { "rr" } else { "fifo" };
        write!(formatter, "{policy}:{}", self.level)
    }
}

/// A tracepoint of the kernel that the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracepoint {
    /// As in `sched`, and `sched_migrate_task`.
    pub system: String,
    /// Its name.
    pub name: String,
    /// What the kernel lets through, in its own words; empty for all.
    pub filter: String,
}

/// Which kernel events are recorded, where any are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// What takes the measured CPUs away: enough to name gaps, and the least that recording costs.
    Measured,
    /// Also who is behind it: who wakes tasks and interrupts other CPUs, on all CPUs.
    #[default]
    Senders,
    /// All that is recorded of measured CPUs, of all CPUs.
    All,
}

/// Whether the measuring thread's loads may run ahead of stores whose addresses are not known yet, on which memory renaming
/// depends on some cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreBypass {
    /// As it stands.
    #[default]
    Leave,
    /// They may run ahead.
    On,
    /// They may not run ahead.
    Off,
    /// They may in every other segment of each series, the first one included.
    Alternate,
}

impl StoreBypass {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            StoreBypass::Leave => "leave",
            StoreBypass::On => "on",
            StoreBypass::Off => "off",
            StoreBypass::Alternate => "alternate",
        }
    }

    /// What to set before segment number `number` of a series; `None` to leave it.
    pub fn in_segment(self, number: u64) -> Option<bool> {
        match self {
            StoreBypass::Leave => None,
            StoreBypass::On => Some(true),
            StoreBypass::Off => Some(false),
            StoreBypass::Alternate => Some(number.is_multiple_of(2)),
        }
    }
}

/// Some quanta and gaps of one series, and kernel events of its CPU.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The CPU that the measuring thread was asked to stay on.
    pub cpu: u32,
    /// Index into [`Request::series`].
    pub series: usize,
    /// In order of time; may be of several segments.
    pub quanta: &'a Quanta,
    /// In order of time, and within the time of these quanta.
    pub gaps: &'a [Gap],
    /// Kernel events of the CPU in order of their starts, of whatever time: they may come later than the quanta in which
    /// they happened, and without any.
    pub events: &'a [KernelEvent],
    /// Tasks that are known since the last batch to be threads of a process, on whichever CPU: that is known when they leave a CPU.
    /// An empty name takes back what was known of an id: another task has it.
    pub tasks: &'a [TaskThread],
}

/// Why a machine could not measure.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The request cannot be met: bad usage, exit status 2.
    #[error("{0}")]
    Request(String),
    /// The machine refused something that cannot be done without.
    #[error("{0}")]
    Refused(String),
    /// The consumer failed; the run was ended in good order.
    #[error("{0}")]
    Consumer(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What `consume` may answer.
pub type Consumed = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// A machine that can be measured.
pub trait Machine {
    /// Checks the request, chooses CPUs, looks at the machine, tests work kernels and counters, and
    /// calibrates the clock. The manifest is complete but for what only the end of the run can tell.
    ///
    /// # Errors
    /// [`MachineError::Request`] for a CPU, rate or work kernel that is not to be had.
    fn prepare(&mut self, request: &Request) -> Result<Manifest, MachineError>;

    /// Measures. `consume` is called from the calling thread. When `stop` becomes true the run ends
    /// after the quantum under way and everything measured is still consumed. At the end `manifest`
    /// holds the final calibration, what was lost, incidents and the state.
    ///
    /// # Errors
    /// [`MachineError::Consumer`] if `consume` failed; the manifest is up to date then, too.
    fn run(
        &mut self,
        request: &Request,
        manifest: &mut Manifest,
        stop: &AtomicBool,
        consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
    ) -> Result<(), MachineError>;
}

impl Request {
    /// Rate and work kernel of each series, in the order in which their segments alternate.
    pub fn series(&self) -> Vec<(f64, String)> {
        self.kernels
            .iter()
            .flat_map(|kernel| self.rates_hz.iter().map(|&rate| (rate, kernel.clone())))
            .collect()
    }

    /// The segments of the run: series and number of quanta of each, in order.
    ///
    /// Durations are met to a quantum; no segment is shorter than one quantum.
    pub fn segments(&self) -> Segments {
        let rates = self.series();
        let alone = rates.len() == 1 && self.store_bypass != StoreBypass::Alternate;
        let in_a_segment = |rate: f64| match alone {
            true => u64::MAX,
            false => ((self.segment_s * rate).round() as u64).max(1),
        };
        Segments {
            series: rates
                .iter()
                .map(|&(rate, _)| Part {
                    left: self.quanta(rate, rates.len()),
                    in_a_segment: in_a_segment(rate),
                })
                .collect(),
            next: 0,
        }
    }

    /// Planned length of the run in seconds, all series together, without what lies between segments.
    pub fn duration_s(&self) -> f64 {
        let series = self.series();
        let seconds = |rate: f64| self.quanta(rate, series.len()) as f64 / rate;
        series.iter().map(|&(rate, _)| seconds(rate)).sum()
    }

    /// Quanta of a series at `rate` of `series` in all.
    fn quanta(&self, rate: f64, series: usize) -> u64 {
        match self.length {
            Length::Duration(s) => ((s / series as f64 * rate).round() as u64).max(1),
            Length::Samples(n) => n,
        }
    }
}

/// The segments that are still to come: series and number of quanta of each. Takes no memory for them,
/// so that a run may be planned for as long as one likes.
#[derive(Clone, Debug)]
pub struct Segments {
    series: Vec<Part>,
    /// The series whose turn it is.
    next: usize,
}

/// What is still to come of one series, in quanta.
#[derive(Clone, Copy, Debug)]
struct Part {
    left: u64,
    in_a_segment: u64,
}

impl Segments {
    /// Number of segments and of quanta in them, over all series.
    pub fn totals(&self) -> (u64, u64) {
        self.series
            .iter()
            .fold((0, 0), |(segments, quanta): (u64, u64), part| {
                (
                    segments.saturating_add(part.left.div_ceil(part.in_a_segment)),
                    quanta.saturating_add(part.left),
                )
            })
    }
}

impl Iterator for Segments {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        let number = self.series.len();
        let index = (self.next..self.next + number)
            .map(|turn| turn % number)
            .find(|&index| self.series[index].left > 0)?;
        let part = &mut self.series[index];
        let quanta = part.in_a_segment.min(part.left);
        part.left -= quanta;
        self.next = (index + 1) % number;
        Some((index, quanta))
    }
}

/// The loop cannot measure quanta of this rate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "rate {rate_hz} Hz: expected {slowest_hz:.3} Hz (a quantum of 2^31 ticks) to {fastest_hz:.0} Hz (a tick)"
)]
pub struct RateError {
    /// The rate that was asked for.
    pub rate_hz: f64,
    /// The lowest rate that would do: a quantum of [`MAX_QUANTUM_TICKS`].
    pub slowest_hz: f64,
    /// The highest: a quantum of one tick.
    pub fastest_hz: f64,
}

impl From<RateError> for MachineError {
    fn from(error: RateError) -> MachineError {
        MachineError::Request(error.to_string())
    }
}

/// Length of a quantum in ticks at `rate_hz`, if the loop can measure it: at least a tick, at most
/// [`MAX_QUANTUM_TICKS`].
///
/// # Errors
/// If it cannot.
pub fn check_quantum(rate_hz: f64, ticks_per_ns: f64) -> Result<f64, RateError> {
    let ticks_per_s = ticks_per_ns * 1e9;
    let ticks = ticks_per_s / rate_hz;
    // Not a number, an infinite or a negative rate fail this too.
    if rate_hz > 0.0 && (1.0..=MAX_QUANTUM_TICKS).contains(&ticks) {
        return Ok(ticks);
    }
    Err(RateError {
        rate_hz,
        slowest_hz: ticks_per_s / MAX_QUANTUM_TICKS,
        fastest_hz: ticks_per_s,
    })
}

#[cfg(test)]
pub(crate) mod tests;
