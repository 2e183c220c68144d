//! A command that runs while the disturbance lasts: it ends with the disturber, and gets its signals.

use crate::bound::end_with;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts a command that gets SIGTERM when the calling thread ends, even by SIGKILL.
///
/// # Errors
/// If it cannot be started.
pub fn start_bound(command: &mut Command) -> io::Result<Child> {
    let parent = std::process::id();
    // SAFETY: between fork and exec the closure makes two system calls: it allocates nothing, takes no lock, and captures a number.
    unsafe { command.pre_exec(move || end_with(parent, Signal::TERM)) };
    command.spawn()
}

/// Sends signal `number`, such as SIGINT, to process `pid`, a child that was not waited for yet.
///
/// # Errors
/// If there is no such process or signal.
pub fn pass_on(pid: u32, number: i32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let both = pid.zip(Signal::from_named_raw(number));
    let (pid, signal) = both.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn a_child_gets_the_signal() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        pass_on(child.id(), libc::SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        // 0 is this process group, and no child.
        assert!(pass_on(0, libc::SIGTERM).is_err());
    }
}
