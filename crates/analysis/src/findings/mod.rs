//! Findings: the phenomena that were recognised. One file a phenomenon, one line of [`PHENOMENA`].
//!
//! A finding never says more than its evidence: what one rate, one work kernel or no counters cannot decide is
//! `possible` or `likely`, and its `next_step` is the command that would decide it.

mod bistable_pace;
mod periodic_interference;
mod quantisation;

use crate::dwell::Stays;
use crate::quantisation::Quantisation;
use crate::report::{Certainty, Evidence, Finding, Series};
use crate::words;

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
        for (index, (one, seen)) in series.iter().zip(seen).enumerate() {
            let case = Case {
                index,
                series: one,
                seen,
            };
            for finding in recognise(case) {
                let same = findings
                    .iter_mut()
                    .find(|(_, known)| is_same(known, &finding, series));
                match same {
                    Some((_, known)) => known.series.push(index),
                    None => findings.push((consequence(&finding, one), finding)),
                }
            }
        }
    }
    findings.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut findings: Vec<Finding> = findings.into_iter().map(|(_, finding)| finding).collect();
    findings
        .iter_mut()
        .for_each(|finding| weigh(finding, series));
    findings
}

/// Whether two series of one CPU and work kernel show the same phenomenon, so that one sentence does for both.
fn is_same(known: &Finding, new: &Finding, series: &[Series]) -> bool {
    let (a, b) = (&series[known.series[0]], &series[new.series[0]]);
    let alike = |key: &str, tolerance: f64| match (known.evidence.get(key), new.evidence.get(key)) {
        (Some(Evidence::Number(a)), Some(Evidence::Number(b))) => {
            (a - b).abs() <= tolerance * a.abs()
        }
        (Some(Evidence::Numbers(a)), Some(Evidence::Numbers(b))) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| (a - b).abs() <= tolerance * a.abs())
        }
        (None, None) => true,
        _ => false,
    };
    known.kind == new.kind
        && known.certainty == new.certainty
        && !known.series.contains(&new.series[0])
        && (a.cpu, &a.kernel, &a.origin) == (b.cpu, &b.kernel, &b.origin)
        // Paces within 3 %; frequencies within 10^-4, a few uncertainties of a run of seconds.
        && alike("ns_per_unit", 0.03)
        && alike("frequency_hz", 1e-4)
}

/// What does not hold at every rate of its CPU and work kernel says so. Segments alternate, so all rates saw the same
/// machine: something periodic in it should show at each.
fn weigh(finding: &mut Finding, series: &[Series]) {
    let mine = &series[finding.series[0]];
    let relatives = series
        .iter()
        .filter(|other| (other.cpu, &other.kernel) == (mine.cpu, &mine.kernel));
    if finding.series.len() == 1 && relatives.count() > 1 {
        let rate = words::rate(mine.rate_hz);
        finding.summary = format!(
            "{} (at {rate} only).",
            finding.summary.trim_end_matches('.')
        );
        if finding.kind == "periodic-interference" {
            finding.certainty = finding.certainty.min(Certainty::Possible);
        }
    }
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

/// How the CPU of a series is named in a sentence.
fn name(series: &Series) -> String {
    series
        .cpu
        .map_or("the measured CPU".to_owned(), |cpu| format!("CPU {cpu}"))
}
