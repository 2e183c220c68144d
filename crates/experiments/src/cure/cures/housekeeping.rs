//! Less of the kernel's own housekeeping (Linux, Documentation/admin-guide/sysctl and mm/{ksm,transhuge}.rst).

use super::{Cure, Subject, Why};
use crate::cure::action::Action;

/// What is set, with what a quiet CPU wants: no watchdog, no timers of idle CPUs, no page faults on purpose, no merging and no collapsing of pages.
/// Not `vm.stat_interval`: what it changes comes when the old interval is over, after many a trial. The watchdog of NMIs before the other: it is put back last,
/// as nothing of it can be set while the other is off.
const WANTED: [(&str, &str); 6] = [
    ("/proc/sys/kernel/nmi_watchdog", "0"),
    ("/proc/sys/kernel/watchdog", "0"),
    ("/proc/sys/kernel/timer_migration", "0"),
    ("/proc/sys/kernel/numa_balancing", "0"),
    ("/sys/kernel/mm/ksm/run", "0"),
    ("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0"),
];

/// Whether the watchdog looks for tasks that do not leave a CPU.
const SOFT_WATCHDOG: &str = "/proc/sys/kernel/soft_watchdog";

pub(super) const CURE: Cure = Cure {
    name: "housekeeping",
    what: "has the kernel look after itself less often",
    acts_on: &[
        "task:migration/*",
        "task:khugepaged",
        "task:ksmd",
        "timer:*",
        "softirq:TIMER",
        "nmi",
        "exception:*",
    ],
    plan,
    on_demand: false,
    moves: None,
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    let mut actions = Vec::new();
    let mut refused = None;
    let mut is_there = false;
    // Where the one of tasks is off (`nosoftlockup`), `watchdog` is what is read of the other, and cannot be put back before it.
    let soft: Option<u32> = subject
        .read(SOFT_WATCHDOG)
        .ok()
        .and_then(|value| value.parse().ok());
    let is_soft_off = soft == Some(0);
    for (path, value) in WANTED {
        if subject.read(path).is_err() || (is_soft_off && path.ends_with("watchdog")) {
            // What the kernel does not have costs nothing.
            continue;
        }
        is_there = true;
        match subject.write(path, value) {
            Ok(action) => actions.extend(action),
            Err(why) => refused = Some(why),
        }
    }
    match (actions.is_empty(), refused) {
        (true, Some(why)) => Err(why),
        (true, None) if !is_there => Err("none of its settings can be read".into()),
        _ => Ok(actions),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, writes};
    use super::*;

    #[test]
    fn what_is_as_wanted_stays() {
        let (root, subject) = machine(&[
            ("/proc/sys/kernel/timer_migration", "1\n"),
            ("/proc/sys/kernel/watchdog", "0\n"),
            ("/sys/kernel/mm/ksm/run", "1\n"),
        ]);
        let actions = plan(&subject).unwrap();
        let expected = [
            ("proc/sys/kernel/timer_migration", "0"),
            ("sys/kernel/mm/ksm/run", "0"),
        ];
        let expected = expected.map(|(path, value)| (path.to_owned(), value.to_owned()));
        assert_eq!(writes(&actions, root.path()), expected);
        // Of both watchdogs one alone is on: `watchdog=1` would not bring it back.
        let (root, subject) = machine(&[
            ("/proc/sys/kernel/soft_watchdog", "0\n"),
            ("/proc/sys/kernel/nmi_watchdog", "1\n"),
            ("/proc/sys/kernel/watchdog", "1\n"),
            ("/proc/sys/kernel/timer_migration", "1\n"),
        ]);
        let actions = plan(&subject).unwrap();
        assert_eq!(writes(&actions, root.path()), expected[..1]);
    }
}
