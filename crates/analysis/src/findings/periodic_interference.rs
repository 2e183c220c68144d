//! `periodic-interference`: time lost at a constant frequency, such as a timer tick.
//!
//! [`crate::periods`] finds the signals, and this file judges them. Gaps show it directly. In the residual of one rate alone it might be the measurement's own or an alias, which a second
//! rate tells apart; what is known to be either is not interference.

use super::{
    Analysed, Case, Phenomenon, SHORTEST_NS, agree, cpu, figure, first_series, is_alone, is_close,
    name_rate, subject,
};
use crate::gaps::naming::bare_timer;
use crate::gaps::quota::stopped_by;
use bandscope_recording::manifest::EventsState;
use bandscope_report::evidence::{self, OfKind};
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{
    Cause, CauseSource, Certainty, Finding, Kind, Origin, SeenIn, Series, Signal,
};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::PeriodicInterference,
    recognise,
    // A few uncertainties of a run of seconds.
    same: |known, new| {
        agree(known, new, |known: &evidence::PeriodicInterference, new| {
            // What one series alone can name is no contradiction.
            let causes = known.cause.as_ref().zip(new.cause.as_ref());
            is_close(known.frequency_hz, new.frequency_hz, SAME_HZ)
                && causes.is_none_or(|(known, new)| known == new)
        })
    },
    settle,
    consequence: |finding, _| {
        figure(finding, |periodic: &evidence::PeriodicInterference| {
            periodic.frequency_hz * periodic.ns_per_event / 1e9
        })
    },
    remedy,
};

/// What names it, or tells it from a frequency of the sampling.
fn remedy(finding: &Finding, analysed: Analysed<'_>) -> Option<Remedy> {
    let periodic = evidence::PeriodicInterference::of(&finding.evidence)?;
    let mut series = finding.series.iter().map(|&index| &analysed.series[index]);
    let signals = &series.next()?.signals;
    let is_its = |signal: &&Signal| is_close(signal.frequency_hz, periodic.frequency_hz, SAME_HZ);
    let sampled = signals.iter().find(is_its).is_some_and(is_sampled);
    // Where they were recorded already they name no more.
    let traced = analysed.manifest.events.state == EventsState::On;
    if periodic.cause_by == Some(CauseSource::Events) {
        None
    } else if sampled {
        Some(remedies::other_rates(
            "whether it keeps its frequency at both rates",
        ))
    } else {
        (!traced).then(|| remedies::trace_events(&cpu(first_series(finding, analysed))))
    }
}

/// Relative tolerance within which two series have one frequency.
const SAME_HZ: f64 = 1e-4;
/// A part per million of the time is nobody's problem; the list of signals still holds it.
const MIN_SHARE: f64 = 1e-6;

/// How far a period of the kernel's may be from its name: its clock is disciplined to some hundred ppm.
const AS_NAMED: f64 = 1e-3;
/// Standard deviations within which two frequencies are the same.
const SAME_DEVIATIONS: f64 = 4.0;
/// Share of the periods with an event, in which a train that the kernel names is certain.
const EACH_TIME: f64 = 0.9;
/// Fewer periods than this in a series make no more than a possible one, unless the kernel names each: chance makes three or four gaps regular.
const MIN_PERIODS: f64 = 10.0;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    case.series
        .signals
        .iter()
        .filter(|signal| !matches!(signal.origin, Origin::Sampling | Origin::Alias))
        .filter(|signal| share(signal) >= MIN_SHARE && signal.ns_per_event >= SHORTEST_NS)
        .filter(|signal| !is_of_a_quota(signal, case))
        .filter(|signal| !is_way_to_an_interrupt(signal, case.series))
        .filter(|signal| !is_of_a_pattern(signal, case))
        // What is more likely the measurement's own is not interference, too.
        .filter(|signal| {
            super::sampling_artefact::certainty(signal, case.series) < Some(Certainty::Likely)
        })
        .map(|signal| finding(case, signal))
        .collect()
}

/// Whether it is a quota that stops the thread each period, which has a finding of its own; or what comes with that: the interrupts and
/// tasks that were put off for it.
fn is_of_a_quota(signal: &Signal, case: Case<'_>) -> bool {
    let has_stops = (case.series.gaps.iter())
        .any(|gaps| gaps.causes.iter().any(|cause| cause.cause.is_throttled()));
    let period_us = stopped_by(case.analysed.manifest).and_then(|quota| quota.period_us);
    // Each period has its stop and its end; without kernel events both look alike.
    let is_known = case.analysed.manifest.events.state == EventsState::On;
    let most = if is_known { 1.0 } else { 2.0 };
    let is_its_period = period_us.is_some_and(|us| {
        let turns = signal.frequency_hz * us as f64 / 1e6;
        let whole = turns.round().clamp(1.0, most);
        (turns / whole - 1.0).abs() < AS_NAMED
    });
    signal.cause.as_ref().is_some_and(Cause::is_throttled) || (has_stops && is_its_period)
}

/// Whether it is the host's part of an interrupt that has a period: the way through the host to this kernel and back.
fn is_way_to_an_interrupt(signal: &Signal, series: &Series) -> bool {
    let is_host = |signal: &Signal| signal.cause == Some(Cause::Host);
    let mut named = (series.signals.iter())
        .filter(|other| other.cause_by == Some(CauseSource::Events) && !is_host(other));
    is_host(signal)
        && named.any(|other| {
            let apart = (signal.frequency_hz - other.frequency_hz).abs();
            apart <= SAME_DEVIATIONS * signal.uncertainty_hz.hypot(other.uncertainty_hz)
        })
}

/// Whether it is a line of a short pattern of quanta, which has a finding of its own.
fn is_of_a_pattern(signal: &Signal, case: Case<'_>) -> bool {
    let Some(pattern) = &case.seen.pattern else {
        return false;
    };
    let tooth = case.series.rate_hz / pattern.quanta as f64;
    let nearest = (signal.frequency_hz / tooth).round() * tooth;
    signal.seen_in == SeenIn::Residual
        && signal.origin == Origin::Unresolved
        && (signal.frequency_hz - nearest).abs() <= SAME_DEVIATIONS * signal.uncertainty_hz
}

/// Share of the time that a signal takes.
fn share(signal: &Signal) -> f64 {
    signal.ns_per_event * signal.frequency_hz / 1e9
}

fn finding(case: Case<'_>, signal: &Signal) -> Finding {
    let sampled = is_sampled(signal);
    Finding {
        kind: Kind::PeriodicInterference,
        series: vec![case.index],
        // Which interrupt it is only kernel events decide, and that it comes each time only a period with nearly no exception. Of the host
        // they only know that it was nobody else.
        certainty: if signal.cause_by == Some(CauseSource::Events)
            && signal.cause != Some(Cause::Host)
            && signal.occupied >= Some(EACH_TIME)
        {
            Certainty::Certain
        } else if sampled || signal.frequency_hz * case.series.duration_s < MIN_PERIODS {
            Certainty::Possible
        } else {
            Certainty::Likely
        },
        summary: sentence(signal, case.series),
        evidence: evidence::PeriodicInterference {
            cause: signal.cause.clone(),
            cause_by: signal.cause_by,
            frequency_hz: signal.frequency_hz,
            ns_per_event: signal.ns_per_event,
            uncertainty_hz: signal.uncertainty_hz,
        }
        .into(),
        next_step: None,
    }
}

fn sentence(signal: &Signal, series: &Series) -> String {
    let cause = signal.cause.as_ref().unwrap_or(&Cause::Unnamed);
    let mut causes = series.gaps.iter().flat_map(|gaps| &gaps.causes);
    // Of several processes it is not known whose the period is.
    let alone = causes.find(|one| one.cause == *cause && one.processes.len() == 1);
    format!(
        "{} loses {} to {}{} at {}, {} of its time.{}",
        subject(series),
        format::duration(signal.ns_per_event),
        format::cause_in_sentence(cause),
        format::ids(alone.map_or(&[], |one| &one.processes)),
        format::frequency(signal.frequency_hz, signal.uncertainty_hz),
        format::percent(share(signal)),
        match (signal.cause_by, signal.cause.as_ref()) {
            (Some(CauseSource::Rate), Some(Cause::Host)) =>
                " The kernel counted nothing that came so often.",
            (Some(CauseSource::Rate), _) => " The kernel counted as many.",
            _ => "",
        },
    )
}

/// Whether only what is left beside the gaps shows it, so that it may be a frequency of the sampling.
fn is_sampled(signal: &Signal) -> bool {
    signal.seen_in == SeenIn::Residual && signal.origin != Origin::External
}

/// Says of several series what each period cost in all of them, by the time of each, and the frequency that is known best.
fn speak_for_all(finding: &mut Finding, analysed: Analysed<'_>) {
    let Some(evidence) = evidence::PeriodicInterference::of_mut(&mut finding.evidence) else {
        return;
    };
    let (hz, cause) = (evidence.frequency_hz, evidence.cause.as_ref());
    let is_same = |signal: &&Signal| {
        (signal.frequency_hz / hz - 1.0).abs() <= SAME_HZ && signal.cause.as_ref() == cause
    };
    let mine: Vec<(&Series, &Signal)> = (finding.series.iter())
        .map(|&index| &analysed.series[index])
        .filter_map(|series| Some((series, series.signals.iter().find(is_same)?)))
        .collect();
    let sharpest = (mine.iter()).min_by(|a, b| a.1.uncertainty_hz.total_cmp(&b.1.uncertainty_hz));
    let Some(&(series, sharpest)) = sharpest.filter(|_| mine.len() > 1) else {
        return;
    };
    let wall = |series: &Series| series.ledger.wall_ns as f64;
    let all: f64 = mine.iter().map(|one| wall(one.0)).sum();
    let mean = mine
        .iter()
        .map(|one| one.1.ns_per_event * wall(one.0))
        .sum::<f64>()
        / all;
    let signal = Signal {
        ns_per_event: mean,
        ..sharpest.clone()
    };
    finding.summary = sentence(&signal, series);
    evidence.frequency_hz = signal.frequency_hz;
    evidence.uncertainty_hz = signal.uncertainty_hz;
    evidence.ns_per_event = signal.ns_per_event;
}

/// What a finding is about.
fn cause(finding: &Finding) -> Option<&Cause> {
    evidence::PeriodicInterference::of(&finding.evidence)?
        .cause
        .as_ref()
}

/// The task that a timer wakes, or the timer that wakes a task: which of the two stands out in a series is chance.
fn other_half(finding: &Finding) -> Option<Cause> {
    match cause(finding)? {
        Cause::Timer(name) => Some(Cause::Task(name.clone())),
        Cause::Task(name) => Some(Cause::Timer(name.clone())),
        _ => None,
    }
}

/// Whether another series of the same CPU and work kernel has a period of this cause, of a frequency within so much of it, as a share.
fn is_seen_elsewhere(
    finding: &Finding,
    cause: &Cause,
    within: f64,
    analysed: Analysed<'_>,
) -> bool {
    let hz = figure(finding, |one: &evidence::PeriodicInterference| {
        one.frequency_hz
    });
    let mine = first_series(finding, analysed);
    let is_other = |(index, other): &(usize, &Series)| {
        !finding.series.contains(index)
            && (other.cpu, &other.kernel, &other.origin) == (mine.cpu, &mine.kernel, &mine.origin)
    };
    (analysed.series.iter().enumerate())
        .filter(is_other)
        .flat_map(|(_, other)| &other.signals)
        .any(|signal| {
            signal.cause.as_ref() == Some(cause) && is_close(signal.frequency_hz, hz, within)
        })
}

/// The cause that a count gave it.
fn counted(finding: &Finding) -> Option<&Cause> {
    let periodic = evidence::PeriodicInterference::of(&finding.evidence)?;
    let cause = periodic.cause.as_ref();
    cause.filter(|_| periodic.cause_by == Some(CauseSource::Rate))
}

/// A count of the timer's interrupts beside the tick's is of many timers, so it does not confirm a period. A single timer that the kernel sets
/// again and again is as steady as the clock that times are read from: to 2e-8 in five seconds where it was one, 3e-6 and more where it was chance
/// (`machines/real`, without root).
fn is_of_many_timers(finding: &Finding) -> bool {
    const STEADY: f64 = 1e-6;
    counted(finding) == Some(&bare_timer())
        && evidence::PeriodicInterference::of(&finding.evidence)
            .is_some_and(|one| one.uncertainty_hz > STEADY * one.frequency_hz)
}

/// Something periodic in the machine shows at every rate; what does not is no more than possible.
fn settle(finding: &mut Finding, analysed: Analysed<'_>) -> bool {
    speak_for_all(finding, analysed);
    let other_half = other_half(finding);
    let has_other_half =
        other_half.is_some_and(|half| is_seen_elsewhere(finding, &half, SAME_HZ, analysed));
    if is_alone(finding, analysed) {
        // A CPU has one: the skirt of a tick that the other rate shows, or what comes nearly as often by chance.
        if cause(finding) == Some(&Cause::Tick)
            && is_seen_elsewhere(finding, &Cause::Tick, AS_NAMED, analysed)
        {
            return false;
        }
        if has_other_half {
            // The task is said, at both rates.
            let is_timer = cause(finding).is_some_and(|cause| matches!(cause, Cause::Timer(_)));
            return !is_timer;
        }
        // The other rates were asked for it in particular.
        if finding.certainty == Certainty::Possible || is_of_many_timers(finding) {
            return false;
        }
        // What the kernel counted as often has a second witness; of the host's periods there is no count.
        if counted(finding).is_none_or(|cause| *cause == Cause::Host) {
            finding.certainty = finding.certainty.min(Certainty::Possible);
        }
    }
    name_rate(finding, analysed)
}
