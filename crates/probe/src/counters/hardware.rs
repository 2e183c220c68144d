//! A hardware counter: read by `rdpmc` where the kernel allows it, else by read(2).
//!
//! The kernel keeps a page beside each event that says which counter holds it and what to add. It may
//! move the event at any context switch, so the page has a sequence lock, and `index` 0 says that the
//! event is on no counter. Source: perf_event_open(2), struct perf_event_mmap_page.

use super::events::Event;
use super::open::{Scope, open, read_words};
use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::ptr::NonNull;

/// A hardware counter of the calling thread.
#[derive(Debug)]
pub struct Hardware {
    file: File,
    page: Option<Page>,
}

impl Hardware {
    /// Opens it, and maps its page where user mode may read counters.
    ///
    /// # Errors
    /// What perf_event_open(2) says.
    pub fn open(event: &Event, scope: Scope) -> io::Result<Hardware> {
        let file = open(event, scope)?;
        let page = Page::map(&file).filter(Page::readable);
        Ok(Hardware { file, page })
    }

    /// `rdpmc` or `read`.
    pub fn method(&self) -> &'static str {
        if self.page.is_some() { "rdpmc" } else { "read" }
    }

    /// Events since it was opened, of this thread alone.
    ///
    /// # Errors
    /// If the event is on no counter and cannot be read either.
    #[inline]
    pub fn read(&self) -> io::Result<u64> {
        if let Some(value) = self.page.as_ref().and_then(Page::read) {
            return Ok(value);
        }
        let mut words = [0];
        read_words(&self.file, &mut words)?;
        Ok(words[0])
    }
}

#[derive(Debug)]
struct Page(NonNull<perf_event_mmap_page>);

/// One page is enough: no samples are taken, so there is no buffer behind it.
const PAGE_BYTES: usize = 4096;

impl Page {
    fn map(file: &File) -> Option<Page> {
        // SAFETY: the kernel chooses the place, and the mapping is read only.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                PAGE_BYTES.max(rustix::param::page_size()),
                ProtFlags::READ,
                MapFlags::SHARED,
                file,
                0,
            )
        }
        .ok()?;
        NonNull::new(address.cast()).map(Page)
    }

    /// Whether user mode may read the counter, and knows how.
    fn readable(&self) -> bool {
        // SAFETY: the page is mapped; the kernel sets the capabilities at its creation.
        let allowed = unsafe {
            (*self.0.as_ptr())
                .__bindgen_anon_1
                .__bindgen_anon_1
                .cap_user_rdpmc()
        };
        cfg!(target_arch = "x86_64") && allowed == 1 && self.read().is_some()
    }

    /// The value; `None` if the event is on no counter.
    #[inline]
    fn read(&self) -> Option<u64> {
        let page = self.0.as_ptr();
        loop {
            // SAFETY: the page is mapped for as long as `self` lives. The kernel writes it, on this
            // thread's CPU and so never in the middle of these loads, which the lock brackets.
            let (before, index, offset, width) = unsafe {
                (
                    (&raw const (*page).lock).read_volatile(),
                    (&raw const (*page).index).read_volatile(),
                    (&raw const (*page).offset).read_volatile(),
                    u32::from((&raw const (*page).pmc_width).read_volatile()),
                )
            };
            if index == 0 || !(1..=64).contains(&width) {
                return None;
            }
            let raw = read_counter(index - 1);
            // SAFETY: as above.
            let after = unsafe { (&raw const (*page).lock).read_volatile() };
            if before == after {
                // Counters are as wide as they are, and signed.
                let shift = 64 - width;
                return Some(offset.wrapping_add(((raw << shift) as i64) >> shift) as u64);
            }
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let bytes = PAGE_BYTES.max(rustix::param::page_size());
        // SAFETY: the mapping is this page's own.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), bytes) };
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_counter(counter: u32) -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: the kernel's page says that user mode may read this counter. Touches no memory.
    unsafe {
        core::arch::asm!(
            "rdpmc",
            in("ecx") counter,
            out("rax") low,
            out("rdx") high,
            options(nostack, preserves_flags)
        );
    }
    low | (high << 32)
}

/// Elsewhere counters are read by read(2): on aarch64 user access is off unless an administrator
/// allows it (kernel.perf_user_access).
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn read_counter(_counter: u32) -> u64 {
    0
}
