//! HZ of the running kernel, without privileges and without counting.
//!
//! The coarse clocks advance once a tick, and clock_getres(2) says so: their resolution is 1/HZ. Counting
//! timer interrupts instead also counts the high-resolution timers of whoever is busy.

use rustix::time::{ClockId, clock_getres};

/// Timer interrupts per second of a busy CPU.
pub fn tick_hz() -> Option<f64> {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    hz(resolution.tv_sec as u64 * 1_000_000_000 + resolution.tv_nsec as u64)
}

/// HZ is a whole number; the resolution is cut to whole nanoseconds.
fn hz(resolution_ns: u64) -> Option<f64> {
    // A resolution of a nanosecond is no tick: an emulated or a future kernel that has none.
    (resolution_ns > 10_000).then(|| (1e9 / resolution_ns as f64).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions_of_kernels_give_their_hz() {
        assert_eq!(hz(4_000_000), Some(250.0));
        assert_eq!(hz(3_333_333), Some(300.0));
        assert_eq!(hz(976_562), Some(1024.0));
        assert_eq!(hz(1), None);
    }

    #[test]
    fn this_kernel_has_a_plausible_tick_or_none() {
        assert!(tick_hz().is_none_or(|hz| (1.0..=10_000.0).contains(&hz)));
    }
}
