//! `sampling-artefact`: a loss that recurs in quanta and not in seconds: the measurement's own doing.
//!
//! Published: every 256 records of 16 bytes fill a page, which shows as 40 Hz at 10 kHz and as 27 Hz at 7 kHz. Two rates decide. At one
//! rate a period that is a whole number of quanta may be a coincidence (1,000 Hz at 10 kHz is one), unless it is a power of two,
//! as pages of records are.

use super::{Analysed, Case, Phenomenon, SHORTEST_NS, agree, figure, is_alone, is_close, name};
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind, Origin, SeenIn, Series, Signal};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::SamplingArtefact,
    recognise,
    same: |known, new| {
        agree(known, new, |known: &evidence::SamplingArtefact, new| {
            is_close(known.period_quanta, new.period_quanta, 1e-3)
        })
    },
    settle,
    consequence: |finding, series| {
        figure(finding, |artefact: &evidence::SamplingArtefact| {
            artefact.ns_per_event / artefact.period_quanta * series.rate_hz / 1e9
        })
    },
    remedy,
};

/// Until it is certain.
fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    (finding.certainty < Certainty::Certain)
        .then(|| remedies::other_rates("whether it keeps its period in quanta at both rates"))
}

/// Periods in quanta that are looked at: from where alternating bands end to a page of the smallest records.
const PERIODS: std::ops::RangeInclusive<f64> = 7.5..=4096.5;
/// How well a period must be known, in quanta, to be called whole.
const WHOLE: f64 = 0.02;
/// Chance of an accident above which a fold at one rate is no more than possible: ten periods are tried in each of many series.
const UNLIKELY: f64 = 1e-6;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let signals = case.series.signals.iter();
    signals
        .filter_map(|signal| {
            let certainty = certainty(signal, case.series)?;
            Some(finding(case, signal, certainty))
        })
        .collect()
}

/// What one series and the origin that two settled say of a signal; `None` if it is none of the benchmark's own.
pub(super) fn certainty(signal: &Signal, series: &Series) -> Option<Certainty> {
    let period = series.rate_hz / signal.frequency_hz;
    if signal.seen_in != SeenIn::Residual || !PERIODS.contains(&period) {
        return None;
    }
    let sigma = period * signal.uncertainty_hz / signal.frequency_hz;
    let off = (period - period.round()).abs();
    match signal.origin {
        // Two files of counts are of different times.
        Origin::Sampling if series.cpu.is_none() => Some(Certainty::Likely),
        Origin::Sampling => Some(Certainty::Certain),
        Origin::Unresolved if off <= (3.0 * sigma).min(WHOLE) => {
            // Only what was folded is a whole number to the last digit: a line of noise may lie near one.
            let folded = period.fract() == 0.0
                && (period as u64).is_power_of_two()
                && signal.ns_per_event >= SHORTEST_NS
                && signal.p_value < UNLIKELY;
            Some(if folded {
                Certainty::Likely
            } else {
                Certainty::Possible
            })
        }
        _ => None,
    }
}

fn finding(case: Case<'_>, signal: &Signal, certainty: Certainty) -> Finding {
    let period = case.series.rate_hz / signal.frequency_hz;
    // Where it is whole within its uncertainty it is whole.
    let exact = if (period - period.round()).abs() <= WHOLE {
        period.round()
    } else {
        period
    };
    Finding {
        kind: Kind::SamplingArtefact,
        series: vec![case.index],
        certainty,
        summary: format!(
            "Every {exact:.6} quanta the measurement itself loses {} on {}, such as for a page that is full.",
            format::duration(signal.ns_per_event),
            name(case.series),
        )
        .replace(".000000", ""),
        evidence: evidence::SamplingArtefact {
            frequency_hz: signal.frequency_hz,
            ns_per_event: signal.ns_per_event,
            period_quanta: exact,
        }
        .into(),
        next_step: None,
    }
}

/// The measurement does at every rate what it does at one, and each was asked for the periods of the others: what only one shows is not its own.
fn settle(finding: &mut Finding, analysed: Analysed<'_>) -> bool {
    !is_alone(finding, analysed)
}
