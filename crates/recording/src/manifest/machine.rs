//! What the manifest says about the machine.

use super::Setup;
use super::ranges::{COUNT, OutOfRange, RATIO, Ranges, each, inside, number, numbers};
use crate::cpu_list;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts about the machine. Whatever could not be read is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Host name, escaped.
    pub host: Option<String>,
    /// The kernel's random name of this boot.
    pub boot_id: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// Microarchitecture by family and model, as in `Zen 3`, where known.
    pub microarchitecture: Option<String>,
    /// Instruction set: `x86_64` or `aarch64`.
    pub architecture: Option<String>,
    /// Family, model, stepping as the vendor counts them.
    pub cpu_id: Option<String>,
    /// Microcode revision, as /proc/cpuinfo prints it.
    pub microcode: Option<String>,
    /// CPUs online, as a list of ranges.
    pub online_cpus: Option<String>,
    /// CPUs this process may use.
    pub allowed_cpus: Option<String>,
    /// SMT siblings of each measured CPU.
    pub smt_siblings: BTreeMap<u32, String>,
    /// Frequency driver, as in `intel_pstate`.
    pub frequency_driver: Option<String>,
    /// Frequency governor of each measured CPU.
    pub governor: BTreeMap<u32, String>,
    /// Kernel release and version.
    pub kernel: Option<String>,
    /// isolcpus of the running kernel.
    pub isolated_cpus: Option<String>,
    /// nohz_full of the running kernel.
    pub nohz_full_cpus: Option<String>,
    /// Default interrupt affinity mask.
    pub irq_affinity: Option<String>,
    /// Hypervisor, `none` on bare metal as far as the CPU says.
    pub hypervisor: Option<String>,
    /// Timer interrupts per second of a busy CPU (HZ), measured or from the kernel configuration.
    pub tick_hz: Option<f64>,
    /// State of speculative store bypass of the measuring thread (PR_GET_SPECULATION_CTRL).
    pub speculative_store_bypass: Option<String>,
    /// Mitigations: name and state.
    pub mitigations: BTreeMap<String, String>,
    /// Load averages over 1, 5 and 15 minutes at the start.
    pub load: Option<[f64; 3]>,
    /// Other runnable or busy tasks at the start: name and share of a CPU.
    pub other_tasks: Vec<OtherTask>,
    /// Microseconds that real-time tasks may run in each period, and the period (`sched_rt_runtime_us`, `sched_rt_period_us`); the first is
    /// negative where there is no limit.
    pub realtime_limit_us: Option<[i64; 2]>,
    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// How it was set up, for `doctor`; empty in recordings that know none.
    #[serde(skip_serializing_if = "Setup::is_empty")]
    pub setup: Setup,
}

impl Machine {
    /// Online CPUs for what `cpus` are to be free of: none of these, and none that is kept free already (`isolcpus`, `nohz_full`).
    pub fn housekeeping(&self, cpus: &[u32]) -> Option<String> {
        let free = [&self.isolated_cpus, &self.nohz_full_cpus]
            .into_iter()
            .flatten();
        let mut taken: Vec<u32> = free.flat_map(|list| cpu_list::parse(list)).collect();
        taken.extend(cpus);
        cpu_list::without(self.online_cpus.as_deref()?, &taken)
    }

    /// Ticks per second of this CPU whatever runs on it; `None` where that is not known, and where they stop for a task that runs alone
    /// (`nohz_full`).
    pub fn tick_hz_of(&self, cpu: u32) -> Option<f64> {
        let stops = |list: &String| cpu_list::parse(list).contains(&cpu);
        let ticks = self.tick_hz.filter(|hz| (1.0..=1e4).contains(hz));
        ticks.filter(|_| !self.nohz_full_cpus.as_ref().is_some_and(stops))
    }

    /// The hypervisor that the CPU tells of; `None` on bare metal, and where it is not known.
    pub fn known_hypervisor(&self) -> Option<&str> {
        self.hypervisor.as_deref().filter(|name| *name != "none")
    }
}

impl Ranges for Machine {
    fn check(&self) -> Result<(), OutOfRange> {
        number("tick_hz", self.tick_hz, &RATIO)?;
        numbers("load", &self.load.unwrap_or_default(), &RATIO)?;
        each("other_tasks", &self.other_tasks)?;
        let limits = self.realtime_limit_us.unwrap_or_default();
        numbers("realtime_limit_us", &limits, &(-1..=i64::from(i32::MAX)))?;
        number("memory_bytes", self.memory_bytes, &COUNT)?;
        inside("setup", &self.setup)
    }
}

/// A task that used CPU time while the run was being prepared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherTask {
    /// Name as the kernel has it: untrusted, escape it before showing.
    pub name: String,
    /// Process id at the start of the run.
    pub pid: u32,
    /// Share of one CPU, 0 to 1.
    pub share: f64,
}

impl Ranges for OtherTask {
    fn check(&self) -> Result<(), OutOfRange> {
        number("share", self.share, &RATIO)
    }
}
