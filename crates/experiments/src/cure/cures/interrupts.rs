//! Interrupts of devices elsewhere (Linux, Documentation/core-api/irq/irq-affinity.rst).

use super::{Cure, Subject, Why};
use crate::cure::action::Action;
use bandscope_recording::cpu_list;
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub(super) const CURE: Cure = Cure {
    name: "interrupts",
    what: "sends interrupts of devices to other CPUs",
    acts_on: &[
        "irq:*",
        "softirq:NET_*",
        "softirq:BLOCK",
        "softirq:TASKLET",
        "softirq:HI",
        "softirq:IRQ_POLL",
    ],
    plan,
    on_demand: false,
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    subject.others()?;
    let directory = subject.path("/proc/irq");
    let entries = fs::read_dir(directory).map_err(|error| subject.told("/proc/irq", &error))?;
    let mut numbers: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let mut actions = Vec::new();
    let mut refused = None;
    for number in numbers {
        match moved(subject, number) {
            Ok(action) => actions.extend(action),
            Err(why) => refused = Some(why),
        }
    }
    match (actions.is_empty(), refused) {
        (true, Some(why)) => Err(why),
        _ => Ok(actions),
    }
}

/// Sends one interrupt elsewhere; `None` if it goes there.
fn moved(subject: &Subject, number: u32) -> Result<Option<Action>, Why> {
    let path = format!("/proc/irq/{number}/smp_affinity_list");
    let Ok(before) = subject.read(&path) else {
        return Ok(None);
    };
    let cpus = cpu_list::parse(&before);
    if !cpus.iter().any(|cpu| subject.cpus.contains(cpu)) {
        return Ok(None);
    }
    // Root may open what the kernel lets nobody write.
    let mode = fs::metadata(subject.path(&path)).map(|it| it.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o200 == 0) {
        return Err("the kernel lets nobody move these interrupts".into());
    }
    let left = cpu_list::without(&before, &subject.cpus);
    let value = left.map_or_else(|| subject.others(), Ok)?;
    let action = subject.write_anyway(&path, before.clone(), &value)?;
    // An interrupt stays where it is as long as it may: free to go back it would come to the other CPU for ever.
    let effective = subject.read(&format!("/proc/irq/{number}/effective_affinity_list"));
    let effective = effective
        .ok()
        .filter(|now| !now.is_empty() && *now != before);
    Ok(Some(match action {
        Action::Write {
            path,
            before,
            value,
            ..
        } => Action::Write {
            path,
            before,
            value,
            through: effective,
            // The kernel refuses those that it manages itself, some of them only when they are written.
            may_fail: true,
        },
        other => other,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, writes};
    use super::*;

    #[test]
    fn those_that_may_come_are_sent_elsewhere_and_back_to_where_they_came() {
        let (root, subject) = machine(&[
            ("/proc/irq/24/smp_affinity_list", "0-1\n"),
            ("/proc/irq/24/effective_affinity_list", "1\n"),
            ("/proc/irq/25/smp_affinity_list", "0\n"),
            ("/proc/irq/9/smp_affinity_list", "1\n"),
            ("/proc/irq/9/effective_affinity_list", "1\n"),
            ("/proc/irq/default_smp_affinity", "3\n"),
        ]);
        let actions = plan(&subject).unwrap();
        let expected = [
            ("proc/irq/9/smp_affinity_list", "0"),
            ("proc/irq/24/smp_affinity_list", "0"),
        ];
        let expected = expected.map(|(path, value)| (path.to_owned(), value.to_owned()));
        assert_eq!(writes(&actions, root.path()), expected);
        let through = actions.iter().map(|action| match action {
            Action::Write { through, .. } => through.as_deref(),
            _ => None,
        });
        assert_eq!(through.collect::<Vec<_>>(), [None, Some("1")]);
    }
}
