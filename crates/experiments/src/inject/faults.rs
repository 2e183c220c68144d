//! Page faults: fresh pages touched one after the other, and given back at the next disturbance's start.

use super::action::{Action, Waiting};
use bandscope_probe::clock;
use core::ffi::c_void;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::ptr::NonNull;

/// No page fault is faster than this, so no more pages are needed: entering and leaving the kernel alone takes about as long.
const FASTEST_FAULT_NS: f64 = 100.0;
/// Memory taken at most; a disturbance that touches more gives its pages back in between.
const MOST_BYTES: usize = 64 << 20;

/// Memory whose pages come and go.
pub struct Faults {
    start: NonNull<u8>,
    bytes: usize,
    page: usize,
    /// Bytes touched since they were last given back.
    touched: usize,
}

impl Faults {
    /// Maps memory for a disturbance of `length_ns`.
    ///
    /// # Errors
    /// If there is none.
    pub fn new(length_ns: f64) -> io::Result<Faults> {
        let page = rustix::param::page_size();
        let pages = (length_ns / FASTEST_FAULT_NS) as usize + 1;
        let bytes = pages.saturating_mul(page).min(MOST_BYTES);
        // SAFETY: the kernel chooses the place, so no mapping in use is touched.
        let address = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let start = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let faults = Faults {
            start,
            bytes,
            page,
            touched: 0,
        };
        // A fault is to bring one small page. Where there are no huge ones the kernel refuses, and that is fine.
        let _ = faults.advise(Advice::LinuxNoHugepage);
        Ok(faults)
    }

    fn advise(&self, advice: Advice) -> io::Result<()> {
        let address = self.start.as_ptr().cast::<c_void>();
        // SAFETY: the range is this mapping, whose contents nobody reads.
        Ok(unsafe { madvise(address, self.bytes, advice) }?)
    }

    fn give_back(&mut self) -> io::Result<()> {
        self.touched = 0;
        self.advise(Advice::LinuxDontNeed)
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new`, and nothing points into it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

impl Action for Faults {
    fn disturb(
        &mut self,
        _start: u64,
        until: u64,
        waiting: &Waiting,
        _away: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Option<u64>> {
        // Inside the disturbance, so that its time is in the log.
        self.give_back()?;
        while clock::ticks() < until && !waiting.ends() {
            if self.touched == self.bytes {
                self.give_back()?;
            }
            // SAFETY: `touched` is a whole number of pages below the size of the mapping.
            unsafe { self.start.as_ptr().add(self.touched).write_volatile(1) };
            self.touched += self.page;
        }
        Ok(None)
    }
}
