//! The kinds of findings.

use crate::closed::words;

words! {
    /// What phenomenon a finding is of. Each has a page in docs/phenomena, and its evidence a file in `evidence/`.
    pub enum Kind {
        /// A loss whose true frequency is above half the rate, so that quanta show it at another one.
        Alias = "alias",
        /// A short pattern of paces that repeats with the quanta.
        AlternatingBands = "alternating-bands",
        /// The same work at paces that differ by more than frequency noise.
        BistablePace = "bistable-pace",
        /// Quanta that are not as long as they say.
        ClockDrift = "clock-drift",
        /// The pace of one CPU changes when another's does, or when another is away.
        CoreCoupling = "core-coupling",
        /// Quanta in which the pace changed: counts that belong to no band.
        EdgePairs = "edge-pairs",
        /// All bands of a work kernel lie on steps of one clock.
        FrequencySteps = "frequency-steps",
        /// The pace rises after an interrupt.
        InterruptHelps = "interrupt-helps",
        /// After an interrupt a loop runs slower until it is left.
        InterruptedLoop = "interrupted-loop",
        /// The measuring thread changed CPU.
        Migration = "migration",
        /// The pace changes with a period of its own, so that edge quanta climb and fall.
        MovingEdges = "moving-edges",
        /// Runs of one command that take one of several times; of `bandscope repeat` only.
        MultimodalRuns = "multimodal-runs",
        /// Time lost at a constant frequency.
        PeriodicInterference = "periodic-interference",
        /// A pace that depends on the address of the loop; of `bandscope lab` only.
        Placement = "placement",
        /// Neighbouring counts that alternate at one pace.
        Quantisation = "quantisation",
        /// A loss that recurs in quanta and not in seconds.
        SamplingArtefact = "sampling-artefact",
        /// Something else runs in the other hardware thread of the core.
        SmtNeighbour = "smt-neighbour",
        /// Gaps in which this kernel did nothing.
        StolenTime = "stolen-time",
        /// A band between two others, where one inner loop of the work kernel is slow and the other is not.
        SubLoopMixture = "sub-loop-mixture",
        /// Gaps that hit several CPUs at once.
        SynchronousGaps = "synchronous-gaps",
        /// The kernel kept the thread from running because its CPU time is limited, or because it was stopped.
        Throttled = "throttled",
        /// What took the CPU away, by cause.
        TimeAway = "time-away",
        /// The run starts with a lower pace or more losses, which end and do not come back.
        WarmUp = "warm-up",
    }
}
