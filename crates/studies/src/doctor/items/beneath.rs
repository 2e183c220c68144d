//! What lies beneath or beside a CPU, and what the recording could see of it.

use super::{ActsOn, Change, Check, Item, Judged, Place, at_boot, lasting};
use crate::costs::Line;
use crate::doctor::subject::Subject;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::setup::paths;
use bandscope_report::{Cause, Kind, remedies};

pub(super) const CHECKS: &[Check] = &[
    Check {
        item: Item::Smt,
        title: "SMT siblings",
        acts_on: ActsOn::Lines(|line, _| matches!(line, Line::Microarchitecture | Line::Unsplit)),
        judge: smt,
        source: "Linux, admin-guide/cputopology.rst, thread_siblings_list",
    },
    Check {
        item: Item::Hypervisor,
        title: "hypervisor",
        acts_on: ActsOn::Gaps(|cause| matches!(cause, Cause::Host)),
        judge: hypervisor,
        source: "Linux, virt/kvm/x86/cpuid.rst",
    },
    Check {
        item: Item::Firmware,
        title: "system management interrupts",
        acts_on: ActsOn::Gaps(|cause| matches!(cause, Cause::Host)),
        judge: firmware,
        source: "Intel SDM volume 4, MSR_SMI_COUNT",
    },
    Check {
        item: Item::Visibility,
        title: "kernel events and PMU",
        acts_on: ActsOn::Lines(is_open),
        judge: visibility,
        source: "Linux, admin-guide/perf-security.rst",
    },
];

/// Lines that events or counters would divide.
fn is_open(line: &Line, subject: &Subject<'_>) -> bool {
    match line {
        Line::Gap(Cause::Unnamed | Cause::Preempted) => !subject.is_traced(),
        Line::Unsplit => !subject.manifest.has_cycles(),
        _ => false,
    }
}

/// The CPUs of the core of a judged CPU, where there are several.
pub(super) fn siblings(subject: &Subject<'_>) -> Option<Vec<u32>> {
    let lists = (subject.cpus.iter()).filter_map(|cpu| subject.machine.smt_siblings.get(cpu));
    let mut lists = lists.map(|list| cpu_list::parse(list));
    lists.find(|siblings| siblings.len() > 1)
}

fn smt(subject: &Subject<'_>) -> Judged {
    if subject.machine.smt_siblings.is_empty() {
        return subject.hidden("/sys/devices/system/cpu/cpuN/topology");
    }
    let Some(siblings) = siblings(subject) else {
        return Judged::Quiet(match subject.machine.known_hypervisor() {
            Some(_) => "none that the hypervisor shows".to_owned(),
            None => "none".to_owned(),
        });
    };
    let list = cpu_list::written(&siblings);
    let (found, wanted) = (
        format!("CPUs {list} share a core"),
        "a core that no other CPU shares",
    );
    let (taken, kept) = without_smt(subject);
    if !taken.is_empty() {
        let (taken, kept) = (cpu_list::named(&taken), cpu_list::named(&kept));
        let wanted = format!("{wanted}; measure {kept}, as switching SMT off takes {taken} away");
        return Change::judged(found, wanted, None, None);
    }
    let can_switch = subject.setup.is(paths::SMT, "on") == Some(true);
    let now = can_switch.then(|| remedies::free_sibling(&list));
    Change::judged(found, wanted, now, at_boot("nosmt".to_owned()))
}

/// The judged CPUs that are gone once SMT is off, and those that stay of their cores.
fn without_smt(subject: &Subject<'_>) -> (Vec<u32>, Vec<u32>) {
    let kept = |cpu: &u32| {
        let siblings = subject.machine.smt_siblings.get(cpu)?;
        remedies::kept_without_smt(siblings).filter(|kept| kept != cpu)
    };
    let pairs = subject
        .cpus
        .iter()
        .filter_map(|cpu| Some((*cpu, kept(cpu)?)));
    let (taken, mut kept): (Vec<u32>, Vec<u32>) = pairs.unzip();
    kept.sort_unstable();
    kept.dedup();
    (taken, kept)
}

fn hypervisor(subject: &Subject<'_>) -> Judged {
    let Some(name) = subject.machine.known_hypervisor() else {
        return match subject.machine.hypervisor {
            Some(_) => Judged::Quiet("none".to_owned()),
            None => subject.hidden("whether this machine is virtual"),
        };
    };
    let shares = |kind: Kind| {
        subject
            .report
            .findings
            .iter()
            .any(|found| found.kind == kind)
    };
    let core = match shares(Kind::SmtNeighbour) {
        true => "; a neighbour shares the core",
        false => "",
    };
    let now = remedies::trace_host(&subject.list());
    let wanted = "a host CPU of its own for each virtual one";
    Change::judged(format!("{name}{core}"), wanted, Some(now), None)
}

fn firmware(subject: &Subject<'_>) -> Judged {
    let counts = subject.manifest.kernel_counts.iter();
    let counts = counts.filter(|one| subject.cpus.contains(&one.cpu));
    let counts: Option<Vec<u64>> = counts.map(|one| one.system_management_interrupts).collect();
    let Some(number) = counts
        .filter(|all| !all.is_empty())
        .map(|all| all.iter().sum::<u64>())
    else {
        let missing = subject.manifest.missing.iter();
        let mut missing = missing.filter(|one| one.what.contains("system management"));
        let why = missing
            .next()
            .map_or("nobody counted them", |one| one.why.as_str());
        return Judged::Unknown(why.to_owned());
    };
    match (number, subject.machine.known_hypervisor()) {
        (0, None) => return Judged::Quiet("none came".to_owned()),
        (0, Some(_)) => {
            return Judged::Unknown("a guest does not see the host's firmware".to_owned());
        }
        _ => {}
    }
    let wanted = "none: power management and legacy USB off in the firmware's setup";
    let now = remedies::count_firmware(&subject.list());
    Change::judged(format!("{number} came"), wanted, Some(now), None)
}

fn visibility(subject: &Subject<'_>) -> Judged {
    let manifest = subject.manifest;
    let counters = match subject.manifest.has_cycles() {
        true => "the CPU's counters",
        false => "no counters of the CPU",
    };
    let events = match (subject.is_traced(), manifest.events.why.as_str()) {
        (true, _) => "kernel events".to_owned(),
        (false, "") => "no kernel events".to_owned(),
        (false, why) => format!("no kernel events ({why})"),
    };
    let mut found = format!("{events}, {counters}");
    if let Some(level) = subject.setup.setting(paths::PERF_PARANOID) {
        found += &format!("; perf_event_paranoid {level}");
    }
    if subject.is_traced() && subject.manifest.has_cycles() {
        return Judged::Quiet(found);
    }
    if subject.is_traced() {
        let wanted = "a PMU; a virtual machine has one only if its host passes it on";
        return Change::judged(found, wanted, None, None);
    }
    let wanted = "kernel events, which name interruptions";
    let now = remedies::trace_events(&subject.list());
    // Where something else is in the way, the parameter does not help.
    let is_paranoid = manifest.events.why.contains("paranoid");
    let line = "kernel.perf_event_paranoid = -1".to_owned();
    let line = lasting(Place::Sysctl, line).filter(|_| is_paranoid);
    Change::judged(found, wanted, Some(now), line)
}
