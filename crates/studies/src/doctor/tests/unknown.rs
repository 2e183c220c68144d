//! What a recording does not hold, or a machine hides.

use super::*;
use bandscope_recording::manifest::Missing;
use bandscope_recording::manifest::setup::MAX_ENTRIES;

#[test]
fn without_events_the_cost_of_gaps_is_not_known_and_not_nothing() {
    let mut manifest = untuned();
    manifest.events.state = EventsState::Unavailable;
    manifest.events.why = "perf_event_paranoid is 2".to_owned();
    let doctor = examine(&report(manifest, &[(Cause::Unnamed, 30_000_000)]), &[]).unwrap();
    let isolation = of(&doctor, Item::StatInterval);
    assert_eq!((isolation.state, isolation.cost_ns), (State::Unnamed, None));
    assert!(
        isolation.why.as_deref().unwrap().contains("3.0 %"),
        "{isolation:?}"
    );
    let visibility = of(&doctor, Item::Visibility);
    assert_eq!(
        (visibility.state, visibility.cost_ns),
        (State::Open, Some(30_000_000))
    );
    assert!(
        doctor
            .verdict
            .ends_with("could not see the cause of 3.0 %."),
        "{}",
        doctor.verdict
    );
    let line = visibility
        .lasting
        .as_ref()
        .map(|lasting| lasting.line.as_str());
    assert_eq!(line, Some("kernel.perf_event_paranoid = -1"));
    // A frequency needs no events.
    assert_eq!(of(&doctor, Item::Governor).cost_ns, Some(7_000_000));
}

#[test]
fn what_a_recording_does_not_hold_is_not_readable_and_nothing_is_advised() {
    let mut manifest = Manifest::default();
    manifest.missing.push(Missing {
        what: "system management interrupts".to_owned(),
        why: "not readable: x".to_owned(),
        ..Missing::default()
    });
    let doctor = examine(&report(manifest, &everything()), &[]).unwrap();
    for entry in &doctor.entries {
        assert!(
            !matches!(entry.state, State::Costs) || entry.now.is_none(),
            "{entry:?}"
        );
    }
    for item in [
        Item::StatInterval,
        Item::Isolcpus,
        Item::Clocksource,
        Item::Interrupts,
    ] {
        let entry = of(&doctor, item);
        assert_eq!(entry.state, State::Unknown, "{entry:?}");
        assert_eq!(entry.why.as_deref(), Some(subject::OLD_RECORDING));
    }
    let wanted = of(&doctor, Item::Tasks).wanted.as_deref();
    assert_eq!(wanted, Some("tasks on other CPUs"));
    assert_eq!(
        of(&doctor, Item::Firmware).why.as_deref(),
        Some("not readable: x")
    );
}

#[test]
fn other_cpus_and_files_of_counts_are_refused() {
    let error = examine(&report(untuned(), &[]), &[1, 7]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--cpus: found 1,7, expected CPUs of the recording: 1"
    );
    let no_facts = Report::default();
    assert!(matches!(examine(&no_facts, &[]), Err(Unjudged::NoFacts)));
    let mut imported = untuned();
    imported.clock = bandscope_recording::manifest::Clock::imported();
    assert!(matches!(
        examine(&report(imported, &[]), &[]),
        Err(Unjudged::NoFacts)
    ));
}

#[test]
fn what_hides_is_not_said_to_be_absent() {
    let mut manifest = untuned();
    manifest.quotas.clear();
    let entry = |manifest: &Manifest, item: Item| {
        let doctor = examine(&report(manifest.clone(), &[]), &[1]).unwrap();
        let mut entries = doctor.entries.into_iter();
        entries.find(|entry| entry.item == item).unwrap()
    };
    assert_eq!(entry(&manifest, Item::Quota).state, State::Quiet);
    // A container without /sys.
    manifest.machine.governor.clear();
    let setup = &mut manifest.machine.setup;
    setup.settings.remove(paths::ONLINE);
    setup.unread.insert(
        paths::CONTROL_GROUPS.to_owned(),
        "not to be seen".to_owned(),
    );
    let why = |item| {
        let entry = entry(&manifest, item);
        assert_eq!((entry.state, entry.found), (State::Unknown, None));
        entry.why.unwrap()
    };
    assert_eq!(why(Item::Quota), "/sys/fs/cgroup: not to be seen");
    assert!(why(Item::Governor).contains("cpufreq cannot be read"));
}

#[test]
fn a_list_of_the_command_line_is_kept_or_nothing_is_advised() {
    let entry = |line: &str, item: Item| {
        let mut manifest = untuned();
        let settings = &mut manifest.machine.setup.settings;
        settings.insert(paths::COMMAND_LINE.to_owned(), line.to_owned());
        let doctor = examine(&report(manifest, &everything()), &[1]).unwrap();
        let line = of(&doctor, item).lasting.clone().map(|it| it.line);
        (of(&doctor, item).state, line)
    };
    let advised = |line: &str| (State::Costs, Some(line.to_owned()));
    for quiet in ["all", "1-N", "0-3:2/4", "0,1"] {
        let line = format!("rcu_nocbs={quiet}");
        assert_eq!(
            entry(&line, Item::RcuNocbs),
            (State::Quiet, None),
            "{quiet}"
        );
    }
    assert_eq!(
        entry("rcu_nocbs=2-N", Item::RcuNocbs),
        advised("rcu_nocbs=1-3")
    );
    assert_eq!(entry("rcu_nocbs", Item::RcuNocbs), advised("rcu_nocbs=1"));
    assert_eq!(
        entry("rcu_nocbs=1,x", Item::RcuNocbs),
        (State::Unknown, None)
    );
    let flagged = advised("isolcpus=nohz,managed_irq,domain,1-3");
    assert_eq!(
        entry("isolcpus=nohz,managed_irq,2-N", Item::Isolcpus),
        flagged
    );
    assert_eq!(entry("isolcpus=x", Item::Isolcpus), (State::Costs, None));
}

#[test]
fn only_a_list_with_the_last_cpu_needs_its_number() {
    let entry = |list: &str| {
        let mut manifest = untuned();
        manifest.machine.online_cpus = None;
        let settings = &mut manifest.machine.setup.settings;
        settings.insert(paths::COMMAND_LINE.into(), format!("rcu_nocbs={list}"));
        let doctor = examine(&report(manifest, &everything()), &[1]).unwrap();
        let entry = of(&doctor, Item::RcuNocbs);
        (entry.state, entry.why.clone().unwrap_or_default())
    };
    assert_eq!(entry("0,1").0, State::Quiet);
    for list in ["all", "1-N"] {
        let (state, why) = entry(list);
        assert_eq!(state, State::Unknown);
        assert!(!why.contains("expected"), "{why}");
    }
}

#[test]
fn a_count_that_cannot_be_seen_is_not_nothing() {
    let mut manifest = untuned();
    manifest.kernel_counts[0].system_management_interrupts = Some(0);
    manifest.machine.setup.interrupts = vec![InterruptSetup::default(); MAX_ENTRIES];
    let doctor = examine(&report(manifest, &everything()), &[1]).unwrap();
    for (item, why) in [
        (Item::Firmware, "a guest does not see the host's firmware"),
        (Item::Interrupts, "1024 interrupts or more"),
    ] {
        let entry = of(&doctor, item);
        assert_eq!(entry.state, State::Unknown, "{entry:?}");
        assert!(entry.why.as_deref().unwrap().contains(why), "{entry:?}");
    }
}

#[test]
fn a_thread_is_absent_only_from_a_list_of_all() {
    let state = |cpus: &str, tasks: usize| {
        let mut manifest = untuned();
        let all = &mut manifest.machine.setup.tasks;
        all.retain(|task| task.name != "khugepaged");
        all.resize(tasks, TaskSetup::default());
        all.push(TaskSetup {
            name: "khugepaged".to_owned(),
            cpus: cpus.to_owned(),
            ..TaskSetup::default()
        });
        let doctor = examine(&report(manifest, &everything()), &[1]).unwrap();
        of(&doctor, Item::Khugepaged).state
    };
    assert_eq!(state("0-1", 2), State::Costs);
    // It may run beside another measured CPU, and not here.
    assert_eq!(state("0,2", 2), State::Quiet);
    assert_eq!(state("0,2", MAX_ENTRIES), State::Costs);
}
