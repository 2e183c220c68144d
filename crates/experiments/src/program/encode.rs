//! A loop's own instructions, written again for another place: as they are, or with one thing changed.

use super::PAGE;
use super::tracee::Registers;
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, FlowControl, IcedError, Instruction, InstructionBlock,
    MemoryOperand, OpKind, Register,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// Addresses that stand for instructions which the loop has not: no program has code there.
const STUB: u64 = 0x4000_0000_0000_0000;
/// Where the loop's head goes on if something was put before it.
const AFTER_COUNT: u64 = STUB - 16;

/// How the turns are counted, without a change to the loop if that can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// This register grows by so much each turn, by itself. It is one of 32 bits, such as `edi`, where the loop counts in as many.
    Stride(Register, i64),
    /// The loop leaves this register alone, so one instruction at its head may count in it.
    Spare(Register),
}

impl Counter {
    /// The whole register.
    pub fn register(self) -> Register {
        match self {
            Counter::Stride(register, _) | Counter::Spare(register) => register.full_register(),
        }
    }
}

/// What is done to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Its memory operand lies so many bytes further.
    Move(i64),
    /// It loads, and stores nothing; its flags are those of a comparison.
    DoNotStore,
}

/// A change of the loop, by the addresses of its instructions.
pub type Edits = BTreeMap<u64, Edit>;

/// Instructions that follow each other.
#[derive(Clone, Debug)]
pub struct Part {
    pub instructions: Vec<Instruction>,
    /// Their addresses.
    pub range: Range<u64>,
}

impl Part {
    /// What stands for the instruction behind the last.
    fn end(&self) -> u64 {
        self.range.end | STUB
    }
}

/// A loop, and how it goes on after its end: again from the same registers and memory.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// All instructions of the loop, and of each function that it calls.
    pub parts: Vec<Part>,
    /// The instruction that each turn begins with.
    pub head: u64,
    pub counter: Counter,
    /// The registers at the head.
    pub registers: Registers,
    /// Memory that a turn takes over from the one before it: address and value of 8 bytes each.
    pub cells: Vec<(u64, u64)>,
    /// Whether there is more of it than is set again.
    pub drifts: bool,
    /// Where the memory lies that only the stub uses.
    pub data: u64,
    /// Whether floats and vectors are set again too, from [`Blueprint::extended`].
    pub sets_vectors: bool,
}

/// The registers that the stub sets, in the order of its memory.
pub const SAVED: [Register; 16] = [
    Register::RAX,
    Register::RBX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::RBP,
    Register::RSP,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Machine code, and where its turns begin.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    /// What is written where.
    pub pieces: Vec<(u64, Vec<u8>)>,
    pub head: u64,
    /// Where the loop is begun again: there the counting register holds something else.
    pub stub: Range<u64>,
}

/// Room for what a part of so many bytes becomes, where branches get longer.
const fn room(bytes: u64) -> u64 {
    2 * bytes + 1024
}

impl Blueprint {
    /// Where the turns of finished rounds are added up.
    pub fn total(&self) -> u64 {
        self.data
    }

    /// Where a register's value at the head is kept.
    pub fn saved(&self, register: Register) -> u64 {
        let place = SAVED
            .iter()
            .position(|saved| *saved == register)
            .unwrap_or(0);
        self.data + 8 + 8 * place as u64
    }

    /// Where the state of floats and vectors is kept: XRSTOR wants 64 bytes of alignment.
    pub fn extended(&self) -> u64 {
        self.data + 4096
    }

    /// Bytes that are enough for it, at any address.
    pub fn bytes(&self) -> u64 {
        let parts = self
            .parts
            .iter()
            .map(|part| room(part.range.end - part.range.start) + PAGE);
        parts.sum::<u64>() + room(PAGE)
    }

    /// Writes the loop for the room at `at`; each part lies in its page as it did before, `shift` bytes further.
    pub fn encode(&self, at: u64, shift: u64, edits: &Edits) -> Result<Encoded, IcedError> {
        let mut written = Vec::new();
        let mut next = at;
        let mut head = (0, 0);
        for (number, part) in self.parts.iter().enumerate() {
            let begin = next.next_multiple_of(PAGE) + (part.range.start + shift) % PAGE;
            next = begin + room(part.range.end - part.range.start);
            let instructions = self.part(part, edits, number == 0)?;
            if let Some(place) = instructions
                .iter()
                .position(|instruction| instruction.ip() == self.head)
            {
                head = (number, place);
            }
            written.push((begin, instructions));
        }
        written.push((next, self.stub()?));
        let blocks: Vec<InstructionBlock<'_>> = written
            .iter()
            .map(|(at, instructions)| InstructionBlock::new(instructions, *at))
            .collect();
        let encoded = BlockEncoder::encode_slice(
            64,
            &blocks,
            BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS,
        )?;
        let head = encoded.get(head.0).map_or(at, |block| {
            block.rip
                + block
                    .new_instruction_offsets
                    .get(head.1)
                    .copied()
                    .map_or(0, u64::from)
        });
        let stub = encoded.last().map_or(0..0, |block| {
            block.rip..block.rip + block.code_buffer.len() as u64
        });
        Ok(Encoded {
            stub,
            head,
            pieces: encoded
                .into_iter()
                .map(|block| (block.rip, block.code_buffer))
                .collect(),
        })
    }

    fn part(
        &self,
        part: &Part,
        edits: &Edits,
        is_own: bool,
    ) -> Result<Vec<Instruction>, IcedError> {
        let mut instructions = Vec::with_capacity(part.instructions.len() + 2);
        for original in &part.instructions {
            let mut instruction = *original;
            if let (true, Counter::Spare(register)) = (original.ip() == self.head, self.counter) {
                let operand = MemoryOperand::with_base_displ(register, 1);
                let mut count = Instruction::with2(Code::Lea_r64_m, register, operand)?;
                count.set_ip(self.head);
                instructions.push(count);
                instruction.set_ip(AFTER_COUNT);
            }
            if let Some(edit) = edits.get(&original.ip()) {
                apply(&mut instruction, *edit);
            }
            instructions.push(self.kept_inside(instruction, part, is_own)?);
        }
        let mut end = Instruction::with_branch(Code::Jmp_rel32_64, STUB)?;
        end.set_ip(part.end());
        instructions.push(end);
        Ok(instructions)
    }

    /// Whatever leaves the loop begins it again. Short branches go by the end of their part, which is near: they stay as long as they are.
    fn kept_inside(
        &self,
        mut instruction: Instruction,
        part: &Part,
        is_own: bool,
    ) -> Result<Instruction, IcedError> {
        let is_inside = |address| self.parts.iter().any(|part| part.range.contains(&address));
        match instruction.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
                if instruction.op0_kind() == OpKind::NearBranch64
                    && !is_inside(instruction.near_branch64()) =>
            {
                let is_near = instruction.is_jcc_near() || instruction.is_jmp_near();
                instruction.set_near_branch64(if is_near { STUB } else { part.end() });
            }
            FlowControl::Return if is_own => {
                let ip = instruction.ip();
                instruction = Instruction::with_branch(Code::Jmp_rel32_64, part.end())?;
                instruction.set_ip(ip);
            }
            _ => {}
        }
        Ok(instruction)
    }

    /// Adds up the turns, sets memory and registers as they were at the head, and goes there.
    fn stub(&self) -> Result<Vec<Instruction>, IcedError> {
        let here = |address| MemoryOperand::with_base_displ(Register::RIP, address as i64);
        let mut stub = Vec::new();
        if let Counter::Stride(counter, _) = self.counter {
            let register = self.counter.register();
            stub.push(Instruction::with2(
                Code::Sub_r64_rm64,
                register,
                here(self.saved(register)),
            )?);
            if counter.is_gpr32() {
                stub.push(Instruction::with2(
                    Code::Movsxd_r64_rm32,
                    register,
                    counter,
                )?);
            }
            stub.push(Instruction::with2(
                Code::Add_rm64_r64,
                here(self.total()),
                register,
            )?);
        }
        for (address, value) in &self.cells {
            stub.push(Instruction::with2(
                Code::Mov_r64_imm64,
                Register::RAX,
                *value,
            )?);
            stub.push(Instruction::with2(
                Code::Mov_r64_imm64,
                Register::RCX,
                *address,
            )?);
            stub.push(Instruction::with2(
                Code::Mov_rm64_r64,
                MemoryOperand::with_base(Register::RCX),
                Register::RAX,
            )?);
        }
        if self.sets_vectors {
            stub.push(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, -1)?);
            stub.push(Instruction::with2(Code::Mov_r32_imm32, Register::EDX, -1)?);
            stub.push(Instruction::with1(Code::Xrstor_mem, here(self.extended()))?);
        }
        for register in SAVED {
            if self.counter != Counter::Spare(register) {
                stub.push(Instruction::with2(
                    Code::Mov_r64_rm64,
                    register,
                    here(self.saved(register)),
                )?);
            }
        }
        stub.push(Instruction::with_branch(Code::Jmp_rel32_64, self.head)?);
        for (number, instruction) in stub.iter_mut().enumerate() {
            instruction.set_ip(STUB + 16 * number as u64);
        }
        Ok(stub)
    }
}

fn apply(instruction: &mut Instruction, edit: Edit) {
    match edit {
        Edit::Move(bytes) => {
            let displacement = instruction
                .memory_displacement64()
                .wrapping_add_signed(bytes);
            instruction.set_memory_displacement64(displacement);
            if !instruction.is_ip_rel_memory_operand() {
                // The shorter of the two forms: so does every assembler.
                let short = i8::try_from(displacement as i64).is_ok();
                instruction.set_memory_displ_size(if short { 1 } else { 8 });
            }
        }
        Edit::DoNotStore => {
            // Whoever asks for it has asked `can_do_without_store` before.
            if let Some(sibling) = without_store(instruction) {
                let ip = instruction.ip();
                *instruction = sibling;
                instruction.set_ip(ip);
            }
        }
    }
}

/// Whether an instruction that loads, computes and stores has a sibling that does not store.
pub fn can_do_without_store(instruction: &Instruction) -> bool {
    without_store(instruction).is_some()
}

/// `cmp` subtracts and stores nothing, and takes the operands of `add`, `inc` and their like.
fn without_store(instruction: &Instruction) -> Option<Instruction> {
    use iced_x86::Mnemonic::{Add, And, Dec, Inc, Or, Sub, Xor};
    let bytes = instruction.memory_size().size();
    let memory = MemoryOperand::new(
        instruction.memory_base(),
        instruction.memory_index(),
        instruction.memory_index_scale(),
        instruction.memory_displacement64() as i64,
        instruction.memory_displ_size(),
        instruction.has_segment_prefix(),
        if instruction.has_segment_prefix() {
            instruction.memory_segment()
        } else {
            Register::None
        },
    );
    if instruction.has_lock_prefix() || instruction.op0_kind() != OpKind::Memory {
        return None;
    }
    let of_register = [
        (1, Code::Cmp_rm8_r8),
        (2, Code::Cmp_rm16_r16),
        (4, Code::Cmp_rm32_r32),
        (8, Code::Cmp_rm64_r64),
    ];
    let of_constant = [
        (1, Code::Cmp_rm8_imm8),
        (2, Code::Cmp_rm16_imm8),
        (4, Code::Cmp_rm32_imm8),
        (8, Code::Cmp_rm64_imm8),
    ];
    let code = |codes: [(usize, Code); 4]| {
        codes
            .into_iter()
            .find(|(size, _)| *size == bytes)
            .map(|(_, code)| code)
    };
    let sibling = match instruction.mnemonic() {
        Inc | Dec => Instruction::with2(code(of_constant)?, memory, 1),
        Add | Sub | And | Or | Xor if instruction.op1_kind() == OpKind::Register => {
            Instruction::with2(code(of_register)?, memory, instruction.op1_register())
        }
        // A longer constant is no reason to miss it: what it is does not matter to the time.
        Add | Sub | And | Or | Xor => Instruction::with2(code(of_constant)?, memory, 1),
        _ => return None,
    };
    sibling.ok()
}

#[cfg(test)]
mod tests;
