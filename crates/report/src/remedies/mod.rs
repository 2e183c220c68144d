//! What helps against what was found: typed, so that a report prints it, and whoever sets a machine up can carry it out.
//!
//! One file a group of remedies, one line in [`RemedyKind`] for each. A function of a group takes what is known and returns the remedy, or
//! `None` where this machine does not allow it. Nothing here runs a command.

mod interrupts;
mod limits;
mod platform;
mod rerun;
mod settings;
mod tasks;

use crate::closed::words;
pub use interrupts::{
    can_lose_tick, is_of_device, move_interrupts, place_interrupts, skew_ticks, stop_tick,
    trace_function_calls,
};
pub use limits::{lift_realtime_limit, raise_quota};
pub use platform::{
    compare_frequencies, count_firmware, free_sibling, kept_without_smt, own_neighbour, trace_host,
};
pub use rerun::{
    again, longer, other_kernels, other_rates, own_interrupts, start_later, switching, trace_events,
};
use serde::Serialize;
pub use settings::{boot_with, both, set_parameter, stop_service, write_settings};
use std::collections::BTreeMap;
pub use tasks::{
    Tasks, is_movable, is_of_cpu, isolate_cpu, join_isolcpus, move_tasks, trace_stops,
    wait_for_other,
};

/// Something to do about a cause or a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// Which of them. A report has each once.
    pub kind: RemedyKind,
    /// Whether it removes a loss or answers a question.
    pub purpose: Purpose,
    /// What it does ("move cc1 off CPU 1"), or what it shows ("what interrupts CPU 1").
    pub what: String,
    /// The very command; `null` where it is no single one.
    pub command: Option<String>,
    /// What it takes.
    pub needs: Vec<Need>,
    /// How to undo it; `null` where there is nothing to undo.
    pub undo: Option<String>,
}

impl Remedy {
    /// In one line: what it does or shows, and the command.
    pub fn line(&self) -> String {
        match (&self.command, self.purpose) {
            (None, _) => self.what.clone(),
            (Some(command), Purpose::Fix) => format!("{}: {command}", self.what),
            (Some(command), Purpose::FindOut) => format!("{command} shows {}", self.what),
        }
    }
}

words! {
    /// What a remedy is for.
    pub enum Purpose {
        /// It removes a loss.
        Fix = "fix",
        /// It answers a question that the recording left open.
        FindOut = "find-out",
    }
}

words! {
    /// What a remedy takes.
    pub enum Need {
        /// Root, or the capability that its command names.
        Root = "root",
        /// A boot with another command line.
        Boot = "boot",
        /// Access to the machine that runs this virtual one.
        Host = "host",
    }
}

words! {
    /// The remedies.
    pub enum RemedyKind {
        /// Give running tasks other CPUs.
        MoveTasks = "move-tasks",
        /// Wait until another measurement of the same CPU ends.
        WaitForOther = "wait-for-other",
        /// Keep every task that is not pinned to it away from a CPU.
        IsolateCpu = "isolate-cpu",
        /// Send interrupts of devices to other CPUs.
        MoveInterrupts = "move-interrupts",
        /// Move the timer ticks of the CPUs apart.
        SkewTicks = "skew-ticks",
        /// Stop the timer tick of a CPU with one task.
        StopTick = "stop-tick",
        /// See who interrupts other CPUs.
        TraceFunctionCalls = "trace-function-calls",
        /// Give a control group more CPU time.
        RaiseQuota = "raise-quota",
        /// Give real-time tasks all CPU time.
        LiftRealtimeLimit = "lift-realtime-limit",
        /// Set a parameter of the running kernel.
        SetParameter = "set-parameter",
        /// Write a setting of a device, a driver or a subsystem.
        WriteSetting = "write-setting",
        /// Boot with another command line.
        BootWith = "boot-with",
        /// Stop a service.
        StopService = "stop-service",
        /// See what the host runs in place of a virtual CPU.
        TraceHost = "trace-host",
        /// See who stops processes by signals.
        TraceStops = "trace-stops",
        /// Count system management interrupts.
        CountFirmware = "count-firmware",
        /// Compare the clock frequencies of two CPUs.
        CompareFrequencies = "compare-frequencies",
        /// Disturb a core on purpose, from each other CPU.
        OwnNeighbour = "own-neighbour",
        /// Keep everything off the other hardware threads of a core.
        FreeSibling = "free-sibling",
        /// Record with the kernel's events.
        TraceEvents = "trace-events",
        /// Record with other work kernels.
        OtherKernels = "other-kernels",
        /// Record at two rates.
        OtherRates = "other-rates",
        /// Record for longer.
        Longer = "longer",
        /// Record again, in place of what was imported.
        Again = "again",
        /// Record from later on.
        StartLater = "start-later",
        /// Record beside interrupts of one's own.
        OwnInterrupts = "own-interrupts",
        /// Ask the lab what an interruption changes.
        Switching = "switching",
    }
}

/// What has the same value now, value by value: to be put back together.
fn by_value<'a, T: Clone>(settings: &[(T, &'a str)]) -> Vec<(&'a str, Vec<T>)> {
    let mut groups: BTreeMap<&str, Vec<T>> = BTreeMap::new();
    for (setting, value) in settings {
        groups.entry(value).or_default().push(setting.clone());
    }
    groups.into_iter().collect()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_quoted_words_as_they_are() {
        assert_eq!(quoted("eth0-rx"), "eth0-rx");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(quoted(""), "''");
    }
}
