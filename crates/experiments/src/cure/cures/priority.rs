//! The program before all ordinary tasks: the lowest real-time priority (sched(7)).

use super::{Cure, Subject, Why};
use crate::cure::action::Action;
use bandscope_probe::priority;
use bandscope_sampler::machine::Priority;

const LIMIT: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

pub(super) const CURE: Cure = Cure {
    name: "priority",
    what: "runs the program at real-time priority, within its limit",
    acts_on: &["task:*", "preempted", "other-tasks", "throttled:realtime"],
    plan,
    on_demand: false,
    moves: None,
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    // Without a limit a thread that never sleeps starves the kernel's own.
    let number = |path: &str| subject.read(path).ok()?.trim().parse::<i64>().ok();
    let (limit, period) = (number(LIMIT), number(PERIOD));
    if !matches!((limit, period), (Some(limit), Some(period)) if 0 < limit && limit < period) {
        return Err(
            "no limit for real-time tasks is known here, and the kernel's own threads would starve"
                .into(),
        );
    }
    priority::is_permitted(Priority::LOWEST)
        .map_err(|error| format!("the kernel gives no real-time priority: {error}"))?;
    Ok(vec![Action::RealTime])
}
