//! What the kernel booked to the calling thread: CPU time, preemptions, page faults.

use bandscope_probe::clock;
use rustix::time::{ClockId, clock_gettime};

/// Readings whose median is the cost of one.
const TRIES: usize = 9;

/// Totals since the thread began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in nanoseconds (CLOCK_THREAD_CPUTIME_ID).
    pub cpu_ns: u64,
    /// Involuntary context switches.
    pub preempted: u64,
    /// Page faults.
    pub faults: u64,
}

impl Usage {
    /// Reads them; what getrusage(2) refuses stays 0.
    pub fn read() -> Usage {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let cpu_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the kernel fills the structure, and it is used only if it said so.
        let usage = unsafe {
            (libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) == 0)
                .then(|| usage.assume_init())
        };
        Usage {
            cpu_ns,
            preempted: usage.map_or(0, |usage| usage.ru_nivcsw as u64),
            faults: usage.map_or(0, |usage| (usage.ru_minflt + usage.ru_majflt) as u64),
        }
    }

    /// Ticks that a reading takes (median).
    pub fn cost_ticks() -> u64 {
        let mut costs = [0; TRIES];
        for cost in &mut costs {
            let before = clock::ticks();
            Usage::read();
            *cost = clock::ticks().saturating_sub(before);
        }
        costs.sort_unstable();
        costs[TRIES / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_booked_to_the_thread_that_does_it() {
        let before = Usage::read();
        let mut pages = vec![0u8; 1 << 20];
        for page in pages.iter_mut().step_by(4096) {
            // Volatile, so that the pages are really touched.
            *std::hint::black_box(page) = 1;
        }
        while Usage::read().cpu_ns < before.cpu_ns + 1_000_000 {}
        let after = Usage::read();
        assert!(after.cpu_ns > before.cpu_ns);
        assert!(after.faults >= before.faults && after.preempted >= before.preempted);
        assert!(Usage::cost_ticks() > 0);
    }
}
