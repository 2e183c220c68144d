//! What a record of a tracepoint says, whatever the kernel's format of it.

use super::functions::Function;
use bandscope_recording::events::EventKind;
use std::sync::Arc;

/// What happened, as a record tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// An interrupt or a softirq began.
    Enter {
        kind: EventKind,
        /// Line, vector or softirq.
        number: u32,
        name: Arc<str>,
    },
    /// An interrupt or a softirq ended.
    Exit {
        kind: EventKind,
        /// Line, vector or softirq.
        number: u32,
    },
    /// The CPU goes to another task.
    Switch {
        /// The one that ran, as the kernel counts tasks.
        previous: u32,
        /// The one that will.
        next: u32,
        name: Arc<str>,
        /// How the one that ran left.
        left: Left,
    },
    /// A timer's function begins to run.
    Expires {
        /// Its address.
        timer: u64,
        function: Function,
        /// Where.
        by: Level,
    },
    /// A timer of the timer wheel begins to run its function, in a softirq.
    Runs {
        /// Its address.
        timer: u64,
        function: Arc<str>,
    },
    /// A timer, or one of the timer wheel, is set.
    Sets {
        /// Its address.
        timer: u64,
        /// What does it.
        by: Level,
    },
    /// A softirq is to run on this CPU.
    Raises {
        /// Which.
        number: u32,
        /// What does it.
        by: Level,
    },
    /// A kernel worker begins a piece of work.
    Works(Arc<str>),
    /// A function begins that a CPU asked for: in an interrupt another one, elsewhere this one
    /// of itself, as a task does that reads a counter.
    Calls(Arc<str>),
    /// Other CPUs are interrupted.
    Sends {
        /// Which.
        cpus: Vec<u32>,
        /// What does it.
        by: Level,
    },
    /// A task is woken.
    Wakes {
        /// Its thread id.
        number: u32,
        name: Arc<str>,
        /// What wakes it.
        by: Level,
    },
    /// The task that runs ends.
    Ends {
        /// Its thread id.
        number: u32,
    },
    /// It happened, took so many nanoseconds until now, and is over.
    Over {
        kind: EventKind,
        /// Line, vector or softirq.
        number: u32,
        name: Arc<str>,
        /// Nanoseconds; 0 where it is not told.
        ns: u64,
    },
}

/// Where the kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In an interrupt.
    Interrupt,
    /// In a softirq.
    Softirq,
    /// In a task, or idle.
    Task,
}

impl Level {
    /// The bit of `common_flags` that is set in an interrupt (include/linux/trace_events.h, TRACE_FLAG_HARDIRQ).
    pub const INTERRUPT: i64 = 0x08;
    /// The one that is set in a softirq (TRACE_FLAG_SOFTIRQ).
    const SOFTIRQ: i64 = 0x10;

    /// By `common_flags`.
    pub fn of(flags: i64) -> Level {
        match (flags & Level::INTERRUPT != 0, flags & Level::SOFTIRQ != 0) {
            (true, _) => Level::Interrupt,
            (false, true) => Level::Softirq,
            (false, false) => Level::Task,
        }
    }
}

/// How a task left the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It would go on running; whether its priority is a real-time one.
    Runnable {
        /// Its time is limited by `sched_rt_runtime_us` and not by a quota.
        realtime: bool,
    },
    /// A signal or a debugger stopped it.
    Stopped,
    /// It waits for something.
    Waits,
    /// This kernel does not say.
    Unknown,
}

impl Left {
    /// By `prev_state`, as the kernel has shown it since 4.14 (include/trace/events/sched.h; what is above the low byte says
    /// that it was preempted), and by `prev_prio`.
    pub fn of(state: i64, priority: i64) -> Left {
        /// Stopped by a signal, or traced.
        const STOPPED: i64 = 4 | 8;
        /// Priorities below this are real-time ones (include/linux/sched/prio.h, MAX_RT_PRIO).
        const MAX_REALTIME: i64 = 100;
        match state & 0xff {
            0 => Left::Runnable {
                realtime: priority < MAX_REALTIME,
            },
            state if state & STOPPED != 0 => Left::Stopped,
            _ => Left::Waits,
        }
    }
}
