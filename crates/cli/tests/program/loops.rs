//! Loops that are hard to write again at another place, or that are harmed by what is changed.

unsafe extern "C" {
    fn abs(number: i32) -> i32;
}

/// Where it is: an entry of the table by which programs call libraries.
static ENTRY: unsafe extern "C" fn(i32) -> i32 = abs;

/// Calls a library as a procedure linkage table does, and counts after that.
pub fn call_a_library() {
    // SAFETY: the stack is aligned for calls, and what a call changes is declared.
    unsafe {
        core::arch::asm!(
            "2:", "mov edi, 3", "call 3f", "sub r12, 1", "jnz 2b", "jmp 4f",
            "3:", "jmp qword ptr [r13]", "4:",
            inout("r12") 1_000_000_u64 => _, in("r13") &raw const ENTRY, clobber_abi("C"),
        );
    }
}

/// Counts in 32 bits until the counter lies below zero: of the whole register it is then more than it was in the beginning.
pub fn count_below_zero() {
    // SAFETY: it touches no memory, and the registers are declared.
    unsafe {
        core::arch::asm!(
            "2:", "imul {x}, {x}, 3", "sub {n:e}, 1", "cmp {n:e}, -1", "jne 2b",
            n = inout(reg) 100_000_u64 => _, x = inout(reg) 1_u64 => _,
        );
    }
}

/// Stores across the end of a line, next to a pointer that it follows.
pub fn store_beside_a_pointer(line: *mut u8) {
    // SAFETY: all addresses lie within three lines, which are the caller's, and the registers are declared.
    unsafe {
        line.add(52)
            .cast::<*mut u8>()
            .write_unaligned(line.add(128));
        core::arch::asm!(
            "2:", "mov qword ptr [{at} + 60], {n}", "mov {x}, qword ptr [{at} + 52]", "mov {x}, qword ptr [{x}]",
            "sub {n}, 1", "jnz 2b",
            at = in(reg) line, n = inout(reg) 1_000_000_u64 => _, x = out(reg) _,
        );
    }
}

/// Follows pointers that lie in every second line, and in the others are null: who loads 64 bytes further ends by a signal.
pub fn follow_pointers() {
    const CELLS: usize = 4096 / 8;
    let mut memory = vec![0_usize; 5 * CELLS];
    let begin = memory.as_ptr().align_offset(4096);
    let page = &raw mut memory[begin];
    for cell in (0..CELLS).step_by(16) {
        memory[begin + CELLS + cell] = page as usize + 2 * 4096 + 72;
    }
    // SAFETY: all addresses lie within `memory`, and the registers are declared.
    unsafe {
        core::arch::asm!(
            "2:", "mov qword ptr [{at} + {i}], {n}", "mov {x}, qword ptr [{at} + {i} + 4096]", "mov {x}, qword ptr [{x}]",
            "add {i}, 128", "and {i}, 4095", "sub {n}, 1", "jnz 2b",
            at = in(reg) page, i = inout(reg) 0_u64 => _, n = inout(reg) 1_000_000_u64 => _, x = out(reg) _,
        );
    }
}
