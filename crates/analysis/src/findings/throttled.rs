//! `throttled`: the kernel kept the thread from running because its CPU time is limited: by a quota, or as a real-time task.
//!
//! A limit that is used up leaves the CPU to the idle task while the thread would run, and the switch of tasks says both. Without kernel events
//! the control group's own counts tell of it: preemptions as long as its stops are on average are booked to them.

use super::pooled::Pooled;
use super::{Analysed, Case, Phenomenon, agree, figure, name, subject};
use crate::gaps::quota::{allowed, stopped_by};
use crate::ledger::stops;
use crate::periods::rates::{self, cpus_of};
use bandscope_recording::manifest::{EventsState, Quota};
use bandscope_report::evidence::{self, OfKind};
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Cause, Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::Throttled,
    recognise,
    same: |known, new| {
        agree(known, new, |known: &evidence::Throttled, new| {
            known.cause == new.cause
        })
    },
    settle: |_, _| true,
    // What a quota withholds is lost, whatever had the CPU meanwhile.
    consequence: |finding, _| {
        figure(finding, |stop: &evidence::Throttled| {
            stop.allowed
                .map_or(stop.share, |share| stop.share.max(1.0 - share))
        })
    },
    remedy,
};

fn remedy(finding: &Finding, analysed: Analysed<'_>) -> Option<Remedy> {
    let throttled = evidence::Throttled::of(&finding.evidence)?;
    let manifest = analysed.manifest;
    match throttled.cause {
        Cause::RealTimeThrottled => {
            let limit = manifest.machine.realtime_limit_us;
            Some(remedies::lift_realtime_limit(limit.map(|limit| limit[0])))
        }
        Cause::QuotaThrottled => {
            let known = stopped_by(manifest).filter(|_| throttled.group.is_some());
            Some(remedies::raise_quota(known))
        }
        Cause::Stopped => Some(remedies::trace_stops()),
        _ => None,
    }
}

/// As many times as many stops as the gaps have are more than what begins and ends the run can leave out; chosen, not measured.
const MANY_MORE: f64 = 1.5;

/// Share of the time from which on it is worth a sentence, as for any cause that is named.
const MIN_SHARE: f64 = 1e-4;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let wall = (case.series.ledger.wall_ns as f64).max(1.0);
    let causes = (case.series.gaps.iter()).flat_map(|gaps| &gaps.causes);
    let findings: Vec<Finding> = causes
        .filter(|cause| cause.cause.is_throttled())
        .filter(|cause| cause.lost_ns as f64 / wall >= MIN_SHARE)
        .map(|cause| finding(case, &cause.cause))
        .collect();
    match findings.is_empty() {
        true => (counted_only(case).or_else(|| off_the_run_queue(case)))
            .into_iter()
            .collect(),
        false => findings,
    }
}

/// Without kernel events: the thread was away for longer than it waited for the CPU, by its own statistics. So something had taken it
/// off the run queue.
fn off_the_run_queue(case: Case<'_>) -> Option<Finding> {
    let Case {
        series, analysed, ..
    } = case;
    let stopped = stops::off_the_run_queue(analysed.series, series.cpu, analysed.manifest)?;
    // Of all series together, as the time off the run queue is.
    let mine = analysed.series.iter().filter(|one| one.cpu == series.cpu);
    let wall: f64 = mine.map(|one| one.ledger.wall_ns as f64).sum();
    let share = stopped / wall.max(1.0);
    (share >= MIN_SHARE).then(|| Finding {
        kind: Kind::Throttled,
        series: vec![case.index],
        certainty: Certainty::Likely,
        summary: format!(
            "A signal or the freezer of a control group stopped the measuring thread of {} for {} ({}). It was away so much longer \
             than it waited for the CPU.",
            name(series),
            format::duration(stopped),
            format::percent(share),
        ),
        evidence: evidence::Throttled {
            lost_ns: Some(stopped),
            ..at_least(Cause::Stopped, share)
        }
        .into(),
        next_step: None,
    })
}

/// A group that the kernel counted to be stopped, though none of the gaps tells: other tasks had the CPU meanwhile.
fn counted_only(case: Case<'_>) -> Option<Finding> {
    let manifest = case.analysed.manifest;
    let group = stopped_by(manifest).filter(|_| rates::is_one_recording(case.analysed.series))?;
    let run_ns = manifest.settings.duration_s * 1e9;
    // Of the CPUs that were stopped, all together: those measured are some of them, so it is the most for their mean.
    let cpus = cpus_of(case.analysed.series).max(1);
    let share = (group.throttled_ns as f64 / run_ns / cpus as f64).min(1.0);
    if run_ns <= 0.0 || share < MIN_SHARE || case.series.gaps.is_none() {
        return None;
    }
    let mut evidence = at_least(Cause::QuotaThrottled, share);
    let limit = limit_of(group, &mut evidence);
    Some(Finding {
        kind: Kind::Throttled,
        series: vec![case.index],
        certainty: Certainty::Likely,
        summary: format!(
            "The CPU quota{limit} stopped this program while other tasks had {}.{}",
            name(case.series),
            counts_of(group, case, &mut evidence),
        ),
        evidence: evidence.into(),
        next_step: None,
    })
}

/// What is known of every stop.
fn at_least(cause: Cause, share: f64) -> evidence::Throttled {
    evidence::Throttled {
        cause,
        share,
        ..evidence::Throttled::default()
    }
}

/// Microseconds as the kernel has them: of a limit that there is, far below the most.
fn whole(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX)
}

/// The limit in words, and as evidence.
fn limit_of(group: &Quota, evidence: &mut evidence::Throttled) -> String {
    match (group.quota_us, group.period_us) {
        (Some(quota), Some(period)) => limit(whole(quota), whole(period), evidence),
        _ => String::new(),
    }
}

fn limit(quota_us: i64, period_us: i64, evidence: &mut evidence::Throttled) -> String {
    evidence.quota_us = Some(quota_us);
    evidence.period_us = Some(period_us);
    let [quota, period] = [quota_us, period_us].map(|us| format::duration(us as f64 * 1e3));
    format!(" ({quota} in each {period})")
}

/// What the kernel counted and what the quota allows, in words, and as evidence.
fn counts_of(group: &Quota, case: Case<'_>, evidence: &mut evidence::Throttled) -> String {
    evidence.group = Some(group.group.clone());
    evidence.periods = Some(group.periods);
    evidence.throttled_periods = Some(group.throttled);
    evidence.throttled_ns = Some(group.throttled_ns);
    evidence.allowed = allowed(group, cpus_of(case.analysed.series));
    let most = evidence.allowed.map(|share| {
        let share = format::percent(share);
        format!(" So it allows {share} of the time, whatever else runs.")
    });
    format!(
        " The kernel counted {} of {} periods in which {} was stopped, for {} in all.{}",
        group.throttled,
        group.periods,
        group.group,
        format::duration(group.throttled_ns as f64),
        most.unwrap_or_default(),
    )
}

/// Periods in which a group was stopped, for each second of all its periods.
fn counted_per_second(group: &Quota) -> f64 {
    let period_s = group.period_us.unwrap_or(0) as f64 / 1e6;
    let seconds = group.periods as f64 * period_s;
    match seconds > 0.0 {
        true => group.throttled as f64 / seconds,
        false => 0.0,
    }
}

fn finding(case: Case<'_>, cause: &Cause) -> Finding {
    let manifest = case.analysed.manifest;
    // Of all series, as the ledger of the report has it.
    let pooled = Pooled::new(cause, case);
    // With several recordings the manifest is that of one.
    let alone = rates::is_one_recording(case.analysed.series);
    let realtime = *cause == Cause::RealTimeThrottled;
    let group = stopped_by(manifest).filter(|_| alone && !realtime);
    let limit_us = manifest.machine.realtime_limit_us.filter(|_| realtime);
    let traced = manifest.events.state == EventsState::On;
    // Counts that stood still contradict the events.
    let counted = match realtime {
        true => limit_us.is_none_or(|limit| limit[0] >= 0),
        false => group.is_some() || manifest.quotas.is_empty(),
    };
    let mut evidence = evidence::Throttled {
        longest_ns: Some(pooled.longest_ns),
        lost_ns: Some(pooled.lost_ns as f64),
        per_second: Some(pooled.per_second),
        ..at_least(cause.clone(), pooled.share)
    };
    let limit = match (limit_us, group) {
        (Some([runtime, period]), _) => limit(runtime, period, &mut evidence),
        (None, Some(group)) => limit_of(group, &mut evidence),
        (None, None) => String::new(),
    };
    let counts = group.map_or(String::new(), |group| counts_of(group, case, &mut evidence));
    // Another task that had the CPU during a stop has its time.
    let meanwhile = match group
        .is_some_and(|group| counted_per_second(group) > MANY_MORE * pooled.per_second)
    {
        true => "Where no other task took the CPU meanwhile, it stopped",
        false => "It stopped",
    };
    Finding {
        kind: Kind::Throttled,
        series: vec![case.index],
        certainty: match traced && counted {
            true => Certainty::Certain,
            false => Certainty::Likely,
        },
        summary: format!(
            "{} lost {} of its time to {}{limit}. {meanwhile} the measuring thread {} times a second, for up to {}.{counts}",
            subject(case.series),
            format::percent(pooled.share),
            format::cause_in_sentence(cause),
            format::per_second(pooled.per_second, 1),
            format::duration(pooled.longest_ns),
        ),
        evidence: evidence.into(),
        next_step: None,
    }
}
