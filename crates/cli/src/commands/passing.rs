//! A recording that nobody asked for by name: measured, and analysed at once.

use super::record::{self, Caught, Places};
use super::report;
use crate::interrupt::Interrupt;
use anyhow::{Result, ensure};
use bandscope_recording::Manifest;
use bandscope_report::Report;
use bandscope_sampler::Request;
use std::path::Path;

/// The CPU was taken for all of the time.
#[derive(Debug, thiserror::Error)]
#[error("nothing was measured: no quantum ended; expected a longer run, or more time of the CPU")]
pub(super) struct NothingMeasured;

/// What came of one.
pub(super) struct Passed {
    /// Of all that was measured.
    pub report: Report,
    /// What a flight recorder made of it.
    pub caught: Caught,
}

/// Makes it, of a run that is `accepted`, in `places`; what came of it, `None` if a signal came before a quantum ended. The CPUs that it chose and the work kernels that passed
/// their test stay those of `request`.
pub(super) fn report(
    arguments: &record::Arguments,
    request: &mut Request,
    places: Places<'_>,
    interrupt: &Interrupt,
    accepted: impl FnOnce(&Manifest) -> Result<()>,
) -> Result<Option<Passed>> {
    let machine = arguments.machine()?;
    let prepared = record::prepare_unless_told(machine, request, interrupt)?;
    let Some((mut machine, mut manifest)) = prepared else {
        return Ok(None);
    };
    record::fill_in(&mut manifest, arguments, request);
    accepted(&manifest)?;
    let mut measured = record::Tally::default();
    let on_catch = arguments.catching.on_catch.as_deref();
    let how = (interrupt, on_catch, &mut measured);
    record::write_quietly(&mut *machine, request, &mut manifest, places, how)?;
    request.cpus.clone_from(&manifest.settings.cpus);
    request.self_test = false;
    if measured.seconds(manifest.clock.ticks_per_ns) <= 0.0 {
        ensure!(interrupt.signal().is_some(), NothingMeasured);
        // Nobody wants an empty one, even if it was to be kept.
        if measured.is_empty() {
            for path in places.all.into_iter().chain(places.caught) {
                let _ = std::fs::remove_dir_all(path);
            }
        }
        return Ok(None);
    }
    let all = places.all.map(Path::to_owned);
    let analysis = report::analyse(all.as_slice(), &[], None)?;
    Ok(Some(Passed {
        report: analysis.report,
        caught: Caught::of(&manifest),
    }))
}
