//! What the kernel was built and booted with.

use super::tasks::union;
use super::{ActsOn, Change, Check, Item, Judged, at_boot};
use crate::doctor::subject::Subject;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::setup::paths;
use bandscope_report::Cause;
use bandscope_report::remedies;

/// Ticks a second of kernels that tick least (`CONFIG_HZ_100` of Linux).
const LEAST_HZ: f64 = 100.0;
/// What a mitigation in force begins with, in /sys/devices/system/cpu/vulnerabilities.
const IN_FORCE: &str = "Mitigation";

/// What no setting changes (timers/no_hz.rst of Linux).
const BOOT_KEEPS: &str = "the kernel keeps the tick of CPU 0, on which it boots";

/// Kinds of softirqs that the tick raises, and that runs RCU callbacks.
const OF_TICK: [&str; 2] = ["TIMER", "SCHED"];
const RCU: &str = "RCU";

pub(super) const CHECKS: &[Check] = &[
    Check {
        item: Item::NohzFull,
        title: "nohz_full",
        acts_on: ActsOn::Gaps(is_of_tick),
        judge: nohz_full,
        source: "Linux, timers/no_hz.rst",
    },
    Check {
        item: Item::TickRate,
        title: "tick rate (HZ)",
        acts_on: ActsOn::Gaps(is_of_tick),
        judge: tick_rate,
        source: "Linux, kernel/Kconfig.hz",
    },
    Check {
        item: Item::Preemption,
        title: "preemption model",
        acts_on: ActsOn::NoLine("it decides when a task gets the CPU, not how much of it"),
        judge: preemption,
        source: "Linux, kernel/Kconfig.preempt",
    },
    Check {
        item: Item::RcuNocbs,
        title: "rcu_nocbs",
        acts_on: ActsOn::Gaps(is_of_rcu),
        judge: rcu_nocbs,
        source: "Linux, admin-guide/kernel-parameters.txt, rcu_nocbs",
    },
    Check {
        item: Item::Mitigations,
        title: "mitigations",
        acts_on: ActsOn::NoLine("each entry into the kernel takes longer; no line holds that part"),
        judge: mitigations,
        source: "Linux, admin-guide/hw-vuln/index.rst",
    },
];

fn is_of_tick(cause: &Cause) -> bool {
    match cause {
        Cause::Tick => true,
        Cause::Softirq(kind) => OF_TICK.contains(&&**kind),
        // On a real-time kernel it runs the softirq TIMER.
        Cause::Task(name) => name.starts_with("ktimers/"),
        _ => false,
    }
}

fn is_of_rcu(cause: &Cause) -> bool {
    match cause {
        Cause::Softirq(kind) => **kind == *RCU,
        Cause::Task(name) => name.starts_with("rcu"),
        _ => false,
    }
}

fn nohz_full(subject: &Subject<'_>) -> Judged {
    let machine = subject.machine;
    if subject.lacks(paths::NOHZ_FULL) {
        let found = "this kernel is built without NO_HZ_FULL";
        return Change::judged(found, "a kernel built with NO_HZ_FULL", None, None);
    }
    let Some(full) = subject.listed(machine.nohz_full_cpus.as_deref()) else {
        return subject.unread(paths::NOHZ_FULL);
    };
    let found = match full.is_empty() {
        true => "the tick stops on no busy CPU".to_owned(),
        false => format!("the tick stops on {}", cpu_list::named(&full)),
    };
    if subject.all_in(&full) {
        return Judged::Quiet(found);
    }
    if subject.others().is_none() {
        return Change::judged(found, subject.elsewhere("the tick"), None, None);
    }
    let missing: Vec<u32> = (subject.cpus.iter().copied())
        .filter(|cpu| !full.contains(cpu))
        .collect();
    let quiet = remedies::can_lose_tick(&missing);
    let wanted = match (cpu_list::named(&quiet), quiet == missing) {
        (named, true) => format!("{named} without a tick while one task runs"),
        (_, false) if quiet.is_empty() => format!("a CPU other than 0; {BOOT_KEEPS}"),
        (named, false) => format!("{named} without a tick while one task runs; {BOOT_KEEPS}"),
    };
    let now = remedies::stop_tick(&quiet, machine);
    let line = (!quiet.is_empty()).then(|| format!("nohz_full={}", union(&full, &quiet)));
    Change::judged(found, wanted, now, line.and_then(at_boot))
}

fn tick_rate(subject: &Subject<'_>) -> Judged {
    let Some(hz) = subject.machine.tick_hz else {
        return subject.hidden("HZ of the kernel");
    };
    let found = format!("{hz} ticks a second");
    let full = subject.listed(subject.machine.nohz_full_cpus.as_deref());
    let is_stopped = full.is_some_and(|full| subject.all_in(&full));
    if hz <= LEAST_HZ || is_stopped {
        return Judged::Quiet(found);
    }
    Change::judged(
        found,
        "a kernel built with HZ=100, or no tick at all",
        None,
        None,
    )
}

fn preemption(subject: &Subject<'_>) -> Judged {
    let Some(kernel) = &subject.machine.kernel else {
        return subject.hidden("the version of the kernel");
    };
    let mut words = kernel.split_whitespace();
    let built = words.find(|word| word.starts_with("PREEMPT"));
    let mut found = built.unwrap_or("no preemption").to_owned();
    if let Some(booted) = subject.setup.parameter("preempt") {
        found += &format!(", preempt={booted}");
    }
    Judged::Quiet(found)
}

fn rcu_nocbs(subject: &Subject<'_>) -> Judged {
    if subject.setup.setting(paths::COMMAND_LINE).is_none() {
        return subject.unread(paths::COMMAND_LINE);
    }
    let machine = subject.machine;
    let full = subject.listed(machine.nohz_full_cpus.as_deref());
    // Without a list it is no CPU.
    let given = subject.setup.parameter("rcu_nocbs");
    let mut offloaded = full.unwrap_or_default();
    if let Some(list) = given.filter(|list| !list.is_empty()) {
        match subject.booted(list) {
            Some(cpus) => offloaded.extend(cpus),
            None if machine.online_cpus.is_none() => return subject.unread(paths::ONLINE),
            None => return Judged::Unknown(format!("rcu_nocbs={list} is not a list of CPUs")),
        }
    }
    if subject.all_in(&offloaded) {
        return Judged::Quiet(format!("callbacks of {} run elsewhere", subject.named()));
    }
    let found = given.map_or("not set".to_owned(), |list| format!("rcu_nocbs={list}"));
    if subject.others().is_none() {
        return Change::judged(found, subject.elsewhere("RCU callbacks"), None, None);
    }
    let line = format!("rcu_nocbs={}", union(&offloaded, subject.cpus));
    let what = "to run RCU callbacks in threads, if the kernel is built with RCU_NOCB_CPU";
    let wanted = format!("RCU callbacks of {} in threads elsewhere", subject.named());
    Change::judged(
        found,
        wanted,
        Some(remedies::boot_with(&line, what)),
        at_boot(line),
    )
}

fn mitigations(subject: &Subject<'_>) -> Judged {
    let known = &subject.machine.mitigations;
    if known.is_empty() {
        return subject.hidden("/sys/devices/system/cpu/vulnerabilities");
    }
    let in_force: Vec<&str> = (known.iter())
        .filter(|(_, state)| state.starts_with(IN_FORCE))
        .map(|(name, _)| name.as_str())
        .collect();
    if in_force.is_empty() {
        return Judged::Quiet("none in force".to_owned());
    }
    let set = subject.setup.parameter("mitigations");
    let found = match set {
        Some(set) => format!("mitigations={set}: {}", in_force.join(", ")),
        None => in_force.join(", "),
    };
    let wanted = "none, on a machine that runs trusted programs only";
    Change::judged(found, wanted, None, at_boot("mitigations=off".to_owned()))
}
