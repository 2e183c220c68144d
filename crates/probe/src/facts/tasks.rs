//! Load, memory, kernel version, and who else is busy.

use super::files::text;
use super::stat::Stat;
use crate::memory::kilobytes;
use bandscope_recording::manifest::{Machine, OtherTask};
use std::collections::BTreeMap;
use std::time::Instant;

/// The busiest tasks are listed, at most so many.
const MOST_TASKS: usize = 8;
/// Share of a CPU below which a task is not worth a word.
const LEAST_SHARE: f64 = 0.01;

/// Fills in load, memory and kernel.
pub fn gather(machine: &mut Machine) {
    machine.load = text("/proc/loadavg").and_then(|line| load(&line));
    machine.memory_bytes = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| kilobytes(&text, "MemTotal:"))
        .map(|kb| kb * 1024);
    let name = rustix::system::uname();
    machine.kernel = Some(format!(
        "{} {}",
        name.release().to_string_lossy(),
        name.version().to_string_lossy()
    ));
}

fn load(line: &str) -> Option<[f64; 3]> {
    let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// CPU time of every process at one moment.
#[derive(Debug)]
pub struct Scan {
    at: Instant,
    /// By process id: name, user and system time in clock ticks of sysconf.
    times: BTreeMap<u32, (String, u64)>,
}

impl Scan {
    /// Reads /proc/*/stat; empty where it is hidden.
    pub fn take() -> Scan {
        let times = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
                let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
                let stat = Stat::parse(&bytes)?;
                let name = String::from_utf8_lossy(&stat.name).into_owned();
                Some((pid, (name, stat.cpu_time)))
            })
            .collect();
        Scan {
            at: Instant::now(),
            times,
        }
    }

    /// The busiest processes between `self` and `later`, this one apart.
    pub fn busy_until(&self, later: &Scan) -> Vec<OtherTask> {
        let seconds = (later.at - self.at).as_secs_f64();
        let ticks = rustix::param::clock_ticks_per_second() as f64 * seconds;
        let mut tasks: Vec<OtherTask> = later
            .times
            .iter()
            .filter(|(pid, _)| **pid != std::process::id())
            .filter_map(|(&pid, (name, time))| {
                let before = self.times.get(&pid).map_or(0, |(_, time)| *time);
                let share = time.saturating_sub(before) as f64 / ticks;
                (share >= LEAST_SHARE).then(|| OtherTask {
                    name: name.clone(),
                    pid,
                    share,
                })
            })
            .collect();
        tasks.sort_by(|a, b| b.share.total_cmp(&a.share));
        tasks.truncate(MOST_TASKS);
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn busy_tasks_are_sorted_and_idle_ones_left_out() {
        let ticks = rustix::param::clock_ticks_per_second();
        let scan = |at, times: &[(u32, u64)]| Scan {
            at,
            times: times
                .iter()
                .map(|&(pid, time)| (pid, (format!("t{pid}"), time)))
                .collect(),
        };
        let start = Instant::now();
        let first = scan(start, &[(u32::MAX, 0), (7, 5), (8, 100)]);
        let second = scan(
            start + Duration::from_secs(1),
            &[(u32::MAX, ticks / 2), (7, 5), (8, 100 + ticks)],
        );
        let busy = first.busy_until(&second);
        assert_eq!(
            busy.iter().map(|task| task.pid).collect::<Vec<_>>(),
            [8, u32::MAX]
        );
        assert!((busy[1].share - 0.5).abs() < 0.02);
    }

    #[test]
    fn load_reads() {
        assert_eq!(load("0.50 1.25 2.00 1/80 999"), Some([0.5, 1.25, 2.0]));
        assert_eq!(load("0.50"), None);
    }
}
