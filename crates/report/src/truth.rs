//! What the report says of logs of real disturbances: its list `truth`.

use crate::Cause;
use crate::closed::words;
use serde::Serialize;
use std::collections::BTreeMap;

/// One log, and the series of the CPU that it disturbed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Truth {
    /// The file.
    pub log: String,
    /// Kind of disturber.
    pub kind: String,
    /// Its CPU.
    pub cpu: u32,
    /// Name of the thread that disturbed, escaped.
    pub task: String,
    /// Its id.
    pub thread: u32,
    /// What was asked for: seconds from one to the next.
    pub period_s: f64,
    /// And how long each.
    pub length_s: f64,
    /// One for each series of the CPU.
    pub series: Vec<Held>,
}

/// A series held against a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// Its index in the report.
    pub series: usize,
    /// Disturbances that fell into it, those on the edge of a segment included.
    pub disturbances: u64,
    /// True: from the first to the last clock read of each.
    pub spans_ns: u64,
    /// True: the same, less the time that the disturber saw itself be away.
    pub disturbed_ns: u64,
    /// True: CPU time that the kernel booked to the disturbing thread, interrupts during it included unless the kernel accounts them apart;
    /// `null` where the log does not know it.
    pub cpu_ns: Option<u64>,
    /// How the time booked to it was told from that of others.
    pub matched_by: MatchedBy,
    /// Booked to it: its parts of all gaps, what it and others shared split out. The unit of work that a gap holds is not taken
    /// off, as it is in the ledger.
    pub booked_ns: u64,
    /// From the switch to it to the switch back, as far as within gaps, what interrupted it meanwhile included: what `cpu_ns`
    /// is. `null` without kernel events.
    pub stay_ns: Option<u64>,
    /// `stay_ns` over `cpu_ns`.
    pub stay_over_cpu: Option<f64>,
    /// Of what is booked to it, the part within the logged spans.
    pub booked_within_ns: u64,
    /// `booked_within_ns` over `disturbed_ns`: two accounts of the same instants.
    pub within_over_disturbed: Option<f64>,
    /// What other causes took within the logged spans.
    pub others_within_ns: BTreeMap<Cause, u64>,
    /// Quanta that it really disturbed.
    pub quanta: QuantaOfLog,
    /// All logs of this CPU together; the same for each of them.
    pub together: Together,
}

/// Quanta that a log says were disturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuantaOfLog {
    /// In which the disturber had the CPU for longer than the gap threshold.
    pub disturbed: u64,
    /// Those in which a gap was recorded.
    pub recognised: u64,
    /// The latter over the former.
    pub recall: Option<f64>,
}

/// Quanta with gaps, against all logs of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Together {
    /// Logs of this CPU.
    pub logs: usize,
    /// Quanta in which a gap was recorded.
    pub quanta_with_gaps: u64,
    /// Those into which a disturbance of a log falls.
    pub in_logs: u64,
    /// The latter over the former: a machine has gaps of its own, which no disturber's log knows.
    pub precision: Option<f64>,
    /// Those into which a disturbance or an event of the kernel's falls; `null` without kernel events.
    pub in_logs_or_events: Option<u64>,
    /// Their share: the kernel's events are the log of what the machine did by itself.
    pub precision_with_events: Option<f64>,
    /// Gaps of which a part is booked to the thread of a log by its name and id; `null` without kernel events.
    pub gaps_named: Option<u64>,
    /// Share of them that touch a disturbance of a log.
    pub precision_of_names: Option<f64>,
    /// Gaps that touch no disturbance, by the cause of their largest part, most time first.
    pub gaps_outside: Vec<OutsideGaps>,
}

/// Gaps of one cause that touch no disturbance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutsideGaps {
    /// What they were.
    pub cause: Cause,
    /// Number.
    pub number: u64,
    /// Their whole time.
    pub ns: u64,
}

words! {
    /// How the time that is booked to a disturber was told from that of others.
    #[derive(Default)]
    pub enum MatchedBy {
        /// By events of its name and id.
        Thread = "thread",
        /// By events of its name: none has that id.
        Name = "name",
        /// No events: whatever lies in the logged spans.
        #[default]
        Time = "time",
    }
}
