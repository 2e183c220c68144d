//! What a flight recorder catches on one CPU: gaps that are too long, as a whole or by one cause, and stretches of which gaps leave too little.
//!
//! The same conditions are asked while a CPU is measured ([`crate::live::flight`]) and when its recording is read ([`super::moments`]).

use crate::gaps::chains::without_number;
use crate::gaps::naming::{Key, Share, main_cause};
use bandscope_recording::Gap;
use bandscope_recording::manifest::Trigger;
use bandscope_report::Cause;
use std::collections::{BTreeMap, VecDeque};

/// Something that meets a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Place of the condition in its list.
    pub condition: usize,
    /// First tick and the first beyond: of the gap, or of the stretch.
    pub from: u64,
    pub to: u64,
    /// What was asked for took of it, ticks: gaps of a stretch, the gap, or some causes of a gap.
    pub lost: u64,
    /// Whole time of those gaps, ticks: more than `lost` where one began before the stretch.
    pub gaps: u64,
    /// What took most of that; `None` where nobody has named the gaps.
    pub main: Option<Key>,
    /// It is a stretch that overlaps the one that was hit before.
    pub goes_on: bool,
}

impl Hit {
    /// By what hits are ranked. Of stretches that gaps took as a whole, the worst is that with the longest gaps.
    pub fn rank(&self) -> (u64, u64) {
        (self.lost, self.gaps)
    }

    /// Its main cause, a kernel worker without its number; `names` are those of the keys. Untrusted.
    pub fn cause(&self, names: &[Cause]) -> String {
        let main = self.main.and_then(|key| names.get(key as usize));
        main.map_or_else(String::new, |main| without_number(&main.to_string()))
    }
}

/// A condition, in ticks.
#[derive(Clone, Debug)]
enum Condition {
    Longer {
        ticks: u64,
        counted: Counted,
        /// Whether the cause had a part in a gap that was long enough; `None` where none was.
        is_seen: Option<bool>,
    },
    Less(Stretch),
}

impl Condition {
    /// As it stands in a manifest; `None` where that says nothing.
    fn of(trigger: &Trigger, ticks_per_ns: f64) -> Option<Condition> {
        let ticks = |seconds: f64| (seconds * 1e9 * ticks_per_ns) as u64;
        match (trigger.longer_than_s, trigger.window_s, trigger.less_than) {
            (Some(longer), ..) => Some(Condition::Longer {
                ticks: ticks(longer),
                counted: Counted::of(trigger),
                is_seen: None,
            }),
            (None, Some(length), Some(less)) => Some(Condition::Less(Stretch {
                length: ticks(length),
                most_lost: (ticks(length) as f64 * (1.0 - less)) as u64,
                recent: VecDeque::new(),
                lost: 0,
                causes: BTreeMap::new(),
                last: 0,
            })),
            _ => None,
        }
    }

    fn hit(&mut self, gap: &Gap, shares: &[Share], names: &[Cause]) -> Option<Hit> {
        let (from, to) = (gap.start, gap.start.saturating_add(gap.duration));
        match self {
            Condition::Less(stretch) => stretch.hit(from, to, shares),
            Condition::Longer {
                ticks,
                counted,
                is_seen,
            } => {
                if gap.duration <= *ticks {
                    return None;
                }
                let (part, main) = match counted.is_all() {
                    true => (gap.duration, main_cause(shares)),
                    false => counted.part(shares, names),
                };
                *is_seen = Some(*is_seen == Some(true) || counted.is_in(shares, names));
                (part > *ticks).then_some(Hit {
                    condition: 0,
                    from,
                    to,
                    lost: part,
                    gaps: part,
                    main,
                    goes_on: false,
                })
            }
        }
    }
}

/// A stretch of time that ends with the latest gap.
#[derive(Clone, Debug)]
struct Stretch {
    length: u64,
    /// Gaps that take more than this leave less than is asked for.
    most_lost: u64,
    /// Gaps that reach into it, their time together, and that of each cause.
    recent: VecDeque<Reaching>,
    lost: u64,
    causes: BTreeMap<Key, u64>,
    /// End of the stretch that was hit last.
    last: u64,
}

/// A gap that reaches into a stretch.
#[derive(Clone, Debug)]
struct Reaching {
    from: u64,
    to: u64,
    shares: Vec<Share>,
}

impl Stretch {
    /// Takes a gap; what is hit, if gaps take too much.
    fn hit(&mut self, from: u64, to: u64, shares: &[Share]) -> Option<Hit> {
        let begin = to.saturating_sub(self.length);
        self.recent.push_back(Reaching {
            from,
            to,
            shares: shares.to_vec(),
        });
        self.lost += to - from;
        for share in shares {
            *self.causes.entry(share.key).or_default() += share.ticks;
        }
        while let Some(gone) = self.recent.pop_front_if(|gap| gap.to <= begin) {
            self.lost -= gone.to - gone.from;
            self.take_off(&gone.shares);
        }
        // Of one that reaches beyond the stretch only what lies within.
        let first = self.recent.front();
        let lost = self.lost - first.map_or(0, |gap| begin.saturating_sub(gap.from));
        (lost > self.most_lost).then(|| Hit {
            condition: 0,
            from: begin,
            to,
            lost,
            gaps: self.lost,
            main: self.main(begin),
            goes_on: std::mem::replace(&mut self.last, to) > begin,
        })
    }

    /// Takes off the time of a gap that reaches into it no more.
    fn take_off(&mut self, shares: &[Share]) {
        for share in shares {
            if let Some(ticks) = self.causes.get_mut(&share.key) {
                *ticks -= share.ticks;
            }
        }
        self.causes.retain(|_, ticks| *ticks > 0);
    }

    /// What took most of the stretch that begins there.
    fn main(&self, begin: u64) -> Option<Key> {
        let first = self.recent.front()?;
        // Of one that reaches beyond the stretch a part of each share.
        let beyond =
            begin.saturating_sub(first.from) as f64 / (first.to - first.from).max(1) as f64;
        let out = |key: Key| {
            let shares = first.shares.iter().filter(|share| share.key == key);
            shares.map(|share| share.ticks).sum::<u64>() as f64 * beyond
        };
        let within = self
            .causes
            .iter()
            .map(|(&key, &ticks)| (key, ticks as f64 - out(key)));
        let main = within.max_by(|a, b| a.1.total_cmp(&b.1));
        main.map(|(key, _)| key)
    }
}

/// The causes whose parts of a gap a condition counts.
#[derive(Clone, Debug)]
pub struct Counted {
    /// `None` for all.
    cause: Option<Pattern>,
    except: Vec<Pattern>,
}

impl Counted {
    /// As a condition has it.
    pub fn of(trigger: &Trigger) -> Counted {
        Counted {
            cause: Pattern::of(&trigger.cause),
            except: (trigger.except.iter())
                .filter_map(|one| Pattern::of(one))
                .collect(),
        }
    }

    /// Whether they are all, what nobody has named among them.
    pub fn is_all(&self) -> bool {
        self.cause.is_none() && self.except.is_empty()
    }

    /// Whether a cause is among them.
    pub fn takes(&self, cause: &Cause) -> bool {
        let asked = self.cause.as_ref();
        asked.is_none_or(|one| one.takes(cause)) && !self.except.iter().any(|one| one.takes(cause))
    }

    /// Whether the cause that was asked for has a part in a gap, excepted or not.
    fn is_in(&self, shares: &[Share], names: &[Cause]) -> bool {
        let Some(asked) = &self.cause else {
            return true;
        };
        let mut causes = (shares.iter()).filter_map(|share| names.get(share.key as usize));
        causes.any(|cause| asked.takes(cause))
    }

    /// Their time among the shares of a gap, and which of them has most.
    fn part(&self, shares: &[Share], names: &[Cause]) -> (u64, Option<Key>) {
        let name = |share: &Share| names.get(share.key as usize);
        let is_it = |share: &&Share| name(share).is_some_and(|name| self.takes(name));
        let mine: Vec<Share> = shares.iter().filter(is_it).copied().collect();
        let ticks = mine.iter().map(|share| share.ticks).sum();
        (ticks, main_cause(&mine))
    }
}

/// A cause by its name, or a family of them.
#[derive(Clone, Debug)]
struct Pattern {
    name: String,
    is_family: bool,
}

impl Pattern {
    /// As a condition has it; `None` where that is about no cause.
    fn of(text: &str) -> Option<Pattern> {
        let family = text.strip_suffix('*');
        (!text.is_empty()).then(|| Pattern {
            name: family.unwrap_or(text).to_owned(),
            is_family: family.is_some(),
        })
    }

    /// Whether a cause is it, or of the family. A kernel worker may be written without its number, as reports do.
    fn takes(&self, cause: &Cause) -> bool {
        let written = cause.to_string();
        match self.is_family {
            true => written.starts_with(&self.name),
            false => written == self.name || without_number(&written) == self.name,
        }
    }
}

/// The conditions on the gaps of one CPU.
#[derive(Clone, Debug)]
pub struct Conditions(Vec<(usize, Condition)>);

impl Conditions {
    /// Those of a list that are about `cpu`.
    pub fn new(triggers: &[Trigger], cpu: Option<u32>, ticks_per_ns: f64) -> Conditions {
        let all = triggers.iter().enumerate();
        let about = all.filter(|(_, trigger)| trigger.cpu.is_none() || trigger.cpu == cpu);
        let conditions = about
            .filter_map(|(place, trigger)| Some((place, Condition::of(trigger, ticks_per_ns)?)));
        Conditions(conditions.collect())
    }

    /// Places of those whose cause had a part in no gap that was long enough, though there were some.
    pub fn unseen(&self) -> impl Iterator<Item = usize> {
        let unseen = self.0.iter().filter(|(_, condition)| match condition {
            Condition::Longer {
                counted, is_seen, ..
            } => counted.cause.is_some() && *is_seen == Some(false),
            Condition::Less(_) => false,
        });
        unseen.map(|(place, _)| *place)
    }

    /// Whether a gap could meet one, before anybody has asked what it was.
    pub fn concern(&self, gap: &Gap) -> bool {
        self.0.iter().any(|(_, condition)| match condition {
            Condition::Longer { ticks, .. } => gap.duration > *ticks,
            Condition::Less(_) => true,
        })
    }

    /// The hit of the highest rank, if the gap meets a condition; gaps come in order of time.
    pub fn hit(&mut self, gap: &Gap, shares: &[Share], names: &[Cause]) -> Option<Hit> {
        let conditions = self.0.iter_mut();
        let hits = conditions.filter_map(|(place, condition)| {
            let hit = condition.hit(gap, shares, names)?;
            Some(Hit {
                condition: *place,
                ..hit
            })
        });
        hits.max_by_key(Hit::rank)
    }
}

#[cfg(test)]
mod tests;
