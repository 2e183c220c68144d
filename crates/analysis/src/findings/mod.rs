//! Findings: the phenomena that were recognised. One file a phenomenon, one line of [`PHENOMENA`].
//!
//! A finding never says more than its evidence: what one rate, one work kernel or no counters cannot decide is
//! `possible` or `likely`, and its `next_step` is the command that would decide it.

mod bistable_pace;
mod periodic_interference;
mod quantisation;

use crate::dwell::Stays;
use crate::quantisation::Quantisation;
use crate::report::{Evidence, Finding, Series};

/// What one series shows, beyond what the report says of it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Stays in each band of the report, in its order.
    pub stays: Vec<Stays>,
    /// Share of the changes of band that took at most one quantum.
    pub sharp_share: f64,
    /// Whether the counts of the main band are quantised.
    pub quantisation: Option<Quantisation>,
}

/// A series under its index.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    index: usize,
    series: &'a Series,
    seen: &'a Seen,
}

/// Recognises a phenomenon in one series.
type Recognise = fn(Case<'_>) -> Vec<Finding>;

/// The phenomena, in the order in which ties are listed.
const PHENOMENA: [Recognise; 3] = [
    bistable_pace::recognise,
    periodic_interference::recognise,
    quantisation::recognise,
];

/// All findings, most consequential first: by the share of wall time that they account for.
pub fn all(series: &[Series], seen: &[Seen]) -> Vec<Finding> {
    let mut findings: Vec<(f64, Finding)> = Vec::new();
    for recognise in PHENOMENA {
        for (index, (series, seen)) in series.iter().zip(seen).enumerate() {
            let case = Case {
                index,
                series,
                seen,
            };
            for finding in recognise(case) {
                findings.push((consequence(&finding, series), finding));
            }
        }
    }
    findings.sort_by(|a, b| b.0.total_cmp(&a.0));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// Share of the wall time that a finding accounts for.
fn consequence(finding: &Finding, series: &Series) -> f64 {
    let wall = (series.ledger.wall_ns as f64).max(1.0);
    let number = |key: &str| match finding.evidence.get(key) {
        Some(Evidence::Number(number)) => *number,
        _ => 0.0,
    };
    match finding.kind {
        "bistable-pace" => series.ledger.pace_ns.unsplit as f64 / wall,
        "periodic-interference" => number("frequency_hz") * number("ns_per_event") / 1e9,
        _ => 0.0,
    }
}

/// How a series is named in a sentence.
fn name(series: &Series) -> String {
    match series.cpu {
        Some(cpu) => format!("CPU {cpu} at {:.0} Hz", series.rate_hz),
        None => format!("the series at {:.0} Hz", series.rate_hz),
    }
}
