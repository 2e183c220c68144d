//! Gaps as one Parquet file for SQL: a row for each cause of each gap, with what the ledger books for it (docs/export.md).
//!
//! Takes the gaps from the recording, their names from `analysis`, and the ledger's lines from the report. A gap's duration holds a unit of work,
//! which is not lost: so each line of the ledger is shared out over its rows, in proportion to their time less that unit.

use crate::Error;
use bandscope_analysis::named::{self, NamedGap};
use bandscope_recording::csv::nanoseconds;
use bandscope_recording::gap_table::{GapPart, GapTable};
use bandscope_recording::manifest::Clock;
use bandscope_recording::{Series, Source};
use bandscope_report::{self as report, Cause, Ledger, Report};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// What a row weighs at least, in nanoseconds: a line all of whose gaps were shorter than a unit has rows of equal weight.
const MIN_WEIGHT_NS: f64 = 1e-6;

/// Writes the gaps of some series of `source`, one series after the other; `report` is that of all of them. `lost_ns` by cause adds up to the
/// ledger's `gaps_ns`, but for two: what the details of gaps do not account for is in `unnamed` of the ledger and may have no row; stops that the
/// ledger infers from sums stay with `preempted`.
///
/// # Errors
/// If the recording cannot be read, or the output not be written.
///
/// # Panics
/// If `source` has no series of one of these indices.
pub fn write(
    source: &dyn Source,
    series: &[usize],
    report: &Report,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut table = GapTable::new(out)?;
    for &index in series {
        let Some(reported) = report.series.get(index) else {
            continue;
        };
        let mut lines = Lines::new(source, index, reported)?;
        let about = about(index, &source.series()[index]);
        let (mut number, mut result) = (0, Ok(()));
        named::each(source, index, &mut |gap| {
            for part in parts(source, gap, &about, number, &mut lines) {
                if result.is_ok() {
                    result = table.push(part);
                }
            }
            number += 1;
        })?;
        result?;
    }
    Ok(table.finish()?)
}

/// What all rows of a series have in common.
fn about(index: usize, series: &Series) -> GapPart {
    GapPart {
        series: index as u32,
        cpu: series.cpu,
        rate_hz: series.rate_hz,
        kernel: series.kernel.as_str().into(),
        ..GapPart::default()
    }
}

/// The rows of a gap.
fn parts(
    source: &dyn Source,
    gap: &NamedGap<'_>,
    about: &GapPart,
    number: u64,
    lines: &mut Lines<'_>,
) -> Vec<GapPart> {
    let clock = &source.manifest().clock;
    let known = |text: &Arc<str>| Some(text.clone()).filter(|text| !text.is_empty());
    let times = times(clock, gap);
    let duration_ns = times.iter().sum();
    let rows = gap.shares.iter().zip(times).enumerate();
    rows.map(|(place, ((cause, _), cause_ns))| {
        let (sender, waited) = gap.sender_of(cause).unzip();
        let by = sender.and_then(|one| Some((known(&one.name)?, one.cpu)));
        GapPart {
            segment: gap.gap.segment,
            gap: number,
            part: place as u32,
            start_ns: nanoseconds(clock, gap.gap.start),
            duration_ns,
            cause_ns,
            lost_ns: lines.share(cause, place, cause_ns),
            cause: lines.line(cause).to_string(),
            kind: cause.kind(),
            name: Some(cause.name().to_owned()).filter(|name| !name.is_empty()),
            certainty: gap.certainty_of(cause).name(),
            pid: gap.task_of(cause),
            preempted: gap.gap.preempted,
            waited_ns: (waited.filter(|_| by.is_some())).map(|ticks| nanoseconds(clock, ticks)),
            sender: by,
            function: sender.and_then(|one| known(&one.function)),
            sender_function: sender.and_then(|one| known(&one.caller)),
            set_by: sender.and_then(|one| known(&one.set_by)),
            ..about.clone()
        }
    })
    .collect()
}

/// Nanoseconds of each share of a gap: both ends rounded, so that they add up to the gap.
fn times(clock: &Clock, gap: &NamedGap<'_>) -> Vec<u64> {
    let (mut at, mut times) = (gap.gap.start, Vec::new());
    for (_, ticks) in gap.shares {
        let end = at.saturating_add(*ticks);
        times.push(nanoseconds(clock, end) - nanoseconds(clock, at));
        at = end;
    }
    times
}

/// The lines of a ledger, and how much of each is shared out.
struct Lines<'a> {
    ledger: &'a Ledger,
    /// A unit of work, in nanoseconds.
    unit_ns: f64,
    shared: HashMap<Cause, Shared>,
}

/// A line: what there is of it, the weight of all its rows and of those so far, and what they got.
#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    total_ns: f64,
    weight: f64,
    so_far: f64,
    given_ns: u64,
}

impl<'a> Lines<'a> {
    /// Weighs all rows of series `index`.
    fn new(
        source: &dyn Source,
        index: usize,
        reported: &'a report::Series,
    ) -> Result<Lines<'a>, Error> {
        let gaps = reported.gaps.as_ref();
        let lost_ns = gaps.map_or(0, |gaps| gaps.lost_ns);
        let present_ns = reported.ledger.wall_ns.saturating_sub(lost_ns);
        let mut lines = Lines {
            ledger: &reported.ledger,
            unit_ns: present_ns as f64 / reported.units.max(1) as f64,
            shared: HashMap::new(),
        };
        let clock = &source.manifest().clock;
        named::each(source, index, &mut |gap| {
            let times = times(clock, gap);
            for (place, ((cause, _), ns)) in gap.shares.iter().zip(times).enumerate() {
                let weight = lines.weight(place, ns);
                let line = lines.line(cause);
                lines.shared.entry(line).or_default().weight += weight;
            }
        })?;
        let all_have_rows = gaps.is_none_or(|gaps| gaps.detailed >= gaps.number);
        let booked_ns = |line: &Cause| reported.ledger.gaps_ns.get(line).copied().unwrap_or(0);
        // The ledger does not say which of the preemptions were stops: their rows have the time of both.
        let stops_ns = match lines.shared.contains_key(&Cause::Stopped) {
            true => 0,
            false => booked_ns(&Cause::Stopped),
        };
        for (line, shared) in &mut lines.shared {
            let booked_ns = booked_ns(line) as f64;
            shared.total_ns = match line {
                // The rest is of gaps without a row.
                Cause::Unnamed if !all_have_rows => booked_ns.min(shared.weight.round()),
                Cause::Preempted => booked_ns + stops_ns as f64,
                _ => booked_ns,
            };
        }
        Ok(lines)
    }

    /// The line that a cause is booked to: tasks beyond the costliest share one.
    fn line(&self, cause: &Cause) -> Cause {
        let has = |cause: &Cause| self.ledger.gaps_ns.contains_key(cause);
        match cause {
            Cause::Task(_) if !has(cause) && has(&Cause::OtherTasks) => Cause::OtherTasks,
            _ => cause.clone(),
        }
    }

    /// The first part of a gap holds its unit of work.
    fn weight(&self, place: usize, cause_ns: u64) -> f64 {
        let unit_ns = if place == 0 { self.unit_ns } else { 0.0 };
        (cause_ns as f64 - unit_ns).max(MIN_WEIGHT_NS)
    }

    /// What the next row of a cause gets of its line: rounded sums of all rows so far, so that all of them get all of it.
    fn share(&mut self, cause: &Cause, place: usize, cause_ns: u64) -> u64 {
        let weight = self.weight(place, cause_ns);
        let line = self.line(cause);
        let Some(shared) = self.shared.get_mut(&line) else {
            return 0;
        };
        shared.so_far += weight;
        let until_ns = (shared.so_far / shared.weight * shared.total_ns).round() as u64;
        let before_ns = std::mem::replace(&mut shared.given_ns, until_ns);
        until_ns.saturating_sub(before_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::source::InMemory;
    use bandscope_recording::{EventKind, Gap, KernelEvent, Manifest, Sender};

    #[test]
    fn tasks_that_have_no_line_share_one() {
        let mut ledger = Ledger::default();
        for (cause, ns) in [(Cause::Task("costly".into()), 100), (Cause::OtherTasks, 11)] {
            ledger.gaps_ns.insert(cause, ns);
        }
        let mut lines = Lines {
            ledger: &ledger,
            unit_ns: 10.0,
            shared: HashMap::new(),
        };
        let [costly, cheap, cheaper] =
            ["costly", "cheap", "cheaper"].map(|name| Cause::Task(name.into()));
        assert_eq!(lines.line(&costly), costly);
        assert_eq!(lines.line(&cheap), Cause::OtherTasks);
        let shared = Shared {
            total_ns: 11.0,
            weight: lines.weight(0, 18) + lines.weight(1, 4),
            ..Shared::default()
        };
        lines.shared.insert(Cause::OtherTasks, shared);
        // 8 of 12 and 4 of 12, whole numbers that add up.
        assert_eq!(lines.share(&cheap, 0, 18), 7);
        assert_eq!(lines.share(&cheaper, 1, 4), 4);
    }

    fn series() -> Series {
        Series {
            cpu: Some(1),
            rate_hz: 1e4,
            kernel: "imul20".into(),
            gaps_known: true,
            ends_known: true,
            origin: String::new(),
        }
    }

    #[test]
    fn preemptions_that_were_stops_keep_their_time() {
        let gap = |start| Gap {
            start,
            duration: 100,
            preempted: Some(true),
            ..Gap::default()
        };
        let mut source = InMemory {
            gaps: vec![vec![gap(0), gap(1_000)]],
            ..InMemory::default()
        };
        source.manifest.clock.ticks_per_ns = 1.0;
        source.series = vec![series()];
        let mut reported = report::Series::default();
        for (cause, ns) in [(Cause::Preempted, 70), (Cause::Stopped, 120)] {
            reported.ledger.gaps_ns.insert(cause, ns);
        }
        let mut lines = Lines::new(&source, 0, &reported).unwrap();
        let lost_ns = [0, 1].map(|_| lines.share(&Cause::Preempted, 0, 100));
        assert_eq!(lost_ns, [95, 95]);
    }

    #[test]
    fn a_row_says_who_is_behind_it() {
        let mut manifest = Manifest::default();
        manifest.clock.ticks_per_ns = 2.0;
        let gap = Gap {
            start: 2_000,
            duration: 1_001,
            segment: 3,
            preempted: Some(true),
            ..Gap::default()
        };
        let sender = Sender {
            name: "irq:nvme0q1".into(),
            cpu: 1,
            function: "flush".into(),
            caller: "nvme_irq".into(),
            set_by: "idle".into(),
        };
        let event = |start, duration, kind, name: &str, sender| KernelEvent {
            start,
            duration,
            kind,
            number: 7,
            name: name.into(),
            sender,
            waited: 60,
        };
        let source = InMemory {
            manifest,
            series: vec![series()],
            gaps: vec![vec![gap]],
            events: vec![vec![
                event(2_000, 200, EventKind::Vector, "local_timer", None),
                event(2_200, 801, EventKind::Task, "writer", Some(sender.into())),
            ]],
            ..InMemory::default()
        };
        let ledger = Ledger::default();
        let mut lines = Lines {
            ledger: &ledger,
            unit_ns: 10.0,
            shared: HashMap::new(),
        };
        let (about, mut rows) = (about(0, &source.series[0]), Vec::new());
        named::each(&source, 0, &mut |gap| {
            rows = parts(&source, gap, &about, 5, &mut lines);
        })
        .unwrap();
        let [tick, writer] = &rows[..] else {
            panic!("{rows:?}")
        };
        assert_eq!((tick.kind, &tick.name, tick.pid), ("tick", &None, None));
        assert_eq!((&tick.sender, tick.waited_ns), (&None, None));
        assert_eq!((writer.gap, writer.part, writer.cpu), (5, 1, Some(1)));
        assert_eq!((&*writer.cause, writer.pid), ("task:writer", Some(7)));
        assert_eq!(writer.sender, Some(("irq:nvme0q1".into(), 1)));
        assert_eq!(writer.function.as_deref(), Some("flush"));
        assert_eq!(writer.sender_function.as_deref(), Some("nvme_irq"));
        assert_eq!(writer.set_by.as_deref(), Some("idle"));
        assert_eq!((writer.start_ns, writer.waited_ns), (1_000, Some(30)));
        assert_eq!((tick.duration_ns, tick.cause_ns), (501, 100));
        assert_eq!(tick.cause_ns + writer.cause_ns, writer.duration_ns);
    }
}
