//! A recording's report as a summary of its node.

use super::{facts, worst};
use crate::blocks::{self, Block, Blocks};
use bandscope_recording::manifest::ClockOrigin;
use bandscope_recording::summary::{
    CpuSummary, GapBin, LongGap, LossSummary, SCHEMA, Summary, SummaryClock,
};
use bandscope_recording::{Error, Manifest, Source};
use bandscope_report::account::{Loss, loss_of, losses};
use bandscope_report::{Report, Series};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Causes of a loss that are kept by name; the rest is their loss's alone.
const MOST_CAUSES: usize = 32;
/// Longest gaps that are kept of each CPU: what hit several nodes at once is looked for among them. Of many CPUs fewer, for the summary's size.
const MOST_GAPS: usize = 32;
/// See [`MOST_GAPS`].
const LEAST_GAPS: usize = 4;
/// See [`MOST_GAPS`].
const GAPS_OF_NODE: usize = 512;

/// The summary of the recording in `source`, of which `report` is the report, whose times are since `origin`, in the recording's ticks; `tool` makes it.
///
/// # Errors
/// If the recording cannot be read.
pub fn summarise(
    source: &dyn Source,
    (report, origin): (&Report, u64),
    tool: &str,
) -> Result<Summary, Error> {
    let manifest = source.manifest();
    let mut cpus: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
    for (index, series) in report.series.iter().enumerate() {
        cpus.entry(series.cpu).or_default().push(index);
    }
    let cpus: Vec<_> = cpus.into_iter().collect();
    let most_gaps = (GAPS_OF_NODE / cpus.len().max(1)).clamp(LEAST_GAPS, MOST_GAPS);
    let cpus = cpus.par_iter();
    let cpus = cpus.map(|(cpu, places)| summary_of_cpu(source, report, (*cpu, places), most_gaps));
    let rank = manifest.rank.as_ref().or_else(|| source.rank(0));
    let host = manifest.machine.host.as_ref();
    let mut cpus = cpus.collect::<Result<Vec<_>, Error>>()?;
    worst::draw(source, (report, origin), &mut cpus)?;
    let node = rank.map(|rank| &rank.node).or(host);
    Ok(Summary {
        schema: SCHEMA.into(),
        tool: tool.into(),
        run: manifest.run.clone(),
        started: manifest.started.clone(),
        node: node.cloned().unwrap_or_else(|| report.inputs.concat()),
        boot_id: manifest.machine.boot_id.clone(),
        rank: rank.cloned(),
        clock: counter(manifest, origin),
        job_clock: None,
        facts: facts::of(manifest),
        cpus,
    })
}

/// The counter of a real machine, `origin` ticks after the recording's own 0.
fn counter(manifest: &Manifest, origin: u64) -> Option<SummaryClock> {
    let clock = &manifest.clock;
    let is_real = matches!(clock.origin, ClockOrigin::Calibrated | ClockOrigin::Given);
    is_real.then_some(SummaryClock {
        origin_ticks: clock.origin_ticks.saturating_add(origin),
        ticks_per_ns: clock.ticks_per_ns,
    })
}

fn summary_of_cpu(
    source: &dyn Source,
    report: &Report,
    (cpu, places): (Option<u32>, &[usize]),
    most_gaps: usize,
) -> Result<CpuSummary, Error> {
    let manifest = report.recording.as_ref();
    let series: Vec<&Series> = places.iter().map(|&place| &report.series[place]).collect();
    let wall_ns: f64 = series.iter().map(|one| one.ledger.wall_ns as f64).sum();
    let share = |ns: f64| match wall_ns > 0.0 {
        true => (ns / wall_ns).clamp(0.0, 1.0),
        false => 0.0,
    };
    let mut by_loss: BTreeMap<Loss, BTreeMap<String, f64>> = BTreeMap::new();
    for (loss, cause, ns) in series.iter().flat_map(|one| losses(&one.ledger, manifest)) {
        *by_loss.entry(loss).or_default().entry(cause).or_default() += ns as f64;
    }
    let mut errors = Errors::default();
    for (&place, one) in places.iter().zip(&series) {
        let weight = share(one.ledger.wall_ns as f64);
        errors.add(&Blocks::new(source, place, one)?, one, manifest, weight);
    }
    let total: f64 = by_loss.values().flat_map(BTreeMap::values).sum();
    let mut losses: Vec<LossSummary> = by_loss
        .into_iter()
        .map(|(loss, causes)| LossSummary {
            loss: loss.name().into(),
            share: share(causes.values().sum()),
            error: errors.of(Some(loss)),
            causes: kept(causes, &share),
        })
        .collect();
    losses.sort_by(|a, b| b.share.total_cmp(&a.share));
    Ok(CpuSummary {
        cpu,
        measured_s: series.iter().map(|one| one.duration_s).sum(),
        lost: share(total),
        lost_error: errors.of(None),
        losses,
        gaps: of_gaps(&series).map(|gaps| gaps.number).sum(),
        histogram: histogram(&series),
        worst: worst::windows(&series),
        longest: longest(&series, most_gaps),
    })
}

/// The largest causes, by share; one that has no name is its loss.
fn kept(causes: BTreeMap<String, f64>, share: &dyn Fn(f64) -> f64) -> Vec<(String, f64)> {
    let mut causes: Vec<(String, f64)> = causes
        .into_iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, ns)| (name, share(ns)))
        .collect();
    causes.sort_by(|a, b| b.1.total_cmp(&a.1));
    causes.truncate(MOST_CAUSES);
    causes
}

/// Squares of the standard errors of what a CPU lost, over all of its series; by loss, and of all of it.
#[derive(Default)]
struct Errors {
    squares: BTreeMap<Option<Loss>, f64>,
    /// Whether a series was too short to tell.
    is_unknown: bool,
}

impl Errors {
    /// Adds a series, which has `weight` of the time.
    fn add(&mut self, blocks: &Blocks, series: &Series, manifest: Option<&Manifest>, weight: f64) {
        let unit = series
            .best_pace
            .as_ref()
            .map_or(0.0, |best| best.ns_per_unit * blocks.ticks_per_ns);
        let lost = |block: &Block| 1.0 - block.units * unit / block.wall;
        let mut add = |of: Option<Loss>, values: &[f64]| match blocks::error(values) {
            Some((error, _)) => *self.squares.entry(of).or_default() += (weight * error).powi(2),
            None => self.is_unknown = true,
        };
        add(None, &blocks.each(|block| Some(lost(block))));
        add(
            Some(Loss::SlowerPace),
            &blocks.each(|block| Some(lost(block) - block.gap_loss / block.wall)),
        );
        for &loss in Loss::ALL {
            let of_block = |block: &Block| {
                let causes = block.causes.iter();
                let ticks = causes.filter(|(cause, _)| loss_of(cause, manifest) == loss);
                ticks.map(|(_, ticks)| ticks).sum::<f64>() / block.wall
            };
            if blocks.blocks.iter().any(|block| of_block(block) > 0.0) {
                add(Some(loss), &blocks.each(|block| Some(of_block(block))));
            }
        }
    }

    fn of(&self, loss: Option<Loss>) -> Option<f64> {
        let square = self.squares.get(&loss).filter(|_| !self.is_unknown)?;
        Some(square.sqrt().min(1.0))
    }
}

fn of_gaps<'a>(
    series: &'a [&Series],
) -> impl Iterator<Item = &'a bandscope_report::Gaps> + use<'a> {
    series.iter().filter_map(|one| one.gaps.as_ref())
}

fn histogram(series: &[&Series]) -> Vec<GapBin> {
    let mut bins: Vec<GapBin> = Vec::new();
    for bin in of_gaps(series).flat_map(|gaps| &gaps.histogram) {
        let place = bins.partition_point(|known| known.from_ns < bin.from_ns);
        if bins
            .get(place)
            .is_none_or(|known| known.from_ns > bin.from_ns)
        {
            let from_ns = bin.from_ns;
            bins.insert(
                place,
                GapBin {
                    from_ns,
                    ..GapBin::default()
                },
            );
        }
        bins[place].number += bin.number;
        bins[place].total_ns += bin.total_ns;
    }
    bins
}

fn longest(series: &[&Series], most: usize) -> Vec<LongGap> {
    let gaps = of_gaps(series).flat_map(|gaps| &gaps.longest);
    let mut longest: Vec<LongGap> = gaps
        .map(|gap| LongGap {
            at_s: gap.at_s,
            ns: gap.ns,
            cause: gap.cause.to_string(),
        })
        .collect();
    longest.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    longest.truncate(most);
    longest
}
