//! A control: writes back what stands there. Whatever it is said to save is an error of the method.

use super::{Cure, Subject, Why};
use crate::cure::action::Action;

/// Settings of which one at least is in every kernel.
const SETTINGS: [&str; 2] = [
    "/proc/sys/vm/stat_interval",
    "/sys/devices/virtual/workqueue/cpumask",
];

pub(super) const CURE: Cure = Cure {
    name: "sham",
    what: "writes back what stands there, as a control",
    acts_on: &["task:*"],
    plan,
    on_demand: true,
    moves: None,
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    let mut actions = Vec::new();
    let mut why = None;
    for path in SETTINGS {
        let written = subject
            .read(path)
            .map_err(|error| subject.told(path, &error));
        match written.and_then(|before| subject.write_anyway(path, before.clone(), before.trim())) {
            Ok(action) => actions.push(action),
            Err(refused) => why = Some(refused),
        }
    }
    match why {
        Some(why) if actions.is_empty() => Err(why),
        _ => Ok(actions),
    }
}
