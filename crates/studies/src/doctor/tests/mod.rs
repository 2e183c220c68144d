//! Every item on machines of which everything is known, and on machines that hide all.

mod advice;
mod unknown;

use super::*;
use bandscope_recording::Manifest;
use bandscope_recording::manifest::setup::{
    CpuSetup, IdleState, InterruptSetup, Setup, TaskSetup, paths,
};
use bandscope_recording::manifest::{EventsState, KernelCount, KernelCounts, Machine, Quota};
use bandscope_report::{Cause, Ledger, PaceLoss, Series};

const WALL_NS: u64 = 1_000_000_000;

fn texts(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

/// CPU 1 of four, nothing done for it.
fn untuned() -> Manifest {
    let interrupt = |number, name: &str, is_fixed| InterruptSetup {
        number,
        name: name.to_owned(),
        cpus: "0-3".to_owned(),
        effective: Some("1".to_owned()),
        is_fixed,
    };
    let task = |name: &str| TaskSetup {
        name: name.to_owned(),
        cpus: "0-3".to_owned(),
        number: 1,
        ..TaskSetup::default()
    };
    let state = |name: &str, latency_us| IdleState {
        name: name.to_owned(),
        latency_us,
        is_off: false,
    };
    let setup = Setup {
        settings: texts(&[
            (paths::COMMAND_LINE, "quiet isolcpus=3"),
            (paths::ONLINE, "0-3"),
            (paths::SMT, "on"),
            (paths::IDLE_DRIVER, "intel_idle"),
            (paths::NO_TURBO, "0"),
            (paths::CLOCK_SOURCES, "hpet tsc acpi_pm"),
            (paths::WORKQUEUES, "f"),
            (paths::DEFAULT_AFFINITY, "f"),
            (paths::STAT_INTERVAL, "1"),
            (paths::WATCHDOG, "1"),
            (paths::NMI_WATCHDOG, "1"),
            (paths::WATCHDOG_CPUS, "0-3"),
            (paths::TIMER_MIGRATION, "1"),
            (paths::NUMA_BALANCING, "1"),
            (paths::PERF_PARANOID, "2"),
            (paths::HUGE_PAGES, "[always] madvise never"),
        ]),
        unread: texts(&[
            (paths::BOOST, "No such file"),
            (paths::TUNED, "No such file"),
        ]),
        cpus: vec![CpuSetup {
            cpu: 1,
            least_khz: Some(800_000),
            most_khz: Some(3_000_000),
            hardware_khz: Some(3_000_000),
            idle_states: vec![state("POLL", 0), state("C1", 2), state("C6", 133)],
        }],
        interrupts: vec![interrupt(24, "eth0", false), interrupt(36, "nvme0q1", true)],
        tasks: ["rustc", "irqbalance", "systemd", "khugepaged"]
            .map(task)
            .to_vec(),
        cpu_sets: vec![("/sys/fs/cgroup".to_owned(), "0-3".to_owned())],
    };
    let count = |name: &str, number| KernelCount {
        name: name.to_owned(),
        number,
    };
    let mut manifest = Manifest {
        machine: Machine {
            online_cpus: Some("0-3".to_owned()),
            isolated_cpus: Some("3".to_owned()),
            governor: [(1, "powersave".to_owned())].into(),
            smt_siblings: [(1, "1,3".to_owned())].into(),
            kernel: Some("6.1.0 #1 SMP PREEMPT_DYNAMIC".to_owned()),
            hypervisor: Some("KVM".to_owned()),
            tick_hz: Some(250.0),
            mitigations: texts(&[("spectre_v2", "Mitigation: IBRS"), ("l1tf", "Not affected")]),
            realtime_limit_us: Some([950_000, 1_000_000]),
            clocksource: Some("hpet".to_owned()),
            setup,
            ..Machine::default()
        },
        kernel_counts: vec![KernelCounts {
            cpu: 1,
            seconds: 2.0,
            counts: vec![count("irq:eth0", 200), count("irq:nvme0q1", 3)],
            system_management_interrupts: Some(2),
        }],
        quotas: vec![Quota {
            group: "/sys/fs/cgroup/job".to_owned(),
            version: Some(2),
            quota_us: Some(50_000),
            period_us: Some(100_000),
            periods: 20,
            throttled: 9,
            throttled_ns: 100_000_000,
        }],
        ..Manifest::default()
    };
    manifest.events.state = EventsState::On;
    manifest
}

fn report(manifest: Manifest, gaps: &[(Cause, u64)]) -> Report {
    let lost: u64 = gaps.iter().map(|gap| gap.1).sum();
    Report {
        inputs: vec!["it".to_owned()],
        series: vec![Series {
            cpu: Some(1),
            ledger: Ledger {
                wall_ns: WALL_NS,
                work_ns: WALL_NS - lost - 7_000_000,
                gaps_ns: gaps.iter().cloned().collect(),
                pace_ns: PaceLoss {
                    frequency: 7_000_000,
                    ..PaceLoss::default()
                },
                ..Ledger::default()
            },
            ..Series::default()
        }],
        recording: Some(manifest),
        ..Report::default()
    }
}

/// A millisecond of everything that an item can act on.
fn everything() -> Vec<(Cause, u64)> {
    let names = [
        "rustc",
        "kworker/u8:1",
        "kworker/1:0",
        "rcu_preempt",
        "migration/1",
        "khugepaged",
    ];
    let tasks = names.map(|name| Cause::Task(name.into()));
    let others = [
        Cause::Tick,
        Cause::Host,
        Cause::QuotaThrottled,
        Cause::RealTimeThrottled,
        Cause::Timer("rustc".into()),
        Cause::Interrupt("eth0".into()),
        Cause::Softirq("RCU".into()),
        Cause::Exception("page_fault".into()),
    ];
    tasks
        .into_iter()
        .chain(others)
        .map(|cause| (cause, 1_000_000))
        .collect()
}

fn of(doctor: &Doctor, item: Item) -> &Entry {
    doctor
        .entries
        .iter()
        .find(|entry| entry.item == item)
        .unwrap()
}

#[test]
fn each_item_of_an_untuned_machine_costs_the_lines_that_it_acts_on() {
    let doctor = examine(&report(untuned(), &everything()), &[]).unwrap();
    let ms = 1_000_000;
    for (item, cost, lasting) in [
        (Item::Tasks, 3 * ms, "CPUAffinity=0,2"),
        (Item::Isolcpus, 3 * ms, "isolcpus=1,3"),
        (
            Item::Workqueues,
            ms,
            "w /sys/devices/virtual/workqueue/cpumask - - - - d",
        ),
        (Item::Timers, ms, "CPUAffinity=0,2"),
        (Item::Interrupts, ms, "irqaffinity=0,2"),
        (Item::Irqbalance, ms, "IRQBALANCE_BANNED_CPULIST=1"),
        (Item::RcuNocbs, 2 * ms, "rcu_nocbs=1"),
        (Item::StatInterval, ms, "vm.stat_interval = 10"),
        (Item::Watchdog, ms, "kernel.watchdog_cpumask = 0,2-3"),
        (Item::TimerMigration, ms, "kernel.timer_migration = 0"),
        (Item::NumaBalancing, ms, "kernel.numa_balancing = 0"),
        (Item::RealTimeLimit, ms, "kernel.sched_rt_runtime_us = -1"),
        (
            Item::Governor,
            7 * ms,
            "cpufreq.default_governor=performance",
        ),
        (
            Item::Turbo,
            7 * ms,
            "w /sys/devices/system/cpu/intel_pstate/no_turbo - - - - 1",
        ),
        (
            Item::FrequencyLimits,
            7 * ms,
            "w /sys/devices/system/cpu/cpu1/cpufreq/scaling_min_freq - - - - 3000000",
        ),
        (Item::NohzFull, ms, "nohz_full=1"),
    ] {
        let entry = of(&doctor, item);
        assert_eq!(entry.cost_ns, Some(cost), "{entry:?}");
        assert_eq!(entry.state, State::Costs, "{entry:?}");
        let line = entry.lasting.as_ref().map(|lasting| lasting.line.as_str());
        assert_eq!(line, Some(lasting), "{entry:?}");
        let sum: u64 = entry.lines.iter().map(|line| line.ns).sum();
        assert_eq!(sum, cost);
    }
    for item in [
        Item::TickRate,
        Item::Khugepaged,
        Item::Quota,
        Item::Hypervisor,
        Item::Firmware,
    ] {
        assert_eq!(of(&doctor, item).cost_ns, Some(ms), "{item:?}");
    }
    for item in [
        Item::IdleStates,
        Item::Mitigations,
        Item::Clocksource,
        Item::IrqAffinity,
    ] {
        let entry = of(&doctor, item);
        assert_eq!(
            (entry.state, entry.cost_ns),
            (State::NotMeasurable, None),
            "{entry:?}"
        );
        assert!(entry.why.is_some());
    }
    assert_eq!(of(&doctor, Item::Smt).state, State::Free);
    assert_eq!(
        of(&doctor, Item::Preemption).found.as_deref(),
        Some("PREEMPT_DYNAMIC")
    );
    // Every item stands once.
    let items: BTreeSet<Item> = doctor.entries.iter().map(|entry| entry.item).collect();
    assert_eq!(items.len(), doctor.entries.len());
    // What costs most stands first, and each line counts once.
    let costs: Vec<Option<u64>> = (doctor.entries.iter())
        .take_while(|entry| entry.state == State::Costs)
        .map(|entry| entry.cost_ns)
        .collect();
    assert!(
        costs.len() > 15 && costs.is_sorted_by(|a, b| a >= b),
        "{costs:?}"
    );
    assert_eq!(doctor.acted_on_ns, doctor.lost_ns);
}

#[test]
fn items_that_share_a_line_say_so() {
    let doctor = examine(&report(untuned(), &everything()), &[]).unwrap();
    assert_eq!(of(&doctor, Item::Firmware).together, [Item::Hypervisor]);
    assert!(of(&doctor, Item::Isolcpus).together.contains(&Item::Tasks));
    assert!(of(&doctor, Item::Quota).together.is_empty());
}

#[test]
fn a_machine_that_is_set_up_is_quiet() {
    let mut manifest = untuned();
    let machine = &mut manifest.machine;
    for (path, value) in [
        (
            paths::COMMAND_LINE,
            "isolcpus=1 nohz_full=1 mitigations=off",
        ),
        (paths::NOHZ_FULL, "1"),
        (paths::NO_TURBO, "1"),
        (paths::WORKQUEUES, "1"),
        (paths::DEFAULT_AFFINITY, "d"),
        (paths::STAT_INTERVAL, "120"),
        (paths::WATCHDOG_CPUS, "0"),
        (paths::TIMER_MIGRATION, "0"),
        (paths::NUMA_BALANCING, "0"),
        (paths::HUGE_PAGES, "always madvise [never]"),
    ] {
        machine
            .setup
            .settings
            .insert(path.to_owned(), value.to_owned());
    }
    machine.setup.tasks.clear();
    machine.setup.tasks.push(TaskSetup::default());
    machine.setup.cpus[0].least_khz = Some(3_000_000);
    machine.setup.cpus[0].idle_states.truncate(2);
    machine.isolated_cpus = Some("1".to_owned());
    machine.nohz_full_cpus = Some("1".to_owned());
    machine.governor.insert(1, "performance".to_owned());
    machine.smt_siblings.insert(1, "1".to_owned());
    machine.hypervisor = Some("none".to_owned());
    machine.clocksource = Some("tsc".to_owned());
    machine
        .mitigations
        .insert("spectre_v2".to_owned(), "Vulnerable".to_owned());
    machine.realtime_limit_us = Some([-1, 1_000_000]);
    manifest.kernel_counts[0].counts.clear();
    manifest.kernel_counts[0].system_management_interrupts = Some(0);
    manifest.quotas.clear();
    manifest
        .counters
        .push(bandscope_recording::manifest::Counter {
            name: "cycles".to_owned(),
            ..Default::default()
        });
    let doctor = examine(&report(manifest, &[(Cause::Tick, 1_000_000)]), &[1]).unwrap();
    for entry in &doctor.entries {
        assert_eq!(
            (entry.state, &entry.wanted),
            (State::Quiet, &None),
            "{entry:?}"
        );
        assert!(entry.now.is_none() && entry.lasting.is_none());
    }
    assert!(
        doctor.verdict.contains("No setting is known"),
        "{}",
        doctor.verdict
    );
}

#[test]
fn the_first_line_says_a_loss_once() {
    let mut manifest = untuned();
    manifest.events.state = EventsState::Unavailable;
    let gaps = [
        (Cause::Preempted, 200_000_000),
        (Cause::Unnamed, 10_000_000),
    ];
    let doctor = examine(&report(manifest, &gaps), &[]).unwrap();
    // Both act on `preempted`: a setting can move the task, and the recording does not name it.
    assert_eq!(
        of(&doctor, Item::Visibility).cost_ns,
        Some(210_000_000),
        "{doctor:?}"
    );
    assert!(
        doctor
            .verdict
            .starts_with("CPU 1 lost 21.7 % of the time. Settings act on 20.7 %:")
            && doctor
                .verdict
                .ends_with("could not see the cause of 1.0 %."),
        "{}",
        doctor.verdict
    );
}
