//! Frequency driver and governor; the kernel's clock source.

use super::files::{cpu_file, text};
use bandscope_recording::manifest::Machine;

/// Fills them in for the measured CPUs.
pub fn gather(cpus: &[u32], machine: &mut Machine) {
    machine.frequency_driver = cpus
        .iter()
        .find_map(|cpu| cpu_file(&format!("cpu{cpu}/cpufreq/scaling_driver")));
    machine.governor = cpus
        .iter()
        .filter_map(|&cpu| {
            Some((
                cpu,
                cpu_file(&format!("cpu{cpu}/cpufreq/scaling_governor"))?,
            ))
        })
        .collect();
    machine.clocksource = text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
}
