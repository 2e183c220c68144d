//! Other tasks elsewhere: threads that may use the CPU and can be moved get the others (sched_setaffinity(2)).

use super::{Cure, Moves, Subject, Why};
use crate::cure::action::Action;
use crate::cure::affinity;
use bandscope_recording::cpu_list;

pub(super) const CURE: Cure = Cure {
    name: "tasks",
    what: "gives other tasks other CPUs",
    // A task brings its timers along, and the interrupts by which other CPUs wake it.
    acts_on: &[
        "task:*",
        "preempted",
        "other-tasks",
        "timer:*",
        "irq:reschedule",
        "irq:call_function_single",
    ],
    plan,
    on_demand: false,
    moves: Some(Moves::Tasks),
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    subject.others()?;
    let only = subject.only.as_deref();
    Ok(taken(&subject.cpus, &subject.others, only))
}

/// Keeps threads off `cpus`, those of one name if `only`: these come and go, and are looked for when they are moved.
pub(super) fn taken(cpus: &[u32], others: &[u32], only: Option<&str>) -> Vec<Action> {
    if only.is_none() && affinity::movable(cpus, others, None).is_empty() {
        return Vec::new();
    }
    vec![Action::TakeTasks {
        taken: cpus.to_vec(),
        others: others.to_vec(),
        only: only.map(str::to_owned),
    }]
}

/// Why no thread of the name that an action is for can be moved just now.
pub(super) fn none_moves(action: &Action) -> Option<Why> {
    let Action::TakeTasks {
        taken,
        others,
        only: Some(name),
    } = action
    else {
        return None;
    };
    if !affinity::movable(taken, others, Some(name)).is_empty() {
        return None;
    }
    let why = match affinity::names().get(name) {
        None => format!("no task is named {name} any more"),
        Some(false) => format!("the kernel lets nobody move {name}"),
        Some(true) => format!("{name} may not use {}", cpu_list::named(taken)),
    };
    Some(why.into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;
    use crate::cure::{Journal, apply};

    #[test]
    fn trials_go_on_while_no_task_has_the_name() {
        let (place, mut subject) = machine(&[]);
        // The kernel cuts the names of tasks to 15 bytes.
        subject.only = Some("a name that no task has".to_owned());
        let why = CURE.first_plan(&subject).unwrap_err().to_string();
        assert!(why.contains("no task is named a name that"), "{why}");
        let actions = plan(&subject).unwrap();
        let mut journal = Journal::begin(&place.path().join("journals")).unwrap();
        let in_force = apply(&actions, &mut journal).unwrap();
        assert!(in_force.problems.is_empty());
        assert!(journal.put_back().is_empty());
    }
}
