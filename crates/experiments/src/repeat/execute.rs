//! One process from its beginning to its end: what it said, how long it took, what the kernel booked to it.

use super::output::Output;
use crate::processes::last_cpu;
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::{Child, ChildStderr, ChildStdout, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is asked whether the session should end.
const LOOK: Duration = Duration::from_millis(100);
/// The same where the kernel does not tell of a process's end by itself (before Linux 5.3).
const LOOK_OFTEN: Duration = Duration::from_millis(1);
/// From the request to end to its end by force.
const GRACE: Duration = Duration::from_millis(500);

/// A process that ended.
#[derive(Debug)]
pub struct Ended {
    /// From before fork(2) to when its end was seen.
    pub wall: Duration,
    /// Status as wait4(2) gives it.
    pub status: libc::c_int,
    /// What the kernel booked to it and to those of its children that it waited for.
    pub usage: libc::rusage,
    /// The CPU it last ran on.
    pub cpu: Option<u32>,
    /// What it said.
    pub output: Output,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    /// Whether it was ended because the session should end.
    pub interrupted: bool,
}

/// Runs `command`, which must have a process group of its own, to its end.
///
/// Its streams, where they are pipes, are read into `output` while it runs. Who still holds them when it ends, a daemon that it started, is not waited for.
///
/// # Errors
/// If it cannot be started.
pub fn execute(
    mut command: Command,
    mut output: Output,
    timeout: Option<Duration>,
    stop: &AtomicBool,
) -> io::Result<Ended> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut streams = Streams::of(&mut child)?;
    let pid = child.id() as libc::pid_t;
    let descriptor = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let (mut timed_out, mut interrupted) = (false, false);
    let mut asked: Option<Instant> = None;
    loop {
        streams.wait(descriptor.as_ref(), &mut output);
        if has_ended(pid)? {
            break;
        }
        let too_long = timeout.is_some_and(|timeout| start.elapsed() >= timeout);
        let should_stop = stop.load(Ordering::Relaxed);
        match asked {
            None if too_long || should_stop => {
                (timed_out, interrupted) = (too_long, should_stop && !too_long);
                asked = Some(Instant::now());
                end(pid, libc::SIGTERM);
            }
            Some(when) if when.elapsed() >= GRACE => end(pid, libc::SIGKILL),
            _ => {}
        }
    }
    let wall = start.elapsed();
    streams.drain(&mut output);
    let cpu = last_cpu(pid);
    let (status, usage) = reap(pid)?;
    if asked.is_some() {
        // The rest of its group, that it did not take along.
        end(pid, libc::SIGKILL);
    }
    Ok(Ended {
        wall,
        status,
        usage,
        cpu,
        output,
        timed_out,
        interrupted,
    })
}

/// The two streams as far as they are open.
struct Streams {
    out: Option<ChildStdout>,
    error: Option<ChildStderr>,
}

impl Streams {
    fn of(child: &mut Child) -> io::Result<Streams> {
        let streams = Streams {
            out: child.stdout.take(),
            error: child.stderr.take(),
        };
        if let Some(out) = &streams.out {
            ioctl_fionbio(out, true)?;
        }
        if let Some(error) = &streams.error {
            ioctl_fionbio(error, true)?;
        }
        Ok(streams)
    }

    /// Waits until something is there, the process ended, or it is time to look.
    fn wait(&mut self, process: Option<&OwnedFd>, output: &mut Output) {
        let descriptor = |fd: Option<RawFd>| libc::pollfd {
            // A negative one is passed over (poll(2)).
            fd: fd.unwrap_or(-1),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut wanted = [
            descriptor(self.out.as_ref().map(AsRawFd::as_raw_fd)),
            descriptor(self.error.as_ref().map(AsRawFd::as_raw_fd)),
            descriptor(process.map(AsRawFd::as_raw_fd)),
        ];
        let look = if process.is_some() { LOOK } else { LOOK_OFTEN };
        // SAFETY: the array lives through the call, and its length is its own. A signal ends the wait, which is wanted.
        unsafe {
            libc::poll(
                wanted.as_mut_ptr(),
                wanted.len() as libc::nfds_t,
                look.as_millis() as libc::c_int,
            )
        };
        self.drain(output);
    }

    fn drain(&mut self, output: &mut Output) {
        if self
            .out
            .as_mut()
            .is_some_and(|stream| !output.out.drain(stream))
        {
            self.out = None;
        }
        if self
            .error
            .as_mut()
            .is_some_and(|stream| !output.error.drain(stream))
        {
            self.error = None;
        }
    }
}

/// Whether a child has ended; it stays to be waited for.
fn has_ended(pid: libc::pid_t) -> io::Result<bool> {
    // SAFETY: a structure of integers, for which zero is a value.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel fills the structure, which lives through the call.
    let answer = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, options) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed, so it is 0 where no child had ended (waitid(2)).
    Ok(unsafe { info.si_pid() } != 0)
}

fn reap(pid: libc::pid_t) -> io::Result<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    // SAFETY: a structure of integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both live through the call, and the kernel fills them.
    match unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok((status, usage)),
    }
}

/// Signals the whole group. It may be gone by now.
fn end(group: libc::pid_t, signal: libc::c_int) {
    // SAFETY: numbers only; the group is the child's own, made when it was started.
    unsafe { libc::kill(-group, signal) };
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;
    use std::ffi::OsString;

    fn run(words: &[&str], timeout: Option<Duration>) -> io::Result<Ended> {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        execute(
            Settings::default().prepare(&words),
            Output::default(),
            timeout,
            &AtomicBool::new(false),
        )
    }

    #[test]
    fn status_and_both_streams_are_kept() {
        let ended = run(&["sh", "-c", "echo out; echo error >&2; exit 3"], None).unwrap();
        assert!(libc::WIFEXITED(ended.status) && libc::WEXITSTATUS(ended.status) == 3);
        assert_eq!(ended.output.out.parts()[0], "out\n");
        assert_eq!(ended.output.error.parts()[0], "error\n");
        assert!(ended.wall > Duration::ZERO && !ended.timed_out);
        assert!(ended.usage.ru_minflt > 0, "{:?}", ended.usage);
    }

    #[test]
    fn megabytes_are_read_and_counted() {
        let ended = run(
            &["sh", "-c", "head -c 9000000 /dev/zero; echo; echo last"],
            None,
        )
        .unwrap();
        assert_eq!(ended.output.out.bytes(), 9_000_006);
        assert!(ended.output.out.parts()[1].ends_with("last\n"));
    }

    #[test]
    fn who_hangs_is_ended_with_all_it_started() {
        let mark = format!("{}", 600_000 + std::process::id() % 100_000);
        let script = format!("trap '' TERM; sleep {mark}; sleep {mark}");
        let ended = run(&["sh", "-c", &script], Some(Duration::from_millis(200))).unwrap();
        assert!(ended.timed_out && !libc::WIFEXITED(ended.status));
        // A signal that was sent has not arrived yet: on another CPU what it kills takes a while to go.
        let running = || {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            processes
                .filter(|entry| {
                    let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    String::from_utf8_lossy(&command) == format!("sleep\0{mark}\0")
                })
                .count()
        };
        let given_up = Instant::now() + Duration::from_secs(60);
        while running() > 0 && Instant::now() < given_up {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(running(), 0);
    }

    #[test]
    fn a_daemon_that_keeps_the_streams_is_not_waited_for() {
        let before = Instant::now();
        let ended = run(&["sh", "-c", "sleep 30 & echo begun $!"], None).unwrap();
        assert_eq!(libc::WEXITSTATUS(ended.status), 0);
        assert!(before.elapsed() < Duration::from_secs(25));
        let text = ended.output.out.parts()[0].clone();
        let pid: libc::pid_t = text.trim().strip_prefix("begun ").unwrap().parse().unwrap();
        // SAFETY: the process that the command above left behind.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }

    #[test]
    fn what_is_not_there_cannot_be_started_and_the_session_may_end() {
        let error = run(&["/no/such/command"], None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let words = [OsString::from("sleep"), OsString::from("600")];
        let ended = execute(
            Settings::default().prepare(&words),
            Output::default(),
            None,
            &AtomicBool::new(true),
        )
        .unwrap();
        assert!(ended.interrupted && !ended.timed_out);
    }
}
