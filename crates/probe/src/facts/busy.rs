//! How busy CPUs are that are not measured: /proc/stat, and /proc/schedstat where the kernel has it (proc_stat(5); Linux, Documentation/scheduler/sched-stats.rst).

use bandscope_recording::cures::Inherited;
use std::time::Instant;

/// Times of some CPUs together, as they stand.
#[derive(Debug)]
pub struct Busy {
    read: Instant,
    cpus: usize,
    /// Time that they ran something, in seconds, in steps of a clock tick of sysconf.
    ran_s: f64,
    /// Time that tasks waited for them, in seconds; 0 where the kernel does not count it.
    waited_s: f64,
}

impl Busy {
    /// Reads those of `cpus`; `None` if there is none, or the kernel does not tell.
    pub fn read(cpus: &[u32]) -> Option<Busy> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let waited = std::fs::read_to_string("/proc/schedstat").unwrap_or_default();
        Busy::of(&stat, &waited, cpus)
    }

    fn of(stat: &str, schedstat: &str, cpus: &[u32]) -> Option<Busy> {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let mut ran = 0;
        for &cpu in cpus {
            let times = row(stat, cpu)?;
            // User, nice, system; then idle and waiting for input; then interrupts and softirqs. What a hypervisor took is no work.
            ran += [0, 1, 2, 5, 6]
                .iter()
                .filter_map(|&at| times.get(at))
                .sum::<u64>();
        }
        let waited = cpus
            .iter()
            .filter_map(|&cpu| row(schedstat, cpu)?.get(7).copied());
        Some(Busy {
            read: Instant::now(),
            cpus: (!cpus.is_empty()).then_some(cpus.len())?,
            ran_s: ran as f64 / ticks,
            waited_s: waited.sum::<u64>() as f64 / 1e9,
        })
    }

    /// Shares of the time between two looks.
    pub fn until(&self, later: &Busy) -> Inherited {
        let seconds = later.read.duration_since(self.read).as_secs_f64() * self.cpus as f64;
        let share = |before: f64, after: f64| (after - before).max(0.0) / seconds.max(1e-9);
        Inherited {
            busy: share(self.ran_s, later.ran_s),
            waiting: share(self.waited_s, later.waited_s),
        }
    }
}

/// The numbers of a CPU's row.
fn row(table: &str, cpu: u32) -> Option<Vec<u64>> {
    let name = format!("cpu{cpu}");
    let mut rows = table.lines().map(str::split_whitespace);
    let mut cells = rows.find(|row| row.clone().next() == Some(&name))?;
    cells.next();
    Some(cells.map_while(|cell| cell.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_is_told_from_what_was_idle_or_taken() {
        let stat =
            |user: u64| format!("cpu  9 9\ncpu0 {user} 1 1 500 7 1 1 99 0 0\ncpu1 0 0 0 1\n");
        let schedstat = |waited: u64| format!("version 17\ncpu0 0 0 1 2 3 4 5 {waited} 6\n");
        let ticks = rustix::param::clock_ticks_per_second();
        let mut first = Busy::of(&stat(0), &schedstat(0), &[0]).unwrap();
        let mut second = Busy::of(&stat(ticks), &schedstat(500_000_000), &[0]).unwrap();
        second.read = first.read + std::time::Duration::from_secs(2);
        let grown = first.until(&second);
        assert!(
            (grown.busy - 0.5).abs() < 1e-9 && (grown.waiting - 0.25).abs() < 1e-9,
            "{grown:?}"
        );
        first.cpus = 2;
        assert!((first.until(&second).busy - 0.25).abs() < 1e-9);
        assert!(Busy::of(&stat(0), "", &[7]).is_none() && Busy::of(&stat(0), "", &[]).is_none());
    }
}
