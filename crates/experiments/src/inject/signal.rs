//! A timer signal: a POSIX timer that expires in an interrupt of this CPU and sends the disturbing thread a signal, which
//! wakes it. timer_create(2), SIGEV_THREAD_ID; signal(7).
//!
//! It is the disturber's own thread: a signal reaches another process only if that process has a handler for it, so timer
//! signals *to the measuring thread* are for the program that measures (docs/inject.md, "Signals").

use super::action::{Action, Waiting};
use super::spin::{Turn, spin};
use bandscope_probe::clock;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::mem::MaybeUninit;

/// A timer, and the signal that it sends, which this thread alone waits for.
pub struct Signal {
    timer: libc::timer_t,
    set: libc::sigset_t,
}

/// The signal: nothing else in this process uses real-time signals.
fn number() -> libc::c_int {
    libc::SIGRTMIN()
}

/// Wakes the thread of that id, of this process, from its wait.
pub fn wake(thread: u32) {
    // SAFETY: sends a signal, which that thread blocks and waits for. If it is gone the kernel says so.
    unsafe {
        libc::syscall(
            libc::SYS_tgkill,
            std::process::id() as libc::c_int,
            thread as libc::c_int,
            number(),
        )
    };
}

impl Signal {
    /// Blocks the signal for the calling thread, and makes a timer that sends it there.
    ///
    /// # Errors
    /// What timer_create(2) says.
    pub fn new() -> io::Result<Signal> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first call fills the set, the second adds to it.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), number());
            set.assume_init()
        };
        // SAFETY: reads the set, which lives through the call.
        let refused = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
        if refused != 0 {
            return Err(io::Error::from_raw_os_error(refused));
        }
        // SAFETY: integers and pointers, for which zero is a value.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = number();
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: the kernel reads the event and writes the timer's id; both live through the call.
        match unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) } {
            0 => Ok(Signal { timer, set }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Lets the timer expire once, in `ns` nanoseconds.
    fn arm(&self, ns: u64) -> io::Result<()> {
        let now = clock_gettime(ClockId::Monotonic);
        let at = now.tv_nsec as u64 + ns;
        let mut when = libc::itimerspec {
            // SAFETY: integers, for which zero is a value: it expires once.
            it_interval: unsafe { std::mem::zeroed() },
            // SAFETY: as above.
            it_value: unsafe { std::mem::zeroed() },
        };
        when.it_value.tv_sec = now.tv_sec + (at / 1_000_000_000) as i64;
        when.it_value.tv_nsec = (at % 1_000_000_000) as libc::c_long;
        // SAFETY: the timer is this one's own; the kernel reads `when`, which lives through the call.
        let refused = unsafe {
            libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &when, std::ptr::null_mut())
        };
        match refused {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // SAFETY: the timer was made in `new` and is deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}

impl Action for Signal {
    fn sees_absences(&self) -> bool {
        true
    }

    fn wait(&mut self, planned: u64, waiting: &Waiting) -> io::Result<Option<u64>> {
        loop {
            if waiting.ends() {
                return Ok(None);
            }
            let now = clock::ticks();
            if now >= planned {
                return Ok(Some(now));
            }
            self.arm(waiting.ns_until(planned))?;
            // SAFETY: reads the set, which lives through the call; what the signal says is not asked for. An interruption
            // by another signal is met by the loop.
            unsafe { libc::sigwaitinfo(&self.set, std::ptr::null_mut()) };
        }
    }

    fn disturb(
        &mut self,
        start: u64,
        until: u64,
        waiting: &Waiting,
        away: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Option<u64>> {
        spin(Turn::Busy, start, until, waiting, away);
        Ok(Some(0))
    }
}
