//! `warm-up`: the run starts with a lower pace or more losses, which end and do not come back.
//!
//! Published: a signal of 100 Hz and a low pace for some 180 ms. [`crate::pace::warm_up`] looks over all series of a CPU in order of
//! time. A core that has two states and happens to start in the slow one looks alike: so the run must go on for several times
//! as long without it, and where nothing but the pace changes, by as much as states do, it is `possible` only.

use super::{Analysed, Case, Phenomenon, agree, figure, name};
use crate::pace::warm_up::{self, Observed, WarmUp};
use bandscope_report::evidence::{self, OfKind};
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::WarmUp,
    recognise,
    same: |known, new| {
        agree(known, new, |known: &evidence::WarmUp, new| {
            known.duration_s == new.duration_s
        })
    },
    settle: |_, _| true,
    consequence: |finding, series| {
        figure(finding, |start: &evidence::WarmUp| {
            let lost = 1.0 - 1.0 / start.ratio.max(1.0) + start.away;
            lost * start.measured_s / series.duration_s.max(1e-9)
        })
    },
    remedy,
};

fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    let start = evidence::WarmUp::of(&finding.evidence)?;
    Some(remedies::start_later((start.duration_s * 1.5e3).ceil()))
}

/// Chance that a bad stretch lies at the start of all places.
const MAX_CHANCE: f64 = 0.01;
/// Times its own length that the run must go on without it.
const SETTLED: f64 = 3.0;
/// Seconds by which the end of a warm-up may be misplaced, as its error is no more than that in the scoreboard.
const BLOCK_S: f64 = 0.02;
/// A pace that changes by more than this, and alone, is rather a state of the core.
const STATE: f64 = 1.5;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let relatives = relatives(case);
    // What all series of a CPU show together is said once.
    if relatives.first() != Some(&case.index) {
        return Vec::new();
    }
    find(case, &relatives)
        .map(|found| finding(case, relatives, found))
        .into_iter()
        .collect()
}

/// Series of the same CPU and run.
fn relatives(case: Case<'_>) -> Vec<usize> {
    let analysed = case.analysed;
    let mine = |other: &usize| {
        let other = &analysed.series[*other];
        (other.cpu, &other.origin) == (case.series.cpu, &case.series.origin)
    };
    (0..analysed.series.len()).filter(mine).collect()
}

fn find(case: Case<'_>, relatives: &[usize]) -> Option<WarmUp> {
    let seen = relatives.iter().map(|&one| &case.analysed.seen[one]);
    let blocks: Vec<&[Observed]> = seen.map(|seen| seen.start.as_slice()).collect();
    warm_up::find(&blocks)
}

/// Whether a stay in slower bands of so many seconds was a warm-up: one event is one finding.
pub(super) fn explains(case: Case<'_>, seconds: f64) -> bool {
    find(case, &relatives(case))
        .is_some_and(|found| seconds <= found.duration_s + found.uncertainty_s + BLOCK_S)
}

fn finding(case: Case<'_>, series: Vec<usize>, found: WarmUp) -> Finding {
    // While the work kernel ran before the first quantum, the machine was warming up as well.
    let delay = case.analysed.manifest.settings.start_delay_s.max(0.0);
    let duration = found.duration_s + delay;
    let like_a_state = found.ratio > STATE && !found.noise;
    let settled = found.p_value < MAX_CHANCE && found.settled >= SETTLED;
    let likely = settled && !like_a_state && !found.switched;
    let what = match (found.ratio > 1.002, found.noise) {
        (true, true) => format!(
            "the pace is {} lower and more is lost",
            format::percent(1.0 - 1.0 / found.ratio)
        ),
        (true, false) => format!(
            "the pace is {} lower",
            format::percent(1.0 - 1.0 / found.ratio)
        ),
        _ => format!(
            "{} more of the time is lost than later",
            format::percent(found.away.max(0.0))
        ),
    };
    Finding {
        kind: PHENOMENON.kind,
        series,
        certainty: if likely {
            Certainty::Likely
        } else {
            Certainty::Possible
        },
        summary: format!(
            "The first {} on {} are a warm-up: {what}.",
            format::duration(duration * 1e9),
            name(case.series),
        ),
        evidence: evidence::WarmUp {
            away: found.away.max(0.0),
            duration_s: duration,
            measured_s: found.duration_s,
            p_value: found.p_value,
            ratio: found.ratio,
            uncertainty_s: found.uncertainty_s,
        }
        .into(),
        next_step: None,
    }
}
