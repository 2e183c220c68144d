//! `synchronous-gaps`: gaps that hit several CPUs at once, far more often than chance would.
//!
//! A program whose CPUs wait for one another loses time whenever any of them is away: what hits all at once it loses
//! once, what comes at unlike times up to once for each CPU (docs/method.md, section 7.4; Petrini, Kerbyson and Pakin
//! 2003). What coincides is found by [`crate::cpus`]; who did it, kernel events say.

use super::{Analysed, Case, Phenomenon, always, figure};
use crate::cpus::Synchronous;
use crate::periods::signals::p_value;
use bandscope_recording::cpu_list;
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Cause, Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::SynchronousGaps,
    recognise,
    same: always,
    settle: |_, _| true,
    consequence: |finding, _| figure(finding, |gaps: &evidence::SynchronousGaps| gaps.together),
    remedy,
};

fn remedy(finding: &Finding, analysed: Analysed<'_>) -> Option<Remedy> {
    let all = analysed.across.synchronous.iter();
    let found = all
        .into_iter()
        .find(|found| found.series == finding.series)?;
    let mut causes = found.causes.iter().map(|cause| &cause.0);
    if !found.named && causes.any(|cause| !cause.is_named()) {
        return Some(remedies::trace_events("all"));
    }
    match &found.causes.first().filter(|_| found.named)?.0 {
        Cause::Tick => Some(remedies::skew_ticks()),
        Cause::Interrupt(name) if name.starts_with("call_function") => {
            Some(remedies::trace_function_calls())
        }
        _ => None,
    }
}

/// Share of the time from which on its cost is worth a clause.
const NOTICEABLE: f64 = 1e-6;

/// A set of CPUs belongs to the first of its series.
fn recognise(case: Case<'_>) -> Vec<Finding> {
    let all = case.analysed.across.synchronous.iter();
    all.filter(|found| found.series.first() == Some(&case.index))
        .map(|found| finding(found, case.analysed))
        .collect()
}

fn finding(found: &Synchronous, analysed: Analysed<'_>) -> Finding {
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
        p_value: p_value(found.ln_chance),
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
        summary: sentence(found, per_second, analysed),
        evidence: evidence.into(),
        next_step: None,
    }
}

fn sentence(found: &Synchronous, per_second: f64, analysed: Analysed<'_>) -> String {
    let regular = found
        .regular
        .map_or(String::new(), |(frequency, uncertainty)| {
            format!(
                ", regularly at {}",
                format::frequency(frequency, uncertainty)
            )
        });
    let who = match found.causes.first() {
        Some((cause, _)) if found.named => format!(" ({})", cause_phrase(cause, analysed)),
        Some((cause, share)) if cause.is_named() => {
            format!(" ({} of them {cause})", format::percent(*share))
        }
        _ => String::new(),
    };
    let cost = if found.together >= NOTICEABLE {
        format!(
            " A program that waits for all of them loses {} to it, and would lose {} to the same gaps at unlike times.",
            format::percent(found.together),
            format::percent(found.apart.min(1.0)),
        )
    } else {
        String::new()
    };
    let some = if found.median_cpus < found.cpus.len() {
        format!(" As a rule it is {} of them.", found.median_cpus)
    } else {
        String::new()
    };
    format!(
        "CPUs {} are away at the same time{who}: {} times a second{regular}.{some} \
         That is {} of their gap time: {} times where chance makes {:.1}, begins {} apart in the median.{cost}",
        cpu_list::written(&found.cpus),
        format::per_second(per_second, 1),
        format::percent(found.share.min(1.0)),
        found.number,
        found.expected,
        format::duration(found.skew_s * 1e9),
    )
}

/// As one text.
fn listed(causes: &[&Cause]) -> String {
    let words: Vec<String> = causes.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// A cause within brackets.
fn cause_phrase(cause: &Cause, analysed: Analysed<'_>) -> String {
    match cause {
        Cause::Host => match analysed.manifest.machine.known_hypervisor() {
            Some(_) => "the host takes them".to_owned(),
            None => "firmware or a host takes them".to_owned(),
        },
        Cause::Tick => "their timer ticks are aligned".to_owned(),
        other => other.to_string(),
    }
}
