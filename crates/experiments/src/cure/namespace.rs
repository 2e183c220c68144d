//! Of which PID namespace a journal is: threads have other numbers in each.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The one that a machine boots with, from which all processes are seen (Linux, include/uapi/linux/nsfs.h, PID_NS_INIT_INO).
const FIRST: u64 = 0xefff_fffc;

/// That of this process, as the number of its file; 0 where it cannot be known.
pub(super) fn own() -> u64 {
    of(Path::new("/proc/self")).unwrap_or(0)
}

/// Whether no process is in it any more, and so no thread either. Where not every process is seen nobody can tell: then it is not.
pub(super) fn is_gone(namespace: u64) -> bool {
    let is_process = |path: &Path| path.file_name().is_some_and(is_number);
    let Some(entries) = fs::read_dir("/proc").ok().filter(|_| own() == FIRST) else {
        return false;
    };
    let mut processes = entries.flatten().map(|entry| entry.path());
    processes.all(|path| match of(&path) {
        _ if !is_process(&path) => true,
        Ok(found) => found != namespace,
        // It has ended.
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(_) => has_one_number(&path),
    })
}

/// Whether it is in the namespace of this process rather than in one below, where it had a number, too (proc_pid_status(5), NSpid).
fn has_one_number(process: &Path) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let mut numbers = status
        .lines()
        .filter_map(|line| line.strip_prefix("NSpid:"));
    numbers.any(|numbers| numbers.split_whitespace().count() == 1)
}

fn of(process: &Path) -> io::Result<u64> {
    Ok(fs::metadata(process.join("ns/pid"))?.ino())
}

fn is_number(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
}
