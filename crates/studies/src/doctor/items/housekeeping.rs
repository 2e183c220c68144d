//! What the kernel does now and then on each CPU.

use super::tasks::cpus_named;
use super::{ActsOn, Change, Check, Item, Judged, Place, lasting};
use crate::doctor::subject::Subject;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::setup::{MAX_ENTRIES, TaskSetup, paths};
use bandscope_report::Cause;
use bandscope_report::remedies;

/// Seconds between updates of statistics that are rare enough: tuned's profile cpu-partitioning sets 10.
const QUIET_STAT_INTERVAL_S: i64 = 10;

/// The kernel's thread that makes huge pages, and the word that keeps it from it.
const HUGE_PAGE_THREAD: &str = "khugepaged";
const NO_HUGE_PAGES: &str = "never";

pub(super) const CHECKS: &[Check] = &[
    Check {
        item: Item::StatInterval,
        title: "vm.stat_interval",
        acts_on: ActsOn::Gaps(is_bound_worker),
        judge: stat_interval,
        source: "Linux, admin-guide/sysctl/vm.rst, stat_interval",
    },
    Check {
        item: Item::Watchdog,
        title: "watchdog",
        acts_on: ActsOn::Gaps(is_of_watchdog),
        judge: watchdog,
        source: "Linux, admin-guide/lockup-watchdogs.rst",
    },
    Check {
        item: Item::TimerMigration,
        title: "kernel.timer_migration",
        acts_on: ActsOn::Gaps(|cause| matches!(cause, Cause::Timer(_))),
        judge: timer_migration,
        source: "Linux, kernel/time/timer_migration.c",
    },
    Check {
        item: Item::NumaBalancing,
        title: "kernel.numa_balancing",
        acts_on: ActsOn::Gaps(|cause| matches!(cause, Cause::Exception(_))),
        judge: numa_balancing,
        source: "Linux, admin-guide/sysctl/kernel.rst, numa_balancing",
    },
    Check {
        item: Item::Khugepaged,
        title: "khugepaged",
        acts_on: ActsOn::Gaps(
            |cause| matches!(cause, Cause::Task(name) if **name == *HUGE_PAGE_THREAD),
        ),
        judge: khugepaged,
        source: "Linux, admin-guide/mm/transhuge.rst",
    },
];

/// Workers that a CPU owns and statistics may run in: `kworker/1:0`, and not `kworker/1:0H`, of high priority.
fn is_bound_worker(cause: &Cause) -> bool {
    let Cause::Task(name) = cause else {
        return false;
    };
    let owner = name.strip_prefix("kworker/");
    owner.is_some_and(|owner| {
        owner.starts_with(|first: char| first.is_ascii_digit()) && !owner.ends_with('H')
    })
}

fn is_of_watchdog(cause: &Cause) -> bool {
    match cause {
        Cause::Nmi => true,
        Cause::Task(name) | Cause::Timer(name) => {
            name.starts_with("migration/") || name.starts_with("watchdog/")
        }
        _ => false,
    }
}

/// A parameter of the running kernel that is to have another value.
fn parameter(
    found: String,
    wanted: &str,
    name: &str,
    [value, was]: [&str; 2],
    what: &str,
) -> Judged {
    let now = remedies::set_parameter(name, value, was, what);
    let line = format!("{name} = {value}");
    Change::judged(found, wanted, Some(now), lasting(Place::Sysctl, line))
}

fn stat_interval(subject: &Subject<'_>) -> Judged {
    let Some(seconds) = subject.number(paths::STAT_INTERVAL) else {
        return subject.unread(paths::STAT_INTERVAL);
    };
    let found = format!("memory statistics every {seconds} s");
    if seconds >= QUIET_STAT_INTERVAL_S {
        return Judged::Quiet(found);
    }
    let what = "update memory statistics less often";
    let values = ["10", &seconds.to_string()];
    parameter(
        found,
        "every 10 s or more",
        "vm.stat_interval",
        values,
        what,
    )
}

fn watchdog(subject: &Subject<'_>) -> Judged {
    let Some(is_off) = subject.setup.is(paths::WATCHDOG, "0") else {
        return subject.unread(paths::WATCHDOG);
    };
    if is_off {
        return Judged::Quiet("off".to_owned());
    }
    let nmi = match subject.setup.is(paths::NMI_WATCHDOG, "1") {
        Some(true) => ", by non-maskable interrupts too",
        _ => "",
    };
    let mask = subject.setup.setting(paths::WATCHDOG_CPUS);
    let others = mask.and_then(|mask| cpu_list::without(mask, subject.cpus));
    match (mask, others) {
        (Some(mask), _) if !subject.any_in(&cpu_list::parse(mask)) => {
            Judged::Quiet(format!("on {}", cpus_named(mask)))
        }
        (Some(mask), Some(others)) => parameter(
            format!("on {}{nmi}", cpus_named(mask)),
            &format!("no watchdog on {}", subject.named()),
            "kernel.watchdog_cpumask",
            [&others, mask],
            "keep the watchdog to other CPUs",
        ),
        _ => parameter(
            format!("on{nmi}"),
            "off",
            "kernel.watchdog",
            ["0", "1"],
            "stop the watchdog",
        ),
    }
}

fn timer_migration(subject: &Subject<'_>) -> Judged {
    let Some(is_off) = subject.setup.is(paths::TIMER_MIGRATION, "0") else {
        return subject.unread(paths::TIMER_MIGRATION);
    };
    if is_off {
        return Judged::Quiet("timers stay".to_owned());
    }
    parameter(
        "timers of idle CPUs move to busy ones".to_owned(),
        "timers stay on their CPU",
        "kernel.timer_migration",
        ["0", "1"],
        "keep timers of idle CPUs there",
    )
}

fn numa_balancing(subject: &Subject<'_>) -> Judged {
    let path = paths::NUMA_BALANCING;
    if subject.lacks(path) {
        return Judged::Quiet("this kernel is built without it".to_owned());
    }
    let Some(mode) = subject.setup.setting(path) else {
        return subject.unread(path);
    };
    if subject.setup.is(path, "0") == Some(true) {
        return Judged::Quiet("off".to_owned());
    }
    let (name, what) = ("kernel.numa_balancing", "stop moving pages between nodes");
    parameter(format!("on ({mode})"), "off", name, ["0", mode], what)
}

fn khugepaged(subject: &Subject<'_>) -> Judged {
    let Some(enabled) = subject.setup.chosen(paths::HUGE_PAGES) else {
        return match subject.lacks(paths::HUGE_PAGES) {
            true => Judged::Quiet("this kernel has no transparent huge pages".to_owned()),
            false => subject.unread(paths::HUGE_PAGES),
        };
    };
    let found = format!("transparent huge pages: {enabled}");
    if enabled == NO_HUGE_PAGES {
        return Judged::Quiet(found);
    }
    let tasks = &subject.setup.tasks;
    // The list is of all measured CPUs, and ends early where there are too many tasks.
    let is_whole = (1..MAX_ENTRIES).contains(&tasks.len());
    let is_here = |task: &TaskSetup| {
        task.name == HUGE_PAGE_THREAD && subject.any_in(&cpu_list::parse(&task.cpus))
    };
    if is_whole && !tasks.iter().any(is_here) {
        return Judged::Quiet(format!("{found}; its thread may not run here"));
    }
    let wanted = "its thread on other CPUs";
    match remedies::move_tasks(subject.cpus, &[HUGE_PAGE_THREAD.into()], subject.machine) {
        Some(now) => Change::judged(found, wanted, Some(now), None),
        None => Change::judged(found, subject.elsewhere("khugepaged"), None, None),
    }
}
