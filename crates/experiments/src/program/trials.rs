//! The experiment: a copy of the program at the head of its loop, and the loop in it, as it is and changed, in alternation.

use super::bench::{Bench, Failure};
use super::changes::{self, Change, Watched};
use super::code::Code;
use super::encode::{Blueprint, Counter, Edits, Encoded, Part};
use super::find::{Hot, NoLoop};
use super::follow::{Followed, Step};
use super::loops;
use super::object::Names;
use super::tracee::Memory;
use super::{LINE, blueprint, describe, maps, stand};
use bandscope_recording::program::{HotLoop, Trials};
use iced_x86::{Code as Op, IcedError, Instruction, MemoryOperand, Register};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Each variant runs once a round; the first round only warms up.
const ROUNDS: usize = 13;
/// Long beside the microseconds in which the copy starts and stops.
const LENGTH: Duration = Duration::from_millis(3);
/// Loops up to two lines long are tried at other addresses; where a longer one begins matters less.
const SHORT: u64 = 128;
/// Addresses in a line that are tried.
const PLACES: u64 = 8;
/// Additions of the chain that tells how long a cycle is; each waits for the one before it.
const CHAIN: u64 = 192;

/// Runs the experiment on a loop that was found.
pub fn experiment(
    followed: &mut Followed,
    hot: &Hot,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(f64),
) -> Result<HotLoop, NoLoop> {
    let fork = stand::at_head(followed, hot, stop)?;
    let memory = Memory::of(fork.tracee.0)?;
    let (steps, has_denormals) = stand::watch_floats(&fork, hot, &mut Code::of(&memory), followed)?;
    let bench = Bench::of(fork)?;
    let experiment = Experiment {
        bench: &bench,
        hot,
        steps: &steps,
        has_denormals,
    };
    experiment.measure(followed, stop, progress)
}

struct Experiment<'a> {
    bench: &'a Bench,
    hot: &'a Hot,
    steps: &'a [Step],
    has_denormals: bool,
}

/// Why something is not timed at all.
#[derive(Debug, thiserror::Error)]
enum NotTried {
    #[error("{0}")]
    NoChange(&'static str),
    #[error("it is met in a function of another file")]
    OtherFile,
    #[error("it cannot be written again: {0}")]
    Encode(#[from] IcedError),
}

/// One thing that is timed.
struct Variant {
    code: Encoded,
    extended: Vec<u8>,
    /// What is written before: address, bytes.
    memory: Vec<(u64, Vec<u8>)>,
    trials: Trials,
}

impl Variant {
    fn of(code: Encoded, extended: &[u8]) -> Variant {
        Variant {
            code,
            extended: extended.to_vec(),
            memory: Vec::new(),
            trials: Trials::Nanoseconds(Vec::with_capacity(ROUNDS)),
        }
    }
}

impl Experiment<'_> {
    fn measure(
        &self,
        followed: &mut Followed,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<HotLoop, NoLoop> {
        let mut code = Code::of(&self.bench.fork.memory);
        let seen = loops::all(self.steps, &mut code);
        let Some(found) = seen.into_iter().find(|found| found.head == self.hot.head) else {
            return Err(NoLoop::NotThereAgain);
        };
        let maps = maps::of(self.bench.fork.tracee.0)?;
        let names = Names::of(
            &maps,
            std::iter::once(self.hot.head).chain(found.body.iter().copied()),
        );
        let changes = changes::all(
            &Watched {
                steps: self.steps,
                found: &found,
                memory: &self.bench.fork.memory,
            },
            &mut code,
        );
        let mut result = describe::hot_loop(self.hot, &found, self.steps, &names, &code);
        let plan = blueprint::of(
            self.bench,
            &found,
            self.steps,
            self.has_denormals,
            &mut code,
        );
        let states = changes
            .iter()
            .map(|change| describe::state(change, found.turns.len(), &names));
        result.states = states.collect();
        if self.has_denormals {
            result.states.push(describe::denormals());
        }
        match plan {
            Ok(plan) => {
                result.drifts = plan.drifts;
                result.is_brief = found.is_brief();
                self.time(&plan, &changes, &mut result, followed, stop, progress);
            }
            Err(why) => result.as_it_is = Trials::Missing(why.to_owned()),
        }
        Ok(result)
    }

    /// All variants in alternation.
    fn time(
        &self,
        plan: &Blueprint,
        changes: &[Change],
        result: &mut HotLoop,
        followed: &mut Followed,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) {
        let places = places(plan);
        let mut variants = self.variants(plan, changes, &places);
        let mut chain = chain(self.bench, plan)
            .map(|(plan, code)| (plan, Variant::of(code, &self.bench.extended)));
        for round in 0..ROUNDS {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            for variant in variants.iter_mut().flatten() {
                self.once(plan, variant, round, followed);
            }
            if let Some((plan, variant)) = &mut chain {
                self.once(plan, variant, round, followed);
            }
            progress((round + 1) as f64 / ROUNDS as f64);
        }
        if let Some(Trials::Nanoseconds(times)) = chain.map(|(_, variant)| variant.trials) {
            result.ns_per_cycle = times.iter().map(|time| time / CHAIN as f64).collect();
        }
        let trials = |variant: Result<Variant, NotTried>| {
            variant.map_or_else(
                |why| Trials::Missing(why.to_string()),
                |variant| enough(variant.trials),
            )
        };
        let mut trials = variants.into_iter().map(trials);
        result.as_it_is = trials.next().unwrap_or_default();
        for (state, trials) in result.states.iter_mut().zip(&mut trials) {
            state.without = trials;
        }
        result.placements = places.into_iter().zip(trials).collect();
    }

    /// The loop as it is, without each state in the order of the result, and at each place.
    fn variants(
        &self,
        plan: &Blueprint,
        changes: &[Change],
        places: &[u64],
    ) -> Vec<Result<Variant, NotTried>> {
        let as_it_is = &self.bench.extended;
        let same = Edits::new();
        let mut variants = vec![self.variant(plan, 0, &same, as_it_is)];
        for change in changes {
            let edited = change.edits.as_ref().map_err(|why| NotTried::NoChange(why));
            variants.push(edited.and_then(|edits| {
                let memory = self.copies(change);
                let variant = self.variant(plan, 0, edits, as_it_is)?;
                Ok(Variant { memory, ..variant })
            }));
        }
        if self.has_denormals {
            let without = stand::without_denormals(as_it_is);
            variants.push(self.variant(plan, 0, &same, &without));
        }
        for place in places {
            let shift = LINE - plan.head % LINE + place;
            variants.push(self.variant(plan, shift, &same, as_it_is));
        }
        variants
    }

    fn variant(
        &self,
        plan: &Blueprint,
        shift: u64,
        edits: &Edits,
        extended: &[u8],
    ) -> Result<Variant, NotTried> {
        let is_written = |at: &u64| plan.parts.iter().any(|part| part.range.contains(at));
        if !edits.keys().all(is_written) {
            return Err(NotTried::OtherFile);
        }
        let code = plan.encode(self.bench.room(), shift, edits)?;
        Ok(Variant::of(code, extended))
    }

    /// What moved loads shall find.
    fn copies(&self, change: &Change) -> Vec<(u64, Vec<u8>)> {
        let copies = change.copies.iter();
        copies
            .filter_map(|(to, (from, length))| {
                Some((*to, self.bench.fork.memory.read(*from, *length)?))
            })
            .collect()
    }

    fn once(&self, plan: &Blueprint, variant: &mut Variant, round: usize, followed: &mut Followed) {
        let Trials::Nanoseconds(times) = &mut variant.trials else {
            return;
        };
        let written = variant
            .memory
            .iter()
            .try_for_each(|(address, bytes)| self.bench.fork.memory.write(*address, bytes));
        let time = written.map_err(Failure::from).and_then(|()| {
            self.bench
                .time(plan, &variant.code, &variant.extended, LENGTH, followed)
        });
        match time {
            Ok(time) if round > 0 => times.push(time),
            Ok(_) => {}
            // The machine may have been elsewhere for all of that time.
            Err(Failure::Elsewhere) if round > 0 => times.push(f64::NAN),
            Err(Failure::Elsewhere) => {}
            Err(why) => variant.trials = Trials::Missing(why.to_string()),
        }
    }
}

/// The trials, if most of them ran.
fn enough(trials: Trials) -> Trials {
    match trials {
        Trials::Nanoseconds(times) if times.is_empty() => {
            Trials::Missing(NoLoop::Interrupted.to_string())
        }
        Trials::Nanoseconds(times)
            if 2 * times.iter().filter(|time| time.is_nan()).count() >= times.len() =>
        {
            Trials::Missing(Failure::Elsewhere.to_string())
        }
        trials => trials,
    }
}

/// Where in a line a short loop is tried.
fn places(plan: &Blueprint) -> Vec<u64> {
    match plan.parts.as_slice() {
        [only] if only.range.end - only.range.start <= SHORT => {
            (0..PLACES).map(|place| LINE / PLACES * place).collect()
        }
        _ => Vec::new(),
    }
}

/// A loop of [`CHAIN`] additions that wait for each other: a cycle each on every core.
fn chain(bench: &Bench, plan: &Blueprint) -> Option<(Blueprint, Encoded)> {
    let begin = plan.head;
    let count = Instruction::with2(
        Op::Lea_r64_m,
        Register::RDX,
        MemoryOperand::with_base_displ(Register::RDX, 1),
    )
    .ok()?;
    let addition = Instruction::with2(Op::Add_rm64_r64, Register::RAX, Register::RBX).ok()?;
    let back = Instruction::with_branch(Op::Jmp_rel32_64, begin).ok()?;
    let mut instructions = vec![count];
    instructions.extend(std::iter::repeat_n(addition, CHAIN as usize));
    instructions.push(back);
    for (number, instruction) in instructions.iter_mut().enumerate() {
        instruction.set_ip(begin + number as u64);
    }
    let range = begin..begin + instructions.len() as u64;
    let counter = Counter::Stride(Register::RDX, 1);
    let plan = Blueprint {
        parts: vec![Part {
            instructions,
            range,
        }],
        head: begin,
        counter,
        cells: Vec::new(),
        sets_vectors: false,
        ..plan.clone()
    };
    let code = plan.encode(bench.room(), 0, &Edits::new()).ok()?;
    Some((plan, code))
}
