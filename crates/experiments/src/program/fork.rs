//! A copy of a program that stands still: it may be watched for as long as one likes, and the program itself goes on unharmed.
//!
//! The program makes the copy with clone(2), which its own thread is made to call. It is a child whose end no signal tells, so the program waits for it
//! only where it asks for such children (`__WALL`). It makes no system call of its own accord: each is stopped before it is made.

use super::code::Code;
use super::follow::{Beside, Step};
use super::maps::{self, Mapping};
use super::registers;
use super::tracee::{Memory, Stop, Tracee};
use iced_x86::{Mnemonic, Register};
use std::io;

/// `syscall`.
const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// Not in a system call, so none is begun anew (`orig_rax` of user_regs_struct).
pub const NO_CALL: u64 = u64::MAX;
/// Ticks of the clock that a step takes in the copy. One by one, instructions take a thousand times as long as they do: a program that looks at
/// the clock would do something else.
const TICKS: u64 = 1;
/// Steps after which the program is looked after: a millisecond or two.
const PATIENCE: usize = 64;

/// A process that is never seen to run by anybody but this program.
#[derive(Debug)]
pub struct Fork {
    pub tracee: Tracee,
    pub memory: Memory,
    /// The clock of the copy, for those that read it while they are watched.
    clock: u64,
    _ends: Ends,
}

/// A thread that cannot be copied now can be so later.
pub fn busy_is_later(fork: io::Result<Fork>) -> io::Result<Option<Fork>> {
    match fork {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(None),
        other => other.map(Some),
    }
}

/// Ends a process with its own end.
#[derive(Debug)]
struct Ends(Tracee);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Fork {
    /// Copies the process of a stopped thread, which stands where it stood afterwards. Before it is used, [`Fork::unshare`] has to give it memory of
    /// its own: that may take longer than the thread should stand still.
    pub fn of(original: Tracee) -> io::Result<Fork> {
        let maps = maps::of(original.0)?;
        let memory = Memory::of(original.0)?;
        let gate = gate(&maps, &memory)?;
        if is_in_a_sequence(original, &memory) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let mask = original.hold_signals()?;
        let mut born = None;
        // No signal tells of its end, so no wait(2) of the program knows of it.
        let made = call(original, gate, libc::SYS_clone, [0; 6], &mut |number| {
            born = Some(number)
        });
        original.let_signals(mask)?;
        let tracee = Tracee(born.ok_or_else(|| {
            made.err()
                .unwrap_or_else(|| io::Error::other("clone(2) made no process"))
        })?);
        // Whatever fails from here on, it ends.
        let ends = Ends(tracee);
        let mut registers = original.registers()?;
        registers.orig_rax = NO_CALL;
        match tracee.wait()? {
            Stop::Asked => {}
            other => return Err(io::Error::other(format!("a copy of it stopped: {other:?}"))),
        }
        tracee.set_registers(&registers)?;
        tracee.let_signals(mask)?;
        // SAFETY: every x86-64 has this instruction.
        let clock = unsafe { std::arch::x86_64::_rdtsc() };
        Ok(Fork {
            memory: Memory::of(tracee.0)?,
            tracee,
            clock,
            _ends: ends,
        })
    }

    /// Gives it memory of its own where it shares some: what it wrote there, the program would find. Devices, and too much of it, it cannot reach.
    pub fn unshare(self) -> io::Result<Fork> {
        let maps = maps::of(self.tracee.0)?;
        let gate = gate(&maps, &self.memory)?;
        for mapping in maps.iter().filter(|mapping| mapping.is_shared_and_written) {
            let is_twice = maps
                .iter()
                .filter(|other| other.is_shared_and_written && other.shows_the_same(mapping))
                .count()
                > 1;
            self.replace(mapping, is_twice, gate)?;
        }
        Ok(self)
    }

    fn replace(&self, mapping: &Mapping, is_twice: bool, gate: u64) -> io::Result<()> {
        /// More would take longer than all the rest.
        const MOST: u64 = 64 << 20;
        let bytes = mapping.end - mapping.begin;
        let may_be_read = bytes <= MOST && !is_twice && !mapping.is_of_a_device();
        let content = may_be_read
            .then(|| self.memory.read(mapping.begin, bytes as usize))
            .flatten();
        let Some(content) = content else {
            let arguments = [mapping.begin, bytes, libc::PROT_NONE as u64, 0, 0, 0];
            return call(
                self.tracee,
                gate,
                libc::SYS_mprotect,
                arguments,
                &mut |_| (),
            )
            .map(drop);
        };
        let executed = if mapping.executable {
            libc::PROT_EXEC
        } else {
            0
        };
        let protection = (libc::PROT_READ | libc::PROT_WRITE | executed) as u64;
        let how = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as u64;
        let arguments = [mapping.begin, bytes, protection, how, u64::MAX, 0];
        call(self.tracee, gate, libc::SYS_mmap, arguments, &mut |_| ())?;
        self.memory.write(mapping.begin, &content)
    }

    /// Another copy of the same, that stands where this one stands.
    pub fn again(&self) -> io::Result<Fork> {
        let mut again = Fork::of(self.tracee)?;
        again.clock = self.clock;
        Ok(again)
    }

    /// Maps free memory near an address, with each of these protections.
    pub fn map(&self, near: u64, parts: &[(u64, i32)]) -> io::Result<u64> {
        let maps = maps::of(self.tracee.0)?;
        let gate = gate(&maps, &self.memory)?;
        let bytes = parts.iter().map(|(bytes, _)| bytes).sum();
        let area = maps::free_near(&maps, near, bytes)
            .ok_or_else(|| io::Error::other("no room near its code"))?;
        let mut at = area;
        for (bytes, protection) in parts {
            let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let arguments = [at, *bytes, *protection as u64, how as u64, u64::MAX, 0];
            call(self.tracee, gate, libc::SYS_mmap, arguments, &mut |_| ())?;
            at += bytes;
        }
        Ok(area)
    }

    /// Watches it until `enough` says so of a step that it has not made yet, for at most so many instructions, and not into the kernel.
    /// Now and then `meanwhile` looks after the program itself.
    pub fn watch(
        &mut self,
        most: usize,
        code: &mut Code<'_>,
        meanwhile: &mut dyn FnMut() -> io::Result<()>,
        enough: &mut dyn FnMut(&Step) -> bool,
    ) -> io::Result<Vec<Step>> {
        let _beside = Beside::of(self.tracee);
        let mut steps = Vec::with_capacity(most);
        while steps.len() < most {
            if steps.len() % PATIENCE == 0 {
                meanwhile()?;
            }
            let registers = self.tracee.registers()?;
            let step = Step(registers);
            if enough(&step) {
                break;
            }
            self.clock += TICKS;
            match code.at(step.at()).map(|decoded| {
                (
                    decoded.instruction.mnemonic(),
                    decoded.instruction.next_ip(),
                )
            }) {
                Some((Mnemonic::Syscall | Mnemonic::Sysenter | Mnemonic::Int, _)) | None => break,
                Some((Mnemonic::Rdtsc | Mnemonic::Rdtscp, next)) => {
                    let mut after = registers;
                    registers::set(&mut after, Register::RAX, self.clock & 0xffff_ffff);
                    registers::set(&mut after, Register::RDX, self.clock >> 32);
                    after.rip = next;
                    self.tracee.set_registers(&after)?;
                }
                Some(_) if !self.tracee.step()? => break,
                Some(_) => {}
            }
            steps.push(step);
        }
        Ok(steps)
    }
}

/// Whether a thread is in a sequence that it has to begin anew once anything interrupts it: the kernel would see to that, and its registers, put back
/// as they were, would undo it (`rseq_cs` of rseq(2)).
fn is_in_a_sequence(thread: Tracee, memory: &Memory) -> bool {
    /// Offsets in struct rseq and struct rseq_cs (linux/rseq.h).
    const CURRENT: u64 = 8;
    const BEGIN: u64 = 8;
    const LENGTH: u64 = 16;
    let number = |address: u64| {
        memory
            .read(address, 8)?
            .try_into()
            .ok()
            .map(u64::from_le_bytes)
    };
    let is_within = || {
        // A sequence that ended stays there until the kernel or the next one takes its place.
        let current = number(thread.restartable()? + CURRENT)?;
        let begin = number(current.checked_add(BEGIN)?)?;
        let length = number(current.checked_add(LENGTH)?)?;
        Some(thread.registers().ok()?.rip.wrapping_sub(begin) < length)
    };
    is_within().unwrap_or(false)
}

/// The address of a `syscall` instruction: the kernel's own, in the vDSO that every process has.
fn gate(maps: &[Mapping], memory: &Memory) -> io::Result<u64> {
    let code = maps.iter().filter(|mapping| mapping.executable);
    let mut sorted: Vec<_> = code.collect();
    sorted.sort_by_key(|mapping| !mapping.is_of_kernel());
    let found = sorted.into_iter().find_map(|mapping| {
        let bytes = memory.up_to(mapping.begin, (mapping.end - mapping.begin) as usize);
        let at = bytes
            .windows(SYSCALL.len())
            .position(|window| window == SYSCALL)?;
        Some(mapping.begin + at as u64)
    });
    found.ok_or_else(|| io::Error::other("no system call instruction in its code"))
}

/// Makes a stopped thread call the kernel, and puts its registers back.
fn call(
    thread: Tracee,
    gate: u64,
    number: libc::c_long,
    arguments: [u64; 6],
    born: &mut dyn FnMut(i32),
) -> io::Result<u64> {
    let before = thread.registers()?;
    let mut registers = before;
    registers.rip = gate;
    registers.rax = number as u64;
    registers.orig_rax = NO_CALL;
    [
        registers.rdi,
        registers.rsi,
        registers.rdx,
        registers.r10,
        registers.r8,
        registers.r9,
    ] = arguments;
    thread.set_registers(&registers)?;
    let done = thread.step_into_kernel(born);
    let answer = thread.registers()?.rax as i64;
    thread.set_registers(&before)?;
    match (done?, answer) {
        (false, _) => Err(io::Error::other("the process ended")),
        (true, answer) if (-4095..0).contains(&answer) => {
            Err(io::Error::from_raw_os_error(-answer as i32))
        }
        (true, answer) => Ok(answer as u64),
    }
}
