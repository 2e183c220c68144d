//! One CPU: what came of it, second by second.

use super::history::History;
use super::meter::Meter;
use super::{Cpu, Second};
use crate::gaps::naming::{Key, Namer};
use crate::series::context::Context;
use crate::series::derive::{Deriver, as_float};
use bandscope_recording::manifest::{EventsState, TaskThread};
use bandscope_recording::{Chunk, Gap, GapKind, KernelEvent, Manifest, Quanta, Series};
use bandscope_report::{Ledger, LongGap};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How long quanta wait for the kernel events that name their gaps, in seconds. The consumer looks at the rings each 25 ms, at those of
/// the events after those of the quanta, so what happened in a quantum is here with the next look; four of them leave room for a
/// consumer that is late.
pub(super) const EVENTS_COME_WITHIN_S: f64 = 0.1;
/// The longest gaps that are kept.
const MAX_LONGEST_GAPS: usize = 16;

/// Quanta of one series, and their gaps, that wait for their events.
struct Waiting {
    series: usize,
    quanta: Quanta,
    gaps: Vec<Gap>,
}

/// What is known of one CPU that is being measured.
pub struct Lane {
    cpu: u32,
    context: Context,
    /// Index into [`Self::meters`] of each series.
    meter_of: Vec<usize>,
    meters: Vec<Meter>,
    derivers: Vec<Deriver>,
    namer: Namer<'static>,
    events_known: bool,
    waiting: VecDeque<Waiting>,
    /// Number of the second under way, from 1.
    second: u64,
    gaps: u64,
    /// Start and duration, ticks, and main cause.
    longest_now: Option<(u64, u64, Key)>,
    longest: BinaryHeap<Reverse<(u64, u64, Key)>>,
    shown: Cpu,
    history: History,
    total_gaps: u64,
}

impl Lane {
    /// Nothing seen yet of CPU `cpu`.
    pub fn new(cpu: u32, manifest: &Manifest, series: &[(f64, String)]) -> Lane {
        let context = |rate_hz: f64, kernel: &str| {
            let series = Series {
                cpu: Some(cpu),
                rate_hz,
                kernel: kernel.to_owned(),
                gaps_known: true,
                ends_known: true,
                origin: String::new(),
            };
            Context::new(manifest, &series)
        };
        let mut names: Vec<&String> = Vec::new();
        let mut meters = Vec::new();
        let meter_of = series.iter().map(|(rate, name)| {
            let known = names.iter().position(|one| *one == name);
            known.unwrap_or_else(|| {
                names.push(name);
                meters.push(Meter::new(name, context(*rate, name)));
                meters.len() - 1
            })
        });
        let meter_of = meter_of.collect();
        let context = context(1e4, "");
        Lane {
            cpu,
            meter_of,
            derivers: meters.iter().map(Meter::deriver).collect(),
            meters,
            namer: Namer::online(cpu, manifest),
            events_known: manifest.events.state == EventsState::On,
            waiting: VecDeque::new(),
            second: 1,
            gaps: 0,
            longest_now: None,
            longest: BinaryHeap::new(),
            shown: Cpu {
                cpu,
                ..Cpu::default()
            },
            history: History::new(context.ns(1.0)),
            total_gaps: 0,
            context,
        }
    }

    /// Its number.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Takes note of tasks that are threads of a process, before their events.
    pub fn learn(&mut self, tasks: &[TaskThread]) {
        self.namer.learn(tasks);
    }

    /// Takes kernel events.
    pub fn feed(&mut self, events: &[KernelEvent]) {
        if !events.is_empty() {
            self.namer.feed(events);
            // Recording them may have failed after the manifest was made: silence counts once something was heard.
            self.namer.trust_silence();
        }
    }

    /// Takes quanta of one series and their gaps.
    pub fn push(
        &mut self,
        series: usize,
        quanta: &Quanta,
        gaps: &[Gap],
        base: u64,
        closed: &mut Vec<Second>,
    ) {
        let Some(&last) = quanta.end.last().filter(|_| series < self.meter_of.len()) else {
            return;
        };
        let since = last.saturating_sub(base) as f64;
        self.shown.measured_s = self.shown.measured_s.max(self.context.seconds(since));
        if !self.events_known {
            return self.take(series, quanta, gaps, base, closed);
        }
        self.waiting.push_back(Waiting {
            series,
            quanta: quanta.clone(),
            gaps: gaps.to_vec(),
        });
        let late = self.context.ticks(EVENTS_COME_WITHIN_S) as u64;
        let known = |waiting: &mut Waiting| {
            let end = waiting.quanta.end.last().copied().unwrap_or(0);
            end.saturating_add(late) <= last
        };
        while let Some(ready) = self.waiting.pop_front_if(known) {
            self.take(ready.series, &ready.quanta, &ready.gaps, base, closed);
        }
    }

    /// Takes what waits, and closes the second under way.
    pub fn finish(&mut self, base: u64, closed: &mut Vec<Second>) {
        while let Some(ready) = self.waiting.pop_front() {
            self.take(ready.series, &ready.quanta, &ready.gaps, base, closed);
        }
        self.history.settle();
        self.close(base, closed);
    }

    /// What is shown.
    pub fn show(&self) -> Cpu {
        Cpu {
            history: self.history.clone(),
            ..self.shown.clone()
        }
    }

    /// Takes quanta whose events are here, cut where seconds end.
    fn take(
        &mut self,
        series: usize,
        quanta: &Quanta,
        gaps: &[Gap],
        base: u64,
        closed: &mut Vec<Second>,
    ) {
        let second_ticks = self.context.ticks(1.0);
        // A quantum is of the second in which it ends.
        let second_of = |end: u64| ((end - base) as f64 / second_ticks).ceil().max(1.0) as u64;
        let mut gaps = gaps;
        quanta.for_each_chunk(&mut |chunk| {
            let mut from = 0;
            while from < chunk.len() {
                let second = second_of(chunk.end[from].max(base));
                if second > self.second {
                    self.close(base, closed);
                    self.second = second;
                }
                let same = |&end: &u64| second_of(end.max(base)) <= second;
                let to = from + chunk.end[from..].partition_point(same).max(1);
                let part = chunk.slice(from, to);
                let mine = gaps.partition_point(|gap| gap.start < part.end[part.len() - 1]);
                let (now, later) = gaps.split_at(mine);
                gaps = later;
                self.measure(series, part, now, base);
                from = to;
            }
        });
    }

    /// Books some quanta of one second and their gaps.
    fn measure(&mut self, series: usize, chunk: Chunk<'_>, gaps: &[Gap], base: u64) {
        let index = self.meter_of[series];
        let meter = &mut self.meters[index];
        let history = &mut self.history;
        let cell_ticks = self.context.ticks(super::history::WIDTHS_S[0]);
        self.derivers[index].feed(chunk, None, |derived| {
            meter.push(derived);
            let best = meter.best();
            for k in 0..derived.len() {
                let at = |tick: u64| tick.saturating_sub(base) as f64 / cell_ticks;
                let (from, to) = (at(derived.chunk.start[k]), at(derived.chunk.end[k]));
                let (wall, away) = (derived.length[k], derived.gap_loss[k]);
                let own = as_float(derived.chunk.measurement_ticks[k]).min(wall);
                let work = f64::from(derived.chunk.count[k]) * best;
                let slower = (wall - own - away - work).max(0.0);
                history.add(from, to, wall, away, slower, derived.pace[k]);
            }
        });
        for gap in gaps.iter().filter(|gap| gap.kind == GapKind::Gap) {
            // Its stream of events is this program's memory: it cannot fail.
            let shares = self.namer.split(gap).unwrap_or_default();
            meter.book(shares);
            let main = shares.iter().max_by_key(|share| share.ticks);
            let mark = (gap.duration, gap.start, main.map_or(0, |share| share.key));
            self.gaps += 1;
            self.longest_now = self.longest_now.max(Some(mark));
            self.longest.push(Reverse(mark));
            if self.longest.len() > MAX_LONGEST_GAPS {
                self.longest.pop();
            }
        }
    }

    /// Ends the second under way.
    fn close(&mut self, base: u64, closed: &mut Vec<Second>) {
        let names = self.namer.names();
        let name = |key: Key| names.get(key as usize).cloned().unwrap_or_default();
        let mut whole = Ledger::default();
        let mut second = Second {
            cpu: self.cpu,
            number: self.second,
            gaps: self.gaps,
            ..Second::default()
        };
        for meter in &mut self.meters {
            let (now, since) = meter.close(&name);
            add(&mut whole, since);
            if let Some((ledger, pace)) = now {
                add(&mut second.ledger, ledger);
                second.paces.push(pace);
            }
        }
        let long = |&(duration, start, key): &(u64, u64, Key)| LongGap {
            at_s: self.context.seconds(start.saturating_sub(base) as f64),
            ns: self.context.ns(duration as f64),
            cause: name(key),
        };
        second.longest = self.longest_now.as_ref().map(long);
        if second.paces.is_empty() {
            return;
        }
        let mut longest: Vec<_> = self.longest.iter().map(|gap| gap.0).collect();
        // Of those that last the same, which a simulated machine has, the newest: it is what changes.
        longest.sort_by_key(|&(duration, start, _)| Reverse((duration, start)));
        self.total_gaps += self.gaps;
        self.shown.longest = longest.iter().map(long).collect();
        self.shown.whole = whole;
        self.shown.gaps = self.total_gaps;
        self.shown.now = second.clone();
        self.gaps = 0;
        self.longest_now = None;
        closed.push(second);
    }
}

/// Adds up two accounts.
fn add(sum: &mut Ledger, more: Ledger) {
    sum.wall_ns += more.wall_ns;
    sum.work_ns += more.work_ns;
    sum.pace_ns.unsplit += more.pace_ns.unsplit;
    for (cause, ns) in more.gaps_ns {
        *sum.gaps_ns.entry(cause).or_default() += ns;
    }
    sum.measurement_ns += more.measurement_ns;
    sum.unexplained_ns += more.unexplained_ns;
    sum.bonus_ns += more.bonus_ns;
    sum.basis = more.basis;
}
