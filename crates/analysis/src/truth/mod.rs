//! What was booked against what really happened: a recording held against the logs of the disturbances that were made during it.
//!
//! Reads logs ([`bandscope_recording::disturbances`]) and, once more, the series of the CPUs that they disturbed. Kept are sums
//! by cause, and the logs themselves; nothing grows with the recording.
//!
//! Two truths of a disturbance are known, and neither is the whole: the disturber's own clock reads, between which it surely
//! had the CPU, and the CPU time that the kernel booked to its thread, which has the kernel's part of going to sleep and
//! waking up too (docs/inject.md). So time is held against both.

mod booked;
mod quanta;

use crate::Error;
use crate::series::context::Context;
use bandscope_recording::disturbances::{Intervals, Log};
use bandscope_recording::manifest::EventsState;
use bandscope_recording::{Error as Bad, Source};
use bandscope_report::{Held, QuantaOfLog, Together, Truth};
use booked::Books;
use quanta::{Counts, Quanta};

/// A log on the clock of the recording.
pub(crate) struct Track<'a> {
    log: &'a Log,
    /// From first to last clock read of each disturbance.
    spans: Intervals,
    /// The same without what the disturber saw itself be away.
    disturbed: Intervals,
}

/// Refuses logs that cannot be the truth of `source`.
///
/// # Errors
/// If a log is of another boot or clock, was cut off or lost rows, or disturbed no CPU that was measured.
pub fn check(source: &dyn Source, logs: &[Log]) -> Result<(), Error> {
    for log in logs {
        log.check_recording(&source.manifest().clock)?;
        check_cpu(source, log)?;
        check_end(log)?;
    }
    Ok(())
}

fn check_cpu(source: &dyn Source, log: &Log) -> Result<(), Bad> {
    let cpu = log.header.cpu;
    let refuse = |found: String| {
        let mut measured: Vec<u32> = source.series().iter().filter_map(|one| one.cpu).collect();
        measured.sort_unstable();
        measured.dedup();
        let measured: Vec<String> = measured.iter().map(u32::to_string).collect();
        Err(Bad::Row {
            path: log.path.clone(),
            row: 1,
            found,
            expected: format!(
                "one that took its time from a measured CPU ({})",
                measured.join(", ")
            ),
        })
    };
    if !log.header.takes_the_cpu() {
        return refuse(format!(
            "a neighbour, which ran on CPU {cpu} beside the measured one"
        ));
    }
    if source.series().iter().all(|series| series.cpu != Some(cpu)) {
        return refuse(format!("a disturber of CPU {cpu}"));
    }
    Ok(())
}

fn check_end(log: &Log) -> Result<(), Bad> {
    if log.whole() {
        return Ok(());
    }
    let found = match &log.end {
        None if log.cut => "a line that was never finished".to_owned(),
        None => "the end of the file".to_owned(),
        Some(end) if end.lost > 0 => format!("{} disturbances lost", end.lost),
        Some(_) => "a run that failed".to_owned(),
    };
    Err(Bad::Row {
        path: log.path.clone(),
        row: log.disturbances.len() as u64 + 2,
        found,
        expected: "the last line of a whole log, without which it is not known what else happened"
            .into(),
    })
}

/// What a log says of itself; no series yet.
fn of_log(log: &Log) -> Truth {
    let header = &log.header;
    Truth {
        log: log.path.display().to_string(),
        kind: header.kind.clone(),
        cpu: header.cpu,
        task: header.task.name.clone(),
        thread: header.task.thread,
        period_s: header.settings.period_s,
        length_s: header.settings.length_s,
        series: Vec::new(),
    }
}

/// Holds the series of `source` against `logs`, which [`check`] found fit.
///
/// # Errors
/// If the recording cannot be read or is damaged.
pub fn hold(source: &dyn Source, logs: &[Log]) -> Result<Vec<Truth>, Error> {
    let origin = source.manifest().clock.origin_ticks;
    let tracks: Vec<Track<'_>> = logs
        .iter()
        .map(|log| Track {
            log,
            spans: log.spans().since(origin),
            disturbed: log.disturbed().since(origin),
        })
        .collect();
    let mut truths: Vec<Truth> = logs.iter().map(of_log).collect();
    // First and last tick in which the CPU of each log was measured, at any rate.
    let mut measured: Vec<Option<(i128, i128)>> = vec![None; logs.len()];
    for (index, series) in source.series().iter().enumerate() {
        let places: Vec<usize> = (0..logs.len())
            .filter(|&log| series.cpu == Some(logs[log].header.cpu))
            .collect();
        if places.is_empty() {
            continue;
        }
        let of_cpu: Vec<&Track<'_>> = places.iter().map(|&log| &tracks[log]).collect();
        let (held, segments) = hold_series(source, index, &of_cpu)?;
        for (&log, held) in places.iter().zip(held) {
            truths[log].series.push(held);
            for &(from, to) in &segments {
                let (first, last) = measured[log].unwrap_or((i128::MAX, i128::MIN));
                measured[log] = Some((first.min(from.into()), last.max(to.into())));
            }
        }
    }
    for (log, measured) in logs.iter().zip(measured) {
        let series = (source.series().iter()).find(|one| one.cpu == Some(log.header.cpu));
        if let (Some(measured), Some(series)) = (measured, series) {
            let context = Context::new(source.manifest(), series);
            check_time(log, origin, measured, &context)?;
        }
    }
    Ok(truths)
}

/// First and last tick of each segment.
type Segments = Vec<(u64, u64)>;

fn hold_series(
    source: &dyn Source,
    index: usize,
    tracks: &[&Track<'_>],
) -> Result<(Vec<Held>, Segments), Error> {
    let context = Context::new(source.manifest(), &source.series()[index]);
    let all = tracks
        .iter()
        .fold(Intervals::default(), |all, track| all.union(&track.spans));
    let counts = Quanta::count(source, index, tracks, &all, &context)?;
    let books = Books::read(source, index, tracks, &all)?;
    let traced = source.events_known(index).state == EventsState::On;
    let together = together(tracks.len(), traced, &counts, &books, &context);
    let held = tracks.iter().enumerate().map(|(place, track)| {
        let mut held = books.held(place, track, traced, &context);
        truth_of(&mut held, track, source, &counts, &context);
        held.series = index;
        let (disturbed, recognised) = counts.of_logs[place];
        held.quanta = QuantaOfLog {
            disturbed,
            recognised,
            recall: ratio(recognised as f64, disturbed as f64),
        };
        held.together = together.clone();
        held
    });
    let held = held.collect();
    Ok((held, counts.segments))
}

/// Refuses a log of another time: one whose disturbances ended before the recording began, or began after it had ended.
fn check_time(
    log: &Log,
    origin: u64,
    (first, last): (i128, i128),
    context: &Context,
) -> Result<(), Error> {
    let since = |raw: u64| i128::from(raw) - i128::from(origin);
    let begin = log.disturbances.iter().map(|one| since(one.start)).min();
    let end = log.disturbances.iter().map(|one| since(one.end)).max();
    let Some((begin, end)) = begin.zip(end) else {
        return Ok(());
    };
    let seconds = |ticks: i128| context.seconds(ticks as f64);
    let found = if end < first {
        format!(
            "disturbances that ended {:.1} s before the recording began",
            seconds(first - end)
        )
    } else if begin > last {
        format!(
            "disturbances that began {:.1} s after the recording had ended",
            seconds(begin - last)
        )
    } else {
        return Ok(());
    };
    Err(Bad::File {
        path: log.path.clone(),
        found,
        expected: "a log of the time of the recording".into(),
    })
}

/// What the log says of the time in which the series was measured; a disturbance on the edge of a segment counts in part.
fn truth_of(
    held: &mut Held,
    track: &Track<'_>,
    source: &dyn Source,
    counts: &Counts,
    context: &Context,
) {
    let origin = source.manifest().clock.origin_ticks;
    let measured = Intervals::new(counts.segments.iter().copied());
    let within = |of: &Intervals| -> u64 {
        let segments = measured.spans().iter();
        segments.map(|&(from, to)| of.within(from, to)).sum()
    };
    held.spans_ns = whole_ns(within(&track.spans), context);
    held.disturbed_ns = whole_ns(within(&track.disturbed), context);
    let mut cpu_ns = Some(0.0);
    for row in &track.log.disturbances {
        let (from, to) = (
            row.start.saturating_sub(origin),
            row.end.saturating_sub(origin),
        );
        // One that lasted no time counts whole.
        let share = match row.end - row.start {
            0 => f64::from(u8::from(
                row.start >= origin && measured.within(from, from + 1) > 0,
            )),
            length => measured.within(from, to) as f64 / length as f64,
        };
        if share > 0.0 {
            held.disturbances += 1;
            cpu_ns = cpu_ns
                .zip(row.cpu_ns)
                .map(|(sum, ns)| sum + share * ns as f64);
        }
    }
    held.cpu_ns = cpu_ns.map(|ns| ns.round() as u64);
    held.stay_over_cpu = held
        .stay_ns
        .zip(held.cpu_ns)
        .and_then(|(stay, cpu)| ratio(stay as f64, cpu as f64));
    held.within_over_disturbed = ratio(held.booked_within_ns as f64, held.disturbed_ns as f64);
}

fn together(
    logs: usize,
    traced: bool,
    counts: &Counts,
    books: &Books,
    context: &Context,
) -> Together {
    let with_events = traced.then_some(counts.in_logs + counts.in_events);
    let (named, in_logs) = books.named();
    Together {
        logs,
        quanta_with_gaps: counts.with_gaps,
        in_logs: counts.in_logs,
        precision: ratio(counts.in_logs as f64, counts.with_gaps as f64),
        in_logs_or_events: with_events,
        precision_with_events: with_events
            .and_then(|right| ratio(right as f64, counts.with_gaps as f64)),
        gaps_named: traced.then_some(named),
        precision_of_names: (traced.then(|| ratio(in_logs as f64, named as f64))).flatten(),
        gaps_outside: books.outside(context),
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn whole_ns(ticks: u64, context: &Context) -> u64 {
    context.ns(ticks as f64).round() as u64
}
