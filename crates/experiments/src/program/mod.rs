//! Somebody's program: where its hot loop is, which hidden states of a core the loop meets, and what each of them costs there.
//!
//! Everything is done to the running program, by ptrace(2), without counters and without root:
//!
//! 1. `follow.rs` starts it and stops it some hundred times, to see where it is (`find.rs`).
//! 2. `fork.rs` makes copies of it, which are watched instruction by instruction. `loops.rs` finds the loop that holds most of the samples,
//!    `flow.rs` what its turns do to memory.
//! 3. `stand.rs` brings a copy to the head of the loop. There (`bench.rs`) the loop's own instructions run at full speed, as they are and with
//!    one thing changed (`blueprint.rs`, `encode.rs`): the difference is what that thing costs (`trials.rs`). `changes.rs` says what is changed.

mod bench;
mod blueprint;
mod changes;
mod code;
mod describe;
mod encode;
mod find;
mod flow;
mod follow;
mod fork;
mod loops;
mod maps;
mod object;
mod registers;
mod stand;
mod tracee;
mod trials;

pub use object::names_in_file;

use crate::Error;
use crate::repeat::{Levels, Neighbour};
use bandscope_probe::facts;
use bandscope_recording::program::Program;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a cache line.
const LINE: u64 = 64;
/// Bytes of a page. The address within one decides how code is fetched, and which stores a load is first compared with.
const PAGE: u64 = 4096;

/// Runs a command, not empty, at levels of factors of `repeat`, and measures its hot loop. `progress` hears the part that is done. When `stop` becomes true
/// the command is ended.
///
/// # Errors
/// If a level cannot be set, or the command cannot be started, or may not be observed.
pub fn measure(
    command: &[OsString],
    levels: &[(String, String)],
    stop: &AtomicBool,
    progress: &mut dyn FnMut(f64),
) -> Result<Program, Error> {
    let levels = Levels::of(levels, &command[0])?;
    let refused = |error| Error::Command {
        name: command[0].to_string_lossy().into_owned(),
        error,
    };
    let neighbour = levels.settings.busy.map(Neighbour::start);
    let _neighbour = neighbour.transpose().map_err(refused)?;
    let command = levels.settings.prepare(command);
    let mut followed = follow::Followed::start(command).map_err(refused)?;
    let found = find::find(&mut followed, stop, &mut |part| progress(part * 0.8));
    let mut program = Program {
        samples: found.samples,
        in_kernel: found.in_kernel,
        ..Program::default()
    };
    let timed = found.hot_loop.and_then(|hot| {
        trials::experiment(&mut followed, &hot, stop, &mut |part| {
            progress(0.8 + part * 0.2)
        })
    });
    match timed {
        Ok(hot_loop) => program.hot_loop = Some(hot_loop),
        Err(why) => program.missing = Some(reason(why, &followed)),
    }
    program.is_interrupted = stop.load(Ordering::Relaxed);
    followed.end();
    program.machine = facts::gather(&[]);
    Ok(program)
}

/// Why there is no loop, in words: what fails once the command has ended, fails for that.
fn reason(why: find::NoLoop, followed: &follow::Followed) -> String {
    let Some(status) = followed.status.filter(|_| followed.ended()) else {
        return why.to_string();
    };
    match (libc::WIFSIGNALED(status), libc::WEXITSTATUS(status)) {
        (true, _) => format!("signal {} ended the command", libc::WTERMSIG(status)),
        (false, 0) => find::NoLoop::Ended.to_string(),
        (false, code) => format!("the command ended with status {code}"),
    }
}
