//! Interrupts of devices elsewhere (Linux, Documentation/core-api/irq/irq-affinity.rst).

use super::{Cure, Moves, Subject, Why};
use crate::cure::action::Action;
use crate::cure::undo;
use bandscope_probe::facts::rows;
use bandscope_recording::cpu_list;
use bandscope_recording::events::escaped;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

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
    moves: Some(Moves::Interrupts),
};

/// Numbers of the interrupts that come to some CPUs, and how often they came since the boot.
#[derive(Debug, Default)]
pub struct Arrivals(BTreeMap<u32, u64>);

impl Arrivals {
    /// As they stand.
    pub fn read(cpus: &[u32]) -> Arrivals {
        let table = fs::read_to_string("/proc/interrupts").unwrap_or_default();
        let mut counts = BTreeMap::new();
        for row in cpus.iter().flat_map(|&cpu| rows(&table, cpu)) {
            if let Ok(number) = row.name.parse() {
                *counts.entry(number).or_default() += row.number;
            }
        }
        Arrivals(counts)
    }

    /// Those that came since `before`, with where each comes to.
    pub fn came_since(&self, before: &Arrivals) -> BTreeMap<u32, String> {
        let grown = self
            .0
            .iter()
            .filter(|(number, count)| before.0.get(number) != Some(count));
        let place = |number: u32| {
            let path = format!("/proc/irq/{number}/effective_affinity_list");
            undo::read(Path::new(&path)).unwrap_or_default()
        };
        grown.map(|(&number, _)| (number, place(number))).collect()
    }
}

/// Only those that came: an interrupt that does not come costs nothing, and one that is moved without coming cannot be sent back at once.
fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    subject.others()?;
    let mut actions = Vec::new();
    let mut refused = None;
    for (&number, place) in &subject.interrupts {
        let names = || handlers(&subject.path(&format!("/proc/irq/{number}")));
        if subject
            .only
            .as_ref()
            .is_some_and(|name| !names().contains(name))
        {
            continue;
        }
        match moved(subject, number, place) {
            Ok(action) => actions.extend(action),
            Err(why) => refused = Some(why),
        }
    }
    match (actions.is_empty(), refused) {
        (true, Some(why)) => Err(why),
        (true, None) => Err(match &subject.only {
            Some(name) => format!("no interrupt of {name} came to a CPU that it can leave").into(),
            None => "no interrupt of a device came".into(),
        }),
        _ => Ok(actions),
    }
}

/// Names of the handlers of an interrupt, as the ledger writes them: the kernel has a directory for each.
fn handlers(interrupt: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(interrupt).into_iter().flatten().flatten();
    let handlers = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let name = |entry: fs::DirEntry| escaped(entry.file_name().as_encoded_bytes());
    handlers.map(name).collect()
}

/// Names of the interrupts of this machine's devices.
pub(super) fn names() -> BTreeSet<String> {
    let interrupts = fs::read_dir("/proc/irq").into_iter().flatten().flatten();
    interrupts
        .flat_map(|interrupt| handlers(&interrupt.path()))
        .collect()
}

/// Sends one interrupt elsewhere; `None` if it goes there.
fn moved(subject: &Subject, number: u32, place: &str) -> Result<Option<Action>, Why> {
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
    let effective = (!place.is_empty() && place != before).then(|| place.to_owned());
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
        let (root, mut subject) = machine(&[
            ("/proc/irq/24/smp_affinity_list", "0-1\n"),
            ("/proc/irq/25/smp_affinity_list", "0\n"),
            ("/proc/irq/9/smp_affinity_list", "1\n"),
            ("/proc/irq/26/smp_affinity_list", "0-1\n"),
        ]);
        let came = [(24, "1"), (25, "0"), (9, "1"), (30, "1")];
        subject.interrupts = came
            .map(|(number, place)| (number, place.to_owned()))
            .into();
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

    #[test]
    fn only_those_of_a_handler_are_sent_elsewhere() {
        let (root, mut subject) = machine(&[
            ("/proc/irq/24/smp_affinity_list", "0-1\n"),
            ("/proc/irq/24/virtio0-input/spurious", ""),
            ("/proc/irq/25/smp_affinity_list", "0-1\n"),
            ("/proc/irq/25/ahci/spurious", ""),
            ("/proc/irq/25/xhci hcd/spurious", ""),
        ]);
        subject.interrupts = [24, 25].map(|number| (number, "1".to_owned())).into();
        for (name, number) in [("virtio0-input", 24), ("ahci", 25), ("xhci hcd", 25)] {
            subject.only = Some(name.to_owned());
            let written = writes(&plan(&subject).unwrap(), root.path());
            let path = format!("proc/irq/{number}/smp_affinity_list");
            assert_eq!(written, [(path, "0".to_owned())], "{name}");
        }
        subject.only = Some("smp_affinity_list".to_owned());
        let why = plan(&subject).unwrap_err().to_string();
        assert!(
            why.contains("no interrupt of smp_affinity_list came"),
            "{why}"
        );
    }
}
