//! `time-away`: what took the CPU away, by cause: gaps that kernel events name, and that are no period of their own.
//!
//! The ledger has all causes; a finding is one that takes a noticeable share and is not said already.

use super::pooled::Pooled;
use super::{Analysed, Case, Phenomenon, agree, cpu, figure, first_series, name};
use bandscope_recording::manifest::EventsState;
use bandscope_report::evidence::{self, OfKind};
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy, Tasks};
use bandscope_report::{Cause, Certainty, Chain, Finding, GapCause, Kind, Signal};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::TimeAway,
    recognise,
    same: |known, new| {
        agree(known, new, |known: &evidence::TimeAway, new| {
            known.cause == new.cause
        })
    },
    settle: |_, _| true,
    consequence: |finding, _| figure(finding, |away: &evidence::TimeAway| away.share),
    remedy,
};

/// What names the tasks, where nobody listened to it, or what moves them away.
fn remedy(finding: &Finding, analysed: Analysed<'_>) -> Option<Remedy> {
    let away = evidence::TimeAway::of(&finding.evidence)?;
    let machine = &analysed.manifest.machine;
    let series = first_series(finding, analysed);
    let mine = || (analysed.series.iter()).filter(|one| one.cpu == series.cpu);
    let of = |name| Tasks::seen(name, mine());
    match &away.cause {
        Cause::Preempted => (analysed.manifest.events.state != EventsState::On)
            .then(|| remedies::trace_events(&cpu(first_series(finding, analysed)))),
        Cause::Task(name) => remedies::move_tasks(&[series.cpu?], &[of(name)], machine)
            .or_else(|| remedies::isolate_cpu(&[series.cpu?], machine)),
        Cause::OtherTasks => remedies::isolate_cpu(&[series.cpu?], machine),
        Cause::Interrupt(name) => remedies::move_interrupts(&[series.cpu?], name, machine),
        Cause::Stopped => Some(remedies::trace_stops()),
        _ => None,
    }
}

/// Share of the time from which on a cause is worth a sentence, and causes that get one.
const MIN_SHARE: f64 = 1e-4;
const MAX_CAUSES: usize = 3;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(gaps) = &case.series.gaps else {
        return Vec::new();
    };
    let wall = (case.series.ledger.wall_ns as f64).max(1.0);
    let traced = case.analysed.manifest.events.state == EventsState::On;
    // A period of a cause says more.
    let said = |cause: &&GapCause| {
        let is_its = |signal: &Signal| {
            signal.cause.as_ref() == Some(&cause.cause)
                && signal.frequency_hz * signal.ns_per_event / 1e9 * wall
                    > 0.5 * cause.lost_ns as f64
        };
        case.series.signals.iter().any(is_its)
    };
    gaps.causes
        .iter()
        // Those have findings of their own, and what has no name at all has none.
        .filter(|cause| !matches!(cause.cause, Cause::Host | Cause::Unnamed))
        .filter(|cause| !cause.cause.is_throttled())
        // Without events it is inferred, and `throttled` says so.
        .filter(|cause| cause.cause != Cause::Stopped || traced)
        .filter(|cause| cause.lost_ns as f64 / wall >= MIN_SHARE)
        .filter(|cause| !said(cause))
        .take(MAX_CAUSES)
        .map(|cause| finding(case, cause))
        .collect()
}

/// Who is behind most of it, in a sentence of its own.
fn behind(case: Case<'_>, cause: &Cause) -> String {
    let chains = case.series.gaps.iter().flat_map(|gaps| &gaps.chains);
    let told = chains.filter(|chain| chain.is_of(cause) && !chain.ran_on());
    let of_cause: Vec<&Chain> = told.collect();
    let all: u64 = of_cause.iter().map(|chain| chain.ns).sum();
    let most = of_cause.into_iter().max_by_key(|chain| chain.ns);
    match most.filter(|chain| !chain.sender.is_empty() && 2 * chain.ns > all) {
        Some(chain) => format!(" Most of it: {}.", format::behind(chain)),
        None => String::new(),
    }
}

/// Of all series, as the ledger of the report has it.
fn finding(case: Case<'_>, cause: &GapCause) -> Finding {
    let pooled = Pooled::new(&cause.cause, case);
    Finding {
        kind: Kind::TimeAway,
        series: vec![case.index],
        // The kernel said so. That a thread was preempted it says of a signal, too.
        certainty: match &cause.cause {
            Cause::Preempted => Certainty::Likely,
            _ => Certainty::Certain,
        },
        summary: format!(
            "{}{} took {} of the time of {}: {} gaps a second, up to {} of one.{}",
            format::cause(&cause.cause),
            format::ids(&cause.processes),
            format::percent(pooled.share),
            name(case.series),
            format::per_second(pooled.per_second, 1),
            format::duration(pooled.longest_ns),
            behind(case, &cause.cause),
        ),
        evidence: evidence::TimeAway {
            cause: cause.cause.clone(),
            longest_ns: pooled.longest_ns,
            lost_ns: pooled.lost_ns,
            per_second: pooled.per_second,
            share: pooled.share,
        }
        .into(),
        next_step: None,
    }
}
