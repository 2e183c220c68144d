//! How each hidden state is taken away from a loop: an access is moved to where it does not meet it, or what is stored is not.

use super::code::{Code, Decoded};
use super::encode::{Edit, Edits, can_do_without_store};
use super::flow::{self, Meeting, Met, Moved};
use super::follow::Step;
use super::loops::Loop;
use super::tracee::Memory;
use bandscope_recording::program::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Lines of 64 bytes that an access is moved by: near ones first, as they are on pages that are there.
const LINES: i64 = 16;
/// Accesses at more addresses than this walk through an array; what they load there decides no address.
const FEW: usize = 16;

/// A state that a loop meets, and how it is taken away.
pub struct Change {
    pub kind: Kind,
    pub meeting: Meeting,
    /// `Err`: why it cannot be.
    pub edits: Result<Edits, &'static str>,
    /// In words.
    pub words: String,
    /// Memory to be written before: what a moved load shall find.
    pub copies: BTreeMap<u64, (u64, usize)>,
}

/// What is known of the loop.
pub struct Watched<'a> {
    pub steps: &'a [Step],
    pub found: &'a Loop,
    /// The memory of the copy.
    pub memory: &'a Memory,
}

/// Each state that is met, with its change.
pub fn all(watched: &Watched<'_>, code: &mut Code<'_>) -> Vec<Change> {
    let met = flow::met(watched.steps, watched.found, code, &Moved::default());
    met.into_iter()
        .map(|(kind, meeting)| change(kind, meeting, watched, code))
        .collect()
}

fn change(kind: Kind, meeting: Meeting, watched: &Watched<'_>, code: &mut Code<'_>) -> Change {
    let mut edits = Edits::new();
    let mut moved = Moved::default();
    let mut why = None;
    for &at in meeting.loads.keys() {
        match code.at(at).map(|decoded| edit(decoded, kind)) {
            Some(Some(Edit::DoNotStore)) => {
                edits.insert(at, Edit::DoNotStore);
            }
            Some(Some(Edit::Move(_))) => {
                moved.instructions.insert(at);
            }
            _ => why = Some("an instruction that meets it has no form without it"),
        }
    }
    let mut copies = BTreeMap::new();
    let mut words = match edits.len() {
        0 => String::new(),
        1 => "an instruction that stores the value was replaced by one that does not".to_owned(),
        number => {
            format!("{number} instructions that store the value were replaced by ones that do not")
        }
    };
    if why.is_none() && !moved.instructions.is_empty() {
        match away(kind, moved, watched, code) {
            Some(moved) => {
                if kind != Kind::SplitAccess {
                    copies = originals(&moved, watched, code);
                }
                edits.extend(
                    moved
                        .instructions
                        .iter()
                        .map(|&at| (at, Edit::Move(moved.bytes))),
                );
                if !words.is_empty() {
                    words += ", and ";
                }
                words += &match moved.instructions.len() {
                    1 => format!("an access was moved by {} bytes", moved.bytes),
                    number => format!("{number} accesses were moved by {} bytes", moved.bytes),
                };
            }
            None => why = Some("there is no place near by where its accesses do not meet it"),
        }
    }
    Change {
        kind,
        meeting,
        edits: why.map_or(Ok(edits), Err),
        words,
        copies,
    }
}

/// What can be done to an instruction; how far it is moved is not known yet.
fn edit(decoded: &Decoded, kind: Kind) -> Option<Edit> {
    let instruction = &decoded.instruction;
    let stores_what_it_loads = decoded.info.used_memory().iter().any(|memory| {
        use iced_x86::OpAccess::{ReadCondWrite, ReadWrite};
        matches!(memory.access(), ReadWrite | ReadCondWrite)
    });
    match (
        decoded.has_operand_in_memory(),
        kind.is_through_memory() && stores_what_it_loads,
    ) {
        (false, _) => None,
        (true, true) => can_do_without_store(instruction).then_some(Edit::DoNotStore),
        (true, false) => Some(Edit::Move(0)),
    }
}

/// Moves accesses to the nearest place where the state is gone and no other is met.
fn away(kind: Kind, mut moved: Moved, watched: &Watched<'_>, code: &mut Code<'_>) -> Option<Moved> {
    let before = others(kind, &flow::met(watched.steps, watched.found, code, &moved));
    let addresses = addresses(&moved, watched, code);
    let touched = touched(watched, code);
    // Within an array one place is as good as another.
    let anywhere = addresses.len() > FEW || kind == Kind::SplitAccess;
    let distances: Vec<i64> = match kind {
        Kind::SplitAccess => (1..64).flat_map(|bytes| [bytes, -bytes]).collect(),
        _ => (1..=LINES)
            .flat_map(|lines| [64 * lines, -64 * lines])
            .collect(),
    };
    distances.into_iter().find_map(|bytes| {
        moved.bytes = bytes;
        let is_there = addresses.iter().all(|(address, length)| {
            let to = address.wrapping_add_signed(bytes);
            let is_free =
                anywhere || (to..to + *length as u64).all(|byte| !touched.contains(&byte));
            is_free && watched.memory.read(to, *length).is_some()
        });
        if !is_there {
            return None;
        }
        let met = flow::met(watched.steps, watched.found, code, &moved);
        (left(kind, &met, &moved) == 0 && others(kind, &met) <= before).then(|| moved.clone())
    })
}

/// How often moved accesses still meet a state.
fn left(kind: Kind, met: &Met, moved: &Moved) -> usize {
    let same = met.iter().filter(|(other, _)| {
        **other == kind || kind.is_through_memory() && other.is_through_memory()
    });
    let loads = same.flat_map(|(_, meeting)| &meeting.loads);
    loads
        .filter(|(at, _)| moved.instructions.contains(at))
        .map(|(_, count)| count)
        .sum()
}

/// How often states are met that no value needs: the change may not bring one about.
fn others(kind: Kind, met: &Met) -> usize {
    let others = met
        .iter()
        .filter(|(other, _)| **other != kind && !other.is_through_memory());
    others.map(|(_, meeting)| meeting.count()).sum()
}

/// Every address of the accesses before they are moved, with its length.
fn addresses(moved: &Moved, watched: &Watched<'_>, code: &mut Code<'_>) -> BTreeSet<(u64, usize)> {
    let mut addresses = BTreeSet::new();
    for step in turns(watched).filter(|step| moved.instructions.contains(&step.at())) {
        addresses.extend(
            code.accesses(step)
                .iter()
                .map(|access| (access.address, access.bytes as usize)),
        );
    }
    addresses
}

/// Every byte that the turns read or write.
fn touched(watched: &Watched<'_>, code: &mut Code<'_>) -> BTreeSet<u64> {
    let mut bytes = BTreeSet::new();
    for step in turns(watched) {
        for access in code.accesses(step) {
            bytes.extend(access.address..access.address + access.bytes);
        }
    }
    bytes
}

/// What moved loads shall find: the values that stand where they loaded before.
fn originals(
    moved: &Moved,
    watched: &Watched<'_>,
    code: &mut Code<'_>,
) -> BTreeMap<u64, (u64, usize)> {
    let addresses = addresses(moved, watched, code);
    if addresses.len() > FEW {
        return BTreeMap::new();
    }
    addresses
        .into_iter()
        .map(|(address, length)| (address.wrapping_add_signed(moved.bytes), (address, length)))
        .collect()
}

fn turns<'a>(watched: &Watched<'a>) -> impl Iterator<Item = &'a Step> + use<'a> {
    let steps = watched.steps;
    watched
        .found
        .turns
        .iter()
        .flat_map(move |turn| &steps[turn.clone()])
}
