//! The findings that a scenario is an example of, and what a run must offer for each of them.

/// A finding that a scenario is an example of.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its kind, by the word of a report.
    pub kind: &'static str,
    /// When it can be seen.
    pub(crate) seen: Seen,
}

/// When a finding can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Whenever a work kernel feels it.
    Always,
    /// Where interrupts come at regular times.
    Regular,
    /// Where regular interrupts are faster than half of a rate, and too short to be a gap: that has a time of its own, whatever the rate.
    Aliased,
    /// Where the kernel tells what it does: else nobody knows whose gaps they are.
    Traced,
    /// Where several CPUs are measured.
    OnSeveralCpus,
    /// Where two CPUs that belong together are measured.
    OnAPair,
    /// Where a work kernel has inner loops, which may be in states of their own.
    InnerLoops,
    /// Where there are edges whose phase jumps, or the thread changes its CPU.
    Moved,
    /// Where the quanta of a rate are longer or shorter than they should be.
    Drifting,
    /// Where the first quantum comes before the `duration` of a warm-up is over.
    BeforeWarm,
    /// Where one work kernel fills the core and another is a chain of registers.
    BesideChain,
}

pub(super) const fn example(kind: &'static str, seen: Seen) -> Example {
    Example { kind, seen }
}
