//! What /proc tells of a process or thread, by its number.

use std::fs;

/// A field of proc_pid_status(5), as in `Tgid`.
#[cfg(target_arch = "x86_64")]
pub fn status_field(process: i32, name: &str) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let mut lines = status.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().parse().ok()
}

/// Whether it runs or waits for a CPU.
#[cfg(target_arch = "x86_64")]
pub fn is_running(process: i32) -> bool {
    stat(process).is_some_and(|stat| stat.trim_start().starts_with('R'))
}

/// Whether it is gone, or has ended and nobody has asked how yet: nothing can be read of it.
#[cfg(target_arch = "x86_64")]
pub fn has_ended(process: i32) -> bool {
    stat(process).is_none_or(|stat| stat.trim_start().starts_with(['Z', 'X']))
}

/// The CPU that it ran on last (`processor`, the 39th field of proc_pid_stat(5)).
pub fn last_cpu(process: i32) -> Option<u32> {
    stat(process)?.split_whitespace().nth(39 - 3)?.parse().ok()
}

/// The fields of proc_pid_stat(5) from the third on: the name before them may hold anything, and ends with the last bracket.
fn stat(process: i32) -> Option<String> {
    let text = fs::read(format!("/proc/{process}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    Some(text.rsplit_once(')')?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there() {
        let own = std::process::id() as i32;
        assert!(last_cpu(own).is_some());
        #[cfg(target_arch = "x86_64")]
        {
            assert_eq!(status_field(own, "Tgid"), Some(own));
            assert_eq!(status_field(own, "Tgi"), None);
            assert!(!is_running(i32::MAX));
            assert!(has_ended(i32::MAX) && !has_ended(own));
        }
    }
}
