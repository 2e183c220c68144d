//! What limits what a report can say.

use crate::closed::words;
use serde::Serialize;

/// Something that limits what the report can say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Which of them.
    pub kind: WarningKind,
    /// What.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

words! {
    /// What there is to warn of.
    pub enum WarningKind {
        /// The recording ends before its time.
        PartialRecording = "partial-recording",
        /// Times and frequencies carry an unknown error.
        ClockNotCalibrated = "clock-not-calibrated",
        /// The clock's rate may follow the CPU's frequency.
        ClockNotInvariant = "clock-not-invariant",
        /// Quanta or details of gaps were measured and did not fit.
        LostQuanta = "lost-quanta",
        /// The pace of a work kernel depends on where it lies in memory.
        KernelNotInvariant = "kernel-not-invariant",
        /// Others used the CPUs when the run began.
        HighLoad = "high-load",
        /// One task did.
        OtherTask = "other-task",
        /// Tasks that took little are booked together.
        ManyTasks = "many-tasks",
        /// Something that the machine did not let be measured.
        NotMeasured = "not-measured",
        /// Something that went wrong while it was measured.
        Incident = "incident",
        /// The measuring thread changed its CPU.
        CpuChange = "cpu-change",
        /// Several inputs are taken as series of one machine.
        SeveralInputs = "several-inputs",
        /// Too few quanta for shares, percentiles and periods.
        ShortSeries = "short-series",
        /// The times contradict the rate.
        RateMismatch = "rate-mismatch",
        /// No pace recurs.
        NoBand = "no-band",
        /// Losses are lower bounds.
        NoUndisturbedStretch = "no-undisturbed-stretch",
        /// The recording has no quanta.
        Empty = "empty",
        /// A part that a killed run left unfinished.
        LeftoverPart = "leftover-part",
        /// Something in the directory that is no part of a recording.
        UnknownEntry = "unknown-entry",
        /// A file without a checksum.
        NoChecksum = "no-checksum",
        /// Gaps beyond the last quantum.
        GapsWithoutQuanta = "gaps-without-quanta",
        /// A line at the head of a file of counts that says nothing.
        BadHeader = "bad-header",
        /// A file of counts that may have been cut off.
        NoFinalNewline = "no-final-newline",
        /// A file of counts does not say its rate.
        RateFromTimes = "rate-from-times",
        /// A task's part that cannot be read, and is left out.
        UnreadablePart = "unreadable-part",
        /// Tasks of a job that left no part.
        MissingPart = "missing-part",
        /// Parts of an earlier job, which are left out.
        StalePart = "stale-part",
        /// Inputs of unlike machines.
        DifferentMachines = "different-machines",
        /// Inputs of unlike clocks.
        DifferentClocks = "different-clocks",
        /// Inputs with unlike counters.
        DifferentCounters = "different-counters",
    }
}
