//! Unbound workers of the kernel elsewhere (Linux, Documentation/core-api/workqueue.rst).

use super::{Cure, Subject, Why};
use crate::cure::action::Action;
use bandscope_recording::cpu_list;

const MASK: &str = "/sys/devices/virtual/workqueue/cpumask";
/// What was last written to it. The CPUs of isolated cpuset partitions are taken from that (since Linux 6.8; kernel/workqueue.c,
/// `workqueue_unbound_exclude_cpumask`).
const REQUESTED: &str = "/sys/devices/virtual/workqueue/cpumask_requested";

pub(super) const CURE: Cure = Cure {
    name: "workers",
    what: "keeps unbound workers of the kernel on other CPUs",
    // Work that another CPU queues wakes its worker by an interrupt.
    acts_on: &[
        "task:kworker/u*",
        "irq:reschedule",
        "irq:call_function_single",
    ],
    plan,
    on_demand: false,
    moves: None,
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    subject.others()?;
    let before = subject
        .read(MASK)
        .map_err(|error| subject.told(MASK, &error))?;
    let cpus = cpu_list::parse_mask(&before).ok_or_else(|| format!("{MASK} holds no mask"))?;
    let mut left = cpus.clone();
    left.retain(|cpu| !subject.cpus.contains(cpu));
    if left.len() == cpus.len() {
        return Ok(Vec::new());
    }
    let requested = subject.read(REQUESTED).ok();
    let requested = requested.and_then(|mask| cpu_list::parse_mask(&mask));
    if requested.is_some_and(|requested| requested != cpus) {
        // What was written could not be read back, nor what was requested be put back.
        return Err(
            format!("an isolated cpuset partition takes its CPUs from {MASK} already").into(),
        );
    }
    let left = if left.is_empty() {
        &subject.others
    } else {
        &left
    };
    let value = cpu_list::mask(left);
    Ok(vec![subject.write_anyway(MASK, before, &value)?])
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, writes};
    use super::*;

    #[test]
    fn the_mask_loses_the_cpu() {
        for (before, after) in [
            ("3", Some("1")),
            ("1", None),
            ("2", Some("1")),
            ("00000007", Some("5")),
        ] {
            let (root, subject) = machine(&[(MASK, before)]);
            let actions = plan(&subject).unwrap();
            let written = writes(&actions, root.path())
                .first()
                .map(|write| write.1.clone());
            assert_eq!(written.as_deref(), after, "{before}");
        }
    }

    #[test]
    fn an_isolated_partition_has_the_mask() {
        for (requested, is_free) in [("7", true), ("f", false)] {
            let (_root, subject) = machine(&[(MASK, "7"), (REQUESTED, requested)]);
            let planned = plan(&subject).map(|actions| actions.len());
            let why = planned.err().map(|why| why.to_string());
            assert_eq!(why.is_none(), is_free, "{why:?}");
            assert!(why.is_none_or(|why| why.contains("isolated cpuset partition")));
        }
    }
}
