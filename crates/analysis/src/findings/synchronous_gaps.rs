//! `synchronous-gaps`: gaps that hit several CPUs at once, far more often than chance would.
//!
//! A program whose CPUs wait for one another loses time whenever any of them is away: what hits all at once it loses
//! once, what comes at unlike times up to once for each CPU (docs/method.md, section 7.4; Petrini, Kerbyson and Pakin
//! 2003). What coincides is found by [`crate::cpus`]; who did it, kernel events say.

use super::{Case, Phenomenon, number};
use crate::cpus::{self, Synchronous};
use crate::report::{Certainty, Evidence, Finding};
use crate::words;

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: "synchronous-gaps",
    recognise,
    same: &[],
    settle: |_, _| true,
    consequence: |finding, _| number(finding, "together"),
};

/// What is not below this is no probability that anybody can check.
const SMALLEST_P: f64 = 1e-300;
/// Share of the time from which on its cost is worth a clause.
const NOTICEABLE: f64 = 1e-6;

/// A set of CPUs belongs to the first of its series.
fn recognise(case: Case<'_>) -> Vec<Finding> {
    let all = case.everything.across.synchronous.iter();
    all.filter(|found| found.series.first() == Some(&case.index))
        .map(finding)
        .collect()
}

fn finding(found: &Synchronous) -> Finding {
    let causes: Vec<&str> = found.causes.iter().map(|cause| &*cause.0).collect();
    let shares = found.causes.iter().map(|cause| cause.1).collect();
    let cpus = found.cpus.iter().map(|cpu| f64::from(*cpu)).collect();
    let per_second = found.number as f64 / found.seconds.max(f64::MIN_POSITIVE);
    let mut evidence = std::collections::BTreeMap::from([
        ("cpus", Evidence::Numbers(cpus)),
        ("number", Evidence::Number(found.number as f64)),
        ("expected", Evidence::Number(found.expected)),
        (
            "p_value",
            Evidence::Number(found.ln_chance.exp().max(SMALLEST_P)),
        ),
        ("per_second", Evidence::Number(per_second)),
        ("median_cpus", Evidence::Number(found.median_cpus as f64)),
        ("most_cpus", Evidence::Number(found.most_cpus as f64)),
        ("skew_s", Evidence::Number(found.skew_s)),
        ("share", Evidence::Number(found.share)),
        ("together", Evidence::Number(found.together)),
        ("apart", Evidence::Number(found.apart)),
        ("causes", Evidence::Text(causes.join(", "))),
        ("cause_shares", Evidence::Numbers(shares)),
    ]);
    if let Some((frequency, uncertainty)) = found.regular {
        evidence.insert("frequency_hz", Evidence::Number(frequency));
        evidence.insert("uncertainty_hz", Evidence::Number(uncertainty));
    }
    Finding {
        kind: PHENOMENON.kind,
        series: found.series.clone(),
        certainty: if found.named {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
        summary: sentence(found, per_second),
        evidence,
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
                words::frequency(frequency, uncertainty)
            )
        });
    let who = match found.causes.first() {
        Some((cause, _)) if found.named => format!(" ({})", cause_phrase(cause)),
        Some((cause, share)) if is_name(cause) => {
            format!(" ({} of their gaps there: {cause})", words::percent(*share))
        }
        _ => String::new(),
    };
    let cost = if found.together >= NOTICEABLE {
        format!(
            " A program that waits for all of them loses {} of its time to it, and up to {} if the same gaps came at unlike times.",
            words::percent(found.together),
            words::percent(found.apart.min(1.0)),
        )
    } else {
        String::new()
    };
    format!(
        "CPUs {} are away at the same time{who}{some}: {per_second:.1} times a second{regular}, {} times where chance makes {:.1}, begins {} apart in the median; {} of their gap time.{cost}",
        cpus::list(&found.cpus),
        found.number,
        found.expected,
        words::duration(found.skew_s * 1e9),
        words::percent(found.share.min(1.0)),
    )
}

/// Whether kernel events say so.
fn is_name(cause: &str) -> bool {
    !matches!(cause, "unnamed" | "preempted")
}

/// A cause within brackets.
fn cause_phrase(cause: &str) -> String {
    match cause {
        "host" => "the host takes them".to_owned(),
        "tick" => "their timer ticks are aligned".to_owned(),
        other => other.to_owned(),
    }
}

fn next_step(found: &Synchronous, causes: &[&str]) -> Option<String> {
    if !found.named && causes.iter().any(|cause| !is_name(cause)) {
        return Some(
            "bandscope record --cpus all --trace on: the kernel's events say who does it"
                .to_owned(),
        );
    }
    let cause = *causes.first().filter(|_| found.named)?;
    match cause.split_once(':') {
        None if cause == "tick" => Some(
            "skew_tick=1 at boot moves the ticks of the CPUs apart; nohz_full= stops most of them"
                .to_owned(),
        ),
        Some(("irq", name)) if name.starts_with("call_function") => Some(
            "who unmaps or protects memory, or changes code, interrupts all CPUs that run the same program: trace tlb:tlb_flush and ipi:* to see who"
                .to_owned(),
        ),
        _ => None,
    }
}
