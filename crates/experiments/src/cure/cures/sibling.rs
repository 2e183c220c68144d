//! Nothing on the other hardware threads of the core. Their tasks go elsewhere; no CPU is taken offline, as cpusets of version 1 and affinities of interrupts
//! do not come back from it (Linux, Documentation/admin-guide/cgroup-v1/cpusets.rst).

use super::{Cure, Moves, Subject, Why, tasks};
use crate::cure::action::Action;
use bandscope_recording::cpu_list;

pub(super) const CURE: Cure = Cure {
    name: "sibling",
    what: "keeps tasks off the other hardware threads of the core",
    acts_on: &["pace:microarchitecture", "pace:unsplit"],
    plan,
    on_demand: false,
    moves: Some(Moves::Tasks),
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    let (siblings, left) = siblings(subject)?;
    match left.is_empty() {
        true => Err("no CPU is left beside those of the core".into()),
        false => Ok(tasks::taken(&siblings, &left, subject.only.as_deref())),
    }
}

/// The other hardware threads of the cores, and the CPUs that are left.
fn siblings(subject: &Subject) -> Result<(Vec<u32>, Vec<u32>), Why> {
    let mut siblings = Vec::new();
    for cpu in &subject.cpus {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let list = subject
            .read(&path)
            .map_err(|error| subject.told(&path, &error))?;
        siblings.extend(cpu_list::parse(&list));
    }
    siblings.retain(|cpu| !subject.cpus.contains(cpu));
    siblings.sort_unstable();
    siblings.dedup();
    if siblings.is_empty() {
        return Err("the core has no other hardware thread, as far as this machine shows".into());
    }
    let others = subject.others.iter().copied();
    let left = others.filter(|cpu| !siblings.contains(cpu)).collect();
    Ok((siblings, left))
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn the_core_is_left_alone() {
        let path = "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list";
        let (_root, mut subject) = machine(&[(path, "1,3\n")]);
        subject.others = vec![0, 2, 3];
        assert_eq!(siblings(&subject).unwrap(), (vec![3], vec![0, 2]));
        let (_root, subject) = machine(&[(path, "0-1\n")]);
        assert!(
            plan(&subject)
                .unwrap_err()
                .to_string()
                .contains("no CPU is left")
        );
        let (_root, subject) = machine(&[(path, "1\n")]);
        assert!(
            plan(&subject)
                .unwrap_err()
                .to_string()
                .contains("no other hardware thread")
        );
    }
}
