//! What the kernel itself counted on the measured CPUs during a run; anybody may read it.

use super::ranges::{COUNT, OutOfRange, Ranges, SECONDS, each, number};
use serde::{Deserialize, Serialize};

/// The counts of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelCounts {
    /// CPU, as the kernel numbers it.
    pub cpu: u32,
    /// Seconds that were counted: from when the measuring threads were ready to when they had ended.
    pub seconds: f64,
    /// Interrupts (/proc/interrupts) and softirqs (/proc/softirqs) that happened at all, the most frequent first.
    pub counts: Vec<KernelCount>,
    /// System management interrupts: how often firmware took the CPU meanwhile. `None` where nothing that could be read counts
    /// them, and in recordings that know none.
    pub system_management_interrupts: Option<u64>,
}

impl Ranges for KernelCounts {
    fn check(&self) -> Result<(), OutOfRange> {
        number("seconds", self.seconds, &SECONDS)?;
        each("counts", &self.counts)?;
        number(
            "system_management_interrupts",
            self.system_management_interrupts,
            &COUNT,
        )
    }
}

/// How often something of one name happened on a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelCount {
    /// As kernel events are named in a report: `tick`, `irq:NAME`, `softirq:KIND`, `nmi`. Untrusted, control characters escaped.
    pub name: String,
    /// Growth over the run; more than 0.
    pub number: u64,
}

impl Ranges for KernelCount {
    fn check(&self) -> Result<(), OutOfRange> {
        number("number", self.number, &COUNT)
    }
}
