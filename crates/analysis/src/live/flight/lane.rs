//! A measured CPU of a flight recorder: what waits to be judged and handed out, and what was seen of it.

use crate::gaps::moments::Recent;
use crate::gaps::moments::longest::{MAX_CAUSES, kind};
use crate::gaps::naming::{Namer, Share, main_cause};
use crate::gaps::trigger::{Conditions, Hit};
use bandscope_recording::manifest::{Catch, Trigger, Watched};
use bandscope_recording::{Gap, Manifest, Quanta};
use bandscope_report::Cause;
use std::collections::{BTreeMap, VecDeque};

/// Quanta of one series, and what lies in them, that wait.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) series: usize,
    pub(super) quanta: Quanta,
    pub(super) gaps: Vec<Gap>,
}

/// A measured CPU.
pub(super) struct Lane {
    pub(super) cpu: u32,
    pub(super) namer: Namer<'static>,
    pub(super) catch: Conditions,
    pub(super) stop: Conditions,
    pub(super) recent: Recent,
    /// Gaps that are yet to be judged.
    pub(super) gaps: VecDeque<Gap>,
    pub(super) waiting: VecDeque<Waiting>,
    /// End of the last quantum that came.
    pub(super) latest: u64,
    /// Whether the last hit was kept: a stretch that goes on is, too.
    pub(super) keeps_on: bool,
    /// Its `longest_cause` is of the longest gap that was judged, which is so many ticks long.
    pub(super) watched: Watched,
    longest_judged: u64,
    /// Rank and main cause of the last hit, which may be a stretch that goes on: it is yet to be counted by its cause.
    counted_last: Option<((u64, u64), String)>,
}

impl Lane {
    /// Nothing seen yet of a CPU of which `catch` is to be caught.
    pub(super) fn new(cpu: u32, manifest: &Manifest, catch: &Catch) -> Lane {
        let ticks_per_ns = manifest.clock.ticks_per_ns;
        let conditions = |all| Conditions::new(all, Some(cpu), ticks_per_ns);
        Lane {
            cpu,
            namer: Namer::online(cpu, manifest),
            catch: conditions(&catch.conditions),
            stop: conditions(&catch.stop_if),
            recent: Recent::new(catch.conditions.iter().chain(&catch.stop_if), ticks_per_ns),
            gaps: VecDeque::new(),
            waiting: VecDeque::new(),
            latest: 0,
            keeps_on: false,
            watched: Watched {
                cpu,
                ..Watched::default()
            },
            longest_judged: 0,
            counted_last: None,
        }
    }

    /// What a gap was, if it could meet a condition; also if none before it was as long. Gaps come in order of time.
    pub(super) fn named(&mut self, gap: &Gap) -> Option<Vec<Share>> {
        let is_longest = gap.duration > self.longest_judged;
        if !is_longest && !self.catch.concern(gap) && !self.stop.concern(gap) {
            return None;
        }
        // Its stream of events is this program's memory: it cannot fail.
        let shares = self.namer.split(gap).unwrap_or_default().to_vec();
        self.recent.push(gap, &self.namer);
        if is_longest {
            self.longest_judged = gap.duration;
            let main = main_cause(&shares).map(|key| self.namer.name(key));
            let known = main.filter(|cause| cause.is_named());
            self.watched.longest_cause = known.map_or_else(String::new, Cause::to_string);
        }
        Some(shares)
    }

    /// Counts a hit whose main cause this is. Of stretches that overlap the worst counts.
    pub(super) fn count(&mut self, hit: &Hit, cause: &str) {
        let is_worse = |(rank, _): &(_, _)| hit.rank() > *rank;
        if !hit.goes_on {
            self.watched.met += 1;
            if let Some((_, before)) = self.counted_last.take() {
                count_as(&before, &mut self.watched.met_by);
            }
        }
        if self.counted_last.as_ref().is_none_or(is_worse) {
            self.counted_last = Some((hit.rank(), cause.to_owned()));
        }
    }

    /// What was seen of it.
    pub(super) fn watched(&self, conditions: &[Trigger]) -> Watched {
        let mut watched = self.watched.clone();
        if let Some((_, last)) = &self.counted_last {
            count_as(last, &mut watched.met_by);
        }
        let unseen = (self.catch.unseen()).filter_map(|place| conditions.get(place));
        watched.unseen = unseen.map(|one| one.text.clone()).collect();
        // One that is longer may be yet to be judged.
        if self.longest_judged < watched.longest_ticks {
            watched.longest_cause.clear();
        }
        watched
    }
}

/// Counts one of a cause; of those that come up late, of their kind.
fn count_as(cause: &str, known: &mut BTreeMap<String, u64>) {
    let has_own = known.len() < MAX_CAUSES || known.contains_key(cause);
    let name = match has_own || kind(cause) == cause {
        true => cause.to_owned(),
        false => format!("{}:*", kind(cause)),
    };
    *known.entry(name).or_default() += 1;
}
