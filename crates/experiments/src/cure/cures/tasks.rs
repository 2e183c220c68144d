//! Other tasks elsewhere: threads that may use the CPU and can be moved get the others (sched_setaffinity(2)).

use super::{Cure, Subject, Why};
use crate::cure::action::Action;
use crate::cure::affinity;

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
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    subject.others()?;
    taken(&subject.cpus, &subject.others)
}

/// Keeps threads off `cpus`.
pub(super) fn taken(cpus: &[u32], others: &[u32]) -> Result<Vec<Action>, Why> {
    if affinity::movable(cpus, others).is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![Action::TakeTasks {
        taken: cpus.to_vec(),
        others: others.to_vec(),
    }])
}
