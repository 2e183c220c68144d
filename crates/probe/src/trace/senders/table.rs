//! What was done to whom, until it is known what came of it.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// Keys at most: tasks, CPUs, timers.
pub(super) const MOST_KEYS: usize = 1 << 14;
/// Acts that are kept, 9 MiB and as much again while they grow. All that come wait for as long as another task is in one piece on a measured CPU, a second, and where that CPU
/// says nothing for [`super::LONGEST_WAIT_NS`]: so these are 13,000 a second, with tasks that leave while they could run.
pub(super) const MOST_ACTS: usize = 1 << 17;

/// Somebody was woken, a CPU interrupted, a softirq raised, a timer set.
#[derive(Clone, Debug)]
pub(super) struct Act {
    pub at: u64,
    /// On which CPU, and by whom, named as causes are.
    pub cpu: u32,
    pub name: Arc<str>,
    /// The timer that did it, by its address; 0 where it was none.
    pub timer: u64,
    /// Which function of the kernel called for it; empty where that is not known.
    pub caller: Arc<str>,
    /// Beginning of the stay that it caused.
    pub ran: Option<u64>,
}

/// Acts by whom they are done to, in order of time.
#[derive(Debug)]
pub(super) struct Table<K> {
    pub acts: HashMap<K, VecDeque<Act>>,
    /// How many these are.
    pub number: usize,
}

impl<K> Default for Table<K> {
    fn default() -> Table<K> {
        Table {
            acts: HashMap::new(),
            number: 0,
        }
    }
}

impl<K: Eq + Hash> Table<K> {
    /// Takes an act; `false` if there is no room.
    pub fn add(&mut self, key: K, act: Act) -> bool {
        let is_new = !self.acts.contains_key(&key);
        if self.number >= MOST_ACTS || is_new && self.acts.len() >= MOST_KEYS {
            return false;
        }
        self.number += 1;
        let acts = self.acts.entry(key).or_default();
        // Rings are emptied one by one: what comes last need not have happened last.
        let place = acts.partition_point(|known| known.at <= act.at);
        acts.insert(place, act);
        true
    }

    /// Forgets all of a key.
    pub fn remove(&mut self, key: &K) {
        let acts = self.acts.remove(key);
        self.number -= acts.map_or(0, |acts| acts.len());
    }

    /// Forgets the acts of one name.
    pub fn drop_named(&mut self, name: &str) {
        self.acts
            .values_mut()
            .for_each(|acts| self.number -= without(acts, name));
    }

    /// Forgets the acts of one name, of a key.
    pub fn drop_named_of(&mut self, key: &K, name: &str) {
        self.number -= (self.acts.get_mut(key)).map_or(0, |acts| without(acts, name));
    }

    /// The last up to a time.
    pub fn last(&mut self, key: &K, until: u64) -> Option<&mut Act> {
        let acts = self.acts.get_mut(key)?;
        let place = acts.partition_point(|act| act.at <= until);
        acts.get_mut(place.checked_sub(1)?)
    }

    /// Forgets all that a later one before `horizon` replaces, and what was `longest_ns` before it.
    pub fn forget(&mut self, horizon: u64, longest_ns: u64) {
        self.acts.retain(|_, acts| {
            while acts.get(1).is_some_and(|next| next.at < horizon) {
                acts.pop_front();
            }
            give_back(acts);
            let old = |act: &Act| act.at.saturating_add(longest_ns) < horizon;
            !acts.back().is_none_or(old)
        });
        self.number = self.acts.values().map(VecDeque::len).sum();
    }
}

/// Takes out what has a name, and says how many these were.
fn without(acts: &mut VecDeque<Act>, name: &str) -> usize {
    let all = acts.len();
    acts.retain(|act| &*act.name != name);
    all - acts.len()
}

/// Gives memory back that one burst needed, for the next thing that needs some.
fn give_back(acts: &mut VecDeque<Act>) {
    const SMALL: usize = 64;
    if acts.capacity() > SMALL && acts.len() < acts.capacity() / 4 {
        acts.shrink_to(2 * acts.len());
    }
}
