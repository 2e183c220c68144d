//! SIGINT and SIGTERM end a run in good order: what was measured is written and marked.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Notices the signals for as long as the program runs.
#[derive(Debug)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Takes the signals over. A second one ends the program at once, as if it had not been caught.
    ///
    /// # Errors
    /// If the operating system refuses the handler.
    pub fn new() -> std::io::Result<Interrupt> {
        let stop = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(
                number,
                shell_status(number as usize).into(),
                Arc::clone(&stop),
            )?;
            signal_hook::flag::register(number, Arc::clone(&stop))?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Interrupt { stop, signal })
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

    /// The exit status that shells use for the signal that came: 130 or 143.
    pub fn exit_code(&self) -> Option<ExitCode> {
        self.signal()
            .map(|signal| ExitCode::from(shell_status(signal as usize)))
    }
}

/// What shells make of a signal that ended a program.
pub fn shell_status(signal: usize) -> u8 {
    128 + signal as u8
}
