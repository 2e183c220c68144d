//! Looks at the machine before a run. A signal ends the program meanwhile, or at least the wait; where it takes long, that is said.

use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use anyhow::{Result, anyhow, bail};
use bandscope_recording::Manifest;
use bandscope_sampler::{Machine, Request};
use bandscope_view::numbers;
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Longer than this is told: a CPU that nobody else uses takes some 1.2 s.
const USUAL_S: f64 = 5.0;
/// How long a signal may go unnoticed by who waits.
const LOOK: Duration = Duration::from_millis(100);
/// A machine that another thread may look at.
pub type AnyMachine = Box<dyn Machine + Send>;

/// Prepares a machine, and what is known of the run before it begins.
///
/// # Errors
/// As [`Machine::prepare`].
pub fn prepare(
    machine: &mut dyn Machine,
    request: &Request,
    interrupt: &Interrupt,
) -> Result<Manifest> {
    let before = cpu_time_ns();
    let manifest = {
        let _progress = Progress::spinner("looking at the machine");
        let _preparing = interrupt.while_preparing();
        machine.prepare(request)?
    };
    if let Some(seconds) = manifest.preparation_s.filter(|seconds| *seconds > USUAL_S) {
        let ran = cpu_time_ns() - before;
        output::note(format_args!(
            "bandscope: looking at the machine took {}; the CPU was this program's for {} of it",
            numbers::duration(seconds * 1e9),
            numbers::duration(ran),
        ));
    }
    Ok(manifest)
}

/// The same where a signal must not end the program, which has something to put back or to judge; `None` if one came. Then a thread still looks at
/// the machine, and goes with the program.
///
/// # Errors
/// As [`Machine::prepare`].
pub fn prepare_unless_told(
    mut machine: AnyMachine,
    request: &Request,
    interrupt: &Interrupt,
) -> Result<Option<(AnyMachine, Manifest)>> {
    let (give, prepared) = channel();
    let request = request.clone();
    let look = move || {
        let manifest = machine.prepare(&request);
        // Nobody waits any more after a signal.
        let _ = give.send(manifest.map(|manifest| (machine, manifest)));
    };
    let thread = std::thread::Builder::new().spawn(look);
    thread.map_err(|error| anyhow!(bandscope_probe::no_thread(&error)))?;
    while interrupt.signal().is_none() {
        match prepared.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(prepared) => return Ok(Some(prepared?).filter(|_| interrupt.signal().is_none())),
            Err(RecvTimeoutError::Disconnected) => {
                bail!("looking at the machine panicked: this is a bug")
            }
        }
    }
    Ok(None)
}

/// Of this program.
fn cpu_time_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
