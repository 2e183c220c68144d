//! Letting a thread run at once: real-time priority, and timers without slack.

use crate::control_groups;
use bandscope_recording::text::shown;
use bandscope_sampler::machine::Priority;
use rustix::thread::set_current_timer_slack;
use std::io;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// How the calling thread is scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// `fifo` or `other`.
    pub policy: &'static str,
    /// Real-time priority; 0 for `other`.
    pub priority: u32,
    /// Why it is not `fifo`, where that was wanted.
    pub why: Option<String>,
}

/// Gives the calling thread the lowest real-time priority, if `real_time` and if the kernel permits; sleeps end at their
/// time either way, not up to 50 us later (PR_SET_TIMERSLACK, prctl(2)).
pub fn raise(real_time: bool) -> Scheduling {
    // Refused only by seccomp; then a sleep may end late, and the log shows when it did.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let why = match real_time {
        false => None,
        true => match set(Priority::LOWEST) {
            Ok(()) => {
                return Scheduling {
                    policy: "fifo",
                    priority: Priority::LOWEST.level.into(),
                    why: None,
                };
            }
            Err(error) => Some(error.to_string()),
        },
    };
    Scheduling {
        policy: "other",
        priority: 0,
        why,
    }
}

/// Whether the kernel gives this process a real-time priority.
///
/// # Errors
/// If it does not: its answer.
pub fn is_permitted(priority: Priority) -> io::Result<()> {
    // A thread of its own, which takes what it was given along.
    let asked = std::thread::Builder::new().spawn(move || set(priority))?;
    asked
        .join()
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// The control group of this process that gives real-time tasks no time, which stops root too: one that is made has none (Linux,
/// Documentation/scheduler/sched-rt-group.rst; version 1 only).
pub fn group_without_time() -> Option<String> {
    let mut groups = control_groups::own("cpu").into_iter();
    let has_none = |group: &PathBuf| {
        let runtime = std::fs::read_to_string(group.join("cpu.rt_runtime_us"));
        runtime.is_ok_and(|runtime| runtime.trim().parse() == Ok(0))
    };
    groups.find(has_none).map(|group| shown(&group))
}

/// Gives the calling thread a real-time priority.
///
/// # Errors
/// If the kernel refuses.
pub fn set(priority: Priority) -> io::Result<()> {
    // SAFETY: integers only (musl has more of them), for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority.level.into();
    let policy = match priority.takes_turns {
        true => libc::SCHED_RR,
        false => libc::SCHED_FIFO,
    };
    // SAFETY: the kernel reads the structure, whose first member is all it knows. Not through the library: musl's
    // function answers ENOSYS. 0 is the calling thread.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy,
            &raw const parameters,
        )
    };
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_had_or_it_is_said_why_not() {
        std::thread::spawn(|| {
            assert_eq!(raise(false).policy, "other");
            let scheduling = raise(true);
            match &scheduling.why {
                None => assert_eq!((scheduling.policy, scheduling.priority), ("fifo", 1)),
                Some(why) => {
                    println!("SKIPPED: real-time priority: {why}");
                    assert_eq!((scheduling.policy, scheduling.priority), ("other", 0));
                }
            }
        })
        .join()
        .unwrap();
    }
}
