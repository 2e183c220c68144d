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
    taken(&subject.cpus, &subject.others, subject.only.as_deref())
}

/// Keeps threads off `cpus`, those of one name if `only`.
pub(super) fn taken(cpus: &[u32], others: &[u32], only: Option<&str>) -> Result<Vec<Action>, Why> {
    if affinity::movable(cpus, others, only).is_empty() {
        return only.map_or(Ok(Vec::new()), |name| Err(none_moves(name, cpus)));
    }
    Ok(vec![Action::TakeTasks {
        taken: cpus.to_vec(),
        others: others.to_vec(),
        only: only.map(str::to_owned),
    }])
}

/// Why no thread of a name can be moved.
fn none_moves(name: &str, cpus: &[u32]) -> Why {
    match affinity::names().get(name) {
        None => format!("no task is named {name} any more"),
        Some(false) => format!("the kernel lets nobody move {name}"),
        Some(true) => format!("{name} may not use {}", cpu_list::named(cpus)),
    }
    .into()
}
