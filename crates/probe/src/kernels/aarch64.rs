//! Work kernels of aarch64: register chains.

use super::{Info, NativeKernel, Visitor};

/// A copy may start at any instruction.
macro_rules! placement_step {
    () => {
        "4"
    };
}

/// 64 steps of four bytes.
macro_rules! placement_alignment {
    () => {
        "8"
    };
}

/// Calls a placed copy with the registers that the inlined unit uses.
macro_rules! call_copy {
    ($copy:ident, $($registers:tt)*) => {
        // SAFETY: the copy is a unit and a return; besides the registers declared for the inlined unit
        // the call writes the link register.
        unsafe {
            core::arch::asm!("blr {copy}", copy = in(reg) $copy as usize, out("x30") _, $($registers)*);
        }
    };
}

work_kernel! {
    /// 80 dependent multiplications by 2 and 1/2 in turn: exact and normal for ever.
    Fmul80, symbol: fmul80,
    info: Info::chain("fmul80", "80 dependent float multiplications in registers", 80),
    needs: Ok(()),
    body: ".rept 40\n fmul s0, s0, s1\n fmul s0, s0, s2\n .endr",
    state: { value: f32 = 1.5, double: f32 = 2.0, halve: f32 = 0.5 },
    registers: |this| {
        inout("s0") this.value, in("s1") this.double, in("s2") this.halve,
        options(nomem, preserves_flags)
    },
}

work_kernel! {
    /// As [`Fmul80`], a quarter as long: for rates above 100 kHz.
    Fmul20, symbol: fmul20,
    info: Info::chain("fmul20", "20 dependent float multiplications in registers, for high rates", 20),
    needs: Ok(()),
    body: ".rept 10\n fmul s0, s0, s1\n fmul s0, s0, s2\n .endr",
    state: { value: f32 = 1.5, double: f32 = 2.0, halve: f32 = 0.5 },
    registers: |this| {
        inout("s0") this.value, in("s1") this.double, in("s2") this.halve,
        options(nomem, preserves_flags)
    },
}

work_kernel! {
    /// Six independent chains of additions: as many as wide cores can at a time.
    Add6x80, symbol: add6x80,
    info: Info::throughput("add6x80", "480 additions in 6 independent chains, as many at a time as the core can", 480),
    needs: Ok(()),
    body: ".rept 80\n add x9, x9, x8\n add x10, x10, x8\n add x11, x11, x8\n add x12, x12, x8\n \
        add x13, x13, x8\n add x14, x14, x8\n .endr",
    state: { step: u64 = 1 },
    registers: |this| {
        in("x8") this.step, out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _,
        options(nomem, preserves_flags)
    },
}

kernel_list! { default Fmul80, short Fmul20, Fmul80, Fmul20, Add6x80 }
