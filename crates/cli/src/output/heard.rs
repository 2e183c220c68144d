//! Whether anybody reads what is written: a full pipe and a terminal that was halted keep nobody from ending after a signal.

use crate::interrupt::{self, LAST_WORDS};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::Instant;

/// Bytes that a pipe takes without waiting if it takes any (PIPE_BUF, pipe(7)).
pub const PIECE: usize = 4096;
/// How long a signal may go unnoticed here.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Waits until something can be written there without waiting, or will fail; not for longer than [`LAST_WORDS`] after a signal, for all that is
/// said together.
pub fn takes(out: &impl AsFd) -> bool {
    static UNHEARD: OnceLock<Instant> = OnceLock::new();
    loop {
        match poll(&mut [PollFd::new(out, PollFlags::OUT)], Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) => {}
            _ => return true,
        }
        let is_told = interrupt::came().is_some();
        if is_told && UNHEARD.get_or_init(Instant::now).elapsed() >= LAST_WORDS {
            return false;
        }
    }
}
