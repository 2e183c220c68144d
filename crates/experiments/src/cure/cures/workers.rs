//! Unbound workers of the kernel elsewhere (Linux, Documentation/core-api/workqueue.rst).

use super::{Cure, Subject, Why};
use crate::cure::action::Action;
use bandscope_recording::cpu_list;

const MASK: &str = "/sys/devices/virtual/workqueue/cpumask";

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
}
