//! Interrupts and the timer tick (`Documentation/core-api/irq/irq-affinity.rst`, `Documentation/timers/no_hz.rst` of Linux).

use super::tasks::MANAGED;
use super::{Need, Purpose, Remedy, RemedyKind, by_value, quoted};
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::Machine;
use bandscope_recording::manifest::setup::paths;

/// Interrupts that CPUs send each other or themselves: no device sends them, and none has an affinity.
const OF_CPUS: [&str; 12] = [
    "call_function",
    "reschedule",
    "irq_work",
    "local_timer",
    "x86_platform_ipi",
    "thermal",
    "threshold",
    "deferred_error",
    "error_apic",
    "spurious",
    "IPI",
    "vector",
];

/// Whether a device sends interrupts of that name.
pub fn is_of_device(name: &str) -> bool {
    !name.is_empty() && !OF_CPUS.iter().any(|own| name.starts_with(own))
}

/// Sends interrupts of a device to CPUs other than `cpus`. `None` where there is no other CPU, or no device. What the kernel alone places, such as one
/// queue of a disk for each CPU, nobody may send: at boot it can be told to spare CPUs, as far as that goes.
pub fn move_interrupts(cpus: &[u32], name: &str, machine: &Machine) -> Option<Remedy> {
    let online = machine.online_cpus.as_deref()?;
    let others = machine.housekeeping(cpus)?;
    // A name that awk takes as it is.
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-.:@".contains(c));
    if !is_of_device(name) || !is_plain {
        return None;
    }
    let mut known = (machine.setup.interrupts.iter()).filter(|one| one.name == name);
    let is_fixed = known.clone().next().is_some() && known.all(|one| one.is_fixed);
    if is_fixed {
        let isolated = machine.isolated_cpus.as_deref().unwrap_or_default();
        let isolated = cpu_list::with(isolated, cpus);
        return Some(Remedy {
            kind: RemedyKind::MoveInterrupts,
            purpose: Purpose::Fix,
            what: format!(
                "boot with `{MANAGED}{isolated}`, as the kernel alone places interrupts of {name}"
            ),
            command: None,
            needs: vec![Need::Root, Need::Boot],
            undo: Some("boot without it".to_owned()),
        });
    }
    let all = |cpus: &str| {
        let numbers = format!(
            "awk -F: '/{}$/{{print $1}}' /proc/interrupts",
            name.replace('.', "[.]")
        );
        format!(
            "for i in $({numbers}); do echo {cpus} | sudo tee /proc/irq/$i/smp_affinity_list; done"
        )
    };
    Some(Remedy {
        kind: RemedyKind::MoveInterrupts,
        purpose: Purpose::Fix,
        what: format!("send interrupts of {name} to other CPUs"),
        command: Some(all(&others)),
        needs: vec![Need::Root],
        undo: Some(all(online)),
    })
}

/// Sends interrupts of these numbers, each with the CPUs that it may go to now, to the CPUs `others`. `None` without an interrupt.
pub fn place_interrupts(interrupts: &[(u64, &str)], others: &str) -> Option<Remedy> {
    let numbers = |of: &mut dyn Iterator<Item = u64>| {
        let numbers: Vec<String> = of.map(|number| number.to_string()).collect();
        numbers.join(" ")
    };
    let set = |numbers: String, cpus: &str| {
        let cpus = quoted(cpus);
        format!(
            "for i in {numbers}; do echo {cpus} | sudo tee /proc/irq/$i/smp_affinity_list; done"
        )
    };
    let undo = by_value(interrupts).into_iter();
    let undo = undo.map(|(cpus, same)| set(numbers(&mut same.into_iter()), cpus));
    let undo = undo.collect::<Vec<String>>().join("; ");
    (!interrupts.is_empty()).then(|| Remedy {
        kind: RemedyKind::MoveInterrupts,
        purpose: Purpose::Fix,
        what: format!("send these interrupts to CPUs {others}"),
        command: Some(set(
            numbers(&mut interrupts.iter().map(|one| one.0)),
            others,
        )),
        needs: vec![Need::Root],
        undo: Some(undo),
    })
}

/// Moves the ticks of the CPUs apart.
pub fn skew_ticks() -> Remedy {
    Remedy {
        kind: RemedyKind::SkewTicks,
        purpose: Purpose::Fix,
        what: "boot with `skew_tick=1` to move the ticks of the CPUs apart".to_owned(),
        command: None,
        needs: vec![Need::Root, Need::Boot],
        undo: Some("boot without it".to_owned()),
    }
}

/// CPUs whose tick can stop: the kernel keeps that of CPU 0, on which it boots, whatever `nohz_full` says.
pub fn can_lose_tick(cpus: &[u32]) -> Vec<u32> {
    cpus.iter().copied().filter(|cpu| *cpu != 0).collect()
}

/// Stops the tick of CPUs on which one task runs. `None` where it is stopped already, where it cannot stop, and of a kernel that cannot.
pub fn stop_tick(cpus: &[u32], machine: &Machine) -> Option<Remedy> {
    let cpus = &can_lose_tick(cpus);
    let full = machine.nohz_full_cpus.as_deref().unwrap_or_default();
    // One parameter for all: those that have it keep it.
    let list = cpu_list::with(full, cpus);
    let is_alone = machine
        .online_cpus
        .as_deref()
        .and_then(|online| cpu_list::without(online, &cpu_list::parse(&list)))
        .is_none();
    let named = cpu_list::named(cpus);
    let full = cpu_list::parse(full);
    let is_full = cpus.iter().all(|cpu| full.contains(cpu));
    let cannot = machine.setup.lacks(paths::NOHZ_FULL);
    (!is_full && !is_alone && !cannot).then(|| Remedy {
        kind: RemedyKind::StopTick,
        purpose: Purpose::Fix,
        what: format!(
            "boot with `nohz_full={list}` to stop the tick while one task runs on {named}"
        ),
        command: None,
        needs: vec![Need::Root, Need::Boot],
        undo: Some("boot without it".to_owned()),
    })
}

/// Shows who interrupts the other CPUs.
pub fn trace_function_calls() -> Remedy {
    let events = quoted("tlb:tlb_flush");
    Remedy {
        kind: RemedyKind::TraceFunctionCalls,
        purpose: Purpose::FindOut,
        what: "who interrupts all CPUs, such as a program that unmaps memory".to_owned(),
        command: Some(format!(
            "sudo perf record -a -e {events} -e 'ipi:*' sleep 10"
        )),
        needs: vec![Need::Root],
        undo: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::manifest::setup::InterruptSetup;

    fn machine(online: &str) -> Machine {
        Machine {
            online_cpus: Some(online.to_owned()),
            ..Machine::default()
        }
    }

    #[test]
    fn a_device_is_sent_elsewhere_and_back() {
        let remedy = move_interrupts(&[1], "virtio0-input.0", &machine("0-1")).unwrap();
        let command = remedy.command.unwrap();
        assert!(
            command.contains("virtio0-input[.]0$/") && command.contains("echo 0 |"),
            "{command}"
        );
        assert!(remedy.undo.unwrap().contains("echo 0-1 |"));
    }

    #[test]
    fn what_the_kernel_alone_places_is_spared_at_boot() {
        let mut machine = machine("0-1");
        let queue = |number, is_fixed| InterruptSetup {
            number,
            name: "virtio1-req.0".to_owned(),
            is_fixed,
            ..InterruptSetup::default()
        };
        machine.setup.interrupts = vec![queue(36, true)];
        let remedy = move_interrupts(&[1], "virtio1-req.0", &machine).unwrap();
        assert!(remedy.needs.contains(&Need::Boot) && remedy.command.is_none());
        assert!(remedy.what.contains("isolcpus=managed_irq,domain,1`"));
        machine.setup.interrupts.push(queue(37, false));
        let remedy = move_interrupts(&[1], "virtio1-req.0", &machine).unwrap();
        assert!(remedy.command.is_some());
    }

    #[test]
    fn interrupts_between_cpus_stay() {
        assert_eq!(
            move_interrupts(&[1], "call_function_single", &machine("0-1")),
            None
        );
        assert_eq!(move_interrupts(&[1], "x/;reboot", &machine("0-1")), None);
        assert_eq!(move_interrupts(&[0], "eth0", &machine("0")), None);
    }

    #[test]
    fn numbered_interrupts_go_back_each_to_its_own_cpus() {
        let remedy = place_interrupts(&[(36, "0-1"), (42, "1"), (43, "0-1")], "0").unwrap();
        let command = remedy.command.unwrap();
        assert!(
            command.starts_with("for i in 36 42 43; do echo 0 |"),
            "{command}"
        );
        let undo = remedy.undo.unwrap();
        assert!(
            undo.contains("for i in 36 43; do echo 0-1 |")
                && undo.contains("for i in 42; do echo 1 |"),
            "{undo}"
        );
        assert_eq!(place_interrupts(&[], "0"), None);
    }

    #[test]
    fn a_tick_that_is_stopped_stays_so() {
        let mut machine = machine("0-1");
        assert!(stop_tick(&[1], &machine).is_some());
        machine.nohz_full_cpus = Some("1".to_owned());
        assert_eq!(stop_tick(&[1], &machine), None);
        // Others keep what they have, and one CPU has to keep its tick.
        machine.online_cpus = Some("1-2".to_owned());
        assert_eq!(stop_tick(&[2], &machine), None);
        machine.online_cpus = Some("0-7".to_owned());
        for (full, list) in [("4-7", "`nohz_full=3-7`"), ("(null)", "`nohz_full=3`")] {
            machine.nohz_full_cpus = Some(full.to_owned());
            let remedy = stop_tick(&[3], &machine).unwrap();
            assert!(remedy.what.contains(list), "{}", remedy.what);
        }
    }

    #[test]
    fn the_cpu_of_the_boot_keeps_its_tick() {
        let machine = machine("0-7");
        assert_eq!(stop_tick(&[0], &machine), None);
        let remedy = stop_tick(&[0, 3], &machine).unwrap();
        let expected = "`nohz_full=3` to stop the tick while one task runs on CPU 3";
        assert!(remedy.what.ends_with(expected), "{}", remedy.what);
    }

    #[test]
    fn no_tick_is_stopped_by_a_kernel_that_cannot() {
        let mut machine = machine("0-1");
        let setup = &mut machine.setup;
        let missing = "No such file or directory (os error 2)";
        setup.unread.insert(paths::NOHZ_FULL.into(), missing.into());
        setup.settings.insert(paths::ONLINE.into(), "0-1".into());
        assert_eq!(stop_tick(&[1], &machine), None);
    }
}
