//! The scheduler's statistics of the calling thread: /proc/thread-self/schedstat, which anybody may read.
//!
//! Linux, Documentation/scheduler/sched-stats.rst. The kernel brings the time that a thread ran up to date at each tick.

use bandscope_recording::manifest::Schedstat;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The statistics of one thread, open.
#[derive(Debug)]
pub struct Statistics {
    cpu: u32,
    file: File,
}

impl Statistics {
    /// Those of the calling thread, which is pinned to `cpu`; `None` where the kernel keeps none.
    pub fn open(cpu: u32) -> Option<Statistics> {
        let file = File::open("/proc/thread-self/schedstat").ok()?;
        let statistics = Statistics { cpu, file };
        // A kernel without them shows zeros; a thread that asks has run at least once.
        statistics.read().filter(|now| now.slices > 0)?;
        Some(statistics)
    }

    /// As they stand; `None` where they cannot be read any more.
    pub fn read(&self) -> Option<Schedstat> {
        let mut bytes = [0; 128];
        let length = self.file.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..length]).ok()?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Schedstat {
            cpu: self.cpu,
            run_ns: next()?,
            wait_ns: next()?,
            slices: next()?,
        })
    }

    /// How much they have grown since `before`.
    pub fn grown(&self, before: &Schedstat) -> Option<Schedstat> {
        let now = self.read()?;
        Some(Schedstat {
            cpu: self.cpu,
            run_ns: now.run_ns.saturating_sub(before.run_ns),
            wait_ns: now.wait_ns.saturating_sub(before.wait_ns),
            slices: now.slices.saturating_sub(before.slices),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_gets_the_cpu_again() {
        let Some(statistics) = Statistics::open(5) else {
            println!("SKIPPED: scheduler statistics: this kernel keeps none");
            return;
        };
        let before = statistics.read().unwrap();
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let grown = statistics.grown(&before).unwrap();
        assert_eq!(grown.cpu, 5);
        assert!(grown.slices >= 3, "{grown:?}");
    }
}
