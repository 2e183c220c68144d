//! General registers by their names.

use super::tracee::Registers;
use iced_x86::Register;

/// What a general register of 64 bits holds.
pub fn of(registers: &Registers, register: Register) -> Option<u64> {
    let mut registers = *registers;
    place(&mut registers, register).copied()
}

/// Sets it; another register is left alone.
pub fn set(registers: &mut Registers, register: Register, value: u64) {
    if let Some(place) = place(registers, register) {
        *place = value;
    }
}

fn place(of: &mut Registers, register: Register) -> Option<&mut u64> {
    Some(match register {
        Register::RAX => &mut of.rax,
        Register::RBX => &mut of.rbx,
        Register::RCX => &mut of.rcx,
        Register::RDX => &mut of.rdx,
        Register::RSI => &mut of.rsi,
        Register::RDI => &mut of.rdi,
        Register::RBP => &mut of.rbp,
        Register::RSP => &mut of.rsp,
        Register::R8 => &mut of.r8,
        Register::R9 => &mut of.r9,
        Register::R10 => &mut of.r10,
        Register::R11 => &mut of.r11,
        Register::R12 => &mut of.r12,
        Register::R13 => &mut of.r13,
        Register::R14 => &mut of.r14,
        Register::R15 => &mut of.r15,
        _ => return None,
    })
}
