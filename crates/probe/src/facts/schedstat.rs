//! The scheduler's statistics of the calling thread: /proc/thread-self/schedstat and status, which anybody may read.
//!
//! Linux, Documentation/scheduler/sched-stats.rst, and proc_pid_status(5). The kernel brings the time that a thread ran up to date at each tick.

use bandscope_recording::manifest::Schedstat;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The statistics of one thread, open.
#[derive(Debug)]
pub struct Statistics {
    cpu: u32,
    file: File,
    status: Option<File>,
}

impl Statistics {
    /// Those of the calling thread, which is pinned to `cpu`; `None` where the kernel keeps none.
    pub fn open(cpu: u32) -> Option<Statistics> {
        let file = File::open("/proc/thread-self/schedstat").ok()?;
        let status = File::open("/proc/thread-self/status").ok();
        let statistics = Statistics { cpu, file, status };
        // A kernel without them shows zeros; a thread that asks has run at least once.
        statistics.read().filter(|now| now.slices > 0)?;
        Some(statistics)
    }

    /// As they stand; `None` where they cannot be read any more.
    pub fn read(&self) -> Option<Schedstat> {
        let text = whole(&self.file)?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Schedstat {
            cpu: self.cpu,
            run_ns: next()?,
            wait_ns: next()?,
            slices: next()?,
            voluntary_switches: self.voluntary_switches(),
        })
    }

    fn voluntary_switches(&self) -> Option<u64> {
        let status = whole(self.status.as_ref()?)?;
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse().ok()
    }

    /// How much they have grown since `before`.
    pub fn grown(&self, before: &Schedstat) -> Option<Schedstat> {
        let now = self.read()?;
        Some(Schedstat {
            cpu: self.cpu,
            run_ns: now.run_ns.saturating_sub(before.run_ns),
            wait_ns: now.wait_ns.saturating_sub(before.wait_ns),
            slices: now.slices.saturating_sub(before.slices),
            voluntary_switches: (now.voluntary_switches.zip(before.voluntary_switches))
                .map(|(now, before)| now.saturating_sub(before)),
        })
    }
}

/// A file of the kernel's, from its begin: one read makes all of it, of one instant.
fn whole(file: &File) -> Option<String> {
    const LONGEST: usize = 8192;
    let mut bytes = vec![0; LONGEST];
    let length = file.read_at(&mut bytes, 0).ok()?;
    bytes.truncate(length);
    // A task's name, which the status begins with, may be any bytes.
    Some(String::from_utf8_lossy(&bytes).into_owned())
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
        assert!(grown.voluntary_switches >= Some(3), "{grown:?}");
    }
}
