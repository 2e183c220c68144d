//! A fork of a program at the head of its loop, where the loop runs again and again at full speed.

use super::encode::{Blueprint, Counter, Encoded, SAVED};
use super::follow::Followed;
use super::fork::{Fork, NO_CALL};
use super::registers;
use super::tracee::{Registers, Stop};
use std::io;
use std::time::Duration;

/// Bytes for what the stub keeps: its counters and registers on one page, then all that XSAVE saves.
const DATA: u64 = 32 << 10;
/// Bytes for one loop, the functions that it calls, and its stub.
pub const ROOM: u64 = 256 << 10;
/// How often a loop is given its time again, on a machine that is busy with something else.
const TRIES: usize = 20;

/// Why a loop in the fork cannot be timed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("it calls the kernel")]
    CallsKernel,
    #[error("it touches memory that is not there, or that other processes share")]
    NoMemory,
    #[error("signal {0} ended it")]
    Signal(i32),
    #[error("it does not stay in the loop")]
    Elsewhere,
    #[error("its process ended")]
    Ended,
    #[error("{0}")]
    System(#[from] io::Error),
}

/// The fork, and room in it for loops that are written again.
#[derive(Debug)]
pub struct Bench {
    pub fork: Fork,
    /// Registers at the head of the loop.
    pub registers: Registers,
    /// Floats and vectors there.
    pub extended: Vec<u8>,
    /// Where [`DATA`] and then [`ROOM`] bytes are mapped.
    area: u64,
}

impl Bench {
    /// Makes room in a fork that stands at the head of its loop.
    pub fn of(fork: Fork) -> io::Result<Bench> {
        let registers = fork.tracee.registers()?;
        let extended = fork.tracee.extended_state()?;
        let parts = [
            (DATA, libc::PROT_READ | libc::PROT_WRITE),
            (ROOM, libc::PROT_READ | libc::PROT_EXEC),
        ];
        let area = fork.map(registers.rip, &parts)?;
        Ok(Bench {
            fork,
            registers,
            extended,
            area,
        })
    }

    /// Where the stub's memory is.
    pub fn data(&self) -> u64 {
        self.area
    }

    /// Where code may begin.
    pub fn room(&self) -> u64 {
        self.area + DATA
    }

    /// Nanoseconds of CPU time per turn, from a run of about `length`.
    pub fn time(
        &self,
        blueprint: &Blueprint,
        code: &Encoded,
        extended: &[u8],
        length: Duration,
        followed: &mut Followed,
    ) -> Result<f64, Failure> {
        self.prepare(blueprint, code, extended)?;
        let begin = self.fork.tracee.cpu_time_ns()?;
        let goal = length.as_nanos() as u64;
        let mut ran = 0;
        for _ in 0..TRIES {
            self.fork.tracee.go_on_without_kernel()?;
            followed.rest(length)?;
            match self.stop()? {
                Stop::Asked | Stop::Born | Stop::Replaced => {}
                Stop::Signal(libc::SIGTRAP) => return Err(Failure::CallsKernel),
                Stop::Signal(libc::SIGSEGV | libc::SIGBUS) => return Err(Failure::NoMemory),
                Stop::Signal(signal) => return Err(Failure::Signal(signal)),
                Stop::Ended(_) | Stop::Suspended => return Err(Failure::Ended),
            }
            ran = self.fork.tracee.cpu_time_ns()? - begin;
            if ran >= goal / 2 {
                break;
            }
        }
        let turns = self.turns(blueprint, code)?;
        if turns < 2.0 {
            return Err(Failure::Elsewhere);
        }
        Ok(ran as f64 / turns)
    }

    /// Stops it, unless a signal or a system call did so. Who is asked to stop after that stops once more as soon as it goes on.
    fn stop(&self) -> io::Result<Stop> {
        let tracee = self.fork.tracee;
        match tracee.news() {
            Some(stop) => Ok(stop),
            None => {
                tracee.interrupt()?;
                tracee.wait()
            }
        }
    }

    fn prepare(&self, blueprint: &Blueprint, code: &Encoded, extended: &[u8]) -> io::Result<()> {
        for (at, bytes) in &code.pieces {
            self.fork.memory.write(*at, bytes)?;
        }
        self.fork.memory.write(blueprint.total(), &[0; 8])?;
        for register in SAVED {
            let value = registers::of(&blueprint.registers, register).unwrap_or(0);
            self.fork
                .memory
                .write(blueprint.saved(register), &value.to_le_bytes())?;
        }
        for (address, value) in &blueprint.cells {
            self.fork.memory.write(*address, &value.to_le_bytes())?;
        }
        self.fork.memory.write(blueprint.extended(), extended)?;
        let mut registers = blueprint.registers;
        registers.rip = code.head;
        registers.orig_rax = NO_CALL;
        if let Counter::Spare(register) = blueprint.counter {
            registers::set(&mut registers, register, 0);
        }
        self.fork.tracee.set_registers(&registers)?;
        self.fork.tracee.set_extended_state(extended)
    }

    fn turns(&self, blueprint: &Blueprint, code: &Encoded) -> io::Result<f64> {
        let stopped = self.fork.tracee.registers()?;
        let counter = blueprint.counter.register();
        let now = registers::of(&stopped, counter).unwrap_or(0);
        Ok(match blueprint.counter {
            Counter::Spare(_) => now as f64,
            Counter::Stride(of_loop, stride) => {
                let total = self
                    .fork
                    .memory
                    .read(blueprint.total(), 8)
                    .and_then(|bytes| bytes.try_into().ok())
                    .map_or(0, i64::from_le_bytes);
                let begin = registers::of(&blueprint.registers, counter).unwrap_or(0);
                let grown = now.wrapping_sub(begin) as i64;
                let last = match of_loop.is_gpr32() {
                    _ if code.stub.contains(&stopped.rip) => 0,
                    true => i64::from(grown as i32),
                    false => grown,
                };
                total.wrapping_add(last) as f64 / stride as f64
            }
        })
    }
}
