//! The quanta and gaps themselves, for an output in which a reader goes from the whole run down to one quantum.
//!
//! Asked for after the analysis, because it needs memory that grows with what is asked for: [`collect`] replays the source once more and
//! keeps all quanta where they are few enough, else those around the places that the analysis points to and an even sample of the run.
//! Only `view`'s page for the browser uses it; whatever else is drawn comes from the [`Pyramid`](crate::Pyramid).

#[cfg(test)]
mod tests;

use super::Analysis;
use crate::gaps::naming::Namer;
use crate::ledger::stops;
use crate::series::context::Context;
use crate::series::derive::{MAX_QUANTA_OF_ONE_UNIT, MAX_QUANTA_OF_UNITS, MIN_PRESENT};
use bandscope_recording::Error;
use bandscope_recording::{Chunk, Gap, GapKind, Manifest, Source};
use bandscope_report::{Cause, Series};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Gaps of a series that are kept, the longest: at 12 bytes each, a page of a busy hour stays below a megabyte of them.
pub const GAPS: usize = 65_536;
/// Stretches that are spread evenly over a run that is too long to be kept whole.
const EVEN: usize = 64;
/// Places of one sort that are kept: the longest gaps, the edges.
const PLACES: usize = 16;

/// Some quanta that follow each other without a break.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// First tick, since the start of the recording.
    pub start: u64,
    /// Number of quanta.
    pub quanta: usize,
}

/// One gap, or the gap's unit of work to be exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Ticks since the start of the recording.
    pub start: u64,
    /// Its length, ticks.
    pub duration: u64,
    /// What took most of it: an index into [`Detail::causes`].
    pub cause: u32,
}

/// Quanta and gaps of one series. The columns are those of [`bandscope_recording::Quanta`], of equal length, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the columns are the fields of `Quantum`")]
pub struct Detail {
    /// Ticks per nanosecond.
    pub ticks_per_ns: f64,
    /// Nominal length of a quantum in ticks.
    pub quantum_ticks: f64,
    /// Whether gaps were recorded; a file of counts has none.
    pub gaps_known: bool,
    /// Where the quanta lie; their numbers add up to the length of the columns.
    pub stretches: Vec<Stretch>,
    /// End less start.
    pub length: Vec<u64>,
    pub count: Vec<u32>,
    pub gaps: Vec<u32>,
    pub gap_ticks: Vec<u64>,
    pub measurement_ticks: Vec<u64>,
    /// Whether these are all quanta of the series.
    pub complete: bool,
    /// Gaps in order of time.
    pub marks: Vec<Mark>,
    /// What gaps were.
    pub causes: Vec<Cause>,
    /// Whether these are all gaps whose details were recorded; otherwise the longest [`GAPS`].
    pub all_marks: bool,
}

impl Detail {
    /// Pace of the quantum of an index, in ns per unit; `None` where the analysis gives it none either (`series/derive.rs`), but for what it gives back of reading ahead.
    /// The page repeats it (`readQuanta` of `model.js`).
    pub fn pace(&self, k: usize) -> Option<f64> {
        let (length, gap_ticks) = (self.length[k] as f64, self.gap_ticks[k]);
        let present = (length - gap_ticks as f64 - self.measurement_ticks[k] as f64).max(0.0);
        let units = self.count[k].saturating_sub(self.gaps[k]);
        let few = gap_ticks > 0 && present < MIN_PRESENT * self.quantum_ticks;
        let most = match units > 1 {
            true => MAX_QUANTA_OF_UNITS,
            false => MAX_QUANTA_OF_ONE_UNIT,
        };
        let long = !self.gaps_known && length > most * self.quantum_ticks;
        let has_pace = units > 0 && !few && !long;
        has_pace.then(|| present / f64::from(units) / self.ticks_per_ns)
    }
}

/// Quanta and gaps of each series that `analysis` was made of, at most `most` quanta altogether.
///
/// # Errors
/// If the recording cannot be read or is damaged.
pub fn collect(
    source: &dyn Source,
    analysis: &Analysis,
    most: usize,
) -> Result<Vec<Detail>, Error> {
    let all: u64 = analysis.report.series.iter().map(|s| s.quanta).sum();
    let budget = most / source.series().len().max(1);
    let mut details = Vec::new();
    for (index, series) in source.series().iter().enumerate() {
        let context = Context::new(source.manifest(), series);
        let ranges = (all > most as u64).then(|| places(analysis, index, budget, &context));
        let mut kept = Kept::new(&context, analysis.origin, ranges);
        source.replay_quanta(index, &mut |chunk| kept.push(&chunk))?;
        let mut detail = kept.detail;
        if series.gaps_known {
            marks(source, index, analysis.origin, &mut detail)?;
            let series = (analysis.report.series.as_slice(), index);
            name_stops(series, source.manifest(), &mut detail, &context);
        }
        details.push(detail);
    }
    Ok(details)
}

/// Ranges of time, in ticks since the start of what was analysed and in order, that hold some `budget` quanta: around what the analysis
/// points to, and evenly spread.
fn places(analysis: &Analysis, index: usize, budget: usize, context: &Context) -> Vec<(u64, u64)> {
    let (Some(series), Some(pyramid)) = (
        analysis.report.series.get(index),
        analysis.pyramids.get(index),
    ) else {
        return Vec::new();
    };
    // Pictures of a window have the times of the whole recording.
    let (start_s, end_s) = pyramid.time_s;
    let mut at_s = vec![0.0];
    let mut longest: Vec<_> = pyramid.gaps.iter().collect();
    longest.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    let longest = longest.iter().take(PLACES);
    at_s.extend(longest.map(|gap| gap.at_s - start_s));
    at_s.extend(series.availability.iter().map(|window| window.at_s));
    let step = pyramid.edges.len().div_ceil(PLACES).max(1);
    let edges = pyramid.edges.iter().step_by(step);
    at_s.extend(edges.map(|edge| edge.at_s - start_s));
    let whole_s = end_s - start_s;
    at_s.extend((0..EVEN).map(|k| whole_s * (k as f64 + 0.5) / EVEN as f64));
    let half_s = (budget / at_s.len()) as f64 / context.rate_hz / 2.0;
    let mut ranges: Vec<(u64, u64)> = at_s
        .into_iter()
        .filter(|at_s| at_s.is_finite())
        .map(|at_s| {
            let ticks = |s: f64| context.ticks(s.max(0.0)) as u64;
            (ticks(at_s - half_s), ticks(at_s + half_s))
        })
        .collect();
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| range.0 <= last.1) {
            Some(last) => last.1 = last.1.max(range.1),
            None => joined.push(range),
        }
    }
    joined
}

/// Quanta as they are kept.
struct Kept {
    detail: Detail,
    origin: u64,
    /// What is kept of the run; all of it without.
    ranges: Option<Vec<(u64, u64)>>,
    /// Where the quantum that was kept last ended, and its segment.
    last: Option<(u64, u32)>,
}

impl Kept {
    fn new(context: &Context, origin: u64, ranges: Option<Vec<(u64, u64)>>) -> Kept {
        Kept {
            detail: Detail {
                ticks_per_ns: context.ticks_per_ns,
                quantum_ticks: context.quantum_ticks,
                gaps_known: context.gaps_known,
                complete: ranges.is_none(),
                all_marks: true,
                ..Detail::default()
            },
            origin,
            ranges,
            last: None,
        }
    }

    fn wants(&self, start: u64) -> bool {
        let Some(ranges) = &self.ranges else {
            return true;
        };
        let after = ranges.partition_point(|range| range.0 <= start);
        after > 0 && start < ranges[after - 1].1
    }

    fn push(&mut self, chunk: &Chunk<'_>) {
        for k in 0..chunk.len() {
            let start = chunk.start[k].saturating_sub(self.origin);
            if !self.wants(start) {
                continue;
            }
            let end = chunk.end[k].saturating_sub(self.origin);
            let detail = &mut self.detail;
            match detail.stretches.last_mut() {
                Some(stretch) if self.last == Some((start, chunk.segment)) => stretch.quanta += 1,
                _ => detail.stretches.push(Stretch { start, quanta: 1 }),
            }
            self.last = Some((end, chunk.segment));
            detail.length.push(end.saturating_sub(start));
            detail.count.push(chunk.count[k]);
            detail.gaps.push(chunk.gaps[k]);
            detail.gap_ticks.push(chunk.gap_ticks[k]);
            detail.measurement_ticks.push(chunk.measurement_ticks[k]);
        }
    }
}

/// Adds the gaps of series `index`, with the cause that took most of each.
fn marks(source: &dyn Source, index: usize, origin: u64, detail: &mut Detail) -> Result<(), Error> {
    let mut namer = Namer::new(source, index)?;
    let mut longest: BinaryHeap<Reverse<(u64, u64, u32)>> = BinaryHeap::new();
    let mut failed = None;
    let mut all = true;
    source.replay_gaps(index, &mut |gaps: &[Gap]| {
        for gap in gaps.iter().filter(|gap| gap.kind == GapKind::Gap) {
            let shares = match namer.split(gap) {
                Ok(shares) => shares,
                Err(error) => {
                    failed.get_or_insert(error);
                    return;
                }
            };
            let cause = shares.iter().max_by_key(|share| share.ticks);
            let cause = cause.map_or(0, |share| share.key);
            let start = gap.start.saturating_sub(origin);
            longest.push(Reverse((gap.duration, start, cause)));
            if longest.len() > GAPS {
                longest.pop();
                all = false;
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    detail.all_marks = all;
    detail.causes = namer.names().to_vec();
    let mark = |Reverse((duration, start, cause))| Mark {
        start,
        duration,
        cause,
    };
    detail.marks = longest.into_iter().map(mark).collect();
    detail.marks.sort_by_key(|mark| mark.start);
    Ok(())
}

/// Preemptions are what the ledger books them to.
fn name_stops(
    series: (&[Series], usize),
    manifest: &Manifest,
    detail: &mut Detail,
    context: &Context,
) {
    let Detail { marks, causes, .. } = detail;
    let may_be_stops = marks.iter_mut().filter_map(|mark| {
        let cause = causes.get(mark.cause as usize)?;
        matches!(cause, Cause::Preempted | Cause::Stopped).then(|| (mark, cause.clone()))
    });
    let mut named: Vec<(&mut Mark, Cause)> = may_be_stops.collect();
    let gaps = named.iter_mut().map(|(mark, cause)| {
        let at_s = context.seconds(mark.start as f64);
        (at_s, context.ns(mark.duration as f64), cause)
    });
    stops::name(series, manifest, gaps);
    named.retain(|(_, cause)| *cause == Cause::Stopped);
    let known = causes.iter().position(|cause| *cause == Cause::Stopped);
    let stopped = known.unwrap_or(causes.len());
    if known.is_none() && !named.is_empty() {
        causes.push(Cause::Stopped);
    }
    for (mark, _) in named {
        mark.cause = stopped as u32;
    }
}
