//! Looks at the machine before a run: on the CPU that will be measured, the clock, the work kernels,
//! the counters and preemption are tested.

use crate::calibration::{Calibration, Fit};
use crate::counters;
use crate::facts::{self, Scan};
use crate::rseq::{Rseq, RseqError};
use crate::self_test::{PLACEMENT_PATIENCE, SelfTest};
use crate::{clock, pin};
use bandscope_recording::manifest::{Kernel, Missing, OtherTask};
use bandscope_sampler::machine::Choice;
use bandscope_sampler::{MachineError, Request};
use std::collections::BTreeMap;
use std::io;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The first calibration spans at least this much: half widths of 30 ns then make an error of some
/// 0.6 ppm, and quanta are that exact. The whole run corrects it.
const CALIBRATION: Duration = Duration::from_millis(120);

/// What was found.
#[derive(Debug)]
pub struct Findings {
    /// Readings so far.
    pub calibration: Calibration,
    /// The line through them.
    pub fit: Fit,
    /// Cost of reading the clock.
    pub read_ticks: BTreeMap<String, f64>,
    /// Work kernels, tested, in the order of the request.
    pub kernels: Vec<Kernel>,
    /// Counters that were proven and priced, and why others are not read.
    pub counters: counters::Choice,
    /// Whether preemption can be seen, or why not.
    pub preemption: Result<(), RseqError>,
    /// Who else was busy meanwhile.
    pub other_tasks: Vec<OtherTask>,
    /// What else is missing.
    pub missing: Vec<Missing>,
}

/// Tests on the first of `cpus`, which stands for all.
///
/// # Errors
/// [`MachineError::Refused`] if a thread cannot run there, or the clock stands still.
pub fn prepare(request: &Request, cpus: &[u32]) -> Result<Findings, MachineError> {
    let Some(&cpu) = cpus.first() else {
        return Err(MachineError::Refused("no CPU to measure".to_owned()));
    };
    let tasks = Scan::take();
    let mut findings = std::thread::scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, || on_the_cpu(request, cpu));
        let thread = thread.map_err(|error| MachineError::Refused(no_thread(&error)))?;
        thread.join().unwrap_or_else(|_| {
            let why = "the self-test panicked: this is a bug";
            Err(MachineError::Refused(why.to_owned()))
        })
    })?;
    findings.other_tasks = tasks.busy_until(&Scan::take());
    if cpus.len() > 1 {
        findings.missing.push(Missing {
            what: "self-test of all CPUs".to_owned(),
            why: format!("only CPU {cpu} was tested, for all measured CPUs"),
            leaves_undecided: "whether cores of different kinds have different best paces"
                .to_owned(),
        });
    }
    Ok(findings)
}

/// What to do where no thread can be made.
pub fn no_thread(error: &io::Error) -> String {
    format!(
        "cannot make a thread: {error}; raise the limit on processes (ulimit -u, pids.max) or on memory (ulimit -v)"
    )
}

fn on_the_cpu(request: &Request, cpu: u32) -> Result<Findings, MachineError> {
    pin::pin_to(cpu)?;
    let begun = Instant::now();
    let mut calibration = Calibration::default();
    calibration.read();
    let rough = rough_ticks_per_ns();
    let mut kernels = Vec::new();
    for name in &request.kernels {
        let test = SelfTest {
            ordered_reads: request.ordered_reads,
            ticks_per_ns: request.ticks_per_ns.unwrap_or(rough),
            full: request.self_test,
        };
        kernels.extend(test.run(name));
        calibration.read();
    }
    let counters = match request.counters {
        Choice::Off => counters::Choice::default(),
        _ => counters::choose(facts::microarchitecture(), rough),
    };
    let preemption = Rseq::of_this_thread().and_then(|rseq| rseq.check());
    let read_ticks = clock::read_costs();
    std::thread::sleep(CALIBRATION.saturating_sub(begun.elapsed()));
    calibration.read();
    let fit = calibration.fit().ok_or_else(|| {
        let why = "the CPU's counter does not advance, so it cannot be used as a clock";
        MachineError::Refused(why.to_owned())
    })?;
    Ok(Findings {
        calibration,
        fit,
        read_ticks,
        missing: no_placements(request, &kernels).into_iter().collect(),
        kernels,
        counters,
        preemption,
        other_tasks: Vec::new(),
    })
}

/// Work kernels whose placements were not measured in time.
fn no_placements(request: &Request, kernels: &[Kernel]) -> Option<Missing> {
    let untested = kernels.iter().filter(|kernel| {
        kernel.pace_after_interruption.is_none() && kernel.placement_spread.is_none()
    });
    let untested: Vec<&str> = untested.map(|kernel| kernel.name.as_str()).collect();
    (request.self_test && !untested.is_empty()).then(|| Missing {
        what: format!("placements of {}", untested.join(", ")),
        why: format!(
            "too few rounds were finished within {} s",
            PLACEMENT_PATIENCE.as_secs()
        ),
        leaves_undecided: "whether the pace depends on the work kernel's address".to_owned(),
    })
}

/// Ticks per nanosecond to some 100 ppm, in 2 ms: enough for thresholds.
pub fn rough_ticks_per_ns() -> f64 {
    let mut calibration = Calibration::default();
    calibration.read();
    std::thread::sleep(Duration::from_millis(2));
    calibration.read();
    calibration.fit().map_or(1.0, |fit| fit.ticks_per_ns)
}
