//! What the scheduler itself counted during a run; anybody may read it.

use super::ranges::{COUNT, OutOfRange, Ranges, number};
use serde::{Deserialize, Serialize};

/// Scheduler statistics of a CPU's measuring thread: what they grew by from its first quantum to its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Schedstat {
    /// CPU that the thread was pinned to.
    pub cpu: u32,
    /// Time that the thread ran, in nanoseconds: interrupts and stolen time included, and short of it by up to a tick.
    pub run_ns: u64,
    /// Time that the thread could have run and waited for the CPU, in nanoseconds.
    pub wait_ns: u64,
    /// Times that the thread got the CPU.
    pub slices: u64,
    /// Times that the thread left the CPU and could not have run on, as at each stop by a signal or a freezer; `None` in recordings that do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
}

impl Schedstat {
    /// Whether it is known that nothing stopped the thread: each stop is a switch that it makes while it cannot run.
    pub fn was_never_stopped(&self) -> bool {
        self.voluntary_switches == Some(0)
    }
}

impl Ranges for Schedstat {
    fn check(&self) -> Result<(), OutOfRange> {
        number("run_ns", self.run_ns, &COUNT)?;
        number("wait_ns", self.wait_ns, &COUNT)?;
        number("slices", self.slices, &COUNT)?;
        number("voluntary_switches", self.voluntary_switches, &COUNT)
    }
}

/// The CPU quota of a control group that the measuring process was in, and how often it stopped its threads during the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quota {
    /// Directory of the group. Untrusted, control characters escaped.
    pub group: String,
    /// Version of the control groups, 1 or 2; `None` in recordings that know none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// CPU time in each period, in microseconds; `None` where there is no limit.
    pub quota_us: Option<u64>,
    /// Length of a period, in microseconds.
    pub period_us: Option<u64>,
    /// Periods in which the group wanted CPU time (`nr_periods`).
    pub periods: u64,
    /// Periods in which it was stopped (`nr_throttled`).
    pub throttled: u64,
    /// Time that its CPUs were stopped, all together, in nanoseconds (`throttled_time` or `throttled_usec`).
    pub throttled_ns: u64,
}

impl Ranges for Quota {
    fn check(&self) -> Result<(), OutOfRange> {
        number("version", self.version, &(1..=2))?;
        number("quota_us", self.quota_us, &COUNT)?;
        number("period_us", self.period_us, &COUNT)?;
        number("periods", self.periods, &COUNT)?;
        number("throttled", self.throttled, &COUNT)?;
        number("throttled_ns", self.throttled_ns, &COUNT)
    }
}
