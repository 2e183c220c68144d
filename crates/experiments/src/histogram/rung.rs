//! One length of work of one kind on the CPU of the calling thread: how many turns it takes, and its samples.
//!
//! A sample is the distance of two ordered clock reads with nothing but the work between them. Counting it comes after the
//! second read, so what counting costs is in no sample; what interrupts the counting is not seen.

use super::work::Work;
use bandscope_probe::clock;
use bandscope_recording::histogram::{Bin, Histogram, LongSample};
use hdrhistogram::Histogram as Counts;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest duration that is told from longer ones, in ticks: some minutes.
const LONGEST_TICKS: u64 = 1 << 40;
/// Digits of a duration: 0.1 % tells an interrupt of 1 us from none in 500 us, and a histogram has a few thousand bins.
const DIGITS: u8 = 3;
/// Longest samples that are kept with their times.
const MOST_LONGEST: usize = 16;
/// How often a number of turns is timed: one of so many is undisturbed, at 10,000 interrupts a second too...
const TRIES: u32 = 9;
/// ...until it takes this share of the work.
const FIRST_SHARE: f64 = 0.25;
/// A look: then it is timed for so long that a core that is shared shows its best pace, if it can.
pub const LOOK_NS: f64 = 25e6;
/// Long work, which is never undisturbed, is timed until so many looks are over, however few times that is.
const MOST_LOOKS: u64 = 10;
/// Whole turns make up a length of work to within this share, as exactly as a best pace is known; or else they are a length of their own.
const SAME: f64 = 0.05;

/// A length of work.
pub struct Rung {
    work: Work,
    /// What makes it up.
    pub amount: Amount,
    /// What was counted since it was last taken.
    seen: Seen,
}

/// An amount of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// Whole turns.
    pub turns: u64,
    /// Ticks that they take at their best: those that were asked for, or where no whole turns come near, their own.
    pub ticks: f64,
}

/// Samples.
#[derive(Clone, Debug)]
pub struct Seen {
    counts: Counts<u64>,
    /// All samples together.
    ticks: u64,
    /// Start since the origin, and duration; the shortest of them is replaced.
    longest: Vec<(u64, u64)>,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen {
            counts: Counts::new_with_bounds(1, LONGEST_TICKS, DIGITS)
                .expect("bounds and digits are constants that hdrhistogram allows"),
            ticks: 0,
            longest: Vec::with_capacity(MOST_LONGEST),
        }
    }
}

impl Rung {
    /// Of so many ticks at its best, which is looked for in `look` ticks, or until `stop`.
    pub fn new(mut work: Work, ticks: f64, look: u64, stop: &AtomicBool) -> Rung {
        let amount = amount(&mut work, ticks, look, stop);
        Rung {
            work,
            amount,
            seen: Seen::default(),
        }
    }

    /// Takes samples for so many ticks, or so many samples, or until `stop`; at least one. Times count from `origin`.
    pub fn measure(&mut self, ticks: u64, samples: u64, origin: u64, stop: &AtomicBool) {
        let begun = clock::ticks();
        for _ in 0..samples.max(1) {
            let start = clock::ticks();
            self.work.run(self.amount.turns);
            let end = clock::ticks();
            // A clock that ran backwards measured nothing.
            let duration = (end.wrapping_sub(start) as i64).max(0) as u64;
            self.seen.add(start.wrapping_sub(origin), duration);
            if end.wrapping_sub(begun) >= ticks || stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Moves what was counted to `all`.
    pub fn publish(&mut self, all: &mut Seen) {
        // Both have the same bounds.
        let _ = all.counts.add(&self.seen.counts);
        all.ticks = all.ticks.saturating_add(self.seen.ticks);
        all.longest.append(&mut self.seen.longest);
        all.longest
            .sort_unstable_by_key(|(_, duration)| std::cmp::Reverse(*duration));
        all.longest.truncate(MOST_LONGEST);
        self.seen.counts.clear();
        self.seen.ticks = 0;
    }
}

impl Seen {
    fn add(&mut self, start: u64, duration: u64) {
        self.counts.saturating_record(duration);
        self.ticks = self.ticks.saturating_add(duration);
        if self.longest.len() < MOST_LONGEST {
            self.longest.push((start, duration));
            return;
        }
        let shortest = self
            .longest
            .iter_mut()
            .min_by_key(|(_, duration)| *duration);
        if let Some(shortest) = shortest.filter(|shortest| shortest.1 < duration) {
            *shortest = (start, duration);
        }
    }

    /// Samples so far.
    pub fn samples(&self) -> u64 {
        self.counts.len()
    }

    /// As a recording has it; `named` holds what else is known of it.
    pub fn histogram(&self, ticks_per_ns: f64, named: Histogram) -> Histogram {
        let ns = |ticks: u64| ticks as f64 / ticks_per_ns;
        let bins = self.counts.iter_recorded().map(|step| {
            let value = step.value_iterated_to();
            Bin {
                from_ns: ns(self.counts.lowest_equivalent(value)),
                to_ns: ns(self.counts.next_non_equivalent(value)),
                count: step.count_at_value(),
            }
        });
        Histogram {
            samples: self.samples(),
            seconds: Some(ns(self.ticks) / 1e9).filter(|seconds| *seconds > 0.0),
            bins: bins.collect(),
            longest: (self.longest.iter())
                .map(|&(start, duration)| LongSample {
                    at_s: ns(start) / 1e9,
                    ns: ns(duration),
                })
                .collect(),
            ..named
        }
    }
}

/// Whole turns that take about so many ticks at their best; at least one.
fn amount(work: &mut Work, ticks: f64, look: u64, stop: &AtomicBool) -> Amount {
    let mut best = |turns: u64, at_least: u64| {
        let (begun, mut shortest) = (clock::ticks(), u64::MAX);
        for tries in 1u32.. {
            let start = clock::ticks();
            work.run(turns);
            let end = clock::ticks();
            shortest = shortest.min(end.wrapping_sub(start));
            let spent = end.wrapping_sub(begun);
            let is_often = tries >= TRIES || spent >= look.saturating_mul(MOST_LOOKS);
            if spent >= at_least && is_often || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        // A clock that stands still would make it endless.
        shortest.max(1) as f64
    };
    let mut turns = 1u64;
    while turns < 1 << 32 && best(turns, 0) < FIRST_SHARE * ticks && !stop.load(Ordering::Relaxed) {
        turns *= 2;
    }
    // Twice, as what the call costs weighs less the second time.
    let mut taken = ticks;
    for _ in 0..2 {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let scaled = turns as f64 * ticks / best(turns, look);
        turns = scaled.round().clamp(1.0, 1e12) as u64;
        taken = turns as f64 / scaled * ticks;
    }
    Amount {
        turns,
        ticks: match (taken / ticks - 1.0).abs() <= SAME {
            true => ticks,
            false => taken,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_probe::default_kernel;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    const LOOK: u64 = 1 << 20;

    #[test]
    fn longer_work_has_more_turns_and_every_sample_is_counted() {
        let stop = AtomicBool::new(false);
        let work = || Work::named(default_kernel()).unwrap();
        let mut rung = Rung::new(work(), 20_000.0, LOOK, &stop);
        let longer = Rung::new(work(), 2_000_000.0, LOOK, &stop).amount;
        assert!(longer.turns > rung.amount.turns);
        let mut all = Seen::default();
        for _ in 0..3 {
            rung.measure(u64::MAX, 7, clock::ticks(), &stop);
            rung.publish(&mut all);
        }
        let histogram = all.histogram(2.0, Histogram::default());
        assert_eq!(histogram.samples, 21);
        assert_eq!(histogram.bins.iter().map(|bin| bin.count).sum::<u64>(), 21);
        assert_eq!(histogram.longest.len(), MOST_LONGEST);
        let longest = histogram.longest[0].ns;
        let last = histogram.bins.last().unwrap();
        assert!(
            (last.from_ns..last.to_ns).contains(&longest),
            "{longest} {last:?}"
        );
    }

    #[test]
    fn it_ends_when_it_is_told() {
        let stop = AtomicBool::new(true);
        let turns = Arc::new(AtomicU64::new(0));
        let mut rung = Rung::new(counting(&turns, 0), 1e12, u64::MAX, &stop);
        assert!(turns.load(Ordering::Relaxed) <= 3);
        rung.measure(u64::MAX, u64::MAX, 0, &stop);
        assert_eq!(rung.seen.samples(), 1);
    }

    /// Work of turns that take at least so many ticks each, which are counted.
    fn counting(turns: &Arc<AtomicU64>, each: u64) -> Work {
        let turns = Arc::clone(turns);
        Work::Kernel(Box::new(move |number| {
            for _ in 0..number {
                turns.fetch_add(1, Ordering::Relaxed);
                let begun = clock::ticks();
                while clock::ticks().wrapping_sub(begun) < each {}
            }
        }))
    }

    #[test]
    fn what_one_turn_exceeds_is_as_long_as_the_turn() {
        let stop = AtomicBool::new(false);
        let each = 1_000_000;
        let turns = Arc::default();
        let amount = Rung::new(counting(&turns, each), 1000.0, 0, &stop).amount;
        assert_eq!(amount.turns, 1);
        assert!(amount.ticks >= each as f64, "{amount:?}");
    }

    #[test]
    fn work_that_is_longer_than_all_looks_is_timed_once_each_time() {
        let stop = AtomicBool::new(false);
        let turns = Arc::new(AtomicU64::new(0));
        // Of 16 turns: 1, 2 and 4, and twice all of them as soon as their number is known.
        let amount = Rung::new(counting(&turns, 1_000_000), 16e6, 1, &stop).amount;
        assert!(amount.turns <= 17, "{amount:?}");
        assert!(turns.load(Ordering::Relaxed) <= 7 + 4 + 17);
    }

    #[test]
    fn the_longest_are_kept_whenever_they_come() {
        let mut seen = Seen::default();
        (0..100).for_each(|k| seen.add(k, (k * 37) % 100));
        let mut kept: Vec<u64> = seen.longest.iter().map(|sample| sample.1).collect();
        kept.sort_unstable();
        assert_eq!(kept, (84..100).collect::<Vec<u64>>());
        assert_eq!(seen.ticks, 4950);
    }
}
