//! The list of items: what each reads, what it judges, on which lines it acts, what changes it, and where that is documented.
//!
//! One file a group. A new item is a function in its group's file, a word in [`Item`] and an entry in [`CHECKS`].

mod beneath;
mod boot;
mod clock;
mod housekeeping;
mod interrupts;
mod limits;
mod tasks;

use super::subject::Subject;
use crate::costs::Line;
use bandscope_report::Cause;
use bandscope_report::remedies::Remedy;
use serde::Serialize;

/// One entry of the list.
pub(super) struct Check {
    pub(super) item: Item,
    pub(super) title: &'static str,
    pub(super) acts_on: ActsOn,
    pub(super) judge: fn(&Subject<'_>) -> Judged,
    pub(super) source: &'static str,
}

/// Whether an item acts on a line.
type ActsOnLine = fn(&Line, &Subject<'_>) -> bool;

/// The lines of the ledger that an item acts on.
pub(super) enum ActsOn {
    /// Gaps of these causes, which have names only where kernel events were recorded.
    Gaps(fn(&Cause) -> bool),
    /// Lines that need no events.
    Lines(ActsOnLine),
    /// None, and why.
    NoLine(&'static str),
}

/// What became of an item.
pub(super) enum Judged {
    /// It could not be read, and why.
    Unknown(String),
    /// This is set, and a quiet CPU wants nothing else.
    Quiet(String),
    /// A quiet CPU wants something else.
    Change(Change),
}

/// A setting that a quiet CPU wants otherwise.
pub(super) struct Change {
    pub(super) found: String,
    pub(super) wanted: String,
    pub(super) now: Option<Remedy>,
    pub(super) lasting: Option<Lasting>,
}

impl Change {
    fn judged(
        found: impl Into<String>,
        wanted: impl Into<String>,
        now: Option<Remedy>,
        lasting: Option<Lasting>,
    ) -> Judged {
        Judged::Change(Change {
            found: found.into(),
            wanted: wanted.into(),
            now,
            lasting,
        })
    }
}

/// What keeps a change over a boot: a line, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lasting {
    /// Where the line goes.
    pub place: Place,
    /// The line.
    pub line: String,
}

/// Where a line goes that keeps a change over a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The kernel's command line, in the boot loader.
    KernelCommandLine,
    /// A file of sysctl.d(5).
    Sysctl,
    /// A file of tmpfiles.d(5), which writes sysfs.
    Tmpfiles,
    /// systemd-system.conf(5), section `Manager`.
    SystemdManager,
    /// The environment of irqbalance(1): Debian has the one file, Red Hat and SUSE the other.
    Irqbalance,
}

impl Place {
    /// In words, and the file where it is one.
    pub fn name(self) -> &'static str {
        match self {
            Place::KernelCommandLine => "kernel command line",
            Place::Sysctl => "/etc/sysctl.d/90-quiet.conf",
            Place::Tmpfiles => "/etc/tmpfiles.d/quiet.conf",
            Place::SystemdManager => "/etc/systemd/system.conf, [Manager]",
            Place::Irqbalance => "/etc/default/irqbalance, or /etc/sysconfig/irqbalance",
        }
    }
}

fn lasting(place: Place, line: String) -> Option<Lasting> {
    Some(Lasting { place, line })
}

/// A parameter of the kernel's command line.
fn at_boot(parameter: String) -> Option<Lasting> {
    lasting(Place::KernelCommandLine, parameter)
}

/// Items, as JSON writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the list of checks has their titles")]
pub enum Item {
    Tasks,
    Isolcpus,
    CpuSets,
    Quota,
    RealTimeLimit,
    Timers,
    Workqueues,
    Interrupts,
    IrqAffinity,
    Irqbalance,
    NohzFull,
    TickRate,
    Preemption,
    RcuNocbs,
    StatInterval,
    Watchdog,
    TimerMigration,
    NumaBalancing,
    Khugepaged,
    Governor,
    FrequencyLimits,
    Turbo,
    IdleStates,
    IdleParameter,
    Clocksource,
    Mitigations,
    Smt,
    Hypervisor,
    Firmware,
    Visibility,
}

/// The list.
pub(super) const CHECKS: &[&[Check]] = &[
    tasks::CHECKS,
    limits::CHECKS,
    interrupts::CHECKS,
    boot::CHECKS,
    housekeeping::CHECKS,
    clock::CHECKS,
    beneath::CHECKS,
];
