//! Speculative store bypass of a thread: whether its loads may run ahead of stores whose addresses are not known yet.
//!
//! On some cores memory renaming depends on it: without it each load of a chain through the stack waits for the store
//! before it. Linux, Documentation/userspace-api/spec_ctrl.rst; the numbers are those of linux/prctl.h, of which libc lacks some for musl.

use bandscope_sampler::MachineError;
use std::io;

const PR_GET_SPECULATION_CTRL: libc::c_int = 52;
const PR_SET_SPECULATION_CTRL: libc::c_int = 53;
const PR_SPEC_STORE_BYPASS: libc::c_ulong = 0;
/// The thread may set it by itself.
const BY_PRCTL: u32 = 1;
/// Set so that nothing sets it back.
const FOR_GOOD: u32 = 8;
const ENABLE: libc::c_ulong = 2;
const DISABLE: libc::c_ulong = 4;

/// How it stands for the calling thread, in bits of linux/prctl.h; threads inherit it. `None` where the kernel does not tell.
pub fn state() -> Option<u32> {
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

/// Whether the calling thread's loads may run ahead, as far as the kernel tells.
pub fn allowed() -> bool {
    state().is_none_or(|state| state & DISABLE as u32 == 0)
}

/// Why a thread may not set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("speculative store bypass cannot be set here: {0}")]
pub struct NotSettable(Obstacle);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Obstacle {
    #[error("the kernel does not tell its state (prctl PR_GET_SPECULATION_CTRL)")]
    Untold,
    #[error("this CPU does not bypass stores, or is not affected")]
    NotAffected,
    #[error("an earlier setting forbids every change")]
    ForbiddenForGood,
    /// Decided at boot for the whole machine; with the state in bits of linux/prctl.h.
    #[error(
        "it is {}: no thread may set its own (boot with spec_store_bypass_disable=prctl where the CPU offers it)",
        spelt(*.0)
    )]
    SystemWide(u32),
}

impl From<NotSettable> for MachineError {
    fn from(error: NotSettable) -> MachineError {
        MachineError::Refused(error.to_string())
    }
}

/// Whether the calling thread may set it.
///
/// # Errors
/// If it may not: why, in one line.
pub fn settable() -> Result<(), NotSettable> {
    Err(NotSettable(match state() {
        None => Obstacle::Untold,
        Some(0) => Obstacle::NotAffected,
        Some(state) if state & FOR_GOOD != 0 => Obstacle::ForbiddenForGood,
        Some(state) if state & BY_PRCTL == 0 => Obstacle::SystemWide(state),
        Some(_) => return Ok(()),
    }))
}

/// Allows or forbids it to the calling thread, from the next instruction on.
///
/// # Errors
/// If the kernel refuses.
pub fn set(allowed: bool) -> io::Result<()> {
    let unused: libc::c_ulong = 0;
    let value = if allowed { ENABLE } else { DISABLE };
    // SAFETY: changes a setting of this thread; all arguments are numbers, of the type that prctl(2) takes.
    let done = unsafe {
        libc::prctl(
            PR_SET_SPECULATION_CTRL,
            PR_SPEC_STORE_BYPASS,
            value,
            unused,
            unused,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A state in words.
pub fn spelt(state: u32) -> String {
    let switchable = if state & BY_PRCTL != 0 {
        "switchable by prctl"
    } else {
        "not switchable"
    };
    let name = match state & !BY_PRCTL {
        0 => return "not affected".to_owned(),
        bits if bits & FOR_GOOD != 0 => "disabled for good",
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
    fn states_are_spelt_out() {
        assert_eq!(spelt(0), "not affected");
        assert_eq!(spelt(2), "enabled, not switchable");
        assert_eq!(spelt(3), "enabled, switchable by prctl");
        assert_eq!(spelt(5), "disabled, switchable by prctl");
        assert_eq!(spelt(9), "disabled for good, switchable by prctl");
    }

    #[test]
    fn what_is_set_is_so() {
        // Of a thread of its own: a setting lasts as long as the thread.
        let thread = std::thread::spawn(|| {
            if let Err(why) = settable() {
                println!("SKIPPED: setting speculative store bypass: {why}");
                assert_eq!(why.to_string().lines().count(), 1);
                return;
            }
            for allowed in [false, true, false] {
                set(allowed).unwrap();
                assert_eq!(super::allowed(), allowed);
            }
        });
        thread.join().unwrap();
    }
}
