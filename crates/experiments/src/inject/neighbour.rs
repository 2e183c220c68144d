//! Neighbours that idle: shallow, by naps that are too short for more; deep, by long sleeps.
//!
//! How deep a CPU idles is the kernel's decision, made from how long it expects the idleness to last; what it chose stands in
//! the log's end where the kernel tells (/sys/devices/system/cpu/cpuN/cpuidle).

use super::action::{Action, Waiting};
use super::spin::{Turn, spin};
use std::io;

/// A nap: long against going to sleep and waking up (some microseconds), and short against what a deep state must last to be
/// worth it (100 us and more: target residencies of C6 in the kernel's drivers/idle/intel_idle.c).
const NAP_NS: f64 = 50e3;

/// Short naps.
pub struct Shallow;

/// One long sleep; between disturbances it computes.
pub struct Deep;

impl Action for Shallow {
    fn disturb(
        &mut self,
        start: u64,
        until: u64,
        waiting: &Waiting,
        _away: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Option<u64>> {
        let nap = (NAP_NS * waiting.ticks_per_ns) as u64;
        let (mut naps, mut now) = (0, start);
        while now < until {
            let Some(woken) = waiting.sleep(now.saturating_add(nap).min(until)) else {
                break;
            };
            now = woken;
            naps += 1;
        }
        Ok(Some(naps))
    }
}

impl Action for Deep {
    fn wait(&mut self, planned: u64, waiting: &Waiting) -> io::Result<Option<u64>> {
        let now = bandscope_probe::clock::ticks();
        let last = spin(Turn::Busy, now, planned, waiting, &mut |_, _| ());
        Ok((!waiting.ends()).then_some(last))
    }

    fn disturb(
        &mut self,
        _start: u64,
        until: u64,
        waiting: &Waiting,
        _away: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Option<u64>> {
        let slept = waiting.sleep(until).is_some();
        Ok(Some(slept.into()))
    }
}
