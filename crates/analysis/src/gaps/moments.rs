//! What a flight recorder caught, found again in what it kept: the gap, who is behind it, and what the other CPUs did meanwhile.

mod elsewhere;
mod unusual;

use crate::gaps::chains::without_number;
use crate::gaps::naming::{Key, Namer, Piece, Processes, Share, main_cause};
use crate::gaps::trigger::{Conditions, Hit};
use crate::series::context::Context;
use bandscope_recording::manifest::Trigger;
use bandscope_recording::{Error, Gap, Manifest, Sender, Source};
use bandscope_report::{Cause, Chain, Moment, Part, Usual};
use bandscope_statistics::quantiles::Distribution;
use elsewhere::{busiest, elsewhere, nearest};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Moments that the report lists, the longest.
const MOST: usize = 100;
/// Parts that are listed of a moment, and of a CPU.
const PARTS: usize = 8;

/// A moment of one series.
#[derive(Clone, Debug)]
struct Found {
    hit: Hit,
    /// Main cause of a gap; of a stretch `None`.
    main: Option<Key>,
    moment: Moment,
}

/// The moments of one series.
#[derive(Clone, Debug)]
pub struct Moments {
    recent: Recent,
    conditions: Conditions,
    found: Vec<Found>,
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
            recent: Recent::new(&catch.conditions, context.ticks_per_ns),
            conditions: Conditions::new(&catch.conditions, cpu, context.ticks_per_ns),
            found: Vec::new(),
            lengths: HashMap::new(),
        })
    }

    /// Takes the gap that `namer` split last into `shares`.
    pub fn push(&mut self, gap: &Gap, namer: &Namer<'_>) {
        self.recent.push(gap, namer);
        let shares = namer.shares();
        let main = main_cause(shares);
        if let Some(main) = main {
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
        let same = |last: &&mut Found| {
            hit.goes_on && last.hit.condition == hit.condition && last.hit.to > hit.from
        };
        if let Some(last) = self.found.last_mut().filter(same) {
            if last.hit.rank() < hit.rank() {
                last.hit = hit;
                last.moment = self.recent.moment(&hit);
            }
            return;
        }
        self.found.push(Found {
            hit,
            main: main.filter(|_| !self.recent.is_stretch(&hit)),
            moment: self.recent.moment(&hit),
        });
        if self.found.len() >= 2 * MOST {
            self.keep_the_longest();
        }
    }

    /// In order of time, as the last may go on.
    fn keep_the_longest(&mut self) {
        let mut ranks: Vec<(u64, u64)> = self.found.iter().map(|one| one.hit.rank()).collect();
        ranks.sort_unstable_by_key(|&rank| Reverse(rank));
        if let Some(&least) = ranks.get(MOST - 1) {
            self.found.retain(|found| found.hit.rank() >= least);
        }
    }

    /// The longest, with what is usual.
    fn finish(mut self, context: &Context) -> Vec<(Hit, Moment)> {
        self.keep_the_longest();
        let lengths = self.lengths;
        let found = self.found.into_iter().map(|found| {
            let usual = found
                .main
                .and_then(|main| lengths.get(&main))
                .map(|all| Usual {
                    number: all.len(),
                    median_ns: context.ns(all.quantile(0.5)),
                });
            (
                found.hit,
                Moment {
                    usual,
                    ..found.moment
                },
            )
        });
        found.collect()
    }
}

/// What the latest gaps were, as far back as a stretch reaches.
#[derive(Clone, Debug)]
pub struct Recent {
    triggers: Vec<Trigger>,
    ticks_per_ns: f64,
    /// Length of the longest stretch, in ticks.
    reach: u64,
    gaps: VecDeque<Described>,
}

/// A gap and what it was.
#[derive(Clone, Debug)]
struct Described {
    from: u64,
    to: u64,
    parts: Vec<Part>,
    behind: Vec<Chain>,
}

impl Recent {
    /// For the conditions of a flight recorder.
    pub fn new(triggers: &[Trigger], ticks_per_ns: f64) -> Recent {
        let stretches = triggers.iter().filter_map(|trigger| trigger.window_s);
        Recent {
            triggers: triggers.to_vec(),
            ticks_per_ns,
            reach: (stretches.fold(0.0, f64::max) * 1e9 * ticks_per_ns) as u64,
            gaps: VecDeque::new(),
        }
    }

    /// Takes the gap that `namer` split last.
    pub fn push(&mut self, gap: &Gap, namer: &Namer<'_>) {
        let (from, to) = (gap.start, gap.start.saturating_add(gap.duration));
        let begin = to.saturating_sub(self.reach).min(from);
        while self.gaps.pop_front_if(|gap| gap.to <= begin).is_some() {}
        let part = |share: &Share| Part {
            cause: namer.name(share.key).clone(),
            ns: share.ticks as f64 / self.ticks_per_ns,
        };
        self.gaps.push_back(Described {
            from,
            to,
            parts: namer.shares().iter().map(part).collect(),
            behind: behind(namer, self.ticks_per_ns),
        });
    }

    /// Whether a hit is a stretch, and no gap.
    fn is_stretch(&self, hit: &Hit) -> bool {
        let condition = self.triggers.get(hit.condition);
        condition.is_some_and(|condition| condition.stretch_s().is_some())
    }

    /// A hit that the latest gap made: all of it but when it was, and what others did.
    pub fn moment(&self, hit: &Hit) -> Moment {
        let ns = |ticks: u64| ticks as f64 / self.ticks_per_ns;
        let condition = self.triggers.get(hit.condition);
        let mut parts: BTreeMap<Cause, f64> = BTreeMap::new();
        let mut chains: BTreeMap<[String; 5], Chain> = BTreeMap::new();
        for gap in self
            .gaps
            .iter()
            .filter(|gap| gap.to > hit.from && gap.from < hit.to)
        {
            // Of a gap that reaches beyond the stretch a part.
            let within = gap.to.min(hit.to) - gap.from.max(hit.from);
            let within = within as f64 / (gap.to - gap.from).max(1) as f64;
            for part in &gap.parts {
                *parts.entry(part.cause.clone()).or_default() += within * part.ns;
            }
            for chain in &gap.behind {
                let parts = [
                    &chain.cause,
                    &chain.function,
                    &chain.sender,
                    &chain.sender_function,
                    &chain.set_by,
                ];
                let key = parts.map(String::clone);
                let known = chains.entry(key).or_insert_with(|| Chain {
                    number: 0,
                    ns: 0,
                    ..chain.clone()
                });
                known.number += 1;
                known.ns += chain.ns;
                known.longest_ns = known.longest_ns.max(chain.longest_ns);
            }
        }
        let mut behind: Vec<Chain> = chains.into_values().collect();
        behind.sort_by_key(|chain| Reverse(chain.ns));
        behind.truncate(PARTS);
        let parts = parts.into_iter().map(|(cause, ns)| Part { cause, ns });
        Moment {
            length_ns: ns(hit.to - hit.from),
            ns: ns(hit.lost),
            gaps_ns: ns(hit.gaps),
            condition: condition.map_or_else(String::new, |condition| condition.text.clone()),
            causes: longest(parts.collect()),
            behind,
            ..Moment::default()
        }
    }
}

/// Who is behind the parts of the gap that was split last.
fn behind(namer: &Namer<'_>, ticks_per_ns: f64) -> Vec<Chain> {
    let chain = |(piece, sender): (&Piece, &Sender)| {
        let ns = piece.share.ticks as f64 / ticks_per_ns;
        Chain {
            cause: without_number(&namer.name(piece.share.key).to_string()),
            function: sender.function.to_string(),
            sender: without_number(&sender.name),
            sender_function: sender.caller.to_string(),
            set_by: without_number(&sender.set_by),
            cpus: match sender.name.is_empty() {
                true => String::new(),
                false => sender.cpu.to_string(),
            },
            number: 1,
            ns: ns.round() as u64,
            longest_ns: ns,
            waited_ns: sender.waited as f64 / ticks_per_ns,
            ..Chain::default()
        }
    };
    namer.sent().map(chain).collect()
}

fn longest(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_by(|a, b| b.ns.total_cmp(&a.ns).then_with(|| a.cause.cmp(&b.cause)));
    parts.truncate(PARTS);
    parts
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
    let mut found: Vec<(Hit, Moment)> = Vec::new();
    for (index, moments) in of_series.into_iter().enumerate() {
        let context = &contexts[index];
        let cpu = source.series()[index].cpu;
        let all = moments.map_or_else(Vec::new, |moments| moments.finish(context));
        found.extend(all.into_iter().map(|(hit, moment)| {
            let ns = context.ns(hit.from as f64);
            let unix_s =
                (clock.origin_unix_ns > 0).then(|| (clock.origin_unix_ns as f64 + ns) / 1e9);
            let at_s = context.seconds(hit.from.saturating_sub(origin) as f64);
            (
                hit,
                Moment {
                    cpu,
                    at_s,
                    unix_s,
                    ..moment
                },
            )
        }));
    }
    found.sort_by_key(|(hit, _)| Reverse(hit.rank()));
    found.truncate(MOST);
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
