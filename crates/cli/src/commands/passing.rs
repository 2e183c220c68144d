//! A recording that nobody asked for by name: measured, and analysed at once.

use super::{record, report};
use crate::interrupt::Interrupt;
use anyhow::{Result, ensure};
use bandscope_report::Report;
use bandscope_sampler::Request;
use std::path::Path;

/// The CPU was taken for all of the time.
#[derive(Debug, thiserror::Error)]
#[error("nothing was measured: no quantum ended; expected a longer run, or more time of the CPU")]
pub(super) struct NothingMeasured;

/// Makes it at `path`, of CPUs that are `accepted`; its report, `None` if a signal came before a quantum ended. The CPUs that it chose and the work kernels that passed their
/// test stay those of `request`.
pub(super) fn report(
    arguments: &record::Arguments,
    request: &mut Request,
    path: &Path,
    interrupt: &Interrupt,
    accepted: impl FnOnce(&[u32]) -> Result<()>,
) -> Result<Option<Report>> {
    let machine = arguments.machine()?;
    let prepared = record::prepare_unless_told(machine, request, interrupt)?;
    let Some((mut machine, mut manifest)) = prepared else {
        return Ok(None);
    };
    accepted(&manifest.settings.cpus)?;
    record::fill_in(&mut manifest, arguments, request);
    let mut measured = record::Tally::default();
    let how = (interrupt, None, &mut measured);
    record::write_quietly(&mut *machine, request, &mut manifest, path, how)?;
    request.cpus.clone_from(&manifest.settings.cpus);
    request.self_test = false;
    if measured.seconds(manifest.clock.ticks_per_ns) <= 0.0 {
        ensure!(interrupt.signal().is_some(), NothingMeasured);
        // Nobody wants an empty one, even if it was to be kept.
        if measured.is_empty() {
            let _ = std::fs::remove_dir_all(path);
        }
        return Ok(None);
    }
    let analysis = report::analyse(&[path.to_owned()], &[], None)?;
    Ok(Some(analysis.report))
}
