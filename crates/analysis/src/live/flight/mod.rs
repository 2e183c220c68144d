//! A flight recorder: everything comes in and waits in memory; what lies around a gap that meets a condition goes out, the rest is forgotten.
//!
//! Quanta and gaps are those of the measured CPUs, kernel events those of all CPUs that have any. A gap is judged once its events have come,
//! a tenth of a second after it, and what happened waits until no gap that is yet to be judged can lie around it. So memory holds a fraction of
//! a second, however long the run is. A hit is kept if it is among the longest so far, of all or of its main cause; `moments/longest.rs` says how many that makes.

mod events;
mod kept;
mod lane;
#[cfg(test)]
mod tests;

use super::lane::EVENTS_COME_WITHIN_S;
use crate::gaps::moments::longest::Longest;
use crate::gaps::trigger::Hit;
use bandscope_recording::manifest::{Catch, EventsState, LostEvents, TaskThread, Watched};
use bandscope_recording::{Gap, GapKind, KernelEvent, Manifest, Quanta};
use bandscope_report::Moment;
use events::Events;
use kept::Kept;
use lane::{Lane, Waiting};

/// A CPU of which nothing has come for so long keeps the others waiting no longer, in seconds.
const LATEST_S: f64 = 10.0;

/// Quanta of a CPU that wait at most, but for those that take time: 7 MiB. The gap before those without is judged when a tenth of a second is over.
const MOST_QUANTA: usize = 1 << 17;

/// How long a stretch is remembered after what lies in it went out, in seconds: twice the longest event that comes in one piece.
const REMEMBERED_S: f64 = 2.0;

/// What goes out, of one CPU and in order of time.
#[derive(Debug)]
pub enum Out<'a> {
    /// Quanta of a series and the gaps in them.
    Quanta {
        /// The measured CPU.
        cpu: u32,
        /// Index of rate and work kernel.
        series: usize,
        /// Each stretch that was kept is a segment of its own.
        quanta: &'a Quanta,
        /// In those quanta.
        gaps: &'a [Gap],
    },
    /// Kernel events of a CPU, measured or not.
    Events {
        /// The CPU.
        cpu: u32,
        /// In order of their starts.
        events: &'a [KernelEvent],
    },
}

/// Looks on while CPUs are measured, and hands out what was caught.
pub struct Flight {
    catch: Catch,
    ticks_per_ns: f64,
    around: u64,
    /// The longest stretch of a condition: a gap may end one.
    reach: u64,
    late: u64,
    lanes: Vec<Lane>,
    events: Events,
    kept: Kept,
    longest: Longest,
    caught: Vec<Moment>,
    /// First tick of the first quantum, and the wall clock at tick 0 in seconds, where it is known.
    base: Option<u64>,
    unix_s: Option<f64>,
    /// The condition that ends the run, and the tick from which on it may.
    stop: Option<(String, u64)>,
}

impl Flight {
    /// Nothing seen yet of a run with this manifest, whose settings say what is to be caught.
    pub fn new(manifest: &Manifest) -> Flight {
        let catch = manifest.settings.catch.clone().unwrap_or_default();
        let ticks_per_ns = manifest.clock.ticks_per_ns;
        let ticks = |seconds: f64| (seconds * 1e9 * ticks_per_ns) as u64;
        let stretches = catch.conditions.iter().chain(&catch.stop_if);
        let reach = stretches.filter_map(|one| one.window_s).fold(0.0, f64::max);
        let with_events = manifest.events.state == EventsState::On;
        let lane = |&cpu: &u32| Lane::new(cpu, manifest, &catch);
        Flight {
            ticks_per_ns,
            around: ticks(catch.around_s),
            reach: ticks(reach),
            late: match with_events {
                true => ticks(EVENTS_COME_WITHIN_S),
                false => 0,
            },
            lanes: manifest.settings.cpus.iter().map(lane).collect(),
            events: Events::default(),
            kept: Kept::default(),
            longest: Longest::default(),
            caught: Vec::new(),
            base: None,
            unix_s: (manifest.clock.origin_unix_ns > 0)
                .then(|| manifest.clock.origin_unix_ns as f64 / 1e9),
            stop: None,
            catch,
        }
    }

    /// Takes note of tasks that are threads of a process, before their events: those are its.
    pub fn learn(&mut self, tasks: &[TaskThread]) {
        let lanes = self.lanes.iter_mut();
        lanes.for_each(|lane| lane.namer.learn(tasks));
    }

    /// Takes what came of one CPU, in order of time.
    pub fn push(
        &mut self,
        cpu: u32,
        series: usize,
        quanta: &Quanta,
        gaps: &[Gap],
        events: &[KernelEvent],
    ) {
        let keeps = self.catch.keeps_moments();
        if !events.is_empty() && keeps {
            let seconds = (self.around + self.reach) as f64 / self.ticks_per_ns / 1e9;
            self.events.push(cpu, events, seconds);
        }
        let Some(lane) = self.lanes.iter_mut().find(|lane| lane.cpu == cpu) else {
            return;
        };
        if !events.is_empty() {
            lane.namer.feed(events);
            // As in the live view: silence counts once something was heard.
            lane.namer.trust_silence();
        }
        let Some(&last) = quanta.end.last() else {
            return;
        };
        lane.latest = last;
        if let (None, Some(&first)) = (self.base, quanta.start.first()) {
            self.base = Some(first);
            // The first quantum is kept, so that times count from the start of the run.
            self.kept.add(first, first + 1);
        }
        let away = gaps.iter().filter(|gap| gap.kind == GapKind::Gap);
        let watched = &mut lane.watched;
        for gap in away.clone() {
            watched.gaps += 1;
            watched.gap_ticks += gap.duration;
            watched.longest_ticks = watched.longest_ticks.max(gap.duration);
        }
        let walls = quanta.start.iter().zip(&quanta.end);
        watched.wall_ticks += walls.map(|(start, end)| end - start).sum::<u64>();
        lane.gaps.extend(away);
        if keeps {
            let waiting: usize = lane.waiting.iter().map(|one| one.quanta.len()).sum();
            lane.waiting.push_back(Waiting {
                series,
                quanta: match waiting < MOST_QUANTA {
                    true => quanta.clone(),
                    false => kept::with_time(quanta),
                },
                gaps: gaps.to_vec(),
            });
        }
    }

    /// Judges what can be judged, and hands out what was caught; forgets what was not.
    ///
    /// # Errors
    /// What `out` says.
    pub fn take<E>(&mut self, out: &mut dyn FnMut(Out<'_>) -> Result<(), E>) -> Result<(), E> {
        let now = self.now();
        for place in 0..self.lanes.len() {
            let judged = self.lanes[place].latest.saturating_sub(self.late);
            self.judge(place, judged);
            let lane = &mut self.lanes[place];
            let next = lane.gaps.front().map_or(judged, |gap| gap.start);
            lane.namer.forget(next.min(judged));
        }
        let first = self.lanes.iter().filter_map(|lane| lane.gaps.front());
        let first = first.map(|gap| gap.start).min().unwrap_or(u64::MAX);
        let settled = first.min(now.saturating_sub(self.late));
        self.hand_out(settled.saturating_sub(self.around + self.reach), out)
    }

    /// Judges and hands out the rest, at the end of the run.
    ///
    /// # Errors
    /// What `out` says.
    pub fn finish<E>(&mut self, out: &mut dyn FnMut(Out<'_>) -> Result<(), E>) -> Result<(), E> {
        for place in 0..self.lanes.len() {
            self.judge(place, u64::MAX);
        }
        self.hand_out(u64::MAX, out)
    }

    /// Up to where everything has come.
    fn now(&self) -> u64 {
        let latest = || self.lanes.iter().map(|lane| lane.latest);
        let waits = (LATEST_S * 1e9 * self.ticks_per_ns) as u64;
        let behind = latest().max().unwrap_or(0).saturating_sub(waits);
        latest().min().unwrap_or(0).max(behind)
    }

    /// Judges the gaps of a CPU that ended before `until`.
    fn judge(&mut self, place: usize, until: u64) {
        let lane = &mut self.lanes[place];
        let over = |gap: &mut Gap| gap.start.saturating_add(gap.duration) <= until;
        while let Some(gap) = lane.gaps.pop_front_if(over) {
            let Some(shares) = lane.named(&gap) else {
                continue;
            };
            let names = lane.namer.names();
            let stop = lane.stop.hit(&gap, &shares, names);
            let caught = lane.catch.hit(&gap, &shares, names);
            let (cpu, around, ticks_per_ns) = (lane.cpu, self.around, self.ticks_per_ns);
            let (base, unix_s) = (self.base.unwrap_or(0), self.unix_s);
            let told = |hit: &Hit, moment: Moment| {
                let seconds = |ticks: u64| ticks as f64 / ticks_per_ns / 1e9;
                Moment {
                    cpu: Some(cpu),
                    at_s: seconds(hit.from.saturating_sub(base)),
                    unix_s: unix_s.map(|origin| origin + seconds(hit.from)),
                    ..moment
                }
            };
            let mut keep = |hit: &Hit| {
                let (from, to) = (
                    hit.from.saturating_sub(around),
                    hit.to.saturating_add(around),
                );
                self.kept.add(from, to);
                to
            };
            if let Some(hit) = stop.filter(|_| self.stop.is_none()) {
                let moment = lane.recent.moment(&hit, &self.catch.stop_if, &lane.namer);
                let moment = told(&hit, moment);
                self.stop = Some((moment.condition.clone(), keep(&hit)));
                self.caught.push(moment);
            }
            let Some(hit) = caught else {
                continue;
            };
            let cause = hit.cause(names);
            lane.count(&hit, &cause);
            if hit.goes_on && lane.keeps_on {
                keep(&hit);
                continue;
            }
            lane.keeps_on = self.longest.offer(&hit, &cause).is_some();
            if lane.keeps_on {
                let moment = (lane.recent).moment(&hit, &self.catch.conditions, &lane.namer);
                self.caught.push(told(&hit, moment));
                keep(&hit);
                lane.watched.kept += 1;
            }
        }
    }

    /// Hands out what happened before `until` and was caught.
    fn hand_out<E>(
        &mut self,
        until: u64,
        out: &mut dyn FnMut(Out<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let kept = &mut self.kept;
        for lane in &mut self.lanes {
            let cpu = lane.cpu;
            let over =
                |waiting: &mut Waiting| waiting.quanta.end.last().is_none_or(|&end| end <= until);
            while let Some(waiting) = lane.waiting.pop_front_if(over) {
                let (quanta, gaps) = kept.of(&waiting.quanta, &waiting.gaps);
                if !quanta.is_empty() {
                    let (series, quanta, gaps) = (waiting.series, &quanta, &*gaps);
                    out(Out::Quanta {
                        cpu,
                        series,
                        quanta,
                        gaps,
                    })?;
                }
            }
        }
        self.events.hand_out(until, kept, out)?;
        // A batch, or a long event that comes late, may reach back beyond what was handed out.
        kept.forget(until.saturating_sub((REMEMBERED_S * 1e9 * self.ticks_per_ns) as u64));
        Ok(())
    }

    /// What was caught since this was asked last.
    pub fn caught(&mut self) -> Vec<Moment> {
        std::mem::take(&mut self.caught)
    }

    /// The condition that ends the run, once what lies around it has come.
    pub fn stopped_by(&self) -> Option<&str> {
        let (condition, from) = self.stop.as_ref()?;
        (self.now().saturating_sub(self.late) >= *from).then_some(condition)
    }

    /// The same at the end of the run, whatever has come.
    pub fn met_at_the_end(&self) -> Option<&str> {
        self.stop.as_ref().map(|(condition, _)| condition.as_str())
    }

    /// Where events had to be dropped because a measured CPU was held for long.
    pub fn lost(&self) -> impl Iterator<Item = &LostEvents> {
        self.events.lost()
    }

    /// What was seen of each measured CPU; none where everything is kept.
    pub fn watched(&self) -> Vec<Watched> {
        let keeps = self.catch.keeps_moments();
        let lanes = self.lanes.iter().filter(|_| keeps);
        lanes
            .map(|lane| lane.watched(&self.catch.conditions))
            .collect()
    }
}
