//! The generic timer's virtual counter.
//!
//! Source: Arm Architecture Reference Manual, D12.1.2: CNTVCT_EL0 may be read out of order; an ISB
//! before it keeps it behind older instructions. The counter runs at a constant rate by architecture.

use core::arch::asm;

/// The manifest's name of this clock.
pub const NAME: &str = "generic-timer";

/// `mrs cntvct_el0` alone.
#[inline(always)]
pub fn plain() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter into a declared register; touches no memory, stack or flags. Linux lets
    // user mode read it (CNTKCTL_EL1.EL0VCTEN), trapping and emulating it where it has errata.
    unsafe {
        asm!("mrs {ticks}, cntvct_el0", ticks = out(reg) ticks, options(nomem, nostack, preserves_flags));
    }
    ticks
}

/// `isb; mrs cntvct_el0`: the counter after every older instruction has completed.
#[inline(always)]
pub fn ordered() -> u64 {
    let ticks: u64;
    // SAFETY: as in `plain`. Without `nomem`, so that the compiler, too, moves no store across it.
    unsafe {
        asm!("isb", "mrs {ticks}, cntvct_el0", ticks = out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

/// True by architecture.
pub fn invariant() -> Option<bool> {
    Some(true)
}
