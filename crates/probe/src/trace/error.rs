//! Why kernel events cannot be recorded: one line each, for the manifest or the user.

use super::open;
use crate::pin::PinError;
use crate::preparation::no_thread;
use std::io;

/// Why kernel events cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel's descriptions of its tracepoints cannot be read.
    #[error("{}, {}", not_found(.unreadable.as_ref()), not_mounted(.mount))]
    NoTracefs {
        /// A place where tracefs is, and why it cannot be read there; `None` if it is nowhere.
        unreadable: Option<(String, io::Error)>,
        /// Why it cannot be mounted for this process alone.
        mount: io::Error,
    },
    /// A tracepoint's record has other fields than are known.
    #[error("this kernel describes {0} in an unknown way")]
    OtherFormat(String),
    /// Without this tracepoint silence would say nothing.
    #[error("this kernel has no tracepoint {0}")]
    NoTracepoint(&'static str),
    /// A tracepoint cannot be opened, filtered, or sent to the ring of its CPU.
    #[error("{tracepoint} on CPU {cpu}: {}", open::explained(.error))]
    NotOpened {
        /// As in `irq:softirq_entry`.
        tracepoint: String,
        /// The CPU to be watched.
        cpu: u32,
        /// The kernel's answer.
        error: io::Error,
    },
    /// There is no ring.
    #[error("no memory for events of CPU {cpu}: {error}")]
    NoRing {
        /// The CPU to be watched.
        cpu: u32,
        /// The kernel's answer.
        error: io::Error,
    },
    /// A tracepoint that the user asked for is not there.
    #[error(
        "this kernel has no tracepoint {0}: /sys/kernel/tracing/available_events lists those that it has"
    )]
    NoSuchEvent(String),
    /// It is recorded without being asked for.
    #[error("{0} is recorded already")]
    RecordedAlready(String),
    /// The kernel takes no such filter.
    #[error("{tracepoint}: the kernel refuses the filter {filter:?}: {error}")]
    NoFilter {
        /// As in `sched:sched_migrate_task`.
        tracepoint: String,
        /// As the user wrote it.
        filter: String,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The catalogue is empty.
    #[error("this kernel has no tracepoint that names gaps")]
    NothingToOpen,
    /// A tracepoint cannot be switched on or off.
    #[error("cannot switch a tracepoint: {0}")]
    NotSwitched(io::Error),
    /// The events cannot be priced on their CPU.
    #[error(transparent)]
    NotPinned(#[from] PinError),
    /// There is no thread that prices them.
    #[error("{}", no_thread(.0))]
    NoThread(io::Error),
    /// The thread that prices them ended by a panic.
    #[error("measuring the cost of events panicked: this is a bug")]
    Panicked,
}

impl TraceError {
    /// Whether this kernel lacks what was asked for, and not memory, files or rights.
    pub(super) fn is_lack(&self) -> bool {
        match self {
            TraceError::NotOpened { error, .. } => matches!(
                error.raw_os_error(),
                Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOENT)
            ),
            TraceError::NoFilter { .. } => true,
            _ => false,
        }
    }
}

fn not_found(unreadable: Option<&(String, io::Error)>) -> String {
    unreadable.map_or_else(
        || "tracefs is not mounted".to_owned(),
        |(place, error)| format!("{place} cannot be read: {error}"),
    )
}

fn not_mounted(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "and this process may not mount it for itself (CAP_SYS_ADMIN)".to_owned()
        }
        _ => format!("and it cannot be mounted: {error}"),
    }
}
