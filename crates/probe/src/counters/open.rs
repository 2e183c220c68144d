//! One perf event, opened on the calling thread.

use super::events::Event;
use perf_event_open_sys as perf;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// How much the kernel lets this process see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// User mode, kernel and hypervisor.
    All,
    /// User mode alone (perf_event_paranoid 2).
    User,
}

/// Opens `event` for the calling thread, on whatever CPU it runs.
///
/// It is pinned to a counter: it is never multiplexed, and reads as an error where there is no counter left.
///
/// # Errors
/// What perf_event_open(2) says.
pub fn open(event: &Event, scope: Scope) -> io::Result<File> {
    let Some(kind) = event.kind else {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "no such PMU on this machine",
        ));
    };
    let mut attributes = perf::bindings::perf_event_attr {
        size: size_of::<perf::bindings::perf_event_attr>() as u32,
        type_: kind,
        config: event.config,
        ..Default::default()
    };
    attributes.set_pinned(1);
    if scope == Scope::User {
        attributes.set_exclude_kernel(1);
        attributes.set_exclude_hv(1);
    }
    perf_event_open(&mut attributes, 0, -1)
}

/// Opens `event` for the programs that children of the calling thread will execute, and for all that these start; what is read is the
/// count, the time it was enabled and the time it ran, in nanoseconds.
///
/// # Errors
/// What perf_event_open(2) says.
pub fn open_inherited(event: &Event) -> io::Result<File> {
    let opened = |exclude_kernel: bool| {
        let mut attributes = perf::bindings::perf_event_attr {
            size: size_of::<perf::bindings::perf_event_attr>() as u32,
            type_: event.kind.ok_or(io::ErrorKind::NotFound)?,
            config: event.config,
            read_format: u64::from(
                perf::bindings::PERF_FORMAT_TOTAL_TIME_ENABLED
                    | perf::bindings::PERF_FORMAT_TOTAL_TIME_RUNNING,
            ),
            ..Default::default()
        };
        attributes.set_disabled(1);
        attributes.set_inherit(1);
        attributes.set_enable_on_exec(1);
        if exclude_kernel {
            attributes.set_exclude_kernel(1);
            attributes.set_exclude_hv(1);
        }
        perf_event_open(&mut attributes, 0, -1)
    };
    opened(false).or_else(|_| opened(true))
}

/// Opens the event of this type and config for whatever runs on `cpu`.
///
/// # Errors
/// What perf_event_open(2) says.
pub fn open_on_cpu(kind: u32, config: u64, cpu: u32) -> io::Result<File> {
    let mut attributes = perf::bindings::perf_event_attr {
        size: size_of::<perf::bindings::perf_event_attr>() as u32,
        type_: kind,
        config,
        ..Default::default()
    };
    let cpu = i32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
    perf_event_open(&mut attributes, -1, cpu)
}

/// perf_event_open(2): an event of thread `thread` (0: the calling one, -1: any) on `cpu` (-1: any).
fn perf_event_open(
    attributes: &mut perf::bindings::perf_event_attr,
    thread: i32,
    cpu: i32,
) -> io::Result<File> {
    let flags = perf::bindings::PERF_FLAG_FD_CLOEXEC;
    // SAFETY: the attributes live through the call and hold their own size; the result is checked.
    let fd = unsafe { perf::perf_event_open(attributes, thread, cpu, -1, flags.into()) };
    if fd < 0 {
        return Err(explained(io::Error::last_os_error()));
    }
    // SAFETY: the kernel just handed out this descriptor, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// What the kernel's answer means here (perf_event_open(2), ERRORS).
fn explained(error: io::Error) -> io::Error {
    let meaning = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => "no hardware PMU that counts it",
        Some(libc::EACCES | libc::EPERM) => "not allowed: perf_event_paranoid, or seccomp",
        Some(libc::ENOSYS) => "this kernel has no perf events",
        _ => return error,
    };
    io::Error::new(error.kind(), meaning)
}

/// Reads the 64-bit words of an event into `words`.
///
/// # Errors
/// If fewer come: a pinned event that found no counter reads as end of file.
pub fn read_words(mut file: &File, words: &mut [u64]) -> io::Result<()> {
    let mut bytes = [0u8; 8 * 8];
    let length = 8 * words.len();
    let buffer = bytes.get_mut(..length).ok_or(io::ErrorKind::InvalidInput)?;
    if file.read(buffer)? != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    for (word, bytes) in words.iter_mut().zip(buffer.chunks_exact(8)) {
        *word = bytes.try_into().map(u64::from_ne_bytes).unwrap_or(0);
    }
    Ok(())
}
