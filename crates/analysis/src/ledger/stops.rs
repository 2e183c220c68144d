//! Stops of the measuring thread that no kernel event tells, and no single gap ([`crate::gaps::naming::stops`]): because all its waits together are
//! longer, say. By its own statistics it was away for longer than it waited for the CPU, so something had taken it off the run queue. So much of its
//! preemptions is booked to `stopped`, that of the longest gaps first, and not to other tasks.

use crate::gaps::naming::stops::MIN_STOPPED_NS;
use crate::gaps::quota::stopped_by;
use crate::periods::rates;
use bandscope_recording::Manifest;
use bandscope_recording::manifest::EventsState;
use bandscope_report::{Cause, GapCause, LongGap, Series};
use std::cmp::Reverse;

/// What interrupts and the host take of an absence beside its waiting: 20 us at 1,000 a second in a virtual machine (`machines/real timer-1khz`).
const BESIDE_NS: f64 = 50_000.0;

/// How long the thread of a CPU was off the run queue, in nanoseconds of all its series together; `None` where that is too little to tell, or
/// kernel events tell.
pub fn off_the_run_queue(series: &[Series], cpu: Option<u32>, manifest: &Manifest) -> Option<f64> {
    let known = manifest.events.state != EventsState::On && rates::is_one_recording(series);
    let mut schedstat = manifest.schedstat.iter().filter(|_| known);
    let mine = schedstat.find(|one| Some(one.cpu) == cpu)?;
    // A host that takes the CPU before the switch makes an absence longer than its wait, too.
    if mine.was_never_stopped() {
        return None;
    }
    let waited = mine.wait_ns;
    let mine = series.iter().filter(|one| one.cpu == cpu);
    let away: f64 = mine
        .map(|one| {
            let away = booked(one, &Cause::Preempted) + booked(one, &Cause::Stopped);
            let gaps = one.gaps.as_ref();
            let times = gaps.and_then(|gaps| gaps.preempted).unwrap_or(0);
            away as f64 - BESIDE_NS * times as f64
        })
        .sum();
    let stopped = away - waited as f64;
    (stopped >= MIN_STOPPED_NS).then_some(stopped)
}

fn booked(series: &Series, cause: &Cause) -> u64 {
    series.ledger.gaps_ns.get(cause).copied().unwrap_or(0)
}

/// What [`off_the_run_queue`] tells and nothing else does: a quota's own counts tell of its stops.
fn inferred(series: &[Series], cpu: Option<u32>, manifest: &Manifest) -> Option<f64> {
    let stopped = off_the_run_queue(series, cpu, manifest);
    stopped.filter(|_| stopped_by(manifest).is_none())
}

/// Books what is still booked to other tasks.
pub fn book(series: &mut [Series], manifest: &Manifest) {
    for cpu in manifest.schedstat.iter().map(|one| Some(one.cpu)) {
        let Some(stopped) = inferred(series, cpu, manifest) else {
            continue;
        };
        let mut mine: Vec<&mut Series> = series.iter_mut().filter(|one| one.cpu == cpu).collect();
        let known: u64 = mine.iter().map(|one| booked(one, &Cause::Stopped)).sum();
        let left = stopped - known as f64;
        if left >= MIN_STOPPED_NS {
            let left = book_longest(&mut mine, left as u64);
            book_rest(&mut mine, left);
        }
    }
}

/// Names the gaps of a picture of `series[index]` as [`book`] books them, a stop among them, where all that is known of one is that the thread was
/// preempted. Each gap has its instant in seconds and its length in nanoseconds.
pub fn name<'a>(
    (series, index): (&[Series], usize),
    manifest: &Manifest,
    gaps: impl Iterator<Item = (f64, f64, &'a mut Cause)>,
) {
    let one = series.get(index);
    let Some(one) = one.filter(|one| inferred(series, one.cpu, manifest).is_some()) else {
        return;
    };
    let mut gaps: Vec<(f64, f64, &mut Cause)> = gaps.collect();
    let listed = one.gaps.iter().flat_map(|gaps| &gaps.longest);
    let listed: Vec<&LongGap> = listed.collect();
    let in_report = |at_s: f64| listed.iter().find(|gap| gap.at_s == at_s);
    let rest = |cause: Cause| {
        let mine = listed.iter().filter(|gap| gap.cause == cause);
        booked(one, &cause) as f64 - mine.map(|gap| gap.ns).sum::<f64>()
    };
    // Stops longer than all waits have their name. Nobody knows which of the others it was: they are what most of their time is booked to.
    let named = gaps
        .iter()
        .filter(|(at_s, _, cause)| **cause == Cause::Stopped && in_report(*at_s).is_none());
    let stopped = rest(Cause::Stopped) - named.map(|gap| gap.1).sum::<f64>();
    let others = match stopped > 0.0 && stopped > rest(Cause::Preempted) {
        true => Cause::Stopped,
        false => Cause::Preempted,
    };
    for (at_s, _, cause) in gaps.iter_mut().filter(|gap| *gap.2 == Cause::Preempted) {
        **cause = in_report(*at_s).map_or(&others, |gap| &gap.cause).clone();
    }
}

/// Books the longest gaps of a CPU; what is left then.
fn book_longest(series: &mut [&mut Series], mut left: u64) -> u64 {
    let mut longest: Vec<(u64, usize, usize)> = Vec::new();
    for (index, one) in series.iter().enumerate() {
        let gaps = one
            .gaps
            .iter()
            .flat_map(|gaps| gaps.longest.iter().enumerate());
        let preempted = gaps.filter(|(_, gap)| gap.cause == Cause::Preempted);
        longest.extend(preempted.map(|(place, gap)| (gap.ns as u64, index, place)));
    }
    longest.sort_unstable_by_key(|&(ns, ..)| Reverse(ns));
    for (ns, index, place) in longest {
        // Of a gap that was a stop in part other tasks keep the rest, so it counts for both.
        let whole = u64::from(ns <= left);
        let part = move_to_stops(series[index], ns.min(left), whole);
        left -= part;
        let gap = series[index].gaps.as_mut();
        if let Some(gap) = gap.filter(|_| part > ns / 2) {
            gap.longest[place].cause = Cause::Stopped;
        }
    }
    series.iter_mut().for_each(|one| shorten(one));
    left
}

/// The longest part of a gap that other tasks still have: among those that the report lists, or no longer than the last of them.
fn shorten(series: &mut Series) {
    let Some(gaps) = &mut series.gaps else {
        return;
    };
    let left = gaps
        .longest
        .iter()
        .find(|gap| gap.cause == Cause::Preempted);
    let Some(longest) = left.or(gaps.longest.last()).map(|gap| gap.ns) else {
        return;
    };
    let mut causes = gaps.causes.iter_mut();
    if let Some(preempted) = causes.find(|one| one.cause == Cause::Preempted) {
        preempted.longest_ns = preempted.longest_ns.min(longest);
    }
}

/// Nobody knows which of the other gaps it was: each series has its part.
fn book_rest(series: &mut [&mut Series], left: u64) {
    let preempted: u64 = series
        .iter()
        .map(|one| booked(one, &Cause::Preempted))
        .sum();
    let share = (left as f64 / preempted.max(1) as f64).min(1.0);
    for one in series {
        let gaps = one.gaps.iter().flat_map(|gaps| &gaps.causes);
        let number: u64 = (gaps.filter(|one| one.cause == Cause::Preempted))
            .map(|one| one.number)
            .sum();
        let ns = booked(one, &Cause::Preempted) as f64 * share;
        move_to_stops(one, ns as u64, (number as f64 * share) as u64);
    }
}

/// Books up to so much time, of so many whole gaps, to stops that was booked to other tasks; how much it was.
fn move_to_stops(series: &mut Series, ns: u64, whole: u64) -> u64 {
    let lines = &mut series.ledger.gaps_ns;
    let Some(preempted) = lines.get_mut(&Cause::Preempted) else {
        return 0;
    };
    let ns = ns.min(*preempted);
    if ns == 0 {
        return 0;
    }
    *preempted -= ns;
    lines.retain(|_, left| *left > 0);
    *lines.entry(Cause::Stopped).or_default() += ns;
    if let Some(gaps) = &mut series.gaps {
        move_cause(&mut gaps.causes, ns, whole);
    }
    ns
}

/// A part of a gap is one of the stops, too. As long as other tasks have time left, they have a gap.
fn move_cause(causes: &mut Vec<GapCause>, ns: u64, whole: u64) {
    let Some(from) = causes.iter_mut().find(|one| one.cause == Cause::Preempted) else {
        return;
    };
    let each = from.per_second / from.number.max(1) as f64;
    let added = whole.max(1);
    from.lost_ns = from.lost_ns.saturating_sub(ns);
    let removed = whole.min(from.number.saturating_sub(1));
    from.number -= removed;
    from.per_second -= each * removed as f64;
    let longest_ns = (ns as f64 / added as f64).min(from.longest_ns);
    from.longest_ns = from.longest_ns.min(from.lost_ns as f64);
    if causes.iter().all(|one| one.cause != Cause::Stopped) {
        causes.push(GapCause {
            cause: Cause::Stopped,
            ..GapCause::default()
        });
    }
    for to in causes.iter_mut().filter(|one| one.cause == Cause::Stopped) {
        to.number += added;
        to.per_second += each * added as f64;
        to.lost_ns += ns;
        to.longest_ns = to.longest_ns.max(longest_ns);
    }
    causes.retain(|one| one.lost_ns > 0);
    causes.sort_by_key(|one| Reverse(one.lost_ns));
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::manifest::{EventsState, Schedstat};
    use bandscope_report::Gaps;

    /// Preemptions of so many milliseconds in 10 s, as many of them listed as the report lists.
    fn preempted(ms: &[u64]) -> Series {
        let lost_ns = ms.iter().sum::<u64>() * 1_000_000;
        let mut gaps = Gaps {
            preempted: Some(ms.len() as u64),
            ..Gaps::default()
        };
        gaps.causes = vec![GapCause {
            cause: Cause::Preempted,
            number: ms.len() as u64,
            per_second: ms.len() as f64 / 10.0,
            lost_ns,
            longest_ns: ms[0] as f64 * 1e6,
            ..GapCause::default()
        }];
        gaps.longest = (ms.iter().take(2))
            .map(|ms| LongGap {
                cause: Cause::Preempted,
                ns: *ms as f64 * 1e6,
                ..LongGap::default()
            })
            .collect();
        let mut series = Series {
            cpu: Some(1),
            gaps: Some(gaps),
            ..Series::default()
        };
        series.ledger.gaps_ns.insert(Cause::Preempted, lost_ns);
        series
    }

    #[test]
    fn gaps_that_were_stops_in_part_count_for_both() {
        // Milliseconds of the gaps, of which so many were stops; number, time and longest of stops and of other tasks; how the listed gaps are named.
        for (ms, stopped, wanted, named) in [
            (&[500][..], 300, [(1, 300, 300), (1, 200, 200)], "s"),
            (&[500], 200, [(1, 200, 200), (1, 300, 300)], "p"),
            (&[500, 400], 500, [(1, 500, 500), (1, 400, 400)], "sp"),
            (&[500, 400], 600, [(2, 600, 500), (1, 300, 300)], "sp"),
            // Of the rest, which is not listed, a fifth.
            (&[500, 400, 150], 930, [(3, 930, 500), (1, 120, 120)], "ss"),
        ] {
            let mut series = [preempted(ms)];
            let waited = (ms.iter().sum::<u64>() - stopped) * 1_000_000;
            let mut manifest = Manifest::default();
            manifest.events.state = EventsState::Unavailable;
            manifest.schedstat = vec![Schedstat {
                cpu: 1,
                wait_ns: waited - (BESIDE_NS as u64) * ms.len() as u64,
                ..Schedstat::default()
            }];
            book(&mut series, &manifest);
            let gaps = series[0].gaps.as_ref().unwrap();
            let of = |cause: &Cause| {
                let mut causes = gaps.causes.iter();
                let one = causes.find(|one| one.cause == *cause).unwrap();
                assert!((one.per_second * 10.0 - one.number as f64).abs() < 1e-9);
                assert_eq!(one.lost_ns, booked(&series[0], cause));
                let ms = |ns: f64| (ns / 1e6).round() as u64;
                (one.number, ms(one.lost_ns as f64), ms(one.longest_ns))
            };
            let found = [Cause::Stopped, Cause::Preempted].map(|cause| of(&cause));
            assert_eq!(found, wanted, "{ms:?}, {stopped}");
            let names = gaps.longest.iter().map(|gap| match gap.cause {
                Cause::Stopped => 's',
                _ => 'p',
            });
            assert_eq!(names.collect::<String>(), named, "{ms:?}, {stopped}");
        }
    }
}
