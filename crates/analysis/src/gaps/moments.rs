//! What a flight recorder caught, found again in what it kept: the gap, who is behind it, and what the other CPUs did meanwhile.

mod elsewhere;
pub mod longest;
mod recent;
mod unusual;

use crate::gaps::naming::{Key, Namer, Processes, main_cause};
use crate::gaps::trigger::{Conditions, Hit};
use crate::series::context::Context;
use bandscope_recording::manifest::Trigger;
use bandscope_recording::{Error, Gap, Manifest, Source};
use bandscope_report::{Moment, Usual};
use bandscope_statistics::quantiles::Distribution;
use elsewhere::{busiest, elsewhere, nearest};
use longest::{Longest, MAX_LISTED, Place};
pub use recent::Recent;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Parts that are listed of a moment, and of a CPU.
const PARTS: usize = 8;

/// A moment of one series.
#[derive(Clone, Debug)]
struct Found {
    hit: Hit,
    /// Main cause, of a gap or of a stretch ([`Hit::cause`]).
    cause: String,
    /// It is a gap, and no stretch, nor some causes of a gap.
    is_gap: bool,
    moment: Moment,
}

impl Found {
    /// A hit that the latest gap made.
    fn new(hit: Hit, triggers: &[Trigger], recent: &Recent, namer: &Namer<'_>) -> Found {
        let is_gap = |one: &Trigger| one.stretch_s().is_none() && !one.asks_who();
        Found {
            hit,
            cause: hit.cause(namer.names()),
            is_gap: triggers.get(hit.condition).is_some_and(is_gap),
            moment: recent.moment(&hit, triggers, namer),
        }
    }
}

/// The moments of one series.
#[derive(Clone, Debug)]
pub struct Moments {
    triggers: Vec<Trigger>,
    recent: Recent,
    conditions: Conditions,
    /// The latest, which may be a stretch that goes on.
    last: Option<Found>,
    /// Those before it that were among the longest when they came, some of which still are.
    found: Vec<(Place, Found)>,
    longest: Longest,
    /// Lengths of the gaps by their main cause.
    lengths: HashMap<Key, Distribution>,
}

impl Moments {
    /// Those that a recording with this manifest kept of `cpu`; `None` if it kept everything.
    pub fn of(manifest: &Manifest, cpu: Option<u32>, context: &Context) -> Option<Moments> {
        let catch = manifest
            .settings
            .catch
            .as_ref()
            .filter(|catch| catch.keeps_moments())?;
        Some(Moments {
            triggers: catch.conditions.clone(),
            recent: Recent::new(catch.conditions.iter(), context.ticks_per_ns),
            conditions: Conditions::new(&catch.conditions, cpu, context.ticks_per_ns),
            last: None,
            found: Vec::new(),
            longest: Longest::default(),
            lengths: HashMap::new(),
        })
    }

    /// Takes the gap that `namer` split last into `shares`.
    pub fn push(&mut self, gap: &Gap, namer: &Namer<'_>) {
        self.recent.push(gap, namer);
        let shares = namer.shares();
        if let Some(main) = main_cause(shares) {
            let lengths = self
                .lengths
                .entry(main)
                .or_insert_with(|| Distribution::new(2));
            lengths.record(gap.duration, 1);
        }
        let Some(hit) = self.conditions.hit(gap, shares, namer.names()) else {
            return;
        };
        // Of stretches that overlap the worst is told.
        let same = |last: &&mut Found| hit.goes_on && last.hit.to > hit.from;
        let found = || Found::new(hit, &self.triggers, &self.recent, namer);
        match self.last.as_mut().filter(same) {
            Some(last) if last.hit.rank() >= hit.rank() => {}
            Some(last) => *last = found(),
            None => {
                let found = found();
                let before = self.last.replace(found);
                self.settle(before);
            }
        }
    }

    /// Takes one that goes on no more, if it is among the longest.
    fn settle(&mut self, found: Option<Found>) {
        let Some(found) = found else {
            return;
        };
        if let Some(place) = self.longest.offer(&found.hit, &found.cause) {
            self.found.push((place, found));
        }
        if self.found.len() >= 2 * MAX_LISTED {
            self.keep_the_longest();
        }
    }

    fn keep_the_longest(&mut self) {
        let longest = &self.longest;
        (self.found).retain(|(place, found)| longest.holds(*place, &found.cause));
    }

    /// The longest, with what is usual.
    fn finish(mut self, context: &Context) -> Vec<Found> {
        let last = self.last.take();
        self.settle(last);
        self.keep_the_longest();
        let lengths = self.lengths;
        let usual = |found: &Found| {
            let of_gap = found.hit.main.filter(|_| found.is_gap);
            let all = lengths.get(&of_gap?)?;
            Some(Usual {
                number: all.len(),
                median_ns: context.ns(all.quantile(0.5)),
            })
        };
        let found = self.found.into_iter().map(|(_, mut found)| {
            found.moment.usual = usual(&found);
            found
        });
        found.collect()
    }
}

/// The moments of all series, the longest first, with what other CPUs did; `origin` is the first tick of the recording.
///
/// # Errors
/// If the events cannot be read.
pub fn all(
    source: &dyn Source,
    of_series: Vec<Option<Moments>>,
    origin: u64,
    contexts: &[Context],
) -> Result<Vec<Moment>, Error> {
    let clock = &source.manifest().clock;
    let mut found: Vec<Found> = Vec::new();
    for (index, moments) in of_series.into_iter().enumerate() {
        let context = &contexts[index];
        let cpu = source.series()[index].cpu;
        let all = moments.map_or_else(Vec::new, |moments| moments.finish(context));
        found.extend(all.into_iter().map(|mut one| {
            let ns = context.ns(one.hit.from as f64);
            one.moment.cpu = cpu;
            one.moment.at_s = context.seconds(one.hit.from.saturating_sub(origin) as f64);
            one.moment.unix_s =
                (clock.origin_unix_ns > 0).then(|| (clock.origin_unix_ns as f64 + ns) / 1e9);
            one
        }));
    }
    let mut found = listed(found);
    let Some(context) = contexts.first() else {
        return Ok(Vec::new());
    };
    let processes = Processes::of(&source.manifest().events);
    for cpu in source.cpus_with_events() {
        elsewhere(source, cpu, &processes, &mut found, context)?;
    }
    let mut moments: Vec<Moment> = found.into_iter().map(|(_, moment)| moment).collect();
    for moment in &mut moments {
        nearest(&mut moment.events);
        busiest(&mut moment.timeline, moment.cpu);
    }
    unusual::mark(&mut moments);
    Ok(moments)
}

/// The longest of all series together, the longest first.
fn listed(mut found: Vec<Found>) -> Vec<(Hit, Moment)> {
    found.sort_by_key(|one| one.hit.from);
    let mut longest = Longest::default();
    let places: Vec<Option<Place>> = (found.iter())
        .map(|one| longest.offer(&one.hit, &one.cause))
        .collect();
    let both = found.into_iter().zip(places);
    let listed =
        both.filter(|(one, place)| place.is_some_and(|place| longest.holds(place, &one.cause)));
    let mut listed: Vec<(Hit, Moment)> = listed.map(|(one, _)| (one.hit, one.moment)).collect();
    listed.sort_by_key(|(hit, _)| Reverse(hit.rank()));
    listed
}
