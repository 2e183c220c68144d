//! What else is known of a machine: told, and judged by nobody.

use super::subject::Subject;
use bandscope_recording::manifest::setup::paths;
use serde::Serialize;

/// Something that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// What.
    pub name: &'static str,
    /// As the machine tells it. Untrusted.
    pub value: String,
}

/// What is known, in the order of a reader's questions.
pub(super) fn facts(subject: &Subject<'_>) -> Vec<Fact> {
    let machine = subject.machine;
    let setting = |path: &str| subject.setup.setting(path).map(str::to_owned);
    let idle = setting(paths::IDLE_DRIVER).zip(setting(paths::IDLE_GOVERNOR));
    let known = [
        ("CPU", machine.cpu_model.clone()),
        ("microarchitecture", machine.microarchitecture.clone()),
        ("microcode", machine.microcode.clone()),
        ("kernel", machine.kernel.clone()),
        ("command line", setting(paths::COMMAND_LINE)),
        ("hypervisor", machine.hypervisor.clone()),
        ("CPUs online", machine.online_cpus.clone()),
        (
            "idle",
            idle.map(|(driver, governor)| format!("{driver}, {governor}")),
        ),
        ("store bypass", machine.speculative_store_bypass.clone()),
        (
            "same-page merging",
            setting(paths::KSM).map(|run| format!("ksm/run {run}")),
        ),
        ("tuned profile", setting(paths::TUNED)),
        (
            "memory",
            machine
                .memory_bytes
                .map(|bytes| format!("{} MiB", bytes >> 20)),
        ),
        (
            "load",
            machine
                .load
                .map(|load| format!("{} {} {}", load[0], load[1], load[2])),
        ),
    ];
    let facts = known.into_iter();
    let facts = facts.filter_map(|(name, value)| {
        Some(Fact {
            name,
            value: value?,
        })
    });
    facts.collect()
}
