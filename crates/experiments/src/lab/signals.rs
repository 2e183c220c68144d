//! Interruptions at known times: a timer sends the measuring thread signals, whose handler notes the time and how far the loop was.
//!
//! The handler finds the loop's counter among the registers that the kernel saved: so the pace before an interruption and the pace
//! after it are both known, and the loop itself reads no clock and holds nothing that could disturb what is looked for.
//! timer_create(2) with SIGEV_THREAD_ID, sigaction(2) with SA_SIGINFO.

use super::loops::{Loop, Scratch};
use bandscope_probe::clock;
use bandscope_recording::experiments::{Interruption, Run};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Interruptions of one run that are kept; later ones are not.
const KEPT: usize = 4096;

static NUMBER: AtomicUsize = AtomicUsize::new(0);
static TIMES: [AtomicU64; KEPT] = [const { AtomicU64::new(0) }; KEPT];
static LEFT: [AtomicU64; KEPT] = [const { AtomicU64::new(0) }; KEPT];
/// Where the loop under way lies: an interruption of anything else is not noted.
static CODE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Who may use the statics.
static IN_USE: Mutex<()> = Mutex::new(());

/// The signal; `inject` uses the one before.
fn number() -> libc::c_int {
    libc::SIGRTMIN() + 1
}

/// Instruction pointer and turns left, from the registers of the interrupted loop.
#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> (u64, u64) {
    let registers = &context.uc_mcontext.gregs;
    (
        registers[libc::REG_RIP as usize] as u64,
        registers[libc::REG_RDI as usize] as u64,
    )
}

/// Instruction pointer and turns left, from the registers of the interrupted loop.
#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> (u64, u64) {
    (context.uc_mcontext.pc, context.uc_mcontext.regs[0])
}

extern "C" fn note(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let now = clock::ticks();
    // SAFETY: with SA_SIGINFO the kernel gives the interrupted thread's registers, which live until the handler returns.
    let (at, left) = registers(unsafe { &*context.cast::<libc::ucontext_t>() });
    let (start, end) = (
        CODE[0].load(Ordering::Relaxed),
        CODE[1].load(Ordering::Relaxed),
    );
    let index = NUMBER.load(Ordering::Relaxed);
    if index < KEPT && (start..end).contains(&at) {
        TIMES[index].store(now, Ordering::Relaxed);
        LEFT[index].store(left, Ordering::Relaxed);
        NUMBER.store(index + 1, Ordering::Release);
    }
}

/// A timer that interrupts the thread that made it.
pub struct Signals {
    /// `None` until it is made.
    timer: Option<libc::timer_t>,
    before: libc::sigaction,
    _guard: MutexGuard<'static, ()>,
}

impl Signals {
    /// Interrupts the calling thread `rate_hz` times a second, until dropped; not at all at 0.
    ///
    /// # Errors
    /// What sigaction(2), timer_create(2) or timer_settime(2) say.
    pub fn start(rate_hz: u32) -> io::Result<Signals> {
        let guard = IN_USE
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: integers and pointers, for which zero is a value.
        let (mut action, mut before, mut event): (
            libc::sigaction,
            libc::sigaction,
            libc::sigevent,
        ) = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // SAFETY: the handler only reads the clock and its context, and stores to atomics; both structures live through the call.
        if unsafe { libc::sigaction(number(), &action, &mut before) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut signals = Signals {
            timer: None,
            before,
            _guard: guard,
        };
        allow(number())?;
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = number();
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: the kernel reads the event and writes the timer's id; both live through the call.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) } != 0 {
            return Err(io::Error::last_os_error());
        }
        signals.timer = Some(timer);
        signals.set(rate_hz)?;
        Ok(signals)
    }

    fn set(&self, rate_hz: u32) -> io::Result<()> {
        // SAFETY: integers, for which zero is a value: a timer that is off.
        let mut when: libc::itimerspec = unsafe { std::mem::zeroed() };
        if let Some(ns) = 1_000_000_000_u32.checked_div(rate_hz) {
            when.it_interval.tv_sec = (ns / 1_000_000_000).into();
            when.it_interval.tv_nsec = libc::c_long::from(ns % 1_000_000_000);
            when.it_value = when.it_interval;
        }
        let Some(timer) = self.timer else {
            return Ok(());
        };
        // SAFETY: the timer is this one's own; the kernel reads `when`, which lives through the call.
        match unsafe { libc::timer_settime(timer, 0, &when, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Runs the loop, and says what interrupted it.
    pub fn run(&self, one: &Loop, turns: u64, scratch: &mut Scratch) -> Run {
        let Range { start, end } = one.text();
        NUMBER.store(0, Ordering::Relaxed);
        CODE[0].store(start as u64, Ordering::Relaxed);
        CODE[1].store(end as u64, Ordering::Relaxed);
        let start = clock::ticks();
        one.run(turns, scratch);
        let end = clock::ticks();
        CODE[1].store(0, Ordering::Relaxed);
        let interruptions = (0..NUMBER.load(Ordering::Acquire)).map(|index| Interruption {
            at: TIMES[index].load(Ordering::Relaxed).saturating_sub(start),
            turns_left: LEFT[index].load(Ordering::Relaxed).min(turns),
        });
        Run {
            turns,
            ticks: end.saturating_sub(start),
            interruptions: interruptions.collect(),
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the timer was made in `start` and is deleted once; a signal still under way is delivered before the call returns
        // to this thread, and then the handler that was there before is put back.
        unsafe {
            if let Some(timer) = self.timer {
                libc::timer_delete(timer);
            }
            libc::sigaction(number(), &self.before, std::ptr::null_mut());
        }
    }
}

/// Lets the calling thread have the signal: a process may have been started with it blocked.
fn allow(signal: libc::c_int) -> io::Result<()> {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the first call fills the set, the second adds to it, the third reads it.
    let refused = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut())
    };
    match refused {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::loops;

    #[test]
    fn interruptions_are_noted_with_how_far_the_loop_was() {
        let mut scratch = Box::<Scratch>::default();
        let (name, _) = loops::CYCLES;
        let chain = loops::named(name).unwrap();
        let signals = Signals::start(1000).unwrap();
        // However slow this machine is, a loop that is long enough is interrupted.
        let run = (10..34).map(|bits| signals.run(chain, 1 << bits, &mut scratch));
        let run = run
            .into_iter()
            .find(|run| run.interruptions.len() >= 3)
            .unwrap();
        drop(signals);
        let points: Vec<(u64, u64)> = run
            .interruptions
            .iter()
            .map(|one| (one.at, one.turns_left))
            .collect();
        assert!(
            points
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1),
            "{points:?}"
        );
        assert!(
            points[0].1 < run.turns && points[points.len() - 1].0 <= run.ticks,
            "{points:?}"
        );
        // And after it none.
        let quiet = Signals::start(0).unwrap().run(chain, 1 << 20, &mut scratch);
        assert!(quiet.interruptions.is_empty() && quiet.turns == 1 << 20 && quiet.ticks > 0);
    }
}
