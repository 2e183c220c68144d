//! A loop and what it meets, by the names that its file has for them.

use super::LINE;
use super::changes::Change;
use super::code::Code;
use super::find::Hot;
use super::follow::Step;
use super::loops::Loop;
use super::object::Names;
use bandscope_recording::program::{HotLoop, Kind, Line, State, Trials};
use std::collections::BTreeMap;

/// The loop as it was watched; nothing of it is timed yet.
pub fn hot_loop(
    hot: &Hot,
    found: &Loop,
    steps: &[Step],
    names: &Names,
    code: &Code<'_>,
) -> HotLoop {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for step in found.turns.iter().flat_map(|turn| &steps[turn.clone()]) {
        *counts.entry(step.at()).or_default() += 1;
    }
    let turns = found.turns.len();
    let listing = counts.into_iter().filter_map(|(at, count)| {
        let offset = names.address(at);
        Some(Line {
            object: names.path(at).to_owned(),
            offset,
            source: names.source(at),
            text: code.text(at, offset)?,
            per_turn: count as f64 / turns as f64,
        })
    });
    HotLoop {
        samples: hot.samples,
        object: names.path(found.head).to_owned(),
        function: names.function(found.head).map(str::to_owned),
        offset: names.address(found.head),
        source: names.source(found.head),
        turns,
        instructions: found.instructions(),
        listing: listing.collect(),
        placement: found.head % LINE,
        ..HotLoop::default()
    }
}

/// A state that it meets.
pub fn state(change: &Change, turns: usize, names: &Names) -> State {
    let meeting = &change.meeting;
    let addresses =
        |counts: &BTreeMap<u64, usize>| counts.keys().map(|at| names.address(*at)).collect();
    State {
        kind: change.kind,
        per_turn: meeting.count() as f64 / turns as f64,
        loads: addresses(&meeting.loads),
        stores: addresses(&meeting.stores),
        bases: frequent(&meeting.bases),
        bytes: frequent(&meeting.bytes),
        change: change.words.clone(),
        without: Trials::default(),
    }
}

/// Denormals, which the core tells by a flag, and does not count.
pub fn denormals() -> State {
    State {
        kind: Kind::Denormals,
        per_turn: 1.0,
        loads: Vec::new(),
        stores: Vec::new(),
        bases: Vec::new(),
        bytes: Vec::new(),
        change: "denormals were taken for zero".to_owned(),
        without: Trials::default(),
    }
}

/// Keys, the most frequent first.
fn frequent<T: Clone>(counts: &BTreeMap<T, usize>) -> Vec<T> {
    let mut keys: Vec<(&T, &usize)> = counts.iter().collect();
    keys.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    keys.into_iter().map(|(key, _)| key.clone()).collect()
}
