//! Reading the small text files of /proc and /sys.

use bandscope_recording::cpu_list;
use std::path::Path;

/// Longest text that is taken from one file: the kernel's own lists stay below it.
const LONGEST: usize = 4096;

/// The trimmed contents of a file of one line; `None` if it is absent, unreadable, empty or `(null)`.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)])
        .trim()
        .to_owned();
    (!text.is_empty() && text != "(null)").then_some(text)
}

/// A file under /sys/devices/system/cpu.
pub fn cpu_file(rest: &str) -> Option<String> {
    text(format!("/sys/devices/system/cpu/{rest}"))
}

/// The CPUs that such a file lists.
pub fn cpu_list(rest: &str) -> Option<Vec<u32>> {
    cpu_file(rest).map(|list| cpu_list::parse(&list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_none() {
        assert_eq!(text("/proc/no/such/file"), None);
        assert_eq!(cpu_list("no-such-file"), None);
    }
}
