//! `synchronous-gaps`: gaps that hit several CPUs at once, far more often than chance would.
//!
//! A program whose CPUs wait for one another loses time whenever any of them is away: what hits all at once it loses
//! once, what comes at unlike times up to once for each CPU (docs/method.md, section 7.4; Petrini, Kerbyson and Pakin
//! 2003). What coincides is found by [`crate::cpus`]; who did it, kernel events say.

use super::{Case, Phenomenon, always, figure};
use crate::cpus::{self, Synchronous};
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::{Cause, Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::SynchronousGaps,
    recognise,
    same: always,
    settle: |_, _| true,
    consequence: |finding, _| figure(finding, |gaps: &evidence::SynchronousGaps| gaps.together),
};

/// What is not below this is no probability that anybody can check.
const SMALLEST_P: f64 = 1e-300;
/// Share of the time from which on its cost is worth a clause.
const NOTICEABLE: f64 = 1e-6;

/// A set of CPUs belongs to the first of its series.
fn recognise(case: Case<'_>) -> Vec<Finding> {
    let all = case.analysed.across.synchronous.iter();
    all.filter(|found| found.series.first() == Some(&case.index))
        .map(finding)
        .collect()
}

fn finding(found: &Synchronous) -> Finding {
    let causes: Vec<&Cause> = found.causes.iter().map(|cause| &cause.0).collect();
    let per_second = found.number as f64 / found.seconds.max(f64::MIN_POSITIVE);
    let evidence = evidence::SynchronousGaps {
        apart: found.apart,
        cause_shares: found.causes.iter().map(|cause| cause.1).collect(),
        causes: listed(&causes),
        cpus: found.cpus.clone(),
        expected: found.expected,
        frequency_hz: found.regular.map(|(frequency, _)| frequency),
        median_cpus: found.median_cpus as u64,
        most_cpus: found.most_cpus as u64,
        number: found.number,
        p_value: found.ln_chance.exp().max(SMALLEST_P),
        per_second,
        share: found.share,
        skew_s: found.skew_s,
        together: found.together,
        uncertainty_hz: found.regular.map(|(_, uncertainty)| uncertainty),
    };
    Finding {
        kind: PHENOMENON.kind,
        series: found.series.clone(),
        certainty: if found.named {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
        summary: sentence(found, per_second),
        evidence: evidence.into(),
        next_step: next_step(found, &causes),
    }
}

fn sentence(found: &Synchronous, per_second: f64) -> String {
    let some = if found.median_cpus < found.cpus.len() {
        format!(", {} of them as a rule", found.median_cpus)
    } else {
        String::new()
    };
    let regular = found
        .regular
        .map_or(String::new(), |(frequency, uncertainty)| {
            format!(
                ", regularly at {}",
                format::frequency(frequency, uncertainty)
            )
        });
    let who = match found.causes.first() {
        Some((cause, _)) if found.named => format!(" ({})", cause_phrase(cause)),
        Some((cause, share)) if cause.is_named() => {
            format!(
                " ({} of their gaps there: {cause})",
                format::percent(*share)
            )
        }
        _ => String::new(),
    };
    let cost = if found.together >= NOTICEABLE {
        format!(
            " A program that waits for all of them loses {} of its time to it, and up to {} if the same gaps came at unlike times.",
            format::percent(found.together),
            format::percent(found.apart.min(1.0)),
        )
    } else {
        String::new()
    };
    format!(
        "CPUs {} are away at the same time{who}{some}: {per_second:.1} times a second{regular}, {} times where chance makes {:.1}, begins {} apart in the median; {} of their gap time.{cost}",
        cpus::list(&found.cpus),
        found.number,
        found.expected,
        format::duration(found.skew_s * 1e9),
        format::percent(found.share.min(1.0)),
    )
}

/// As one text.
fn listed(causes: &[&Cause]) -> String {
    let words: Vec<String> = causes.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// A cause within brackets.
fn cause_phrase(cause: &Cause) -> String {
    match cause {
        Cause::Host => "the host takes them".to_owned(),
        Cause::Tick => "their timer ticks are aligned".to_owned(),
        other => other.to_string(),
    }
}

fn next_step(found: &Synchronous, causes: &[&Cause]) -> Option<String> {
    if !found.named && causes.iter().any(|cause| !cause.is_named()) {
        return Some(
            "bandscope record --cpus all --trace on: the kernel's events say who does it"
                .to_owned(),
        );
    }
    match causes.first().filter(|_| found.named)? {
        Cause::Tick => Some(
            "skew_tick=1 at boot moves the ticks of the CPUs apart; nohz_full= stops most of them"
                .to_owned(),
        ),
        Cause::Interrupt(name) if name.starts_with("call_function") => Some(
            "who unmaps or protects memory, or changes code, interrupts all CPUs that run the same program: trace tlb:tlb_flush and ipi:* to see who"
                .to_owned(),
        ),
        _ => None,
    }
}
