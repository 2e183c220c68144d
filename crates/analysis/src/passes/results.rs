//! What the detectors of a series come to, as the report, the findings and the picture have it.

use crate::findings::Seen;
use crate::gaps::statistics::Statistics;
use crate::ledger::account::{Account, Books};
use crate::pace::edges::Edge;
use crate::pace::interrupted::Interrupted;
use crate::pace::quantisation::Quantisation;
use crate::pace::rise_at_gap::RisesAtGaps;
use crate::pace::store_bypass::Switched;
use crate::pace::whole_core::Handling;
use crate::pace::{fraction, mixture, recurrence};
use crate::passes::Second;
use crate::passes::survey::Survey;
use crate::picture::pyramid::EdgeMark;
use crate::series::context::Context;
use bandscope_report as report;

/// What is known of a series beside what its detectors say.
pub(crate) fn about(
    series: &bandscope_recording::Series,
    survey: &Survey,
    context: &Context,
) -> report::Series {
    let totals = &survey.totals;
    report::Series {
        cpu: series.cpu,
        rate_hz: context.rate_hz,
        kernel: series.kernel.clone(),
        origin: series.origin.clone(),
        quanta: totals.quanta,
        segments: totals.segments,
        duration_s: context.seconds(totals.wall as f64),
        units: u64::try_from(totals.units).unwrap_or(u64::MAX),
        gaps_known: context.gaps_known,
        clock: report::Clock {
            ticks_per_ns: context.ticks_per_ns,
            error_ppm: context.clock_error_ppm,
            drift_ppm: survey.drift.map(|drift| drift.ppm),
        },
        fraction: fraction::report(totals, &survey.modes, context),
        ..report::Series::default()
    }
}

/// Where the time of a series went.
pub(crate) fn account(
    survey: &Survey,
    pass: &mut Second,
    gaps: &Statistics,
    context: &Context,
) -> Account {
    let books = match (pass.measured.take(), pass.inferred.take()) {
        (Some(measured), _) => measured.finish(),
        (None, Some(inferred)) => inferred.finish(),
        (None, None) => Books::default(),
    };
    let books = Books {
        bonus: pass.stretch.bonus(),
        ..books
    };
    let best = survey.best.map(|best| best.ticks);
    Account::close(
        &survey.totals.measures(),
        books,
        &gaps.causes(),
        best,
        context,
    )
}

/// What the detectors of pace saw.
pub(crate) fn seen(
    series: &bandscope_recording::Series,
    survey: &Survey,
    pass: &mut Second,
    gaps: &Statistics,
    origin: u64,
    context: &Context,
) -> Seen {
    let totals = &survey.totals;
    pass.dwell.finish();
    pass.edges.finish(&gaps.events);
    let migration = totals.first_migration;
    Seen {
        stays: (0..survey.modes.len())
            .map(|band| pass.dwell.stays(band))
            .collect(),
        sharp_share: pass.dwell.sharp_share(),
        pattern: pass.sample.pattern(context),
        edges: pass.edges.show(),
        recurrence: recurrence::find(&pass.edges, origin, &totals.extents, context),
        migration_s: migration.map(|tick| context.seconds(tick.saturating_sub(origin) as f64)),
        migrations: totals.migrations,
        quantisation: pass.counts.clone().finish(context),
        aliases: Vec::new(),
        drift: survey.drift,
        quantum_ticks: context.quantum_ticks,
        fractions: mixture::fractions(&series.kernel, context),
        start: survey.start.clone(),
        changes: pass.rises.as_ref().map(RisesAtGaps::changes),
        by_store_bypass: pass.switched.as_ref().and_then(Switched::finish),
        whole_core: pass.handling.as_ref().and_then(Handling::finish),
        interrupted: pass.interrupted.take().and_then(Interrupted::finish),
    }
}

/// What a quantum loses at most by a change of pace, in nanoseconds.
pub(crate) fn edge_ns(survey: &Survey, context: &Context) -> f64 {
    let centres = || survey.modes.iter().map(|mode| mode.centre);
    let ratio = centres().fold(0.0, f64::max) / centres().fold(f64::INFINITY, f64::min);
    context.ns((ratio - 1.0) * context.quantum_ticks)
}

/// Edges for a picture.
pub(crate) fn edge_marks(edges: &[Edge], origin: u64, context: &Context) -> Vec<EdgeMark> {
    let mark = |edge: &Edge| EdgeMark {
        at_s: context.seconds(edge.ticks(origin)),
        from: edge.from,
        to: edge.to,
    };
    edges.iter().map(mark).collect()
}

/// The smallest periodic loss that is more than rounding: two ticks, or a unit where starts on the nominal grid hide
/// when units ended.
pub(crate) fn resolution_ns(survey: &Survey, seen: &Seen, context: &Context) -> f64 {
    let rounded = seen
        .quantisation
        .is_some_and(|quantisation| !quantisation.times_decide);
    let slowest = survey.modes.last().map_or(0.0, |mode| mode.centre);
    context.ns(if rounded { slowest } else { 2.0 })
}

/// Bands as the report has them.
pub(crate) fn bands(survey: &Survey, seen: &Seen, context: &Context) -> Vec<report::Band> {
    let alone = survey.modes.len() == 1;
    let nature = |quantisation: &Option<Quantisation>| match quantisation {
        // With other bands beside it, a band is a pace, however its counts alternate.
        Some(_) if alone => report::Nature::Quantisation,
        _ => report::Nature::Pace,
    };
    survey
        .modes
        .iter()
        .zip(&seen.stays)
        .map(|(mode, stays)| report::Band {
            ns_per_unit: context.ns(mode.centre),
            half_width: mode.half_width,
            count: context.quantum_ticks / mode.centre,
            share: mode.quanta as f64 / survey.totals.quanta.max(1) as f64,
            stays: stays.number,
            median_dwell_s: context.seconds(stays.median_ticks),
            nature: nature(&seen.quantisation),
        })
        .collect()
}
