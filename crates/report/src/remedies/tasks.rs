//! Other tasks: where they may run (`taskset(1)`, and `isolcpus` in the kernel's list of parameters).

use super::{Need, Purpose, Remedy, RemedyKind, quoted};
use bandscope_recording::manifest::Machine;

/// Tasks that one command names.
const MAX_NAMES: usize = 3;
/// The kernel's own threads of each CPU, which nothing moves.
const PER_CPU: [&str; 6] = [
    "kworker/",
    "ksoftirqd/",
    "migration/",
    "cpuhp/",
    "irq_work/",
    "rcu",
];
/// What stands for itself in a regular expression, or for any character.
const PLAIN: &str = "_-/:@%, .";

/// Gives tasks of these names, the costliest first, the CPUs other than `cpu`. `None` where there is no other CPU, or none of them can be moved.
pub fn move_tasks(cpu: u32, names: &[&str], machine: &Machine) -> Option<Remedy> {
    let online = machine.online_cpus.as_deref()?;
    let others = others(online, cpu)?;
    // A name that is no pattern of its own; longer ones are cut off by the kernel.
    let is_named = |name: &&str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c))
    };
    let is_movable =
        |name: &&str| !name.is_empty() && !PER_CPU.iter().any(|own| name.starts_with(own));
    let names = names.iter().copied().filter(is_named).filter(is_movable);
    let names: Vec<&str> = names.take(MAX_NAMES).collect();
    if names.is_empty() {
        return None;
    }
    let tasks = format!("pgrep -x {} | xargs -rn1", quoted(&names.join("|")));
    Some(Remedy {
        kind: RemedyKind::MoveTasks,
        purpose: Purpose::Fix,
        what: format!("move {} off CPU {cpu}", names.join(", ")),
        command: Some(format!("{tasks} sudo taskset -apc {others}")),
        needs: vec![Need::Root],
        undo: Some(format!("{tasks} sudo taskset -apc {online}")),
    })
}

/// Keeps tasks away from the next boot on. `None` on a machine of one CPU, and where the CPU is isolated.
pub fn isolate_cpu(cpu: u32, machine: &Machine) -> Option<Remedy> {
    others(machine.online_cpus.as_deref()?, cpu)?;
    let isolated = machine.isolated_cpus.as_deref().unwrap_or_default();
    if cpus(isolated).contains(&cpu) {
        return None;
    }
    Some(Remedy {
        kind: RemedyKind::IsolateCpu,
        purpose: Purpose::Fix,
        what: format!("boot with `isolcpus={cpu}` to keep all other tasks off CPU {cpu}"),
        command: None,
        needs: vec![Need::Root, Need::Boot],
        undo: Some("boot without it".to_owned()),
    })
}

/// The CPUs of a list, as the operating system writes it: `0-3,8`. At most as many as machines have.
fn cpus(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',')
        .filter_map(range)
        .flatten()
        .take(1 << 16)
        .collect()
}

/// A list without one of its CPUs; `None` if no CPU is left.
pub(super) fn others(list: &str, cpu: u32) -> Option<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for other in cpus(list).into_iter().filter(|&other| other != cpu) {
        match ranges.last_mut() {
            Some(last) if last.1.checked_add(1) == Some(other) => last.1 = other,
            _ => ranges.push((other, other)),
        }
    }
    let written = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let written: Vec<String> = written.collect();
    (!written.is_empty()).then(|| written.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(online: &str) -> Machine {
        Machine {
            online_cpus: Some(online.to_owned()),
            ..Machine::default()
        }
    }

    #[test]
    fn tasks_get_the_other_cpus() {
        let remedy = move_tasks(1, &["rustc", "kworker/1:2", "rust-lld"], &machine("0-3")).unwrap();
        assert_eq!(
            remedy.command.as_deref(),
            Some("pgrep -x 'rustc|rust-lld' | xargs -rn1 sudo taskset -apc 0,2-3")
        );
        assert_eq!(
            remedy.undo.as_deref(),
            Some("pgrep -x 'rustc|rust-lld' | xargs -rn1 sudo taskset -apc 0-3")
        );
    }

    #[test]
    fn what_cannot_be_moved_has_no_command() {
        assert_eq!(move_tasks(0, &["rustc"], &machine("0")), None);
        assert_eq!(
            move_tasks(1, &["ksoftirqd/1", "a.*$(reboot)"], &machine("0-1")),
            None
        );
        assert_eq!(move_tasks(1, &["rustc"], &Machine::default()), None);
    }

    #[test]
    fn a_cpu_that_is_isolated_is_not_isolated_again() {
        let mut isolated = machine("0-3");
        assert!(isolate_cpu(2, &isolated).is_some());
        isolated.isolated_cpus = Some("2-3".to_owned());
        assert_eq!(isolate_cpu(2, &isolated), None);
        assert!(isolate_cpu(1, &isolated).is_some());
    }
}
