//! Sentences of what a program's loop meets.

use super::{Explained, State};
use crate::lab::{avoids as of_pair, digits};
use bandscope_recording::program::{Base, Kind, Program, State as Met, Trials};

/// A loop that holds less of the time leaves the rest unexplained.
const MOST: f64 = 0.8;
/// Where the ratios of some rounds are so many times those of others, the loop has two paces. Intervals of loops of one pace were up to a quarter wide on
/// Zen 4 (`tests/programs.py`).
const MIN_RATIO_OF_TWO_PACES: f64 = 1.5;
/// A program that spends more in system calls has its problem there.
const KERNEL: f64 = 0.2;

/// What avoids a state in a program: what the lab says of its pair, unless more is known here.
pub fn avoids(kind: Kind, bases: &[Base]) -> &'static str {
    let is_local = bases
        .iter()
        .all(|base| matches!(base, Base::Stack | Base::Frame));
    match kind {
        _ if kind.is_through_memory() && is_local => {
            "Build with optimization: the value is a local variable that the compiler keeps in memory."
        }
        Kind::SplitAccess => {
            "Align the data to their size: no __attribute__((packed)), a place in the struct that is a multiple of the size, or alignas(64)."
        }
        _ => of_pair(kind.name()),
    }
}

/// A path without its directories.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What a state is, and what it costs.
pub fn of(met: &Met, state: &State) -> String {
    format!("{} {}", what(met), cost(state))
}

/// The same of a bad place.
pub fn of_place(place: u64, state: &State) -> String {
    format!(
        "The loop begins {place} bytes into a line of its code, which this core fetches badly. {}",
        cost(state)
    )
}

fn what(met: &Met) -> String {
    match met.kind {
        Kind::BaseRegister => through_memory("A value", "", met),
        Kind::OperandSize => through_memory("A small value", "", met),
        Kind::RegisterFile => through_memory("A value", " by way of a vector register", met),
        Kind::FailedForwarding => "A load reads what no single store wrote: a part is of one store, the rest is not. It waits until all is in the cache.".to_owned(),
        Kind::Aliasing => "A load lies a multiple of 4,096 bytes from a store just before it, so the core takes one for the other.".to_owned(),
        Kind::SplitAccess => "Data lie across the end of a cache line, so an access takes two.".to_owned(),
        Kind::Denormals => "Floats are denormal: so small that they have fewer digits.".to_owned(),
        Kind::Placement => String::new(),
    }
}

/// A value that is stored and loaded again and again: store-to-load forwarding decides its pace.
fn through_memory(value: &str, way: &str, met: &Met) -> String {
    let bits: Vec<String> = met
        .bytes
        .iter()
        .map(|bytes| (8 * bytes).to_string())
        .collect();
    let bases: Vec<&str> = met.bases.iter().map(|base| of_base(*base)).collect();
    let times = match met.per_turn.round() {
        times if times <= 1.0 => "once".to_owned(),
        times => format!("{times} times"),
    };
    format!(
        "{value} of {} bits is stored and loaded again{way} (store-to-load forwarding), {times} a turn, and each turn waits for the one before. \
         It lies at {}.",
        bits.join(" or "),
        bases.join(", or at ")
    )
}

fn of_base(base: Base) -> &'static str {
    match base {
        Base::Stack => "the stack pointer",
        Base::Frame => "the frame pointer",
        Base::InstructionPointer => "the instruction pointer, as a global variable does",
        Base::Pointer => "a pointer",
        Base::Indexed => "a pointer and an index",
        Base::Absolute => "a constant address",
    }
}

fn cost(state: &State) -> String {
    if let Some(why) = &state.missing {
        return format!("What it costs could not be measured: {why}.");
    }
    let (Some(ratio), Some([low, high])) = (state.ratio, state.interval) else {
        return String::new();
    };
    let sentence = match state.costs {
        Some(true) => format!(
            "A turn takes {} times as long as without it ({} to {}).",
            digits(ratio),
            digits(low),
            digits(high)
        ),
        _ if ratio >= MIN_RATIO_OF_TWO_PACES => format!(
            "In most rounds a turn takes {} times as long as without it, in others {} times.",
            digits(ratio),
            digits(low)
        ),
        _ if high >= MIN_RATIO_OF_TWO_PACES => format!(
            "In most rounds it costs nothing to speak of, in others a turn takes up to {} times as long.",
            digits(high)
        ),
        _ => "It costs nothing to speak of here.".to_owned(),
    };
    if high < MIN_RATIO_OF_TWO_PACES * low {
        return sentence;
    }
    format!(
        "{sentence} Rounds differ so much where a core runs one loop at two paces; an interruption may decide which."
    )
}

/// The whole in a sentence or two.
pub fn verdict(explained: &Explained, program: &Program) -> String {
    let (Some(found), Some(measured)) = (&explained.hot_loop, &program.hot_loop) else {
        let why = program
            .missing
            .as_deref()
            .unwrap_or("it was not seen in a loop");
        return format!("No hot loop was found: {why}.");
    };
    let share = explained.samples.in_loop as f64 / explained.samples.taken.max(1) as f64;
    let name = found.function.as_deref().map_or_else(
        || format!("at {:#x}", found.address),
        |name| format!("in {name}"),
    );
    let name = match found.source.as_deref() {
        Some(source) => format!("{name} ({})", file_name(source)),
        None => name,
    };
    let place = format!(
        "One loop {name} has {:.0} % of the program's time",
        100.0 * share
    );
    if let Trials::Missing(why) = &measured.as_it_is {
        return format!("{place}. It could not be timed by itself: {why}.");
    }
    let dear: Vec<&State> = explained
        .states
        .iter()
        .filter(|state| state.costs == Some(true))
        .collect();
    match (
        dear.first(),
        explained.states.iter().any(|state| state.costs.is_none()),
    ) {
        (Some(first), _) => {
            let ratio = digits(first.ratio.unwrap_or(1.0));
            match first.pair == Kind::Placement.name() {
                true => format!(
                    "{place}. It runs {ratio} times as long as it would at another address."
                ),
                false => format!(
                    "{place}. It runs {ratio} times as long as it would without {}.",
                    first.pair
                ),
            }
        }
        (None, false) => format!(
            "{place}. No hidden state of the core costs it time. Caches, branches, other threads and other runs were not looked into."
        ),
        (None, true) => {
            format!("{place}. It meets hidden states whose cost could not be measured.")
        }
    }
}

/// What the reader has to know beside it.
pub fn warnings(explained: &Explained, program: &Program) -> Vec<String> {
    let mut warnings = Vec::new();
    if program.is_interrupted {
        warnings.push(
            "The run was interrupted, so some or all of this rests on fewer rounds than it should."
                .to_owned(),
        );
    }
    if program.hot_loop.as_ref().is_some_and(|hot| hot.drifts) {
        warnings.push("The loop changes more memory than was set again each time that it began anew, so its later turns may be others than the program's.".to_owned());
    }
    if program.hot_loop.as_ref().is_some_and(|hot| hot.is_brief) {
        warnings.push("The loop is left after a few turns. Entering it again takes a good part of the time of a turn as timed, so states cost more than is said.".to_owned());
    }
    let samples = explained.samples;
    let share = |part: usize| part as f64 / samples.taken.max(1) as f64;
    if explained.hot_loop.is_some() && share(samples.in_loop) < MOST {
        warnings.push(format!(
            "{:.0} % of the samples lie outside the loop, and a change of it leaves them as they are.",
            100.0 * (1.0 - share(samples.in_loop))
        ));
    }
    if share(samples.in_kernel) > KERNEL {
        warnings.push(format!(
            "{:.0} % of the samples lie in system calls, which are not looked into.",
            100.0 * share(samples.in_kernel)
        ));
    }
    warnings
}
