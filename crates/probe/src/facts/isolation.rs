//! How far the running kernel keeps its own work away from the measured CPUs.

use super::files::{cpu_file, cpu_list, text};
use crate::pin;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::Machine;

/// CPUs that the scheduler leaves alone (isolcpus).
pub fn isolated() -> Vec<u32> {
    cpu_list("isolated").unwrap_or_default()
}

/// CPUs whose tick stops while one task runs (nohz_full).
pub fn nohz_full() -> Vec<u32> {
    cpu_list("nohz_full").unwrap_or_default()
}

/// CPUs that are online; `None` where the kernel does not say.
pub fn online() -> Option<Vec<u32>> {
    cpu_list("online")
}

/// Fills in isolation, siblings, and which CPUs there are.
pub fn gather(cpus: &[u32], machine: &mut Machine) {
    machine.online_cpus = cpu_file("online");
    machine.allowed_cpus = pin::allowed().ok().map(|cpus| cpu_list::written(&cpus));
    machine.isolated_cpus = cpu_file("isolated");
    machine.nohz_full_cpus = cpu_file("nohz_full");
    machine.irq_affinity = text("/proc/irq/default_smp_affinity");
    machine.smt_siblings = cpus
        .iter()
        .filter_map(|&cpu| {
            let siblings = cpu_file(&format!("cpu{cpu}/topology/thread_siblings_list"))?;
            Some((cpu, siblings))
        })
        .collect();
}
