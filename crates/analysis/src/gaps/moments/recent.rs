//! The latest gaps of a CPU, and the moment that they make when a condition is met.

use super::PARTS;
use crate::gaps::chains::without_number;
use crate::gaps::naming::{Key, Namer};
use crate::gaps::trigger::{Counted, Hit};
use bandscope_recording::manifest::Trigger;
use bandscope_recording::{Gap, Sender};
use bandscope_report::{Cause, Chain, Moment, Part};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What the latest gaps were, as far back as a stretch reaches.
#[derive(Clone, Debug)]
pub struct Recent {
    ticks_per_ns: f64,
    /// Length of the longest stretch, in ticks; 0 where only gaps count, and none is remembered.
    reach: u64,
    gaps: VecDeque<Described>,
}

/// A gap and what it was.
#[derive(Clone, Debug)]
struct Described {
    from: u64,
    to: u64,
    parts: Vec<Timed>,
}

/// A part of a gap: 56 bytes, as one of a second may have 100,000.
#[derive(Clone, Debug)]
struct Timed {
    key: Key,
    ticks: u64,
    /// From when to when its event lasted; `None` of what no event covers.
    event: Option<(u64, u64)>,
    sender: Option<Arc<Sender>>,
    waited: u64,
}

impl Timed {
    /// How much of it lies between two ticks, of what has an event: what interrupted that is taken to do so evenly.
    fn within(&self, from: u64, to: u64) -> Option<f64> {
        let (start, end) = self.event?;
        let inside = end.min(to).saturating_sub(start.max(from)) as f64;
        Some(self.ticks as f64 * inside / (end - start).max(1) as f64)
    }
}

impl Described {
    /// The gap that `namer` split last.
    fn of(gap: &Gap, namer: &Namer<'_>) -> Described {
        let parts = namer.timed().map(|(piece, span)| Timed {
            key: piece.share.key,
            ticks: piece.share.ticks,
            event: span.map(|span| (span.from, span.to)),
            sender: span.and_then(|span| span.sender.clone()),
            waited: span.map_or(0, |span| span.waited),
        });
        Described {
            from: gap.start,
            to: gap.start.saturating_add(gap.duration),
            parts: parts.collect(),
        }
    }

    /// Its parts between two ticks, and their time in ticks. What no event covers shares what the others leave.
    fn between(&self, from: u64, to: u64) -> impl Iterator<Item = (&Timed, f64)> {
        let (from, to) = (from.max(self.from), to.min(self.to));
        let is_whole = (from, to) == (self.from, self.to);
        let of_events = self.parts.iter().filter_map(|part| part.within(from, to));
        let left = (to.saturating_sub(from) as f64 - of_events.sum::<f64>()).max(0.0);
        let silent = self.parts.iter().filter(|part| part.event.is_none());
        let silent: u64 = silent.map(|part| part.ticks).sum();
        let parts = self.parts.iter().map(move |part| {
            let ticks = match part.within(from, to) {
                _ if is_whole => part.ticks as f64,
                Some(within) => within,
                None => left * part.ticks as f64 / silent.max(1) as f64,
            };
            (part, ticks)
        });
        parts.filter(move |(_, ticks)| is_whole || *ticks > 0.0)
    }
}

impl Recent {
    /// For conditions of a flight recorder.
    pub fn new<'t>(triggers: impl Iterator<Item = &'t Trigger>, ticks_per_ns: f64) -> Recent {
        let stretches = triggers.filter_map(|trigger| trigger.window_s);
        Recent {
            ticks_per_ns,
            reach: (stretches.fold(0.0, f64::max) * 1e9 * ticks_per_ns) as u64,
            gaps: VecDeque::new(),
        }
    }

    /// Takes the gap that `namer` split last.
    pub fn push(&mut self, gap: &Gap, namer: &Namer<'_>) {
        if self.reach == 0 {
            return;
        }
        let gap = Described::of(gap, namer);
        let begin = gap.to.saturating_sub(self.reach).min(gap.from);
        while self.gaps.pop_front_if(|gap| gap.to <= begin).is_some() {}
        self.gaps.push_back(gap);
    }

    /// A hit of one of the `triggers` that a gap made, which `namer` split last and which was pushed: all of it but when it was, and what others did.
    pub fn moment(&self, hit: &Hit, triggers: &[Trigger], namer: &Namer<'_>) -> Moment {
        let ns = |ticks: f64| ticks / self.ticks_per_ns;
        let condition = triggers.get(hit.condition);
        let mut sums = Sums::default();
        let mut add = |key: Key, ticks: f64, sender: Option<&Sender>, waited: u64| {
            let behind = sender.map(|sender| (sender, ns(waited as f64)));
            sums.add(namer.name(key), ns(ticks), behind);
        };
        if self.reach == 0 {
            for (piece, span) in namer.timed() {
                let sender = span.and_then(|span| span.sender.as_deref());
                let waited = span.map_or(0, |span| span.waited);
                add(piece.share.key, piece.share.ticks as f64, sender, waited);
            }
        }
        let is_in = |gap: &&Described| gap.to > hit.from && gap.from < hit.to;
        for gap in self.gaps.iter().filter(is_in) {
            for (part, ticks) in gap.between(hit.from, hit.to) {
                add(part.key, ticks, part.sender.as_deref(), part.waited);
            }
        }
        let mut behind: Vec<Chain> = sums.chains.into_values().collect();
        behind.sort_by_key(|chain| (chain.ran_on(), Reverse(chain.ns)));
        let parts = sums.causes.into_iter().map(|(cause, ns)| Part {
            cause: cause.clone(),
            ns,
        });
        let mut causes = longest_first(parts.collect());
        let counted = condition.map(Counted::of).filter(|one| !one.is_all());
        let main = counted.and_then(|one| causes.iter().position(|part| one.takes(&part.cause)));
        if let Some(main) = main {
            // Only that: the rest of the gap is told, too.
            causes[..=main].rotate_right(1);
            behind.sort_by_key(|chain| !chain.is_of(&causes[0].cause));
        }
        causes.truncate(PARTS);
        behind.truncate(PARTS);
        Moment {
            length_ns: ns((hit.to - hit.from) as f64),
            ns: ns(hit.lost as f64),
            gaps_ns: ns(hit.gaps as f64),
            condition: condition.map_or_else(String::new, |condition| condition.text.clone()),
            causes,
            behind,
            ..Moment::default()
        }
    }
}

/// Time of the parts of a moment, in nanoseconds, by cause and by who is behind them.
#[derive(Default)]
struct Sums<'a> {
    causes: BTreeMap<&'a Cause, f64>,
    chains: BTreeMap<[String; 5], Chain>,
}

impl<'a> Sums<'a> {
    /// Takes a part; who is behind it did so that many nanoseconds before.
    fn add(&mut self, cause: &'a Cause, ns: f64, behind: Option<(&Sender, f64)>) {
        *self.causes.entry(cause).or_default() += ns;
        let Some((sender, waited_ns)) = behind else {
            return;
        };
        let names = [
            without_number(&cause.to_string()),
            sender.function.to_string(),
            without_number(&sender.name),
            sender.caller.to_string(),
            without_number(&sender.set_by),
        ];
        let chain = self.chains.entry(names).or_insert_with_key(|names| {
            let [cause, function, sender_name, caller, set_by] = names.clone();
            Chain {
                cause,
                function,
                sender: sender_name,
                sender_function: caller,
                set_by,
                cpus: match sender.name.is_empty() {
                    true => String::new(),
                    false => sender.cpu.to_string(),
                },
                waited_ns,
                ..Chain::default()
            }
        });
        chain.number += 1;
        chain.ns += ns.round() as u64;
        chain.longest_ns = chain.longest_ns.max(ns);
    }
}

/// The longest parts first.
pub(super) fn longest_first(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_by(|a, b| b.ns.total_cmp(&a.ns).then_with(|| a.cause.cmp(&b.cause)));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ran in a millisecond is told, and not that share of what ran in all of a gap of twelve.
    #[test]
    fn a_gap_that_reaches_beyond_a_stretch_is_cut_at_it() {
        const FIRST: Key = 0;
        const SECOND: Key = 1;
        const HOST: Key = 2;
        let part = |key, ticks, event| Timed {
            key,
            ticks,
            event,
            sender: None,
            waited: 0,
        };
        let gap = Described {
            from: 1_000,
            to: 13_000,
            parts: vec![
                part(FIRST, 8_000, Some((1_000, 9_000))),
                part(SECOND, 3_000, Some((9_000, 12_000))),
                part(HOST, 1_000, None),
            ],
        };
        let told = |from, to| -> Vec<(Key, f64)> {
            let parts = gap.between(from, to);
            parts.map(|(part, ticks)| (part.key, ticks)).collect()
        };
        assert_eq!(told(2_000, 3_000), [(FIRST, 1_000.0)]);
        assert_eq!(told(8_500, 9_500), [(FIRST, 500.0), (SECOND, 500.0)]);
        assert_eq!(told(11_500, 12_500), [(SECOND, 500.0), (HOST, 500.0)]);
        assert_eq!(
            told(0, 20_000),
            [(FIRST, 8_000.0), (SECOND, 3_000.0), (HOST, 1_000.0)]
        );
    }
}
