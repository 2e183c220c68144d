//! Looks at the machine before a run. A signal ends the program meanwhile; where it takes long, that is said.

use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use anyhow::Result;
use bandscope_recording::Manifest;
use bandscope_sampler::{Machine, Request};
use bandscope_view::numbers;
use rustix::time::{ClockId, clock_gettime};

/// Longer than this is told: a CPU that nobody else uses takes some 1.2 s.
const USUAL_S: f64 = 5.0;

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

/// Of this program.
fn cpu_time_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
