//! The searches in what the second pass kept of a series. They run side by side: where a series is alone, other CPUs are idle.

use super::results;
use super::survey::Survey;
use crate::gaps::statistics::Statistics;
use crate::ledger::account::Account;
use crate::periods::counted::Rest;
use crate::periods::fold::Folded;
use crate::periods::follow::Lines;
use crate::periods::kept::Kept;
use crate::periods::spectrum::Spectrum;
use crate::periods::{gap_trains, limits, signals, spectrum};
use crate::series::context::Context;
use bandscope_report as report;

/// The spectrum of the residual, which is that of what was kept if no other is given, what folding it shows, and its lines over time, side by side.
pub fn look_into(
    kept: &Kept,
    spectrum: Option<Spectrum>,
    context: &Context,
) -> (Spectrum, Option<Folded>, Lines) {
    let residual = || spectrum.unwrap_or_else(|| spectrum::of_segments(kept.segments(), context));
    let ((residual, folded), lines) = rayon::join(
        || rayon::join(residual, || kept.folded()),
        || Lines::new(kept, context),
    );
    (residual, folded, lines)
}

/// Ranks the signals, and follows each over time, against the pace of the main band.
pub fn follow(
    signals: &mut Vec<report::Signal>,
    resolution: f64,
    kept: &Kept,
    lines: &Lines,
    survey: &Survey,
    context: &Context,
) {
    signals::rank(signals, resolution);
    let main = survey.modes.get(usize::from(survey.main_band()));
    signals::follow(signals, kept, lines, main.map(|mode| mode.centre), context);
}

/// The smallest periodic losses that this series would have shown.
pub fn losses(
    survey: &Survey,
    spectrum: (&Spectrum, f64),
    rest: &Rest,
    resolution: f64,
    is_mostly_there: bool,
    signals: &[report::Signal],
    context: &Context,
) -> Vec<report::LossLimit> {
    let gap_ns = gap_ns(context);
    let edge_ns = results::edge_ns(survey, context);
    let event_ns = |hz: f64| match context.gaps_known {
        // Of a CPU that is mostly away no train is said.
        true => gap_ns.filter(|_| is_mostly_there),
        false => rest.least_of_events(hz, edge_ns, context),
    };
    limits::losses(spectrum, resolution, gap_ns, event_ns, signals, context)
}

/// The shortest gap in nanoseconds, where gaps are known.
fn gap_ns(context: &Context) -> Option<f64> {
    let kernel = context.kernel.as_ref().filter(|_| context.gaps_known)?;
    let ticks = kernel.gap_threshold_ticks;
    (ticks > 0).then(|| context.ns(ticks as f64))
}

/// Signals in gaps and in the residual, side by side.
pub fn all_signals(
    survey: &Survey,
    folded: Option<Folded>,
    gaps: &Statistics,
    residual: &Spectrum,
    account: &Account,
    context: &Context,
) -> Vec<report::Signal> {
    let totals = &survey.totals;
    let unit =
        (totals.gap_ticks as f64 - account.lost_to_gaps() as f64) / totals.gaps.max(1) as f64;
    let (mut signals, in_residual) = rayon::join(
        || gap_trains::in_gaps(gaps, &totals.extents, unit.max(0.0), context),
        || signals::in_residual(residual, folded, totals.longest_segment, context),
    );
    signals.extend(in_residual);
    signals
}
