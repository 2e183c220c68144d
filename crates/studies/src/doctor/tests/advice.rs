//! The commands that are advised, and to whom none is.

use super::*;

#[test]
fn commands_name_the_files_numbers_and_cpus_of_this_machine() {
    let doctor = examine(&report(untuned(), &everything()), &[]).unwrap();
    let command = |item| {
        of(&doctor, item)
            .now
            .as_ref()
            .and_then(|now| now.command.clone())
    };
    for (item, expected) in [
        (
            Item::Tasks,
            "pgrep -wx -- 'khugepaged|rcu_preempt|rustc' | xargs -rn1 sudo taskset -apc 0,2",
        ),
        // 36 is the kernel's own.
        (
            Item::Interrupts,
            "for i in 24; do echo 0,2 | sudo tee /proc/irq/$i/smp_affinity_list; done",
        ),
        (
            Item::Workqueues,
            "echo d | sudo tee /sys/devices/virtual/workqueue/cpumask",
        ),
        (
            Item::Quota,
            "echo max 100000 | sudo tee /sys/fs/cgroup/job/cpu.max",
        ),
        (
            Item::Governor,
            "echo performance | sudo tee /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        ),
        (
            Item::IdleStates,
            "echo 1 | sudo tee /sys/devices/system/cpu/cpu1/cpuidle/state2/disable",
        ),
        (Item::Irqbalance, "sudo systemctl stop irqbalance"),
        (
            Item::Clocksource,
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
    ] {
        assert_eq!(command(item).as_deref(), Some(expected), "{item:?}");
    }
    let interrupts = of(&doctor, Item::Interrupts).found.clone().unwrap();
    assert!(
        interrupts.starts_with("eth0 100 a second") && interrupts.ends_with("places 36"),
        "{interrupts}"
    );
}

#[test]
fn what_the_kernel_places_by_itself_gets_no_command() {
    let mut manifest = untuned();
    manifest.machine.setup.interrupts.remove(0);
    let doctor = examine(&report(manifest, &everything()), &[]).unwrap();
    let entry = of(&doctor, Item::Interrupts);
    assert_eq!(entry.now, None);
    let line = entry.lasting.as_ref().map(|lasting| lasting.line.as_str());
    assert_eq!(line, Some("isolcpus=managed_irq,domain,1,3"));
}

#[test]
fn a_machine_of_one_cpu_is_told_so_and_given_no_command() {
    let mut manifest = untuned();
    manifest.machine.online_cpus = Some("1".to_owned());
    for path in [paths::WORKQUEUES, paths::DEFAULT_AFFINITY] {
        manifest
            .machine
            .setup
            .settings
            .insert(path.to_owned(), "f".to_owned());
    }
    let doctor = examine(&report(manifest, &everything()), &[]).unwrap();
    for item in [
        Item::Tasks,
        Item::Isolcpus,
        Item::Workqueues,
        Item::Interrupts,
        Item::IrqAffinity,
        Item::NohzFull,
        Item::RcuNocbs,
    ] {
        let entry = of(&doctor, item);
        assert!(entry.now.is_none() && entry.lasting.is_none(), "{entry:?}");
        assert!(
            entry.wanted.as_deref().unwrap().contains("none is left"),
            "{entry:?}"
        );
    }
}

#[test]
fn what_takes_a_judged_cpu_away_is_not_advised() {
    let entry = |siblings: &str| {
        let mut manifest = untuned();
        manifest.machine.smt_siblings = [(1, siblings.to_owned())].into();
        of(
            &examine(&report(manifest, &everything()), &[]).unwrap(),
            Item::Smt,
        )
        .clone()
    };
    let stays = entry("1,3");
    let line = stays.lasting.map(|lasting| lasting.line);
    assert!(stays.now.is_some() && line.as_deref() == Some("nosmt"));
    let goes = entry("0-1");
    assert!(goes.now.is_none() && goes.lasting.is_none(), "{goes:?}");
    let expected = "; measure CPU 0, as switching SMT off takes CPU 1 away";
    assert!(
        goes.wanted.as_deref().unwrap().ends_with(expected),
        "{goes:?}"
    );
}

#[test]
fn the_tick_of_the_cpu_that_boots_stays() {
    let entry = |cpus: &[u32], full: &str| {
        let mut manifest = untuned();
        manifest.machine.online_cpus = Some("0-7".to_owned());
        manifest.machine.nohz_full_cpus = Some(full.to_owned());
        let mut report = report(manifest, &everything());
        let of_cpu = |cpu: &u32| Series {
            cpu: Some(*cpu),
            ..report.series[0].clone()
        };
        report.series = cpus.iter().map(of_cpu).collect();
        of(&examine(&report, &[]).unwrap(), Item::NohzFull).clone()
    };
    let line = |entry: &Entry| entry.lasting.clone().map(|lasting| lasting.line);
    for (cpus, full) in [(&[0][..], ""), (&[0, 1], "1-2")] {
        let entry = entry(cpus, full);
        assert!(entry.now.is_none() && line(&entry).is_none(), "{entry:?}");
        let expected = "the kernel keeps the tick of CPU 0, on which it boots";
        assert!(
            entry.wanted.as_deref().unwrap().ends_with(expected),
            "{entry:?}"
        );
    }
    let both = entry(&[0, 1], "2");
    assert_eq!(line(&both).as_deref(), Some("nohz_full=1-2"));
    assert!(
        both.now
            .is_some_and(|now| now.what.contains("`nohz_full=1-2`"))
    );
}

#[test]
fn cpus_that_could_come_are_no_other_cpus() {
    let mut manifest = untuned();
    let settings = &mut manifest.machine.setup.settings;
    for path in [paths::WORKQUEUES, paths::DEFAULT_AFFINITY] {
        settings.insert(path.to_owned(), "ff".to_owned());
    }
    let doctor = examine(&report(manifest, &everything()), &[]).unwrap();
    for (item, found, line) in [
        (
            Item::Workqueues,
            "unbound workers may use CPUs 0-3",
            "w /sys/devices/virtual/workqueue/cpumask - - - - d",
        ),
        (
            Item::IrqAffinity,
            "new interrupts may go to CPUs 0-3",
            "irqaffinity=0,2-3",
        ),
    ] {
        let entry = of(&doctor, item);
        assert_eq!(entry.found.as_deref(), Some(found));
        assert_eq!(entry.lasting.as_ref().unwrap().line, line);
    }
}
