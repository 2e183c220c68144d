//! What work kernels and the lab's loops share about shifts: by a count that a 64-bit immediate set a shift takes three cycles, not one, on
//! Golden Cove and its successors, until an interruption saves and restores the count's register; `bandscope lab --only shift-count,switching`.

/// Whether this CPU has `shlx`, which leaves the flags alone, so that shifts depend on each other by their value only.
///
/// # Errors
/// What it lacks.
pub fn bmi2() -> Result<(), &'static str> {
    match std::arch::is_x86_feature_detected!("bmi2") {
        true => Ok(()),
        false => Err("BMI2"),
    }
}

/// Sets rcx, the count, to 1 by a 64-bit immediate. Spelt in bytes: an assembler may take the shorter form.
#[macro_export]
macro_rules! count_by_64_bits {
    () => {
        ".byte 0x48, 0xc7, 0xc1, 1, 0, 0, 0"
    };
}
