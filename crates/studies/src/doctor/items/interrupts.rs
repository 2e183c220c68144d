//! Interrupts of devices: which came, where they may go, who moves them.

use super::tasks::isolated_at_boot;
use super::{ActsOn, Change, Check, Item, Judged, Place, at_boot, lasting};
use crate::doctor::subject::Subject;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::setup::{InterruptSetup, MAX_ENTRIES, paths};
use bandscope_report::Cause;
use bandscope_report::remedies::{self, is_of_device};

/// Names in a sentence.
const MAX_NAMES: usize = 3;
/// Softirqs that interrupts of devices raise, on the CPU that they come to.
const OF_DEVICES: [&str; 5] = ["BLOCK", "NET_RX", "NET_TX", "IRQ_POLL", "TASKLET"];

pub(super) const CHECKS: &[Check] = &[
    Check {
        item: Item::Interrupts,
        title: "interrupts of devices",
        acts_on: ActsOn::Gaps(is_device_work),
        judge: interrupts,
        source: "Linux, core-api/irq/irq-affinity.rst",
    },
    Check {
        item: Item::IrqAffinity,
        title: "irqaffinity",
        acts_on: ActsOn::NoLine(
            "it holds for devices that come later; those that came are another item",
        ),
        judge: default_affinity,
        source: "Linux, admin-guide/kernel-parameters.txt, irqaffinity",
    },
    Check {
        item: Item::Irqbalance,
        title: "irqbalance",
        acts_on: ActsOn::Gaps(is_device_work),
        judge: irqbalance,
        source: "irqbalance(1), IRQBALANCE_BANNED_CPULIST",
    },
];

fn is_device_work(cause: &Cause) -> bool {
    match cause {
        Cause::Interrupt(name) => is_of_device(name),
        Cause::Softirq(kind) => OF_DEVICES.contains(&&**kind),
        _ => false,
    }
}

/// Interrupts of devices that came to a judged CPU: name and number a second, the most frequent first. `None` where nobody counted.
fn came(subject: &Subject<'_>) -> Option<Vec<(String, f64)>> {
    let mut came: Vec<(String, f64)> = Vec::new();
    let counted = subject.manifest.kernel_counts.iter();
    let counted: Vec<_> = counted
        .filter(|one| subject.cpus.contains(&one.cpu))
        .collect();
    for one in &counted {
        for count in &one.counts {
            let Cause::Interrupt(name) = Cause::counted(&count.name) else {
                continue;
            };
            let is_known = subject.setup.interrupts.iter().any(|it| *it.name == *name);
            if !is_known || one.seconds <= 0.0 {
                continue;
            }
            let rate = count.number as f64 / one.seconds;
            match came.iter_mut().find(|known| *known.0 == *name) {
                Some(known) => known.1 += rate,
                None => came.push((name.to_string(), rate)),
            }
        }
    }
    came.sort_by(|a, b| b.1.total_cmp(&a.1));
    (!counted.is_empty()).then_some(came)
}

fn interrupts(subject: &Subject<'_>) -> Judged {
    if subject.setup.is_empty() {
        return subject.hidden("/proc/irq");
    }
    let Some(came) = came(subject) else {
        return subject.hidden("/proc/interrupts");
    };
    if came.is_empty() && subject.setup.interrupts.len() >= MAX_ENTRIES {
        return Judged::Unknown(format!(
            "this machine has {MAX_ENTRIES} interrupts or more, so the recording may lack some"
        ));
    }
    if came.is_empty() {
        return Judged::Quiet("none came".to_owned());
    }
    let of_names = |one: &&InterruptSetup| came.iter().any(|(name, _)| *name == one.name);
    let here = |one: &&InterruptSetup| {
        let effective = one.effective.as_deref().unwrap_or(&one.cpus);
        subject.any_in(&cpu_list::parse(effective))
    };
    let all: Vec<&InterruptSetup> = subject.setup.interrupts.iter().filter(of_names).collect();
    let here = all.into_iter().filter(here);
    let (fixed, movable): (Vec<&InterruptSetup>, Vec<&InterruptSetup>) =
        here.partition(|one| one.is_fixed);
    let shown: Vec<String> = (came.iter().take(MAX_NAMES))
        .map(|(name, rate)| format!("{name} {} a second", rounded(*rate)))
        .collect();
    let mut found = shown.join(", ");
    if let Some(more) = came.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
        found += &format!(", {more} more");
    }
    if !fixed.is_empty() {
        let numbers = fixed
            .iter()
            .filter_map(|one| u32::try_from(one.number).ok());
        let numbers: Vec<u32> = numbers.collect();
        found += &format!("; the kernel alone places {}", cpu_list::written(&numbers));
    }
    let others = subject.others();
    let now = others.as_deref().and_then(|others| {
        let movable: Vec<(u64, &str)> =
            movable.iter().map(|one| (one.number, &*one.cpus)).collect();
        remedies::place_interrupts(&movable, others)
    });
    let wanted = subject.elsewhere("interrupts");
    let is_most_fixed = fixed.iter().any(|one| one.name == came[0].0);
    let isolated = cpu_list::parse(subject.machine.isolated_cpus.as_deref().unwrap_or_default());
    let line = others.and_then(|others| match is_most_fixed {
        // What the kernel places by itself avoids isolated CPUs alone, as far as it can.
        true => isolated_at_boot(isolated, Some("managed_irq"), subject),
        false => Some(format!("irqaffinity={others}")),
    });
    Change::judged(found, wanted, now, line.and_then(at_boot))
}

/// A rate with the digits that anybody wants.
fn rounded(rate: f64) -> String {
    match rate {
        rate if rate >= 10.0 => format!("{rate:.0}"),
        rate => format!("{rate:.1}"),
    }
}

fn default_affinity(subject: &Subject<'_>) -> Judged {
    let path = paths::DEFAULT_AFFINITY;
    let mask = subject.setup.setting(path);
    let Some(mask) = mask.or(subject.machine.irq_affinity.as_deref()) else {
        return subject.unread(path);
    };
    let Some(cpus) = cpu_list::parse_mask(mask) else {
        return Judged::Unknown(format!("{path}: found {mask}, expected a mask"));
    };
    let cpus = subject.online(cpus);
    let found = format!("new interrupts may go to {}", cpu_list::named(&cpus));
    if !subject.any_in(&cpus) {
        return Judged::Quiet(found);
    }
    // Fewer of those that are set, never more.
    let rest = cpu_list::without(&cpu_list::written(&cpus), subject.cpus);
    let Some(others) = rest.or_else(|| subject.others()) else {
        return Change::judged(found, subject.elsewhere("new interrupts"), None, None);
    };
    let others_of = cpu_list::parse(&others);
    let what = format!(
        "send interrupts of new devices to {}",
        cpu_list::named(&others_of)
    );
    let setting = [(path.to_owned(), mask)];
    let now = remedies::write_settings(&setting, &cpu_list::mask(&others_of), &what);
    let wanted = format!("new interrupts on {}", cpu_list::named(&others_of));
    Change::judged(
        found,
        wanted,
        Some(now),
        at_boot(format!("irqaffinity={others}")),
    )
}

fn irqbalance(subject: &Subject<'_>) -> Judged {
    if subject.setup.tasks.is_empty() {
        return subject.hidden("the list of tasks");
    }
    if !subject.runs("irqbalance") {
        return Judged::Quiet("does not run".to_owned());
    }
    let now = remedies::stop_service("irqbalance", "stop whoever moves interrupts back");
    let now = subject.runs("systemd").then_some(now);
    let line = format!("IRQBALANCE_BANNED_CPULIST={}", subject.list());
    let wanted = format!("not running, or {} banned from it", subject.named());
    Change::judged("runs", wanted, now, lasting(Place::Irqbalance, line))
}
