//! The whole analysis: two passes over each series, then what they say together. Where bands lie close the quanta are read once more
//! between the two ([`crate::pace::band_merge`]).
//!
//! The first pass runs over all series before the second begins, because pictures share one time axis.

use crate::cpus::{Across, Track};
use crate::findings::{self, Seen};
use crate::gaps::moments::{self, Moments};
use crate::gaps::naming::Namer;
use crate::gaps::statistics::Statistics;
use crate::ledger::stops;
use crate::pace::band_merge::BandMerge;
use crate::pace::best_pace::{Candidate, choose};
use crate::pace::{bands, split};
use crate::passes::survey::Survey;
use crate::passes::{First, Second, results, searches};
use crate::periods::origins::Residual;
use crate::periods::{counted, events, origins, rates, signals};
use crate::picture::Analysis;
use crate::picture::pyramid::Pyramid;
use crate::series::blocks::Blocks;
use crate::series::context::Context;
use crate::series::derive::Deriver;
use crate::series::detector::Detector;
use crate::series::levels::Levels;
use crate::summary::{caught, remedies, verdict, warnings};
use crate::truth;
use bandscope_recording::Error;
use bandscope_recording::disturbances::Log;
use bandscope_recording::{Chunk, Source, Window};
use bandscope_report::{self as report, Report};
use rayon::prelude::*;

/// Analyses every series of `source`; `inputs` is what the user named, for the report.
///
/// Memory does not depend on the number of quanta: some 5 MB at work in each thread, 12 bytes for each of up to 2^20 quanta while trains are looked for, and
/// 3 MB for the picture of each series.
///
/// # Errors
/// If the recording cannot be read or is damaged.
pub fn analyse(source: &dyn Source, inputs: &[String]) -> Result<Analysis, Error> {
    // On a thread of the pool: from outside every block of quanta would be handed over to it, and waited for.
    rayon::scope(|_| analyse_in_pool(source, inputs))
}

fn analyse_in_pool(source: &dyn Source, inputs: &[String]) -> Result<Analysis, Error> {
    let manifest = source.manifest();
    let contexts: Vec<Context> = source
        .series()
        .iter()
        .map(|series| Context::new(manifest, series))
        .collect();
    let surveys = each(&contexts, |index, context| {
        first_pass(source, index, context)
    })?;
    let surveys = referred(surveys, source.series());
    let extent = extent(&surveys);
    let results = each(&contexts, |index, context| {
        // Before the quanta, which the second pass joins with them.
        let mut gaps = gap_pass(source, index, context)?;
        let moments = gaps.moments.take();
        let survey = &surveys[index];
        let passed = second_pass(source, index, survey, extent, &gaps, context)?;
        let series = &source.series()[index];
        let is_alone = origins::is_alone(series, source.series());
        let how = (is_alone, extent.0);
        let mut concluded = conclude(series, survey, passed, &gaps, how, context);
        concluded.series.place = source.rank(index).map(report::Place::from);
        Ok((concluded, moments))
    })?;
    let (results, found): (Vec<Concluded>, Vec<Option<Moments>>) = results.into_iter().unzip();
    let mut analysis = assemble(source, inputs, &surveys, extent.0, results);
    analysis.report.moments = moments::all(source, found, extent.0, &contexts)?;
    if source.manifest().keeps_moments() {
        let (report, manifest) = (&mut analysis.report, source.manifest());
        report.verdict = caught::sentence(&report.moments, manifest);
        report.remedies = remedies::of_moments(&report.moments, manifest);
    }
    Ok(analysis)
}

/// What each series comes to, all CPUs at work: a thread takes whole series, so nothing depends on how many threads there are. The error of
/// the first series that has one.
fn each<T: Send>(
    contexts: &[Context],
    of: impl Fn(usize, &Context) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let results = contexts.par_iter().enumerate();
    let results: Vec<Result<T, Error>> =
        results.map(|(index, context)| of(index, context)).collect();
    results.into_iter().collect()
}

/// Analyses a stretch of a recording as if it were all of it. Times of the pyramids, from which pictures are drawn, are since the start of the
/// whole recording; those of the report since that of the window.
///
/// # Errors
/// As [`analyse`].
pub fn analyse_window(window: &Window<'_>, inputs: &[String]) -> Result<Analysis, Error> {
    let mut analysis = analyse(window, inputs)?;
    for pyramid in &mut analysis.pyramids {
        pyramid.shift(window.start_s());
    }
    Ok(analysis)
}

/// Analyses every series of `source`, and holds those of disturbed CPUs against the logs of the disturbances.
///
/// # Errors
/// If a log is not the truth of this recording ([`truth::check`]), or the recording cannot be read or is damaged.
pub fn analyse_against(
    source: &dyn Source,
    inputs: &[String],
    logs: &[Log],
) -> Result<Analysis, Error> {
    truth::check(source, logs)?;
    let mut analysis = analyse(source, inputs)?;
    analysis.report.truth = truth::hold(source, logs)?;
    Ok(analysis)
}

/// With one reference pace for all series of a CPU and work kernel of one recording.
fn referred(mut surveys: Vec<Survey>, series: &[bandscope_recording::Series]) -> Vec<Survey> {
    let key = |index: usize| {
        let one: &bandscope_recording::Series = &series[index];
        (one.cpu, &one.kernel, &one.origin)
    };
    for index in 0..surveys.len() {
        let same: Vec<usize> = (0..surveys.len())
            .filter(|&other| key(other) == key(index))
            .collect();
        if same[0] == index {
            let candidates: Vec<&Candidate> =
                same.iter().map(|&one| &surveys[one].candidate).collect();
            for (&one, best) in same.iter().zip(choose(&candidates).unwrap_or_default()) {
                surveys[one].best = Some(best).filter(|_| surveys[one].totals.units > 0);
                surveys[one].candidate = Candidate::default();
            }
        }
    }
    surveys
}

/// First and last tick of the recording.
fn extent(surveys: &[Survey]) -> (u64, u64) {
    let extents = || surveys.iter().filter_map(|survey| survey.totals.extent);
    (
        extents().map(|extent| extent.0).min().unwrap_or(0),
        extents().map(|extent| extent.1).max().unwrap_or(0),
    )
}

/// Shows a detector all quanta of a series; `levels` are the bands, where they are known.
pub fn replay(
    source: &dyn Source,
    index: usize,
    levels: Option<&Levels>,
    detector: &mut impl Detector,
    context: &Context,
) -> Result<(), Error> {
    let mut deriver = Deriver::new(context);
    let mut blocks = Blocks::default();
    let mut show = |chunk: Chunk<'_>| deriver.feed(chunk, levels, |derived| detector.push(derived));
    source.replay_quanta(index, &mut |chunk| blocks.feed(chunk, &mut show))?;
    blocks.finish(&mut show);
    Ok(())
}

fn first_pass(source: &dyn Source, index: usize, context: &Context) -> Result<Survey, Error> {
    let mut pass = First::new(context);
    replay(source, index, None, &mut pass, context)?;
    let mut modes = pass.modes(context);
    if let Some(mut merge) = BandMerge::new(&modes, context) {
        let levels = bands::levels(&modes);
        replay(source, index, Some(&levels), &mut merge, context)?;
        modes = merge.join(modes, &pass.paces, context);
    }
    Ok(Survey::new(pass, modes, context))
}

fn second_pass(
    source: &dyn Source,
    index: usize,
    survey: &Survey,
    extent: (u64, u64),
    gaps: &Statistics,
    context: &Context,
) -> Result<Second, Error> {
    let mut pass = Second::new(survey, extent, &gaps.events, context);
    replay(source, index, Some(&survey.levels), &mut pass, context)?;
    Ok(pass)
}

fn gap_pass(source: &dyn Source, index: usize, context: &Context) -> Result<Statistics, Error> {
    let cpu = source.series()[index].cpu;
    let mut statistics = Statistics::new(Moments::of(source.manifest(), cpu, context));
    if context.gaps_known {
        let mut namer = Namer::new(source, index)?;
        let mut failed = None;
        source.replay_gaps(index, &mut |gaps| {
            if failed.is_none() {
                failed = statistics.push(gaps, &mut namer, context).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        statistics.finish(&namer);
    }
    Ok(statistics)
}

/// What one series comes to.
struct Concluded {
    series: report::Series,
    pyramid: Pyramid,
    seen: Seen,
    residual: Residual,
    track: Track,
}

fn conclude(
    series: &bandscope_recording::Series,
    survey: &Survey,
    mut pass: Second,
    gaps: &Statistics,
    (is_alone, origin): (bool, u64),
    context: &Context,
) -> Concluded {
    let totals = &survey.totals;
    let best = survey.best.map_or(0.0, |best| best.ticks);
    let account = results::account(survey, &mut pass, gaps, context);
    let (total, spectrum) = pass.spectra.report(context);
    let mut kept = std::mem::take(&mut pass.kept);
    // Where a series is alone, other CPUs are idle.
    let (seen, (mut trains, rest)) = rayon::join(
        || results::seen(series, survey, &mut pass, gaps, origin, context),
        || counted::trains(&mut kept, is_alone, context),
    );
    // Of what is left where trains were taken out.
    let is_whole = context.gaps_known && (!is_alone || trains.is_empty());
    let spectrum = is_whole.then_some(spectrum);
    let (residual, folded, lines) = searches::look_into(&kept, spectrum, context);
    let mut signals = searches::all_signals(survey, folded, gaps, &residual, &account, context);
    signals::add_trains(&mut signals, &mut trains, is_alone || !context.gaps_known);
    let resolution = results::resolution_ns(survey, &seen, context);
    searches::follow(&mut signals, resolution, &kept, &lines, survey, context);
    let is_mostly_there = (account.lost_to_gaps() as f64) < events::MAX_UNSEEN * totals.wall as f64;
    let spectrum = (&residual, kept.seen());
    let losses = searches::losses(
        survey,
        spectrum,
        &rest,
        resolution,
        is_mostly_there,
        &signals,
        context,
    );
    let report = report::Series {
        availability: pass.windows.report(best, origin, context),
        best_pace: (survey.best).map(|best| pass.stretch.report(best, totals.quanta, context)),
        bands: results::bands(survey, &seen, context),
        signals,
        gaps: (context.gaps_known)
            .then(|| gaps.report(totals, account.lost_to_gaps(), origin, context)),
        tripwire: (pass.tripwire.take()).map(|tripwire| tripwire.finish(&totals.extents, context)),
        ledger: account.report(context),
        limits: report::Limits {
            band: survey.band_limit,
            losses,
        },
        ..results::about(series, survey, context)
    };
    let edges = pass.edges.kept();
    Concluded {
        track: Track::new(gaps, edges, &totals.extents, &report.bands, context),
        pyramid: Pyramid {
            gaps: gaps.marks(origin, context),
            edges: results::edge_marks(edges, origin, context),
            spectrum: total,
            ..pass.raster.finish(context)
        },
        series: report,
        seen,
        residual: Residual {
            trains,
            kept,
            lines,
            context: context.clone(),
        },
    }
}

/// What ended the run. The manifest is that of the first input, and the verdict is on all of them.
fn ended(source: &dyn Source) -> String {
    let mut origins = source.series().iter().map(|one| &one.origin);
    let first = origins.next();
    match origins.all(|one| Some(one) == first) {
        true => caught::ended(source.manifest()),
        false => String::new(),
    }
}

fn assemble(
    source: &dyn Source,
    inputs: &[String],
    surveys: &[Survey],
    origin: u64,
    results: Vec<Concluded>,
) -> Analysis {
    let manifest = source.manifest();
    let mut series = Vec::new();
    let mut pyramids = Vec::new();
    let mut seen = Vec::new();
    let mut residuals = Vec::new();
    let mut tracks = Vec::new();
    for result in results {
        series.push(result.series);
        pyramids.push(result.pyramid);
        seen.push(result.seen);
        residuals.push(result.residual);
        tracks.push(result.track);
    }
    for (seen, aliases) in seen
        .iter_mut()
        .zip(origins::settle(&mut series, &residuals))
    {
        seen.aliases = aliases;
    }
    split::settle(&mut series, manifest);
    for one in &mut series {
        signals::take_out_meetings(&mut one.signals);
        signals::strongest_first(&mut one.signals);
    }
    stops::book(&mut series, manifest);
    for (index, pyramid) in pyramids.iter_mut().enumerate() {
        let gaps = pyramid.gaps.iter_mut();
        let gaps = gaps.map(|gap| (gap.at_s, gap.ns, &mut gap.cause));
        stops::name((&series, index), manifest, gaps);
    }
    rates::name(&mut series, manifest);
    let across = Across::new(&series, tracks);
    // What recurs cannot be judged by moments that were chosen for what they hold.
    let findings = match manifest.keeps_moments() {
        true => Vec::new(),
        false => findings::all(&series, &seen, &across, manifest),
    };
    let remedies = remedies::all(&series, &findings, manifest);
    let findings = findings.into_iter().map(|(finding, _)| finding).collect();
    let mut report = Report {
        schema: report::SCHEMA,
        inputs: inputs.to_vec(),
        verdict: verdict::sentence(&series, manifest) + &ended(source),
        findings,
        cpus: across.ranking(&series),
        series,
        remedies,
        moments: Vec::new(),
        truth: Vec::new(),
        warnings: Vec::new(),
        recording: (!manifest.is_imported()).then(|| manifest.clone()),
    };
    let migrations = surveys.iter().map(|survey| survey.totals.migrations).sum();
    report.warnings = warnings::all(&report, manifest, source.warnings(), migrations);
    Analysis {
        report,
        pyramids,
        origin,
        details: Vec::new(),
    }
}
