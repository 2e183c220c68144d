//! Loops that are hard to write again at another place.

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
