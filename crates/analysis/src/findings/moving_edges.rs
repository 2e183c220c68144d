//! `moving-edges`: the X. The pace changes with a period of its own, on a grid of its own, and since neither is a whole number
//! of quanta, the edge quanta climb and fall.
//!
//! The period, the grid and what they are known to come from [`crate::pace::recurrence`]. One rate decides where the quanta are bandscope's own, on
//! a fixed-point grid that has no drift: then the edges' is the machine's. Otherwise a second rate does.

use super::{Analysed, Case, Phenomenon, agree, are_close, clock_drift, name, name_rate, none};
use crate::pace::recurrence::{Period, Recurrence};
use crate::periods::signals::p_value;
use bandscope_report::evidence;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::MovingEdges,
    recognise,
    // A million quanta apart they would be a turn apart.
    same: |known, new| {
        agree(known, new, |known: &evidence::MovingEdges, new| {
            are_close(known.period_s, new.period_s, 1e-6)
                && are_close(known.grid_s, new.grid_s, 1e-4)
        })
    },
    settle,
    consequence: none,
    remedy,
};

/// Until it is certain.
fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    (finding.certainty < Certainty::Certain)
        .then(|| remedies::other_rates("whether the period stays the same in seconds"))
}

/// Edges that decide on a fixed-point grid.
const ENOUGH: u64 = 100;
/// Share of the quanta below which a band is not the one that is returned to.
const RARE: f64 = 5e-3;
/// Durations of the series beyond which a turn is endless: nothing moves by a thousandth of a quantum.
const ENDLESS: f64 = 1e3;
/// Logarithm of the chance below which accident is out of the question; 100 edges of one phase reach -90.
const DECISIVE: f64 = -40.0;
/// Logarithm of the chance at which a period is the best explanation: one in a million.
const GOOD: f64 = -13.8;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(found) = &case.seen.recurrence else {
        return Vec::new();
    };
    let Some(judged) = found.period.or(found.grid) else {
        return Vec::new();
    };
    let quantum = quantum_s(case);
    let drift = drift(judged.seconds, quantum);
    let turn = drift
        .map(|drift| quantum / drift.abs())
        .filter(|turn| *turn < ENDLESS * case.series.duration_s);
    let dwell = dwell_s(case);
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let evidence = evidence::MovingEdges {
        drift_ppm: finite(drift.map(|drift| drift * 1e6)),
        dwell_s: finite(dwell),
        edges: case.seen.edges.number,
        grid_s: finite(found.grid.map(|grid| grid.seconds)),
        kept: judged.kept as f64 / judged.edges.max(1) as f64,
        p_value: p_value(judged.log_p),
        period_s: finite(found.period.map(|period| period.seconds)),
        turn_s: finite(turn),
        uncertainty_s: finite(Some(judged.uncertainty)),
        z_squared: finite(Some(judged.z_squared)),
    };
    vec![Finding {
        kind: Kind::MovingEdges,
        series: vec![case.index],
        certainty: certainty(case, found, judged),
        summary: summary(case, found, judged, turn),
        evidence: evidence.into(),
        next_step: None,
    }]
}

/// The quantum as it was: nominal where the grid is kept, with the drift that was measured where it is not.
fn quantum_s(case: Case<'_>) -> f64 {
    let drift = if case.series.gaps_known {
        let slope = case.seen.drift.filter(clock_drift::significant);
        slope.map(|slope| slope.ppm)
    } else {
        case.series.clock.drift_ppm
    };
    (1.0 + drift.unwrap_or(0.0) * 1e-6) / case.series.rate_hz
}

/// The recurrence over the nearest whole number of quanta, less 1; none below half a quantum.
fn drift(seconds: f64, quantum: f64) -> Option<f64> {
    let quanta = (seconds / quantum).round();
    (quanta >= 1.0).then(|| seconds / (quanta * quantum) - 1.0)
}

/// Dwell in the slowest band that has whole stays, seconds. A rare band is a quantum or two that noise took out of another one.
fn dwell_s(case: Case<'_>) -> Option<f64> {
    let dwells = case.seen.edges.dwells.iter().zip(&case.series.bands);
    let ticks = dwells
        .rev()
        .filter(|(_, band)| band.share >= RARE)
        .find_map(|(dwell, _)| *dwell)?;
    Some(ticks / case.series.clock.ticks_per_ns / 1e9)
}

fn certainty(case: Case<'_>, found: &Recurrence, judged: Period) -> Certainty {
    if judged.log_p > GOOD {
        return Certainty::Possible;
    }
    // Gaps are known where bandscope measured, and then the ends of quanta and the fixed-point grid are its own.
    let own = case.series.gaps_known && !found.aligned;
    let decided = own && judged.edges >= ENOUGH && judged.log_p < DECISIVE;
    if decided {
        Certainty::Certain
    } else {
        Certainty::Likely
    }
}

fn summary(case: Case<'_>, found: &Recurrence, judged: Period, turn: Option<f64>) -> String {
    let name = name(case.series);
    let ms = |period: Period| {
        let digits = (-(period.uncertainty * 1e3).log10()).ceil().clamp(2.0, 9.0) as usize;
        format!("{:.digits$} ms", period.seconds * 1e3)
    };
    let grid = found.grid.map(ms);
    let driven = match (found.period.map(ms), grid) {
        (Some(period), Some(grid)) => format!("every {period}, on a grid of {grid}"),
        (Some(period), None) => format!("every {period}"),
        (None, Some(grid)) if judged.kept < judged.edges => format!(
            "on a grid of {grid} ({} of {} changes)",
            judged.kept, judged.edges
        ),
        (None, grid) => format!("on a grid of {}", grid.unwrap_or_default()),
    };
    let moves = match turn {
        Some(turn) if turn >= 1.0 => {
            format!(" Edge quanta drift through the picture once in {turn:.1} s.")
        }
        _ => String::new(),
    };
    format!("The pace of {name} changes {driven}.{moves}")
}

/// The same period in seconds at two rates is the machine's own.
fn settle(finding: &mut Finding, analysed: Analysed<'_>) -> bool {
    let rate = |index: &usize| analysed.series[*index].rate_hz;
    let first = rate(&finding.series[0]);
    let rates_agree = finding
        .series
        .iter()
        .any(|index| (rate(index) / first - 1.0).abs() > 0.01);
    if rates_agree && finding.certainty >= Certainty::Likely {
        finding.certainty = Certainty::Certain;
    }
    name_rate(finding, analysed)
}
