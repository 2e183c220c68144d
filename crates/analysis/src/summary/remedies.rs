//! What to do: against what the ledger of the worst CPU shows, then about the findings. Each remedy once, fixes first.

mod moments;

use super::verdict;
use bandscope_recording::Manifest;
use bandscope_recording::manifest::EventsState;
use bandscope_report::account::{Account, Loss, NOT_NAMED};
use bandscope_report::evidence::{OfKind, Throttled};
use bandscope_report::remedies::{self, Purpose, Remedy, RemedyKind, Tasks};
use bandscope_report::{Cause, Certainty, Finding, Series};
pub use moments::of_moments;

/// Share of the time from which on a loss is worth a fix.
const MIN_SHARE: f64 = 2e-3;
/// Time over that of the costliest from which on it is worth doing something.
const MIN_SHARE_OF_COSTLIEST: f64 = 0.1;

/// The remedies of a report.
pub fn all(
    series: &[Series],
    findings: &[(Finding, Option<Remedy>)],
    manifest: &Manifest,
) -> Vec<Remedy> {
    // While a quota is used up, taking other programs away gains nothing.
    let holds = |finding: &Finding| {
        let stop = Throttled::of(&finding.evidence);
        stop.is_some_and(|stop| stop.allowed.is_some())
    };
    let quota = findings.iter().filter(|(finding, _)| holds(finding));
    let mut all: Vec<Remedy> = quota.filter_map(|(_, remedy)| remedy.clone()).collect();
    all.extend(
        verdict::worst(series, manifest)
            .into_iter()
            .flat_map(|worst| of_account(&worst, manifest)),
    );
    let of_findings = findings
        .iter()
        .filter(|(finding, _)| !finding.is_side_effect());
    // A work kernel that leaves a kind of finding open asks nothing that another one answered.
    let is_answered = |(finding, remedy): &&(Finding, Option<Remedy>)| {
        let asks = remedy
            .as_ref()
            .is_some_and(|remedy| remedy.kind == RemedyKind::OtherKernels);
        let answers = |other: &(Finding, Option<Remedy>)| {
            other.0.kind == finding.kind && other.0.certainty == Certainty::Certain
        };
        asks && findings.iter().any(answers)
    };
    let open = of_findings.filter(|one| !is_answered(one));
    all.extend(open.filter_map(|(_, remedy)| remedy.clone()));
    once(all, manifest)
}

/// Each kind once, fixes first.
fn once(all: Vec<Remedy>, manifest: &Manifest) -> Vec<Remedy> {
    let mut once: Vec<Remedy> = Vec::new();
    for remedy in all {
        if once.iter().all(|known| known.kind != remedy.kind) {
            once.push(remedy);
        }
    }
    remedies::join_isolcpus(&mut once);
    once.sort_by_key(|remedy| remedy.purpose != Purpose::Fix);
    if manifest.is_imported() {
        let open = once.iter_mut();
        for remedy in open.filter(|remedy| remedy.purpose == Purpose::FindOut) {
            remedy.what += ", on the machine of the file";
        }
    }
    once
}

fn of_account(series: &[&Series], manifest: &Manifest) -> Vec<Remedy> {
    let (Some(account), Some(cpu)) = (Account::new(series, Some(manifest)), series[0].cpu) else {
        return Vec::new();
    };
    let machine = &manifest.machine;
    let untraced = manifest.events.state != EventsState::On;
    let trace = || untraced.then(|| remedies::trace_events(&cpu.to_string()));
    let noticeable =
        (account.losses.iter()).filter(|part| part.ns as f64 >= MIN_SHARE * account.wall_ns as f64);
    let mut all = Vec::new();
    for part in noticeable {
        let is_named = part.causes.iter().any(|cause| cause.0 != NOT_NAMED);
        match part.loss {
            Loss::Interruptions => all.extend(trace()),
            Loss::OtherTasks if !is_named => all.extend(trace()),
            Loss::OtherTasks => {
                let tasks = tasks(series);
                let names: Vec<&str> = tasks.iter().map(|tasks| tasks.name).collect();
                let other = remedies::wait_for_other(&[cpu], &names);
                let is_isolable = other.is_none();
                all.extend(other);
                all.extend(remedies::move_tasks(&[cpu], &tasks, machine));
                all.extend(remedies::isolate_cpu(&[cpu], machine).filter(|_| is_isolable));
            }
            Loss::Hypervisor => all.push(remedies::trace_host(&cpu.to_string())),
            Loss::Interrupts => all.extend(device(series, cpu, manifest)),
            Loss::Tick => all.extend(remedies::stop_tick(&[cpu], machine)),
            _ => {}
        }
    }
    all
}

/// Time in gaps by cause, the costliest first, of all series together.
fn by_cause<'a>(series: &[&'a Series]) -> Vec<(&'a Cause, u64)> {
    let mut causes: Vec<(&Cause, u64)> = Vec::new();
    for (cause, &ns) in series.iter().flat_map(|series| &series.ledger.gaps_ns) {
        match causes.iter_mut().find(|known| known.0 == cause) {
            Some(known) => known.1 = known.1.saturating_add(ns),
            None => causes.push((cause, ns)),
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.1));
    causes
}

/// The costliest task, then others that are worth a fix of their own: a command moves every process of a name, the reader's shell among them.
fn tasks<'a>(series: &[&'a Series]) -> Vec<Tasks<'a>> {
    let tasks = by_cause(series)
        .into_iter()
        .filter_map(|(cause, ns)| match cause {
            Cause::Task(name) => Some((Tasks::seen(name, series.iter().copied()), ns as f64)),
            _ => None,
        });
    let tasks: Vec<(Tasks<'_>, f64)> = tasks.collect();
    let wall: f64 = series.iter().map(|one| one.ledger.wall_ns as f64).sum();
    let costliest = tasks.first().map_or(0.0, |task| task.1);
    let least = (MIN_SHARE_OF_COSTLIEST * costliest).max((MIN_SHARE * wall).min(costliest));
    let enough = tasks.into_iter().filter(|task| task.1 >= least);
    enough.map(|task| task.0).collect()
}

/// The costliest device that can be sent elsewhere, where it took some of the time, or a tenth of what the costliest interrupt or timer took.
fn device(series: &[&Series], cpu: u32, manifest: &Manifest) -> Option<Remedy> {
    let mut causes = by_cause(series);
    causes.retain(|(cause, _)| matches!(cause, Cause::Interrupt(_) | Cause::Timer(_)));
    let wall: f64 = series.iter().map(|one| one.ledger.wall_ns as f64).sum();
    let costliest = causes.first()?.1 as f64;
    let least = (MIN_SHARE_OF_COSTLIEST * costliest).min(MIN_SHARE * wall);
    let enough = causes.into_iter().filter(|(_, ns)| *ns as f64 >= least);
    enough
        .filter(|(cause, _)| matches!(cause, Cause::Interrupt(_)))
        .find_map(|(cause, _)| remedies::move_interrupts(&[cpu], cause.name(), &manifest.machine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_report::{Kind, Ledger};

    fn series(gaps: &[(Cause, u64)]) -> Series {
        Series {
            cpu: Some(1),
            ledger: Ledger {
                work_ns: 1_000_000 - gaps.iter().map(|gap| gap.1).sum::<u64>(),
                wall_ns: 1_000_000,
                gaps_ns: gaps.iter().cloned().collect(),
                ..Ledger::default()
            },
            ..Series::default()
        }
    }

    pub(super) fn manifest(state: EventsState) -> Manifest {
        let mut manifest = Manifest::default();
        manifest.events.state = state;
        manifest.machine.online_cpus = Some("0-1".to_owned());
        manifest
    }

    pub(super) fn kinds(remedies: &[Remedy]) -> Vec<RemedyKind> {
        remedies.iter().map(|remedy| remedy.kind).collect()
    }

    #[test]
    fn what_takes_time_is_moved_and_what_takes_none_is_left() {
        let gaps = [
            (Cause::Task("rustc".into()), 30_000),
            (Cause::Interrupt("eth0".into()), 5_000),
            (Cause::Tick, 100),
        ];
        let all = all(&[series(&gaps)], &[], &manifest(EventsState::On));
        assert_eq!(
            kinds(&all),
            [
                RemedyKind::MoveTasks,
                RemedyKind::IsolateCpu,
                RemedyKind::MoveInterrupts
            ]
        );
    }

    #[test]
    fn a_shell_that_took_little_is_left_alone() {
        let moved = |bash| {
            let gaps = [
                (Cause::Task("rustc".into()), 9_000),
                (Cause::Task("bash".into()), bash),
            ];
            let all = all(&[series(&gaps)], &[], &manifest(EventsState::On));
            all[0].what.clone()
        };
        assert_eq!(moved(1_900), "move every rustc off CPU 1");
        assert_eq!(moved(2_000), "move every rustc, bash off CPU 1");
    }

    #[test]
    fn a_quota_that_is_used_up_comes_first() {
        let gaps = [
            (Cause::Task("rustc".into()), 30_000),
            (Cause::QuotaThrottled, 400_000),
        ];
        let finding = |allowed| Finding {
            kind: Kind::Throttled,
            series: vec![0],
            certainty: Certainty::Certain,
            summary: String::new(),
            evidence: Throttled {
                allowed,
                cause: Cause::QuotaThrottled,
                ..Throttled::default()
            }
            .into(),
            next_step: None,
        };
        let first = |allowed| {
            let found = (finding(allowed), Some(remedies::raise_quota(None)));
            let all = all(&[series(&gaps)], &[found], &manifest(EventsState::On));
            assert_eq!(all.len(), 3);
            all[0].kind
        };
        assert_eq!(first(Some(0.4)), RemedyKind::RaiseQuota);
        assert_eq!(first(None), RemedyKind::MoveTasks);
    }

    #[test]
    fn a_device_that_takes_little_beside_a_timer_is_left() {
        let of = |timer, device| {
            let gaps = [
                (Cause::Timer("python3".into()), timer),
                (Cause::Interrupt("eth0".into()), device),
            ];
            kinds(&all(&[series(&gaps)], &[], &manifest(EventsState::On)))
        };
        assert_eq!(of(3_100, 300), []);
        for some in [of(2_900, 300), of(31_000, 2_100)] {
            assert_eq!(some, [RemedyKind::MoveInterrupts]);
        }
    }

    #[test]
    fn without_events_they_are_the_one_advice() {
        let gaps = [(Cause::Unnamed, 30_000), (Cause::Preempted, 5_000)];
        let all = |state| kinds(&super::all(&[series(&gaps)], &[], &manifest(state)));
        assert_eq!(all(EventsState::Unavailable), [RemedyKind::TraceEvents]);
        assert_eq!(all(EventsState::On), []);
    }
}
