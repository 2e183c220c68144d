//! Gaps: how many, how long, and who took their time.

use crate::Cause;
use bandscope_recording::RUNNABLE;
use serde::Serialize;

/// Statistics of the gaps of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gaps {
    /// Number.
    pub number: u64,
    /// Number whose details were recorded; the rest did not fit.
    pub detailed: u64,
    /// Per second of wall time.
    pub per_second: f64,
    /// A unit longer than this is a gap.
    pub threshold_ns: f64,
    /// Time lost to gaps (durations less a unit each).
    pub lost_ns: u64,
    /// How many were preemptions; `null` if that cannot be known.
    pub preempted: Option<u64>,
    /// Durations.
    pub percentiles: Vec<Percentile>,
    /// The longest, longest first, at most 16.
    pub longest: Vec<LongGap>,
    /// What they were, the costliest first, at most 64; their `lost_ns` add up to that of all gaps but for rounding.
    pub causes: Vec<GapCause>,
    /// Who made tasks run and sent interrupts, and what for, the costliest first, at most 32; empty where nothing is known of it.
    pub chains: Vec<Chain>,
    /// How much of their time has a sender, and why the rest has none.
    pub senders: SenderTime,
    /// Tasks that are booked together, as `other-tasks`, because there are so many; 0 where each has its own line.
    pub other_tasks: u64,
    /// Number and time of gaps by duration, bins of a factor of two from 2^k to 2^(k+1) ns.
    pub histogram: Vec<GapBin>,
}

/// What took some of the gaps' time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapCause {
    /// What it is booked to.
    pub cause: Cause,
    /// Gaps in which it took part; one gap may have several causes.
    pub number: u64,
    /// Those per second of wall time.
    pub per_second: f64,
    /// Time lost to it, as in the ledger.
    pub lost_ns: u64,
    /// Its longest part of one gap.
    pub longest_ns: f64,
    /// Time booked to `host` in the gaps that it began, at most 20 µs of each: of an interrupt of a virtual machine the way through the host, of `host` itself
    /// its own short stops.
    pub host_ns: u64,
    /// Threads of the process that the cause is, the costliest first, at most 64; empty where they have the process's name.
    pub tasks: Vec<TaskTime>,
    /// Ids of the processes that have this name, the costliest first, at most 64; empty of what is no task.
    pub processes: Vec<u32>,
}

/// Time in gaps of a task or a softirq that the same thing made run, to do the same; of interrupts that the same thing sent, or timers that it set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chain {
    /// Its cause, `task:NAME`, `irq:NAME`, `softirq:NAME` or `timer:NAME`; a kernel worker without its number, as in `task:kworker/u8`.
    pub cause: String,
    /// Functions that a kernel worker or a softirq ran meanwhile, or another CPU asked for, at most 3, with commas between; empty for what is neither.
    pub function: String,
    /// What woke, sent, raised or set it: `task:NAME`, `idle`, `irq:NAME`, `softirq:NAME`, `tick`, `timer:FUNCTION` of the kernel, or, where that is all that is
    /// known, `task`, `interrupt`, `softirq`. `runnable`: it had left the CPU and would have gone on running. Empty where nobody is known.
    pub sender: String,
    /// Function of the kernel in which that happened, or, of a timer, in which it was set, where stacks were recorded; empty elsewhere. In `chains` of a
    /// series always empty.
    pub sender_function: String,
    /// Who set the timer that `sender` is; empty where it is none, or nobody knows. In `chains` of a series always empty.
    pub set_by: String,
    /// CPUs on which that happened, or that it had left.
    pub cpus: String,
    /// Gaps, or stays within gaps.
    pub number: u64,
    /// Those per second of wall time.
    pub per_second: f64,
    /// Time, before what the unit inside each gap took is taken off.
    pub ns: u64,
    /// The longest of them.
    pub longest_ns: f64,
    /// Mean time from then until it ran.
    pub waited_ns: f64,
}

impl Chain {
    /// Whether it only ran on: nobody had to make it run.
    pub fn ran_on(&self) -> bool {
        self.sender == RUNNABLE
    }

    /// Whether it is one of a cause's; those of a kernel worker are of all workers of its pool.
    pub fn is_of(&self, cause: &Cause) -> bool {
        without_number(&cause.to_string()) == self.cause
    }
}

/// A kernel worker without its number: `task:kworker/u8` of `task:kworker/u8:3`, `task:kworker/1` of `task:kworker/1:0H`.
pub fn without_number(name: &str) -> String {
    let of_worker = name.strip_prefix("task:kworker/");
    let pool = of_worker.and_then(|rest| rest.split(':').next());
    pool.map_or_else(|| name.to_owned(), |pool| format!("task:kworker/{pool}"))
}

/// Time in gaps by what is known of who is behind it, before what the unit inside each gap took is taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SenderTime {
    /// It is known who woke, sent, raised or set it.
    pub known_ns: u64,
    /// Nobody had to: a task ran on, or it was the tick, a device, an exception, a limit of CPU time, the host.
    pub none_ns: u64,
    /// No event that would tell was recorded: this kernel lacks it, only a flight recorder asks for it, or no kernel events were recorded.
    pub not_recorded_ns: u64,
    /// Such events were recorded, and did not tell: of a CPU where they were not, for one.
    pub unknown_ns: u64,
}

/// Time that a thread took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskTime {
    /// Its name.
    pub name: String,
    /// Its time in gaps, before what the unit inside each took is taken off.
    pub ns: u64,
}

/// A percentile of gap durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// 50, 90, 99, 99.9, 99.99, 99.999, 100.
    pub percent: f64,
    /// Duration.
    pub ns: f64,
}

/// One long gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongGap {
    /// Since the start of the recording.
    pub at_s: f64,
    /// Duration.
    pub ns: f64,
    /// What it is booked to.
    pub cause: Cause,
}

/// Gaps of similar duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapBin {
    /// Shortest duration in the bin.
    pub from_ns: f64,
    /// Number.
    pub number: u64,
    /// Total duration.
    pub total_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_lose_their_number() {
        for (name, wanted) in [
            ("task:kworker/u8:3", "task:kworker/u8"),
            ("task:kworker/1:0H", "task:kworker/1"),
            ("kworker/1:0", "kworker/1:0"),
            ("task:a:b", "task:a:b"),
            ("irq:nvme0q1", "irq:nvme0q1"),
            ("", ""),
        ] {
            assert_eq!(without_number(name), wanted);
        }
    }

    #[test]
    fn a_chain_is_of_its_task_or_of_all_workers_of_its_pool() {
        let is_of = |chain: &str, task: &str| {
            let chain = Chain {
                cause: chain.to_owned(),
                ..Chain::default()
            };
            chain.is_of(&Cause::Task(task.into()))
        };
        assert!(is_of("task:kworker/u8", "kworker/u8:3") && is_of("task:a:b", "a:b"));
        assert!(!is_of("task:a", "a:b") && !is_of("task:kworker/u8", "kworker/u80:3"));
    }
}
