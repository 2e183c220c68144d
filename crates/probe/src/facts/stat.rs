//! What `/proc/PID/stat` and `/proc/PID/task/TID/stat` say of a process or a thread (proc_pid_stat(5)).

use bandscope_recording::events::escaped;

/// Flag of a thread of the kernel (`PF_KTHREAD` of Linux).
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Flag of a thread that the kernel refuses to move (`PF_NO_SETAFFINITY` of Linux).
const FIXED_THREAD: u64 = 0x0400_0000;

/// A task's name as the ledger writes it: /proc adds to a kernel worker's name what it does just then.
pub fn task_name(name: &[u8]) -> String {
    let mut name = escaped(name);
    if name.starts_with("kworker/") {
        name.truncate(name.find(['-', '+']).unwrap_or(name.len()));
    }
    name
}

/// Some of the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its name, which may hold anything.
    pub name: Vec<u8>,
    /// The process that made it, or that took it over.
    pub parent: u32,
    /// User and system time, in clock ticks of sysconf.
    pub cpu_time: u64,
    /// When it began, in clock ticks since the machine booted: with its number, what tells it from every other.
    pub started: u64,
    flags: u64,
}

impl Stat {
    /// Of a file's contents; `None` if they are not such.
    pub fn parse(stat: &[u8]) -> Option<Stat> {
        let open = stat.iter().position(|&byte| byte == b'(')?;
        let close = stat.iter().rposition(|&byte| byte == b')')?;
        let name = stat.get(open + 1..close)?.to_vec();
        let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
        // The fields are counted from 1, and the name is field 2.
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Stat {
            name,
            parent: field(4)? as u32,
            flags: field(9)?,
            cpu_time: field(14)? + field(15)?,
            started: field(22)?,
        })
    }

    /// Whether it is a thread of the kernel.
    pub fn is_kernel(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }

    /// Whether the kernel refuses to move it.
    pub fn is_fixed(&self) -> bool {
        self.flags & FIXED_THREAD != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = b"42 (a) b (c)) R 1 2 3 4 5 69238880 7 8 9 10 100 23 0 0 20 0 1 0 777 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(stat.name, b"a) b (c)");
        assert_eq!((stat.parent, stat.cpu_time, stat.started), (1, 123, 777));
        assert!(stat.is_kernel() && stat.is_fixed());
        assert_eq!(Stat::parse(b"42 (x"), None);
        assert_eq!(Stat::parse(b"42 (x) R 1"), None);
    }

    #[test]
    fn a_worker_has_its_name_alone() {
        for (name, written) in [
            ("kworker/u8:1-events_unbound", "kworker/u8:1"),
            ("kworker/0:2+mm_percpu_wq", "kworker/0:2"),
            ("kworker/1:0H", "kworker/1:0H"),
            ("only-this", "only-this"),
            ("a\\", r"a\\"),
        ] {
            assert_eq!(task_name(name.as_bytes()), written);
        }
    }

    #[test]
    fn this_process_is_no_thread_of_the_kernel() {
        let stat = Stat::parse(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        assert!(!stat.is_kernel() && !stat.is_fixed() && stat.started > 0);
    }
}
