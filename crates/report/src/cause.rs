//! What takes time in gaps.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// What took the time of a gap, or of a part of one: a key of `gaps_ns`. Ordered as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The tick of the kernel's timer.
    Tick,
    /// An interrupt, by the kernel's name for it.
    Interrupt(Arc<str>),
    /// A softirq, by the kernel's name for its kind.
    Softirq(Arc<str>),
    /// Another task, by the name of its process.
    Task(Arc<str>),
    /// Tasks that share a line because there are so many.
    OtherTasks,
    /// A timer that woke a task, by the name of its process.
    Timer(Arc<str>),
    /// An exception, by the kernel's name for it.
    Exception(Arc<str>),
    /// A non-maskable interrupt.
    Nmi,
    /// The CPU time of the thread's group was used up.
    QuotaThrottled,
    /// The CPU time of real-time tasks was used up.
    RealTimeThrottled,
    /// A signal or a debugger stopped the thread; without kernel events perhaps a freezer.
    Stopped,
    /// The thread's group was frozen, or the thread waited for something else.
    Frozen,
    /// Something else kept the thread off the CPU, by the recording's word for it.
    Held(Arc<str>),
    /// Whoever runs this kernel: it had nothing to do.
    Host,
    /// A task that preempted the thread, nobody knows which.
    Preempted,
    /// Nobody knows.
    #[default]
    Unnamed,
}

impl Cause {
    /// What a name of the kernel's counts stands for: `tick`, `nmi`, `softirq:NAME` or `irq:NAME`.
    pub fn counted(name: &str) -> Cause {
        let of = |kind: fn(Arc<str>) -> Cause, prefix: &str| {
            name.strip_prefix(prefix).map(|name| kind(name.into()))
        };
        match name {
            "tick" => Cause::Tick,
            "nmi" => Cause::Nmi,
            _ => of(Cause::Softirq, SOFTIRQ)
                .or_else(|| of(Cause::Interrupt, INTERRUPT))
                .unwrap_or_else(|| Cause::Interrupt(name.into())),
        }
    }

    /// Whether anything says what it was.
    pub fn is_named(&self) -> bool {
        !matches!(self, Cause::Unnamed | Cause::Preempted)
    }

    /// Whether kernel events tell when it began and ended.
    pub fn is_told_by_events(&self) -> bool {
        let is_task = matches!(self, Cause::Task(_) | Cause::OtherTasks | Cause::Timer(_));
        let is_kernel = matches!(
            self,
            Cause::Tick
                | Cause::Interrupt(_)
                | Cause::Softirq(_)
                | Cause::Exception(_)
                | Cause::Nmi
        );
        is_task || is_kernel
    }

    /// Whether another CPU sends it: an interrupt by which CPUs ask each other for something.
    pub fn is_by_another_cpu(&self) -> bool {
        const BEGINS: [&str; 2] = ["call_function", "reschedule"];
        match self {
            Cause::Interrupt(name) => BEGINS.iter().any(|begin| name.starts_with(begin)),
            _ => false,
        }
    }

    /// Whether the thread was ready to run, and a limit kept it from running.
    pub fn is_throttled(&self) -> bool {
        matches!(self, Cause::QuotaThrottled | Cause::RealTimeThrottled)
    }

    /// Whether something kept the thread off the CPU that is no other task.
    pub fn is_held(&self) -> bool {
        self.is_throttled() || matches!(self, Cause::Stopped | Cause::Frozen)
    }

    /// What [`Self::kind`] may be: a closed set, whatever runs on a machine.
    pub const KINDS: [&str; 15] = [
        "tick",
        "irq",
        "softirq",
        "task",
        "timer",
        "exception",
        "nmi",
        "throttled:quota",
        "throttled:realtime",
        "stopped",
        "frozen",
        "held",
        "host",
        "preempted",
        "unnamed",
    ];

    /// What it is, without its name: tasks that share a line are tasks.
    pub fn kind(&self) -> &'static str {
        match self {
            Cause::OtherTasks => "task",
            _ => self.parts().0.trim_end_matches(':'),
        }
    }

    /// Its name, without what it is; empty where it has none. Untrusted.
    pub fn name(&self) -> &str {
        self.parts().1
    }

    /// As it is written: what it is, and its name where it has one.
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Cause::Tick => ("tick", ""),
            Cause::Interrupt(name) => (INTERRUPT, name),
            Cause::Softirq(name) => (SOFTIRQ, name),
            Cause::Task(name) => ("task:", name),
            Cause::OtherTasks => ("other-tasks", ""),
            Cause::Timer(name) => ("timer:", name),
            Cause::Exception(name) => ("exception:", name),
            Cause::Nmi => ("nmi", ""),
            Cause::QuotaThrottled => ("throttled:quota", ""),
            Cause::RealTimeThrottled => ("throttled:realtime", ""),
            Cause::Stopped => ("stopped", ""),
            Cause::Frozen => ("frozen", ""),
            Cause::Held(name) => ("held:", name),
            Cause::Host => ("host", ""),
            Cause::Preempted => ("preempted", ""),
            Cause::Unnamed => ("unnamed", ""),
        }
    }
}

const INTERRUPT: &str = "irq:";
const SOFTIRQ: &str = "softirq:";

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, name) = self.parts();
        formatter.pad(&[what, name].concat())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Cause {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cause".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^(tick|nmi|throttled:quota|throttled:realtime|stopped|frozen|host|other-tasks|preempted|unnamed)$|^(irq|softirq|task|timer|exception|held):",
        })
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Ord for Cause {
    fn cmp(&self, other: &Cause) -> Ordering {
        let (a, b) = (self.parts(), other.parts());
        let a = a.0.bytes().chain(a.1.bytes());
        a.cmp(b.0.bytes().chain(b.1.bytes()))
    }
}

impl PartialOrd for Cause {
    fn partial_cmp(&self, other: &Cause) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Cause> {
        let named = [
            Cause::Interrupt,
            Cause::Softirq,
            Cause::Task,
            Cause::Timer,
            Cause::Exception,
            Cause::Held,
        ];
        let mut all = vec![
            Cause::Tick,
            Cause::Nmi,
            Cause::QuotaThrottled,
            Cause::RealTimeThrottled,
            Cause::Stopped,
            Cause::Frozen,
            Cause::Host,
            Cause::OtherTasks,
            Cause::Preempted,
            Cause::Unnamed,
        ];
        for name in ["", "a", "quota", "others", "local_timer"] {
            all.extend(named.map(|kind| kind(name.into())));
        }
        all
    }

    #[test]
    fn causes_are_ordered_as_they_are_written() {
        for a in all() {
            for b in all() {
                assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()), "{a} {b}");
                assert_eq!(a == b, a.to_string() == b.to_string(), "{a} {b}");
            }
        }
    }

    #[test]
    fn kinds_are_a_closed_set() {
        let kinds: std::collections::BTreeSet<&str> = all().iter().map(Cause::kind).collect();
        assert_eq!(kinds, Cause::KINDS.into());
        for cause in all().iter().filter(|cause| !cause.name().is_empty()) {
            assert_eq!(
                cause.to_string(),
                format!("{}:{}", cause.kind(), cause.name())
            );
        }
    }

    #[test]
    fn what_the_kernel_counts_is_written_as_it_is_counted() {
        for name in ["tick", "nmi", "irq:eth0", "softirq:NET_RX"] {
            assert_eq!(Cause::counted(name).to_string(), name);
        }
        assert_eq!(Cause::counted("tick"), Cause::Tick);
    }
}
