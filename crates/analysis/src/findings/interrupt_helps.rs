//! `interrupt-helps`: the pace rises after an interrupt, so the quieter the core the slower it is.
//!
//! Found where gaps are known and there are two paces ([`crate::pace::rise_at_gap`] counts). That interrupts and rises come together does not
//! say which brings about which, or what brings about both; interrupts that one sends oneself decide it, so it is
//! `likely` at best.

use super::{
    Analysed, Case, Phenomenon, always, cpu, first_series, is_whole_core_slow, name, name_rate,
};
use bandscope_report::evidence;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::InterruptHelps,
    recognise,
    // The odds depend on the quantum; one sentence does for both rates.
    same: always,
    settle: name_rate,
    consequence: |_, series| {
        series.ledger.pace_ns.total() as f64 / (series.ledger.wall_ns as f64).max(1.0)
    },
    remedy,
};

fn remedy(finding: &Finding, analysed: Analysed<'_>) -> Option<Remedy> {
    Some(remedies::own_interrupts(&cpu(first_series(
        finding, analysed,
    ))))
}

/// One series in a thousand by accident.
const SIGNIFICANT: f64 = 1e-3;
/// Odds ratios: fewer is no help to speak of.
const MIN_ODDS_RATIO: f64 = 4.0;
/// Rises with a gap that are too few to judge.
const MIN_RISES_WITH_GAP: u64 = 6;
/// Share of the rises that an interrupt must account for. Of a pace that changes by a clock of its own, in step with a tick, some
/// rises meet a tick and others do not; where all of them do, it is told by fast stays of one length, and then `possible` only.
const EXPLAINED: f64 = 0.7;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(changes) = case.seen.changes else {
        return Vec::new();
    };
    let (odds, interval) = changes.rises.odds_ratio();
    let (odds_down, _) = changes.falls.odds_ratio();
    let p_value = changes.p_value();
    let [without, with] = changes.rises.changes;
    let explained = with as f64 / (with + without).max(1) as f64;
    if p_value > SIGNIFICANT
        || odds < MIN_ODDS_RATIO
        || with < MIN_RISES_WITH_GAP
        || explained < EXPLAINED
        || is_whole_core_slow(case)
    {
        return Vec::new();
    }
    vec![Finding {
        kind: PHENOMENON.kind,
        series: vec![case.index],
        certainty: if changes.is_clockwork() {
            Certainty::Possible
        } else {
            Certainty::Likely
        },
        summary: format!(
            "Interrupts help on {}: {with} of {} changes to the faster pace came with one, {} of {} to the slower.",
            name(case.series),
            with + without,
            changes.falls.changes[1],
            changes.falls.changes[0] + changes.falls.changes[1],
        ),
        evidence: evidence::InterruptHelps {
            falls: changes.falls.changes,
            odds_ratio: odds,
            odds_ratio_down: odds_down,
            odds_ratio_interval: interval,
            p_value: p_value.max(1e-300),
            rises: changes.rises.changes,
        }
        .into(),
        next_step: None,
    }]
}
