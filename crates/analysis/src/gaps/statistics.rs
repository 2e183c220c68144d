//! Gaps: how many, how long, and under which name they are booked.
//!
//! Reads [`bandscope_recording::Source::replay_gaps`]. Kept are sums by cause, a histogram of durations to 0.1 %, the
//! longest 64 gaps, and the first 65,536 for [`crate::periods::signals`], which wants times and not counts.

use crate::gaps::causes::{CauseSum, Causes, by_cause, per_second};
use crate::gaps::chains::Chains;
use crate::gaps::moments::Moments;
use crate::gaps::naming::{Key, Namer, main_cause};
use crate::gaps::senders::Senders;
use crate::series::context::Context;
use crate::series::totals::Totals;
use bandscope_recording::{Error, Gap, GapKind};
use bandscope_report::{self as report, Cause};
use bandscope_statistics::quantiles::Distribution;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::sync::Arc;

/// Gaps that a picture marks.
pub const MARKS: usize = 64;
/// Gaps that the report lists.
const MAX_LONGEST_GAPS: usize = 16;
/// Gaps whose times are kept: 160 s of a busy machine's 400 a second, 1 MiB.
pub const EVENTS: usize = 65_536;
/// Kernel events in them whose times are kept.
pub const PIECES: usize = 4 * EVENTS;
/// Percentiles that the report states.
const PERCENTS: [f64; 7] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];

/// Causes that the report lists.
const CAUSES: usize = 64;

/// Threads of a process that the report lists.
const THREADS: usize = 64;

/// Tasks that have a line of their own in the ledger, the costliest. A machine that starts thousands of short-lived tasks of unlike names
/// has as many causes, none of which matters; they have one line together.
const TASKS: usize = 48;

/// Number and time of some gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many gaps.
    pub number: u64,
    /// Total duration, ticks.
    pub ticks: u128,
}

/// Start and duration of a gap, ticks, and what it was for the most part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Ticks since the recording's origin.
    pub start: u64,
    /// Its length, ticks.
    pub duration: u64,
    /// The cause with the largest part of it, among [`Statistics::names`].
    pub cause: Key,
    /// Ticks by which it may have been due earlier ([`crate::gaps::naming::Piece`]).
    pub after: u64,
    /// Whether the gap's own unit of work is in it.
    pub holds_unit: bool,
    /// Whether it is a task that goes on: it was here before, and the CPU came to it from another task without anything that woke it.
    pub goes_on: bool,
}

/// Statistics of the gaps of one series.
#[derive(Clone, Debug)]
pub struct Statistics {
    causes: Vec<CauseSum>,
    names: Vec<Cause>,
    chains: Chains,
    senders: Senders,
    /// Names and ticks of the threads of each cause that is a process, the costliest first.
    threads: BTreeMap<Cause, Vec<(Arc<str>, u64)>>,
    /// Ticks of each process of a name, by its id, the costliest first.
    processes: BTreeMap<Cause, Vec<(u32, u64)>>,
    preemption_known: bool,
    preempted: u64,
    wakers_known: bool,
    /// Ids of the tasks of the pieces.
    tasks_seen: HashSet<u32>,
    durations: Distribution,
    /// By factor of two of the duration in ns.
    by_size: [Sum; 64],
    longest: BinaryHeap<Reverse<(u64, u64, Key)>>,
    /// The first [`EVENTS`] gaps.
    pub events: Vec<Event>,
    /// What each kernel event took of them, from when it began; a unit of work is off the first. A host's is left out where it is on its way to the event
    /// that began the gap. At most [`PIECES`].
    pub pieces: Vec<Event>,
    /// What a flight recorder caught, where one did.
    pub moments: Option<Moments>,
}

impl Statistics {
    /// Nothing seen yet; `moments` where there are any to be found.
    pub fn new(moments: Option<Moments>) -> Statistics {
        Statistics {
            causes: Vec::new(),
            names: Vec::new(),
            chains: Chains::default(),
            senders: Senders::default(),
            threads: BTreeMap::new(),
            processes: BTreeMap::new(),
            preemption_known: false,
            preempted: 0,
            wakers_known: false,
            tasks_seen: HashSet::new(),
            durations: Distribution::new(3),
            by_size: [Sum::default(); 64],
            longest: BinaryHeap::with_capacity(MARKS + 1),
            events: Vec::new(),
            pieces: Vec::new(),
            moments,
        }
    }

    /// Takes some gaps in order of time; checkpoints are none.
    ///
    /// # Errors
    /// If the events that name them cannot be read.
    pub fn push(
        &mut self,
        gaps: &[Gap],
        namer: &mut Namer<'_>,
        context: &Context,
    ) -> Result<(), Error> {
        for gap in gaps.iter().filter(|gap| gap.kind == GapKind::Gap) {
            let cause = self.book(gap, namer)?;
            if let Some(moments) = &mut self.moments {
                moments.push(gap, namer);
            }
            self.preemption_known |= gap.preempted.is_some();
            self.preempted += u64::from(gap.preempted == Some(true));
            self.durations.record(gap.duration, 1);
            let size = &mut self.by_size
                [(context.ns(gap.duration as f64).max(1.0) as u64).ilog2() as usize];
            size.number += 1;
            size.ticks += u128::from(gap.duration);
            let mark = Reverse((gap.duration, gap.start, cause));
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
                    cause,
                    after: 0,
                    holds_unit: true,
                    goes_on: false,
                });
            }
        }
        Ok(())
    }

    /// To be called after the last gap. A recording's reader refuses gaps that are out of order; a source in memory can hold such, and
    /// whoever searches among [`Self::events`] by time subtracts what it finds.
    pub fn finish(&mut self, namer: &Namer<'_>) {
        if !self.wakers_known {
            self.pieces
                .iter_mut()
                .for_each(|piece| piece.goes_on = false);
        }
        self.events.sort_by_key(|event| event.start);
        self.pieces.sort_by_key(|piece| piece.start);
        for ((key, thread), &ticks) in namer.threads() {
            let process = namer.name(*key).clone();
            let threads = self.threads.entry(process).or_default();
            threads.push((thread.clone(), ticks));
        }
        for threads in self.threads.values_mut() {
            threads.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
        for (&(key, process), &ticks) in namer.processes() {
            let processes = self.processes.entry(namer.name(key).clone()).or_default();
            processes.push((process, ticks));
        }
        for processes in self.processes.values_mut() {
            processes.sort_by_key(|&(process, ticks)| (Reverse(ticks), process));
        }
    }

    /// Books a gap to its causes; the one with the largest part.
    fn book(&mut self, gap: &Gap, namer: &mut Namer<'_>) -> Result<Key, Error> {
        let shares = namer.split(gap)?;
        let main = main_cause(shares).unwrap_or(0);
        CauseSum::book(&mut self.causes, shares);
        CauseSum::book_host(&mut self.causes, namer.short_host());
        self.chains.push(namer);
        self.senders.push(namer);
        let mut turns = namer.pieces().iter().filter_map(|piece| piece.turn);
        self.wakers_known |= turns.any(|turn| turn.woken);
        if self.events.len() < EVENTS {
            let room = PIECES - self.pieces.len();
            let told = namer.pieces().len() - usize::from(namer.host_is_on_its_way());
            let pieces = namer.pieces().iter().enumerate().take(told.min(room));
            let known = &mut self.tasks_seen;
            self.pieces.extend(pieces.map(|(place, piece)| {
                Event {
                    start: piece.share.from,
                    duration: piece.share.ticks,
                    cause: piece.share.key,
                    after: piece.after,
                    holds_unit: place == 0,
                    goes_on: piece.turn.is_some_and(|turn| {
                        !known.insert(turn.task) && turn.follows && !turn.woken
                    }),
                }
            }));
        }
        // Names are few, and come up one by one. A piece of no length has one, and no share.
        let new = &namer.names()[self.names.len()..];
        self.names.extend(new.iter().cloned());
        Ok(main)
    }

    /// Names of the causes, by their number.
    pub fn names(&self) -> &[Cause] {
        &self.names
    }

    /// Sums by cause; beyond [`TASKS`], tasks are one cause.
    pub fn causes(&self) -> Causes {
        self.causes_apart().0
    }

    /// As [`Self::causes`], and how many tasks are together in [`Cause::OtherTasks`].
    fn causes_apart(&self) -> (Causes, u64) {
        let all = (self.names.iter().cloned()).zip(self.causes.iter().copied());
        let mut causes: Causes = all.filter(|(_, cause)| cause.number > 0).collect();
        let tasks = causes
            .iter()
            .filter(|(name, _)| matches!(name, Cause::Task(_)));
        let mut tasks: Vec<(u128, Cause)> = tasks
            .map(|(name, cause)| (cause.ticks, name.clone()))
            .collect();
        if tasks.len() <= TASKS {
            return (causes, 0);
        }
        // Of two that are as costly the first by name stays, in whatever order they came.
        tasks.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut others = CauseSum::default();
        for (_, name) in &tasks[TASKS..] {
            others.add(causes.remove(name).unwrap_or_default());
        }
        causes.entry(Cause::OtherTasks).or_default().add(others);
        (causes, (tasks.len() - TASKS) as u64)
    }

    fn name(&self, key: Key) -> Cause {
        self.names.get(key as usize).cloned().unwrap_or_default()
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
            per_second: per_second(number, seconds),
            threshold_ns: context
                .kernel
                .as_ref()
                .map_or(0.0, |kernel| context.ns(kernel.gap_threshold_ticks as f64)),
            lost_ns: context.ns(lost.max(0) as f64).round() as u64,
            preempted: self.preemption_known.then_some(self.preempted),
            percentiles: self.percentiles(context),
            longest: self.longest(origin, context),
            causes: self.by_cause(lost, totals, context),
            chains: self.chains.report(&self.names, seconds, context),
            senders: self.senders.report(context),
            other_tasks: self.causes_apart().1,
            histogram: self.histogram(context),
        }
    }

    /// What each cause took, the costliest first.
    fn by_cause(&self, lost: i128, totals: &Totals, context: &Context) -> Vec<report::GapCause> {
        let mut sums = self.causes();
        let booked = by_cause(lost, &totals.measures(), &sums);
        // Gaps without details have time, too.
        for name in booked.keys() {
            sums.entry(name.clone()).or_default();
        }
        let seconds = context.seconds(totals.wall as f64);
        let mut causes: Vec<report::GapCause> = sums
            .into_iter()
            .map(|(name, cause)| report::GapCause {
                number: cause.number,
                per_second: per_second(cause.number, seconds),
                lost_ns: context
                    .ns(booked.get(&name).copied().unwrap_or(0) as f64)
                    .round() as u64,
                longest_ns: context.ns(cause.longest as f64),
                host_ns: context.ns(cause.host as f64).round() as u64,
                tasks: self.tasks(&name, context),
                processes: self.ids(&name),
                cause: name,
            })
            .collect();
        causes.sort_by(|a, b| {
            b.lost_ns
                .cmp(&a.lost_ns)
                .then_with(|| a.cause.cmp(&b.cause))
        });
        causes.truncate(CAUSES);
        causes
    }

    /// The costliest threads of a process.
    fn tasks(&self, cause: &Cause, context: &Context) -> Vec<report::TaskTime> {
        let threads = self.threads.get(cause).into_iter().flatten();
        let time = |(name, ticks): &(Arc<str>, u64)| report::TaskTime {
            name: name.to_string(),
            ns: context.ns(*ticks as f64).round() as u64,
        };
        threads.take(THREADS).map(time).collect()
    }

    /// The ids of the costliest processes of a name.
    fn ids(&self, cause: &Cause) -> Vec<u32> {
        let processes = self.processes.get(cause).into_iter().flatten();
        processes.take(THREADS).map(|&(id, _)| id).collect()
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
            .take(MAX_LONGEST_GAPS)
            .map(|(duration, start, cause)| report::LongGap {
                at_s: context.seconds(start.saturating_sub(origin) as f64),
                ns: context.ns(duration as f64),
                cause: self.name(cause),
            })
            .collect()
    }

    /// The longest gaps in order of time, for a picture.
    pub fn marks(&self, origin: u64, context: &Context) -> Vec<report::LongGap> {
        let mut marks: Vec<_> = self.longest.iter().map(|gap| gap.0).collect();
        marks.sort_by_key(|&(_, start, _)| start);
        marks
            .into_iter()
            .map(|(duration, start, cause)| report::LongGap {
                at_s: context.seconds(start.saturating_sub(origin) as f64),
                ns: context.ns(duration as f64),
                cause: self.name(cause),
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
