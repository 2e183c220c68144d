//! Other tasks: who ran, who can move, isolation, work queues, timers.

use super::{ActsOn, Change, Check, Item, Judged, Place, at_boot, lasting};
use crate::doctor::subject::{Subject, first_names};
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::setup::paths;
use bandscope_report::Cause;
use bandscope_report::remedies::{self, is_of_cpu};

/// Prefix of workers that no CPU owns (`Documentation/core-api/workqueue.rst` of Linux).
const UNBOUND_WORKER: &str = "kworker/u";

/// What may stand before the list of `isolcpus`, and the flag that isolates from other tasks (Linux, admin-guide/kernel-parameters.txt).
const ISOLCPUS_FLAGS: [&str; 3] = ["nohz", DOMAIN, "managed_irq"];
const DOMAIN: &str = "domain";

pub(super) const CHECKS: &[Check] = &[
    Check {
        item: Item::Tasks,
        title: "other tasks",
        acts_on: ActsOn::Gaps(is_movable_work),
        judge: tasks,
        source: "sched_setaffinity(2), taskset(1)",
    },
    Check {
        item: Item::Isolcpus,
        title: "isolcpus",
        acts_on: ActsOn::Gaps(is_movable_work),
        judge: isolcpus,
        source: "Linux, admin-guide/kernel-parameters.txt, isolcpus",
    },
    Check {
        item: Item::Workqueues,
        title: "work queues",
        acts_on: ActsOn::Gaps(
            |cause| matches!(cause, Cause::Task(name) if name.starts_with(UNBOUND_WORKER)),
        ),
        judge: workqueues,
        source: "Linux, core-api/workqueue.rst, Affinity Scopes",
    },
    Check {
        item: Item::Timers,
        title: "timers of other tasks",
        acts_on: ActsOn::Gaps(|cause| matches!(cause, Cause::Timer(_))),
        judge: timers,
        source: "Linux, timers/hrtimers.rst",
    },
];

/// Time that tasks take which may run elsewhere.
fn is_movable_work(cause: &Cause) -> bool {
    match cause {
        Cause::Task(name) => !is_of_cpu(name),
        Cause::OtherTasks | Cause::Preempted => true,
        _ => false,
    }
}

/// What keeps tasks away from the next boot on: systemd starts nearly all of them.
fn affinity_of_systemd(subject: &Subject<'_>) -> Option<super::Lasting> {
    let others = subject.others().filter(|_| subject.runs("systemd"))?;
    lasting(Place::SystemdManager, format!("CPUAffinity={others}"))
}

fn tasks(subject: &Subject<'_>) -> Judged {
    let costs = subject.costs;
    let tasks = costs.names(|cause| match cause {
        Cause::Task(name) => Some(name),
        _ => None,
    });
    let is_fixed = |name: &str| {
        let mut known = subject.setup.tasks.iter();
        let known = known.find(|task| task.name.as_str() == name);
        known.map_or(is_of_cpu(name), |task| task.is_fixed || is_of_cpu(name))
    };
    let tasks = tasks.into_iter().map(|task| task.0);
    let (fixed, names): (Vec<&str>, Vec<&str>) = tasks.partition(|name| is_fixed(name));
    let mut found = Vec::new();
    if !names.is_empty() {
        found.push(first_names(&names));
    }
    if !fixed.is_empty() {
        found.push(format!(
            "the kernel places {} by itself",
            first_names(&fixed)
        ));
    }
    if names.is_empty() && costs.unnamed_ns() == 0 {
        let none = || "no other task ran".to_owned();
        return Judged::Quiet(found.pop().unwrap_or_else(none));
    }
    if names.is_empty() {
        let busy = subject.machine.other_tasks.iter();
        let mut busy: Vec<&str> = busy.map(|task| task.name.as_str()).collect();
        busy.dedup();
        found.push(match busy.is_empty() {
            true => "not named".to_owned(),
            false => format!("not named; busy at the start: {}", first_names(&busy)),
        });
    }
    let now = match names.is_empty() && !subject.is_traced() {
        // First of all, who they are.
        true => Some(remedies::trace_events(&subject.list())),
        false => remedies::move_tasks(subject.cpus, &by_name(&names), subject.machine),
    };
    let wanted = subject.elsewhere("tasks");
    Change::judged(found.join("; "), wanted, now, affinity_of_systemd(subject))
}

pub(super) fn cpus_named(list: &str) -> String {
    cpu_list::named(&cpu_list::parse(list))
}

fn isolcpus(subject: &Subject<'_>) -> Judged {
    let machine = subject.machine;
    let Some(isolated) = subject.listed(machine.isolated_cpus.as_deref()) else {
        return subject.hidden("/sys/devices/system/cpu/isolated");
    };
    if subject.all_in(&isolated) {
        return Judged::Quiet(format!("{} isolated", cpu_list::named(&isolated)));
    }
    let found = match isolated.is_empty() {
        true => "no CPU isolated".to_owned(),
        false => format!("{} isolated", cpu_list::named(&isolated)),
    };
    if subject.others().is_none() {
        return Change::judged(found, subject.elsewhere("all other tasks"), None, None);
    }
    let now = remedies::isolate_cpu(subject.cpus, machine);
    let wanted = format!("{} isolated", subject.named());
    let line = isolated_at_boot(isolated, None, subject).and_then(at_boot);
    Change::judged(found, wanted, now, line)
}

/// The parameter that isolates the judged CPUs, too, with a flag more, and keeps what is set; `None` where not all of that can be read.
pub(super) fn isolated_at_boot(
    mut isolated: Vec<u32>,
    flag: Option<&'static str>,
    subject: &Subject<'_>,
) -> Option<String> {
    let given = subject.setup.parameter("isolcpus").unwrap_or_default();
    let parts = given.split(',').filter(|part| !part.is_empty());
    let (mut flags, cpus): (Vec<&str>, Vec<&str>) =
        parts.partition(|part| ISOLCPUS_FLAGS.contains(part));
    if !cpus.is_empty() {
        isolated.extend(subject.booted(&cpus.join(","))?);
    }
    flags.extend(flag.filter(|flag| !flags.contains(flag)));
    // Without flags it is this one.
    if !flags.is_empty() && !flags.contains(&DOMAIN) {
        flags.push(DOMAIN);
    }
    let both = union(&isolated, subject.cpus);
    flags.push(&both);
    Some(format!("isolcpus={}", flags.join(",")))
}

/// A list of the CPUs of both.
pub(super) fn union(some: &[u32], others: &[u32]) -> String {
    let mut both: Vec<u32> = some.iter().chain(others).copied().collect();
    both.sort_unstable();
    both.dedup();
    cpu_list::written(&both)
}

fn workqueues(subject: &Subject<'_>) -> Judged {
    let Some(mask) = subject.setup.setting(paths::WORKQUEUES) else {
        return subject.unread(paths::WORKQUEUES);
    };
    let Some(cpus) = cpu_list::parse_mask(mask) else {
        return Judged::Unknown(format!(
            "{}: found {mask}, expected a mask",
            paths::WORKQUEUES
        ));
    };
    let cpus = subject.online(cpus);
    let found = format!("unbound workers may use {}", cpu_list::named(&cpus));
    if !subject.any_in(&cpus) {
        return Judged::Quiet(found);
    }
    let Some(others) = cpu_list::without(&cpu_list::written(&cpus), subject.cpus) else {
        return Change::judged(found, subject.elsewhere("unbound workers"), None, None);
    };
    let new = cpu_list::mask(&cpu_list::parse(&others));
    let what = format!("keep unbound workers off {}", subject.named());
    let setting = [(paths::WORKQUEUES.to_owned(), mask)];
    let now = remedies::write_settings(&setting, &new, &what);
    let line = format!("w {} - - - - {new}", paths::WORKQUEUES);
    let wanted = format!("unbound workers on {}", cpus_named(&others));
    Change::judged(found, wanted, Some(now), lasting(Place::Tmpfiles, line))
}

/// Those of today: the recording may be of another day.
fn by_name<'a>(names: &[&'a str]) -> Vec<remedies::Tasks<'a>> {
    names.iter().map(|name| (*name).into()).collect()
}

fn timers(subject: &Subject<'_>) -> Judged {
    let timers = subject.costs.names(|cause| match cause {
        Cause::Timer(name) => Some(name),
        _ => None,
    });
    if timers.is_empty() && (subject.is_traced() || subject.costs.unnamed_ns() == 0) {
        return Judged::Quiet("none came".to_owned());
    }
    let names: Vec<&str> = timers.iter().map(|timer| timer.0).collect();
    let found = match names.is_empty() {
        true => "not named".to_owned(),
        false => format!("timers of {}", first_names(&names)),
    };
    let now = remedies::move_tasks(subject.cpus, &by_name(&names), subject.machine);
    let wanted = "tasks that sleep on other CPUs, so that their timers expire there";
    Change::judged(found, wanted, now, affinity_of_systemd(subject))
}
