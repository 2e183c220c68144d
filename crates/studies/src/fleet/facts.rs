//! How a node is set up, as settings by name: what one node may have that others do not.

use bandscope_recording::manifest::setup::{DAEMONS, Setup, paths};
use bandscope_recording::manifest::{Machine, Quota};
use bandscope_recording::{Manifest, cpu_list};
use std::collections::{BTreeMap, BTreeSet};

/// Nodes are compared within the same of these two.
pub(super) const CPU: &str = "cpu";
/// See [`CPU`].
pub(super) const KERNEL: &str = "kernel";
/// What begins the name of a simulated machine.
const SIMULATED: &str = "simulated:";
/// A longer setting is cut: it is compared, not read.
const MOST_BYTES: usize = 200;
/// Settings of a node, at most; names of programs come last.
const MOST: usize = 400;
/// The value of a fact that its name tells.
pub(super) const YES: &str = "yes";

/// Facts by name.
#[derive(Default)]
struct Facts(BTreeMap<String, String>);

impl Facts {
    /// What could not be read is left out.
    fn add(&mut self, name: impl Into<String>, value: Option<impl Into<String>>) {
        if let (Some(value), true) = (value.map(Into::into), self.0.len() < MOST) {
            let mut value: String = value;
            value.truncate(value.floor_char_boundary(MOST_BYTES));
            self.0.insert(name.into(), value);
        }
    }

    /// Of the machine itself.
    fn of_machine(&mut self, machine: &Machine) {
        self.add(KERNEL, machine.kernel.as_deref());
        self.add("microcode", machine.microcode.as_deref());
        self.add("hypervisor", machine.hypervisor.as_deref());
        self.add("clock source", machine.clocksource.as_deref());
        self.add("frequency driver", machine.frequency_driver.as_deref());
        self.add("governor", words(machine.governor.values()));
        let siblings = machine.smt_siblings.values();
        let siblings = siblings.map(|list| format!("{} a core", cpu_list::parse(list).len()));
        self.add("siblings", words(siblings));
        self.add("isolated CPUs", machine.isolated_cpus.as_deref());
        self.add("nohz_full CPUs", machine.nohz_full_cpus.as_deref());
        self.add("online CPUs", machine.online_cpus.as_deref());
        self.add("interrupt affinity", machine.irq_affinity.as_deref());
        self.add("tick", machine.tick_hz.map(|hz| format!("{hz:.0} Hz")));
        let gib = machine.memory_bytes.map(|bytes| bytes >> 30);
        self.add("memory", gib.map(|gib| format!("{gib} GiB")));
        let limit = machine.realtime_limit_us;
        let limit = limit.map(|[of, period]| format!("{of} of {period} us"));
        self.add("real-time limit", limit);
        for (name, state) in &machine.mitigations {
            self.add(format!("mitigation {name}"), Some(state.as_str()));
        }
    }

    /// Of settings of the kernel, and of what runs.
    fn of_setup(&mut self, setup: &Setup) {
        for (path, value) in &setup.settings {
            if path == paths::COMMAND_LINE {
                for word in value.split_whitespace() {
                    let (name, value) = word.split_once('=').unwrap_or((word, YES));
                    self.add(format!("boot: {name}"), Some(value));
                }
            } else {
                self.add(path.as_str(), Some(value.as_str()));
            }
        }
        if let Some(cpu) = setup.cpus.first() {
            let highest = cpu.most_khz.map(|khz| format!("{khz} kHz"));
            self.add("highest frequency", highest);
            let states = cpu.idle_states.iter().filter(|state| !state.is_off);
            self.add("idle states", words(states.map(|state| &state.name)));
        }
        let is_program = |name: &str, is_kernel: bool| !is_kernel || DAEMONS.contains(&name);
        let tasks = setup.tasks.iter();
        for task in tasks.filter(|task| is_program(&task.name, task.is_kernel)) {
            self.add(format!("runs {}", task.name), Some(YES));
        }
    }
}

/// The facts of a recording's machine.
pub(super) fn of(manifest: &Manifest) -> BTreeMap<String, String> {
    let machine = &manifest.machine;
    let mut facts = Facts::default();
    // Scenarios of a simulated machine are settings of one machine.
    match manifest.settings.machine.strip_prefix(SIMULATED) {
        Some(scenario) => {
            facts.add(CPU, Some("simulated"));
            facts.add("scenario", Some(scenario));
        }
        None => facts.add(CPU, machine.cpu_model.as_deref()),
    }
    facts.of_machine(machine);
    let limit = |quota: &Quota| Some(quota.quota_us? as f64 / quota.period_us? as f64);
    let tightest = manifest.quotas.iter().filter_map(limit).reduce(f64::min);
    let tightest = tightest.map(|of| format!("{:.0} % of a CPU", 100.0 * of));
    facts.add("CPU quota", tightest);
    facts.of_setup(&machine.setup);
    facts.0
}

/// Each of several values once.
fn words(values: impl Iterator<Item = impl AsRef<str>>) -> Option<String> {
    let values: BTreeSet<String> = values.map(|value| value.as_ref().to_owned()).collect();
    let written = values.into_iter().collect::<Vec<_>>().join(", ");
    Some(written).filter(|written| !written.is_empty())
}
