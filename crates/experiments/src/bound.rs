//! Commands that end with this program, however it ends.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io;

/// To be called between fork(2) and execve(2): the process gets `signal` when the thread that made it ends, even by SIGKILL. `parent` is the process of that thread.
///
/// # Errors
/// If it has ended already: nothing would end this one.
pub fn end_with(parent: u32, signal: Signal) -> io::Result<()> {
    // Not there under every emulator.
    let _ = set_parent_process_death_signal(Some(signal));
    let is_there = getppid().is_some_and(|now| now.as_raw_nonzero().get() as u32 == parent);
    match is_there {
        true => Ok(()),
        false => Err(io::ErrorKind::NotConnected.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn who_has_no_parent_any_more_does_not_begin() {
        let started = |parent: u32| {
            let mut command = Command::new("true");
            // SAFETY: the closure makes two system calls, and captures a number.
            unsafe { command.pre_exec(move || end_with(parent, Signal::KILL)) };
            command.status()
        };
        assert!(started(std::process::id()).unwrap().success());
        // Another process has made it by now.
        assert!(started(u32::MAX).is_err());
    }
}
