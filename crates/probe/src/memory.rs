//! Memory for rings: populated, so that the measuring thread takes no page fault, and locked where the
//! limit on locked memory (RLIMIT_MEMLOCK) permits, so that nothing takes it away again.

use core::ffi::c_void;
use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};
use std::io;
use std::ptr::NonNull;

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

/// Memory that could be had without swapping, in bytes, as the kernel estimates it.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    kilobytes(&text, "MemAvailable:").map(|kb| kb * 1024)
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
