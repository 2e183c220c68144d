//! What a reader must know before it believes an input, and what to do about it.

use crate::Error;
use std::fmt;

/// A warning about an input that can be read all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadWarning {
    /// What is the matter.
    pub kind: ReadWarningKind,
    /// One sentence: which input, and what is the matter. Text from files in it is escaped.
    pub message: String,
    /// One sentence: what to do.
    pub advice: String,
}

/// What may be the matter with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWarningKind {
    /// The run still goes on or was killed.
    Unfinished,
    /// An error ended the run early.
    Failed,
    /// A signal ended the run early.
    Interrupted,
    /// No quanta were recorded.
    Empty,
    /// A part that a killed run left unfinished.
    LeftoverPart,
    /// Something in the directory that is no part of a recording.
    UnknownEntry,
    /// Parts without a checksum.
    NoChecksum,
    /// Gaps beyond the last quantum.
    GapsWithoutQuanta,
    /// A line at the head of a file of counts that says nothing.
    BadHeader,
    /// A file of counts that may have been cut off.
    NoFinalNewline,
    /// The times of a file of counts contradict its rate.
    RateMismatch,
    /// A file of counts does not say its rate.
    RateFromTimes,
    /// A task's part that cannot be read.
    UnreadablePart,
    /// Tasks of a job that left no part.
    MissingPart,
    /// Parts of an earlier job.
    StalePart,
    /// Inputs of unlike machines.
    DifferentMachines,
    /// Inputs of unlike clocks.
    DifferentClocks,
    /// Inputs with unlike counters.
    DifferentCounters,
}

impl ReadWarning {
    /// One of several inputs cannot be read: why.
    pub fn unreadable(error: &Error) -> ReadWarning {
        ReadWarning {
            kind: ReadWarningKind::UnreadablePart,
            message: error.to_string(),
            advice: "it is left out".into(),
        }
    }

    /// Whether something was left out that cannot be read.
    pub fn is_unreadable(&self) -> bool {
        self.kind == ReadWarningKind::UnreadablePart
    }
}

impl fmt::Display for ReadWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.advice)
    }
}
