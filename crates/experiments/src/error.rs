//! Why an experiment cannot be made.

use std::io;

/// Why an experiment cannot be made, in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// sched_getaffinity(2) fails.
    #[error("cannot ask which CPUs may be used: {0}")]
    AllowedCpus(io::Error),
    /// A CPU was asked for that this process may not use.
    #[error("CPU {cpu}: expected one of {reachable}, which this process may use")]
    NotReachable {
        /// The CPU that was asked for.
        cpu: u32,
        /// Those that may be used, as a list.
        reachable: String,
    },
    /// A command cannot be started at a level of a factor.
    #[error(transparent)]
    Level(#[from] crate::repeat::NotSet),
    /// This process may use no CPU.
    #[error("no CPU to measure")]
    NoCpu,
    /// sched_setaffinity(2) fails.
    #[error("CPU {cpu}: cannot pin a thread to it: {error}")]
    Pin {
        /// The CPU.
        cpu: u32,
        /// What the kernel says.
        error: io::Error,
    },
    /// A thread cannot be made.
    #[error("{}", bandscope_probe::no_thread(.0))]
    NoThread(io::Error),
    /// A thread of ours panicked.
    #[error("{0} panicked: this is a bug")]
    Panicked(&'static str),
    /// There is no pair of loops of that name.
    #[error("found experiment {name:?}, expected one of {}", expected.join(", "))]
    UnknownExperiment {
        /// What was asked for.
        name: String,
        /// What there is.
        expected: Vec<&'static str>,
    },
    /// There is nothing of that name that fixed work could be made of.
    #[error("found work kernel or loop {name:?}, expected one of those on {}: {}", std::env::consts::ARCH, expected.join(", "))]
    UnknownWork {
        /// What was asked for.
        name: String,
        /// What there is.
        expected: Vec<&'static str>,
    },
    /// There is no loop of that name.
    #[error("found loop {0:?}, which does not exist")]
    UnknownLoop(String),
    /// There is no work kernel of that name.
    #[error("found work kernel {0:?}, which does not exist")]
    UnknownKernel(String),
    /// This CPU lacks an instruction.
    #[error("this CPU has no {0}")]
    Lacks(&'static str),
    /// This CPU lacks an instruction that a loop needs.
    #[error("loop {name}: this CPU has no {lacks}")]
    LoopLacks {
        /// The loop.
        name: String,
        /// The instruction.
        lacks: &'static str,
    },
    /// `probe` says that this machine cannot do it.
    #[error("{0}")]
    Machine(String),
    /// prctl(2) fails.
    #[error("store bypass cannot be set: {0}")]
    StoreBypass(io::Error),
    /// timer_create(2) fails.
    #[error("cannot make a timer that interrupts the loops: {0}")]
    Timer(io::Error),
    /// The kernel refuses what a kind of disturbance needs.
    #[error("cannot disturb by {kind}: {error}")]
    Prepare {
        /// The kind.
        kind: crate::inject::Kind,
        /// What the kernel says.
        error: io::Error,
    },
    /// A command cannot be started, or not be observed.
    #[error("cannot observe {name:?}: {error}")]
    Command {
        /// The program.
        name: String,
        /// What the kernel says.
        error: io::Error,
    },
    /// The kernel refuses to wait for the next disturbance.
    #[error("cannot wait: {0}")]
    Wait(io::Error),
    /// The kernel refuses a disturbance.
    #[error("cannot disturb: {0}")]
    Disturb(io::Error),
    /// The disturbing thread is on another CPU than it was pinned to.
    #[error(
        "the disturbing thread was moved from CPU {from} to CPU {to}: has CPU {from} gone offline?"
    )]
    Moved {
        /// Where it belongs.
        from: u32,
        /// Where it is.
        to: u32,
    },
}
