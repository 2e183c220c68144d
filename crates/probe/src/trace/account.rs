//! Kernel events in the manifest: whether there are any, what they cost, where some are lost, or why there are none.

use super::{Catalogue, Ended, Trace, TraceError, cost, functions};
use crate::preparation::Findings;
use bandscope_recording::manifest::{Events, EventsState, IncidentKind, LostEvents, Missing};
use bandscope_recording::{MAX_TICKS, Manifest};
use bandscope_sampler::machine::{Choice, Watch};
use bandscope_sampler::{MachineError, Request};

/// Kernel events before the run.
#[derive(Debug, Default)]
pub struct Begun {
    /// Where they are to be recorded.
    pub open: Option<(Catalogue, Trace)>,
    /// For the manifest.
    pub events: Events,
    /// What is not known of them.
    pub missing: Option<Missing>,
}

/// Whether kernel events can be recorded on `cpus`, what that costs, and what they leave undecided.
///
/// # Errors
/// If they are required and cannot be had.
pub fn begin(request: &Request, cpus: &[u32], findings: &Findings) -> Result<Begun, MachineError> {
    if request.trace == Choice::Off {
        return Ok(Begun::default());
    }
    let threshold =
        (findings.kernels.first()).map_or(u64::MAX, |kernel| kernel.gap_threshold_ticks);
    let ticks_per_ns = findings.fit.ticks_per_ns;
    // The first CPU stands for all, as it does in the self-test.
    let cpu = cpus.first().copied().unwrap_or(0);
    let on = (cpu, request.self_test);
    let price = |catalogue: Catalogue| {
        let (cost, open) = cost::measure(&catalogue, request.watch, on, threshold, ticks_per_ns)?;
        Ok::<_, TraceError>((catalogue, open, cost))
    };
    let catalogue = super::catalogue(&request.tracepoints, request.watch);
    let mut refused = None;
    let priced = catalogue.and_then(|catalogue| match price(catalogue.clone()) {
        // Some kernels have no stacks of tracepoints, or refuse the filter that goes with them.
        Err(error) if catalogue.with_stacks && error.is_lack() => {
            refused = Some(error.to_string());
            price(catalogue.without_stacks())
        }
        other => other,
    });
    match priced {
        Ok((catalogue, open, cost)) => {
            let events = Events {
                state: EventsState::On,
                tracepoints: catalogue.recorded(request.watch, cpus.len() == 1),
                clock: "CLOCK_MONOTONIC_RAW".to_owned(),
                cost: Some(cost),
                ..Events::default()
            };
            let lacks_stacks = request.watch == Watch::All && !catalogue.with_stacks;
            let missing = match catalogue.functions.given_up {
                true => Some(no_functions()),
                false => lacks_stacks.then(|| no_stacks(refused)),
            };
            Ok(Begun {
                open: Some((catalogue, open)),
                events,
                missing,
            })
        }
        Err(why) if request.trace == Choice::On || !request.tracepoints.is_empty() => Err(
            MachineError::Refused(format!("no kernel events can be recorded: {why}")),
        ),
        Err(why) => {
            let events = Events {
                state: EventsState::Unavailable,
                why: why.to_string(),
                ..Events::default()
            };
            Ok(Begun {
                open: None,
                missing: missing(&events),
                events,
            })
        }
    }
}

fn no_functions() -> Missing {
    Missing {
        what: "names of the kernel's functions".to_owned(),
        why: format!(
            "/proc/kallsyms was not read within {} s",
            functions::PATIENCE.as_secs()
        ),
        leaves_undecided:
            "which interrupts of the timer are the tick, what kernel workers ran, and who woke tasks"
                .to_owned(),
    }
}

fn no_stacks(refused: Option<String>) -> Missing {
    Missing {
        what: "stacks of who wakes tasks and interrupts CPUs".to_owned(),
        why: refused.unwrap_or_else(|| "this kernel hides its functions".to_owned()),
        leaves_undecided: "from where in the kernel that was done".to_owned(),
    }
}

/// What it leaves undecided that there are no kernel events, where they were wanted.
fn missing(events: &Events) -> Option<Missing> {
    (events.state == EventsState::Unavailable).then(|| Missing {
        what: "kernel events".to_owned(),
        why: events.why.clone(),
        leaves_undecided:
            "which interrupt, softirq or task each gap was, and which gaps are the hypervisor's"
                .to_owned(),
    })
}

/// Writes into the manifest what came of the kernel events.
pub fn conclude(manifest: &mut Manifest, ended: Result<Ended, TraceError>) {
    match ended {
        Ok(ended) => {
            let events = &mut manifest.events;
            events.threads = ended.threads;
            events.tasks = ended.tasks;
            events.lost = ended.lost;
            events.senders_lost = ended.senders_lost;
            if ended.senders_lost > 0 {
                manifest.missing.push(Missing {
                    what: "who is behind some tasks and interrupts".to_owned(),
                    why: format!(
                        "{} records of who wakes tasks, interrupts CPUs and raises softirqs found no room",
                        ended.senders_lost
                    ),
                    leaves_undecided: "who woke them, or sent them".to_owned(),
                });
            }
            events.time_error_ticks = ended.time_error_ticks;
            // Where the recording's clock jumped back, its ticks are no longer those of the fit.
            let jumped = manifest
                .incidents
                .iter()
                .find(|incident| incident.kind == IncidentKind::ClockJump);
            if let Some(jump) = jumped {
                events
                    .lost
                    .extend(manifest.settings.cpus.iter().map(|&cpu| LostEvents {
                        cpu,
                        from: jump.ticks,
                        to: MAX_TICKS,
                        events: 0,
                    }));
            }
        }
        Err(why) => {
            manifest.events.state = EventsState::Unavailable;
            manifest.events.why = why.to_string();
            manifest.missing.extend(missing(&manifest.events));
        }
    }
}
