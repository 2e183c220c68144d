//! Tracepoints of one CPU, opened as perf events that share a ring.

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};

/// What is recorded of a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Whatever runs on the CPU.
    Everybody,
    /// Only this thread of this process.
    Thread(u32),
}

/// The pid namespace that a machine boots with, as a link of /proc names it (proc_ns.h, PROC_PID_INIT_INO).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

impl Who {
    /// Records the same by a filter beside `filter`, where the kernel numbers threads as this process does: whenever the kernel switches to or from a
    /// thread with perf events of its own it has more to do, and the measured gap holds that (docs/figures.md, section 1).
    pub fn by_filter(self, filter: String) -> (Who, String) {
        let Who::Thread(thread) = self else {
            return (self, filter);
        };
        let namespace = std::fs::read_link("/proc/self/ns/pid");
        if !namespace.is_ok_and(|link| link.as_os_str() == FIRST_NAMESPACE) {
            return (self, filter);
        }
        let own = format!("common_pid == {thread}");
        let both = match &*filter {
            "" => own,
            filter => format!("{own} && ({filter})"),
        };
        (Who::Everybody, both)
    }
}

/// Stacks in the samples of a ring, which all have them or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stacks {
    /// None have.
    Absent,
    /// Those of this tracepoint are empty.
    Empty,
    /// Those of this tracepoint are the kernel's.
    Kernel,
}

/// Frames of a stack that are recorded: wakers lie within ten.
const MAX_FRAMES: u16 = 16;

/// Opens tracepoint `id` on `cpu`, switched off.
///
/// # Errors
/// What perf_event_open(2) says.
pub fn open(id: u16, cpu: u32, who: Who, stacks: Stacks) -> io::Result<File> {
    let mut attributes = bindings::perf_event_attr {
        size: size_of::<bindings::perf_event_attr>() as u32,
        type_: bindings::PERF_TYPE_TRACEPOINT,
        config: id.into(),
        sample_type: u64::from(
            bindings::PERF_SAMPLE_TID | bindings::PERF_SAMPLE_TIME | bindings::PERF_SAMPLE_RAW,
        ),
        read_format: u64::from(bindings::PERF_FORMAT_LOST),
        clockid: libc::CLOCK_MONOTONIC_RAW,
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_period = 1;
    if stacks != Stacks::Absent {
        attributes.sample_type |= u64::from(bindings::PERF_SAMPLE_CALLCHAIN);
        attributes.sample_max_stack = MAX_FRAMES;
        attributes.set_exclude_callchain_user(1);
        attributes.set_exclude_callchain_kernel(u64::from(stacks == Stacks::Empty));
    }
    // Nobody waits for records, and a wake-up would be an interrupt on the measured CPU.
    attributes.set_watermark(1);
    attributes.__bindgen_anon_2.wakeup_watermark = u32::MAX;
    attributes.set_use_clockid(1);
    attributes.set_sample_id_all(1);
    attributes.set_disabled(1);
    let opened = call(&mut attributes, cpu, who);
    match opened {
        // Before Linux 6.0 nobody counts what was lost but the ring itself.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            attributes.read_format = 0;
            call(&mut attributes, cpu, who)
        }
        other => other,
    }
}

fn call(attributes: &mut bindings::perf_event_attr, cpu: u32, who: Who) -> io::Result<File> {
    let thread = match who {
        Who::Everybody => -1,
        Who::Thread(thread) => thread as i32,
    };
    let flags = bindings::PERF_FLAG_FD_CLOEXEC;
    // SAFETY: the attributes live through the call and hold their own size; the result is checked.
    let fd = unsafe { perf::perf_event_open(attributes, thread, cpu as i32, -1, flags.into()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just handed out this descriptor, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Sends the records of `event` to the ring of `leader`, on the same CPU.
///
/// # Errors
/// What the kernel says.
pub fn redirect(event: &File, leader: &File) -> io::Result<()> {
    // SAFETY: both descriptors are open perf events; nothing else is passed.
    let result = unsafe { perf::ioctls::SET_OUTPUT(event.as_raw_fd(), leader.as_raw_fd()) };
    check(result)
}

/// Lets the kernel pass only records that a filter takes.
///
/// # Errors
/// What the kernel says: `InvalidInput` of a filter that it does not understand.
pub fn filter(event: &File, filter: &str) -> io::Result<()> {
    let filter = std::ffi::CString::new(filter).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the descriptor is an open perf event, and the text ends with 0 and lives through the call.
    let result = unsafe { perf::ioctls::SET_FILTER(event.as_raw_fd(), filter.as_ptr().cast_mut()) };
    check(result)
}

/// Switches an event on or off.
///
/// # Errors
/// What the kernel says.
pub fn switch(event: &File, on: bool) -> io::Result<()> {
    // SAFETY: the descriptor is an open perf event; the argument 0 means it alone.
    let result = unsafe {
        match on {
            true => perf::ioctls::ENABLE(event.as_raw_fd(), 0),
            false => perf::ioctls::DISABLE(event.as_raw_fd(), 0),
        }
    };
    check(result)
}

fn check(result: i32) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// How many records of `event` found no room; `None` where the kernel does not say (before Linux 6.0).
pub fn lost(mut event: &File) -> Option<u64> {
    // The value, then what was lost.
    let mut words = [0; 16];
    (event.read(&mut words).ok()? == words.len()).then_some(())?;
    Some(u64::from_ne_bytes(words[8..].try_into().ok()?))
}

/// What the kernel's answer means here (perf_event_open(2), ERRORS).
pub fn explained(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "not allowed: it takes root, CAP_PERFMON, or perf_event_paranoid -1; or seccomp forbids it"
                .to_owned()
        }
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::ENOSYS) => {
            "this kernel has no perf events of tracepoints".to_owned()
        }
        Some(libc::EMFILE) => "too many open files (ulimit -n)".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_told_by_a_filter_where_its_number_is_the_kernels() {
        let first = std::fs::read_link("/proc/self/ns/pid").unwrap();
        let first = first.as_os_str() == FIRST_NAMESPACE;
        for (filter, both) in [
            ("", "common_pid == 7"),
            ("x > 1", "common_pid == 7 && (x > 1)"),
        ] {
            let expected = match first {
                true => (Who::Everybody, both.to_owned()),
                false => (Who::Thread(7), filter.to_owned()),
            };
            assert_eq!(Who::Thread(7).by_filter(filter.into()), expected);
            let all = (Who::Everybody, filter.to_owned());
            assert_eq!(Who::Everybody.by_filter(filter.into()), all);
        }
    }
}
