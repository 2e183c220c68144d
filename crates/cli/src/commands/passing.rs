//! A recording that nobody asked for by name: measured, and analysed at once.

use super::record::{self, Caught, Places};
use super::report;
use crate::interrupt::Interrupt;
use anyhow::{Result, ensure};
use bandscope_recording::Manifest;
use bandscope_report::Report;
use bandscope_sampler::Request;
use std::path::Path;

/// A CPU was taken for all of the time.
#[derive(Debug, thiserror::Error)]
#[error(
    "nothing was measured{on}: no quantum ended; expected a longer run, or more time of the CPU"
)]
pub(super) struct NothingMeasured {
    /// Where, in a sentence; empty of all CPUs.
    on: String,
}

/// One of `cpus` of which no series is, as no quantum of it ended: judged without it, the one that lost all would pass.
pub(super) fn unmeasured(of: impl Iterator<Item = Option<u32>>, cpus: &[u32]) -> Option<u32> {
    let of: Vec<Option<u32>> = of.collect();
    let is_there = |cpu: &u32| of.contains(&Some(*cpu)) || of.contains(&None);
    cpus.iter().find(|cpu| !is_there(cpu)).copied()
}

/// Refuses a report that lacks one of the CPUs that were to be measured, unless a condition ended the run: all of its CPUs fail.
pub(super) fn measured_all(report: Report, cpus: &[u32]) -> Result<Report> {
    let manifest = report.recording.as_ref();
    let is_stopped = manifest.is_some_and(|manifest| !manifest.stopped_by.is_empty());
    match unmeasured(report.series.iter().map(|one| one.cpu), cpus) {
        Some(cpu) if !is_stopped => Err(NothingMeasured {
            on: format!(" on CPU {cpu}"),
        }
        .into()),
        _ => Ok(report),
    }
}

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
        let on = String::new();
        ensure!(interrupt.signal().is_some(), NothingMeasured { on });
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

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_report::Series;

    #[test]
    fn a_report_without_one_of_the_cpus_is_none() {
        let series = [0, 1].map(|cpu| Series {
            cpu: Some(cpu),
            ..Series::default()
        });
        let report = || Report {
            series: series.to_vec(),
            ..Report::default()
        };
        assert!(measured_all(report(), &[0, 1]).is_ok());
        let error = measured_all(report(), &[0, 2]).unwrap_err();
        assert!(error.is::<NothingMeasured>());
        assert!(
            error
                .to_string()
                .starts_with("nothing was measured on CPU 2: ")
        );
    }
}
