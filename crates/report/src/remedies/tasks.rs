//! Other tasks: where they may run (`taskset(1)`, and `isolcpus` in the kernel's list of parameters).

use super::{Need, Purpose, Remedy, RemedyKind, quoted};
use crate::{Cause, Series};
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::Machine;

/// Tasks that one command names.
const MAX_NAMES: usize = 3;
/// The kernel's own threads of each CPU, which nothing moves.
const PER_CPU: [&str; 9] = [
    "kworker/",
    "ksoftirqd/",
    "migration/",
    "cpuhp/",
    "irq_work/",
    "rcuc/",
    "ktimers/",
    "backlog_napi/",
    "idle_inject/",
];
/// Processes that one command names. More come and go while it is typed: then it is by their names.
const MAX_PROCESSES: usize = 8;
/// This program, which stays where it measures.
const OWN: &str = "bandscope";
/// The parameter where it keeps interrupts away, too, which the kernel alone places.
pub(super) const MANAGED: &str = "isolcpus=managed_irq,domain,";
/// What has a meaning of its own in an extended regular expression (regex(7)), but for the point, which stands for itself, too.
const SPECIAL: &str = "^$*+?()[{|";

/// Whether a name is one of the kernel's threads that belong to a CPU or that nothing moves.
pub fn is_of_cpu(name: &str) -> bool {
    PER_CPU.iter().any(|own| name.starts_with(own))
}

/// Whether tasks of a name may be moved: they are neither ours nor of a CPU.
pub fn is_movable(name: &str) -> bool {
    !name.is_empty() && name != OWN && !is_of_cpu(name)
}

/// Tasks of one name, and the ids of their processes where these are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks<'a> {
    /// The name. Untrusted.
    pub name: &'a str,
    /// Empty where they are not known.
    pub processes: Vec<u32>,
}

impl<'a> Tasks<'a> {
    /// With the processes that any of the series saw.
    pub fn seen<'s>(name: &'a str, series: impl IntoIterator<Item = &'s Series>) -> Tasks<'a> {
        let gaps = series.into_iter().filter_map(|one| one.gaps.as_ref());
        let of_it = gaps
            .flat_map(|gaps| &gaps.causes)
            .filter(|one| matches!(&one.cause, Cause::Task(task) if **task == *name));
        let mut processes: Vec<u32> = of_it.flat_map(|one| one.processes.clone()).collect();
        processes.sort_unstable();
        processes.dedup();
        Tasks { name, processes }
    }
}

impl<'a> From<&'a str> for Tasks<'a> {
    fn from(name: &'a str) -> Tasks<'a> {
        let processes = Vec::new();
        Tasks { name, processes }
    }
}

/// Gives tasks, the costliest first, the CPUs other than `cpus`: those processes alone where they are known and few, else all of these names.
/// `None` where there is no other CPU, or no command moves any of them.
pub fn move_tasks(cpus: &[u32], tasks: &[Tasks<'_>], machine: &Machine) -> Option<Remedy> {
    let online = machine.online_cpus.as_deref()?;
    let others = machine.housekeeping(cpus)?;
    let tasks = tasks.iter().filter(|tasks| is_movable(tasks.name));
    let tasks = tasks.take(MAX_NAMES);
    let (tasks, nameless): (Vec<_>, Vec<_>) =
        tasks.partition(|tasks| pattern(tasks.name).is_some());
    // An id alone may be another process's by the time that the command is typed.
    if tasks.is_empty() {
        return None;
    }
    let names: Vec<&str> = tasks.iter().map(|tasks| tasks.name).collect();
    let patterns: Vec<String> = names.iter().filter_map(|name| pattern(name)).collect();
    let ids: Vec<String> = (tasks.iter().flat_map(|tasks| &tasks.processes))
        .map(u32::to_string)
        .collect();
    let are_known = tasks.iter().all(|tasks| !tasks.processes.is_empty());
    // Threads too have names; `taskset -a` moves the whole process of each. A name may begin with a hyphen. An id may be another process's by the
    // time that the command is typed, so both have to fit.
    let (all_named, these) = match are_known && ids.len() <= MAX_PROCESSES {
        true => ("", format!(" | grep -xE {}", quoted(&ids.join("|")))),
        false => ("every ", String::new()),
    };
    let names_or = quoted(&patterns.join("|"));
    let tasks = format!("pgrep -wx -- {names_or}{these} | xargs -rn1");
    let give = |cpus: &str| format!("{tasks} sudo taskset -apc {cpus}");
    Some(Remedy {
        kind: RemedyKind::MoveTasks,
        purpose: Purpose::Fix,
        what: format!(
            "move {all_named}{} off {}{}",
            names.join(", "),
            cpu_list::named(cpus),
            left_out(&nameless)
        ),
        command: Some(give(&others)),
        needs: vec![Need::Root],
        undo: Some(give(online)),
    })
}

/// A name, which the kernel cuts off, as a pattern of pgrep. `None` where pgrep may see other characters.
fn pattern(name: &str) -> Option<String> {
    // Recordings spell a byte that is not visible with a backslash, and pgrep reads others than ASCII as the locale has it: `C` knows none.
    let is_itself = |c: char| c == ' ' || c.is_ascii_graphic() && c != '\\';
    name.chars().all(is_itself).then(|| {
        let escaped = name.chars().map(|c| match SPECIAL.contains(c) {
            true => format!("\\{c}"),
            false => c.to_string(),
        });
        escaped.collect()
    })
}

/// What is said of tasks that no command can name.
fn left_out(nameless: &[&Tasks<'_>]) -> String {
    let names: Vec<&str> = nameless.iter().map(|tasks| tasks.name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; no command can name {}", names.join(", ")),
    }
}

/// Waits for the other bandscope that measures these CPUs, if that is the costliest of these tasks: it is pinned there, so nothing keeps it away.
pub fn wait_for_other(cpus: &[u32], names: &[&str]) -> Option<Remedy> {
    let named = cpu_list::named(cpus);
    (names.first() == Some(&OWN)).then(|| Remedy {
        kind: RemedyKind::WaitForOther,
        purpose: Purpose::Fix,
        what: format!(
            "another bandscope measures {named}: wait until it ends, or measure another CPU"
        ),
        command: Some(format!("pgrep -ax {OWN}")),
        needs: Vec::new(),
        undo: None,
    })
}

/// Keeps tasks away from the next boot on. `None` on a machine of one CPU, and where the CPU is isolated.
pub fn isolate_cpu(cpus: &[u32], machine: &Machine) -> Option<Remedy> {
    let known = machine.isolated_cpus.as_deref().unwrap_or_default();
    let isolated = cpu_list::parse(known);
    if cpus.iter().all(|cpu| isolated.contains(cpu)) {
        return None;
    }
    // One parameter for all: those that are isolated stay so.
    let (list, named) = (cpu_list::with(known, cpus), cpu_list::named(cpus));
    // Something has to be left for the tasks.
    cpu_list::without(machine.online_cpus.as_deref()?, &cpu_list::parse(&list))?;
    Some(Remedy {
        kind: RemedyKind::IsolateCpu,
        purpose: Purpose::Fix,
        what: format!(
            "boot with `isolcpus={list}` to keep all tasks off {named} that nobody pins there"
        ),
        command: None,
        needs: vec![Need::Root, Need::Boot],
        undo: Some("boot without it".to_owned()),
    })
}

/// Shows who stops processes. SIGSTOP, SIGTSTP, SIGTTIN and SIGTTOU are 19 to 22 (signal(7), x86 and ARM).
pub fn trace_stops() -> Remedy {
    let stops = quoted("sig >= 19 && sig <= 22");
    Remedy {
        kind: RemedyKind::TraceStops,
        purpose: Purpose::FindOut,
        what: "who sends the signal that stops a process (a freezer sends no signal)".to_owned(),
        command: Some(format!(
            "sudo perf trace -a -e signal:signal_generate --filter {stops} sleep 10"
        )),
        needs: vec![Need::Root],
        undo: None,
    }
}

/// Makes one remedy of a boot that keeps tasks off CPUs and one that keeps interrupts off the same: `isolcpus` is one parameter.
pub fn join_isolcpus(remedies: &mut Vec<Remedy>) {
    let place = |kind| remedies.iter().position(|one| one.kind == kind);
    let places = place(RemedyKind::IsolateCpu).zip(place(RemedyKind::MoveInterrupts));
    let Some((tasks, interrupts)) = places else {
        return;
    };
    let both = remedies[tasks].what.replacen("isolcpus=", MANAGED, 1);
    if parameter(&both) == parameter(&remedies[interrupts].what) {
        remedies[tasks].what = both + ", and interrupts that the kernel alone places";
        remedies.remove(interrupts);
    }
}

/// What a remedy boots with.
fn parameter(what: &str) -> Option<&str> {
    what.split('`').nth(1)
}

#[cfg(test)]
mod tests {
    use super::super::move_interrupts;
    use super::*;

    fn machine(online: &str) -> Machine {
        Machine {
            online_cpus: Some(online.to_owned()),
            ..Machine::default()
        }
    }

    #[test]
    fn tasks_get_the_other_cpus() {
        let remedy = move_tasks(
            &[1],
            &["rustc", "kworker/1:2", "rust-lld"].map(Tasks::from),
            &machine("0-3"),
        )
        .unwrap();
        assert_eq!(
            remedy.command.as_deref(),
            Some("pgrep -wx -- 'rustc|rust-lld' | xargs -rn1 sudo taskset -apc 0,2-3")
        );
        assert_eq!(
            remedy.undo.as_deref(),
            Some("pgrep -wx -- 'rustc|rust-lld' | xargs -rn1 sudo taskset -apc 0-3")
        );
    }

    #[test]
    fn processes_that_are_known_and_few_are_moved_alone() {
        let of = |name, processes: std::ops::Range<u32>| Tasks {
            name,
            processes: processes.collect(),
        };
        let command = |tasks: &[Tasks<'_>]| {
            let remedy = move_tasks(&[1], tasks, &machine("0-1")).unwrap();
            (remedy.what, remedy.command.unwrap())
        };
        let (what, one) = command(&[of("metricsd", 10..11)]);
        assert_eq!(
            one,
            "pgrep -wx -- metricsd | grep -xE 10 | xargs -rn1 sudo taskset -apc 0"
        );
        assert_eq!(what, "move metricsd off CPU 1");
        let (_, few) = command(&[of("metricsd", 10..11), of("sh", 11..13)]);
        assert_eq!(
            few,
            "pgrep -wx -- 'metricsd|sh' | grep -xE '10|11|12' | xargs -rn1 sudo taskset -apc 0"
        );
        let one = || of("a", 10..11);
        for tasks in [[of("sh", 10..20), one()], ["sh".into(), one()]] {
            let (what, all) = command(&tasks);
            assert!(all.starts_with("pgrep -wx -- 'sh|a' | xargs"), "{all}");
            assert_eq!(what, "move every sh, a off CPU 1");
        }
    }

    #[test]
    fn tasks_that_a_command_can_name_are_moved_and_others_told() {
        let moved = |tasks: &[Tasks<'_>]| {
            let remedy = move_tasks(&[1], tasks, &machine("0-1")).unwrap();
            (remedy.what, remedy.command.unwrap_or_default())
        };
        for (name, pattern) in [
            ("a|b", r"'a\|b'"),
            ("it's", r"'it'\''s'"),
            ("a.*$(reboot)", r"'a.\*\$\(reboot\)'"),
            ("a  b", "'a  b'"),
        ] {
            let (what, command) = moved(&[name.into()]);
            assert_eq!(what, format!("move every {name} off CPU 1"));
            let whole = format!("pgrep -wx -- {pattern} | xargs -rn1 sudo taskset -apc 0");
            assert_eq!(command, whole);
        }
        // As the recording spells a name of other bytes.
        let other = r"a\x1b";
        let (what, command) = moved(&["sh".into(), other.into()]);
        assert_eq!(what, r"move every sh off CPU 1; no command can name a\x1b");
        assert!(command.starts_with("pgrep -wx -- sh |"));
        // No id without a name that guards it: it may be another process's by now.
        for (name, processes) in [(other, vec![]), (other, vec![10, 11]), ("é", vec![10])] {
            let tasks = [Tasks { name, processes }];
            assert_eq!(move_tasks(&[1], &tasks, &machine("0-1")), None);
        }
    }

    #[test]
    fn another_bandscope_is_waited_for_if_it_costs_most() {
        assert_eq!(wait_for_other(&[1], &["rustc", "bandscope"]), None);
        let remedy = wait_for_other(&[1], &["bandscope", "rustc"]).unwrap();
        assert!(remedy.what.starts_with("another bandscope measures CPU 1"));
    }

    #[test]
    fn cpus_that_are_kept_free_stay_so_and_this_program_stays() {
        let machine = Machine {
            isolated_cpus: Some("3".to_owned()),
            nohz_full_cpus: Some("2".to_owned()),
            ..machine("0-3")
        };
        let remedy = move_tasks(&[1], &["bandscope", "-u0"].map(Tasks::from), &machine).unwrap();
        let command = remedy.command.unwrap();
        assert_eq!(command, "pgrep -wx -- -u0 | xargs -rn1 sudo taskset -apc 0");
        assert_eq!(move_tasks(&[0, 1], &["rustc".into()], &machine), None);
    }

    #[test]
    fn what_a_boot_keeps_away_is_one_parameter() {
        let isolate = || isolate_cpu(&[1], &machine("0-1")).unwrap();
        let fixed = |cpu| Remedy {
            kind: RemedyKind::MoveInterrupts,
            what: format!("boot with `{MANAGED}{cpu}`"),
            ..isolate()
        };
        let joined = |mut remedies: Vec<Remedy>| {
            join_isolcpus(&mut remedies);
            remedies
        };
        let both = joined(vec![fixed(1), isolate()]);
        let what: Vec<&str> = both.iter().map(|one| one.what.as_str()).collect();
        let one = "boot with `isolcpus=managed_irq,domain,1` to keep all tasks off CPU 1 that nobody pins there, and interrupts that the kernel alone places";
        assert_eq!(what, [one]);
        // An interrupt that can be sent elsewhere, one of another CPU, and one alone stay.
        let movable = move_interrupts(&[1], "eth0", &machine("0-1")).unwrap();
        for stay in [
            vec![isolate(), movable],
            vec![fixed(0), isolate()],
            vec![fixed(1)],
        ] {
            assert_eq!(joined(stay.clone()), stay);
        }
    }

    #[test]
    fn what_cannot_be_moved_has_no_command() {
        assert_eq!(move_tasks(&[0], &["rustc".into()], &machine("0")), None);
        assert_eq!(
            move_tasks(
                &[1],
                &[
                    "ksoftirqd/1",
                    "migration/1",
                    "ktimers/1",
                    "backlog_napi/1",
                    "idle_inject/1"
                ]
                .map(Tasks::from),
                &machine("0-1")
            ),
            None
        );
        assert_eq!(
            move_tasks(&[1], &["rustc".into()], &Machine::default()),
            None
        );
    }

    #[test]
    fn a_cpu_that_is_isolated_is_not_isolated_again() {
        let mut isolated = machine("0-3");
        assert!(isolate_cpu(&[2], &isolated).is_some());
        isolated.isolated_cpus = Some("2-3".to_owned());
        assert_eq!(isolate_cpu(&[2], &isolated), None);
        let other = isolate_cpu(&[1], &isolated).unwrap();
        assert!(other.what.contains("`isolcpus=1-3`"), "{}", other.what);
    }
}
