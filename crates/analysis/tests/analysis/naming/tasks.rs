//! Gaps of many tasks, and of threads that belong to one process.

use super::{booked, quiet, recorded, recorded_at, with};
use crate::evidence::{number, text};
use bandscope_recording::manifest::TaskThread;
use bandscope_recording::source::InMemory;
use bandscope_recording::{EventKind, KernelEvent, Sender};
use bandscope_report::remedies::RemedyKind;
use bandscope_report::{Cause, Certainty, Finding, Kind, Report, WarningKind};
use proptest::prelude::*;
use std::sync::Arc;

/// A second with a gap each millisecond, each of another task out of `names`, of 20 to 60 us.
fn of_tasks(names: usize) -> InMemory {
    let mut source = recorded(&[quiet(20.0), quiet(40.0), quiet(60.0)]);
    source.events[0] = source.gaps[0]
        .iter()
        .enumerate()
        .map(|(number, gap)| KernelEvent {
            start: gap.start + 300,
            duration: gap.duration - 600,
            kind: EventKind::Task,
            number: (number % names) as u32,
            name: format!("job-{:05}", number % names).into(),
            ..KernelEvent::default()
        })
        .collect();
    source
}

#[test]
fn a_thousand_tasks_are_no_thousand_lines_and_the_ledger_closes() {
    for names in [10, 48, 49, 500, 999] {
        // `booked` checks that it closes.
        let (report, causes) = booked(&of_tasks(names));
        let tasks: Vec<&String> = causes
            .keys()
            .filter(|key| key.starts_with("task:"))
            .collect();
        let gaps = report.series[0].gaps.as_ref().unwrap();
        let apart = names.min(48);
        assert_eq!(gaps.other_tasks, (names - apart) as u64);
        assert_eq!(tasks.len(), apart, "{names}");
        assert_eq!(causes.contains_key("other-tasks"), names > apart);
        let total: f64 = causes.values().sum();
        // 333 each of 20, 40 and 60 us.
        assert!((total / 39_960.0 - 1.0).abs() < 0.01, "{total}");
        let named = gaps
            .causes
            .iter()
            .find(|one| one.cause == Cause::OtherTasks);
        assert_eq!(named.is_some(), names > apart);
        let counted: u64 = gaps.causes.iter().map(|one| one.number).sum();
        assert_eq!(counted, gaps.detailed);
        let told = report
            .warnings
            .iter()
            .find(|one| one.kind == WarningKind::ManyTasks);
        assert_eq!(told.is_some(), names > apart);
        if let (Some(told), Some(named)) = (told, named) {
            let number = format!("{} small task", names - 48);
            assert!(told.message.contains(&number), "{}", told.message);
            // The largest keep their lines: each of them took as much as any of the others' gaps, which is all that they had where
            // there are as many tasks as gaps.
            let kept = gaps.causes.iter().filter(|one| one.cause != named.cause);
            let least = kept.map(|one| one.lost_ns as f64).fold(f64::MAX, f64::min);
            // A unit, 141 ns, is in the gap's time and not in what was lost.
            assert!(least + 150.0 >= named.longest_ns || names < 999, "{least}");
        }
    }
}

#[test]
fn what_workers_did_and_who_asked_for_it_has_lines_of_its_own() {
    let mut source = of_tasks(3);
    let senders = [
        ("kworker/u8:1", "task:make", 0, "flush_to_ldisc"),
        ("kworker/u8:2", "task:make", 2, "flush_to_ldisc"),
        (
            "kworker/1:0",
            "timer:delayed_work_timer_fn",
            1,
            "vmstat_update",
        ),
    ];
    for event in &mut source.events[0] {
        let (name, sender, cpu, function) = senders[event.number as usize];
        event.name = name.into();
        event.sender = Some(Arc::new(Sender {
            name: sender.into(),
            cpu,
            function: function.into(),
            ..Sender::default()
        }));
        event.waited = 4_000;
    }
    let (report, _) = booked(&source);
    let gaps = report.series[0].gaps.as_ref().unwrap();
    let told: Vec<_> = gaps
        .chains
        .iter()
        .map(|one| (&*one.cause, &*one.function, &*one.sender, &*one.cpus))
        .collect();
    let wanted = [
        ("task:kworker/u8", "flush_to_ldisc", "task:make", "0,2"),
        (
            "task:kworker/1",
            "vmstat_update",
            "timer:delayed_work_timer_fn",
            "1",
        ),
    ];
    assert_eq!(told, wanted);
    let number: u64 = gaps.chains.iter().map(|one| one.number).sum();
    assert_eq!(number, gaps.detailed);
    let (whole, lost): (u64, u64) = (gaps.chains.iter().map(|one| one.ns).sum(), gaps.lost_ns);
    assert!(
        (whole as f64 / lost as f64 - 1.0).abs() < 0.01,
        "{whole} of {lost}"
    );
    // A tick of these recordings is less than a nanosecond long.
    let waited = gaps.chains[0].waited_ns * source.manifest.clock.ticks_per_ns;
    assert!((waited - 4_000.0).abs() < 1.0, "{waited}");
}

/// What is said of periods: how sure, and whose.
fn periods(report: &Report) -> Vec<(Certainty, String)> {
    let is_period = |finding: &&Finding| finding.kind == Kind::PeriodicInterference;
    let of_cause = |finding: &Finding| text(finding, "cause").to_owned();
    let periods = report.findings.iter().filter(is_period);
    periods
        .map(|finding| (finding.certainty, of_cause(finding)))
        .collect()
}

/// `machines/real loopback` beside a build: whenever the program's turn was over, the scheduler chose anew between the compiler and this thread. The
/// compiler took 1.1 ms "at 333.331 Hz", `certain`.
#[test]
fn what_goes_on_after_another_task_has_no_period() {
    let ran = |names: [&str; 2], wakers: bool| {
        let task = |from, us| (EventKind::Task, "", from, us);
        let mut source = recorded(&[with(400.0, &[task(1.0, 59.0), task(60.0, 339.0)])]);
        for (place, event) in source.events[0].iter_mut().enumerate() {
            event.number = 7 + place as u32 % 2;
            event.name = names[place % 2].into();
            event.sender = (wakers && place % 2 == 0).then(|| {
                Arc::new(Sender {
                    name: "timer:hrtimer_wakeup".into(),
                    ..Sender::default()
                })
            });
        }
        booked(&source).0
    };
    let spinner = (Certainty::Certain, "task:spinner".to_owned());
    let compiler = (Certainty::Certain, "task:compiler".to_owned());
    let names = ["spinner", "compiler"];
    assert_eq!(periods(&ran(names, true)), [spinner]);
    // Where no wake-up was recorded nothing is known of any.
    assert_eq!(periods(&ran(names, false)), [compiler]);
    // Of two threads with one name, what goes on does not make the turns of the other longer.
    let report = ran(["python3"; 2], true);
    let kind = Kind::PeriodicInterference;
    let found = report.findings.iter().find(|one| one.kind == kind);
    let ns = number(found.unwrap(), "ns_per_event");
    assert!((ns - 59e3).abs() < 6e3, "{ns}");
}

/// Which of the two takes more, as a series sees it, is chance: at one rate the timer stood for both, at the other the task.
#[test]
fn a_timer_at_one_rate_and_its_task_at_the_other_are_one_period() {
    let seen = |kind| with(60.0, &[(kind, "sleeper", 1.0, 58.0)]);
    let mut source = recorded_at(10_000.0, &[seen(EventKind::Timer)]);
    let other = recorded_at(7_777.0, &[seen(EventKind::Task)]);
    source.series.extend(other.series);
    source.quanta.extend(other.quanta);
    source.gaps.extend(other.gaps);
    source.events.extend(other.events);
    let sleeper = (Certainty::Certain, "task:sleeper".to_owned());
    assert_eq!(periods(&booked(&source).0), [sleeper]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn however_many_tasks_the_ledger_closes(names in 1usize..999, off: bool) {
        let mut source = of_tasks(names);
        if off {
            // Some of the time is nobody's, too.
            source.events[0].truncate(700);
        }
        let (report, causes) = booked(&source);
        prop_assert!(causes.len() <= 48 + 1 + 1, "{}", causes.len());
        let lost = report.series[0].gaps.as_ref().unwrap().lost_ns as f64;
        let total: f64 = causes.values().sum();
        prop_assert!((total * 1e3 / lost - 1.0).abs() < 1e-6);
    }
}

#[test]
fn threads_are_booked_to_their_process() {
    let task = |name, us| with(us, &[(EventKind::Task, name, 1.0, us - 2.0)]);
    // The process's own name says nothing more.
    let of_rustc = [
        task("lto cgu.01", 40.0),
        task("lto cgu.02", 20.0),
        task("rustc", 10.0),
    ];
    let mut source = recorded(&of_rustc);
    for event in &mut source.events[0] {
        event.number = 100 + u32::from(&*event.name == "lto cgu.02");
    }
    source.manifest.events.tasks = [100, 101]
        .map(|task| TaskThread {
            task,
            process: task - 10,
            name: "rustc".into(),
        })
        .to_vec();
    let (report, booked) = booked(&source);
    let causes: Vec<&String> = booked.keys().collect();
    assert_eq!(causes, ["task:rustc"]);
    let cause = &report.series[0].gaps.as_ref().unwrap().causes[0];
    let tasks: Vec<&str> = cause.tasks.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(tasks, ["lto cgu.01", "lto cgu.02"]);
    assert_eq!(cause.processes, [90, 91]);
    assert!(
        cause.tasks[0].ns.abs_diff(333 * 38_000) < 200_000,
        "{cause:?}"
    );
}

#[test]
fn a_task_that_no_command_can_name_is_kept_away_from_the_next_boot_on() {
    let mut source = recorded(&[with(400.0, &[(EventKind::Task, r"a\x1b", 1.0, 398.0)])]);
    source.manifest.machine.online_cpus = Some("0-1".to_owned());
    let (report, _) = booked(&source);
    let kinds: Vec<RemedyKind> = report.remedies.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&RemedyKind::IsolateCpu), "{kinds:?}");
    assert!(!kinds.contains(&RemedyKind::MoveTasks), "{kinds:?}");
}
