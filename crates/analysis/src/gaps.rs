//! Gaps: how many, how long, and under which name they are booked.
//!
//! Reads [`bandscope_recording::Source::replay_gaps`]. Kept are sums by cause, a histogram of durations to 0.1 %, the
//! longest 64 gaps, and the first 65,536 for [`crate::signals`], which wants times and not counts.

use crate::context::Context;
use crate::distribution::Distribution;
use crate::report;
use crate::totals::Totals;
use bandscope_recording::{Gap, GapKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Gaps that a picture marks.
pub const MARKS: usize = 64;
/// Gaps that the report lists.
const LONGEST: usize = 16;
/// Gaps whose times are kept: 160 s of a busy machine's 400 a second, 1 MiB.
pub const EVENTS: usize = 65_536;
/// Percentiles that the report states.
const PERCENTS: [f64; 7] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];

/// Number and time of the gaps of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number.
    pub number: u64,
    /// Total duration, ticks.
    pub ticks: u128,
}

/// Sums by key of `gaps_ns`.
pub type Causes = BTreeMap<String, Sum>;

/// Start and duration of a gap, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Ticks since the recording's origin.
    pub start: u64,
    /// Ticks.
    pub duration: u64,
}

/// The key of `gaps_ns` that a gap is booked under. Kernel events, where they are recorded, will name more.
pub fn cause(gap: &Gap) -> &'static str {
    match gap.preempted {
        Some(true) => "preempted",
        _ => "unnamed",
    }
}

/// Statistics of the gaps of one series.
#[derive(Clone, Debug)]
pub struct Statistics {
    causes: Causes,
    preemption_known: bool,
    preempted: u64,
    durations: Distribution,
    /// By factor of two of the duration in ns.
    by_size: [Sum; 64],
    longest: BinaryHeap<Reverse<(u64, u64, &'static str)>>,
    /// The first [`EVENTS`] gaps.
    pub events: Vec<Event>,
}

impl Statistics {
    /// Nothing seen yet.
    pub fn new() -> Statistics {
        Statistics {
            causes: Causes::new(),
            preemption_known: false,
            preempted: 0,
            durations: Distribution::new(3),
            by_size: [Sum::default(); 64],
            longest: BinaryHeap::with_capacity(MARKS + 1),
            events: Vec::new(),
        }
    }

    /// Takes some gaps in order of time; checkpoints are none.
    pub fn push(&mut self, gaps: &[Gap], context: &Context) {
        for gap in gaps.iter().filter(|gap| gap.kind == GapKind::Gap) {
            let name = cause(gap);
            // A name is allocated once for each cause, not for each gap.
            if !self.causes.contains_key(name) {
                self.causes.insert(name.to_owned(), Sum::default());
            }
            if let Some(sum) = self.causes.get_mut(name) {
                sum.number += 1;
                sum.ticks += u128::from(gap.duration);
            }
            self.preemption_known |= gap.preempted.is_some();
            self.preempted += u64::from(gap.preempted == Some(true));
            self.durations.record(gap.duration, 1);
            let size = &mut self.by_size
                [(context.ns(gap.duration as f64).max(1.0) as u64).ilog2() as usize];
            size.number += 1;
            size.ticks += u128::from(gap.duration);
            let mark = Reverse((gap.duration, gap.start, name));
            // The heap's top is the shortest that is kept; most gaps are shorter still.
            if self.longest.len() < MARKS {
                self.longest.push(mark);
            } else if let Some(mut shortest) = self.longest.peek_mut().filter(|top| mark < **top) {
                *shortest = mark;
            }
            if self.events.len() < EVENTS {
                self.events.push(Event {
                    start: gap.start,
                    duration: gap.duration,
                });
            }
        }
    }

    /// Sums by cause.
    pub fn causes(&self) -> &Causes {
        &self.causes
    }

    /// Gaps whose details were recorded.
    pub fn detailed(&self) -> u64 {
        self.durations.len()
    }

    /// What the report says of them; `lost` is what the ledger books to gaps, in ticks.
    pub fn report(
        &self,
        totals: &Totals,
        lost: i128,
        origin: u64,
        context: &Context,
    ) -> report::Gaps {
        let number = totals.gaps.max(self.detailed());
        let seconds = context.seconds(totals.wall as f64);
        report::Gaps {
            number,
            detailed: self.detailed(),
            per_second: if seconds > 0.0 {
                number as f64 / seconds
            } else {
                0.0
            },
            threshold_ns: context
                .kernel
                .as_ref()
                .map_or(0.0, |kernel| context.ns(kernel.gap_threshold_ticks as f64)),
            lost_ns: context.ns(lost.max(0) as f64).round() as u64,
            preempted: self.preemption_known.then_some(self.preempted),
            percentiles: self.percentiles(context),
            longest: self.longest(origin, context),
            histogram: self.histogram(context),
        }
    }

    fn percentiles(&self, context: &Context) -> Vec<report::Percentile> {
        if self.durations.is_empty() {
            return Vec::new();
        }
        PERCENTS
            .into_iter()
            .map(|percent| report::Percentile {
                percent,
                ns: context.ns(self.durations.quantile(percent / 100.0)),
            })
            .collect()
    }

    fn longest(&self, origin: u64, context: &Context) -> Vec<report::LongGap> {
        let mut longest: Vec<_> = self.longest.iter().map(|gap| gap.0).collect();
        longest.sort_by_key(|&(duration, start, _)| (Reverse(duration), start));
        longest
            .into_iter()
            .take(LONGEST)
            .map(|(duration, start, cause)| report::LongGap {
                at_s: context.seconds(start.saturating_sub(origin) as f64),
                ns: context.ns(duration as f64),
                cause: cause.to_owned(),
            })
            .collect()
    }

    /// The longest gaps in order of time, for a picture.
    pub fn marks(&self, origin: u64, context: &Context) -> Vec<crate::pyramid::GapMark> {
        let mut marks: Vec<_> = self.longest.iter().map(|gap| gap.0).collect();
        marks.sort_by_key(|&(_, start, _)| start);
        marks
            .into_iter()
            .map(|(duration, start, cause)| crate::pyramid::GapMark {
                at_s: context.seconds(start.saturating_sub(origin) as f64),
                ns: context.ns(duration as f64),
                cause: cause.to_owned(),
            })
            .collect()
    }

    fn histogram(&self, context: &Context) -> Vec<report::GapBin> {
        let occupied = |size: &(usize, &Sum)| size.1.number > 0;
        let bins = self.by_size.iter().enumerate();
        bins.filter(occupied)
            .map(|(power, sum)| report::GapBin {
                from_ns: 2f64.powi(power as i32),
                number: sum.number,
                total_ns: context.ns(sum.ticks as f64),
            })
            .collect()
    }
}
