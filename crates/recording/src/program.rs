//! What was measured of somebody's program: its hot loop, the hidden states of a core that this loop meets, and how long a turn of it takes with
//! and without each.
//!
//! `experiments::program` measures it, `studies::program` explains it. It passes from one to the other, and is no file.

use crate::manifest::Machine;

/// A program's hot loop, as it was found and measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Program and version that measured.
    pub tool: String,
    /// When, RFC 3339 in UTC.
    pub started: String,
    /// The command.
    pub command: Vec<String>,
    /// Facts of the machine.
    pub machine: Machine,
    /// How often the program was found running.
    pub samples: usize,
    /// How often of these in a system call.
    pub in_kernel: usize,
    /// The loop that holds most of the samples.
    pub hot_loop: Option<HotLoop>,
    /// Whether somebody ended the run before all was measured.
    pub is_interrupted: bool,
    /// Why there is none.
    pub missing: Option<String>,
}

/// A loop of somebody's program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HotLoop {
    /// How many of the samples lie in it.
    pub samples: usize,
    /// The file that it comes from; empty if it was made at run time.
    pub object: String,
    /// The function that it is in, as far as the file names it.
    pub function: Option<String>,
    /// Its first instruction: its address as the file has it, else where it is.
    pub offset: u64,
    /// The line of its source, as in `/src/ring.c:34`, where the file tells.
    pub source: Option<String>,
    /// Turns that were watched.
    pub turns: usize,
    /// Instructions of a turn, on average.
    pub instructions: f64,
    /// The instructions.
    pub listing: Vec<Line>,
    /// Hidden states that it meets.
    pub states: Vec<State>,
    /// Whether it changes more memory than is set again when it begins anew.
    pub drifts: bool,
    /// Whether it is left so soon that entering it again takes a good part of what is timed.
    pub is_brief: bool,
    /// The loop as it is, in a copy of the program.
    pub as_it_is: Trials,
    /// The same code at other addresses: those of its head in a cache line. Empty for long loops.
    pub placements: Vec<(u64, Trials)>,
    /// Where its head is in a cache line.
    pub placement: u64,
    /// Nanoseconds of a cycle in each round, by a chain of additions.
    pub ns_per_cycle: Vec<f64>,
}

/// An instruction of a loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The file that it is from; empty if it was made at run time.
    pub object: String,
    /// Its address, as [`HotLoop::offset`].
    pub offset: u64,
    /// The line of its source, as [`HotLoop::source`].
    pub source: Option<String>,
    /// As an assembler writes it.
    pub text: String,
    /// How often a turn executes it.
    pub per_turn: f64,
}

/// The hidden states that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A value goes from turn to turn through memory, by way of a general register, 32 or 64 bits at a time.
    BaseRegister,
    /// The same, 8 or 16 bits at a time.
    OperandSize,
    /// The same, by way of a vector register.
    RegisterFile,
    /// A load of which one recent store has a part, and not all.
    FailedForwarding,
    /// A load a multiple of 4,096 bytes from a recent store.
    Aliasing,
    /// An access over the end of a cache line.
    SplitAccess,
    /// Floats so small that they have fewer digits.
    Denormals,
    /// The loop's own address.
    Placement,
}

impl Kind {
    /// The name, that of the lab's pair where there is one.
    pub fn name(self) -> &'static str {
        match self {
            Kind::BaseRegister => "base-register",
            Kind::OperandSize => "operand-size",
            Kind::RegisterFile => "register-file",
            Kind::FailedForwarding => "failed-forwarding",
            Kind::Aliasing => "4k-aliasing",
            Kind::SplitAccess => "split-access",
            Kind::Denormals => "denormals",
            Kind::Placement => "placement",
        }
    }

    /// Whether a value goes from turn to turn through memory.
    pub fn is_through_memory(self) -> bool {
        matches!(
            self,
            Kind::BaseRegister | Kind::OperandSize | Kind::RegisterFile
        )
    }
}

/// What the address of an access is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Base {
    /// The stack pointer.
    Stack,
    /// The frame pointer.
    Frame,
    /// The instruction pointer: a global variable.
    InstructionPointer,
    /// Another register.
    Pointer,
    /// A register and an index.
    Indexed,
    /// A constant.
    Absolute,
}

/// A hidden state that a loop meets.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Which.
    pub kind: Kind,
    /// How often a turn meets it.
    pub per_turn: f64,
    /// The instructions that load, by offset.
    pub loads: Vec<u64>,
    /// Those that stored what is loaded, by offset.
    pub stores: Vec<u64>,
    /// What the addresses are made of, the most frequent first.
    pub bases: Vec<Base>,
    /// Sizes of the accesses in bytes, the most frequent first.
    pub bytes: Vec<u64>,
    /// What was changed to take the state away.
    pub change: String,
    /// The loop without it.
    pub without: Trials,
}

/// One loop, timed in each round.
#[derive(Clone, Debug, PartialEq)]
pub enum Trials {
    /// Nanoseconds a turn, in each round; NaN where it did not run.
    Nanoseconds(Vec<f64>),
    /// Why it could not be timed.
    Missing(String),
}

impl Default for Trials {
    fn default() -> Trials {
        Trials::Missing("not tried".to_owned())
    }
}
