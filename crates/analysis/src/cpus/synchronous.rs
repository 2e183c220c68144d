//! Gaps that hit several CPUs at once: which CPUs, how often, how precisely, by whom, and what that costs.
//!
//! All pairs of CPUs are tried ([`super::coincidence`]); those that coincide far more than chance allows are joined to sets, and what coincides
//! within a set is counted as occasions.

use super::coincidence::{self, Frame, REACHES_NS};
use super::track::{Away, Lane, common, inside, length};
use super::{SIGNIFICANT, pairs, sets};
use crate::periods::events::{self, Train};
use bandscope_report::Cause;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Gaps that begin within this of the first belong to its occasion, as do those that overlap one of it.
const SLACK_NS: f64 = 10_000.0;
/// Share of the occasions that a period must hold for it to be stated.
const REGULAR: f64 = 0.5;
/// Share of a CPU's gaps that must have one name for it to be what they are.
const NAMED: f64 = 0.9;
/// Causes that are stated.
const CAUSES: usize = 3;

/// What a set of CPUs has in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Synchronous {
    /// The CPUs, in order.
    pub(crate) cpus: Vec<u32>,
    /// Indices of their series, in order.
    pub(crate) series: Vec<usize>,
    /// Occasions on which gaps of two CPUs and more coincided.
    pub(crate) number: u64,
    /// As many at most would by chance.
    pub(crate) expected: f64,
    /// Of the most significant pair, corrected for the number of trials.
    pub(crate) ln_chance: f64,
    /// Seconds in which the CPUs were looked at.
    pub(crate) seconds: f64,
    /// Median number of CPUs that an occasion hits, and the highest.
    pub(crate) median_cpus: usize,
    /// See `median_cpus`.
    pub(crate) most_cpus: usize,
    /// Median time from the first begin of an occasion to the last, seconds.
    pub(crate) skew_s: f64,
    /// Share of the time in which any of them is away on an occasion: what a program that waits for all of them loses.
    pub(crate) together: f64,
    /// Sum over the CPUs of what each is away on an occasion: what such a program may lose where the same gaps come at unlike times.
    pub(crate) apart: f64,
    /// Share of its gap time that is synchronous, for each CPU: index of the lane, and share.
    pub(crate) shares: Vec<(usize, f64)>,
    /// Share of the gap time of all of them.
    pub(crate) share: f64,
    /// Frequency and its uncertainty in hertz, where most occasions are regular.
    pub(crate) regular: Option<(f64, f64)>,
    /// What their gaps were for the most part, most frequent first, and share.
    pub(crate) causes: Vec<(Cause, f64)>,
    /// Whether kernel events give one cause on each of the CPUs.
    pub(crate) named: bool,
}

/// A pair of CPUs whose gaps coincide.
struct Pair {
    lanes: (usize, usize),
    expected: f64,
    ln_chance: f64,
    /// Indices of the gaps of each.
    gaps: Vec<(u32, u32)>,
}

/// Everything that sets of these CPUs have in common, most CPUs first.
pub(super) fn find(lanes: &[Lane]) -> Vec<Synchronous> {
    let trials = (pairs(lanes.len()).len() * REACHES_NS.len()) as f64;
    let found: Vec<Pair> = pairs(lanes.len())
        .into_par_iter()
        .filter_map(|pair| coincide(lanes, pair, trials.ln()))
        .collect();
    let joined = sets(lanes.len(), found.iter().map(|pair| pair.lanes));
    let mut all: Vec<Synchronous> = joined
        .iter()
        .filter_map(|members| {
            let is_mine = |pair: &&Pair| members.contains(&pair.lanes.0);
            let mine: Vec<&Pair> = found.iter().filter(is_mine).collect();
            Some(Set::new(lanes, members, &mine)?.describe(&mine))
        })
        .collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.cpus.len()));
    all
}

/// The reach at which two CPUs coincide most, if that is no chance.
fn coincide(lanes: &[Lane], (a, b): (usize, usize), ln_trials: f64) -> Option<Pair> {
    let (one, other) = (&lanes[a], &lanes[b]);
    let both = common(
        &one.segments,
        &other.segments,
        one.gaps_until.min(other.gaps_until),
    );
    let frame = Frame {
        ticks: length(&both),
        ticks_per_ns: one.ticks_per_ns,
    };
    let within = |lane: &Lane| -> (Vec<u32>, Vec<Away>) {
        inside(lane.gaps.iter().map(|gap| gap.start), &both)
            .map(|number| (number as u32, lane.gaps[number]))
            .unzip()
    };
    let ((numbers_a, gaps_a), (numbers_b, gaps_b)) = (within(one), within(other));
    let tried = REACHES_NS
        .iter()
        .map(|&reach| coincidence::count(&gaps_a, &gaps_b, reach, frame))
        .filter(|found| found.stands_out())
        .map(|found| (found.ln_chance() + ln_trials, found))
        .filter(|(ln_chance, _)| *ln_chance < SIGNIFICANT.ln());
    let (ln_chance, found) = tried.max_by(|a, b| {
        let excess = |found: &coincidence::Coincidences| found.number as f64 - found.expected;
        excess(&a.1).total_cmp(&excess(&b.1))
    })?;
    Some(Pair {
        lanes: (a, b),
        expected: found.expected,
        ln_chance,
        gaps: found
            .pairs
            .iter()
            .map(|&(a, b)| (numbers_a[a as usize], numbers_b[b as usize]))
            .collect(),
    })
}

/// A gap that coincides with one of another CPU.
#[derive(Clone, Copy, Debug)]
struct Mate<'a> {
    lane: usize,
    gap: &'a Away,
}

/// Gaps that hit CPUs at once.
#[derive(Clone, Copy, Debug)]
struct Occasion {
    start: u64,
    end: u64,
    /// Start of the last CPU's first gap.
    last: u64,
    cpus: usize,
}

/// Some CPUs, and the gaps of theirs that coincide.
struct Set<'a> {
    lanes: &'a [Lane],
    members: &'a [usize],
    /// In order of time.
    mates: Vec<Mate<'a>>,
    occasions: Vec<Occasion>,
    /// Ticks in which all of them were looked at.
    segments: Vec<(u64, u64)>,
}

impl<'a> Set<'a> {
    fn new(lanes: &'a [Lane], members: &'a [usize], pairs: &[&Pair]) -> Option<Set<'a>> {
        let mut mates = Vec::new();
        for &lane in members {
            let mut numbers: Vec<u32> = Vec::new();
            for pair in pairs {
                if pair.lanes.0 == lane {
                    numbers.extend(pair.gaps.iter().map(|gap| gap.0));
                } else if pair.lanes.1 == lane {
                    numbers.extend(pair.gaps.iter().map(|gap| gap.1));
                }
            }
            numbers.sort_unstable();
            numbers.dedup();
            let gap = |number: u32| &lanes[lane].gaps[number as usize];
            mates.extend(numbers.into_iter().map(|number| Mate {
                lane,
                gap: gap(number),
            }));
        }
        mates.sort_by_key(|mate| mate.gap.start);
        let first = &lanes[*members.first()?];
        let until = members.iter().map(|&lane| lanes[lane].gaps_until).min()?;
        let segments = members[1..].iter().fold(
            common(&first.segments, &first.segments, until),
            |known, &lane| common(&known, &lanes[lane].segments, until),
        );
        // Pairs may have been measured together for longer than all of them.
        let within: Vec<usize> = inside(
            mates.iter().map(|mate: &Mate<'_>| mate.gap.start),
            &segments,
        )
        .collect();
        let mates: Vec<Mate<'_>> = within.into_iter().map(|number| mates[number]).collect();
        let occasions = occasions(&mates, (SLACK_NS * first.ticks_per_ns) as u64);
        Some(Set {
            lanes,
            members,
            mates,
            occasions,
            segments,
        })
        .filter(|set| !set.segments.is_empty() && !set.occasions.is_empty())
    }

    fn describe(&self, pairs: &[&Pair]) -> Synchronous {
        let lanes = self.lanes;
        let ticks_per_ns = lanes[self.members[0]].ticks_per_ns;
        let seconds = |ticks: f64| ticks / ticks_per_ns / 1e9;
        let wall = length(&self.segments) as f64;
        let mut counts: Vec<usize> = self.occasions.iter().map(|one| one.cpus).collect();
        counts.sort_unstable();
        let mut skews: Vec<u64> = self
            .occasions
            .iter()
            .map(|one| one.last - one.start)
            .collect();
        skews.sort_unstable();
        let together: u64 = self.occasions.iter().map(|one| one.end - one.start).sum();
        let away = |of: &dyn Fn(&Mate<'_>) -> bool| -> f64 {
            let mine = self.mates.iter().filter(|mate| of(mate));
            mine.map(|mate| mate.gap.duration as f64).sum()
        };
        let all = |lane: usize| -> f64 {
            let gaps = &lanes[lane].gaps;
            inside(gaps.iter().map(|gap| gap.start), &self.segments)
                .map(|number| gaps[number].duration as f64)
                .sum()
        };
        let total: f64 = self.members.iter().map(|&lane| all(lane)).sum();
        let mut series: Vec<usize> = self
            .members
            .iter()
            .flat_map(|&lane| lanes[lane].series.iter().copied())
            .collect();
        series.sort_unstable();
        let (causes, named) = self.causes();
        Synchronous {
            cpus: self.members.iter().map(|&lane| lanes[lane].cpu).collect(),
            series,
            number: self.occasions.len() as u64,
            expected: pairs.iter().map(|pair| pair.expected).sum(),
            ln_chance: pairs.iter().map(|pair| pair.ln_chance).fold(0.0, f64::min),
            seconds: seconds(wall),
            median_cpus: counts[counts.len() / 2],
            most_cpus: counts[counts.len() - 1],
            skew_s: seconds(skews[skews.len() / 2] as f64),
            together: together as f64 / wall,
            apart: away(&|_| true) / wall,
            shares: self
                .members
                .iter()
                .map(|&lane| (lane, away(&|mate| mate.lane == lane) / all(lane).max(1.0)))
                .collect(),
            share: away(&|_| true) / total.max(1.0),
            regular: self.period(seconds(wall), ticks_per_ns),
            causes,
            named,
        }
    }

    /// The period of most occasions.
    fn period(&self, seconds: f64, ticks_per_ns: f64) -> Option<(f64, f64)> {
        let origin = self.segments[0].0;
        let since = |tick: u64| tick.saturating_sub(origin) as f64 / ticks_per_ns / 1e9;
        let train = Train {
            times: self.occasions.iter().map(|one| since(one.start)).collect(),
            losses: self
                .occasions
                .iter()
                .map(|one| (one.end - one.start) as f64 / ticks_per_ns)
                .collect(),
            segments: self
                .segments
                .iter()
                .map(|&(from, to)| (since(from), since(to)))
                .collect(),
            // What is synchronous is no single CPU's tick beside another one.
            tick_hz: None,
            ..Train::default()
        };
        let found = events::search(&train).into_iter().next()?;
        let share = self.occasions.len() as f64 / (found.frequency * seconds);
        (REGULAR..1.0 / REGULAR)
            .contains(&share)
            .then_some((found.frequency, found.uncertainty))
    }

    /// The most frequent causes, and whether kernel events name one and the same on each CPU.
    fn causes(&self) -> (Vec<(Cause, f64)>, bool) {
        let mut by_name: BTreeMap<&Cause, u64> = BTreeMap::new();
        let mut names: Option<std::collections::BTreeSet<&Cause>> = None;
        for &lane in self.members {
            let mut mine: BTreeMap<&Cause, u64> = BTreeMap::new();
            for mate in self.mates.iter().filter(|mate| mate.lane == lane) {
                *mine.entry(self.lanes[lane].cause(mate.gap)).or_default() += 1;
            }
            let number: u64 = mine.values().sum();
            let most: std::collections::BTreeSet<&Cause> = mine
                .iter()
                .filter(|(name, times)| name.is_named() && **times as f64 >= NAMED * number as f64)
                .map(|(name, _)| *name)
                .collect();
            names = Some(match names {
                Some(known) => &known & &most,
                None => most,
            });
            for (name, times) in mine {
                *by_name.entry(name).or_default() += times;
            }
        }
        let all = self.mates.len().max(1) as f64;
        let mut causes: Vec<(Cause, f64)> = by_name
            .into_iter()
            .map(|(name, times)| (name.clone(), times as f64 / all))
            .collect();
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        causes.truncate(CAUSES);
        (causes, names.is_some_and(|names| !names.is_empty()))
    }
}

/// Gaps in order of time that overlap, or begin within `slack` of the first, of two CPUs and more.
fn occasions(mates: &[Mate<'_>], slack: u64) -> Vec<Occasion> {
    let mut all: Vec<Occasion> = Vec::new();
    let mut cpus: Vec<usize> = Vec::new();
    for mate in mates {
        let (start, end) = (mate.gap.start, mate.gap.end());
        match all.last_mut() {
            Some(one) if start < one.end || start <= one.start.saturating_add(slack) => {
                one.end = one.end.max(end);
                if !cpus.contains(&mate.lane) {
                    cpus.push(mate.lane);
                    one.cpus += 1;
                    one.last = start;
                }
            }
            _ => {
                cpus.clear();
                cpus.push(mate.lane);
                all.push(Occasion {
                    start,
                    end,
                    last: start,
                    cpus: 1,
                });
            }
        }
    }
    all.retain(|one| one.cpus > 1);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_occasion_is_what_overlaps_or_begins_together() {
        let away = |start, duration| Away {
            start,
            duration,
            cause: 0,
        };
        let gaps = [
            away(0, 10),
            away(4, 20),
            away(15, 3),
            away(100, 5),
            away(108, 5),
            away(200, 5),
        ];
        let lanes = [0, 1, 0, 0, 2, 1];
        let mates: Vec<Mate<'_>> = gaps
            .iter()
            .zip(lanes)
            .map(|(gap, lane)| Mate { lane, gap })
            .collect();
        let found = occasions(&mates, 10);
        let plain: Vec<_> = found
            .iter()
            .map(|one| (one.start, one.end, one.last, one.cpus))
            .collect();
        assert_eq!(plain, [(0, 24, 4, 2), (100, 113, 108, 2)]);
    }
}
