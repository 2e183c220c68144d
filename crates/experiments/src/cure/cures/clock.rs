//! One clock frequency (Linux, Documentation/admin-guide/pm/{cpufreq,intel_pstate}.rst). The governor stays: between equal limits each has one frequency, and
//! another governor would lose its tunables and the preference of energy.

use super::{Cure, Subject, Why};
use crate::cure::action::Action;

/// Turbo off, as drivers spell it.
const TURBO: [(&str, &str); 2] = [
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
    ("/sys/devices/system/cpu/cpufreq/boost", "0"),
];

pub(super) const CURE: Cure = Cure {
    name: "clock",
    what: "holds the clock at one frequency, without turbo",
    acts_on: &["pace:frequency", "pace:unsplit"],
    plan,
    on_demand: false,
    moves: None,
};

fn plan(subject: &Subject) -> Result<Vec<Action>, Why> {
    let mut actions = Vec::new();
    let mut has_base = true;
    for cpu in &subject.cpus {
        let file = |name: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}");
        let Ok(highest) = subject.read(&file("scaling_max_freq")) else {
            return Err("no frequency driver is here; a hypervisor's host decides".into());
        };
        // Up to where the frequency needs no turbo, where the driver tells; else as far as it may.
        let base = subject.read(&file("base_frequency"));
        has_base &= base.is_ok();
        let steady = base.unwrap_or(highest);
        let khz = |value: &str| value.parse::<u64>().unwrap_or_default();
        let lowest = subject.read(&file("scaling_min_freq")).unwrap_or_default();
        // The lowest is never above the highest, on the way there and back.
        let order = match khz(&lowest) > khz(&steady) {
            true => ["scaling_min_freq", "scaling_max_freq"],
            false => ["scaling_max_freq", "scaling_min_freq"],
        };
        for limit in order {
            actions.extend(subject.write(&file(limit), &steady)?);
        }
    }
    // Last, so that it is put back first: without turbo no limit is set above it.
    for (path, value) in TURBO {
        if has_base && subject.read(path).is_ok() {
            actions.extend(subject.write(path, value)?);
        }
    }
    Ok(actions)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, writes};
    use super::*;

    /// A tree of files, and no hardware: what is written, not what comes of it.
    #[test]
    fn limits_and_turbo_are_written() {
        let cpu = "/sys/devices/system/cpu/cpu1/cpufreq";
        let file = |name: &str| format!("{cpu}/{name}");
        let (root, subject) = machine(&[
            (&file("scaling_min_freq"), "800000\n"),
            (&file("scaling_max_freq"), "4800000\n"),
            (&file("base_frequency"), "2600000\n"),
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ]);
        let actions = plan(&subject).unwrap();
        let values: Vec<String> = writes(&actions, root.path())
            .into_iter()
            .map(|write| write.1)
            .collect();
        assert_eq!(values, ["2600000", "2600000", "1"]);
        // A lowest limit in the range of turbo comes down first, and goes up last.
        let (root, subject) = machine(&[
            (&file("scaling_min_freq"), "3000000\n"),
            (&file("scaling_max_freq"), "4800000\n"),
            (&file("base_frequency"), "2600000\n"),
        ]);
        let actions = plan(&subject).unwrap();
        assert!(
            writes(&actions, root.path())[0]
                .0
                .ends_with("scaling_min_freq")
        );
        let (_root, subject) = machine(&[]);
        assert!(
            plan(&subject)
                .unwrap_err()
                .to_string()
                .contains("hypervisor")
        );
    }
}
