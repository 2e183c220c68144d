//! This machine, as [`Machine`].

use crate::calibration::Calibration;
use crate::counters::{self, Choice as Chosen};
use crate::facts::SystemManagement;
use crate::measuring_thread::{Plan, PlannedSeries};
use crate::memory::{NoHugePages, SteadyPages};
use crate::preparation::{self, Findings};
use crate::rseq::RseqError;
use crate::run::{self, EventsSetup, Setup, Summary, memory_holds};
use crate::sink::Account;
use crate::trace::{Catalogue, Trace, account};
use crate::{clock, facts, housekeeping, pin, plan, quietest, store_bypass};
use bandscope_recording::Manifest;
use bandscope_recording::manifest::{
    self, ClockOrigin, Incident, IncidentKind, Missing, Settings, State,
};
use bandscope_sampler::machine::{Choice, Consumed, StoreBypass, Watch};
use bandscope_sampler::{Batch, Machine, MachineError, Request, Schedule};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// How long a stretch without a gap may pass without a look at the counters, in nanoseconds.
const CHECKPOINT_NS: f64 = 10e6;
/// Share of the time that such looks may cost.
const CHECKPOINT_SHARE: f64 = 0.005;

/// Settings of store bypass that are listed, of all CPUs together: 1.5 MB of the manifest, which is read up to 16.
const MOST_SETTINGS: usize = 1 << 14;
/// Handling a gap takes up to so long after another task: some 10 us were measured, most of them for reading counters by a
/// system call whose code and data are in no cache.
const COLD_HANDLING_NS: f64 = 20e3;

/// The machine that this program runs on.
#[derive(Debug)]
pub struct ThisMachine {
    prepared: Option<Prepared>,
    /// From the beginning: a huge page that preparing was given stays one, and counts whole until the end of the night.
    _no_huge_pages: NoHugePages,
}

/// What `prepare` leaves to `run`.
#[derive(Debug)]
struct Prepared {
    calibration: Calibration,
    origin: u64,
    /// The wall clock at that tick.
    origin_unix_ns: i64,
    counters: counters::Plan,
    preemption_known: bool,
    /// CPUs for the consumer, where it does not wait for the end.
    writing: Vec<u32>,
    /// Keeps this process where it was asked to stay.
    _kept: Option<pin::Kept>,
    /// Kernel events, where they are to be recorded.
    events: Option<(Catalogue, Trace)>,
    /// Counts of what firmware did, where they can be read. Nothing happens on a CPU whose count is open until it is read.
    system_management: Option<SystemManagement>,
}

impl ThisMachine {
    /// This machine, not looked at yet.
    pub fn new() -> ThisMachine {
        ThisMachine {
            prepared: None,
            _no_huge_pages: NoHugePages::begin(),
        }
    }
}

impl Default for ThisMachine {
    fn default() -> ThisMachine {
        ThisMachine::new()
    }
}

impl Machine for ThisMachine {
    fn prepare(&mut self, request: &Request) -> Result<Manifest, MachineError> {
        let begun = Instant::now();
        let allowed = pin::allowed().map_err(|error| {
            MachineError::Refused(format!("cannot ask which CPUs may be used: {error}"))
        })?;
        let reachable = pin::reachable().unwrap_or_else(|_| allowed.clone());
        plan::check(request, &reachable)?;
        if request.store_bypass != StoreBypass::Leave {
            store_bypass::settable()?;
        }
        let (cpus, chosen) = choose_cpus(request, &allowed, &reachable)?;
        let findings = preparation::prepare(request, &cpus)?;
        let ticks_per_ns = request.ticks_per_ns.unwrap_or(findings.fit.ticks_per_ns);
        plan::check_rates(request, &findings.kernels, ticks_per_ns)?;
        if request.counters == Choice::On && !findings.counters.plan.has_hardware() {
            return Err(MachineError::Refused(no_counters(&findings.counters)));
        }
        let traced = account::begin(request, &cpus, &findings)?;
        let system_management = SystemManagement::open(&cpus);
        let not_counted = system_management.as_ref().err().cloned();
        let (origin, origin_unix_ns) = (clock::ticks(), unix_ns());
        let prepared = Prepared {
            calibration: findings.calibration.clone(),
            origin,
            origin_unix_ns,
            counters: findings.counters.plan.clone(),
            preemption_known: findings.preemption.is_ok(),
            writing: housekeeping::writing(request, &allowed, &cpus),
            _kept: housekeeping::keep(request)?,
            events: traced.open,
            system_management: system_management.ok(),
        };
        let none_left = prepared.writing.iter().all(|cpu| cpus.contains(cpu));
        let mut manifest = manifest_of(request, &cpus, findings, &prepared, none_left);
        manifest.settings.chosen = chosen;
        manifest.missing.extend(traced.missing);
        manifest.missing.extend(not_counted);
        manifest.events = traced.events;
        self.prepared = Some(prepared);
        manifest.preparation_s = Some(begun.elapsed().as_secs_f64());
        Ok(manifest)
    }

    fn run(
        &mut self,
        request: &Request,
        manifest: &mut Manifest,
        stop: &AtomicBool,
        consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
    ) -> Result<(), MachineError> {
        let prepared = self.prepared.as_mut().ok_or_else(|| {
            MachineError::Refused("run was called without prepare: this is a bug".to_owned())
        })?;
        let _steady = SteadyPages::keep();
        let (halt, go) = (AtomicBool::new(false), AtomicU64::new(0));
        let setup = Setup {
            cpus: &manifest.settings.cpus,
            others: match manifest.settings.buffered {
                true => Vec::new(),
                false => prepared.writing.clone(),
            },
            duration_s: manifest.settings.duration_s,
            delay_ticks: (request.start_delay_s * 1e9 * manifest.clock.ticks_per_ns) as u64,
            stop,
            events: prepared.events.as_ref().map(|(catalogue, _)| EventsSetup {
                catalogue,
                watch: request.watch,
                required: request.trace == Choice::On,
                ticks_per_ns: manifest.clock.ticks_per_ns,
            }),
            system_management: prepared.system_management.as_ref(),
        };
        let plan = Plan {
            series: planned_series(request, manifest, &prepared.counters),
            schedule: Schedule::new(request, manifest.clock.ticks_per_ns),
            store_bypass: request.store_bypass,
            priority: request.priority,
            ordered_reads: request.ordered_reads,
            counters: prepared.counters.clone(),
            preemption_known: prepared.preemption_known,
            cold_handling_ticks: (COLD_HANDLING_NS * manifest.clock.ticks_per_ns) as u64,
            origin: prepared.origin,
            // A buffered run has nobody awake who would pass the user's wish on.
            stop: if setup.others.is_empty() { stop } else { &halt },
            halt: &halt,
            go: &go,
        };
        let calibration = &mut prepared.calibration;
        let summary = run::run(&setup, &plan, &halt, &go, calibration, consume)?;
        conclude(manifest, summary, prepared, stop)
    }
}

/// The CPUs asked for, or the quietest.
fn choose_cpus(
    request: &Request,
    allowed: &[u32],
    reachable: &[u32],
) -> Result<(Vec<u32>, String), MachineError> {
    if !request.cpus.is_empty() {
        return Ok((request.cpus.clone(), String::new()));
    }
    let [allowed, reachable] =
        [allowed, reachable].map(|cpus| housekeeping::others(cpus, &request.housekeeping));
    let (cpu, why) = quietest::choose(&allowed, &reachable, preparation::rough_ticks_per_ns())
        .ok_or_else(|| {
            MachineError::Refused("this process may use no CPU to measure".to_owned())
        })?;
    Ok((vec![cpu], why.to_owned()))
}

/// Whether nothing is written before the end: because that was asked for, or no CPU is left to write. A run that
/// memory cannot hold is written on the measured CPUs all the same, and what that takes is another task's.
fn is_buffered(request: &Request, cpus: &[u32], none_left: bool) -> bool {
    let holds = || memory_holds(&request.segments(), request.duration_s(), cpus.len());
    // What is caught is to be seen while it measures.
    request.watch != Watch::All && (request.buffered || (none_left && holds()))
}

fn no_cpu_to_write() -> Missing {
    Missing {
        what: "a CPU to write on".to_owned(),
        why: "every usable CPU is measured, and memory cannot hold the whole run".to_owned(),
        leaves_undecided: "what a CPU loses when this program does not write on it".to_owned(),
    }
}

fn no_counters(chosen: &Chosen) -> String {
    let why: Vec<String> = chosen
        .missing
        .iter()
        .map(|missing| format!("{}: {}", missing.what, missing.why))
        .collect();
    format!("no counter of the CPU can be used: {}", why.join("; "))
}

fn manifest_of(
    request: &Request,
    cpus: &[u32],
    findings: Findings,
    prepared: &Prepared,
    none_left: bool,
) -> Manifest {
    let buffered = is_buffered(request, cpus, none_left);
    let mut machine = facts::gather(cpus);
    machine.other_tasks = findings.other_tasks;
    let mut missing = findings.counters.missing;
    missing.extend(findings.preemption.as_ref().err().map(no_preemption));
    missing.extend(findings.missing);
    missing.extend((none_left && !buffered).then(no_cpu_to_write));
    Manifest {
        schema: manifest::SCHEMA.to_owned(),
        settings: Settings {
            machine: "this".to_owned(),
            cpus: cpus.to_vec(),
            rates_hz: request.rates_hz.clone(),
            kernels: request.kernels.clone(),
            segment_s: request.segment_s,
            duration_s: request.duration_s(),
            start_delay_s: request.start_delay_s,
            clock_read: if request.ordered_reads {
                "ordered"
            } else {
                "plain"
            }
            .to_owned(),
            buffered,
            trace: request.trace.name().to_owned(),
            store_bypass: request.store_bypass.name().to_owned(),
            ..Settings::default()
        },
        clock: manifest::Clock {
            name: clock::NAME.to_owned(),
            ticks_per_ns: request.ticks_per_ns.unwrap_or(findings.fit.ticks_per_ns),
            error_ppm: Some(findings.fit.error_ppm),
            measured_ticks_per_ns: request.ticks_per_ns.map(|_| findings.fit.ticks_per_ns),
            origin: if request.ticks_per_ns.is_some() {
                ClockOrigin::Given
            } else {
                ClockOrigin::Calibrated
            },
            readings: prepared.calibration.rows(prepared.origin),
            invariant: clock::invariant(),
            origin_ticks: prepared.origin,
            origin_unix_ns: prepared.origin_unix_ns,
            read_ticks: findings.read_ticks,
        },
        kernels: findings.kernels,
        counters: findings.counters.counters,
        machine,
        missing,
        ..Manifest::default()
    }
}

/// The wall clock in nanoseconds since 1970.
pub fn unix_ns() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + i64::from(now.tv_nsec as u32)
}

fn no_preemption(why: &RseqError) -> Missing {
    Missing {
        what: "preemption".to_owned(),
        why: why.to_string(),
        leaves_undecided: "which gaps were another task, and which an interrupt or the hypervisor"
            .to_owned(),
    }
}

/// The series in ticks of the clock as it was calibrated before the run.
fn planned_series(
    request: &Request,
    manifest: &Manifest,
    counters: &counters::Plan,
) -> Vec<PlannedSeries> {
    let ticks_per_ns = manifest.clock.ticks_per_ns;
    let reading = counters.most_ticks(ticks_per_ns);
    let between = (CHECKPOINT_NS * ticks_per_ns).max(counters.read_ticks / CHECKPOINT_SHARE);
    let threshold = |name: &str| {
        let kernel = manifest.kernels.iter().find(|kernel| kernel.name == name);
        kernel.map_or(u64::MAX / 4, |kernel| kernel.gap_threshold_ticks)
    };
    request
        .series()
        .into_iter()
        .map(|(rate, kernel)| {
            let quantum_ticks = ticks_per_ns * 1e9 / rate;
            let gap_threshold_ticks = threshold(&kernel);
            PlannedSeries {
                rate_hz: rate,
                kernel,
                quantum_ticks,
                gap_threshold_ticks,
                handling_limit_ticks: gap_threshold_ticks.saturating_add(reading),
                quanta_between_checkpoints: (between / quantum_ticks).ceil().max(1.0) as u32,
            }
        })
        .collect()
}

/// Writes into the manifest what only the end of the run can tell.
fn conclude(
    manifest: &mut Manifest,
    summary: Summary,
    prepared: &Prepared,
    stop: &AtomicBool,
) -> Result<(), MachineError> {
    if !summary.locked {
        manifest.missing.push(Missing {
            what: "locked memory".to_owned(),
            why:
                "refused: the limit on locked memory (ulimit -l) is too low, or seccomp forbids it"
                    .to_owned(),
            leaves_undecided: "whether a gap was a page fault of bandscope itself".to_owned(),
        });
    }
    let more_incidents = add_accounts(manifest, summary.accounts);
    manifest.lost.quanta += summary.not_consumed.0;
    manifest.lost.gaps += summary.not_consumed.1;
    if let Some(ended) = summary.events {
        account::conclude(manifest, ended);
    }
    manifest.kernel_counts = summary.counts;
    manifest.quotas = summary.quotas;
    if more_incidents > 0 {
        manifest.incidents.push(Incident {
            kind: IncidentKind::MoreIncidents,
            ticks: clock::ticks().wrapping_sub(prepared.origin),
            detail: format!("{more_incidents} more incidents are not listed"),
        });
    }
    correct_clock(&mut manifest.clock, prepared);
    let error = (summary.refused).or_else(|| summary.failed.map(MachineError::Consumer));
    manifest.state = match (&error, stop.load(Ordering::Relaxed)) {
        (Some(_), _) => State::Failed,
        (None, true) => State::Interrupted,
        (None, false) => State::Complete,
    };
    error.map_or(Ok(()), Err)
}

/// Adds what the measuring threads noted; returns the incidents that they could not.
fn add_accounts(manifest: &mut Manifest, accounts: Vec<Account>) -> u64 {
    let mut more_incidents = 0;
    for account in accounts {
        more_incidents += account.more_incidents;
        manifest.lost.quanta += account.lost_quanta;
        manifest.lost.gaps += account.lost_gaps;
        manifest.incidents.extend(account.incidents);
        manifest.store_bypass.extend(account.store_bypass);
        manifest.schedstat.extend(account.schedstat);
    }
    manifest.incidents.sort_by_key(|incident| incident.ticks);
    manifest.store_bypass.sort_by_key(|set| set.ticks);
    if manifest.store_bypass.len() > MOST_SETTINGS {
        manifest.store_bypass.truncate(MOST_SETTINGS);
        manifest.incidents.push(Incident {
            kind: IncidentKind::MoreSettings,
            ticks: manifest.store_bypass[MOST_SETTINGS - 1].ticks,
            detail:
                "later settings of speculative store bypass are not listed; it went on alternating"
                    .to_owned(),
        });
    }
    more_incidents
}

/// Puts the calibration over the whole run in place of the one before it.
fn correct_clock(clock: &mut manifest::Clock, prepared: &Prepared) {
    if let Some(fit) = prepared.calibration.fit() {
        clock.error_ppm = Some(fit.error_ppm);
        match clock.origin {
            ClockOrigin::Given => clock.measured_ticks_per_ns = Some(fit.ticks_per_ns),
            _ => clock.ticks_per_ns = fit.ticks_per_ns,
        }
    }
    clock.readings = prepared.calibration.rows(prepared.origin);
}
