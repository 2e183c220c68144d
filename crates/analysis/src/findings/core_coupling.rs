//! `core-coupling`: the pace of one CPU changes when another's does, or when another is away.
//!
//! Published: a core's turbo step follows another core's activity. Cores share a clock, a power budget, or, as threads of one core, everything: all of these show
//! as changes of pace that keep a constant lag ([`crate::cpus`]). A third one that both follow would look the same, so it is `likely` at most;
//! the frequency of both would decide.

use super::{Analysed, Case, Phenomenon, always};
use crate::cpus::{Coupling, Source};
use crate::periods::signals::p_value;
use bandscope_recording::cpu_list;
use bandscope_report::evidence::{self, FollowedEvent, OfKind};
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::CoreCoupling,
    recognise,
    same: always,
    settle: |_, _| true,
    // As bistable-pace and frequency-steps, whose cause it is.
    consequence: |_, series| {
        series.ledger.pace_ns.total() as f64 / (series.ledger.wall_ns as f64).max(1.0)
    },
    remedy,
};

fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    let coupling = evidence::CoreCoupling::of(&finding.evidence)?;
    Some(remedies::compare_frequencies(
        coupling.leader,
        coupling.follower,
    ))
}

/// A set of CPUs belongs to the first of its series.
fn recognise(case: Case<'_>) -> Vec<Finding> {
    let all = case.analysed.across.couplings.iter();
    all.filter(|found| found.series.first() == Some(&case.index))
        .map(finding)
        .collect()
}

fn finding(found: &Coupling) -> Finding {
    let evidence = evidence::CoreCoupling {
        cpus: found.cpus.clone(),
        expected: found.expected,
        follower: found.follower,
        lag_s: found.lag_s,
        leader: found.leader,
        leader_ratio: found.leader_ratio,
        number: found.number,
        p_value: p_value(found.ln_chance),
        ratio: found.ratio,
        share: found.share,
        width_s: found.width_s,
        with: match found.source {
            Source::Pace => FollowedEvent::Pace,
            Source::GapBegins => FollowedEvent::GapBegins,
            Source::GapEnds => FollowedEvent::GapEnds,
        },
    };
    Finding {
        kind: PHENOMENON.kind,
        series: found.series.clone(),
        certainty: Certainty::Likely,
        summary: sentence(found),
        evidence: evidence.into(),
        next_step: None,
    }
}

fn sentence(found: &Coupling) -> String {
    let (leader, follower) = (found.leader, found.follower);
    let lag = if found.lag_s.abs() < found.width_s / 2.0 {
        format!("within {} of", format::duration(found.width_s * 1e9))
    } else {
        let side = if found.lag_s < 0.0 { "before" } else { "after" };
        format!("{} {side}", format::duration(found.lag_s.abs() * 1e9))
    };
    let event = match found.source {
        Source::Pace => "a change there",
        Source::GapBegins => "the begin of a long gap there",
        Source::GapEnds => "the end of a long gap there",
    };
    let ratio = match found.leader_ratio {
        Some(other) => format!("{:.3} ({other:.3} on CPU {leader})", found.ratio),
        None => format!("{:.3}", found.ratio),
    };
    let others = if found.cpus.len() > 2 {
        format!(
            " All of CPUs {} hang together.",
            cpu_list::written(&found.cpus)
        )
    } else {
        String::new()
    };
    format!(
        "The pace of CPU {follower} goes with CPU {leader}: {} changes come {lag} {event}. They are by a ratio of {ratio}; chance makes {:.1}.{others}",
        found.number, found.expected,
    )
}
