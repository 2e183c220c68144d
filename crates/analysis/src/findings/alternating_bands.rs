//! `alternating-bands`: a short pattern of paces that repeats with the quanta, {710, 711, 710, 720}.
//!
//! By [`crate::pace::alternation`]. A pattern of which most quanta are slow is no loss of time. One of which most are fast could be an interruption locked
//! to the quanta; where gaps are known it would be a gap if it is longer than a gap's threshold, and otherwise this is `possible`, unless two
//! rates show the same pattern. What costs less
//! than storing a quantum may cost is the measurement's own.

use super::{Analysed, Case, Phenomenon, agree, is_alone, is_part, name, name_rate};
use bandscope_report::evidence;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::AlternatingBands,
    recognise,
    same: |known, new| {
        agree(known, new, |known: &evidence::AlternatingBands, new| {
            is_part(&known.ns_per_unit, &new.ns_per_unit, 0.03)
                && known.pattern_quanta == new.pattern_quanta
        })
    },
    settle,
    consequence: |_, series| {
        series.ledger.pace_ns.total() as f64 / (series.ledger.wall_ns as f64).max(1.0)
    },
    remedy,
};

fn remedy(_: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    Some(remedies::other_kernels(
        "mulss80,imul20",
        "whether another loop has another pattern",
    ))
}

/// Nanoseconds that a store which misses all caches, or meets a page for the first time, may add to a quantum.
const OWN_COST: f64 = 300.0;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(pattern) = &case.seen.pattern else {
        return Vec::new();
    };
    let ns = |ticks: f64| ticks / case.series.clock.ticks_per_ns;
    let cost = ns(pattern.cost);
    if !pattern.peaks && cost < OWN_COST {
        return Vec::new();
    }
    let gap = case
        .series
        .gaps
        .as_ref()
        .map_or(f64::INFINITY, |gaps| gaps.threshold_ns);
    let certainty = if pattern.peaks || cost > gap {
        Certainty::Likely
    } else {
        Certainty::Possible
    };
    let numbers = |of: &dyn Fn(&(f64, f64, f64)) -> f64| -> Vec<f64> {
        pattern.levels.iter().map(of).collect()
    };
    let counts: Vec<String> = pattern.counts.iter().map(u32::to_string).collect();
    vec![Finding {
        kind: Kind::AlternatingBands,
        series: vec![case.index],
        certainty,
        summary: format!(
            "A pattern of the loop's own repeats on {} every {} quanta, as in counts of {}.",
            name(case.series),
            pattern.quanta,
            counts.join(", "),
        ),
        evidence: evidence::AlternatingBands {
            counts: pattern.counts.clone(),
            median_dwells_s: numbers(&|level| level.2 / case.series.rate_hz),
            ns_per_unit: numbers(&|level| ns(level.0)),
            pattern_quanta: pattern.quanta as u64,
            shares: numbers(&|level| level.1),
        }
        .into(),
        next_step: None,
    }]
}

/// A pattern of quanta shows at every rate; an interruption cannot be locked to two of them.
fn settle(finding: &mut Finding, analysed: Analysed<'_>) -> bool {
    let rate = |index: &usize| analysed.series[*index].rate_hz;
    let first = rate(&finding.series[0]);
    if finding
        .series
        .iter()
        .any(|index| (rate(index) / first - 1.0).abs() > 0.01)
    {
        finding.certainty = finding.certainty.max(Certainty::Likely);
    }
    if is_alone(finding, analysed) {
        finding.certainty = finding.certainty.min(Certainty::Possible);
    }
    name_rate(finding, analysed)
}
