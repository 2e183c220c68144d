//! How the machine was set up when a run began: settings of the kernel by their path, and what depends on a CPU, an interrupt or a task.
//!
//! Gathered by `probe::facts` from `/proc` and `/sys`, judged by the study `doctor`. A setting that could not be read is in
//! [`Setup::unread`] with the reason; recordings of versions that gathered none have neither.

use super::ranges::{COUNT, OutOfRange, Ranges, each, number};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Paths of the settings that are read.
#[allow(missing_docs, reason = "each is the path that it names")]
pub mod paths {
    pub const COMMAND_LINE: &str = "/proc/cmdline";
    pub const ONLINE: &str = "/sys/devices/system/cpu/online";
    pub const NOHZ_FULL: &str = "/sys/devices/system/cpu/nohz_full";
    pub const SMT: &str = "/sys/devices/system/cpu/smt/control";
    pub const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
    pub const IDLE_GOVERNOR: &str = "/sys/devices/system/cpu/cpuidle/current_governor";
    pub const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    pub const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
    pub const CLOCK_SOURCES: &str =
        "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    pub const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";
    pub const DEFAULT_AFFINITY: &str = "/proc/irq/default_smp_affinity";
    pub const STAT_INTERVAL: &str = "/proc/sys/vm/stat_interval";
    pub const WATCHDOG: &str = "/proc/sys/kernel/watchdog";
    pub const NMI_WATCHDOG: &str = "/proc/sys/kernel/nmi_watchdog";
    pub const WATCHDOG_CPUS: &str = "/proc/sys/kernel/watchdog_cpumask";
    pub const TIMER_MIGRATION: &str = "/proc/sys/kernel/timer_migration";
    pub const NUMA_BALANCING: &str = "/proc/sys/kernel/numa_balancing";
    pub const PERF_PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
    pub const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    pub const KHUGEPAGED: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag";
    pub const KSM: &str = "/sys/kernel/mm/ksm/run";
    pub const TUNED: &str = "/etc/tuned/active_profile";
    /// Where control groups are; in [`unread`](super::Setup::unread) where none that can have a CPU quota is to be seen.
    pub const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
    /// All that are files.
    pub const ALL: [&str; 22] = [
        COMMAND_LINE,
        ONLINE,
        NOHZ_FULL,
        SMT,
        IDLE_DRIVER,
        IDLE_GOVERNOR,
        NO_TURBO,
        BOOST,
        CLOCK_SOURCES,
        WORKQUEUES,
        DEFAULT_AFFINITY,
        STAT_INTERVAL,
        WATCHDOG,
        NMI_WATCHDOG,
        WATCHDOG_CPUS,
        TIMER_MIGRATION,
        NUMA_BALANCING,
        PERF_PARANOID,
        HUGE_PAGES,
        KHUGEPAGED,
        KSM,
        TUNED,
    ];
}

/// Interrupts and groups of tasks that a recording holds at most, some 150 bytes each: where there are more, not all are known.
pub const MAX_ENTRIES: usize = 1024;
/// Daemons of which is told whether they run, wherever that is: who moves interrupts, and who starts services.
pub const DAEMONS: [&str; 2] = ["irqbalance", "systemd"];
/// In the reason why a setting could not be read: its file is not there (ENOENT, as Rust words it).
pub const NOT_THERE: &str = "os error 2)";

/// How the machine was set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// Contents of settings by path, see [`paths`]. Untrusted, invisible characters escaped.
    pub settings: BTreeMap<String, String>,
    /// Paths of settings that could not be read, and why.
    pub unread: BTreeMap<String, String>,
    /// The measured CPUs.
    pub cpus: Vec<CpuSetup>,
    /// Interrupts of devices, in order of their numbers; of more than [`MAX_ENTRIES`] those that came to measured CPUs before others.
    pub interrupts: Vec<InterruptSetup>,
    /// Processes and kernel threads by name: those that may use a measured CPU, and [`DAEMONS`].
    pub tasks: Vec<TaskSetup>,
    /// CPU sets of the control groups that the process was in, the outermost first: directory and CPUs.
    pub cpu_sets: Vec<(String, String)>,
}

impl Setup {
    /// Whether nothing was gathered.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.unread.is_empty()
    }

    /// The contents of a setting.
    pub fn setting(&self, path: &str) -> Option<&str> {
        self.settings.get(path).map(String::as_str)
    }

    /// Whether the kernel was built without what this setting is of: the file is not there, and others of its tree are.
    pub fn lacks(&self, path: &str) -> bool {
        let beside = match path.starts_with("/proc/") {
            true => paths::PERF_PARANOID,
            false => paths::ONLINE,
        };
        let why = self.unread.get(path);
        why.is_some_and(|why| why.contains(NOT_THERE)) && self.setting(beside).is_some()
    }

    /// Whether a setting has exactly these contents; `None` where it could not be read.
    pub fn is(&self, path: &str, contents: &str) -> Option<bool> {
        self.setting(path).map(|found| found == contents)
    }

    /// The word that a setting of several words has in brackets, as in `always [madvise] never`.
    pub fn chosen(&self, path: &str) -> Option<&str> {
        let (_, rest) = self.setting(path)?.split_once('[')?;
        rest.split_once(']').map(|found| found.0)
    }

    /// The value of a parameter of the kernel's command line, the last one as the kernel takes it; empty for one without a value.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let words = self.setting(paths::COMMAND_LINE)?.split_whitespace();
        let words = words.take_while(|word| *word != "--");
        let values = words.filter_map(|word| match word.split_once('=') {
            Some((found, value)) => (found == name).then_some(value),
            None => (word == name).then_some(""),
        });
        values.last()
    }

    /// The setup of a measured CPU.
    pub fn cpu(&self, cpu: u32) -> Option<&CpuSetup> {
        self.cpus.iter().find(|one| one.cpu == cpu)
    }
}

impl Ranges for Setup {
    fn check(&self) -> Result<(), OutOfRange> {
        each("cpus", &self.cpus)?;
        each("interrupts", &self.interrupts)?;
        each("tasks", &self.tasks)
    }
}

/// What is set for one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuSetup {
    /// CPU, as the kernel numbers it.
    pub cpu: u32,
    /// Least frequency that the governor may choose, in kHz (`scaling_min_freq`).
    pub least_khz: Option<u64>,
    /// Highest frequency that the governor may choose, in kHz (`scaling_max_freq`).
    pub most_khz: Option<u64>,
    /// Highest frequency of the hardware, in kHz (`cpuinfo_max_freq`).
    pub hardware_khz: Option<u64>,
    /// Idle states, the shallowest first.
    pub idle_states: Vec<IdleState>,
}

impl Ranges for CpuSetup {
    fn check(&self) -> Result<(), OutOfRange> {
        number("least_khz", self.least_khz, &COUNT)?;
        number("most_khz", self.most_khz, &COUNT)?;
        number("hardware_khz", self.hardware_khz, &COUNT)?;
        each("idle_states", &self.idle_states)
    }
}

/// One idle state of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleState {
    /// Name, as in `C6`. Untrusted.
    pub name: String,
    /// Time to leave it, in microseconds.
    pub latency_us: u64,
    /// Whether it is switched off.
    pub is_off: bool,
}

impl Ranges for IdleState {
    fn check(&self) -> Result<(), OutOfRange> {
        number("latency_us", self.latency_us, &COUNT)
    }
}

/// Where the interrupts of a device go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterruptSetup {
    /// Number, as /proc/interrupts has it.
    pub number: u64,
    /// Name of the handler, as in `irq:NAME` of a report. Untrusted, invisible characters escaped.
    pub name: String,
    /// CPUs that it may go to (`smp_affinity_list`).
    pub cpus: String,
    /// CPUs that it goes to (`effective_affinity_list`), where the kernel says so.
    pub effective: Option<String>,
    /// Whether the kernel alone decides where it goes: its file cannot be written, even by root.
    pub is_fixed: bool,
}

impl Ranges for InterruptSetup {
    fn check(&self) -> Result<(), OutOfRange> {
        number("number", self.number, &COUNT)
    }
}

/// Processes or kernel threads of one name that may use the same CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskSetup {
    /// Name. Untrusted, invisible characters escaped.
    pub name: String,
    /// CPUs that they may use.
    pub cpus: String,
    /// Whether they are threads of the kernel.
    pub is_kernel: bool,
    /// Whether the kernel refuses to move them (`PF_NO_SETAFFINITY`).
    pub is_fixed: bool,
    /// How many.
    pub number: u64,
}

impl Ranges for TaskSetup {
    fn check(&self) -> Result<(), OutOfRange> {
        number("number", self.number, &COUNT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_the_kernel_and_the_last_wins() {
        let line = "quiet isolcpus=1 nohz_full isolcpus=2-3 -- isolcpus=9";
        let setup = Setup {
            settings: [(paths::COMMAND_LINE.to_owned(), line.to_owned())].into(),
            ..Setup::default()
        };
        assert_eq!(setup.parameter("isolcpus"), Some("2-3"));
        assert_eq!(setup.parameter("nohz_full"), Some(""));
        assert_eq!(setup.parameter("idle"), None);
    }

    #[test]
    fn the_chosen_word_stands_in_brackets() {
        let words = |text: &str| Setup {
            settings: [(paths::HUGE_PAGES.to_owned(), text.to_owned())].into(),
            ..Setup::default()
        };
        assert_eq!(
            words("always [madvise] never").chosen(paths::HUGE_PAGES),
            Some("madvise")
        );
        assert_eq!(words("always").chosen(paths::HUGE_PAGES), None);
        assert_eq!(words("0").is(paths::HUGE_PAGES, "0"), Some(true));
        assert_eq!(words("0").is(paths::KSM, "0"), None);
    }
}
