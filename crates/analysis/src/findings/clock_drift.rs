//! `clock-drift`: the quanta are not as long as they say.
//!
//! Two causes. FTQ truncates its step to whole ticks, so a quantum of T ticks lasts floor(T): -4.775 ppm in the published
//! rows, of at most 5 ppm at 2 GHz and 100 us. And ticks per nanosecond may be wrong: 2.4 given for 2.3982 makes quanta
//! 750 ppm long. FTQ prints times with the factor that it makes quanta with, so the second cancels in its files and the first remains.
//! The slope is that of [`crate::series::drift`]; a manifest that holds a calibration beside the factor in use shows the second
//! where the slope cannot.

use super::{Analysed, Case, Phenomenon, agree, is_close, name, name_rate, none};
use crate::series::drift::Slope;
use bandscope_report::evidence::{self, DriftCause, OfKind};
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::ClockDrift,
    recognise,
    same: |known, new| {
        agree(known, new, |known: &evidence::ClockDrift, new| {
            known.cause == new.cause && is_close(known.drift_ppm, new.drift_ppm, 1e-3)
        })
    },
    settle: name_rate,
    consequence: none,
    remedy,
};

fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    let cause = evidence::ClockDrift::of(&finding.evidence)?.cause;
    let is_certain = finding.certainty == Certainty::Certain;
    match cause {
        DriftCause::Truncation | DriftCause::Calibration if is_certain => None,
        DriftCause::Truncation => Some(remedies::again(
            "whether a grid that is not truncated drifts",
        )),
        DriftCause::Calibration | DriftCause::Undecided => {
            Some(remedies::again("how fast the clock really is"))
        }
    }
}

/// Standard deviations from which a slope is no accident; below, a creep through a unit might look like one.
const ERRORS: f64 = 5.0;
/// Standard deviations within which it agrees with what truncation makes of it.
const AGREES: f64 = 3.0;
/// What the difference of two floating-point products leaves, in parts per million.
const ROUNDING_PPM: f64 = 1e-4;
/// Largest share of the possible truncations that may agree as well for this one to be certain.
const MAX_SHARE_AGREEING: f64 = 0.1;
/// A quantum of this many ticks more or less is no truncation, nor two roundings.
const FAR_TICKS: f64 = 3.0;
/// The tick of an unknown clock in nanoseconds: time-stamp counters of today, and the slowest of Arm's generic timers.
const FAST_TICK_NS: f64 = 1.0;
const SLOW_TICK_NS: f64 = 100.0;
/// Calibrations are wrong by less; beyond it the rate is not the one that the quanta were made for.
const WRONG_RATE_PPM: f64 = 5e4;
/// A factor is wrong if it misses the calibration by more than this many of its error bounds, and by a part per million:
/// calibrations of two runs agree to that.
const BOUNDS: f64 = 3.0;
const SMALLEST_MISFIT_PPM: f64 = 1.0;

/// What one cause makes of the quanta.
struct Drift {
    ppm: f64,
    error_ppm: f64,
    cause: DriftCause,
    /// Of the cause; of the drift alone where the cause is undecided.
    certainty: Certainty,
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let misfit = misfit_ppm(case);
    let mut drifts = Vec::new();
    if let Some((misfit, bound)) = misfit {
        drifts.push(calibrated(case, misfit, bound));
    }
    if let Some(slope) = case.seen.drift.filter(significant) {
        drifts.push(if case.analysed.manifest.is_imported() {
            of_a_file(case, slope)
        } else {
            of_a_recording(case, slope)
        });
    }
    drifts
        .into_iter()
        .map(|drift| finding(case, &drift))
        .collect()
}

/// Whether a slope is one, and of the quanta that the rate says.
pub(super) fn significant(slope: &Slope) -> bool {
    slope.ppm.abs() <= WRONG_RATE_PPM && slope.ppm.abs() > ERRORS * slope.error_ppm + ROUNDING_PPM
}

/// By how much the factor in use misses the calibration, and its bound; `None` if it does not.
fn misfit_ppm(case: Case<'_>) -> Option<(f64, f64)> {
    let clock = &case.analysed.manifest.clock;
    let measured = clock
        .measured_ticks_per_ns
        .filter(|measured| measured.is_finite() && *measured > 0.0)?;
    let misfit = (case.series.clock.ticks_per_ns / measured - 1.0) * 1e6;
    let bound = case.series.clock.error_ppm.unwrap_or(SMALLEST_MISFIT_PPM);
    (misfit.abs() > (BOUNDS * bound).max(SMALLEST_MISFIT_PPM)).then_some((misfit, bound))
}

/// The calibration says that the factor is wrong. If the quanta keep to their grid in its ticks, they were made with it.
fn calibrated(case: Case<'_>, misfit: f64, bound: f64) -> Drift {
    let slope = case.seen.drift.map_or(0.0, |slope| slope.ppm);
    let tick_ppm = 1e6 / case.seen.quantum_ticks;
    let keeps = case
        .seen
        .drift
        .is_some_and(|slope| slope.ppm.abs() <= tick_ppm + ERRORS * slope.error_ppm);
    Drift {
        ppm: ((1.0 + slope / 1e6) * (1.0 + misfit / 1e6) - 1.0) * 1e6,
        error_ppm: case
            .seen
            .drift
            .map_or(0.0, |slope| slope.error_ppm)
            .hypot(bound),
        cause: DriftCause::Calibration,
        certainty: if keeps {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
    }
}

/// Of a recording whose ticks are known.
fn of_a_recording(case: Case<'_>, slope: Slope) -> Drift {
    let quantum = case.seen.quantum_ticks;
    let truncated = (quantum.floor() / quantum - 1.0) * 1e6;
    let tick_ppm = 1e6 / quantum;
    let agrees = (slope.ppm - truncated).abs() <= AGREES * slope.error_ppm + ROUNDING_PPM;
    let chance = (2.0 * AGREES * slope.error_ppm + 2.0 * ROUNDING_PPM) / tick_ppm;
    let (cause, certainty) = match slope.ppm {
        _ if agrees && chance <= MAX_SHARE_AGREEING => (DriftCause::Truncation, Certainty::Certain),
        _ if agrees => (DriftCause::Truncation, Certainty::Likely),
        ppm if ppm.abs() > FAR_TICKS * tick_ppm => (DriftCause::Calibration, Certainty::Likely),
        // The slope is one beyond doubt; what made it is not said.
        _ => (DriftCause::Undecided, Certainty::Certain),
    };
    Drift {
        ppm: slope.ppm,
        error_ppm: slope.error_ppm,
        cause,
        certainty,
    }
}

/// Of a file that does not say how long a tick was.
fn of_a_file(case: Case<'_>, slope: Slope) -> Drift {
    // A tick of such a file is a nanosecond.
    let short_ns = -slope.ppm / 1e6 * case.seen.quantum_ticks;
    let (cause, certainty) = match short_ns {
        short if (0.0..=FAST_TICK_NS).contains(&short) => {
            (DriftCause::Truncation, Certainty::Likely)
        }
        short if short.abs() > SLOW_TICK_NS => (DriftCause::Calibration, Certainty::Likely),
        // The slope is one beyond doubt; what made it is not said.
        _ => (DriftCause::Undecided, Certainty::Certain),
    };
    Drift {
        ppm: slope.ppm,
        error_ppm: slope.error_ppm,
        cause,
        certainty,
    }
}

fn finding(case: Case<'_>, drift: &Drift) -> Finding {
    let sense = if drift.ppm < 0.0 { "shorter" } else { "longer" };
    let because = match drift.cause {
        DriftCause::Truncation => ", because they were truncated to whole ticks",
        DriftCause::Calibration => ", because their ticks per nanosecond are wrong",
        DriftCause::Undecided => ": their grid or the clock is off",
    };
    let evidence = evidence::ClockDrift {
        cause: drift.cause,
        drift_ppm: drift.ppm,
        uncertainty_ppm: drift.error_ppm,
    };
    Finding {
        kind: PHENOMENON.kind,
        series: vec![case.index],
        certainty: drift.certainty,
        summary: format!(
            "Quanta on {} are {} ppm {sense} than they say{because}.",
            name(case.series),
            digits(drift.ppm.abs(), drift.error_ppm),
        ),
        evidence: evidence.into(),
        next_step: None,
    }
}

/// A number with the digits that its error leaves.
fn digits(value: f64, error: f64) -> String {
    let digits = (1.0 - error.max(1e-4).log10()).floor().clamp(0.0, 4.0) as usize;
    format!("{value:.digits$}")
}
