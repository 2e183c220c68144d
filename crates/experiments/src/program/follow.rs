//! A command under observation: it is started, stopped now and then to see where it is, and now and then watched instruction by instruction.

use super::tracee::{Registers, Stop, Tracee, news, wait_for_tracer};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// One instruction that was executed: the registers just before it.
#[derive(Clone, Copy)]
pub struct Step(pub Registers);

impl Step {
    /// Its address.
    pub fn at(&self) -> u64 {
        self.0.rip
    }
}

/// Where a thread was found.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Its process.
    pub process: i32,
    /// The address of the next instruction.
    pub at: u64,
    /// Whether it was in a system call.
    pub in_kernel: bool,
}

/// A thread that was stopped.
#[derive(Debug)]
pub struct Caught {
    pub tracee: Tracee,
    pub sample: Sample,
    /// A signal that it was about to get.
    signal: i32,
}

/// A command that runs, and all of its threads and processes.
#[derive(Debug)]
pub struct Followed {
    child: Child,
    /// The process of each thread.
    threads: BTreeMap<i32, i32>,
    /// The thread that was looked at last: the next one is another's turn.
    last: i32,
}

impl Followed {
    /// Starts a command; what it prints goes to the standard error of this program.
    pub fn start(command: &[OsString]) -> io::Result<Followed> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let out = rustix::io::dup(rustix::stdio::stderr())?;
        let mut command = Command::new(program);
        // Ctrl-C is for this program, which ends the command.
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::from(out))
            .process_group(0);
        // SAFETY: the function makes one system call, and allocates nothing.
        unsafe { command.pre_exec(wait_for_tracer) };
        let mut child = command.spawn()?;
        let process = child.id() as i32;
        if let Err(error) = Tracee::seize(process) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(Followed {
            child,
            threads: BTreeMap::from([(process, process)]),
            last: 0,
        })
    }

    /// Whether all of it has ended.
    pub fn ended(&self) -> bool {
        self.threads.is_empty()
    }

    /// Deals with everything that happened, and lets everybody go on.
    pub fn attend(&mut self) -> io::Result<()> {
        while let Some((thread, stop)) = news() {
            self.threads
                .entry(thread)
                .or_insert_with(|| process_of(thread).unwrap_or(thread));
            let tracee = Tracee(thread);
            let answer = match stop {
                Stop::Ended => {
                    self.threads.remove(&thread);
                    Ok(())
                }
                Stop::Suspended => tracee.listen(),
                Stop::Asked | Stop::Born => tracee.go_on(0),
                Stop::Signal(signal) => tracee.go_on(signal),
            };
            gone_is_fine(answer)?;
        }
        Ok(())
    }

    /// Stops the next thread that runs; `None` if none does. [`Followed::release`] lets it go on.
    pub fn catch(&mut self, only: Option<i32>) -> io::Result<Option<Caught>> {
        let after = self
            .threads
            .range(self.last + 1..)
            .chain(self.threads.range(..=self.last));
        let running = after
            .filter(|(_, process)| only.is_none_or(|only| **process == only))
            .find(|(thread, _)| is_running(**thread));
        let Some((&thread, &process)) = running else {
            return Ok(None);
        };
        self.last = thread;
        let tracee = Tracee(thread);
        let signal = match tracee.stop() {
            Ok(Some(signal)) => signal,
            Ok(None) => return Ok(None),
            Err(error) => return gone_is_fine(Err(error)).map(|()| None),
        };
        let registers = tracee.registers()?;
        let sample = Sample {
            process,
            at: registers.rip,
            in_kernel: registers.orig_rax as i64 >= 0,
        };
        Ok(Some(Caught {
            tracee,
            sample,
            signal,
        }))
    }

    /// Lets a stopped thread go on.
    pub fn release(&mut self, caught: Caught) -> io::Result<()> {
        gone_is_fine(caught.tracee.go_on(caught.signal))
    }

    /// Ends all of it.
    pub fn end(mut self) {
        // SAFETY: kill(2) takes two numbers; the group is the command's own.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGTERM) };
        for _ in 0..50 {
            if self.attend().is_err() || self.ended() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for thread in self.threads.keys() {
            Tracee(*thread).end();
        }
        let _ = self.child.wait();
    }
}

/// While it lives, this thread is on the CPU of another: who steps through a program there waits a quarter of the time for each step.
#[derive(Debug)]
pub struct Beside(Option<CpuSet>);

impl Beside {
    pub fn of(tracee: Tracee) -> Beside {
        let before = sched_getaffinity(None).ok();
        if let Some(cpu) = cpu_of(tracee.0) {
            let mut only = CpuSet::new();
            only.set(cpu);
            // Else it takes longer.
            let _ = sched_setaffinity(None, &only);
        }
        Beside(before)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// A thread that is no more cannot go on: that is no error.
fn gone_is_fine(answer: io::Result<()>) -> io::Result<()> {
    match answer {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other,
    }
}

/// The process of a thread (`Tgid` of proc_pid_status(5)).
fn process_of(thread: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:"))?
        .trim()
        .parse()
        .ok()
}

/// What follows the name in proc_pid_stat(5), which may hold spaces and parentheses: the state is the first word.
fn stat(thread: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

/// Whether a thread runs or waits for a CPU.
fn is_running(thread: i32) -> bool {
    stat(thread).is_some_and(|stat| stat.starts_with('R'))
}

/// The CPU that a thread ran on last (`processor`, the 39th field).
fn cpu_of(thread: i32) -> Option<usize> {
    stat(thread)?.split(' ').nth(39 - 3)?.parse().ok()
}
