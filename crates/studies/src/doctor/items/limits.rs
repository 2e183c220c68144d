//! Limits on CPU time, and sets of CPUs.

use super::tasks::cpus_named;
use super::{ActsOn, Change, Check, Item, Judged, Place, lasting};
use crate::costs::Line;
use crate::doctor::subject::Subject;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::setup::paths;
use bandscope_report::{Cause, remedies};

pub(super) const CHECKS: &[Check] = &[
    Check {
        item: Item::CpuSets,
        title: "CPU sets",
        acts_on: ActsOn::NoLine("a set of the program's own group keeps nobody else away"),
        judge: cpu_sets,
        source: "Linux, admin-guide/cgroup-v2.rst, Cpuset",
    },
    Check {
        item: Item::Quota,
        title: "CPU quota",
        acts_on: ActsOn::Lines(|line, _| matches!(line, Line::Gap(Cause::QuotaThrottled))),
        judge: quota,
        source: "Linux, scheduler/sched-bwc.rst",
    },
    Check {
        item: Item::RealTimeLimit,
        title: "real-time limit",
        acts_on: ActsOn::Lines(|line, _| matches!(line, Line::Gap(Cause::RealTimeThrottled))),
        judge: real_time_limit,
        source: "Linux, scheduler/sched-rt-group.rst",
    },
];

fn cpu_sets(subject: &Subject<'_>) -> Judged {
    let Some((group, cpus)) = subject.setup.cpu_sets.last() else {
        return subject.hidden("the CPU set of its control group");
    };
    let is_online = subject.machine.online_cpus.as_deref() == Some(cpus);
    match subject.all_in(&cpu_list::parse(cpus)) {
        true if is_online => Judged::Quiet(format!("{group}: all CPUs")),
        _ => Judged::Quiet(format!("{group}: {}", cpus_named(cpus))),
    }
}

fn quota(subject: &Subject<'_>) -> Judged {
    let limited = subject.manifest.quotas.iter();
    // The group that stopped the program for longest.
    let limited = limited.filter(|quota| quota.quota_us.is_some());
    let Some(quota) = limited.max_by_key(|quota| quota.throttled_ns) else {
        // A container can hide the groups that limit it.
        return match subject.setup.unread.contains_key(paths::CONTROL_GROUPS) {
            true => subject.unread(paths::CONTROL_GROUPS),
            false => Judged::Quiet("none".to_owned()),
        };
    };
    let ms = |us: Option<u64>| us.unwrap_or(0) as f64 / 1e3;
    let (limit, period) = (ms(quota.quota_us), ms(quota.period_us));
    let found = format!(
        "{}: {limit} ms in each {period} ms, reached in {} of {} periods",
        quota.group, quota.throttled, quota.periods
    );
    let now = remedies::raise_quota(Some(quota));
    Change::judged(found, "no quota", Some(now), None)
}

fn real_time_limit(subject: &Subject<'_>) -> Judged {
    let Some([runtime, period]) = subject.machine.realtime_limit_us else {
        return subject.hidden("/proc/sys/kernel/sched_rt_runtime_us");
    };
    if runtime < 0 || runtime >= period {
        return Judged::Quiet("none".to_owned());
    }
    let found = format!(
        "{} ms in each {} ms",
        runtime as f64 / 1e3,
        period as f64 / 1e3
    );
    let now = remedies::lift_realtime_limit(Some(runtime));
    let line = "kernel.sched_rt_runtime_us = -1".to_owned();
    Change::judged(found, "no limit", Some(now), lasting(Place::Sysctl, line))
}
