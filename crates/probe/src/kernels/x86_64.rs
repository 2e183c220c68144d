//! Work kernels of x86-64.
//!
//! FTQ's loops are written anew from what is published of them (docs/method.md, sections 8.19 and 9.2): a unit of
//! the old benchmark increments a counter in an inner loop of 32 turns and decrements it in one of 31;
//! today's does 20 multiplications of floats. They differ by what a compiler at various settings makes
//! of that. Compilers address the frame through `rbp` set once, before the loop; a unit here sets it at
//! its start, because inlined assembly cannot keep it: that alone renews memory renaming.

use super::{Info, NativeKernel, Role, Visitor};
use crate::count_by_64_bits;
use crate::shift_counts::bmi2;

/// A copy may start at any byte.
macro_rules! placement_step {
    () => {
        "1"
    };
}

macro_rules! placement_alignment {
    () => {
        "6"
    };
}

/// Calls a placed copy with the registers that the inlined unit uses.
macro_rules! call_copy {
    ($copy:ident, $($registers:tt)*) => {
        // SAFETY: the copy is a unit and a return; it is called with the stack aligned and the
        // registers declared for the inlined unit.
        unsafe {
            core::arch::asm!("call {copy}", copy = in(reg) $copy as usize, $($registers)*);
        }
    };
}

const ALWAYS: Result<(), &str> = Ok(());

/// One of FTQ's loops: through memory.
const fn ftq(
    name: &'static str,
    description: &'static str,
    operations: u32,
    fractions: &'static [f64],
) -> Info {
    Info {
        name,
        description,
        operations,
        slowest_pace: 10.0,
        fractions,
        role: Role::Published,
    }
}

/// The shares of the old unit's two inner loops.
const OLD_LOOPS: &[f64] = &[32.0 / 63.0, 31.0 / 63.0];

work_kernel! {
    /// 80 dependent multiplications by 2 and 1/2 in turn: exact and normal for ever.
    Mulss80, symbol: mulss80,
    info: Info::chain("mulss80", "80 dependent float multiplications in registers", 80),
    needs: ALWAYS,
    body: ".rept 40\n mulss xmm0, xmm1\n mulss xmm0, xmm2\n .endr",
    state: { value: f32 = 1.5, double: f32 = 2.0, halve: f32 = 0.5 },
    registers: |this| {
        inout("xmm0") this.value, in("xmm1") this.double, in("xmm2") this.halve,
        options(nomem, preserves_flags)
    },
}

work_kernel! {
    /// As [`Mulss80`], a quarter as long: for rates above 100 kHz.
    Mulss20, symbol: mulss20,
    info: Info::chain("mulss20", "20 dependent float multiplications in registers, for high rates", 20),
    needs: ALWAYS,
    body: ".rept 10\n mulss xmm0, xmm1\n mulss xmm0, xmm2\n .endr",
    state: { value: f32 = 1.5, double: f32 = 2.0, halve: f32 = 0.5 },
    registers: |this| {
        inout("xmm0") this.value, in("xmm1") this.double, in("xmm2") this.halve,
        options(nomem, preserves_flags)
    },
}

work_kernel! {
    /// 20 dependent integer multiplications by an odd number (Knuth's MMIX), which never gives 0.
    Imul20, symbol: imul20,
    info: Info::chain("imul20", "20 dependent integer multiplications in registers", 20),
    needs: ALWAYS,
    body: ".rept 20\n imul rax, rcx\n .endr",
    state: { value: u64 = 1, factor: u64 = 6_364_136_223_846_793_005 },
    registers: |this| { inout("rax") this.value, in("rcx") this.factor, options(nomem) },
}

work_kernel! {
    /// 20 dependent CRC-32C steps: an operation that no port but one executes.
    Crc32x20, symbol: crc32x20,
    info: Info::chain("crc32x20", "20 dependent CRC-32C steps in registers (SSE4.2)", 20),
    needs: if std::arch::is_x86_feature_detected!("sse4.2") { Ok(()) } else { Err("SSE4.2") },
    body: ".rept 20\n crc32 rax, rcx\n .endr",
    state: { value: u64 = 1, data: u64 = 0x0123_4567_89ab_cdef },
    registers: |this| { inout("rax") this.value, in("rcx") this.data, options(nomem, preserves_flags) },
}

work_kernel! {
    /// Six independent chains of additions, three in general and three in vector registers: cores take in 6 operations at a time and add
    /// in 5 or 8 places (Golden Cove, Zen 3; uops.info). Of registers, because some cores do additions of constants while they
    /// rename. The loop loads its deadline and threshold once a unit beside this one: two operations of some 500.
    Add6x80, symbol: add6x80,
    info: Info::throughput("add6x80", "480 additions in 6 independent chains, as many at a time as the core can", 480),
    needs: ALWAYS,
    body: ".rept 80\n add r8, r8\n paddd xmm1, xmm1\n add r9, r9\n paddd xmm2, xmm2\n add r10, r10\n paddd xmm3, xmm3\n .endr",
    state: {},
    registers: |_this| {
        out("r8") _, out("r9") _, out("r10") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
        options(nomem)
    },
}

work_kernel! {
    /// The old unit as gcc -O0 leaves it: counter and loop index in the frame.
    FtqO0, symbol: ftq_o0,
    info: ftq(
        "ftq-o0",
        "FTQ's old unit at -O0: 32 increments and 31 decrements, counter and index in memory",
        63,
        OLD_LOOPS,
    ),
    needs: ALWAYS,
    body: "push rbp\n mov rbp, rsp\n \
        mov dword ptr [rbp - 4], 0\n jmp 3f\n \
        2: mov rax, qword ptr [rbp - 16]\n add rax, 1\n mov qword ptr [rbp - 16], rax\n \
        add dword ptr [rbp - 4], 1\n \
        3: cmp dword ptr [rbp - 4], 31\n jle 2b\n \
        mov dword ptr [rbp - 4], 0\n jmp 5f\n \
        4: mov rax, qword ptr [rbp - 16]\n sub rax, 1\n mov qword ptr [rbp - 16], rax\n \
        add dword ptr [rbp - 4], 1\n \
        5: cmp dword ptr [rbp - 4], 30\n jle 4b\n \
        pop rbp",
    state: {},
    registers: |_this| { out("rax") _, options(nomem) },
}

work_kernel! {
    /// The old unit as gcc -O2 compiles it: index in a register, counter loaded and stored.
    FtqO2, symbol: ftq_o2,
    info: ftq(
        "ftq-o2",
        "FTQ's old unit at -O2: 32 increments and 31 decrements of a counter in memory",
        63,
        OLD_LOOPS,
    ),
    needs: ALWAYS,
    body: "mov ecx, 32\n \
        2: mov rax, qword ptr [rsp - 16]\n add rax, 1\n mov qword ptr [rsp - 16], rax\n \
        sub ecx, 1\n jne 2b\n \
        mov ecx, 31\n \
        3: mov rax, qword ptr [rsp - 16]\n sub rax, 1\n mov qword ptr [rsp - 16], rax\n \
        sub ecx, 1\n jne 3b",
    state: {},
    registers: |_this| { out("rax") _, out("rcx") _, options(nomem) },
}

work_kernel! {
    /// The old unit with its inner loops unrolled away.
    FtqUnrolled, symbol: ftq_unrolled,
    info: ftq(
        "ftq-unrolled",
        "FTQ's old unit unrolled: 32 increments and 31 decrements of a counter in memory",
        63,
        OLD_LOOPS,
    ),
    needs: ALWAYS,
    body: ".rept 32\n mov rax, qword ptr [rsp - 16]\n add rax, 1\n mov qword ptr [rsp - 16], rax\n .endr\n \
        .rept 31\n mov rax, qword ptr [rsp - 16]\n sub rax, 1\n mov qword ptr [rsp - 16], rax\n .endr",
    state: {},
    registers: |_this| { out("rax") _, options(nomem) },
}

work_kernel! {
    /// Today's unit at -O0: 20 multiplications, each through the frame.
    ///
    /// Like the original it overflows: 1e8 to the fifth power is no float, so from the fifth
    /// multiplication of a unit on it multiplies infinity, which costs what a normal number costs.
    FtqFloat20Stack, symbol: ftq_float20_stack,
    info: ftq(
        "ftq-float20-stack",
        "FTQ's current unit at -O0: 20 float multiplications through memory, infinite after 5",
        20,
        &[],
    ),
    needs: ALWAYS,
    // 0x3f800000 is 1.0, 0x4cbebc20 is 1e8.
    body: "push rbp\n mov rbp, rsp\n \
        mov dword ptr [rbp - 4], 0x3f800000\n mov dword ptr [rbp - 8], 0x4cbebc20\n \
        .rept 20\n \
        movss xmm0, dword ptr [rbp - 4]\n mulss xmm0, dword ptr [rbp - 8]\n \
        movss dword ptr [rbp - 4], xmm0\n \
        .endr\n \
        pop rbp",
    state: {},
    // Overflow and inexactness are noted in MXCSR, so flags are not preserved.
    registers: |_this| { out("xmm0") _, options(nomem) },
}

work_kernel! {
    /// A unit so long that interruptions come within it, and are noticed by what they leave behind: on Golden Cove and its
    /// successors the rest of an interrupted unit runs three times as fast.
    TripwireShift, symbol: tripwire_shift,
    info: Info {
        name: "tripwire-shift",
        description: "20,480 dependent shifts that go faster after an interruption, on Golden Cove and its successors",
        operations: 20_480,
        // What it keeps to when left alone is its slowest pace; the clock may fall by a little.
        slowest_pace: 1.5,
        fractions: &[],
        role: Role::Tripwire { rest: 1.0 / 3.0 },
    },
    needs: bmi2(),
    body: concat!(
        count_by_64_bits!(), "\n mov edx, 320\n \
        2:\n .rept 64\n shlx rax, rax, rcx\n .endr\n dec edx\n jnz 2b"
    ),
    state: { value: u64 = 1 },
    registers: |this| { inout("rax") this.value, out("rcx") _, out("rdx") _, options(nomem) },
}

work_kernel! {
    /// The interrupted loop of 2003: after one `mov rbp, rsp` a chain through the frame is fast on Zen 3 until
    /// something interrupts it, then up to 8 times as slow until the loop is left (docs/method.md, section 9.4).
    TripwireFrame, symbol: tripwire_frame,
    info: Info {
        name: "tripwire-frame",
        description: "49,152 load-add-store in the frame that go slower after an interruption, on Zen 3",
        operations: 49_152,
        slowest_pace: 10.0,
        fractions: &[],
        // docs/method.md, section 9.4: 0.8 ticks an operation, then 6.5.
        role: Role::Tripwire { rest: 6.5 / 0.8 },
    },
    needs: ALWAYS,
    body: "push rbp\n mov rbp, rsp\n mov edx, 768\n \
        2:\n .rept 64\n mov rax, qword ptr [rbp - 8]\n add rax, 1\n mov qword ptr [rbp - 8], rax\n .endr\n \
        dec edx\n jnz 2b\n pop rbp",
    state: {},
    registers: |_this| { out("rax") _, out("rdx") _, options(nomem) },
}

work_kernel! {
    /// Bands on a schedule: for a quarter of every 2^23 ticks of the clock the count is set by a 64-bit immediate, else by one of 32 bits.
    /// At 2.3 GHz the slow stays last 0.912 ms of 3.647, about as long as those published in 2025.
    BandsShift, symbol: bands_shift,
    info: Info {
        name: "bands-shift",
        description: "80 dependent shifts, three times as slow for a quarter of the time, on Golden Cove and its successors",
        operations: 80,
        slowest_pace: 10.0,
        fractions: &[],
        role: Role::Published,
    },
    needs: bmi2(),
    body: concat!(
        "rdtsc\n and eax, 0x600000\n jz 2f\n mov ecx, 1\n jmp 3f\n 2: ", count_by_64_bits!(), "\n \
        3:\n .rept 80\n shlx r8, r8, rcx\n .endr"
    ),
    state: { value: u64 = 1 },
    registers: |this| { inout("r8") this.value, out("rax") _, out("rcx") _, out("rdx") _, options(nomem) },
}

kernel_list! {
    default Mulss80, short Mulss20,
    Mulss80, Mulss20, Imul20, Crc32x20, Add6x80, FtqO0, FtqO2, FtqUnrolled, FtqFloat20Stack,
    TripwireShift, TripwireFrame, BandsShift
}
