//! What the turns of a loop do to memory, as executed: values that go through it from turn to turn, loads that a store cannot serve or seems to
//! serve, accesses that cross a line.

use super::code::{Access, Code};
use super::follow::Step;
use super::loops::Loop;
use super::{LINE, PAGE};
use bandscope_recording::program::{Base, Kind};
use iced_x86::Register;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// A store is in the store buffer until so many others followed it: 64 on Zen 4 (AMD's optimization guide for family 19h), 112 on
/// Golden Cove (Intel's optimization manual). A load finds it there; later it finds the cache. Fewer, as some are still being written.
const BUFFER: usize = 56;
/// A value that has been in memory so many times comes from a turn before: within one turn it is stored once, and loaded again.
const CHAIN: usize = 4;
/// What happens in fewer turns than one of so many is no property of the loop.
const SELDOM: usize = 4;

/// Loads and stores that meet one hidden state, by the address of the instruction.
#[derive(Clone, Debug, Default)]
pub struct Meeting {
    /// How often each did.
    pub loads: BTreeMap<u64, usize>,
    /// Where the values came from, of values that went through memory.
    pub stores: BTreeMap<u64, usize>,
    /// What the addresses are made of.
    pub bases: BTreeMap<Base, usize>,
    /// Bytes of the accesses.
    pub bytes: BTreeMap<u64, usize>,
}

impl Meeting {
    fn add(&mut self, at: u64, access: &Access, count: usize) {
        *self.loads.entry(at).or_default() += count;
        *self.bases.entry(access.base).or_default() += count;
        *self.bytes.entry(access.bytes).or_default() += count;
    }

    /// How often in all.
    pub fn count(&self) -> usize {
        self.loads.values().sum()
    }

    /// Whether it is a property of a loop that was seen to turn so often.
    fn is_often(&self, turns: usize) -> bool {
        self.count() > 0 && self.count() * SELDOM >= turns
    }
}

/// All that was met, by state.
pub type Met = BTreeMap<Kind, Meeting>;

/// A store that a load may find.
#[derive(Clone, Copy, Debug)]
struct Store {
    number: usize,
    at: u64,
    access: Access,
    /// How many times what it stores went through memory before.
    depth: usize,
}

/// A load that one store served: (store, load).
#[derive(Debug, Default)]
struct Link {
    access: Option<Access>,
    is_vector: bool,
    /// Else the compiler saves a register and gets it back: no program says where.
    is_explicit: bool,
    count: usize,
    /// How often the value had come through memory several times before.
    of_a_chain: usize,
}

#[derive(Debug, Default)]
struct Flow {
    /// How many times the value in a register went through memory.
    registers: HashMap<Register, usize>,
    bytes: HashMap<u64, Store>,
    recent: VecDeque<Store>,
    stores: usize,
    links: BTreeMap<(u64, u64), Link>,
    failed: Meeting,
    aliasing: Meeting,
    split: Meeting,
}

/// Accesses of these instructions, moved by so many bytes.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    pub instructions: BTreeSet<u64>,
    pub bytes: i64,
}

/// Follows all values through the turns of a loop, as if some accesses were elsewhere.
pub fn met(steps: &[Step], found: &Loop, code: &mut Code<'_>, moved: &Moved) -> Met {
    let mut flow = Flow::default();
    for step in found.turns.iter().flat_map(|turn| &steps[turn.clone()]) {
        flow.step(step, code, moved);
    }
    let turns = found.turns.len();
    let mut met = Met::from([
        (Kind::FailedForwarding, flow.failed),
        (Kind::Aliasing, flow.aliasing),
        (Kind::SplitAccess, flow.split),
    ]);
    met.retain(|_, meeting| meeting.is_often(turns));
    let often = |link: &&Link| {
        link.is_explicit && 2 * link.of_a_chain >= link.count && link.count * SELDOM >= turns
    };
    for ((store, load), link) in flow.links.iter().filter(|(_, link)| often(link)) {
        let Some(access) = &link.access else { continue };
        let kind = match access.bytes {
            _ if link.is_vector => Kind::RegisterFile,
            1 | 2 => Kind::OperandSize,
            _ => Kind::BaseRegister,
        };
        let meeting = met.entry(kind).or_default();
        meeting.add(*load, access, link.count);
        *meeting.stores.entry(*store).or_default() += link.count;
    }
    met
}

impl Flow {
    fn step(&mut self, step: &Step, code: &mut Code<'_>, moved: &Moved) {
        let Some(decoded) = code.at(step.at()) else {
            return;
        };
        let mut accesses = decoded.accesses(&step.0);
        if moved.instructions.contains(&step.at()) {
            accesses.iter_mut().for_each(|access| {
                access.address = access.address.wrapping_add_signed(moved.bytes)
            });
        }
        let is_vector = decoded
            .registers()
            .any(|register| register.is_vector_register());
        let known = |register: &Register| self.registers.get(register).copied().unwrap_or(0);
        let mut depth = decoded.inputs().iter().map(known).max().unwrap_or(0);
        let outputs = decoded.outputs();
        // The stack of calls is the compiler's, and not to be moved.
        let is_explicit = decoded.has_operand_in_memory();
        for access in &accesses {
            if crosses_line(access) && is_explicit {
                self.split.add(step.at(), access, 1);
            }
            if access.reads {
                depth = depth.max(self.load(step.at(), access, is_vector, is_explicit));
            }
        }
        for register in outputs {
            self.registers.insert(register, depth);
        }
        for access in accesses.iter().filter(|access| access.writes) {
            self.store(step.at(), access, depth);
        }
    }

    /// How many times what is loaded went through memory.
    fn load(&mut self, at: u64, access: &Access, is_vector: bool, is_explicit: bool) -> usize {
        let oldest = self.stores.saturating_sub(BUFFER);
        let of_byte = |n| {
            self.bytes
                .get(&access.address.wrapping_add(n))
                .filter(|store| store.number >= oldest)
        };
        let first = of_byte(0).copied();
        let served = (0..access.bytes).filter_map(of_byte);
        let (by_first, by_any) = served.fold((0, 0), |(by_first, by_any), store| {
            (
                by_first + u64::from(first.is_some_and(|first| first.number == store.number)),
                by_any + 1,
            )
        });
        match first {
            Some(store) if by_first == access.bytes => {
                let link = self.links.entry((store.at, at)).or_default();
                link.access = Some(*access);
                link.is_vector = is_vector;
                link.is_explicit = is_explicit;
                link.count += 1;
                link.of_a_chain += usize::from(store.depth >= CHAIN);
                // What a function saves and gets back goes no way that anybody chose.
                store.depth + usize::from(is_explicit)
            }
            _ if !is_explicit => 0,
            _ if by_any > 0 => {
                self.failed.add(at, access, 1);
                0
            }
            _ => {
                if self
                    .recent
                    .iter()
                    .any(|store| is_alias(access, &store.access))
                {
                    self.aliasing.add(at, access, 1);
                }
                0
            }
        }
    }

    fn store(&mut self, at: u64, access: &Access, depth: usize) {
        let store = Store {
            number: self.stores,
            at,
            access: *access,
            depth,
        };
        self.stores += 1;
        for n in 0..access.bytes {
            self.bytes.insert(access.address.wrapping_add(n), store);
        }
        if self.recent.len() == BUFFER {
            self.recent.pop_front();
        }
        self.recent.push_back(store);
    }
}

fn crosses_line(access: &Access) -> bool {
    access.address % LINE + access.bytes > LINE
}

/// Whether a load overlaps a store in the address's low bits, and nowhere else.
fn is_alias(load: &Access, store: &Access) -> bool {
    let after = load.address.wrapping_sub(store.address);
    let before = store.address.wrapping_sub(load.address);
    let overlaps = after < store.bytes || before < load.bytes;
    !overlaps && (after % PAGE < store.bytes || before % PAGE < load.bytes)
}
