//! No deep idle states (Linux, Documentation/power/pm_qos_interface.rst).

use super::{Cure, Subject, Why};
use crate::cure::action::Action;
use std::fs::OpenOptions;

const DEVICE: &str = "/dev/cpu_dma_latency";

pub(super) const CURE: Cure = Cure {
    name: "idle",
    what: "keeps idle CPUs in their shallowest state",
    // The measuring loop never idles; what the other CPUs do between its interruptions shows in the whole alone.
    acts_on: &[],
    plan,
    on_demand: false,
    moves: None,
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    let states = "/sys/devices/system/cpu/cpu0/cpuidle/state1/name";
    if subject.read(states).is_err() {
        return Err("no idle states are here to choose from; a hypervisor's host decides".into());
    }
    let path = subject.path(DEVICE);
    let opened = OpenOptions::new().write(true).open(&path);
    opened.map_err(|error| subject.told(DEVICE, &error))?;
    Ok(vec![Action::Hold {
        path,
        latency_us: 0,
    }])
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn the_device_is_held_where_there_are_states() {
        let state = ("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n");
        let (_root, subject) = machine(&[state, (DEVICE, "")]);
        assert_eq!(plan(&subject).unwrap().len(), 1);
        let (_root, subject) = machine(&[state]);
        assert_eq!(
            plan(&subject).unwrap_err(),
            format!("this kernel has no {DEVICE}").into()
        );
    }
}
