//! How it was measured: machine, clock, work kernel, what was missing; a few lines.

use super::table::{Page, Paint};
use crate::numbers;
use bandscope_recording::Manifest;
use bandscope_recording::manifest::{
    Clock, ClockOrigin, EventsState, GapSample, Kernel, Machine, State,
};
use bandscope_report::{Place, Report};

/// Gaps that grow by less than this share vary by as much between two samples.
const MIN_COST: f64 = 0.05;
/// CPUs whose counts are listed.
const MOST_CPUS: usize = 8;

pub(super) fn measured(report: &Report, page: &mut Page<'_>) {
    let Some(manifest) = &report.recording else {
        return;
    };
    page.blank();
    let when = format!("  {}", origin(manifest));
    page.line(&[("How it was measured", Paint::Bold), (&when, Paint::Dim)]);
    for (name, text) in entries(report) {
        page.wrapped((&format!("  {name:9}"), Paint::Dim), &text, Paint::Plain);
    }
}

/// What was measured with, and how well, or what was missing; empty for imported files.
pub(crate) fn entries(report: &Report) -> Vec<(&'static str, String)> {
    let mut entries = Vec::new();
    let Some(manifest) = &report.recording else {
        return entries;
    };
    let mut entry = |name: &'static str, text: String| {
        if !text.is_empty() {
            entries.push((name, text));
        }
    };
    entry("job", job(report, manifest));
    entry("host", manifest.machine.host.clone().unwrap_or_default());
    entry("machine", machine(&manifest.machine));
    entry("clock", clock(&manifest.clock));
    for kernel in &manifest.kernels {
        entry("kernel", self_test(kernel, &manifest.clock));
    }
    entry("events", events(manifest));
    entry("firmware", firmware(manifest));
    entry("run", run(manifest));
    entry("priority", priority(manifest));
    entry("cgroup", manifest.settings.control_groups.join(", "));
    entry("own CPUs", own_cpus(manifest));
    for missing in &manifest.missing {
        let undecided = match missing.leaves_undecided.as_str() {
            "" => String::new(),
            what => format!("; not decided: {what}"),
        };
        entry(
            "missing",
            format!("{} ({}){undecided}", missing.what, missing.why),
        );
    }
    entries
}

/// CPU, operating system, hypervisor, tick.
pub(crate) fn machine(machine: &Machine) -> String {
    let mut parts = Vec::new();
    match (&machine.cpu_model, &machine.microarchitecture) {
        (Some(model), Some(core)) => parts.push(format!("{model} ({core})")),
        (Some(name), None) | (None, Some(name)) => parts.push(name.clone()),
        (None, None) => parts.extend(machine.architecture.clone()),
    }
    parts.extend(machine.kernel.clone());
    let hypervisor = machine.known_hypervisor();
    parts.extend(hypervisor.map(|hypervisor| format!("under {hypervisor}")));
    if let Some(hz) = machine.tick_hz.filter(|hz| hz.is_finite()) {
        parts.push(format!("tick {}", numbers::rate(hz)));
    }
    parts.join(", ")
}

fn clock(clock: &Clock) -> String {
    if clock.name.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{}, {} ticks/ns",
        clock.name,
        numbers::significant(clock.ticks_per_ns, 7)
    );
    if let Some(ppm) = clock.error_ppm.filter(|ppm| ppm.is_finite()) {
        text += &format!(" ± {} ppm", numbers::significant(ppm, 2));
    }
    text += match clock.origin {
        ClockOrigin::Calibrated => " (calibrated)",
        ClockOrigin::Given => " (given)",
        ClockOrigin::Imported => " (imported)",
        ClockOrigin::Simulated => " (simulated)",
        ClockOrigin::Unknown => "",
    };
    match clock.invariant {
        Some(true) => text += ", invariant",
        Some(false) => text += ", NOT declared invariant",
        None => {}
    }

    text
}

fn self_test(kernel: &Kernel, clock: &Clock) -> String {
    let mut text = kernel.name.clone();
    if let Some(ticks) = kernel.best_ticks_per_unit {
        text += &format!(", self-test: {} ns/unit", numbers::pace(clock.ns(ticks)));
    }
    match (kernel.placement_spread, kernel.invariant) {
        (Some(spread), Some(false)) => {
            text += &format!(
                ", NOT invariant: {} over 64 placements",
                numbers::percent(spread)
            );
        }
        (Some(spread), _) => {
            text += &format!(", spread {} over 64 placements", numbers::percent(spread));
        }
        (None, _) => text += ", self-test not run",
    }

    text
}

/// Kernel events: how exact, what they cost, what was lost. Where there are none, `missing` says why.
fn events(manifest: &Manifest) -> String {
    let (events, clock) = (&manifest.events, &manifest.clock);
    if events.state != EventsState::On {
        return String::new();
    }
    let mut text = "recorded by the kernel's tracepoints".to_owned();
    if let Some(ticks) = events.time_error_ticks.filter(|ticks| ticks.is_finite()) {
        text += &format!(", times within {}", numbers::duration(clock.ns(ticks)));
    }
    text += ".";
    if let Some(cost) = &events.cost {
        text += &tracing_cost(&cost.with, &cost.without, clock);
    }
    if !events.lost.is_empty() {
        let stretches =
            numbers::plural(events.lost.len() as u64, "short stretch", "short stretches");
        let lost: u64 = events.lost.iter().map(|span| span.events).sum();
        // Without a loss they are those in which tracepoints were being switched.
        text += &match lost {
            0 => {
                format!(" Gaps in {stretches} have no names: events were being switched on or off.")
            }
            lost => {
                let events = numbers::plural(lost, "event was", "events were");
                format!(" Gaps in {stretches} have no names: {events} lost.")
            }
        };
    }
    text
}

/// What recording events costs, by two samples of gaps before the run. By their medians: a task that runs in one of them alone takes more time than that.
fn tracing_cost(with: &GapSample, without: &GapSample, clock: &Clock) -> String {
    let each = |sample: &GapSample| sample.median_gap_ticks as f64;
    let longer = each(with) - each(without);
    if with.ticks == 0 || longer <= MIN_COST * each(without) {
        return " Cost of tracing: too small to measure here.".to_owned();
    }
    format!(
        " Cost of tracing: {} a gap, {} of the time.",
        numbers::duration(clock.ns(longer)),
        numbers::percent(longer * with.gaps as f64 / with.ticks as f64),
    )
}

/// System management interrupts, as far as they were counted. Where they were not, `missing` says why.
fn firmware(manifest: &Manifest) -> String {
    let counts = manifest.kernel_counts.iter();
    let known: Vec<(u32, u64)> = counts
        .filter_map(|counts| Some((counts.cpu, counts.system_management_interrupts?)))
        .collect();
    let total: u64 = known.iter().fold(0, |sum, one| one.1.saturating_add(sum));
    // A guest's counter stands at 0 whatever the host's firmware takes.
    if known.is_empty() || total == 0 && manifest.machine.known_hypervisor().is_some() {
        return String::new();
    }
    let mut text = match total {
        0 => "no system management interrupt".to_owned(),
        _ => numbers::plural(
            total,
            "system management interrupt",
            "system management interrupts",
        ),
    };
    let hit: Vec<&(u32, u64)> = known.iter().filter(|one| one.1 > 0).collect();
    if known.len() > 1 && !hit.is_empty() {
        // All CPUs have most of them in common: the firmware stops the whole machine.
        let each = hit
            .iter()
            .map(|(cpu, number)| format!("CPU {cpu}: {number}"));
        let each: Vec<String> = each.take(MOST_CPUS).collect();
        let more = if hit.len() > MOST_CPUS { ", ..." } else { "" };
        text += &format!(" ({}{more})", each.join(", "));
    }
    text
}

/// Real-time priority, and what the kernel leaves of it.
fn priority(manifest: &Manifest) -> String {
    let priority = &manifest.settings.priority;
    match manifest.machine.realtime_limit_us {
        Some([limit, period]) if limit >= 0 && period > 0 && !priority.is_empty() => {
            let share = numbers::percent(limit as f64 / period as f64);
            format!("{priority}; the kernel gives real-time tasks up to {share} of a CPU")
        }
        _ => priority.clone(),
    }
}

/// Of which job it is, and how much of it was read.
fn job(report: &Report, manifest: &Manifest) -> String {
    let Some(rank) = &manifest.rank else {
        return String::new();
    };
    let mut places: Vec<&Place> = report
        .series
        .iter()
        .filter_map(|series| series.place.as_ref())
        .collect();
    places.sort_unstable();
    places.dedup();
    let of = rank
        .tasks
        .map_or(String::new(), |tasks| format!(" of {tasks}"));
    let read = match places.as_slice() {
        [one] => format!("task {}{of} on {}", one.task, one.node),
        many => format!("{}{of} tasks", many.len()),
    };
    match rank.job.as_str() {
        "" => read,
        job => format!("{job}: {read}"),
    }
}

/// Where the program's own threads were to be.
fn own_cpus(manifest: &Manifest) -> String {
    match manifest.settings.housekeeping.as_str() {
        "" => String::new(),
        cpus => format!("bandscope's own threads, apart from those that measure: {cpus}"),
    }
}

/// When and by what.
pub(crate) fn origin(manifest: &Manifest) -> String {
    let parts: Vec<&str> = [&manifest.started, &manifest.tool]
        .into_iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(", ")
}

/// What kept the run from being whole.
fn run(manifest: &Manifest) -> String {
    let mut parts: Vec<String> = Vec::new();
    match manifest.state {
        State::Complete => {}
        State::Recording => parts.push("never ended: partial".into()),
        State::Interrupted => parts.push("interrupted: partial".into()),
        State::Failed => parts.push("failed: partial".into()),
    }
    let lost = &manifest.lost;
    if lost.quanta > 0 || lost.gaps > 0 {
        let (quanta, gaps) = (numbers::count(lost.quanta), numbers::count(lost.gaps));
        parts.push(format!(
            "did not fit: {quanta} quanta, details of {gaps} gaps"
        ));
    }
    for incident in &manifest.incidents {
        parts.push(format!("{}: {}", incident.kind, incident.detail));
    }
    parts.join(", ")
}
