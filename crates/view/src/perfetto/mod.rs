//! A recording as a trace that Perfetto opens (ui.perfetto.dev, trace_processor): gaps by name, kernel events, pace.
//!
//! It is written while the recording is read, and memory does not grow with its length. Zero is the start of the first quantum, as in the
//! report, and a nanosecond what the recording's clock says. `docs/export.md` has what is in it.

mod events;
mod pace;
mod trace;
mod wire;

#[cfg(test)]
mod tests;

use crate::Error;
use bandscope_analysis::named;
use bandscope_recording::manifest::{Events, EventsState, Manifest};
use bandscope_recording::{EventStream, Series, Source};
use std::io::Write;
use trace::{Name, Trace, Track, Value};

/// The version of what is in such a trace.
const FORMAT: &str = "bandscope.perfetto/1";

/// From ticks to the trace's time.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// First and last tick of the recording.
    origin: u64,
    end: u64,
    ticks_per_ns: f64,
}

impl Frame {
    /// Nanoseconds since the origin, rounded; a clock of nanoseconds keeps all its digits.
    fn ns(&self, tick: u64) -> u64 {
        let ticks = tick.saturating_sub(self.origin);
        if self.ticks_per_ns == 1.0 {
            ticks
        } else {
            (ticks as f64 / self.ticks_per_ns).round() as u64
        }
    }
}

/// Writes some series of `source`, and the kernel events of their CPUs.
///
/// # Errors
/// If the recording cannot be read, or the output not be written.
///
/// # Panics
/// If `source` has no series of one of these indices.
pub fn write(source: &dyn Source, series: &[usize], out: &mut dyn Write) -> Result<(), Error> {
    write_points(source, series, pace::MOST_POINTS, out)
}

fn write_points(
    source: &dyn Source,
    series: &[usize],
    most_points: u64,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let manifest = source.manifest();
    let (frame, quanta) = survey(source)?;
    let mut trace = Trace::new(out, unix_ns(manifest, &frame));
    let about = trace.slices(None, "bandscope", "What this trace was made of");
    about_recording(manifest, &frame, about, &mut trace);
    let mut written = Vec::new();
    for &index in series {
        let one = &source.series()[index];
        write_series(
            source,
            index,
            quanta[index],
            most_points,
            (&frame, about),
            &mut trace,
        )?;
        // Series of one CPU in one recording share its events; of two recordings each has its own.
        let place = (one.cpu, &one.origin);
        if !written.contains(&place) {
            written.push(place);
            let known = source.events_known(index);
            let of = (cpu(one), recording(one), one.cpu);
            let stream = || source.events(index);
            write_events(known, of, stream, (&frame, about), &mut trace)?;
        }
    }
    let is_measured = |cpu: &u32| source.series().iter().any(|one| one.cpu == Some(*cpu));
    for cpu in source
        .cpus_with_events()
        .into_iter()
        .filter(|cpu| !is_measured(cpu))
    {
        let known = &source.manifest().events;
        let of = (format!("CPU {cpu} (not measured)"), "", Some(cpu));
        let stream = || source.events_of(cpu);
        write_events(known, of, stream, (&frame, about), &mut trace)?;
    }
    Ok(trace.finish()?)
}

/// Where the recording begins and ends, and the quanta of each series.
fn survey(source: &dyn Source) -> Result<(Frame, Vec<u64>), Error> {
    let (mut origin, mut end) = (u64::MAX, 0);
    let mut quanta = vec![0; source.series().len()];
    for (index, number) in quanta.iter_mut().enumerate() {
        source.replay_quanta(index, &mut |chunk| {
            *number += chunk.len() as u64;
            origin = origin.min(chunk.start[0]);
            end = end.max(chunk.end[chunk.len() - 1]);
        })?;
    }
    let ticks_per_ns = source.manifest().clock.ticks_per_ns;
    let frame = Frame {
        origin: origin.min(end),
        end,
        ticks_per_ns: if ticks_per_ns > 0.0 {
            ticks_per_ns
        } else {
            1.0
        },
    };
    Ok((frame, quanta))
}

/// Time since 1970 of the trace's zero.
fn unix_ns(manifest: &Manifest, frame: &Frame) -> Option<u64> {
    let origin = u64::try_from(manifest.clock.origin_unix_ns).ok()?;
    let later = (frame.origin as f64 / frame.ticks_per_ns) as u64;
    (origin > 0).then(|| origin.saturating_add(later))
}

fn about_recording(manifest: &Manifest, frame: &Frame, track: Track, trace: &mut Trace<'_>) {
    let clock = &manifest.clock;
    let mut arguments = vec![
        (Name::Format, Value::Text(FORMAT)),
        (Name::Tool, Value::Text(&manifest.tool)),
        (Name::Run, Value::Text(&manifest.run)),
        (Name::Machine, Value::Text(&manifest.settings.machine)),
        (Name::Clock, Value::Text(&clock.name)),
        (Name::TicksPerNs, Value::Double(clock.ticks_per_ns)),
        (Name::OriginTicks, Value::Uint(frame.origin)),
    ];
    if let Some(error) = clock.error_ppm {
        arguments.push((Name::ClockError, Value::Double(error)));
    }
    trace.instant(track, 0, "recording", &arguments);
}

/// As in `CPU 1 mulss80 10000 Hz evening.bandscope`.
fn name(series: &Series) -> String {
    let Series {
        rate_hz, kernel, ..
    } = series;
    format!(
        "{} {kernel} {rate_hz} Hz {}",
        cpu(series),
        recording(series)
    )
}

fn cpu(series: &Series) -> String {
    series
        .cpu
        .map_or("CPU unknown".to_owned(), |cpu| format!("CPU {cpu}"))
}

/// The last part of the path that it was read from.
fn recording(series: &Series) -> &str {
    let path = series.origin.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

fn write_series(
    source: &dyn Source,
    index: usize,
    quanta: u64,
    most_points: u64,
    (frame, about): (&Frame, Track),
    trace: &mut Trace<'_>,
) -> Result<(), Error> {
    let series = &source.series()[index];
    let (name, block) = (name(series), pace::block(quanta, most_points));
    let machine = source.manifest().machine.cpu_model.as_deref();
    let group = trace.process(&name, machine.unwrap_or_default());
    let measured = trace.slices(
        Some(group),
        "measured",
        "When this series was measured; between, another rate or work kernel had its turn",
    );
    let counter = trace.counter(
        group,
        "pace",
        "ns/unit",
        "Time per unit of work away from gaps, at the start of each quantum; where there are too many, the fastest and the slowest of several",
    );
    let mut gaps = 0;
    if series.gaps_known {
        let track = trace.slices(
            Some(group),
            "gaps",
            "Units of work during which the CPU was away, by what took most of the time",
        );
        named::each(source, index, &mut |gap| {
            gaps += 1;
            write_gap(gap, track, frame, trace);
        })?;
    }
    pace::Pace::new(frame, trace, counter, measured, block).write(source, index)?;
    let mut arguments = pace::arguments(quanta, block).to_vec();
    arguments.push((Name::Recording, Value::Text(&series.origin)));
    if series.gaps_known {
        arguments.push((Name::Gaps, Value::Uint(gaps)));
    }
    trace.instant(about, 0, &name, &arguments);
    Ok(())
}

fn write_gap(gap: &named::NamedGap<'_>, track: Track, frame: &Frame, trace: &mut Trace<'_>) {
    let shares: Vec<(String, u64)> = gap
        .shares
        .iter()
        .map(|(cause, ticks)| {
            let ns = *ticks as f64 / frame.ticks_per_ns;
            (cause.to_string(), ns.round() as u64)
        })
        .collect();
    let cause = gap.cause().to_string();
    let mut arguments = vec![
        (Name::Cause, Value::Text(&cause)),
        (Name::Certainty, Value::Text(gap.certainty.name())),
        (Name::Shares, Value::Numbers(&shares)),
    ];
    if let Some(pid) = gap.task {
        arguments.push((Name::Pid, Value::Uint(pid.into())));
    }
    if let Some(preempted) = gap.gap.preempted {
        arguments.push((Name::Preempted, Value::Bool(preempted)));
    }
    let (start, end) = (
        gap.gap.start,
        gap.gap.start.saturating_add(gap.gap.duration),
    );
    trace.begin(track, frame.ns(start), &cause, &arguments);
    trace.end(track, frame.ns(end));
}

/// The kernel events of a CPU, and where some were lost.
fn write_events<'s>(
    known: &Events,
    (cpu, recording, number): (String, &str, Option<u32>),
    stream: impl FnOnce() -> Result<Box<dyn EventStream + 's>, bandscope_recording::Error>,
    (frame, about): (&Frame, Track),
    trace: &mut Trace<'_>,
) -> Result<(), Error> {
    if known.state != EventsState::On {
        return Ok(());
    }
    let name = format!("{cpu} kernel events {recording}");
    let name = name.trim_end();
    let group = trace.process(name, "");
    let track = trace.slices(
        Some(group),
        "kernel events",
        "What the operating system said that it did; where one lies within another, the innermost ran",
    );
    let mut stream = stream()?;
    let before = events::write(&mut *stream, track, frame, trace)?;
    let of_cpu = number.filter(|cpu| known.lost.iter().any(|lost| lost.cpu == *cpu));
    if let Some(cpu) = of_cpu {
        let track = trace.slices(Some(group), "events lost", "Here, silence says nothing");
        events::lost(&known.lost, cpu, track, frame, trace);
    }
    let error = known.time_error_ticks.unwrap_or(0.0) / frame.ticks_per_ns;
    trace.instant(
        about,
        0,
        name,
        &[
            (Name::Events, Value::Text(&known.clock)),
            (Name::EventsBefore, Value::Uint(before)),
            (Name::TimeError, Value::Double(error)),
        ],
    );
    Ok(())
}
