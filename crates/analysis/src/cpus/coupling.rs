//! Whose pace changes when another CPU's changes, or when another CPU is away for long: a shared clock or power budget.
//!
//! The times of all changes of pace on one CPU are held against what happens on another: a histogram of their differences has a peak at the
//! lag of a coupling, and is flat where there is none. A peak must be far above the mean of the histogram and above every other peak of it:
//! changes that sit on two grids (each on its own CPU's tick) have a peak in every millisecond. Where both sides are regular a constant lag
//! says nothing, and nothing is looked for. Changes at a gap of their own CPU have a cause of their own, and are left out.

use super::peak::{self, MIN_COINCIDENCES, Peak};
use super::track::{Away, Lane, Step, common, inside, length};
use super::{SIGNIFICANT, pairs, sets};
use bandscope_statistics::distributions::ln_poisson_at_least;
use bandscope_statistics::order::median;
use rayon::prelude::*;

/// Widths of a peak, in nanoseconds: what the resolution of edges allows, what power control units take, what frequency governors do.
const WIDTHS_NS: [f64; 3] = [20_000.0, 200_000.0, 2_000_000.0];
/// Lags that are looked at, in widths, and at least this.
const MIN_LAG_WIDTHS: f64 = 64.0;
const LEAST_LAG_NS: f64 = 20e6;
/// A gap within this before a change of pace of its own CPU, or this after, is its cause.
const OWN_BEFORE_NS: f64 = 100_000.0;
const OWN_AFTER_NS: f64 = 20_000.0;
/// A gap from this on is another activity, and not an interrupt.
const LONG_NS: f64 = 100_000.0;
/// What the pace of a CPU goes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// Changes of pace of the other CPU.
    #[default]
    Pace,
    /// Begins of its long gaps.
    GapBegins,
    /// Ends of them.
    GapEnds,
}

/// CPUs whose pace hangs together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coupling {
    /// All of them, in order.
    pub(crate) cpus: Vec<u32>,
    /// Indices of their series, in order.
    pub(crate) series: Vec<usize>,
    /// The CPU that follows, and the one that leads, of the pair that is coupled most.
    pub(crate) follower: u32,
    /// See `follower`.
    pub(crate) leader: u32,
    /// What of the leader.
    pub(crate) source: Source,
    /// Changes that coincide, and as many would by chance.
    pub(crate) number: u64,
    /// See `number`.
    pub(crate) expected: f64,
    /// Share of the follower's changes.
    pub(crate) share: f64,
    /// Corrected for the number of trials.
    pub(crate) ln_chance: f64,
    /// From the leader's event to the follower's change, seconds: median, and what a lag is known to.
    pub(crate) lag_s: f64,
    /// See `lag_s`.
    pub(crate) width_s: f64,
    /// Median of the slower pace over the faster one, of the changes that follow.
    pub(crate) ratio: f64,
    /// The same of the leader, where its pace changes.
    pub(crate) leader_ratio: Option<f64>,
}

/// Everything that couples these CPUs, the most changes first.
pub(super) fn find(lanes: &[Lane]) -> Vec<Coupling> {
    let steps: Vec<Vec<Step>> = lanes.iter().map(without_own_gaps).collect();
    // A pair has its paces once, and each CPU's gaps with the other's pace.
    let trials = (pairs(lanes.len()).len() * 5) as f64;
    let of_pair = |(a, b): (usize, usize)| {
        let one = |follower, leader, source| {
            let coupling = couple(lanes, &steps, follower, leader, source, trials.ln())?;
            Some((a, b, coupling))
        };
        let all = [
            one(a, b, Source::Pace),
            one(a, b, Source::GapBegins),
            one(a, b, Source::GapEnds),
            one(b, a, Source::GapBegins),
            one(b, a, Source::GapEnds),
        ];
        all.into_par_iter().flatten()
    };
    let found: Vec<(usize, usize, Coupling)> = (pairs(lanes.len()).into_par_iter())
        .flat_map(of_pair)
        .collect();
    let joined = sets(lanes.len(), found.iter().map(|pair| (pair.0, pair.1)));
    let mut all: Vec<Coupling> = joined
        .iter()
        .filter_map(|members| {
            let mine = found.iter().filter(|pair| members.contains(&pair.0));
            let (_, _, most) = mine.max_by_key(|pair| pair.2.number)?;
            let mut series: Vec<usize> = members
                .iter()
                .flat_map(|&lane| lanes[lane].series.iter().copied())
                .collect();
            series.sort_unstable();
            Some(Coupling {
                cpus: members.iter().map(|&lane| lanes[lane].cpu).collect(),
                series,
                ..most.clone()
            })
        })
        .collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.number));
    all
}

/// The changes of pace that no gap of the same CPU explains.
fn without_own_gaps(lane: &Lane) -> Vec<Step> {
    let ticks = |ns: f64| (ns * lane.ticks_per_ns) as u64;
    let (before, after) = (ticks(OWN_BEFORE_NS), ticks(OWN_AFTER_NS));
    let own = |step: &&Step| {
        let from = lane
            .gaps
            .partition_point(|gap| gap.end() < step.at.saturating_sub(before));
        let gap = lane.gaps.get(from);
        gap.is_some_and(|gap| gap.start <= step.at.saturating_add(after))
    };
    lane.steps
        .iter()
        .filter(|step| !own(step))
        .copied()
        .collect()
}

fn couple(
    lanes: &[Lane],
    steps: &[Vec<Step>],
    follower: usize,
    leader: usize,
    source: Source,
    ln_trials: f64,
) -> Option<Coupling> {
    let (one, other) = (&lanes[follower], &lanes[leader]);
    let both = watched_together(one, other, source)?;
    let within = |mut times: Vec<u64>| -> Vec<u64> {
        // Ends are not in the order of begins where gaps overlap, as in files from elsewhere.
        times.sort_unstable();
        inside(times.iter().copied(), &both)
            .map(|number| times[number])
            .collect()
    };
    let a = within(steps[follower].iter().map(|step| step.at).collect());
    let b = within(match source {
        Source::Pace => steps[leader].iter().map(|step| step.at).collect(),
        Source::GapBegins => long(other).map(|gap| gap.start).collect(),
        Source::GapEnds => long(other).map(Away::end).collect(),
    });
    if (a.len().min(b.len()) as u64) < MIN_COINCIDENCES
        || (peak::is_regular(&a) && peak::is_regular(&b))
    {
        return None;
    }
    let (width, ln_chance, peak) =
        clearest_peak(&a, &b, length(&both), one.ticks_per_ns, ln_trials)?;
    let seconds = |ticks: f64| ticks / one.ticks_per_ns / 1e9;
    // Of two paces the one that changes first leads.
    let swapped = source == Source::Pace && peak.lag < 0;
    let (follower, leader) = if swapped {
        (leader, follower)
    } else {
        (follower, leader)
    };
    let (followers, leaders) = if swapped {
        (b.len(), a.len())
    } else {
        (a.len(), b.len())
    };
    Some(Coupling {
        follower: lanes[follower].cpu,
        leader: lanes[leader].cpu,
        source,
        number: peak.number,
        expected: peak.expected,
        share: (peak.number as f64 / followers.min(leaders) as f64).min(1.0),
        ln_chance,
        lag_s: seconds(if swapped { -peak.lag } else { peak.lag } as f64),
        width_s: seconds(width as f64),
        ratio: median_ratio(&steps[follower]),
        leader_ratio: (source == Source::Pace).then(|| median_ratio(&steps[leader])),
        ..Coupling::default()
    })
}

/// When the changes of one CPU and the events of the other are both known; `None` where the gaps of either are not.
fn watched_together(one: &Lane, other: &Lane, source: Source) -> Option<Vec<(u64, u64)>> {
    // Changes beside gaps of the same CPU were left out, so gaps must be known as far as changes are.
    if !(one.gaps_known && other.gaps_known) {
        return None;
    }
    let gaps_until = one.gaps_until.min(other.gaps_until);
    let until = one.steps_until.min(gaps_until).min(match source {
        Source::Pace => other.steps_until,
        _ => u64::MAX,
    });
    Some(common(&one.segments, &other.segments, until))
}

/// The narrowest significant peak that holds most of the coincidences: its width in ticks, and the logarithm of its chance.
fn clearest_peak(
    a: &[u64],
    b: &[u64],
    wall: u64,
    ticks_per_ns: f64,
    ln_trials: f64,
) -> Option<(i64, f64, Peak)> {
    let peaks = WIDTHS_NS.iter().filter_map(|&width_ns| {
        let width = (width_ns * ticks_per_ns) as i64;
        let lags = (LEAST_LAG_NS * ticks_per_ns).max(MIN_LAG_WIDTHS * width as f64) as i64;
        let peak = peak::find(a, b, width.max(2), lags, wall)?;
        let bins = 4.0 * lags as f64 / width as f64;
        let ln_chance = ln_poisson_at_least(peak.number, peak.expected)
            + ln_trials
            + (bins * WIDTHS_NS.len() as f64).ln();
        (ln_chance < SIGNIFICANT.ln()).then_some((width, ln_chance, peak))
    });
    peaks.reduce(|best, next| {
        if next.2.number as f64 > 1.2 * best.2.number as f64 {
            next
        } else {
            best
        }
    })
}

fn long(lane: &Lane) -> impl Iterator<Item = &Away> {
    let least = (LONG_NS * lane.ticks_per_ns) as u64;
    lane.gaps.iter().filter(move |gap| gap.duration >= least)
}

fn median_ratio(steps: &[Step]) -> f64 {
    median(steps.iter().map(|step| f64::from(step.ratio))).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_statistics::random::Random;

    /// 30 s of changes of pace, 20 ms apart in the mean; on a grid of `grid` ticks if that is more than one.
    fn lane(cpu: u32, seed: u64, grid: u64, phase: u64) -> Lane {
        let (mut random, mut at) = (Random::new(seed), 0.0);
        let mut steps = Vec::new();
        loop {
            at -= 20e6 * (1.0 - random.unit()).ln();
            let on_grid = at as u64 / grid * grid + phase;
            if on_grid >= 30_000_000_000 {
                break;
            }
            steps.push(Step {
                at: on_grid,
                ratio: 1.25,
            });
        }
        steps.dedup_by_key(|step| step.at);
        Lane {
            cpu,
            series: vec![cpu as usize],
            steps,
            segments: vec![(0, 30_000_000_000)],
            ticks_per_ns: 1.0,
            gaps_known: true,
            gaps_until: u64::MAX,
            steps_until: u64::MAX,
            ..Lane::default()
        }
    }

    /// The same changes, later by `lag` and up to `jitter`, all but those of each tenth; and some of its own.
    fn following(other: &Lane, cpu: u32, lag: u64, jitter: f64) -> Lane {
        let mut random = Random::new(77);
        let mut mine = lane(cpu, 1234, 1, 0);
        mine.steps.truncate(300);
        let late = other.steps.iter().enumerate().filter(|(k, _)| k % 10 != 0);
        mine.steps.extend(late.map(|(_, step)| Step {
            at: step.at + lag + (jitter * random.unit()) as u64,
            ratio: 1.4,
        }));
        mine.steps.sort_by_key(|step| step.at);
        mine
    }

    #[test]
    fn what_follows_is_found_with_its_lag() {
        for (lag, jitter) in [(0, 1_000.0), (50_000, 5_000.0), (3_000_000, 150_000.0)] {
            let leader = lane(3, 5, 1, 0);
            let follower = following(&leader, 1, lag, jitter);
            let found = find(&[follower, leader, lane(5, 6, 1, 0)]);
            assert_eq!(found.len(), 1, "{lag}");
            let one = &found[0];
            assert_eq!(one.cpus, [1, 3]);
            assert_eq!((one.leader, one.follower), (3, 1));
            let error = (one.lag_s * 1e9 - lag as f64 - jitter / 2.0).abs();
            assert!(error < 0.2 * jitter, "{lag}: {}", one.lag_s);
            assert!((one.ratio - 1.4).abs() < 1e-6 && one.leader_ratio.is_some());
            assert!(one.number > 1200 && one.share > 0.8, "{}", one.number);
        }
    }

    #[test]
    fn what_has_nothing_in_common_is_not() {
        for seed in 0..20 {
            let lanes: Vec<Lane> = (0..4)
                .map(|cpu| lane(cpu, seed * 4 + u64::from(cpu), 1, 0))
                .collect();
            assert!(find(&lanes).is_empty(), "{seed}");
        }
    }

    #[test]
    fn two_grids_are_no_coupling_and_neither_are_two_periods() {
        for phase in [0, 130_000, 500_000] {
            let lanes = [lane(0, 1, 1_000_000, 0), lane(1, 2, 1_000_000, phase)];
            assert!(find(&lanes).is_empty(), "{phase}");
            let regular = |cpu, phase: u64| Lane {
                steps: (1..9_000)
                    .map(|k| Step {
                        at: k * 3_000_000 + phase,
                        ratio: 2.0,
                    })
                    .collect(),
                ..lane(cpu, 1, 1, 0)
            };
            assert!(
                find(&[regular(0, 0), regular(1, phase)]).is_empty(),
                "{phase}"
            );
        }
    }

    #[test]
    fn a_pace_that_goes_with_long_gaps_of_another_cpu() {
        let mut random = Random::new(8);
        let mut leader = lane(0, 9, 1, 0);
        leader.steps.clear();
        let (mut at, mut steps) = (0u64, Vec::new());
        while at < 29_000_000_000 {
            at += 10_000_000 + (50e6 * random.unit()) as u64;
            let duration = 2_000_000 + (20e6 * random.unit()) as u64;
            leader.gaps.push(Away {
                start: at,
                duration,
                cause: 0,
            });
            for edge in [at, at + duration] {
                steps.push(Step {
                    at: edge + 30_000,
                    ratio: 1.1,
                });
            }
            at += duration;
        }
        let mut follower = lane(1, 1, 1, 0);
        follower.steps = steps;
        let found = find(&[leader.clone(), follower.clone()]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].leader, found[0].follower), (0, 1));
        assert!(found[0].source != Source::Pace && found[0].leader_ratio.is_none());
        // With the same gaps on its own CPU they are what changes its pace.
        follower.gaps = leader.gaps.clone();
        assert!(find(&[leader, follower]).is_empty());
    }
}
