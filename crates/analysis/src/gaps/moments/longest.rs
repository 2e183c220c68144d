//! Which hits are kept, by a flight recorder and by its report: the longest of all, and of each main cause the longest.
//!
//! A rare cause of short gaps would else be lost beside a frequent cause of long ones.

use crate::gaps::trigger::Hit;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Hits that are kept whatever their cause is.
pub const MAX_OF_ALL: usize = 100;
/// Hits of each main cause that are kept, however short they are.
pub const MAX_OF_CAUSE: usize = 8;
/// Causes with that right, those that come first. All further ones of a kind, as of tasks, have it together.
pub const MAX_CAUSES: usize = 64;
/// Kinds of causes: of `bandscope_report::Cause` there are fewer.
const MAX_KINDS: usize = 16;
/// Hits that are among the longest at a time: 740.
pub const MAX_LISTED: usize = MAX_OF_ALL + (MAX_CAUSES + MAX_KINDS) * MAX_OF_CAUSE;

/// Where a hit stands among others. Of hits of one rank the first stands highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    rank: (u64, u64),
    number: Reverse<u64>,
}

/// Places, the lowest on top.
type Shortlist = BinaryHeap<Reverse<Place>>;

/// The longest hits so far.
///
/// In memory are at most [`MAX_LISTED`] places of 24 bytes and 80 names, 40 KiB together.
///
/// What was offered and was among the longest then is kept on disk for good. Of n hits in no order that makes [`MAX_OF_ALL`] (1 + ln(n / [`MAX_OF_ALL`])), 800 of
/// 100,000. Of each cause with n hits it adds at most [`MAX_OF_CAUSE`] (1 + ln(n / [`MAX_OF_CAUSE`])). Of 100,000 hits of [`MAX_CAUSES`] causes 4,000 are
/// kept at most. Where each hit is longer than all before it, all are kept.
#[derive(Clone, Debug, Default)]
pub struct Longest {
    of_all: Shortlist,
    /// By cause, or by kind.
    of_cause: HashMap<String, Shortlist>,
    offered: u64,
}

impl Longest {
    /// Takes a hit whose main cause is `cause`; its place, if it is among the longest so far.
    pub fn offer(&mut self, hit: &Hit, cause: &str) -> Option<Place> {
        self.offered += 1;
        let place = Place {
            rank: hit.rank(),
            number: Reverse(self.offered),
        };
        let has_own = self.of_cause.len() < MAX_CAUSES || self.of_cause.contains_key(cause);
        let key = if has_own { cause } else { kind(cause) };
        let of_cause = self.of_cause.entry(key.to_owned()).or_default();
        let is_of_cause = takes(of_cause, MAX_OF_CAUSE, place);
        let is_of_all = takes(&mut self.of_all, MAX_OF_ALL, place);
        (is_of_all || is_of_cause).then_some(place)
    }

    /// Whether a hit that was among the longest when it was offered still is.
    pub fn holds(&self, place: Place, cause: &str) -> bool {
        let holds =
            |list: &Shortlist| (list.peek()).is_some_and(|Reverse(lowest)| *lowest <= place);
        let of_cause = (self.of_cause.get(cause)).or_else(|| self.of_cause.get(kind(cause)));
        holds(&self.of_all) || of_cause.is_some_and(holds)
    }
}

/// What a cause is without its name.
pub fn kind(cause: &str) -> &str {
    cause.split(':').next().unwrap_or_default()
}

/// Takes a place into a list of at most so many, if it is among the highest.
fn takes(list: &mut Shortlist, most: usize, place: Place) -> bool {
    if list.len() < most {
        list.push(Reverse(place));
        return true;
    }
    match list.peek_mut() {
        Some(mut lowest) if lowest.0 < place => {
            *lowest = Reverse(place);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(lost: u64) -> Hit {
        Hit {
            condition: 0,
            from: 0,
            to: lost,
            lost,
            gaps: lost,
            main: None,
            goes_on: false,
        }
    }

    /// Numbers up to `number` in no order.
    fn shuffled(number: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..number).collect();
        let mut state = 7_u64;
        for place in (1..all.len()).rev() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            all.swap(place, (state >> 33) as usize % (place + 1));
        }
        all
    }

    /// Hits of such lengths and so many causes: how many are kept on disk, and what is among the longest at the end.
    fn kept(lengths: &[u64], causes: u64) -> (usize, Vec<u64>) {
        let mut longest = Longest::default();
        let mut kept: Vec<(u64, String, Place)> = Vec::new();
        for &length in lengths {
            let cause = format!("task:{}", length % causes);
            if let Some(place) = longest.offer(&hit(length), &cause) {
                kept.push((length, cause, place));
            }
        }
        let number = kept.len();
        kept.retain(|(_, cause, place)| longest.holds(*place, cause));
        let mut last: Vec<u64> = kept.into_iter().map(|(length, ..)| length).collect();
        last.sort_unstable_by_key(|&length| Reverse(length));
        (number, last)
    }

    #[test]
    fn what_is_kept_of_many_is_bounded() {
        const NUMBER: u64 = 100_000;
        let lengths = shuffled(NUMBER);
        let records = |most: usize, number: f64| most as f64 * (1.0 + (number / most as f64).ln());
        let bound = |causes: f64| {
            let of_cause = causes * records(MAX_OF_CAUSE, NUMBER as f64 / causes);
            records(MAX_OF_ALL, NUMBER as f64) + of_cause
        };
        for causes in [1, 8, MAX_CAUSES as u64] {
            let (number, last) = kept(&lengths, causes);
            println!(
                "{number} of {NUMBER} hits of {causes} causes are kept, {} at the end",
                last.len()
            );
            assert!((number as f64) < bound(causes as f64) + 3.0 * bound(causes as f64).sqrt());
            // Numbers in turn: the longest of all are those of each cause, too.
            let most = MAX_OF_ALL.max(causes as usize * MAX_OF_CAUSE) as u64;
            let wanted: Vec<u64> = (NUMBER - most..NUMBER).rev().collect();
            assert_eq!(last, wanted, "{causes} causes");
        }
        let ascending: Vec<u64> = (0..NUMBER).collect();
        assert_eq!(kept(&ascending, 8).0, ascending.len());
        let descending: Vec<u64> = ascending.into_iter().rev().collect();
        assert_eq!(kept(&descending, 1).0, MAX_OF_ALL);
    }

    #[test]
    fn a_rare_cause_stays_beside_a_frequent_one() {
        let mut longest = Longest::default();
        for length in shuffled(1000) {
            longest.offer(&hit(1000 + length), "task:make");
        }
        let mut rare = Vec::new();
        for length in 0..20 {
            rare.extend(longest.offer(&hit(length), "irq:eth0"));
        }
        assert_eq!(rare.len(), 20, "each is longer than those before");
        rare.retain(|place| longest.holds(*place, "irq:eth0"));
        let lengths: Vec<u64> = rare.iter().map(|place| place.rank.0).collect();
        assert_eq!(lengths, [12, 13, 14, 15, 16, 17, 18, 19]);
        // Equal ones: the first.
        assert_eq!(longest.offer(&hit(12), "irq:eth0"), None);
    }

    #[test]
    fn beyond_so_many_causes_those_of_a_kind_have_one_right_together() {
        let mut longest = Longest::default();
        for number in 0..MAX_OF_ALL {
            longest.offer(&hit(1000), &format!("task:{number}"));
        }
        assert!(longest.offer(&hit(5), "task:0").is_some());
        let last = format!("task:{}", MAX_CAUSES - 1);
        assert!(longest.offer(&hit(5), &last).is_some());
        // Those from there on were the first eight of their kind.
        assert_eq!(longest.offer(&hit(5), &format!("task:{MAX_CAUSES}")), None);
        assert_eq!(longest.of_cause.len(), MAX_CAUSES + 1);
        assert!(longest.offer(&hit(5), "irq:eth0").is_some());
        assert_eq!(longest.of_cause.len(), MAX_CAUSES + 2);
        assert!(
            longest.offer(&hit(1001), "task:new").is_some(),
            "one of the longest of all"
        );
    }
}
