//! Memory for rings: populated, so that the measuring thread takes no page fault, and locked where the
//! limit on locked memory (RLIMIT_MEMLOCK) permits, so that nothing takes it away again.

use crate::control_groups;
use core::ffi::c_void;
use libmimalloc_sys::{mi_collect, mi_option_get, mi_option_set};
use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// While it lives, the kernel makes no huge pages for this program. Allocators ask for them, and who touches memory that khugepaged is about to move waits
/// for milliseconds.
#[derive(Debug)]
pub struct NoHugePages {
    were_off: bool,
}

impl NoHugePages {
    /// Begins. A kernel without huge pages makes none.
    pub fn begin() -> NoHugePages {
        // SAFETY: prctl(2) takes numbers, and what it sets is of this process.
        let were_off = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) } > 0;
        if !were_off {
            disable_huge_pages(true);
            ARE_OFF.store(true, Ordering::Relaxed);
        }
        NoHugePages { were_off }
    }
}

impl Drop for NoHugePages {
    fn drop(&mut self) {
        if !self.were_off {
            ARE_OFF.store(false, Ordering::Relaxed);
            disable_huge_pages(false);
        }
    }
}

/// While it lives, the allocator gives nothing back to the kernel. Who takes a page away interrupts every CPU that the process runs on, to flush its
/// translations: a run would measure its own allocator. In the static build C's `malloc` is mimalloc, too; glibc's seldom gives anything back.
#[derive(Debug)]
pub struct SteadyPages {
    purge_delay: libc::c_long,
}

/// `mi_option_purge_delay` of mimalloc.h: milliseconds after which freed memory is given back; -1 is never. The crate has no name for it, so its version is fixed.
const PURGE_DELAY: libc::c_int = 15;

impl SteadyPages {
    /// Begins. What this thread, and threads that ended, have freed until now is given back first: it would count as this program's until the run ends.
    pub fn keep() -> SteadyPages {
        // SAFETY: any thread may have what is free given back, and read and write options, which are atomic numbers.
        let purge_delay = unsafe {
            mi_collect(true);
            let purge_delay = mi_option_get(PURGE_DELAY);
            mi_option_set(PURGE_DELAY, -1);
            purge_delay
        };
        SteadyPages { purge_delay }
    }
}

impl Drop for SteadyPages {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { mi_option_set(PURGE_DELAY, self.purge_delay) };
    }
}

/// A command that is started during a run, and whatever it starts, would keep them off: it shall find them as this program did.
pub fn allow_huge_pages(command: &mut Command) {
    if ARE_OFF.load(Ordering::Relaxed) {
        // SAFETY: the function makes one system call, and allocates nothing.
        unsafe {
            command.pre_exec(|| {
                disable_huge_pages(false);
                Ok(())
            })
        };
    }
}

/// Whether this program switched them off for itself.
static ARE_OFF: AtomicBool = AtomicBool::new(false);

fn disable_huge_pages(disable: bool) {
    // SAFETY: prctl(2) takes numbers, and what it sets is of this process.
    unsafe {
        libc::prctl(
            libc::PR_SET_THP_DISABLE,
            libc::c_ulong::from(disable),
            0,
            0,
            0,
        )
    };
}

/// Anonymous memory, zeroed and populated.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    bytes: usize,
    locked: bool,
}

// SAFETY: a region owns its memory, which is bound to no thread.
unsafe impl Send for Region {}
// SAFETY: a region hands out its address only; whoever writes there answers for the order.
unsafe impl Sync for Region {}

impl Region {
    /// Maps and populates `bytes`, and locks them if that is allowed.
    ///
    /// # Errors
    /// If there is no such amount of memory.
    pub fn new(bytes: usize) -> io::Result<Region> {
        // SAFETY: the kernel chooses the place, so no mapping in use is touched.
        let address = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )
        }?;
        let Some(start) = NonNull::new(address.cast::<u8>()) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        // SAFETY: the range is the mapping just made.
        let locked = unsafe { mlock(address, bytes) }.is_ok();
        let region = Region {
            start,
            bytes,
            locked,
        };
        region.touch();
        Ok(region)
    }

    /// Writes to every page: MAP_POPULATE is a hint that may fail in silence.
    fn touch(&self) {
        for offset in (0..self.bytes).step_by(4096) {
            // SAFETY: inside the mapping, which nobody else knows yet.
            unsafe { self.start.as_ptr().add(offset).write_volatile(0) };
        }
    }

    /// First byte; aligned to a page.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Whether the memory is locked.
    pub fn locked(&self) -> bool {
        self.locked
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this region's own and no one can use it any more. It is unlocked with it.
        let _ = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), self.bytes) };
    }
}

/// Memory that could be had without swapping, in bytes, as the kernel estimates it, and as the control groups of this process allow.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let machine = kilobytes(&text, "MemAvailable:").map(|kb| kb * 1024);
    let groups = control_groups::own("memory").into_iter();
    groups.filter_map(|group| room(&group)).chain(machine).min()
}

/// What could be swapped out, in bytes.
pub fn swap() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    kilobytes(&text, "SwapFree:").map_or(0, |kb| kb * 1024)
}

/// Memory that is left in a control group, in bytes; `None` where it has no limit. Pages of files, and what the kernel keeps of them, count as left.
fn room(group: &Path) -> Option<u64> {
    let text = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let stat = text("memory.stat").unwrap_or_default();
    let of = |key: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|rest| rest.trim().parse::<u64>().ok())
    };
    // Version 1 has a line of this name for the group without those below it.
    let files = ["inactive_file ", "active_file "]
        .map(|key| of(&format!("total_{key}")).or_else(|| of(key)).unwrap_or(0));
    let reclaimable = files[0]
        .saturating_add(files[1])
        .saturating_add(of("slab_reclaimable ").unwrap_or(0));
    Some(limit.saturating_sub(used.saturating_sub(reclaimable)))
}

/// The value of a line of /proc/meminfo.
pub fn kilobytes(meminfo: &str, key: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with(key))?;
    line[key.len()..].split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_zeroed_and_writable_to_its_end() {
        let region = Region::new(10_000).unwrap();
        let last = region.start().as_ptr().wrapping_add(9_999);
        // SAFETY: the last byte of the region.
        unsafe {
            assert_eq!(last.read(), 0);
            last.write(7);
            assert_eq!(last.read(), 7);
        }
    }

    #[test]
    fn nothing_is_given_back_during_a_run() {
        // SAFETY: any thread may read an option.
        let delay = || unsafe { mi_option_get(PURGE_DELAY) };
        let usual = delay();
        let steady = SteadyPages::keep();
        assert_eq!(delay(), -1);
        drop(steady);
        assert_eq!(delay(), usual);
    }

    #[test]
    fn the_limit_of_a_control_group_counts() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(group.path().join(name), text).unwrap();
        assert_eq!(room(group.path()), None);
        write("memory.current", "20000000\n");
        write("memory.max", "max\n");
        assert_eq!(room(group.path()), None);
        write("memory.max", "30000000\n");
        assert_eq!(room(group.path()), Some(10_000_000));
        write(
            "memory.stat",
            "anon 7\ninactive_file 3000000\nactive_file 1500000\nslab_reclaimable 500000\n",
        );
        assert_eq!(room(group.path()), Some(15_000_000));
        write("memory.max", "1000\n");
        assert_eq!(room(group.path()), Some(0));

        let old = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(old.path().join(name), text).unwrap();
        write("memory.limit_in_bytes", "30000000\n");
        write("memory.usage_in_bytes", "20000000\n");
        write(
            "memory.stat",
            "inactive_file 1\ntotal_inactive_file 4000000\n",
        );
        assert_eq!(room(old.path()), Some(14_000_000));
    }

    #[test]
    fn more_memory_than_there_is_is_an_error() {
        assert!(Region::new(1 << 60).is_err());
    }

    #[test]
    fn meminfo_reads() {
        let text = "MemTotal:  24 kB\nMemAvailable:    77 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(77));
        assert_eq!(kilobytes(text, "Swap:"), None);
    }
}
