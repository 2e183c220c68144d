//! What is needed to write a loop again: its instructions, a way to count its turns, and the memory that it takes over from turn to turn.

use super::bench::{self, Bench};
use super::code::Code;
use super::encode::{Blueprint, Counter, Part, SAVED};
use super::follow::Step;
use super::loops::Loop;
use super::registers;
use iced_x86::{Code as Op, FlowControl, Instruction, Register};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// More memory than this, in parts of 8 bytes, is not set again when the loop ends.
const CELLS: usize = 64;
/// A register of 32 bits that grows by more each turn may come round in the few milliseconds of a trial.
const MAX_STRIDE_OF_32_BITS: i64 = 64;

/// The loop as it stands in the copy; `Err` says why it cannot be written again.
pub fn of(
    bench: &Bench,
    found: &Loop,
    steps: &[Step],
    has_denormals: bool,
    code: &mut Code<'_>,
) -> Result<Blueprint, &'static str> {
    if found
        .parts
        .iter()
        .map(|part| part.end - part.start)
        .sum::<u64>()
        > bench::ROOM
    {
        return Err("it is too long");
    }
    let targets = targets(found, steps, code);
    let near = near(found)?;
    let mut parts = Vec::new();
    for range in near.iter().cloned() {
        let mut instructions = code
            .between(range.start, range.end)
            .ok_or("there is something else between its instructions")?;
        for instruction in &mut instructions {
            direct(instruction, &targets, &near)?;
        }
        parts.push(Part {
            instructions,
            range,
        });
    }
    let counter = stride(found, steps, code)
        .or_else(|| spare(found, &parts, code))
        .ok_or("no register is free to count its turns")?;
    let cells = cells(bench, found, steps, code);
    let plan = Blueprint {
        parts,
        head: found.head,
        counter,
        registers: bench.registers,
        drifts: cells.len() > CELLS,
        // All or nothing: a part of them would be a state that never was.
        cells: if cells.len() > CELLS {
            Vec::new()
        } else {
            cells
        },
        data: bench.data(),
        sets_vectors: has_denormals || takes_over_vectors(found, steps, code),
    };
    if plan.bytes() > bench::ROOM {
        Err("it is too long")
    } else {
        Ok(plan)
    }
}

/// The loop's own instructions, and those functions that its instructions can reach; others are called where they are.
fn near(found: &Loop) -> Result<Vec<Range<u64>>, &'static str> {
    /// Half of what an address relative to the instruction pointer reaches.
    const REACH: u64 = 1 << 30;
    let mut parts: Vec<Range<u64>> = Vec::new();
    for part in found
        .parts
        .iter()
        .filter(|part| part.start.abs_diff(found.head) < REACH)
    {
        if parts
            .iter()
            .any(|other| other.start < part.end && part.start < other.end)
        {
            return Err("the code of functions that it calls overlaps");
        }
        parts.push(part.clone());
    }
    Ok(parts)
}

/// Where jumps and calls led whose target the program computes.
fn targets(found: &Loop, steps: &[Step], code: &mut Code<'_>) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut targets: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for turn in &found.turns {
        for pair in steps[turn.start..(turn.end + 1).min(steps.len())].windows(2) {
            let flow = code
                .at(pair[0].at())
                .map(|decoded| decoded.instruction.flow_control());
            if matches!(
                flow,
                Some(FlowControl::IndirectCall | FlowControl::IndirectBranch)
            ) {
                targets
                    .entry(pair[0].at())
                    .or_default()
                    .insert(pair[1].at());
            }
        }
    }
    targets
}

/// A jump or call to the one place where it was seen to lead, as an instruction that leads nowhere else: the place is written elsewhere too.
/// One that leads to functions that are called where they are, as those of a procedure linkage table do, stays as it is.
fn direct(
    instruction: &mut Instruction,
    targets: &BTreeMap<u64, BTreeSet<u64>>,
    near: &[Range<u64>],
) -> Result<(), &'static str> {
    let code = match instruction.flow_control() {
        FlowControl::IndirectCall => Op::Call_rel32_64,
        FlowControl::IndirectBranch => Op::Jmp_rel32_64,
        _ => return Ok(()),
    };
    // One that was not executed is not needed.
    let Some(seen) = targets.get(&instruction.ip()) else {
        return Ok(());
    };
    let is_near = |target: &u64| near.iter().any(|part| part.contains(target));
    if !seen.iter().any(is_near) {
        return Ok(());
    }
    let (Some(&target), 1) = (seen.first(), seen.len()) else {
        return Err("it jumps to addresses that it computes");
    };
    let ip = instruction.ip();
    *instruction = Instruction::with_branch(code, target)
        .map_err(|_| "it jumps to addresses that it computes")?;
    instruction.set_ip(ip);
    Ok(())
}

/// A register that grows by the same each turn, by itself and constants alone.
fn stride(found: &Loop, steps: &[Step], code: &mut Code<'_>) -> Option<Counter> {
    let (mut depends, mut of_32_bits) = (BTreeSet::new(), BTreeSet::new());
    for &at in &found.body {
        let Some(decoded) = code.at(at) else { continue };
        for operand in decoded.written_operands() {
            match operand.size() {
                4 => of_32_bits.insert(operand.full_register()),
                // It comes round within a few turns.
                1 | 2 => depends.insert(operand.full_register()),
                _ => false,
            };
        }
        for register in decoded.outputs() {
            if decoded.loads() || decoded.inputs().iter().any(|input| *input != register) {
                depends.insert(register);
            }
        }
    }
    let growth = |register: Register, from: usize, to: usize| {
        let value = |n: usize| registers::of(&steps[n].0, register).unwrap_or(0);
        let growth = value(to).wrapping_sub(value(from)) as i64;
        match of_32_bits.contains(&register) {
            true => i64::from(growth as i32),
            false => growth,
        }
    };
    let follow = found
        .turns
        .windows(2)
        .filter(|pair| pair[0].end == pair[1].start);
    let turns: Vec<_> = follow.map(|pair| (pair[0].start, pair[1].start)).collect();
    let (first, last) = *turns.first()?;
    let candidates = SAVED
        .into_iter()
        .filter(|register| *register != Register::RSP && !depends.contains(register));
    candidates
        .map(|register| (register, growth(register, first, last)))
        .find_map(|(register, stride)| {
            let is_steady = stride != 0
                && turns
                    .iter()
                    .all(|(from, to)| growth(register, *from, *to) == stride);
            let counter = match of_32_bits.contains(&register) {
                true if stride.abs() > MAX_STRIDE_OF_32_BITS => return None,
                true => register.full_register32(),
                false => register,
            };
            is_steady.then_some(Counter::Stride(counter, stride))
        })
}

/// Whether a turn takes over floats or vectors from the one before it.
fn takes_over_vectors(found: &Loop, steps: &[Step], code: &mut Code<'_>) -> bool {
    let mut written = BTreeSet::new();
    let first = found
        .turns
        .first()
        .map_or(&[][..], |turn| &steps[turn.clone()]);
    first.iter().any(|step| {
        let Some(decoded) = code.at(step.at()) else {
            return false;
        };
        let reads = decoded
            .inputs()
            .iter()
            .any(|register| register.is_vector_register() && !written.contains(register));
        written.extend(decoded.outputs());
        reads
    })
}

/// A register that nothing in the loop has to do with.
fn spare(found: &Loop, parts: &[Part], code: &mut Code<'_>) -> Option<Counter> {
    let mut free: Vec<Register> = SAVED
        .into_iter()
        .filter(|register| *register != Register::RSP)
        .rev()
        .collect();
    let written = parts
        .iter()
        .flat_map(|part| &part.instructions)
        .map(Instruction::ip);
    for at in written.chain(found.body.iter().copied()) {
        let decoded = code.at(at)?;
        free.retain(|register| decoded.registers().all(|used| used != *register));
    }
    free.first().map(|&register| Counter::Spare(register))
}

/// Memory that the first round of turns reads before it writes it, and writes.
fn cells(bench: &Bench, found: &Loop, steps: &[Step], code: &mut Code<'_>) -> Vec<(u64, u64)> {
    let (mut read, mut written, mut taken_over) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (number, turn) in found.turns.iter().enumerate() {
        if number > 0 && found.turns[number - 1].end != turn.start {
            break;
        }
        for step in &steps[turn.clone()] {
            for access in code.accesses(step) {
                let cells = (access.address / 8..=(access.address + access.bytes - 1) / 8)
                    .map(|cell| 8 * cell);
                for cell in cells {
                    if access.reads && !written.contains(&cell) {
                        read.insert(cell);
                    }
                    if access.writes {
                        written.insert(cell);
                        if read.contains(&cell) {
                            taken_over.insert(cell);
                        }
                    }
                }
            }
        }
    }
    let value = |cell| {
        bench
            .fork
            .memory
            .read(cell, 8)?
            .try_into()
            .ok()
            .map(u64::from_le_bytes)
    };
    taken_over
        .into_iter()
        .filter_map(|cell| Some((cell, value(cell)?)))
        .collect()
}
