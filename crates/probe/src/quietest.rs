//! The CPU with the least time away, for a run that names none.
//!
//! Each CPU that may be used is watched for a moment by a tight loop of clock reads. CPUs that the
//! kernel keeps free of its own work (isolcpus, nohz_full) are preferred to all others.

use crate::clock::{Ordered, Plain};
use crate::{claim, facts, pin, rank};
use bandscope_sampler::Clock;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// All CPUs together are watched for so long, each for no less and no more than...
const TOTAL_NS: u64 = 400_000_000;
const LEAST_NS: u64 = 5_000_000;
const MOST_NS: u64 = 100_000_000;
/// Reads farther apart than this are a gap: oslat and its kin look from about a microsecond up.
const GAP_NS: f64 = 1_000.0;
/// Shares of time away that differ by less than this, or by less than a quarter, are a tie: what one
/// more interrupt makes of such a short look.
const TIE: f64 = 0.000_5;
const TIE_RATIO: f64 = 1.25;

/// The CPU for a run that names none, and why it is that. `None` if there is none.
pub(crate) fn choose(
    allowed: &[u32],
    reachable: &[u32],
    ticks_per_ns: f64,
) -> Option<(u32, &'static str)> {
    let isolated = idle_and_isolated(reachable);
    // A launcher that left this task one CPU has chosen.
    let task = rank::of_this_process().ok().flatten();
    let claimed = task
        .filter(|task| allowed.len() > 1 && task.tasks != Some(1))
        .and_then(|task| {
            // Nobody looks which one is quiet: tasks that start together would watch each other.
            let kept_free = preferred(allowed, &facts::isolated(), &facts::nohz_full());
            let kept_free = kept_free.iter().rev();
            let cpus = isolated.iter().chain(kept_free).chain(allowed.iter().rev());
            claim::first(&task.job, cpus.copied())
        });
    let idle = claimed.or_else(|| isolated.first().copied());
    match idle {
        Some(cpu) if isolated.contains(&cpu) => {
            Some((cpu, "it is isolated (isolcpus), and was idle for 100 ms"))
        }
        Some(cpu) => Some((
            cpu,
            "it is the last that no other task of this node has taken",
        )),
        None => quietest(allowed, ticks_per_ns).map(|cpu| {
            (
                cpu,
                "it had the least time away of those that this process may use",
            )
        }),
    }
}

/// An isolated CPU is idle if it was for so long.
const IDLE: Duration = Duration::from_millis(100);

/// The isolated CPUs among `reachable` on which nothing ran for a tenth of a second, the last first.
fn idle_and_isolated(reachable: &[u32]) -> Vec<u32> {
    let isolated = facts::isolated();
    let mut candidates: Vec<u32> = reachable.to_vec();
    candidates.retain(|cpu| isolated.contains(cpu));
    if candidates.is_empty() {
        return candidates;
    }
    let busy = || std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let before = busy();
    std::thread::sleep(IDLE);
    let after = busy();
    candidates.retain(|&cpu| {
        let was = busy_ticks(&before, cpu);
        was.is_some() && was == busy_ticks(&after, cpu)
    });
    candidates.reverse();
    candidates
}

/// Time that tasks ran on a CPU, nice or not and in the kernel, as /proc/stat counts it (proc_stat(5)).
fn busy_ticks(stat: &str, cpu: u32) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let mut rows = stat.lines().map(str::split_ascii_whitespace);
    let mut row = rows.find(|row| row.clone().next() == Some(&name))?;
    row.next();
    row.take(3).map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// The quietest of `allowed`, which must ascend; of several that are alike the last. `None` if it is empty.
pub fn quietest(allowed: &[u32], ticks_per_ns: f64) -> Option<u32> {
    let candidates = preferred(allowed, &facts::isolated(), &facts::nohz_full());
    if let [only] = candidates[..] {
        return Some(only);
    }
    let each = (TOTAL_NS / candidates.len().max(1) as u64).clamp(LEAST_NS, MOST_NS);
    let shares: Vec<(u32, f64)> = candidates
        .iter()
        .map(|&cpu| (cpu, time_away(cpu, each, ticks_per_ns)))
        .collect();
    best(&shares)
}

/// Those that are isolated in every way, else in some way, else all.
fn preferred(allowed: &[u32], isolated: &[u32], nohz_full: &[u32]) -> Vec<u32> {
    let among = |sets: &[&[u32]]| -> Vec<u32> {
        let member = |cpu: &&u32| sets.iter().all(|set| set.contains(cpu));
        allowed.iter().filter(member).copied().collect()
    };
    [
        among(&[isolated, nohz_full]),
        among(&[isolated]),
        among(&[nohz_full]),
    ]
    .into_iter()
    .find(|cpus| !cpus.is_empty())
    .unwrap_or_else(|| allowed.to_vec())
}

/// The last CPU that is about as quiet as the quietest.
fn best(shares: &[(u32, f64)]) -> Option<u32> {
    let least = shares
        .iter()
        .map(|(_, share)| *share)
        .min_by(f64::total_cmp)?;
    let tie = (least + TIE).max(least * TIE_RATIO);
    shares
        .iter()
        .rfind(|(_, share)| *share <= tie)
        .map(|(cpu, _)| *cpu)
}

/// Share of the time that is spent in gaps on `cpu`; 1 where a thread cannot run there.
fn time_away(cpu: u32, nanoseconds: u64, ticks_per_ns: f64) -> f64 {
    look(cpu, nanoseconds, ticks_per_ns).map_or(1.0, |look| look.share)
}

/// What a CPU was like for a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Share of the time in gaps of a microsecond and more.
    pub share: f64,
    /// Gaps in a second.
    pub per_second: f64,
}

/// Watches `cpu` for so long; `None` where no thread can be made, or run there.
pub fn look(cpu: u32, nanoseconds: u64, ticks_per_ns: f64) -> Option<Moment> {
    let thread = std::thread::Builder::new().spawn(move || {
        pin::pin(&[cpu]).ok()?;
        Some(watch(nanoseconds, ticks_per_ns))
    });
    thread.ok()?.join().ok()?
}

fn watch(nanoseconds: u64, ticks_per_ns: f64) -> Moment {
    let length = (nanoseconds as f64 * ticks_per_ns) as u64;
    let threshold = (GAP_NS * ticks_per_ns) as u64;
    // The first call of a process may fault its pages in.
    let _ = clock_gettime(ClockId::MonotonicRaw);
    let start = Ordered.now_ordered();
    let (mut last, mut away, mut gaps) = (start, 0, 0u64);
    while last.wrapping_sub(start) < length {
        let now = Plain.now();
        let distance = now.wrapping_sub(last);
        if distance > threshold {
            away += distance;
            gaps += 1;
        }
        last = now;
    }
    let ticks = last.wrapping_sub(start).max(1) as f64;
    Moment {
        share: away as f64 / ticks,
        per_second: gaps as f64 * ticks_per_ns * 1e9 / ticks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolated_cpus_are_preferred() {
        assert_eq!(preferred(&[0, 1, 2, 3], &[2, 3], &[3]), [3]);
        assert_eq!(preferred(&[0, 1, 2], &[2, 3], &[]), [2]);
        assert_eq!(preferred(&[0, 1], &[], &[1]), [1]);
        assert_eq!(preferred(&[0, 1], &[7], &[7]), [0, 1]);
    }

    #[test]
    fn a_cpu_is_busy_while_tasks_run() {
        let stat = "cpu  9 9 9 9\ncpu1 4 2 1 700 3 0 5\ncpu10 1 x 0 0\n";
        assert_eq!(busy_ticks(stat, 1), Some(7));
        assert_eq!(busy_ticks(stat, 10), None);
        assert_eq!(busy_ticks(stat, 0), None);
        assert_eq!(idle_and_isolated(&[]), [0; 0]);
    }

    #[test]
    fn of_those_that_are_alike_the_last_is_taken() {
        assert_eq!(best(&[(0, 0.001), (1, 0.0012), (2, 0.2)]), Some(1));
        assert_eq!(best(&[(0, 0.001), (1, 0.1), (2, 0.2)]), Some(0));
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn an_allowed_cpu_is_chosen() {
        let allowed = pin::allowed().unwrap();
        assert!(allowed.contains(&quietest(&allowed, 1.0).unwrap()));
    }
}
