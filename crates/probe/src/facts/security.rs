//! Speculation: what the kernel mitigates, and how store bypass stands for this thread.

use super::files::text;
use bandscope_recording::manifest::Machine;
use std::collections::BTreeMap;

const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Fills in mitigations and the state of speculative store bypass.
pub fn gather(machine: &mut Machine) {
    machine.mitigations = mitigations();
    machine.speculative_store_bypass = store_bypass().map(decode);
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

/// prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS) of the calling thread; threads inherit it.
fn store_bypass() -> Option<u32> {
    // linux/prctl.h; libc lacks the first for musl.
    const PR_GET_SPECULATION_CTRL: libc::c_int = 52;
    const PR_SPEC_STORE_BYPASS: libc::c_ulong = 0;
    let unused: libc::c_ulong = 0;
    // SAFETY: reads a setting; all arguments are numbers, of the type that prctl(2) takes.
    let state = unsafe {
        libc::prctl(
            PR_GET_SPECULATION_CTRL,
            PR_SPEC_STORE_BYPASS,
            unused,
            unused,
            unused,
        )
    };
    u32::try_from(state).ok()
}

/// Bits of linux/prctl.h, as Documentation/userspace-api/spec_ctrl.rst explains them.
fn decode(state: u32) -> String {
    let switchable = if state & 1 != 0 {
        "switchable by prctl"
    } else {
        "not switchable"
    };
    let name = match state & !1 {
        0 => return "not affected".to_owned(),
        bits if bits & 8 != 0 => "disabled for good",
        bits if bits & 4 != 0 => "disabled",
        bits if bits & 16 != 0 => "disabled until exec",
        bits if bits & 2 != 0 => "enabled",
        _ => return format!("unknown ({state:#x})"),
    };
    format!("{name}, {switchable}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_store_bypass_are_spelt_out() {
        assert_eq!(decode(0), "not affected");
        assert_eq!(decode(2), "enabled, not switchable");
        assert_eq!(decode(3), "enabled, switchable by prctl");
        assert_eq!(decode(5), "disabled, switchable by prctl");
        assert_eq!(decode(9), "disabled for good, switchable by prctl");
    }
}
