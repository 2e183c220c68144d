//! Gaps: the units during which the CPU was away.

/// How many counters one gap can carry.
///
/// Five keep the measuring loop's record of a gap within one cache line.
pub const MAX_COUNTERS: usize = 5;

/// Why a row stands among the gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GapKind {
    /// A unit took longer than the work kernel's gap threshold.
    #[default]
    Gap,
    /// No gap: counters were read because the last read was long ago. `duration` is 0.
    Checkpoint,
}

/// One gap, or one checkpoint of the counters.
///
/// What is lost to a gap is its duration less one unit at the pace around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// End of the unit before, in ticks since the recording's origin.
    pub start: u64,
    /// Duration of the unit that contains the gap, in ticks.
    pub duration: u64,
    /// Time spent after it on reading counters, in ticks: the measurement's own.
    pub handling: u64,
    /// Gap or checkpoint.
    pub kind: GapKind,
    /// Whether the kernel reported a preemption or a signal (rseq); `None` where it cannot be known.
    pub preempted: Option<bool>,
    /// Segment of the run.
    pub segment: u32,
    /// Increments of the counters since the read before this one, in the order of
    /// [`crate::manifest::Manifest::counters`]; zero beyond their number.
    pub counters: [u64; MAX_COUNTERS],
}
