//! Speculation: what the kernel mitigates, and how store bypass stands for this thread.

use super::files::text;
use crate::store_bypass;
use bandscope_recording::manifest::Machine;
use std::collections::BTreeMap;

const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Fills in mitigations and the state of speculative store bypass.
pub fn gather(machine: &mut Machine) {
    machine.mitigations = mitigations();
    machine.speculative_store_bypass = store_bypass::state().map(store_bypass::spelt);
}

fn mitigations() -> BTreeMap<String, String> {
    let Ok(directory) = std::fs::read_dir(VULNERABILITIES) else {
        return BTreeMap::new();
    };
    directory
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, text(entry.path())?))
        })
        .collect()
}
