//! The clock of the measuring loop: the CPU's own counter, read without a call.
//!
//! Two readings are offered. [`Plain`] may be executed before older work has finished, and costs least.
//! [`Ordered`] waits for all older work. Quantum boundaries are always read in order
//! (docs/method.md, section 9.5). The user chooses which one is used inside a quantum, and the recording states it.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as native;
#[cfg(target_arch = "x86_64")]
use x86_64 as native;

use bandscope_sampler::Clock;
pub use native::{NAME, invariant};
use std::collections::BTreeMap;

/// Reads inside a quantum are plain; those at its boundaries are ordered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

/// Every read is ordered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ordered;

impl Clock for Plain {
    const ORDERED: bool = false;

    #[inline(always)]
    fn now(&mut self) -> u64 {
        native::plain()
    }

    #[inline(always)]
    fn now_ordered(&mut self) -> u64 {
        native::ordered()
    }
}

impl Clock for Ordered {
    const ORDERED: bool = true;

    #[inline(always)]
    fn now(&mut self) -> u64 {
        native::ordered()
    }

    #[inline(always)]
    fn now_ordered(&mut self) -> u64 {
        native::ordered()
    }
}

/// The counter, after all older work has completed.
pub fn ticks() -> u64 {
    native::ordered()
}

/// Reads timed for a median: the distance of two reads is the cost of one.
const COST_READS: usize = 2001;

/// Median cost of one read in ticks: `plain` and `ordered`.
pub fn read_costs() -> BTreeMap<String, f64> {
    BTreeMap::from([
        ("plain".to_owned(), cost(native::plain)),
        ("ordered".to_owned(), cost(native::ordered)),
    ])
}

/// Median distance of two reads that follow each other.
#[inline(always)]
fn cost(read: impl Fn() -> u64) -> f64 {
    let mut distances = [0u64; COST_READS];
    let mut last = read();
    for distance in &mut distances {
        let now = read();
        *distance = now.wrapping_sub(last);
        last = now;
    }
    distances.sort_unstable();
    distances[COST_READS / 2] as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_advances_while_work_is_done() {
        let start = ticks();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(ticks() > start);
        assert!(Plain.now_ordered() > start && Ordered.now() > start);
    }

    #[test]
    fn both_reads_are_priced() {
        let costs = read_costs();
        assert_eq!(costs.keys().collect::<Vec<_>>(), ["ordered", "plain"]);
        assert!(costs.values().all(|ticks| ticks.is_finite()));
    }
}
