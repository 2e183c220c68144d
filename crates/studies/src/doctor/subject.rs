//! What an item of the list is judged by: facts of the recording, the CPUs, and the ledger.

use super::items::Judged;
use crate::costs::Costs;
use bandscope_recording::Manifest;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::{EventsState, Machine, Setup};
use bandscope_report::Report;

/// Names in a sentence.
const MAX_NAMES: usize = 3;

/// The machine, as the recording knows it.
pub(super) struct Subject<'a> {
    pub(super) report: &'a Report,
    pub(super) manifest: &'a Manifest,
    pub(super) machine: &'a Machine,
    pub(super) setup: &'a Setup,
    /// CPUs that are judged, in order.
    pub(super) cpus: &'a [u32],
    pub(super) costs: &'a Costs,
}

impl Subject<'_> {
    /// The CPUs as a list.
    pub(super) fn list(&self) -> String {
        cpu_list::written(self.cpus)
    }

    /// The CPUs as part of a sentence.
    pub(super) fn named(&self) -> String {
        cpu_list::named(self.cpus)
    }

    /// Online CPUs that are not judged, nor kept free already; `None` where there are none, or nobody knows.
    pub(super) fn others(&self) -> Option<String> {
        self.machine.housekeeping(self.cpus)
    }

    /// A list of CPUs that sysfs has empty where there are none; `None` where sysfs could not be read.
    pub(super) fn listed(&self, list: Option<&str>) -> Option<Vec<u32>> {
        match list {
            Some(list) => Some(cpu_list::parse(list)),
            None => self.machine.online_cpus.as_ref().map(|_| Vec::new()),
        }
    }

    /// Those that are online: a mask of the kernel also has CPUs that could come. All of them where none is, or nobody knows.
    pub(super) fn online(&self, cpus: Vec<u32>) -> Vec<u32> {
        let online = self.machine.online_cpus.as_deref();
        let online = cpu_list::parse(online.unwrap_or_default());
        let known: Vec<u32> = (cpus.iter().copied())
            .filter(|cpu| online.contains(cpu))
            .collect();
        if known.is_empty() { cpus } else { known }
    }

    /// A list of CPUs of the kernel's command line; `None` where not all of it can be read.
    pub(super) fn booted(&self, list: &str) -> Option<Vec<u32>> {
        let read = |last| cpu_list::parse_boot(list, last);
        match &self.machine.online_cpus {
            Some(online) => read(cpu_list::parse(online).into_iter().max()?),
            // A list that names the last CPU is another with another one.
            None => read(0).filter(|cpus| read(1).as_ref() == Some(cpus)),
        }
    }

    /// Whether all judged CPUs are among `cpus`.
    pub(super) fn all_in(&self, cpus: &[u32]) -> bool {
        self.cpus.iter().all(|cpu| cpus.contains(cpu))
    }

    /// Whether a judged CPU is among `cpus`.
    pub(super) fn any_in(&self, cpus: &[u32]) -> bool {
        self.cpus.iter().any(|cpu| cpus.contains(cpu))
    }

    /// What stands in for a setting that is not there.
    pub(super) fn unread(&self, path: &str) -> Judged {
        let why = match self.setup.unread.get(path) {
            Some(why) => format!("{path}: {why}"),
            None => OLD_RECORDING.to_owned(),
        };
        Judged::Unknown(why)
    }

    /// The same for what stands in no setting.
    pub(super) fn hidden(&self, what: &str) -> Judged {
        Judged::Unknown(match self.setup.is_empty() {
            true => OLD_RECORDING.to_owned(),
            false => format!("{what} cannot be read"),
        })
    }

    /// What is wanted of `what`: it on the CPUs that are not judged, as far as there are any.
    pub(super) fn elsewhere(&self, what: &str) -> String {
        match (self.others(), &self.machine.online_cpus) {
            (Some(others), _) => {
                format!("{what} on {}", cpu_list::named(&cpu_list::parse(&others)))
            }
            (None, Some(_)) => format!("another CPU for {what}; none is left"),
            (None, None) => format!("{what} on other CPUs"),
        }
    }

    /// A share of the time in a sentence.
    pub(super) fn percent(&self, ns: u64) -> String {
        bandscope_report::format::percent(self.costs.share(ns))
    }

    /// Whether the kernel's events named the gaps.
    pub(super) fn is_traced(&self) -> bool {
        self.manifest.events.state == EventsState::On
    }

    /// Whether a daemon of [`bandscope_recording::manifest::setup::DAEMONS`] runs.
    pub(super) fn runs(&self, name: &str) -> bool {
        let mut tasks = self.setup.tasks.iter();
        tasks.any(|task| !task.is_kernel && task.name.as_str() == name)
    }

    /// A number in a setting.
    pub(super) fn number(&self, path: &str) -> Option<i64> {
        self.setup.setting(path)?.parse().ok()
    }

    /// Whether the kernel of this machine was built without this feature.
    pub(super) fn lacks(&self, path: &str) -> bool {
        self.setup.lacks(path)
    }
}

/// The first names of a list, and how many more there are.
pub(super) fn first_names(names: &[&str]) -> String {
    let shown = names.iter().take(MAX_NAMES).copied().collect::<Vec<&str>>();
    match names.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", shown.join(", ")),
        None => shown.join(", "),
    }
}

/// Why a recording of an earlier version says nothing.
pub(super) const OLD_RECORDING: &str = "the recording does not hold this setting";
