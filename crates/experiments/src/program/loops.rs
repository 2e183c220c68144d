//! The loop in which a program was found: of all that were seen to turn, the innermost that holds most of the samples.

use super::code::Code;
use super::follow::Step;
use iced_x86::FlowControl;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A loop as it was seen to turn.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The instruction that each turn begins with.
    pub head: u64,
    /// The turns, as ranges of the steps: each begins at the head, and ends before it.
    pub turns: Vec<Range<usize>>,
    /// Its own instructions, from the first to the end of the last, and those of each function that it calls.
    pub parts: Vec<Range<u64>>,
    /// Addresses of all instructions that its turns executed, those of functions that it calls included.
    pub body: BTreeSet<u64>,
}

/// A loop of which half of the samples would be in parts of it belongs to the loop around it.
const MOST: f64 = 0.8;
/// Fewer turns than this tell nothing of what one does for the next.
const TURNS: usize = 8;
/// A jump back that ends fewer turns than one of so many belongs to a loop around this one, which begins at the same instruction.
const SELDOM: usize = 20;

/// Instructions from the entry of a loop until it is left, below which entering it again is a good part of what is timed, and most of it: a fork sets
/// registers and memory then, and vectors by XRSTOR. On Zen 3 a loop of 32 turns took 12 cycles a turn so, and 2.9 by the program's own time. Chosen: a
/// loop around another one meets states that are not in the inner one.
const BRIEF: f64 = 1_000.0;
const TOO_BRIEF: f64 = 256.0;

impl Loop {
    /// Share of the samples that lie in it.
    pub fn share(&self, samples: &[u64]) -> f64 {
        let inside = samples.iter().filter(|at| self.body.contains(at)).count();
        inside as f64 / samples.len().max(1) as f64
    }

    /// Instructions of a turn, on average.
    pub fn instructions(&self) -> f64 {
        self.turns.iter().map(Range::len).sum::<usize>() as f64 / self.turns.len().max(1) as f64
    }

    /// How often the loop was seen to be left and entered again: its turns do not follow each other without end.
    fn exits(&self) -> usize {
        let pairs = self.turns.windows(2);
        pairs.filter(|pair| pair[0].end != pair[1].start).count()
    }

    /// Whether it was at all.
    pub fn is_left(&self) -> bool {
        self.exits() > 0
    }

    /// Instructions from when it is entered until it is left, on average; no less than that of one that was not seen to be left.
    fn stay(&self) -> f64 {
        self.instructions() * self.turns.len() as f64 / (self.exits() + 1) as f64
    }

    /// Whether it is left after so few instructions.
    fn is_left_within(&self, instructions: f64) -> bool {
        self.is_left() && self.stay() < instructions
    }

    /// Whether entering it again takes a good part of what is timed.
    pub fn is_brief(&self) -> bool {
        self.is_left_within(BRIEF)
    }
}

/// Every loop that turned often enough in these steps.
pub fn all(steps: &[Step], code: &mut Code<'_>) -> Vec<Loop> {
    let mut back = |n: usize| {
        let (from, to) = (steps[n].at(), steps[n + 1].at());
        to <= from
            && code
                .at(from)
                .is_some_and(|decoded| jumps(decoded.instruction.flow_control()))
    };
    let jumps_back: Vec<bool> = (0..steps.len().saturating_sub(1)).map(&mut back).collect();
    let mut edges: BTreeMap<u64, BTreeMap<u64, usize>> = BTreeMap::new();
    for n in (0..jumps_back.len()).filter(|&n| jumps_back[n]) {
        *edges
            .entry(steps[n + 1].at())
            .or_default()
            .entry(steps[n].at())
            .or_default() += 1;
    }
    let depths = depths(steps, code);
    let loops = edges.into_iter().map(|(head, from)| {
        let all: usize = from.values().sum();
        let is_often = |n: usize| {
            jumps_back[n]
                && from
                    .get(&steps[n].at())
                    .is_some_and(|count| count * SELDOM >= all)
        };
        let mut turns = Vec::new();
        let arrivals: Vec<usize> = (0..steps.len())
            .filter(|&n| steps[n].at() == head)
            .collect();
        for pair in arrivals.windows(2) {
            let (begin, end) = (pair[0], pair[1]);
            // Else the loop was left, and entered again; or it is a function, and its callers turn.
            let stays = depths[begin..=end]
                .iter()
                .all(|depth| *depth >= depths[begin]);
            if is_often(end - 1) && stays && depths[begin] == depths[end] {
                turns.push(begin..end);
            }
        }
        let body = turns
            .iter()
            .flat_map(|turn: &Range<usize>| &steps[turn.clone()])
            .map(Step::at)
            .collect();
        Loop {
            head,
            parts: Vec::new(),
            turns,
            body,
        }
    });
    let mut loops: Vec<Loop> = loops.filter(|found| found.turns.len() >= TURNS).collect();
    for found in &mut loops {
        found.parts = parts(found, steps, code);
    }
    loops
}

/// How many calls deep each step is, beside the first.
fn depths(steps: &[Step], code: &mut Code<'_>) -> Vec<i32> {
    let mut depth = 0;
    let mut of = |step: &Step| {
        let now = depth;
        match code
            .at(step.at())
            .map(|decoded| decoded.instruction.flow_control())
        {
            Some(FlowControl::Call | FlowControl::IndirectCall) => depth += 1,
            Some(FlowControl::Return) => depth -= 1,
            _ => {}
        }
        now
    };
    steps.iter().map(&mut of).collect()
}

/// The addresses of a loop's own instructions, and of the functions that it calls.
fn parts(found: &Loop, steps: &[Step], code: &mut Code<'_>) -> Vec<Range<u64>> {
    /// A jump that leads further is the way into another function, as from a procedure linkage table.
    const FAR: u64 = 4096;
    let mut parts = Vec::new();
    let own = part_of(&mut parts, found.head);
    for turn in &found.turns {
        let mut calls = vec![own];
        for n in turn.clone() {
            let (at, &part) = (steps[n].at(), calls.last().unwrap_or(&0));
            let Some(instruction) = code.at(at).map(|decoded| decoded.instruction) else {
                continue;
            };
            let place = if part > 0 && distance(&parts[part], at) > FAR {
                part_of(&mut parts, at)
            } else {
                part
            };
            if let Some(last) = calls.last_mut() {
                *last = place;
            }
            parts[place] = parts[place].start.min(at)..parts[place].end.max(instruction.next_ip());
            match instruction.flow_control() {
                FlowControl::Return if calls.len() > 1 => drop(calls.pop()),
                FlowControl::Call | FlowControl::IndirectCall => {
                    calls.push(
                        steps
                            .get(n + 1)
                            .map_or(0, |next| part_of(&mut parts, next.at())),
                    );
                }
                _ => {}
            }
        }
    }
    parts
}

/// The part that an address belongs to: a new one if there is none.
fn part_of(parts: &mut Vec<Range<u64>>, at: u64) -> usize {
    parts
        .iter()
        .position(|part| part.contains(&at))
        .unwrap_or_else(|| {
            parts.push(at..at);
            parts.len() - 1
        })
}

fn distance(part: &Range<u64>, at: u64) -> u64 {
    part.start
        .saturating_sub(at)
        .max(at.saturating_sub(part.end))
}

/// Of several loops the one to look at, with its place among them: the innermost, but for one that is left soon where another one is around it.
pub fn hottest(loops: &[Loop], samples: &[u64]) -> Option<usize> {
    let shares: Vec<f64> = loops.iter().map(|found| found.share(samples)).collect();
    let largest = shares.iter().copied().fold(0.0, f64::max);
    let candidates = (0..loops.len()).filter(|&n| shares[n] > 0.0 && shares[n] >= MOST * largest);
    let is_inside = |n: usize, m: usize| {
        let (inner, outer) = (&loops[n].body, &loops[m].body);
        inner.len() < outer.len() && inner.is_subset(outer)
    };
    let gives_way = |n: usize| {
        loops[n].is_left_within(TOO_BRIEF) && candidates.clone().any(|m| is_inside(n, m))
    };
    let by = |n: usize| (gives_way(n), loops[n].instructions());
    candidates
        .clone()
        .min_by(|&a, &b| by(a).partial_cmp(&by(b)).unwrap_or(Ordering::Equal))
}

fn jumps(flow: FlowControl) -> bool {
    matches!(
        flow,
        FlowControl::ConditionalBranch
            | FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
    )
}
