//! Bins of pace: those of the floating-point format, 1024 to each factor of two: 0.05 to 0.1 % wide, exact to compute and without a logarithm.

/// Bits of the mantissa that are dropped: 10 of 52 are kept.
const SHIFT: u32 = 42;
/// Paces of 2^-17 to 2^34 ticks per unit: from the largest count there is in a quantum of 33 us in nanoseconds, to units of 7 s
/// at 2.3 GHz; what lies outside counts in the end bins.
const OCTAVES: usize = 51;
const FIRST: i32 = (1023 - 17) << 10;
/// Number of bins.
pub const BINS: usize = OCTAVES << 10;

/// The bin of a positive pace in ticks per unit.
#[inline]
pub fn bin_of(pace: f64) -> usize {
    // In 32 bits, of which 22 are used, so that several paces are done at a time.
    let position = (pace.to_bits() >> SHIFT) as i32 - FIRST;
    position.clamp(0, BINS as i32 - 1) as usize
}

/// The pace in the middle of a bin.
pub fn pace_of(bin: usize) -> f64 {
    f64::from_bits(((FIRST as u64 + bin as u64) << SHIFT) | (1 << (SHIFT - 1)))
}
