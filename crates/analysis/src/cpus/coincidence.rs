//! Gaps of two CPUs that coincide, against what gaps without anything in common would do by chance.
//!
//! Two gaps coincide where they overlap or begin within [`SLACK_NS`] of each other, and begin no further apart than a reach, of which
//! several are tried. Chance is what the same two CPUs do at slightly other times: each gap of the one is held against gaps of the other
//! that begin shortly before and shortly after it, near (five times as far as coincidence goes) and farther away ([`FAR_NS`]), and against
//! the mean rate. The highest of these expectations counts. So bursts that both CPUs have in the same second make no coincidence, nor do two
//! periods that slowly pass through each other: they are as frequent on one side of it, or their begins differ by more and more.

use super::track::Away;
use bandscope_statistics::distributions::ln_poisson_at_least;

/// Begins within this are at the same time, however short the gaps are: interrupts to other CPUs and timers that expire at the same
/// instant are taken within some microseconds.
const SLACK_NS: f64 = 10_000.0;
/// Most that begins may differ, in nanoseconds: from what only one timer does to whatever overlaps.
pub(super) const REACHES_NS: [f64; 4] = [2_000.0, 10_000.0, 100_000.0, f64::INFINITY];
/// Gaps further away than this many times the width of coincidence are no control of the near kind, nor are more than so many.
const MAX_CONTROL_WIDTHS: u64 = 5;
const NEIGHBOURS: usize = 32;
/// Half width of the window of the far control: longer than a period of any usual tick, shorter than most activity.
const FAR_NS: f64 = 25e6;
/// Coincidences closer than this are one occasion: within a burst they are not independent.
const APART_NS: f64 = 500_000.0;
/// Fewest occasions, and how many times more than expected: what is far out, and not the error of the expectation.
const MIN_OCCASIONS: u64 = 6;
const MIN_TIMES_EXPECTED: f64 = 2.0;

/// Correlation of the differences of begins with time from which on two periods pass through each other, and fewest differences that show it:
/// of 16 that have nothing to do with time, one in 5,000 is as high.
const PASSES: f64 = 0.8;
const FEWEST_THAT_PASS: usize = 16;

/// What two CPUs come to within one reach.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Coincidences {
    /// Occasions on which gaps of both CPUs coincided.
    pub(super) number: u64,
    /// As many would be by chance.
    pub(super) expected: f64,
    /// Correlation of the differences of begins with time.
    pub(super) trend: f64,
    /// Which gaps take part: indices into the first CPU's and the second one's.
    pub(super) pairs: Vec<(u32, u32)>,
}

impl Coincidences {
    /// Logarithm of the probability that chance makes as many, in one trial.
    pub(super) fn ln_chance(&self) -> f64 {
        ln_poisson_at_least(self.number, self.expected)
    }

    /// Whether there are far more than expected, apart from how probable that is.
    pub(super) fn stands_out(&self) -> bool {
        let passes = self.pairs.len() >= FEWEST_THAT_PASS && self.trend.abs() > PASSES;
        self.number >= MIN_OCCASIONS
            && self.number as f64 >= MIN_TIMES_EXPECTED * self.expected
            && !passes
    }
}

/// What is the same for both CPUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Ticks in which both were measured.
    pub(super) ticks: u64,
    /// Ticks per nanosecond.
    pub(super) ticks_per_ns: f64,
}

/// How far coincidence goes within one reach.
#[derive(Clone, Copy, Debug)]
struct Reach {
    slack: u64,
    most: u64,
}

impl Reach {
    /// Ticks from its begin within which another gap may begin that coincides with it.
    fn of(self, gap: &Away) -> u64 {
        gap.duration.max(self.slack).min(self.most)
    }
}

/// The coincidences of `a` and `b`, each in order of time and within the common time, that begin within `reach_ns`.
pub(super) fn count(a: &[Away], b: &[Away], reach_ns: f64, frame: Frame) -> Coincidences {
    let mut sweep = Sweep::new(b, reach_ns, frame);
    for (number, gap) in a.iter().enumerate() {
        sweep.meet(number, gap);
    }
    sweep.finish(a, frame)
}

/// One pass over the gaps of two CPUs: those of the first are met with those of the second around them.
struct Sweep<'g> {
    others: &'g [Away],
    reach: Reach,
    /// Half width of the window of the far control, and the distance of two occasions, ticks.
    far: u64,
    apart: u64,
    /// Sums of the others' reaches before each of them, and the longest reach.
    sums: Vec<u64>,
    longest: u64,
    /// The first other one that does not begin before the gap at hand, and those within the far control's window.
    next: usize,
    window: std::ops::Range<usize>,
    /// How many gaps the controls expect to coincide: others shortly before, shortly after, and farther around.
    before: f64,
    after: f64,
    around: f64,
    /// How many others coincide, and the last of them.
    hits: u64,
    last_hit: Option<usize>,
    last_occasion: Option<u64>,
    found: Coincidences,
}

/// A gap of the first CPU while it meets those of the second.
struct Met {
    number: usize,
    start: u64,
    reach: u64,
    /// Width of coincidence with those that coincide: they are no control.
    width: u64,
    coincides: bool,
}

impl<'g> Sweep<'g> {
    fn new(others: &'g [Away], reach_ns: f64, frame: Frame) -> Sweep<'g> {
        let ticks = |ns: f64| (ns * frame.ticks_per_ns) as u64;
        let reach = Reach {
            slack: ticks(SLACK_NS),
            most: ticks(reach_ns),
        };
        let mut sums = Vec::with_capacity(others.len() + 1);
        let (mut sum, mut longest) = (0u64, 0);
        sums.push(0);
        for gap in others {
            let theirs = reach.of(gap);
            sum = sum.saturating_add(theirs);
            longest = longest.max(theirs);
            sums.push(sum);
        }
        Sweep {
            others,
            reach,
            far: ticks(FAR_NS).max(1),
            apart: ticks(APART_NS),
            sums,
            longest,
            next: 0,
            window: 0..0,
            before: 0.0,
            after: 0.0,
            around: 0.0,
            hits: 0,
            last_hit: None,
            last_occasion: None,
            found: Coincidences::default(),
        }
    }

    /// Takes the next gap of the first CPU.
    fn meet(&mut self, number: usize, gap: &Away) {
        let at = gap.start;
        self.advance(at);
        let mut met = Met {
            number,
            start: at,
            reach: self.reach.of(gap),
            width: 0,
            coincides: false,
        };
        let (from, next) = (self.next.saturating_sub(NEIGHBOURS), self.next);
        let to = (next + NEIGHBOURS).min(self.others.len());
        // Before it coincidence goes as far as the other one's reach, after it as far as its own.
        let mine = met.reach;
        self.before += probability(self.side(&mut met, (from..next).rev(), |theirs| theirs));
        self.after += probability(self.side(&mut met, next..to, |_| mine));
        let near_by = self.window.len() as u64;
        let theirs = self.sums[self.window.end] - self.sums[self.window.start];
        let width = near_by.saturating_mul(mine).saturating_add(theirs);
        let width = width.saturating_sub(met.width) as f64;
        self.around += probability(width / (2 * self.far) as f64);
        let is_apart = |last: u64| at - last >= self.apart;
        if met.coincides && self.last_occasion.is_none_or(is_apart) {
            self.last_occasion = Some(at);
            self.found.number += 1;
        }
    }

    /// Moves on to the others around a time.
    fn advance(&mut self, at: u64) {
        let until = |from: usize, is_before: &dyn Fn(u64) -> bool| {
            let later = &self.others[from..];
            let number = later.iter().take_while(|other| is_before(other.start));
            from + number.count()
        };
        let (from, to) = (at.saturating_sub(self.far), at.saturating_add(self.far));
        let next = until(self.next, &|start| start < at);
        let first = until(self.window.start, &|start| start < from);
        let last = until(self.window.end, &|start| start <= to);
        (self.next, self.window) = (next, first..last);
    }

    /// Meets those on one side, nearest first; `zone` is how far coincidence with one of a reach goes there. Returns how many those that do not
    /// coincide make one expect.
    fn side(
        &mut self,
        met: &mut Met,
        side: impl Iterator<Item = usize>,
        zone: impl Fn(u64) -> u64,
    ) -> f64 {
        let mut control = 0.0;
        let flank = MAX_CONTROL_WIDTHS.saturating_mul(met.reach.saturating_add(self.longest));
        for index in side {
            let other = &self.others[index];
            let theirs = self.reach.of(other);
            let distance = met.start.abs_diff(other.start);
            if distance > flank {
                break;
            }
            if distance > zone(theirs) {
                control += share(met.reach, theirs, distance, zone(theirs));
                continue;
            }
            self.found.pairs.push((met.number as u32, index as u32));
            met.width = met.width.saturating_add(met.reach.saturating_add(theirs));
            met.coincides = true;
            // One of the other side counts once.
            if self.last_hit.is_none_or(|last| index > last) {
                self.hits += 1;
                self.last_hit = Some(index);
            }
        }
        control
    }

    /// After the last gap of the first CPU, all of which are `a`.
    fn finish(self, a: &[Away], frame: Frame) -> Coincidences {
        let mut found = self.found;
        found.number = found.number.min(self.hits);
        let reaches: f64 = a.iter().map(|gap| self.reach.of(gap) as f64).sum();
        let all = self.sums.last().copied().unwrap_or(0) as f64;
        let mean_width = (reaches / a.len().max(1) as f64).mul_add(self.others.len() as f64, all);
        let throughout = a.len() as f64 * probability(mean_width / (frame.ticks as f64).max(1.0));
        found.trend = correlation(found.pairs.iter().map(|&(one, other)| {
            let (one, other) = (a[one as usize].start, self.others[other as usize].start);
            ((one - a[0].start) as f64, other as f64 - one as f64)
        }));
        found.expected = (self.before.max(self.after))
            .max(self.around)
            .max(throughout);
        found
    }
}

/// Of the second number with the first one; 0 where one of them does not vary.
fn correlation(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let number = points.clone().count().max(1) as f64;
    let sum = |of: &dyn Fn((f64, f64)) -> f64| points.clone().map(of).sum::<f64>() / number;
    let (x, y) = (sum(&|point| point.0), sum(&|point| point.1));
    let xy = sum(&|point| (point.0 - x) * (point.1 - y));
    let (xx, yy) = (
        sum(&|point| (point.0 - x).powi(2)),
        sum(&|point| (point.1 - y).powi(2)),
    );
    if xx > 0.0 && yy > 0.0 {
        xy / (xx * yy).sqrt()
    } else {
        0.0
    }
}

/// What a gap at `distance` on one side, where coincidence goes as far as `zone`, says of how often gaps coincide by chance.
fn share(mine: u64, theirs: u64, distance: u64, zone: u64) -> f64 {
    let width = mine.saturating_add(theirs);
    let flank = MAX_CONTROL_WIDTHS.saturating_mul(width);
    if distance > flank {
        return 0.0;
    }
    width as f64 / (flank - zone) as f64
}

/// Of at least one where so many are expected.
fn probability(expected: f64) -> f64 {
    -f64::exp_m1(-expected)
}

#[cfg(test)]
mod tests;
