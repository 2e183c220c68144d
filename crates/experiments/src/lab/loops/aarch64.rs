//! Loops of aarch64: turns in `x0`, scratch memory in `x1`.

/// Counts a turn, and goes on.
macro_rules! turn_again {
    () => {
        "subs x0, x0, #1\n b.ne 22b"
    };
}

/// An addition of registers takes one cycle on every core of the architecture (Arm's software optimisation guides).
pub const CYCLES: (&str, f64) = ("add-register", 1.0);

lab_loops! {
    add_register {
        "add-register", "64 dependent additions of a register",
        operations: 64,
        before: "mov x9, #1\n mov x10, #3",
        turn: ".rept 64\n add x9, x9, x10\n .endr",
    }
    add_immediate {
        "add-immediate", "64 dependent additions of an immediate",
        operations: 64,
        before: "mov x9, #1",
        turn: ".rept 64\n add x9, x9, #3\n .endr",
    }
    multiply {
        "multiply", "64 dependent float multiplications in a register",
        operations: 64,
        before: "fmov s0, #1.5\n fmov s1, #2.0\n fmov s2, #0.5",
        turn: ".rept 32\n fmul s0, s0, s1\n fmul s0, s0, s2\n .endr",
    }
    multiply_four {
        "multiply-4", "64 float multiplications in four independent chains",
        operations: 64,
        before: "fmov s1, #2.0\n fmov s5, #0.5\n fmov s0, #1.5\n fmov s2, #1.5\n fmov s3, #1.5\n fmov s4, #1.5",
        turn: ".rept 8\n fmul s0, s0, s1\n fmul s2, s2, s1\n fmul s3, s3, s1\n fmul s4, s4, s1\n \
            fmul s0, s0, s5\n fmul s2, s2, s5\n fmul s3, s3, s5\n fmul s4, s4, s5\n .endr",
    }
    stack64 {
        "stack-64", "64 load-add-store of 8 bytes at the stack pointer",
        operations: 64,
        before: "sub sp, sp, #16",
        turn: ".rept 64\n ldr x9, [sp]\n add x9, x9, #1\n str x9, [sp]\n .endr",
        after: "add sp, sp, #16",
    }
    pointer64 {
        "pointer-64", "64 load-add-store of 8 bytes at a pointer",
        operations: 64,
        turn: ".rept 64\n ldr x9, [x1]\n add x9, x9, #1\n str x9, [x1]\n .endr",
    }
}
