//! `bandscope`: how much of a CPU's time a program really gets, and where the rest goes.
//!
//! The way through the program: a subcommand in [`commands`] parses and wires; a machine
//! (`probe::ThisMachine` or `simulation::SimulatedMachine`) runs the measuring loop of
//! `sampler::measure`; what it measures is a recording (`recording`); `analysis` makes a report of it;
//! `view` draws that. Nothing is decided here.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod commands;
mod interrupt;
mod output;
mod progress;
mod resources;
mod scratch;
mod screen;

mod values;

use std::process::ExitCode;
use std::sync::Arc;

/// Musl's own serialises threads, and gives pages back to the kernel and takes them again (docs/figures.md, section 4).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Caught, a limit on the size of files is an error of the write that meets it, which names the file; else it is a silent end.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let arguments = commands::Arguments::of_process();
    match resources::check_address_space().and_then(|()| commands::run(arguments)) {
        Ok(code) => code,
        Err(error) => output::fail(&error),
    }
}
