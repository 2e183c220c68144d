//! One thread under ptrace(2), and the memory of its process: the few requests that the rest of this room is made of.

use crate::bound::end_with;
use rustix::process::Signal;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::ptr;

/// What ptrace(2) is told of every process: its children and threads are followed, and all of them end with this program.
const OPTIONS: libc::c_int = libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;
/// Runs until the next system call, which is not made (ptrace(2), PTRACE_SYSEMU; `libc` has no name for it).
const SYSEMU: Request = 31;
/// The same for one instruction.
const SYSEMU_SINGLESTEP: Request = 32;
/// PTRACE_GETSIGMASK and PTRACE_SETSIGMASK, which one C library has as numbers of another type than the rest.
const GETSIGMASK: Request = 0x420a;
const SETSIGMASK: Request = 0x420b;
/// PTRACE_GET_RSEQ_CONFIGURATION: 24 bytes, of which the first 8 are the address of struct rseq.
const RSEQ_SETTINGS: Request = 0x420f;
/// The register set with all that XSAVE saves (`NT_X86_XSTATE` of elf.h).
const XSTATE: usize = 0x202;
/// Room for every extension so far: AMX alone has 8 KiB.
const XSTATE_MAX: usize = 16 << 10;

/// What ptrace(2) is asked for, as the C library has it.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

pub type Registers = libc::user_regs_struct;

/// Why a thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is no more; with the status that wait(2) has for it.
    Ended(i32),
    /// It was asked to, or has just been born.
    Asked,
    /// Its whole group is suspended, as by Ctrl-Z.
    Suspended,
    /// It made a process or thread.
    Born,
    /// It became another program, and all other threads of its process are no more.
    Replaced,
    /// A signal waits to be delivered; a step ends so as well, by SIGTRAP.
    Signal(i32),
}

impl Stop {
    fn of(status: libc::c_int) -> Stop {
        if !libc::WIFSTOPPED(status) {
            return Stop::Ended(status);
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        match (event, signal) {
            (libc::PTRACE_EVENT_STOP, libc::SIGTRAP) => Stop::Asked,
            (libc::PTRACE_EVENT_STOP, _) => Stop::Suspended,
            (0, signal) => Stop::Signal(signal),
            (libc::PTRACE_EVENT_EXEC, _) => Stop::Replaced,
            _ => Stop::Born,
        }
    }
}

/// To be called between fork(2) and execve(2): the new program stops before its first instruction. It ends with this program, the process `parent`, also while
/// nobody traces it yet: it would wait for ever.
pub fn wait_for_tracer(parent: u32) -> io::Result<()> {
    end_with(parent, Signal::KILL)?;
    // SAFETY: it takes nothing.
    match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A thread that is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tracee(pub i32);

impl Tracee {
    /// Begins to trace a process that this one started, and that waits before its first instruction as [`wait_for_tracer`] has it.
    pub fn seize(process: i32) -> io::Result<Tracee> {
        let tracee = Tracee(process);
        // Who asked to be traced cannot be interrupted (ptrace(2), PTRACE_SEIZE): it is let go, suspended, and taken again.
        while tracee.wait()? != Stop::Signal(libc::SIGTRAP) {
            tracee.go_on(0)?;
        }
        tracee.ask(libc::PTRACE_DETACH, 0, libc::SIGSTOP as usize)?;
        tracee.ask(libc::PTRACE_SEIZE, 0, OPTIONS as usize)?;
        tracee.wait()?;
        // SAFETY: kill(2) takes two numbers.
        unsafe { libc::kill(process, libc::SIGCONT) };
        tracee.go_on(0)?;
        Ok(tracee)
    }

    fn ask(self, request: Request, address: usize, data: usize) -> io::Result<()> {
        // SAFETY: every caller passes a request with the arguments that ptrace(2) states for it: numbers, or pointers to variables that live.
        match unsafe { libc::ptrace(request, self.0, address, data) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Waits for its next stop.
    pub fn wait(self) -> io::Result<Stop> {
        let mut status = 0;
        // SAFETY: as in `news`.
        match unsafe { libc::waitpid(self.0, &raw mut status, libc::__WALL) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(Stop::of(status)),
        }
    }

    /// Its next stop, if it came already. A thread of which nothing is known ended.
    pub fn news(self) -> Option<Stop> {
        let mut status = 0;
        // SAFETY: waitpid(2) writes one number to a variable of ours.
        match unsafe { libc::waitpid(self.0, &raw mut status, libc::__WALL | libc::WNOHANG) } {
            0 => None,
            -1 => Some(Stop::Ended(0)),
            _ => Some(Stop::of(status)),
        }
    }

    /// Asks it to stop; the next [`Tracee::wait`] says why it did.
    pub fn interrupt(self) -> io::Result<()> {
        self.ask(libc::PTRACE_INTERRUPT, 0, 0)
    }

    pub fn go_on(self, signal: i32) -> io::Result<()> {
        self.ask(libc::PTRACE_CONT, 0, signal as usize)
    }

    /// Lets a suspended thread be suspended, until something continues it.
    pub fn listen(self) -> io::Result<()> {
        self.ask(libc::PTRACE_LISTEN, 0, 0)
    }

    /// Runs it until a system call, which is not made.
    pub fn go_on_without_kernel(self) -> io::Result<()> {
        self.ask(SYSEMU, 0, 0)
    }

    /// One instruction, and no system call. False if it did not come to a stop after that.
    pub fn step(self) -> io::Result<bool> {
        self.step_by(SYSEMU_SINGLESTEP, &mut |_| ())
    }

    /// One instruction, which may be a system call. Tells of a process that it made.
    pub fn step_into_kernel(self, born: &mut dyn FnMut(i32)) -> io::Result<bool> {
        self.step_by(libc::PTRACE_SINGLESTEP, born)
    }

    fn step_by(self, request: Request, born: &mut dyn FnMut(i32)) -> io::Result<bool> {
        let mut signal = 0;
        loop {
            self.ask(request, 0, signal as usize)?;
            signal = match self.wait()? {
                Stop::Signal(libc::SIGTRAP) => return Ok(true),
                Stop::Signal(other) => other,
                Stop::Asked | Stop::Replaced => 0,
                Stop::Born => {
                    born(self.born()?);
                    0
                }
                Stop::Ended(_) => return Ok(false),
                Stop::Suspended => {
                    self.listen()?;
                    return Ok(false);
                }
            }
        }
    }

    /// The address of its restartable sequences (rseq(2)), if it has them and this kernel tells (5.13).
    pub fn restartable(self) -> Option<u64> {
        let mut settings = [0_u64; 3];
        let bytes = size_of_val(&settings);
        self.ask(RSEQ_SETTINGS, bytes, settings.as_mut_ptr() as usize)
            .ok()?;
        Some(settings[0]).filter(|address| *address != 0)
    }

    /// Lets no signal come, and says which were let come before.
    pub fn hold_signals(self) -> io::Result<u64> {
        let mut before = 0_u64;
        let bytes = size_of::<u64>();
        self.ask(GETSIGMASK, bytes, ptr::from_mut(&mut before) as usize)?;
        self.let_signals(u64::MAX)?;
        Ok(before)
    }

    /// Lets all signals come that are not in the mask.
    pub fn let_signals(self, mask: u64) -> io::Result<()> {
        self.ask(SETSIGMASK, size_of::<u64>(), ptr::from_ref(&mask) as usize)
    }

    pub fn registers(self) -> io::Result<Registers> {
        let mut registers = MaybeUninit::<Registers>::uninit();
        self.ask(libc::PTRACE_GETREGS, 0, registers.as_mut_ptr() as usize)?;
        // SAFETY: the kernel wrote all of it.
        Ok(unsafe { registers.assume_init() })
    }

    pub fn set_registers(self, registers: &Registers) -> io::Result<()> {
        self.ask(libc::PTRACE_SETREGS, 0, ptr::from_ref(registers) as usize)
    }

    /// What XSAVE saves, in its standard format: floats, vectors and their control register.
    pub fn extended_state(self) -> io::Result<Vec<u8>> {
        let mut state = vec![0_u8; XSTATE_MAX];
        let mut part = libc::iovec {
            iov_base: state.as_mut_ptr().cast(),
            iov_len: state.len(),
        };
        self.ask(
            libc::PTRACE_GETREGSET,
            XSTATE,
            ptr::from_mut(&mut part) as usize,
        )?;
        state.truncate(part.iov_len);
        Ok(state)
    }

    pub fn set_extended_state(self, state: &[u8]) -> io::Result<()> {
        let mut part = libc::iovec {
            iov_base: state.as_ptr().cast_mut().cast(),
            iov_len: state.len(),
        };
        self.ask(
            libc::PTRACE_SETREGSET,
            XSTATE,
            ptr::from_mut(&mut part) as usize,
        )
    }

    /// The number of the thread or process that it has just made.
    pub fn born(self) -> io::Result<i32> {
        let mut number: libc::c_ulong = 0;
        self.ask(
            libc::PTRACE_GETEVENTMSG,
            0,
            ptr::from_mut(&mut number) as usize,
        )?;
        Ok(number as i32)
    }

    /// The CPU time of its process so far, in nanoseconds.
    pub fn cpu_time_ns(self) -> io::Result<u64> {
        // The kernel's number for "the CPU time of process P, as scheduled" (clock_getcpuclockid(3)).
        let clock = (!self.0 << 3) | 2;
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: clock_gettime(2) writes one timespec, which is ours.
        match unsafe { libc::clock_gettime(clock, &raw mut time) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
        }
    }

    /// Ends its process.
    pub fn kill(self) {
        // SAFETY: kill(2) takes two numbers.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
    }

    /// Ends its process, which has no other thread, and waits for that.
    pub fn end(self) {
        self.kill();
        while self
            .wait()
            .is_ok_and(|stop| !matches!(stop, Stop::Ended(_)))
        {}
    }
}

/// The memory of a process: what was written where only reading is allowed is seen by that process alone.
#[derive(Debug)]
pub struct Memory(File);

impl Memory {
    pub fn of(process: i32) -> io::Result<Memory> {
        let path = format!("/proc/{process}/mem");
        Ok(Memory(File::options().read(true).write(true).open(path)?))
    }

    /// Reads as much as there is, at most `length` bytes.
    pub fn up_to(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let read = self.0.read_at(&mut bytes, address).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    pub fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        Some(self.up_to(address, length)).filter(|bytes| bytes.len() == length)
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}
