//! The clock frequency of a CPU, its idle states, and the kernel's clock.

use super::{ActsOn, Change, Check, Item, Judged, Place, at_boot, lasting};
use crate::costs::Line;
use crate::doctor::subject::Subject;
use bandscope_recording::manifest::setup::{CpuSetup, paths};
use bandscope_report::remedies;

/// Latency of an idle state in µs from which on a wake-up is late: an interrupt of a device takes some µs by itself.
const LATE_US: u64 = 10;
/// Clock sources that a program reads without entering the kernel (vDSO).
const READ_BY_PROGRAMS: [&str; 4] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
];

/// The governor that keeps to the highest frequency.
const STEADY_GOVERNOR: &str = "performance";
/// The value of `idle=` with which an idle CPU stays busy.
const POLLING: &str = "poll";

pub(super) const CHECKS: &[Check] = &[
    Check {
        item: Item::Governor,
        title: "frequency governor",
        acts_on: ActsOn::Lines(is_frequency),
        judge: governor,
        source: "Linux, admin-guide/pm/cpufreq.rst, Generic Scaling Governors",
    },
    Check {
        item: Item::FrequencyLimits,
        title: "frequency limits",
        acts_on: ActsOn::Lines(is_frequency),
        judge: limits,
        source: "Linux, admin-guide/pm/cpufreq.rst, Policy Interface in sysfs",
    },
    Check {
        item: Item::Turbo,
        title: "turbo",
        acts_on: ActsOn::Lines(is_frequency),
        judge: turbo,
        source: "Linux, admin-guide/pm/cpufreq.rst, Frequency Boost Support",
    },
    Check {
        item: Item::IdleStates,
        title: "idle states",
        acts_on: ActsOn::NoLine("the measuring loop never idles, so no wake-up is measured"),
        judge: idle_states,
        source: "Linux, admin-guide/pm/cpuidle.rst",
    },
    Check {
        item: Item::IdleParameter,
        title: "idle=",
        acts_on: ActsOn::Lines(|line, _| matches!(line, Line::Microarchitecture | Line::Unsplit)),
        judge: idle_parameter,
        source: "Linux, admin-guide/kernel-parameters.txt, idle=",
    },
    Check {
        item: Item::Clocksource,
        title: "clock source",
        acts_on: ActsOn::NoLine(
            "bandscope reads the CPU's own counter, which this does not change",
        ),
        judge: clocksource,
        source: "Linux, timers/timekeeping.rst",
    },
];

/// A slower pace that may be a lower frequency.
fn is_frequency(line: &Line, _: &Subject<'_>) -> bool {
    matches!(line, Line::Frequency | Line::Unsplit)
}

/// Why nothing is known of frequencies.
fn no_driver(subject: &Subject<'_>) -> Judged {
    match subject.machine.known_hypervisor() {
        // Where /sys hides everything, a driver may be there.
        Some(_) if subject.setup.setting(paths::ONLINE).is_some() => {
            Judged::Unknown("no frequency driver here; the hypervisor's host decides".to_owned())
        }
        _ => subject.hidden("/sys/devices/system/cpu/cpuN/cpufreq"),
    }
}

/// A file of a CPU's frequency.
fn file(cpu: u32, name: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}")
}

fn governor(subject: &Subject<'_>) -> Judged {
    let governors = &subject.machine.governor;
    let known = (subject.cpus.iter()).filter_map(|cpu| Some((*cpu, governors.get(cpu)?.as_str())));
    let known: Vec<(u32, &str)> = known.collect();
    let Some((_, first)) = known.first() else {
        return no_driver(subject);
    };
    let is_fast = |governor: &str| governor == STEADY_GOVERNOR;
    let slow = known.iter().filter(|one| !is_fast(one.1));
    let slow: Vec<(String, &str)> = slow
        .map(|one| (file(one.0, "scaling_governor"), one.1))
        .collect();
    let driver = subject
        .machine
        .frequency_driver
        .as_deref()
        .unwrap_or("unknown");
    let Some((_, slow_one)) = known.iter().find(|one| !is_fast(one.1)) else {
        return Judged::Quiet(format!("{first} ({driver})"));
    };
    let what = "run at the highest frequency that is allowed";
    let now = remedies::write_settings(&slow, STEADY_GOVERNOR, what);
    let line = "cpufreq.default_governor=performance".to_owned();
    Change::judged(
        format!("{slow_one} ({driver})"),
        STEADY_GOVERNOR,
        Some(now),
        at_boot(line),
    )
}

fn mhz(khz: u64) -> String {
    format!("{:.0} MHz", khz as f64 / 1e3)
}

fn limits(subject: &Subject<'_>) -> Judged {
    let cpus = subject
        .cpus
        .iter()
        .filter_map(|&cpu| subject.setup.cpu(cpu));
    let known = |cpu: &&CpuSetup| cpu.least_khz.is_some() && cpu.most_khz.is_some();
    let cpus: Vec<&CpuSetup> = cpus.filter(known).collect();
    let Some(first) = cpus.first() else {
        return no_driver(subject);
    };
    let span = |cpu: &CpuSetup| {
        let [least, most] = [cpu.least_khz, cpu.most_khz].map(Option::unwrap_or_default);
        (least, most, cpu.hardware_khz.unwrap_or(most))
    };
    let is_steady = |cpu: &&CpuSetup| {
        let (least, most, hardware) = span(cpu);
        least == most && most >= hardware
    };
    let Some(loose) = cpus.iter().find(|cpu| !is_steady(cpu)) else {
        return Judged::Quiet(mhz(span(first).0));
    };
    let (least, most, hardware) = span(loose);
    let found = format!("{} to {} of {}", mhz(least), mhz(most), mhz(hardware));
    // The highest first, as the least may not exceed it.
    let alike: Vec<&&CpuSetup> = cpus.iter().filter(|cpu| span(cpu).2 == hardware).collect();
    let set = |name: &str, of: &dyn Fn(&CpuSetup) -> u64| {
        let settings = alike.iter().map(|cpu| (file(cpu.cpu, name), of(cpu)));
        let settings: Vec<(String, String)> = (settings.filter(|one| one.1 != hardware))
            .map(|(path, was)| (path, was.to_string()))
            .collect();
        let settings: Vec<(String, &str)> = settings
            .iter()
            .map(|(path, was)| (path.clone(), &**was))
            .collect();
        let value = hardware.to_string();
        (!settings.is_empty())
            .then(|| remedies::write_settings(&settings, &value, "hold the frequency"))
    };
    let highest = set("scaling_max_freq", &|cpu| span(cpu).1);
    let now = match (highest, set("scaling_min_freq", &|cpu| span(cpu).0)) {
        (Some(highest), Some(least)) => Some(remedies::both(highest, least)),
        (highest, least) => highest.or(least),
    };
    let line = format!(
        "w {} - - - - {hardware}",
        file(loose.cpu, "scaling_min_freq")
    );
    let line = Some(line).filter(|_| cpus.len() == 1 && most >= hardware);
    let wanted = format!("{} and nothing less", mhz(hardware));
    let line = line.and_then(|line| lasting(Place::Tmpfiles, line));
    Change::judged(found, wanted, now, line)
}

fn turbo(subject: &Subject<'_>) -> Judged {
    let setup = subject.setup;
    // One of the two files, by driver; they say the opposite.
    let of = |path: &'static str, off: &'static str| Some((path, off, setup.is(path, off)?));
    let Some((path, off, is_off)) = of(paths::NO_TURBO, "1").or_else(|| of(paths::BOOST, "0"))
    else {
        return no_driver(subject);
    };
    if is_off {
        return Judged::Quiet("off".to_owned());
    }
    let was = setup.setting(path).unwrap_or_default();
    let what = "hold the base frequency, which no other core changes";
    let now = remedies::write_settings(&[(path.to_owned(), was)], off, what);
    let line = format!("w {path} - - - - {off}");
    let wanted = "off, where a steady pace matters more than a fast one";
    Change::judged("on", wanted, Some(now), lasting(Place::Tmpfiles, line))
}

fn idle_states(subject: &Subject<'_>) -> Judged {
    let mut cpus = subject
        .cpus
        .iter()
        .filter_map(|&cpu| subject.setup.cpu(cpu));
    let Some(cpu) = cpus.find(|cpu| !cpu.idle_states.is_empty()) else {
        return subject.hidden("/sys/devices/system/cpu/cpuN/cpuidle");
    };
    let words = cpu.idle_states.iter().map(|state| {
        let off = if state.is_off { " off" } else { "" };
        format!("{} {} µs{off}", state.name, state.latency_us)
    });
    let found = words.collect::<Vec<String>>().join(", ");
    // Each CPU has states of its own, and some may be off.
    let late = |cpu: &CpuSetup| {
        let states = cpu.idle_states.iter().enumerate();
        let late = states.filter(|(_, state)| !state.is_off && state.latency_us > LATE_US);
        let path = |index| {
            let cpu = cpu.cpu;
            format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{index}/disable")
        };
        late.map(|(index, _)| (path(index), "0"))
            .collect::<Vec<(String, &str)>>()
    };
    let judged = (subject.cpus.iter()).filter_map(|&cpu| subject.setup.cpu(cpu));
    let late: Vec<(String, &str)> = judged.flat_map(late).collect();
    if late.is_empty() {
        return Judged::Quiet(found);
    }
    let what = "switch off idle states that take long to leave";
    let now = remedies::write_settings(&late, "1", what);
    let wanted = format!("none that takes more than {LATE_US} µs to leave");
    Change::judged(found, wanted, Some(now), max_cstate(subject))
}

/// What keeps a CPU out of deep states, by the driver.
fn max_cstate(subject: &Subject<'_>) -> Option<super::Lasting> {
    let driver = subject.setup.setting(paths::IDLE_DRIVER)?;
    let drivers = [
        ("intel_idle", "intel_idle.max_cstate=1"),
        ("acpi_idle", "processor.max_cstate=1"),
    ];
    let line = drivers.iter().find(|(name, _)| *name == driver)?.1;
    at_boot(line.to_owned())
}

fn idle_parameter(subject: &Subject<'_>) -> Judged {
    if subject.setup.setting(paths::COMMAND_LINE).is_none() {
        return subject.unread(paths::COMMAND_LINE);
    }
    let Some(idle) = subject.setup.parameter("idle") else {
        return Judged::Quiet("not set".to_owned());
    };
    let found = format!("idle={idle}");
    let has_sibling = super::beneath::siblings(subject).is_some();
    if has_sibling && idle == POLLING {
        let wanted = "no idle=poll where CPUs share a core: an idle sibling takes half of it";
        return Change::judged(found, wanted, None, None);
    }
    Judged::Quiet(found)
}

fn clocksource(subject: &Subject<'_>) -> Judged {
    let Some(source) = subject.machine.clocksource.as_deref() else {
        return subject.hidden("/sys/devices/system/clocksource");
    };
    if READ_BY_PROGRAMS.contains(&source) {
        return Judged::Quiet(source.to_owned());
    }
    let available = subject
        .setup
        .setting(paths::CLOCK_SOURCES)
        .unwrap_or_default();
    let better = available
        .split_whitespace()
        .find(|one| READ_BY_PROGRAMS.contains(one));
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource".to_owned();
    let what = "let programs read the clock without entering the kernel";
    let now = better.map(|better| remedies::write_settings(&[(path, source)], better, what));
    let line = better.and_then(|better| at_boot(format!("clocksource={better}")));
    let wanted = "a clock that programs read without entering the kernel";
    Change::judged(source, wanted, now, line)
}
