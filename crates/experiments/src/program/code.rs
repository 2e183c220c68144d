//! Machine code of a process, decoded once for each address.

use super::follow::Step;
use super::registers;
use super::tracee::{Memory, Registers};
use bandscope_recording::program::Base;
use iced_x86::{
    Decoder, DecoderOptions, Formatter, Instruction, InstructionInfo, InstructionInfoFactory,
    IntelFormatter, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};
use std::collections::HashMap;

/// The longest instruction (Intel SDM, volume 2, section 2.3.11).
const LONGEST: usize = 15;

/// A part of memory that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub address: u64,
    pub bytes: u64,
    pub reads: bool,
    pub writes: bool,
    pub base: Base,
}

/// What an address in memory is made of.
fn base_of(memory: &UsedMemory) -> Base {
    match (memory.base(), memory.index()) {
        (Register::None, Register::None) => Base::Absolute,
        (_, index) if index != Register::None => Base::Indexed,
        (Register::RSP, _) => Base::Stack,
        (Register::RBP, _) => Base::Frame,
        _ => Base::Pointer,
    }
}

/// An instruction, and what it reads and writes.
#[derive(Clone, Debug)]
pub struct Decoded {
    pub instruction: Instruction,
    /// What it has to do with memory and registers.
    pub info: InstructionInfo,
}

impl Decoded {
    /// What it does to memory with these registers.
    pub fn accesses(&self, registers: &Registers) -> Vec<Access> {
        let memory = self.info.used_memory().iter();
        let is_relative = self.instruction.is_ip_rel_memory_operand();
        let base = |memory| {
            if is_relative {
                Base::InstructionPointer
            } else {
                base_of(memory)
            }
        };
        memory
            .filter_map(|memory| {
                Some(Access {
                    base: base(memory),
                    ..access(memory, registers)?
                })
            })
            .collect()
    }

    /// Whether one of its operands is in memory: what `push` and `call` write is no operand.
    pub fn has_operand_in_memory(&self) -> bool {
        (0..self.instruction.op_count()).any(|n| self.instruction.op_kind(n) == OpKind::Memory)
    }

    /// Whether it reads memory.
    pub fn loads(&self) -> bool {
        self.info
            .used_memory()
            .iter()
            .any(|memory| reads(memory.access()))
    }

    /// Registers whose values go into what it computes. Those of an address are none: they say where, and not what.
    pub fn inputs(&self) -> Vec<Register> {
        let is_of_address = |register: Register| {
            let mut memory = self.info.used_memory().iter();
            let is_used = memory.any(|memory| {
                memory.access() != OpAccess::NoMemAccess
                    && [memory.base(), memory.index()].contains(&register)
            });
            is_used
                && !self
                    .register_operands()
                    .any(|operand| operand.full_register() == register.full_register())
        };
        if self.clears_itself() {
            return Vec::new();
        }
        let used = self.info.used_registers().iter();
        used.filter(|used| reads(used.access()) && !is_of_address(used.register()))
            .map(|used| used.register().full_register())
            .collect()
    }

    /// Registers that it writes.
    pub fn outputs(&self) -> Vec<Register> {
        let used = self.info.used_registers().iter();
        used.filter(|used| writes(used.access()))
            .map(|used| used.register().full_register())
            .collect()
    }

    /// Operands that it writes: of 32 bits those that it names so, though the whole register changes.
    pub fn written_operands(&self) -> impl Iterator<Item = Register> {
        let operands = 0..self.instruction.op_count();
        operands
            .filter(|&n| self.instruction.op_kind(n) == OpKind::Register)
            .filter(|&n| writes(self.info.op_access(n)))
            .map(|n| self.instruction.op_register(n))
    }

    /// All registers that it has to do with.
    pub fn registers(&self) -> impl Iterator<Item = Register> {
        self.info
            .used_registers()
            .iter()
            .map(|used| used.register().full_register())
    }

    fn register_operands(&self) -> impl Iterator<Item = Register> {
        let operands = 0..self.instruction.op_count();
        operands
            .filter(|&n| self.instruction.op_kind(n) == OpKind::Register)
            .map(|n| self.instruction.op_register(n))
    }

    /// `xor eax, eax` and its like depend on nothing.
    fn clears_itself(&self) -> bool {
        let same = {
            let mut operands = self.register_operands();
            let last = operands.next();
            last.is_some()
                && self.instruction.op_count() >= 2
                && operands.all(|operand| Some(operand) == last)
        };
        let mnemonic = self.instruction.mnemonic();
        same && matches!(
            mnemonic,
            Mnemonic::Xor
                | Mnemonic::Sub
                | Mnemonic::Pxor
                | Mnemonic::Xorps
                | Mnemonic::Xorpd
                | Mnemonic::Vpxor
                | Mnemonic::Vxorps
                | Mnemonic::Vxorpd
        )
    }
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn access(memory: &UsedMemory, registers: &Registers) -> Option<Access> {
    let (reads, writes) = (reads(memory.access()), writes(memory.access()));
    let bytes = memory.memory_size().size() as u64;
    // A gather has an address for each element: what it meets is not followed.
    if !(reads || writes) || bytes == 0 || memory.index().is_vector_register() {
        return None;
    }
    let address = memory.virtual_address(0, |register, _, _| value(register, registers))?;
    Some(Access {
        address,
        bytes,
        reads,
        writes,
        base: base_of(memory),
    })
}

/// What a register of an address holds.
fn value(register: Register, of: &Registers) -> Option<u64> {
    let whole = match register.full_register() {
        Register::FS => of.fs_base,
        Register::GS => of.gs_base,
        // The other segments begin at 0 in 64-bit mode.
        Register::CS | Register::DS | Register::ES | Register::SS => 0,
        whole => registers::of(of, whole)?,
    };
    Some(if register.size() == 4 {
        whole & 0xffff_ffff
    } else {
        whole
    })
}

/// The code of one process.
#[derive(Debug)]
pub struct Code<'a> {
    memory: &'a Memory,
    factory: InstructionInfoFactory,
    decoded: HashMap<u64, Option<Decoded>>,
}

impl<'a> Code<'a> {
    pub fn of(memory: &'a Memory) -> Code<'a> {
        Code {
            memory,
            factory: InstructionInfoFactory::new(),
            decoded: HashMap::new(),
        }
    }

    /// The instruction at an address; `None` if there is none that can be read.
    pub fn at(&mut self, address: u64) -> Option<&Decoded> {
        let (memory, factory) = (self.memory, &mut self.factory);
        let decoded = self.decoded.entry(address).or_insert_with(|| {
            let bytes = memory.up_to(address, LONGEST);
            let instruction = Decoder::with_ip(64, &bytes, address, DecoderOptions::NONE).decode();
            (!instruction.is_invalid()).then(|| Decoded {
                info: factory.info(&instruction).clone(),
                instruction,
            })
        });
        decoded.as_ref()
    }

    /// The instruction at an address as an assembler writes it, where its file has it at `shown`.
    pub fn text(&self, address: u64, shown: u64) -> Option<String> {
        let bytes = self.memory.up_to(address, LONGEST);
        let instruction = Decoder::with_ip(64, &bytes, shown, DecoderOptions::NONE).decode();
        let mut formatter = IntelFormatter::new();
        let options = formatter.options_mut();
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
        options.set_uppercase_hex(false);
        options.set_branch_leading_zeros(false);
        options.set_show_branch_size(false);
        options.set_rip_relative_addresses(true);
        options.set_space_after_operand_separator(true);
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        (!instruction.is_invalid()).then_some(text)
    }

    /// All instructions from one address to another, one after the other; `None` if they do not end there.
    pub fn between(&mut self, begin: u64, end: u64) -> Option<Vec<Instruction>> {
        let mut instructions = Vec::new();
        let mut at = begin;
        while at < end {
            let instruction = self.at(at)?.instruction;
            at = instruction.next_ip();
            instructions.push(instruction);
        }
        (at == end).then_some(instructions)
    }

    /// What a step does to memory.
    pub fn accesses(&mut self, step: &Step) -> Vec<Access> {
        self.at(step.at())
            .map(|decoded| decoded.accesses(&step.0))
            .unwrap_or_default()
    }
}
