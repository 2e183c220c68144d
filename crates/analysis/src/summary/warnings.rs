//! Warnings: what a reader must know before believing the rest, each with advice.
//!
//! A typed list: one function an origin of doubt. Names that come from the machine are escaped, because a task may call
//! itself anything.

use bandscope_recording::cpu_list;
use bandscope_recording::manifest::{ClockOrigin, Manifest, State};
use bandscope_recording::read::{ReadWarning, ReadWarningKind as Read};
use bandscope_report::format;
use bandscope_report::{Cause, Report, Series, Warning, WarningKind, cpu_name};

/// Quanta below which shares and periods mean little.
const MAX_FEW_QUANTA: u64 = 1000;
/// A quantum that is longer or shorter than its rate says by more than this is another quantum. Truncation and calibration are
/// a thousandth at most.
const OTHER_QUANTUM: f64 = 0.01;
/// Load per CPU above which others take time.
const LOAD: f64 = 0.5;
/// Share of a CPU of another task that is worth naming.
const BUSY: f64 = 0.2;

/// All warnings on a report; `manifest` is that of the recording, `imported` whether it was a file of counts.
pub fn all(
    report: &Report,
    manifest: &Manifest,
    read: &[ReadWarning],
    migrations: u64,
) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = read.iter().map(reading).collect();
    if !manifest.is_imported() {
        state(manifest, &mut warnings);
        clock(manifest, &mut warnings);
    }
    lost(manifest, &mut warnings);
    kernels(manifest, &mut warnings);
    load(manifest, &mut warnings);
    missing(manifest, &mut warnings);
    inputs(report, &mut warnings);
    // The screen shows the first of a kind: that of the series that lost most.
    let mut series: Vec<&Series> = report.series.iter().collect();
    series.sort_by(|one, other| missing_share(other).total_cmp(&missing_share(one)));
    // Of moments that were chosen nobody expects shares and periods.
    for series in series.into_iter().filter(|_| !manifest.keeps_moments()) {
        of_series(series, &mut warnings);
    }
    if migrations > 0 {
        warnings.push(warning(
            WarningKind::CpuChange,
            format!("The measuring thread changed its CPU {migrations} times."),
            Some("Its CPU went offline, or its cpuset changed. Record again on a CPU that stays."),
        ));
    }
    warnings
}

fn warning(kind: WarningKind, message: String, advice: Option<&str>) -> Warning {
    Warning {
        kind,
        message,
        advice: advice.map(str::to_owned),
    }
}

/// What the reader noticed. However a recording came to be cut short, it is one kind of warning.
fn reading(warning: &ReadWarning) -> Warning {
    Warning {
        kind: match warning.kind {
            Read::Unfinished | Read::Interrupted | Read::Failed => WarningKind::PartialRecording,
            Read::Empty => WarningKind::Empty,
            Read::LeftoverPart => WarningKind::LeftoverPart,
            Read::UnknownEntry => WarningKind::UnknownEntry,
            Read::NoChecksum => WarningKind::NoChecksum,
            Read::GapsWithoutQuanta => WarningKind::GapsWithoutQuanta,
            Read::BadHeader => WarningKind::BadHeader,
            Read::NoFinalNewline => WarningKind::NoFinalNewline,
            Read::RateMismatch => WarningKind::RateMismatch,
            Read::RateFromTimes => WarningKind::RateFromTimes,
            Read::UnreadablePart => WarningKind::UnreadablePart,
            Read::MissingPart => WarningKind::MissingPart,
            Read::StalePart => WarningKind::StalePart,
            Read::DifferentMachines => WarningKind::DifferentMachines,
            Read::DifferentClocks => WarningKind::DifferentClocks,
            Read::DifferentCounters => WarningKind::DifferentCounters,
        },
        message: format!("{}.", warning.message),
        advice: Some(sentence(&warning.advice)),
    }
}

/// Words that the reader joins to its message, as a sentence.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| {
        format!("{}{}.", first.to_uppercase(), letters.as_str())
    })
}

/// Of a source that notices nothing itself, such as one in memory.
fn state(manifest: &Manifest, warnings: &mut Vec<Warning>) {
    if warnings
        .iter()
        .any(|warning| warning.kind == WarningKind::PartialRecording)
    {
        return;
    }
    let how = match manifest.state {
        State::Complete => return,
        State::Recording => "has no end: it still runs, or it was killed",
        State::Interrupted => "was interrupted by a signal",
        State::Failed => "was ended early by an error",
    };
    warnings.push(warning(
        WarningKind::PartialRecording,
        format!("The recording {how}; the report covers what was written."),
        Some("Record again if the missing part matters."),
    ));
}

fn clock(manifest: &Manifest, warnings: &mut Vec<Warning>) {
    let clock = &manifest.clock;
    if clock.error_ppm.is_none() && clock.origin != ClockOrigin::Simulated {
        warnings.push(warning(
            WarningKind::ClockNotCalibrated,
            "The clock was not calibrated: times and frequencies carry an unknown error."
                .to_owned(),
            Some("Record without --ticks-per-ns, for a second or longer."),
        ));
    }
    if clock.invariant == Some(false) {
        warnings.push(warning(
            WarningKind::ClockNotInvariant,
            "The CPU does not declare its clock invariant: its rate may follow the frequency."
                .to_owned(),
            Some("Fix the frequency, or do not trust paces across frequency changes."),
        ));
    }
}

fn lost(manifest: &Manifest, warnings: &mut Vec<Warning>) {
    let lost = &manifest.lost;
    let why = match manifest.state {
        State::Failed => (
            "not written",
            "An error ended the run, such as a full disk. Every finished part is kept. Free space, and record again.",
        ),
        _ => (
            "did not fit into memory",
            "Lower the rate, leave a second CPU free for writing, or record with --buffered.",
        ),
    };
    if lost.quanta > 0 || lost.gaps > 0 {
        warnings.push(warning(
            WarningKind::LostQuanta,
            format!(
                "{} quanta and the details of {} gaps were measured but {}.",
                lost.quanta, lost.gaps, why.0
            ),
            Some(why.1),
        ));
    }
}

fn kernels(manifest: &Manifest, warnings: &mut Vec<Warning>) {
    for kernel in manifest
        .kernels
        .iter()
        .filter(|kernel| kernel.invariant == Some(false))
    {
        let spread = kernel.placement_spread.unwrap_or(0.0) * 100.0;
        warnings.push(warning(
            WarningKind::KernelNotInvariant,
            format!(
                "The pace of work kernel {} depends on its placement by {spread:.2} % on this CPU.",
                kernel.name.escape_debug()
            ),
            Some("It may cause changes of pace of that size itself. Compare with bandscope record --kernel imul20."),
        ));
    }
}

fn load(manifest: &Manifest, warnings: &mut Vec<Warning>) {
    let machine = &manifest.machine;
    let cpus = machine
        .online_cpus
        .as_deref()
        .map_or(1, |list| cpu_list::parse(list).len())
        .max(1);
    if let Some(load) = machine.load.filter(|load| load[0] > LOAD * cpus as f64) {
        warnings.push(warning(
            WarningKind::HighLoad,
            format!(
                "The load was {:.1} on {cpus} CPUs when the run began.",
                load[0]
            ),
            Some("Stop other work, or measure a CPU that it may not use."),
        ));
    }
    for task in machine.other_tasks.iter().filter(|task| task.share > BUSY) {
        warnings.push(warning(
            WarningKind::OtherTask,
            format!(
                "Task {} ({}) used {:.0} % of a CPU when the run began.",
                task.name.escape_debug(),
                task.pid,
                task.share * 100.0
            ),
            Some("Stop it, or keep it off the measured CPU."),
        ));
    }
}

fn missing(manifest: &Manifest, warnings: &mut Vec<Warning>) {
    for missing in &manifest.missing {
        warnings.push(Warning {
            kind: WarningKind::NotMeasured,
            message: format!(
                "Not measured: {} ({}).",
                missing.what.escape_debug(),
                missing.why.escape_debug()
            ),
            advice: (!missing.leaves_undecided.is_empty()).then(|| {
                format!(
                    "Not decided without it: {}.",
                    missing.leaves_undecided.escape_debug()
                )
            }),
        });
    }
    for incident in &manifest.incidents {
        warnings.push(warning(
            WarningKind::Incident,
            format!(
                "{}: {}",
                incident.kind.to_string().escape_debug(),
                incident.detail.escape_debug()
            ),
            None,
        ));
    }
}

fn inputs(report: &Report, warnings: &mut Vec<Warning>) {
    if report.inputs.len() > 1 {
        warnings.push(warning(
            WarningKind::SeveralInputs,
            format!(
                "{} inputs are taken as series of one machine.",
                report.inputs.len()
            ),
            Some("Report recordings of different machines one by one."),
        ));
    }
}

fn of_series(series: &Series, warnings: &mut Vec<Warning>) {
    let what = match series.cpu {
        Some(cpu) => format!(
            "{} at {}",
            cpu_name(cpu, series.place.as_ref()),
            format::rate(series.rate_hz)
        ),
        None => series.origin.escape_debug().to_string(),
    };
    if series.quanta < MAX_FEW_QUANTA {
        warnings.push(warning(
            WarningKind::ShortSeries,
            format!(
                "{what}: {} quanta are too few for shares, percentiles and periods.",
                series.quanta
            ),
            Some("Record for ten seconds or longer."),
        ));
    }
    warnings.extend(rate_mismatch(series, &what));
    if let Some(gaps) = series.gaps.as_ref().filter(|gaps| gaps.other_tasks > 0) {
        warnings.push(warning(
            WarningKind::ManyTasks,
            format!(
                "{what}: {} booked together, as {}.",
                match gaps.other_tasks {
                    1 => "1 small task is".to_owned(),
                    many => format!("{many} small tasks are"),
                },
                Cause::OtherTasks
            ),
            Some("`perf trace -e sched:sched_process_exec` shows who starts them."),
        ));
    }
    if series.units > 0 && series.bands.is_empty() {
        warnings.push(warning(
            WarningKind::NoBand,
            format!("{what}: no pace recurs, so losses and changes of pace have no reference."),
            Some("Record for ten seconds or longer, on a quieter CPU."),
        ));
    }
    if series
        .best_pace
        .as_ref()
        .is_some_and(|best| !best.undisturbed)
    {
        warnings.push(warning(
            WarningKind::NoUndisturbedStretch,
            format!("{what}: no undisturbed stretch was seen, so the best pace is uncertain and losses are lower bounds."),
            Some("Record for longer, or on a quieter CPU."),
        ));
    }
}

/// By how much the quanta are fewer or more than the rate says, as a share.
fn missing_share(series: &Series) -> f64 {
    (series.quanta as f64 / series.duration_s / series.rate_hz - 1.0).abs()
}

/// Quanta that are fewer or more than the rate says: the CPU was away, or the clock is wrong.
fn rate_mismatch(series: &Series, what: &str) -> Option<Warning> {
    let quanta_per_second = series.quanta as f64 / series.duration_s;
    if series.quanta == 0 || missing_share(series) <= OTHER_QUANTUM {
        return None;
    }
    let longest = series.gaps.as_ref().and_then(|gaps| gaps.longest.first());
    let away =
        longest.filter(|gap| gap.ns * series.rate_hz > 1e9 && quanta_per_second < series.rate_hz);
    let (message, advice) = match away {
        Some(gap) => (
            format!(
                "{what}: the CPU was away for up to {} at once, so {} of the quanta are missing.",
                format::duration(gap.ns),
                format::percent(1.0 - quanta_per_second / series.rate_hz)
            ),
            "The account holds; take bands and frequencies with care.",
        ),
        None => (
            format!(
                "{what}: found {quanta_per_second:.1} quanta a second, expected the rate, {}.",
                format::rate(series.rate_hz)
            ),
            match quanta_per_second < series.rate_hz {
                true => {
                    "Do not trust shares, drift and frequencies. The process was stopped, quanta were lost, or the clock or rate is wrong."
                }
                false => {
                    "Do not trust shares, drift and frequencies: the clock or the given rate is wrong."
                }
            },
        ),
    };
    Some(warning(WarningKind::RateMismatch, message, Some(advice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_full_disk_lost_is_not_blamed_on_the_rate() {
        let mut manifest = Manifest::default();
        manifest.lost.quanta = 7;
        let mut told = |state| {
            manifest.state = state;
            let mut warnings = Vec::new();
            lost(&manifest, &mut warnings);
            format!(
                "{} {}",
                warnings[0].message,
                warnings[0].advice.as_deref().unwrap()
            )
        };
        let failed = told(State::Failed);
        assert!(failed.contains("not written. An error ended the run, such as a full disk."));
        assert!(!failed.contains("rate"), "{failed}");
        assert!(told(State::Complete).contains("Lower the rate"));
    }

    #[test]
    fn the_series_that_lost_most_comes_first() {
        let series = |rate_hz: f64, quanta: u64| Series {
            rate_hz,
            quanta,
            duration_s: 1.0,
            ..Series::default()
        };
        let report = Report {
            series: vec![series(10_000.0, 9_800), series(7_777.0, 6_000)],
            ..Report::default()
        };
        let mut warnings = all(&report, &Manifest::default(), &[], 0);
        warnings.retain(|warning| warning.kind == WarningKind::RateMismatch);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].message.contains("found 6000.0 quanta"));
    }
}
