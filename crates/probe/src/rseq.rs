//! Preemption and the current CPU, seen without a system call: restartable sequences.
//!
//! A thread shares a small area with the kernel, which keeps its CPU number there. The area can also
//! point to a critical section; if the thread is preempted, migrated or takes a signal outside of that
//! section, the kernel clears the pointer. So a section that is never executed is a flag that the
//! kernel clears: set it, and look later. An interrupt that leads to no preemption does not clear it.
//!
//! glibc 2.35 and later registers an area for each thread and says where; elsewhere (musl) one of our
//! own is registered. Sources: rseq(2); linux/include/uapi/linux/rseq.h; linux/kernel/rseq.c; glibc
//! manual, "Restartable Sequences".

use crate::owned::Owned;
use core::ffi::{CStr, c_void};
use std::io;
use std::ptr::NonNull;
use std::time::Duration;

/// struct rseq of the first version, 32 bytes.
#[derive(Debug)]
#[repr(C, align(32))]
struct Area {
    cpu_id_start: u32,
    cpu_id: u32,
    critical_section: u64,
    flags: u32,
    padding: [u32; 3],
}

/// struct rseq_cs of linux/rseq.h: where a critical section is, and where it is aborted to.
#[repr(C, align(32))]
struct CriticalSection {
    version: u32,
    flags: u32,
    start: u64,
    length: u64,
    abort: u64,
}

/// What the kernel demands in the four bytes before the abort address: RSEQ_SIG, as glibc registers it.
#[cfg(target_arch = "x86_64")]
const SIGNATURE: u32 = 0x5305_3053;
#[cfg(target_arch = "aarch64")]
const SIGNATURE: u32 = 0xd428_bc00;

/// Never executed: a signature, an abort address behind it and a section behind that.
static NOWHERE: [u32; 4] = [SIGNATURE, 0, 0, 0];
const UNREGISTERED: u32 = u32::MAX;
const FLAG_UNREGISTER: i32 = 1;

/// Why preemption cannot be seen.
#[derive(Debug, thiserror::Error)]
pub enum RseqError {
    /// No area can be registered.
    #[error("the kernel, or seccomp, refuses rseq: {0}")]
    Refused(io::Error),
    /// A sleep goes unnoticed.
    #[error("the kernel does not clear rseq_cs on a context switch")]
    NotCleared,
    /// A moment of work looks like a preemption.
    #[error("rseq_cs is cleared without a context switch")]
    AlwaysCleared,
}

/// The calling thread's area. Bound to its thread.
#[derive(Debug)]
pub struct Rseq {
    area: NonNull<Area>,
    /// The section that is never executed.
    section: Owned<CriticalSection>,
    /// The area, where we registered it.
    own: Option<Owned<Area>>,
}

impl std::fmt::Debug for CriticalSection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CriticalSection({:#x}+{})", self.start, self.length)
    }
}

impl Rseq {
    /// Finds or registers the calling thread's area.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of_this_thread() -> Result<Rseq, RseqError> {
        let nowhere = NOWHERE.as_ptr() as u64;
        let section = Owned::new(CriticalSection {
            version: 0,
            flags: 0,
            start: nowhere + 8,
            length: 4,
            abort: nowhere + 4,
        });
        if let Some(area) = registered_by_libc() {
            return Ok(Rseq {
                area,
                section,
                own: None,
            });
        }
        let own = register_own()?;
        Ok(Rseq {
            area: own.pointer(),
            section,
            own: Some(own),
        })
    }

    /// Where the kernel keeps the number of the CPU on which the thread runs.
    pub fn cpu(&self) -> *const u32 {
        // SAFETY: the area lives as long as the thread, or as `own`.
        unsafe { &raw const (*self.area.as_ptr()).cpu_id }
    }

    /// Starts to look out for a preemption.
    #[inline]
    pub fn arm(&self) {
        // SAFETY: the area is this thread's; the kernel, on this very thread, is the only other writer.
        unsafe {
            (&raw mut (*self.area.as_ptr()).critical_section)
                .write_volatile(self.section.pointer().as_ptr() as u64);
        }
    }

    /// Whether the kernel has preempted the thread, or handed it a signal, since it was armed.
    #[inline]
    pub fn preempted(&self) -> bool {
        // SAFETY: as in `arm`.
        unsafe { (&raw const (*self.area.as_ptr()).critical_section).read_volatile() == 0 }
    }

    /// Whether it works here: a sleep must clear the flag, and a moment of work must not.
    ///
    /// # Errors
    /// What it did instead.
    pub fn check(&self) -> Result<(), RseqError> {
        self.arm();
        std::thread::sleep(Duration::from_micros(100));
        if !self.preempted() {
            return Err(RseqError::NotCleared);
        }
        let stays = (0..20).any(|_| {
            self.arm();
            (0..100).for_each(|_| std::hint::spin_loop());
            !self.preempted()
        });
        stays.then_some(()).ok_or(RseqError::AlwaysCleared)
    }
}

impl Drop for Rseq {
    fn drop(&mut self) {
        // SAFETY: as in `arm`. The pointer must not outlive the section.
        unsafe { (&raw mut (*self.area.as_ptr()).critical_section).write_volatile(0) };
        if let Some(own) = self.own.take() {
            // SAFETY: it was registered with the same address, length and signature by this thread.
            let refused = unsafe { system_call(own.pointer().as_ptr(), FLAG_UNREGISTER) } != 0;
            if refused {
                // The kernel still writes there: 32 bytes are lost rather than overwritten.
                std::mem::forget(own);
            }
        }
    }
}

/// The area that the C library registered for this thread.
fn registered_by_libc() -> Option<NonNull<Area>> {
    // SAFETY: glibc documents the types: `const ptrdiff_t __rseq_offset`, `const unsigned int __rseq_size`.
    let (offset, size) = unsafe {
        (
            symbol(c"__rseq_offset")?.cast::<isize>().read(),
            symbol(c"__rseq_size")?.cast::<u32>().read(),
        )
    };
    if size == 0 {
        return None;
    }
    let area = NonNull::new(thread_pointer().wrapping_offset(offset).cast::<Area>())?;
    // SAFETY: a size above 0 says that the area was registered for every thread.
    let cpu = unsafe { (&raw const (*area.as_ptr()).cpu_id).read_volatile() };
    // RSEQ_CPU_ID_UNINITIALIZED and RSEQ_CPU_ID_REGISTRATION_FAILED are -1 and -2.
    (cpu < UNREGISTERED - 1).then_some(area)
}

fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: looks a name up among the loaded objects.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// The register that thread-local storage hangs on.
fn thread_pointer() -> *mut u8 {
    let pointer: *mut u8;
    // SAFETY: on x86-64 the first word at FS is its own address (System V ABI, TLS variant II).
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly));
    }
    // SAFETY: reads a register.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

fn register_own() -> Result<Owned<Area>, RseqError> {
    let area = Owned::new(Area {
        cpu_id_start: 0,
        cpu_id: UNREGISTERED,
        critical_section: 0,
        flags: 0,
        padding: [0; 3],
    });
    // SAFETY: the area stays where it is until `Rseq::drop` unregisters it, on the same thread.
    match unsafe { system_call(area.pointer().as_ptr(), 0) } {
        0 => Ok(area),
        _ => Err(RseqError::Refused(io::Error::last_os_error())),
    }
}

/// Registers or unregisters `area` by rseq(2); 0 if the kernel does.
///
/// # Safety
/// An area that is registered must stay until it is unregistered or the thread ends.
unsafe fn system_call(area: *mut Area, flags: i32) -> i64 {
    // SAFETY: the arguments are those that rseq(2) documents; `libc::syscall` returns a `long`.
    unsafe {
        libc::syscall(
            libc::SYS_rseq,
            area,
            size_of::<Area>() as u32,
            flags,
            SIGNATURE,
        ) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    fn on_a_thread(test: impl FnOnce(&Rseq) + Send + 'static) {
        std::thread::spawn(move || match Rseq::of_this_thread() {
            Ok(rseq) => test(&rseq),
            Err(why) => println!("skipped: no rseq here: {why}"),
        })
        .join()
        .unwrap();
    }

    #[test]
    fn it_works_here() {
        on_a_thread(|rseq| rseq.check().unwrap());
    }

    #[test]
    fn the_cpu_is_the_one_that_the_thread_is_pinned_to() {
        let cpu = *pin::allowed().unwrap().last().unwrap();
        on_a_thread(move |rseq| {
            pin::pin(&[cpu]).unwrap();
            // SAFETY: the area is this thread's.
            assert_eq!(unsafe { rseq.cpu().read_volatile() }, cpu);
        });
    }

    #[test]
    fn a_competitor_on_the_same_cpu_is_seen() {
        let cpu = *pin::allowed().unwrap().last().unwrap();
        on_a_thread(move |rseq| {
            pin::pin(&[cpu]).unwrap();
            let stop = std::sync::Arc::new(AtomicBool::new(false));
            let competitor = std::thread::spawn({
                let stop = stop.clone();
                move || {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            });
            let start = Instant::now();
            rseq.arm();
            // Two runnable threads on one CPU must take turns sooner or later.
            while !rseq.preempted() && start.elapsed() < Duration::from_secs(20) {
                std::hint::spin_loop();
            }
            let seen = rseq.preempted();
            stop.store(true, Ordering::Relaxed);
            competitor.join().unwrap();
            assert!(seen);
        });
    }

    #[test]
    fn an_area_can_be_registered_again_after_it_was_dropped() {
        on_a_thread(|_| {});
        std::thread::spawn(|| {
            for _ in 0..3 {
                if let Ok(rseq) = Rseq::of_this_thread() {
                    rseq.arm();
                }
            }
        })
        .join()
        .unwrap();
    }
}
