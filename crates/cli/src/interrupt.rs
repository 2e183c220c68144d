//! SIGINT and SIGTERM (and where the terminal is a screen, its end) end a run in good order: what was measured is written and marked.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Notices the signals for as long as the program runs.
#[derive(Debug)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes the signals over. A second one ends the program at once, as if it had not been caught.
    ///
    /// # Errors
    /// If the operating system refuses the handler.
    pub fn new() -> std::io::Result<Interrupt> {
        let stop = Arc::new(AtomicBool::new(false));
        Interrupt::take_over(&[SIGINT, SIGTERM], Arc::clone(&stop), stop)
    }

    /// The same while the terminal is a screen, which must be given back first: a second signal ends the program only after
    /// [`Interrupt::release`]. A terminal that is closed ends the run as well, unless the program was told to outlive it (`nohup`).
    ///
    /// # Errors
    /// As [`Interrupt::new`].
    pub fn on_screen() -> std::io::Result<Interrupt> {
        let stop = Arc::new(AtomicBool::new(false));
        let numbers: &[i32] = match ignores(SIGHUP) {
            true => &[SIGINT, SIGTERM],
            false => &[SIGINT, SIGTERM, SIGHUP],
        };
        Interrupt::take_over(numbers, stop, Arc::new(AtomicBool::new(false)))
    }

    /// The signals set `stop`; while `at_once` is set they end the program.
    fn take_over(
        numbers: &[i32],
        stop: Arc<AtomicBool>,
        at_once: Arc<AtomicBool>,
    ) -> std::io::Result<Interrupt> {
        let signal = Arc::new(AtomicUsize::new(0));
        for &number in numbers {
            signal_hook::flag::register_conditional_shutdown(
                number,
                shell_status(number as usize).into(),
                Arc::clone(&at_once),
            )?;
            signal_hook::flag::register(number, Arc::clone(&stop))?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Interrupt {
            stop,
            signal,
            at_once,
        })
    }

    /// From now on a signal ends the program at once.
    pub fn release(&self) {
        self.at_once.store(true, Ordering::SeqCst);
    }

    /// Becomes true with the first signal.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// The signal that came.
    pub fn signal(&self) -> Option<i32> {
        let signal = self.signal.load(Ordering::Relaxed);
        (signal != 0).then_some(signal as i32)
    }

    /// The exit status that shells use for the signal that came: 130 or 143, or 129 where a terminal was closed.
    pub fn exit_code(&self) -> Option<ExitCode> {
        self.signal()
            .map(|signal| ExitCode::from(shell_status(signal as usize)))
    }
}

/// What shells make of a signal that ended a program.
pub fn shell_status(signal: usize) -> u8 {
    128 + signal as u8
}

/// Whether this process was started to ignore a signal, as far as the kernel says.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
