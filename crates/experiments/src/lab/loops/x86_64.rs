//! Loops of x86-64: turns in `rdi`, scratch memory in `rsi`; the 128 bytes below the stack pointer are theirs (System V ABI).

use bandscope_probe::count_by_64_bits;
use bandscope_probe::shift_counts::bmi2;

/// Counts a turn, and goes on.
macro_rules! turn_again {
    () => {
        "dec rdi\n jnz 22b"
    };
}

/// A chain of 8 bytes through memory: load, add, store.
macro_rules! chain64 {
    ($times:literal, $where:literal) => {
        concat!(
            ".rept ",
            $times,
            "\n mov rax, qword ptr [",
            $where,
            "]\n add rax, 1\n mov qword ptr [",
            $where,
            "], rax\n .endr"
        )
    };
}

/// One chain through so many slots of the stack in turn: each addition's result is stored in the next slot.
macro_rules! slots {
    ($slots:literal, $rounds:literal) => {
        concat!(
            ".rept ",
            $rounds,
            "\n .set bandscope_slot, 0\n .rept ",
            $slots,
            "\n",
            " mov rax, qword ptr [rsp + 8 * (bandscope_slot % ",
            $slots,
            ")]\n add rax, 1\n",
            " mov qword ptr [rsp + 8 * ((bandscope_slot + 1) % ",
            $slots,
            ")], rax\n",
            " .set bandscope_slot, bandscope_slot + 1\n .endr\n .endr"
        )
    };
}

/// A chain through memory with so many no-operations between its store and its load.
macro_rules! distance {
    ($fillers:literal, $where:literal) => {
        concat!(
            ".rept 32\n mov rax, qword ptr [",
            $where,
            "]\n add rax, 1\n mov qword ptr [",
            $where,
            "], rax\n",
            " .rept ",
            $fillers,
            "\n nop\n .endr\n .endr"
        )
    };
}

/// 1.5, 2 and 1/2 in xmm0 to xmm2: multiplied by 2 and 1/2 in turn, 1.5 stays exact and normal for ever.
macro_rules! floats {
    () => {
        "mov eax, 0x3fc00000\n movd xmm0, eax\n mov eax, 0x40000000\n movd xmm1, eax\n \
         mov eax, 0x3f000000\n movd xmm2, eax"
    };
}

/// A multiplication of 64-bit integers takes 3 cycles on every core of Intel's since Nehalem but those of the Atom line, where it takes
/// 5, and of AMD's since Zen (uops.info). The lab measures it against additions, and takes this where that gives no whole number.
pub const CYCLES: (&str, f64) = ("imul", 3.0);

lab_loops! {
    imul {
        "imul", "64 dependent integer multiplications in a register",
        operations: 64,
        before: "mov eax, 1\n mov ecx, 0x4c957f2d",
        turn: ".rept 64\n imul rax, rcx\n .endr",
    }
    mulss {
        "mulss", "64 dependent float multiplications in a register",
        operations: 64,
        before: floats!(),
        turn: ".rept 32\n mulss xmm0, xmm1\n mulss xmm0, xmm2\n .endr",
    }
    mulss_four {
        "mulss-4", "64 float multiplications in four independent chains",
        operations: 64,
        before: concat!(floats!(), "\n movaps xmm3, xmm0\n movaps xmm4, xmm0\n movaps xmm5, xmm0"),
        turn: ".rept 8\n mulss xmm0, xmm1\n mulss xmm3, xmm1\n mulss xmm4, xmm1\n mulss xmm5, xmm1\n \
            mulss xmm0, xmm2\n mulss xmm3, xmm2\n mulss xmm4, xmm2\n mulss xmm5, xmm2\n .endr",
    }
    add_register {
        "add-register", "64 dependent additions of a register",
        operations: 64,
        before: "mov eax, 1\n mov ecx, 1",
        turn: ".rept 64\n add rax, rcx\n .endr",
    }
    add_immediate {
        "add-immediate", "64 dependent additions of an immediate",
        operations: 64,
        before: "mov eax, 1",
        turn: ".rept 64\n add rax, 1\n .endr",
    }
    stack64 {
        "stack-64", "64 load-add-store of 8 bytes at [rsp-8]",
        operations: 64,
        turn: chain64!("64", "rsp - 8"),
    }
    stack32 {
        "stack-32", "64 load-add-store of 4 bytes at [rsp-8]",
        operations: 64,
        turn: ".rept 64\n mov eax, dword ptr [rsp - 8]\n add eax, 1\n mov dword ptr [rsp - 8], eax\n .endr",
    }
    stack16 {
        "stack-16", "64 load-add-store of 2 bytes at [rsp-8]",
        operations: 64,
        turn: ".rept 64\n movzx eax, word ptr [rsp - 8]\n add eax, 1\n mov word ptr [rsp - 8], ax\n .endr",
    }
    stack8 {
        "stack-8", "64 load-add-store of 1 byte at [rsp-8]",
        operations: 64,
        turn: ".rept 64\n movzx eax, byte ptr [rsp - 8]\n add eax, 1\n mov byte ptr [rsp - 8], al\n .endr",
    }
    stack_vector {
        "stack-vector", "64 load-add-store of 8 bytes at [rsp-8], by way of a vector register",
        operations: 64,
        before: "mov eax, 1\n movq xmm1, rax",
        turn: ".rept 64\n movq xmm0, qword ptr [rsp - 8]\n paddq xmm0, xmm1\n movq qword ptr [rsp - 8], xmm0\n .endr",
    }
    frame64 {
        "frame-64", "64 load-add-store of 8 bytes at [rbp-8]; rbp is set from rsp once, before the loop",
        operations: 64,
        before: "push rbp\n mov rbp, rsp",
        turn: chain64!("64", "rbp - 8"),
        after: "pop rbp",
    }
    frame64_renewed {
        "frame-64-renewed", "as frame-64, with rbp set from rsp in each turn",
        operations: 64,
        before: "push rbp",
        turn: concat!("mov rbp, rsp\n", chain64!("64", "rbp - 8")),
        after: "pop rbp",
    }
    frame64_reloaded {
        "frame-64-reloaded", "as frame-64, with rbp pushed and popped in each turn",
        operations: 64,
        before: "push rbp\n mov rbp, rsp\n sub rsp, 64",
        turn: concat!("push rbp\n pop rbp\n", chain64!("64", "rbp - 8")),
        after: "add rsp, 64\n pop rbp",
    }
    pointer64 {
        "pointer-64", "64 load-add-store of 8 bytes at a pointer, [rsi]",
        operations: 64,
        turn: chain64!("64", "rsi"),
    }
    copied64 {
        "copied-64", "64 load-add-store of 8 bytes at [rcx-8]; rcx is a copy of rsp",
        operations: 64,
        before: "mov rcx, rsp",
        turn: chain64!("64", "rcx - 8"),
    }
    global64 {
        "global-64", "64 load-add-store of 8 bytes at an address relative to the instruction's",
        operations: 64,
        turn: chain64!("64", "rip + bandscope_lab_word"),
    }
    indexed64 {
        "indexed-64", "64 load-add-store of 8 bytes at [rsi+rcx*8]",
        operations: 64,
        before: "xor ecx, ecx",
        turn: chain64!("64", "rsi + rcx * 8"),
    }
    body1 {
        "body-1", "1 load-add-store of 8 bytes at [rsp-8] a turn",
        operations: 1,
        turn: chain64!("1", "rsp - 8"),
    }
    body2 {
        "body-2", "2 load-add-store of 8 bytes at [rsp-8] a turn",
        operations: 2,
        turn: chain64!("2", "rsp - 8"),
    }
    body4 {
        "body-4", "4 load-add-store of 8 bytes at [rsp-8] a turn",
        operations: 4,
        turn: chain64!("4", "rsp - 8"),
    }
    old_unit {
        "old-unit", "FTQ's old unit at -O2: inner loops of 32 and 31 load-add-store of 8 bytes at [rsp-16]",
        operations: 63,
        turn: "mov ecx, 32\n \
            23: mov rax, qword ptr [rsp - 16]\n add rax, 1\n mov qword ptr [rsp - 16], rax\n \
            sub ecx, 1\n jne 23b\n \
            mov ecx, 31\n \
            24: mov rax, qword ptr [rsp - 16]\n sub rax, 1\n mov qword ptr [rsp - 16], rax\n \
            sub ecx, 1\n jne 24b",
    }
    body8 {
        "body-8", "8 load-add-store of 8 bytes at [rsp-8] a turn",
        operations: 8,
        turn: chain64!("8", "rsp - 8"),
    }
    body16 {
        "body-16", "16 load-add-store of 8 bytes at [rsp-8] a turn",
        operations: 16,
        turn: chain64!("16", "rsp - 8"),
    }
    body32 {
        "body-32", "32 load-add-store of 8 bytes at [rsp-8] a turn",
        operations: 32,
        turn: chain64!("32", "rsp - 8"),
    }
    body128 {
        "body-128", "128 load-add-store of 8 bytes at [rsp-8] a turn",
        operations: 128,
        turn: chain64!("128", "rsp - 8"),
    }
    slots1 {
        "slots-1", "one chain of 64 load-add-store through 1 slot of the stack",
        operations: 64,
        before: "sub rsp, 520",
        turn: slots!("1", "64"),
        after: "add rsp, 520",
    }
    slots2 {
        "slots-2", "one chain of 64 load-add-store through 2 slots of the stack",
        operations: 64,
        before: "sub rsp, 520",
        turn: slots!("2", "32"),
        after: "add rsp, 520",
    }
    slots4 {
        "slots-4", "one chain of 64 load-add-store through 4 slots of the stack",
        operations: 64,
        before: "sub rsp, 520",
        turn: slots!("4", "16"),
        after: "add rsp, 520",
    }
    slots8 {
        "slots-8", "one chain of 64 load-add-store through 8 slots of the stack",
        operations: 64,
        before: "sub rsp, 520",
        turn: slots!("8", "8"),
        after: "add rsp, 520",
    }
    slots16 {
        "slots-16", "one chain of 64 load-add-store through 16 slots of the stack",
        operations: 64,
        before: "sub rsp, 520",
        turn: slots!("16", "4"),
        after: "add rsp, 520",
    }
    slots32 {
        "slots-32", "one chain of 64 load-add-store through 32 slots of the stack",
        operations: 64,
        before: "sub rsp, 520",
        turn: slots!("32", "2"),
        after: "add rsp, 520",
    }
    slots64 {
        "slots-64", "one chain of 64 load-add-store through 64 slots of the stack",
        operations: 64,
        before: "sub rsp, 520",
        turn: slots!("64", "1"),
        after: "add rsp, 520",
    }
    distance4 {
        "distance-4", "32 load-add-store at [rsp-8], 4 no-operations after each store",
        operations: 32,
        turn: distance!("4", "rsp - 8"),
    }
    distance16 {
        "distance-16", "32 load-add-store at [rsp-8], 16 no-operations after each store",
        operations: 32,
        turn: distance!("16", "rsp - 8"),
    }
    distance64 {
        "distance-64", "32 load-add-store at [rsp-8], 64 no-operations after each store",
        operations: 32,
        turn: distance!("64", "rsp - 8"),
    }
    register_distance4 {
        "register-distance-4", "32 dependent additions of a register, 4 no-operations after each",
        operations: 32,
        before: "mov eax, 1
 mov ecx, 1",
        turn: ".rept 32
 add rax, rcx
 .rept 4
 nop
 .endr
 .endr",
    }
    register_distance16 {
        "register-distance-16", "32 dependent additions of a register, 16 no-operations after each",
        operations: 32,
        before: "mov eax, 1
 mov ecx, 1",
        turn: ".rept 32
 add rax, rcx
 .rept 16
 nop
 .endr
 .endr",
    }
    register_distance64 {
        "register-distance-64", "32 dependent additions of a register, 64 no-operations after each",
        operations: 32,
        before: "mov eax, 1
 mov ecx, 1",
        turn: ".rept 32
 add rax, rcx
 .rept 64
 nop
 .endr
 .endr",
    }
    shift_count64 {
        "shift-count-64", "64 dependent shlx by a count that a 64-bit immediate set once, before the loop",
        operations: 64,
        needs: bmi2(),
        before: concat!("mov eax, 1\n ", count_by_64_bits!()),
        turn: ".rept 64\n shlx rax, rax, rcx\n .endr",
    }
    shift_count32 {
        "shift-count-32", "64 dependent shlx by a count that a 32-bit immediate set once, before the loop",
        operations: 64,
        needs: bmi2(),
        before: "mov eax, 1\n mov ecx, 1",
        turn: ".rept 64\n shlx rax, rax, rcx\n .endr",
    }
    shift_count_reloaded {
        "shift-count-reloaded", "as shift-count-64, with the count pushed and popped before the loop",
        operations: 64,
        needs: bmi2(),
        before: concat!("mov eax, 1\n ", count_by_64_bits!(), "\n push rcx\n pop rcx"),
        turn: ".rept 64\n shlx rax, rax, rcx\n .endr",
    }
    shift_count_renewed {
        "shift-count-renewed", "as shift-count-64, with the count set in each turn",
        operations: 64,
        needs: bmi2(),
        before: "mov eax, 1",
        turn: concat!(count_by_64_bits!(), "\n .rept 64\n shlx rax, rax, rcx\n .endr"),
    }
    forwarded {
        "forwarded", "64 stores of 8 bytes, each loaded again whole",
        operations: 64,
        before: "xor eax, eax",
        turn: ".rept 64\n mov qword ptr [rsi], rax\n mov rax, qword ptr [rsi]\n .endr",
    }
    forwarding_failed {
        "forwarding-failed", "64 stores of two halves, loaded again as one",
        operations: 64,
        before: "xor eax, eax",
        turn: ".rept 64\n mov dword ptr [rsi], eax\n mov dword ptr [rsi + 4], eax\n mov rax, qword ptr [rsi]\n .endr",
    }
    page_apart {
        "page-apart", "64 loads, independent but for a store 4,096 bytes before each",
        operations: 64,
        before: "xor eax, eax",
        turn: ".rept 64\n mov qword ptr [rsi], rax\n mov rax, qword ptr [rsi + 4096]\n .endr",
    }
    page_and_line_apart {
        "page-and-line-apart", "64 loads, independent, a store 4,160 bytes before each",
        operations: 64,
        before: "xor eax, eax",
        turn: ".rept 64\n mov qword ptr [rsi], rax\n mov rax, qword ptr [rsi + 4160]\n .endr",
    }
    denormal {
        "denormal", "64 dependent multiplications of a denormal float by 1",
        operations: 64,
        before: "mov eax, 0x00000100\n movd xmm0, eax\n mov eax, 0x3f800000\n movd xmm1, eax",
        turn: ".rept 64\n mulss xmm0, xmm1\n .endr",
    }
    normal {
        "normal", "64 dependent multiplications of a normal float by 1",
        operations: 64,
        before: "mov eax, 0x3fc00000\n movd xmm0, eax\n mov eax, 0x3f800000\n movd xmm1, eax",
        turn: ".rept 64\n mulss xmm0, xmm1\n .endr",
    }
}

core::arch::global_asm!(
    ".pushsection .data.bandscope_lab,\"aw\",%progbits",
    ".p2align 6",
    ".globl bandscope_lab_word",
    ".hidden bandscope_lab_word",
    "bandscope_lab_word: .quad 0",
    ".popsection",
);
