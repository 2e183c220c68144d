//! A command under observation: it is started, stopped now and then to see where it is, and now and then watched instruction by instruction.

use super::tracee::{Registers, Stop, Tracee, wait_for_tracer};
use crate::processes::{has_ended, is_running, last_cpu, status_field};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The segment of 64-bit code (`__USER_CS` of the kernel's asm/segment.h); 0x23 is that of 32 bits.
const CODE_OF_64_BITS: u64 = 0x33;

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
    /// Whether a signal was just about to come, or it runs code of 32 bits.
    pub is_odd: bool,
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
    /// Threads that something suspended, and nothing continued so far.
    suspended: BTreeSet<i32>,
    /// How the command ended, as wait(2) says it.
    pub status: Option<i32>,
}

impl Followed {
    /// Starts a command that has a process group of its own, as Ctrl-C is for this program, which ends the command. What it prints goes to the standard
    /// error of this program.
    pub fn start(mut command: Command) -> io::Result<Followed> {
        let out = rustix::io::dup(rustix::stdio::stderr())?;
        command.stdout(Stdio::from(out)).stderr(Stdio::inherit());
        let parent = std::process::id();
        // SAFETY: the closure makes three system calls, allocates nothing, and captures a number.
        unsafe { command.pre_exec(move || wait_for_tracer(parent)) };
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
            suspended: BTreeSet::new(),
            status: None,
        })
    }

    /// Whether all of it has ended.
    pub fn ended(&self) -> bool {
        self.threads.is_empty()
    }

    /// Whether something suspended it, all of it that lives.
    pub fn is_suspended(&self) -> bool {
        let mut live = (self.threads.keys()).filter(|thread| !has_ended(**thread));
        !self.suspended.is_empty() && live.all(|thread| self.suspended.contains(thread))
    }

    /// A thread of a process: its first may be gone, and nothing can be read of that.
    pub fn thread_of(&self, process: i32) -> i32 {
        let threads = self.threads.iter();
        // The first is among them until all have ended.
        let mut of_it = threads.filter(|(thread, of)| **of == process && !has_ended(**thread));
        of_it.next().map_or(process, |(thread, _)| *thread)
    }

    /// Deals with everything that happened, and lets everybody go on.
    pub fn attend(&mut self) -> io::Result<()> {
        self.attend_but(None)
    }

    /// The same of all threads but one.
    fn attend_but(&mut self, one: Option<Tracee>) -> io::Result<()> {
        let mut threads: Vec<Tracee> = self.threads.keys().copied().map(Tracee).collect();
        threads.retain(|thread| Some(*thread) != one);
        while let Some(tracee) = threads.pop() {
            while let Some(stop) = tracee.news() {
                if let Stop::Born = stop {
                    // Its first stop comes, or came already.
                    threads.extend(tracee.born().map(Tracee));
                }
                if !self.answer(tracee, stop)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Waits for a thread that was asked to stop, while all others go on: who made a process by vfork(2) stops only after that was let
    /// become another program. `None` if it takes too long; then the stop comes later, and is answered as any other.
    fn stopped(&mut self, tracee: Tracee) -> io::Result<Option<Stop>> {
        const LONGEST: Duration = Duration::from_millis(20);
        const SLICE: Duration = Duration::from_micros(20);
        tracee.interrupt()?;
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            if let Some(stop) = tracee.news() {
                return Ok(Some(stop));
            }
            self.attend_but(Some(tracee))?;
            std::thread::sleep(SLICE);
        }
        Ok(None)
    }

    /// The same for so long: who gets a signal, or makes a thread, waits for nobody.
    pub fn rest(&mut self, length: Duration) -> io::Result<()> {
        const SLICE: Duration = Duration::from_micros(250);
        let until = Instant::now() + length;
        loop {
            self.attend()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(SLICE));
        }
    }

    /// Lets a thread go on after a stop; false if it is no more.
    fn answer(&mut self, tracee: Tracee, stop: Stop) -> io::Result<bool> {
        let thread = tracee.0;
        match stop {
            Stop::Suspended => self.suspended.insert(thread),
            _ => self.suspended.remove(&thread),
        };
        match stop {
            Stop::Ended(status) => {
                self.threads.remove(&thread);
                if thread == self.child.id() as i32 {
                    self.status = Some(status);
                }
                return Ok(false);
            }
            Stop::Born => {
                let born = tracee.born().ok();
                self.threads
                    .extend(born.map(|born| (born, status_field(born, "Tgid").unwrap_or(born))));
            }
            Stop::Replaced => {
                let process = self.threads.get(&thread).copied().unwrap_or(thread);
                self.threads
                    .retain(|other, of| *of != process || *other == thread);
            }
            _ => {}
        }
        gone_is_fine(match stop {
            Stop::Suspended => tracee.listen(),
            Stop::Signal(signal) => tracee.go_on(signal),
            _ => tracee.go_on(0),
        })?;
        Ok(true)
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
        let signal = match self.stopped(tracee) {
            Ok(Some(Stop::Asked)) => 0,
            Ok(Some(Stop::Signal(signal))) => signal,
            Ok(Some(other)) => return self.answer(tracee, other).map(|_| None),
            Ok(None) => return Ok(None),
            Err(error) => return gone_is_fine(Err(error)).map(|()| None),
        };
        let Ok(registers) = tracee.registers() else {
            // Somebody killed it just now.
            return Ok(None);
        };
        let sample = Sample {
            process,
            at: registers.rip,
            in_kernel: registers.orig_rax as i64 >= 0,
            is_odd: signal != 0 || registers.cs != CODE_OF_64_BITS,
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
        /// What it takes to end in good order, and what the kernel takes to end it.
        const GRACE: Duration = Duration::from_millis(500);
        const LONGEST: Duration = Duration::from_secs(5);
        // SAFETY: kill(2) takes two numbers; the group is the command's own.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGTERM) };
        let begun = Instant::now();
        while self.attend().is_ok() && !self.ended() && begun.elapsed() < LONGEST {
            if begun.elapsed() > GRACE {
                self.threads
                    .values()
                    .for_each(|process| Tracee(*process).kill());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.try_wait();
    }
}

/// While it lives, this thread is on the CPU of another: who steps through a program there waits a quarter of the time for each step.
#[derive(Debug)]
pub struct Beside(Option<CpuSet>);

impl Beside {
    pub fn of(tracee: Tracee) -> Beside {
        let before = sched_getaffinity(None).ok();
        // What cannot be put back is left alone.
        if let Some(cpu) = last_cpu(tracee.0).filter(|_| before.is_some()) {
            let mut only = CpuSet::new();
            only.set(cpu as usize);
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
