//! The kernel's own counts of what happened to the calling thread: context switches and page faults, by getrusage(2), which anybody may call.
//!
//! perf counts both, too. But the kernel has more to do whenever it switches to or from a thread with perf events of its own, and the measured gap holds
//! that (docs/figures.md, section 1).

use super::events::Event;
use std::io;

/// perf_event_attr.config of the two, by which the lists name them.
const CONTEXT_SWITCHES: u64 = 3;
const PAGE_FAULTS: u64 = 2;

/// Counts of the calling thread: what the lists call them, in the order asked for.
#[derive(Clone, Debug, Default)]
pub struct Software(Vec<u64>);

impl Software {
    /// The counts of `events`, if the kernel has them all.
    pub fn of(events: &[Event]) -> Option<Software> {
        let configs: Vec<u64> = events.iter().map(|event| event.config).collect();
        let is_known = |config| [CONTEXT_SWITCHES, PAGE_FAULTS].contains(config);
        configs.iter().all(is_known).then_some(Software(configs))
    }

    /// How many there are.
    pub fn number(&self) -> usize {
        self.0.len()
    }

    /// Reads all into `values`, in order.
    ///
    /// # Errors
    /// If the kernel refuses.
    #[inline]
    pub fn read(&self, values: &mut [u64]) -> io::Result<()> {
        let usage = thread_usage()?;
        for (value, config) in values.iter_mut().zip(&self.0) {
            *value = match *config {
                CONTEXT_SWITCHES => (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
                _ => (usage.ru_minflt + usage.ru_majflt) as u64,
            };
        }
        Ok(())
    }
}

fn thread_usage() -> io::Result<libc::rusage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills the structure, and it is used only if it said so.
    unsafe {
        if libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) == 0 {
            Ok(usage.assume_init())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}
