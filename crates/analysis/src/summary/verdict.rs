//! The verdict: one sentence for the reader who reads one sentence.
//!
//! It speaks of the CPU that lost most, and names the three largest causes ([`named`]). Its figures are those of [`Account`].

use crate::gaps::quota::{allowed, stopped_by};
use crate::periods::rates::{cpus_of, is_one_recording};
use bandscope_recording::Manifest;
use bandscope_report::account::{self, Account, Loss, LossPart, NOT_NAMED};
use bandscope_report::format::percent;
use bandscope_report::{Place, Series, cpu_name};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Causes that are named, and names of each.
const MAX_CAUSES: usize = 3;
const MAX_NAMES: usize = 2;
/// A name is worth saying from this share of its cause on.
const MIN_SHARE_OF_CAUSE: f64 = 0.1;
/// A bonus below this share of the time is not worth a sentence.
const MIN_BONUS: f64 = 1e-3;

/// One CPU, all of its series together.
struct Cpu<'a> {
    series: Vec<&'a Series>,
    account: Account,
}

impl Cpu<'_> {
    /// `None` where its number is not known.
    fn name(&self) -> Option<String> {
        let first = self.series.first()?;
        Some(cpu_name(first.cpu?, first.place.as_ref()))
    }

    /// Share of the time that is work, as every view ranks CPUs.
    fn work(&self) -> f64 {
        self.account.work_share()
    }

    /// A part of the ledger as a share of the wall time.
    fn sum(&self, of: fn(&Series) -> u64) -> f64 {
        let sum: f64 = self.series.iter().map(|series| of(series) as f64).sum();
        sum / self.account.wall_ns as f64
    }
}

/// The sentence.
pub fn sentence(series: &[Series], manifest: &Manifest) -> String {
    let cpus = cpus(series, manifest);
    let Some(worst) = cpus.iter().min_by(by_work) else {
        return "Nothing was measured.".to_owned();
    };
    let subject = match (worst.name(), cpus.len()) {
        (Some(name), 1) => name,
        (Some(name), many) => format!("The worst of {many} CPUs, {name},"),
        (None, _) => "The measured CPU".to_owned(),
    };
    let paces = || {
        worst
            .series
            .iter()
            .filter_map(|series| series.best_pace.as_ref())
    };
    if paces().next().is_none() {
        return format!("{subject} completed no unit of work.");
    }
    let at_least = match paces().all(|best| best.undisturbed) {
        true => "",
        false => "at least ",
    };
    let mut said = match worst.account.lost() {
        None => format!(
            "{subject} lost less than {} of its time.",
            worst.account.least()
        ),
        Some(lost) => {
            let mut reasons = Vec::new();
            let causes: Vec<String> = named(&worst.account.losses)
                .into_iter()
                .map(|part| clause(part, worst, manifest, &mut reasons))
                .collect();
            let colon = if causes.is_empty() { "" } else { ": " };
            format!(
                "{subject} lost {at_least}{lost}{colon}{}.",
                causes.join(", ")
            )
        }
    };
    let best = cpus.iter().max_by(by_work);
    if let Some((best, cpu)) = best
        .filter(|_| cpus.len() > 1)
        .and_then(|best| Some((best, best.name()?)))
    {
        said += &match best.account.lost() {
            Some(lost) => format!(" The best, {cpu}, lost {lost}."),
            None => format!(" The best, {cpu}, lost less than {}.", best.account.least()),
        };
    }
    said += &of_quota(series, manifest);
    // Work beyond what it could at the best pace that lasts is no part of the account.
    let bonus = worst.sum(|series| series.ledger.bonus_ns);
    if bonus >= MIN_BONUS {
        said += &format!(" A faster pace at times gained {}.", percent(bonus));
    }
    said
}

/// The series of the CPU that did least work.
pub(super) fn worst<'a>(series: &'a [Series], manifest: &Manifest) -> Option<Vec<&'a Series>> {
    let cpus = cpus(series, manifest).into_iter();
    let worst = cpus.min_by(|a, b| by_work(&a, &b));
    worst.map(|cpu| cpu.series)
}

fn by_work(a: &&Cpu<'_>, b: &&Cpu<'_>) -> Ordering {
    a.work().total_cmp(&b.work())
}

/// What a quota that was used up leaves, so that nobody takes other programs away in vain.
fn of_quota(series: &[Series], manifest: &Manifest) -> String {
    let group = stopped_by(manifest).filter(|_| is_one_recording(series));
    let cpus = cpus_of(series);
    let share = group.and_then(|group| allowed(group, cpus));
    share.map_or(String::new(), |share| {
        let of_each = match cpus {
            1 => "at most",
            _ => "of each CPU, on average",
        };
        format!(" The CPU quota allows {} {of_each}.", percent(share))
    })
}

/// The largest losses. Where tasks are named, a limit on CPU time that took more than each of them is the last at least, so that no program is
/// blamed for it.
fn named(losses: &[LossPart]) -> Vec<&LossPart> {
    let mut named: Vec<&LossPart> = losses.iter().take(MAX_CAUSES).collect();
    let tasks = named.iter().find(|part| part.loss == Loss::OtherTasks);
    let task = tasks.and_then(|part| names(part).next());
    let limit = losses.iter().skip(MAX_CAUSES);
    let mut limit = limit.filter(|part| part.loss == Loss::Throttled);
    if let Some(limit) = limit.find(|part| task.is_some_and(|task| part.ns > task.1)) {
        named.truncate(MAX_CAUSES - 1);
        named.push(limit);
    }
    named
}

/// The names that are worth saying, with their time in nanoseconds.
fn names(part: &LossPart) -> impl Iterator<Item = &(String, u128)> {
    let least = MIN_SHARE_OF_CAUSE * part.ns as f64;
    let causes = part.causes.iter();
    causes
        .filter(move |cause| cause.1 as f64 >= least)
        .take(MAX_NAMES)
}

fn cpus<'a>(series: &'a [Series], manifest: &Manifest) -> Vec<Cpu<'a>> {
    let of = |series: Vec<&'a Series>| {
        let account = Account::new(&series, Some(manifest))?;
        Some(Cpu { series, account })
    };
    by_cpu(series).into_values().filter_map(of).collect()
}

/// Series by CPU; the same number in two tasks' recordings is two CPUs.
fn by_cpu(series: &[Series]) -> BTreeMap<(Option<&Place>, Option<u32>), Vec<&Series>> {
    let mut cpus: BTreeMap<_, Vec<&Series>> = BTreeMap::new();
    for one in series {
        let key = (one.place.as_ref(), one.cpu);
        cpus.entry(key).or_default().push(one);
    }
    cpus
}

/// A cause with its share, and who it was where that has names. Why there are none is said once: `reasons` holds what was said.
fn clause(
    part: &LossPart,
    cpu: &Cpu<'_>,
    manifest: &Manifest,
    reasons: &mut Vec<&'static str>,
) -> String {
    // As they were read: views escape what a terminal or a browser would obey.
    let names: Vec<String> = names(part).map(|(name, _)| name.clone()).collect();
    let mut reason = || {
        let why = account::why_not_named(Some(manifest));
        let is_said = reasons.contains(&why);
        reasons.push(why);
        if is_said {
            String::new()
        } else {
            why.to_owned()
        }
    };
    let who = match part.loss {
        Loss::Hypervisor | Loss::Firmware => String::new(),
        Loss::Interruptions => reason(),
        Loss::OtherTasks if names == [NOT_NAMED] => reason(),
        _ => names.join(", "),
    };
    let share = cpu.account.share(part);
    match who.is_empty() {
        true => format!("{} {share}", part.loss),
        false => format!("{} {share} ({who})", part.loss),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::manifest::{ClockOrigin, Events, EventsState, Quota};
    use bandscope_report::{BestPace, Cause, Ledger, PaceLoss};

    fn series(cpu: Option<u32>, gaps: &[(Cause, u64)], unsplit: u64) -> Series {
        let lost = gaps.iter().map(|gap| gap.1).sum::<u64>() + unsplit;
        Series {
            cpu,
            best_pace: Some(BestPace {
                undisturbed: true,
                ..BestPace::default()
            }),
            ledger: Ledger {
                wall_ns: 1_000_000,
                work_ns: 1_000_000 - lost,
                pace_ns: PaceLoss {
                    unsplit,
                    ..PaceLoss::default()
                },
                gaps_ns: gaps.iter().cloned().collect(),
                ..Ledger::default()
            },
            ..Series::default()
        }
    }

    fn traced(state: EventsState, why: &str) -> Manifest {
        let mut manifest = Manifest {
            events: Events {
                state,
                why: why.to_owned(),
                ..Events::default()
            },
            ..Manifest::default()
        };
        manifest.clock.origin = ClockOrigin::Calibrated;
        manifest.machine.hypervisor = Some("KVM".to_owned());
        manifest
    }

    #[test]
    fn a_quota_that_is_used_up_is_said_whoever_had_the_cpu() {
        let burner = series(Some(1), &[(task("burner"), 600_000)], 0);
        let mut manifest = traced(EventsState::On, "");
        manifest.quotas = vec![Quota {
            quota_us: Some(40_000),
            period_us: Some(100_000),
            periods: 40,
            throttled: 38,
            ..Quota::default()
        }];
        let allows = "The CPU quota allows 40.0 % at most.";
        assert!(sentence(std::slice::from_ref(&burner), &manifest).contains(allows));
        // Two CPUs share it; what was seldom used up leaves time.
        let both = [burner.clone(), series(Some(2), &[], 0)];
        assert!(sentence(&both, &manifest).contains("allows 20.0 % of each CPU, on average."));
        manifest.quotas[0].throttled = 4;
        assert!(!sentence(&[burner], &manifest).contains("quota"));
    }

    fn task(name: &str) -> Cause {
        Cause::Task(name.into())
    }

    #[test]
    fn the_three_largest_causes_are_named() {
        let gaps = [
            (task("rustc"), 60_000),
            (task("cc1"), 28_000),
            (task("sh"), 2_000),
            (Cause::Host, 12_000),
            (Cause::Tick, 9_000),
        ];
        let manifest = traced(EventsState::On, "");
        assert_eq!(
            sentence(&[series(Some(1), &gaps, 33_000)], &manifest),
            "CPU 1 lost 14.4 %: other tasks 9.0 % (rustc, cc1), slower pace 3.3 % (cause not known), hypervisor 1.2 %."
        );
        assert_eq!(sentence(&[], &manifest), "Nothing was measured.");
    }

    #[test]
    fn a_quota_that_took_more_than_any_task_is_named() {
        let with = |quota| {
            let gaps = [
                (task("rustc"), 60_000),
                (task("cc1"), 58_000),
                (Cause::Host, 90_000),
                (Cause::QuotaThrottled, quota),
            ];
            let manifest = traced(EventsState::On, "");
            sentence(&[series(Some(1), &gaps, 80_000)], &manifest)
        };
        let losses = "CPU 1 lost 35.1 %: other tasks 11.8 % (rustc, cc1), hypervisor 9.0 %, ";
        assert_eq!(
            with(63_000),
            format!("{losses}throttled 6.3 % (CPU quota).")
        );
        let pace = with(59_000);
        assert!(
            pace.ends_with("slower pace 8.0 % (cause not known)."),
            "{pace}"
        );
    }

    #[test]
    fn a_small_quota_takes_no_place_where_no_task_is_named() {
        for (tasks, quota) in [(1_500, 2_000), (0, 90_000)] {
            let mut gaps = vec![
                (Cause::Host, 200_000),
                (Cause::Tick, 100_000),
                (Cause::QuotaThrottled, quota),
            ];
            gaps.extend((tasks > 0).then(|| (task("rustc"), tasks)));
            let manifest = traced(EventsState::On, "");
            let said = sentence(&[series(Some(1), &gaps, 150_000)], &manifest);
            assert!(
                said.contains("timer tick 10.0 %") && !said.contains("throttled"),
                "{said}"
            );
        }
    }

    #[test]
    fn what_has_no_name_says_why() {
        let gaps = [(Cause::Unnamed, 50_000)];
        let without = traced(EventsState::Unavailable, "may not mount it (CAP_SYS_ADMIN)");
        assert_eq!(
            sentence(&[series(Some(1), &gaps, 0)], &without),
            "CPU 1 lost 5.0 %: interruptions 5.0 % (not named: kernel events need root)."
        );
        let mut file = Manifest::default();
        file.clock.origin = ClockOrigin::Imported;
        let said = sentence(&[series(None, &gaps, 0)], &file);
        assert_eq!(
            said,
            "The measured CPU lost 5.0 %: interruptions 5.0 % (inferred from counts)."
        );
    }

    #[test]
    fn a_quiet_cpu_and_the_worst_of_several() {
        let manifest = traced(EventsState::On, "");
        let quiet = series(Some(0), &[(Cause::Tick, 1)], 0);
        assert_eq!(
            sentence(std::slice::from_ref(&quiet), &manifest),
            "CPU 0 lost less than 0.001 % of its time."
        );
        let slow = series(Some(3), &[], 100_000);
        assert_eq!(
            sentence(&[quiet, slow], &manifest),
            "The worst of 2 CPUs, CPU 3, lost 10.0 %: slower pace 10.0 % (cause not known). The best, CPU 0, lost less than 0.001 %."
        );
    }
}
