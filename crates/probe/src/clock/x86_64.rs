//! The time stamp counter.
//!
//! Sources: Intel SDM volume 2, RDTSC ("not a serializing instruction"; LFENCE immediately before it
//! makes it wait for all earlier instructions), volume 3, 19.17.1 (invariant TSC); AMD APM volume 3,
//! RDTSC, and volume 2, 13.2.4.

use core::arch::asm;
use core::arch::x86_64::__cpuid;

/// The manifest's name of this clock.
pub const NAME: &str = "tsc";

/// `rdtsc` alone: work before it may still be under way.
#[inline(always)]
pub fn plain() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: reads a counter into EDX:EAX, both declared; touches no memory, stack or flags. User mode
    // may execute it unless CR4.TSD is set, which Linux does on request of the process itself only.
    unsafe {
        asm!("rdtsc", out("rax") low, out("rdx") high, options(nomem, nostack, preserves_flags));
    }
    low | (high << 32)
}

/// `lfence; rdtsc`: the counter after every older instruction has completed.
#[inline(always)]
pub fn ordered() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: as in `plain`. Without `nomem`, so that the compiler, too, moves no store across it.
    unsafe {
        asm!("lfence", "rdtsc", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
    }
    low | (high << 32)
}

/// Whether CPUID declares the counter invariant: leaf 8000_0007, EDX bit 8.
pub fn invariant() -> Option<bool> {
    if __cpuid(0x8000_0000).eax < 0x8000_0007 {
        return None;
    }
    Some(__cpuid(0x8000_0007).edx & (1 << 8) != 0)
}
