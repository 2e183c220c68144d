//! What the manifest says about kernel events: whether they were recorded, how exact their times are, where some were
//! lost, and what recording them cost.

use super::ranges::{COUNT, OutOfRange, Ranges, TICKS, each, inside, number};
use serde::{Deserialize, Serialize};

/// Whether kernel events were recorded, and how far they can be believed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Events {
    /// Whether they were recorded.
    pub state: EventsState,
    /// Why not, where they are unavailable; one line.
    pub why: String,
    /// The tracepoints that were recorded, as in `irq:irq_handler_entry`.
    pub tracepoints: Vec<String>,
    /// The clock of the kernel that timed them, as in `CLOCK_MONOTONIC_RAW`.
    pub clock: String,
    /// Bound of the error with which times of that clock were put on the recording's, in ticks; `None` if they are on
    /// it by nature. What happens between an entry into the kernel and its first tracepoint comes on top.
    pub time_error_ticks: Option<f64>,
    /// The measuring thread of each CPU: what ran when no other task did.
    pub threads: Vec<MeasuringThread>,
    /// Tasks that are threads of a process of another name, in order of their ids; empty in recordings that know none.
    pub tasks: Vec<TaskThread>,
    /// Records of who wakes tasks and interrupts CPUs that found no room: what they would have told of has no sender.
    pub senders_lost: u64,
    /// Spans in which events were lost: there, silence says nothing.
    pub lost: Vec<LostEvents>,
    /// What recording them costs, measured before the run.
    pub cost: Option<EventsCost>,
}

impl Ranges for Events {
    fn check(&self) -> Result<(), OutOfRange> {
        number("time_error_ticks", self.time_error_ticks, &TICKS)?;
        number("senders_lost", self.senders_lost, &COUNT)?;
        each("lost", &self.lost)?;
        self.cost
            .as_ref()
            .map_or(Ok(()), |cost| inside("cost", cost))
    }
}

/// Whether kernel events were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventsState {
    /// Nobody asked for them.
    #[default]
    Off,
    /// They were recorded, on all measured CPUs, over the whole run but for what [`Events::lost`] lists.
    On,
    /// They could not be had; [`Events::why`] says why.
    Unavailable,
}

/// The thread that measured a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeasuringThread {
    /// CPU, as the kernel numbers it.
    pub cpu: u32,
    /// Its thread id, as the kernel's events have it.
    pub pid: u32,
}

/// A task that is a thread of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskThread {
    /// Its id, as the number of its events.
    pub task: u32,
    /// Id of the process.
    pub process: u32,
    /// Name of the process. Untrusted, escaped as the names of events are.
    pub name: String,
}

/// A span in which events of a CPU were lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LostEvents {
    /// CPU, as the kernel numbers it.
    pub cpu: u32,
    /// First tick that is undecided.
    pub from: u64,
    /// First tick that is decided again; the largest tick where nothing is known to the end.
    pub to: u64,
    /// Events that were lost, as far as they were counted.
    pub events: u64,
}

impl Ranges for LostEvents {
    fn check(&self) -> Result<(), OutOfRange> {
        number("events", self.events, &COUNT)
    }
}

/// Gaps with events recorded and without, in short stretches that alternate, before the run and outside its account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventsCost {
    /// With events recorded.
    pub with: GapSample,
    /// Without: switched off, and still open.
    pub without: GapSample,
}

impl Ranges for EventsCost {
    fn check(&self) -> Result<(), OutOfRange> {
        inside("with", &self.with)?;
        inside("without", &self.without)
    }
}

/// The gaps of some stretches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GapSample {
    /// Length of all stretches together, in ticks.
    pub ticks: u64,
    /// Gaps in them.
    pub gaps: u64,
    /// Time in gaps, in ticks.
    pub gap_ticks: u64,
    /// Median duration of a gap in ticks; 0 without any.
    pub median_gap_ticks: u64,
}

impl Ranges for GapSample {
    fn check(&self) -> Result<(), OutOfRange> {
        number("ticks", self.ticks, &COUNT)?;
        number("gaps", self.gaps, &COUNT)?;
        number("gap_ticks", self.gap_ticks, &COUNT)?;
        number("median_gap_ticks", self.median_gap_ticks, &COUNT)
    }
}

impl GapSample {
    /// Share of the time in gaps; `None` without a stretch.
    pub fn share(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.gap_ticks as f64 / self.ticks as f64)
    }

    /// Mean duration of a gap in ticks; `None` without any.
    pub fn mean_gap_ticks(&self) -> Option<f64> {
        (self.gaps > 0).then(|| self.gap_ticks as f64 / self.gaps as f64)
    }
}

impl Events {
    /// Whether silence of CPU `cpu` from tick `from` to `to` means that nothing happened: events were recorded, and
    /// none was lost there.
    pub fn silence_is_known(&self, cpu: u32, from: u64, to: u64) -> bool {
        let undecided = |lost: &LostEvents| lost.cpu == cpu && lost.from < to && from < lost.to;
        self.state == EventsState::On && !self.lost.iter().any(undecided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_known_where_nothing_was_lost() {
        let lost = LostEvents {
            cpu: 1,
            from: 100,
            to: 200,
            events: 3,
        };
        let mut events = Events {
            state: EventsState::On,
            lost: vec![lost],
            ..Events::default()
        };
        for (cpu, from, to, known) in [
            (1, 0, 100, true),
            (1, 0, 101, false),
            (1, 199, 300, false),
            (1, 200, 300, true),
            (1, 120, 130, false),
            (0, 120, 130, true),
        ] {
            assert_eq!(events.silence_is_known(cpu, from, to), known);
        }
        events.state = EventsState::Off;
        assert!(!events.silence_is_known(0, 120, 130));
    }

    #[test]
    fn a_manifest_without_events_says_that_nobody_asked() {
        let read: crate::Manifest = serde_json::from_str(r#"{"schema":"x"}"#).unwrap();
        assert_eq!(read.events, Events::default());
        assert_eq!(read.settings.trace, "");
        let some: Events =
            serde_json::from_str(r#"{"state":"unavailable","lost":[{"cpu":3}]}"#).unwrap();
        assert_eq!(some.state, EventsState::Unavailable);
        assert_eq!(some.lost[0].cpu, 3);
    }
}
