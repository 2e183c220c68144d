//! How the machine is set up: settings of the kernel, frequencies and idle states, interrupts, tasks. Reads only.
//!
//! Linux, Documentation/admin-guide/{kernel-parameters.txt,sysctl,pm}, Documentation/core-api/irq/irq-affinity.rst, proc(5). All paths
//! are below a root, so that a tree of files stands for a machine. What cannot be read is kept with the reason.

use super::stat::{Stat, task_name};
use crate::control_groups;
use bandscope_recording::cpu_list;
use bandscope_recording::events::escaped;
use bandscope_recording::manifest::setup::{
    CpuSetup, DAEMONS, IdleState, InterruptSetup, MAX_ENTRIES, Setup, TaskSetup, paths,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Longest text of a setting: command lines of the kernel stay below it.
const MAX_BYTES: usize = 4096;
/// Idle states that a CPU may have (`CPUIDLE_STATE_MAX` of Linux).
const MAX_IDLE_STATES: usize = 10;

/// The setup of this machine, with that of `cpus`.
pub fn gather(cpus: &[u32]) -> Setup {
    let mut setup = gather_below(Path::new("/"), cpus);
    // Each group has this file, whatever the version.
    let is_there = |group: &PathBuf| group.join("cgroup.procs").exists();
    if !control_groups::own("cpu").iter().any(is_there) {
        let why = "no control group of this program is to be seen".to_owned();
        setup.unread.insert(paths::CONTROL_GROUPS.to_owned(), why);
    }
    let groups = control_groups::own("cpuset").into_iter();
    setup.cpu_sets = groups
        .filter_map(|group| {
            // Version 2, then version 1.
            let files = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
            let cpus = files.iter().find_map(|name| read(&group.join(name)).ok())?;
            Some((escaped(group.as_os_str().as_encoded_bytes()), cpus))
        })
        .collect();
    setup
}

/// The setup that files below `root` tell of.
fn gather_below(root: &Path, cpus: &[u32]) -> Setup {
    let mut setup = Setup::default();
    for path in paths::ALL {
        match read(&below(root, path)) {
            Ok(contents) => setup.settings.insert(path.to_owned(), contents),
            Err(error) => setup.unread.insert(path.to_owned(), error.to_string()),
        };
    }
    setup.cpus = cpus.iter().map(|&cpu| of_cpu(root, cpu)).collect();
    setup.interrupts = interrupts(root, cpus);
    setup.tasks = tasks(root, cpus);
    setup
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The contents of a small file in one line, invisible characters escaped.
fn read(path: &Path) -> std::io::Result<String> {
    let bytes = fs::read(path)?;
    let text = bytes[..bytes.len().min(MAX_BYTES)].trim_ascii();
    Ok(escaped(text))
}

fn number(path: &Path) -> Option<u64> {
    read(path).ok()?.parse().ok()
}

fn of_cpu(root: &Path, cpu: u32) -> CpuSetup {
    let directory = below(root, &format!("/sys/devices/system/cpu/cpu{cpu}"));
    let frequency = |name: &str| number(&directory.join("cpufreq").join(name));
    let idle_state = |state: usize| {
        let file = |name: &str| directory.join(format!("cpuidle/state{state}/{name}"));
        Some(IdleState {
            name: read(&file("name")).ok()?,
            latency_us: number(&file("latency"))?,
            is_off: number(&file("disable")).is_some_and(|disable| disable != 0),
        })
    };
    CpuSetup {
        cpu,
        least_khz: frequency("scaling_min_freq"),
        most_khz: frequency("scaling_max_freq"),
        hardware_khz: frequency("cpuinfo_max_freq"),
        idle_states: (0..MAX_IDLE_STATES).map_while(idle_state).collect(),
    }
}

/// Rows of /proc/interrupts that have a number, with what /proc/irq says of each; first of all those that came to one of `cpus`.
fn interrupts(root: &Path, cpus: &[u32]) -> Vec<InterruptSetup> {
    let table = fs::read_to_string(below(root, "/proc/interrupts")).unwrap_or_default();
    let mut lines = table.lines();
    let columns = lines.next().unwrap_or_default().split_whitespace();
    let cpus: Vec<String> = cpus.iter().map(|cpu| format!("CPU{cpu}")).collect();
    let is_measured: Vec<bool> = columns.map(|it| cpus.iter().any(|cpu| it == cpu)).collect();
    let row = |line| {
        let (number, rest): (&str, &str) = str::split_once(line, ':')?;
        let mut counts = rest.split_whitespace().zip(&is_measured);
        let is_some = |count: &str| count.parse::<u64>().is_ok_and(|count| count > 0);
        let came = counts.any(|(count, is_measured)| *is_measured && is_some(count));
        Some((
            !came,
            number.trim().parse().ok()?,
            rest.split_whitespace().last()?,
        ))
    };
    let mut rows: Vec<(bool, u64, &str)> = lines.filter_map(row).collect();
    rows.sort_unstable();
    rows.truncate(MAX_ENTRIES);
    rows.sort_unstable_by_key(|row| row.1);
    let setup = |(_, number, name): (bool, u64, &str)| {
        let directory = below(root, &format!("/proc/irq/{number}"));
        let affinity = directory.join("smp_affinity_list");
        // The kernel takes the right to write from whoever must not: interrupts that it manages itself, and those of one CPU.
        let is_writable =
            |file: &Path| fs::metadata(file).is_ok_and(|it| it.permissions().mode() & 0o200 != 0);
        Some(InterruptSetup {
            number,
            name: escaped(name.as_bytes()),
            cpus: read(&affinity).ok()?,
            effective: read(&directory.join("effective_affinity_list")).ok(),
            is_fixed: !is_writable(&affinity),
        })
    };
    rows.into_iter().filter_map(setup).collect()
}

/// Processes and threads of the kernel that may use one of `cpus`, and daemons, by name.
fn tasks(root: &Path, cpus: &[u32]) -> Vec<TaskSetup> {
    let mut found: BTreeMap<TaskSetup, u64> = BTreeMap::new();
    let entries = fs::read_dir(below(root, "/proc")).into_iter().flatten();
    for entry in entries.flatten() {
        let is_process = entry.file_name().as_encoded_bytes()[0].is_ascii_digit();
        if let Some(task) = is_process.then(|| task(&entry.path())).flatten()
            && (DAEMONS.contains(&&*task.name)
                || (cpu_list::parse(&task.cpus).iter()).any(|cpu| cpus.contains(cpu)))
        {
            *found.entry(task).or_insert(0) += 1;
        }
    }
    let counted = found.into_iter().enumerate();
    let is_kept =
        |place: usize, task: &TaskSetup| place < MAX_ENTRIES || DAEMONS.contains(&&*task.name);
    let kept = counted.filter(|(place, (task, _))| is_kept(*place, task));
    let kept = kept.map(|(_, (task, number))| TaskSetup { number, ..task });
    kept.collect()
}

fn task(process: &Path) -> Option<TaskSetup> {
    let stat = Stat::parse(&fs::read(process.join("stat")).ok()?)?;
    let status = fs::read(process.join("status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let mut lines = status.lines();
    let cpus = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(TaskSetup {
        name: task_name(&stat.name),
        cpus: cpus.trim().to_owned(),
        is_kernel: stat.is_kernel(),
        is_fixed: stat.is_fixed(),
        number: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            let path = below(root.path(), path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        root
    }

    #[test]
    fn a_tree_of_files_is_read_as_a_machine() {
        let root = machine(&[
            ("/proc/cmdline", "quiet nohz_full=1\n"),
            ("/proc/sys/vm/stat_interval", "10\n"),
            (
                "/proc/interrupts",
                "  CPU0 CPU1\n 24: 5 7 IO-APIC 5-edge eth\x1b0\n 25: 0 1 x eth1\nLOC: 3 4 Local\n",
            ),
            ("/proc/irq/24/smp_affinity_list", "0-1\n"),
            ("/proc/irq/24/effective_affinity_list", "1\n"),
            ("/proc/irq/25/smp_affinity_list", "1\n"),
            (
                "/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq",
                "3200000\n",
            ),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state0/name", "POLL\n"),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state0/latency", "0\n"),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state1/name", "C6\n"),
            (
                "/sys/devices/system/cpu/cpu1/cpuidle/state1/latency",
                "133\n",
            ),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state1/disable", "1\n"),
            (
                "/proc/7/stat",
                "7 (a) b) S 2 0 0 0 -1 69238880 0 0 0 0 1 2 0 0 20 0 1 0 9\n",
            ),
            ("/proc/7/status", "Name:\ta\nCpus_allowed_list:\t1\n"),
            (
                "/proc/8/stat",
                "8 (elsewhere) S 2 0 0 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 9\n",
            ),
            ("/proc/8/status", "Cpus_allowed_list:\t0\n"),
            (
                "/proc/9/stat",
                "9 (irqbalance) S 2 0 0 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 9\n",
            ),
            ("/proc/9/status", "Cpus_allowed_list:\t0\n"),
        ]);
        let fixed = below(root.path(), "/proc/irq/25/smp_affinity_list");
        fs::set_permissions(fixed, fs::Permissions::from_mode(0o444)).unwrap();
        let setup = gather_below(root.path(), &[1]);
        assert_eq!(setup.parameter("nohz_full"), Some("1"));
        assert_eq!(setup.setting(paths::STAT_INTERVAL), Some("10"));
        assert!(setup.unread[paths::KSM].contains("No such file"));
        let of = |one: &InterruptSetup| (one.number, one.name.clone(), one.is_fixed);
        let interrupts: Vec<_> = setup.interrupts.iter().map(of).collect();
        assert_eq!(
            interrupts,
            [(24, "eth\\x1b0".into(), false), (25, "eth1".into(), true)]
        );
        assert_eq!(setup.interrupts[0].effective.as_deref(), Some("1"));
        let cpu = setup.cpu(1).unwrap();
        assert_eq!((cpu.most_khz, cpu.least_khz), (Some(3_200_000), None));
        assert_eq!(
            (cpu.idle_states[1].latency_us, cpu.idle_states[1].is_off),
            (133, true)
        );
        let task = TaskSetup {
            name: "a) b".into(),
            cpus: "1".into(),
            is_kernel: true,
            is_fixed: true,
            number: 1,
        };
        let daemon = TaskSetup {
            name: "irqbalance".into(),
            cpus: "0".into(),
            number: 1,
            ..TaskSetup::default()
        };
        assert_eq!(setup.tasks, [task, daemon]);
    }

    #[test]
    fn of_many_interrupts_and_tasks_those_that_matter_are_kept() {
        let many = MAX_ENTRIES + 2;
        let row = |number| {
            let count = u8::from(number >= many - 2);
            format!(" {number}: 9 {count} x eth{number}\n")
        };
        let table = format!("  CPU0 CPU1\n{}", (0..many).map(row).collect::<String>());
        let root = machine(&[("/proc/interrupts", &table)]);
        let write = |path: String, text: &str| {
            let path = below(root.path(), &path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for number in 0..many {
            write(format!("/proc/irq/{number}/smp_affinity_list"), "0-1\n");
        }
        for (number, name) in (0..many)
            .map(|number| (number, format!("a{number}")))
            .chain([
                (many, "irqbalance".to_owned()),
                (many + 1, "kworker/u8:1-events_unbound".to_owned()),
            ])
        {
            let stat = format!("{number} ({name}) S 2 0 0 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 9\n");
            write(format!("/proc/{number}/stat"), &stat);
            write(format!("/proc/{number}/status"), "Cpus_allowed_list:\t1\n");
        }
        let setup = gather_below(root.path(), &[1]);
        assert_eq!(setup.interrupts.len(), MAX_ENTRIES);
        assert_eq!(setup.interrupts[0].number, 0, "in order");
        assert_eq!(setup.interrupts[MAX_ENTRIES - 1].number, many as u64 - 1);
        assert_eq!(setup.tasks.len(), MAX_ENTRIES + 1);
        assert_eq!(setup.tasks[MAX_ENTRIES].name, "irqbalance");
        let worker = below(root.path(), &format!("/proc/{}", many + 1));
        assert_eq!(task(&worker).unwrap().name, "kworker/u8:1");
    }

    #[test]
    fn without_proc_and_sys_every_setting_has_a_reason() {
        let root = machine(&[]);
        let setup = gather_below(root.path(), &[0]);
        assert_eq!(setup.unread.len(), paths::ALL.len());
        assert!(!setup.is_empty() && setup.interrupts.is_empty() && setup.tasks.is_empty());
    }

    #[test]
    fn this_machine_runs_this_process() {
        let cpus = crate::pin::allowed().unwrap();
        let setup = gather(&cpus);
        assert_eq!(setup.cpus.len(), cpus.len());
        assert_eq!(setup.settings.len() + setup.unread.len(), paths::ALL.len());
        assert!(setup.tasks.iter().any(|task| !task.is_kernel), "{setup:?}");
    }
}
