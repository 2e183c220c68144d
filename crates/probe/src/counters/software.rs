//! The kernel's own counts of what happened to the calling thread: context switches, page faults.
//!
//! A group of perf software events where they can be had; where they cannot, or read 0 for lack of
//! privileges (perf_event_paranoid 2 hides what happens in the kernel, and a context switch does),
//! getrusage(2), which anybody may call.

use super::events::Event;
use super::open::{Scope, open, read_words};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// perf_event_attr.config of the two that getrusage knows, too.
const CONTEXT_SWITCHES: u64 = 3;
const PAGE_FAULTS: u64 = 2;

/// Most events in a group: what a gap can carry.
const MOST: usize = bandscope_recording::gaps::MAX_COUNTERS;

/// Counts of the calling thread.
#[derive(Debug)]
pub enum Software {
    /// A perf group; the first file is its leader.
    Group(Vec<File>),
    /// getrusage; the configs in the order asked for.
    Usage(Vec<u64>),
}

impl Software {
    /// Opens `events` as one group.
    ///
    /// # Errors
    /// What perf_event_open(2) says.
    pub fn group(events: &[Event], scope: Scope) -> io::Result<Software> {
        let mut files: Vec<File> = Vec::new();
        for event in events {
            let leader = files.first().map(AsRawFd::as_raw_fd);
            files.push(open(event, scope, leader)?);
        }
        Ok(Software::Group(files))
    }

    /// `events` by getrusage, if it knows them all.
    pub fn usage(events: &[Event]) -> Option<Software> {
        events
            .iter()
            .all(|event| [CONTEXT_SWITCHES, PAGE_FAULTS].contains(&event.config))
            .then(|| Software::Usage(events.iter().map(|event| event.config).collect()))
    }

    /// `read` or `getrusage`.
    pub fn method(&self) -> &'static str {
        match self {
            Software::Group(_) => "read",
            Software::Usage(_) => "getrusage",
        }
    }

    /// Reads all into `values`, in the order of the events.
    ///
    /// # Errors
    /// If the kernel refuses.
    #[inline]
    pub fn read(&self, values: &mut [u64]) -> io::Result<()> {
        match self {
            Software::Group(files) => {
                // The number of events, then their values.
                let mut words = [0u64; 1 + MOST];
                let leader = files.first().ok_or(io::ErrorKind::InvalidInput)?;
                read_words(leader, &mut words[..=files.len()])?;
                values.copy_from_slice(&words[1..=files.len()]);
            }
            Software::Usage(configs) => {
                let usage = thread_usage()?;
                for (value, config) in values.iter_mut().zip(configs) {
                    *value = match *config {
                        CONTEXT_SWITCHES => (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
                        _ => (usage.ru_minflt + usage.ru_majflt) as u64,
                    };
                }
            }
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
