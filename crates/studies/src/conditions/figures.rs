//! The figures of a report that conditions may name, a set for each CPU.
//!
//! Series of one CPU are pooled: shares and rates over all of their time, the longest gap and the worst window of any. What the report does not know is not known
//! here: without kernel events a CPU has no `task:NAME`, and a condition on it is an error, never 0.

use super::outcome::same;
use super::{Condition, ConditionError, Figure, Unit};
use bandscope_recording::Manifest;
use bandscope_recording::manifest::EventsState;
use bandscope_report::{Cause, Certainty, Kind, Report, Series};
use std::collections::BTreeSet;

/// The line of the ledger that is no cause of gaps.
pub const LINE_OF_PACE: &str = "slower pace";

/// The figure of the longest gap.
pub const LONGEST_GAP: &str = "longest gap";

/// Figures by name, that a report may have; and families of names, each with a word for its members.
const NAMES: [(&str, Unit); 17] = [
    ("lost", Unit::Share),
    ("lost to gaps", Unit::Share),
    (LINE_OF_PACE, Unit::Share),
    ("gaps", Unit::PerSecond),
    ("pace", Unit::NsPerUnit),
    (LONGEST_GAP, Unit::Seconds),
    ("p50 gap", Unit::Seconds),
    ("p90 gap", Unit::Seconds),
    ("p99 gap", Unit::Seconds),
    ("p99.9 gap", Unit::Seconds),
    ("p99.99 gap", Unit::Seconds),
    ("worst 1 ms", Unit::Share),
    ("worst 10 ms", Unit::Share),
    ("worst 100 ms", Unit::Share),
    ("worst 1 s", Unit::Share),
    ("tick", Unit::Share),
    ("host", Unit::Share),
];
const FAMILIES: [&str; 7] = [
    "task:",
    "timer:",
    "irq:",
    "softirq:",
    "exception:",
    "throttled:",
    "held:",
];
/// All members of the families that have no others, as the kernel names them (`softirq_to_name` of kernel/softirq.c).
const MEMBERS: [(&str, &[&str]); 2] = [
    (
        "softirq:",
        &[
            "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU",
        ],
    ),
    ("throttled:", &["quota", "realtime"]),
];
/// Lines of the ledger that people seldom ask for, and that are in no list.
const OTHER_LINES: [&str; 6] = [
    "nmi",
    "stopped",
    "frozen",
    "other-tasks",
    "preempted",
    "unnamed",
];
const FINDING: &str = super::grammar::FINDING;
/// All members of a family.
const ALL: &str = "*";

/// The name of a figure of reports as this program writes it.
pub fn written(name: &str) -> Option<String> {
    named(name).map(|figure| figure.0)
}

/// The same, and its unit.
fn named(name: &str) -> Option<(String, Unit)> {
    if let Some((known, unit)) = NAMES.iter().find(|(known, _)| same(known, name)) {
        return Some(((*known).into(), *unit));
    }
    if let Some(known) = OTHER_LINES.iter().find(|known| same(known, name)) {
        return Some(((*known).into(), Unit::Share));
    }
    if let Some(kind) = name.strip_prefix(FINDING) {
        let is_known = kind == ALL || Kind::ALL.iter().any(|known| known.name() == kind);
        return is_known.then(|| (name.into(), Unit::Number));
    }
    let is_all = name.strip_suffix(ALL).is_some_and(is_family);
    (is_line(name) || is_all).then(|| (name.into(), Unit::Share))
}

/// Whether lines of the ledger begin so: `irq:`, or, of a family that takes any name, `task:kworker`.
pub(super) fn is_family(name: &str) -> bool {
    let is_of = |family: &&str| {
        let begin = name.strip_prefix(*family);
        begin.is_some_and(|begin| begin.is_empty() || closed(name).is_none())
    };
    FAMILIES.iter().any(is_of) && !name.ends_with(ALL)
}

/// The family of a name that has these members only.
fn closed(name: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    MEMBERS.iter().find(|(family, _)| name.starts_with(family))
}

/// Whether it is a line of a family that takes any name, or several that begin alike, so that nobody notices one that is misspelt.
pub fn is_any_name(name: &str) -> bool {
    let line = name.strip_suffix(ALL).unwrap_or(name);
    is_line(line) && closed(line).is_none() && line.contains(':')
}

/// How the lines begin of which a figure is the sum: `timer:` of `timer:*`.
pub fn all_of(name: &str) -> Option<&str> {
    name.strip_suffix(ALL).filter(|family| is_family(family))
}

/// Whether a figure is one line of the ledger, and no sum of several.
pub fn is_line(name: &str) -> bool {
    let is_member = |family: &str| {
        name.strip_prefix(family).is_some_and(|member| {
            let is_known = closed(name).is_none_or(|(_, members)| members.contains(&member));
            is_known && !member.is_empty() && !member.ends_with(ALL)
        })
    };
    FAMILIES.iter().any(|family| is_member(family))
        || [LINE_OF_PACE, "tick", "host"].contains(&name)
        || OTHER_LINES.contains(&name)
}

/// Refuses a condition that no report can answer, before anything is measured.
///
/// # Errors
/// If it names no figure of reports, its value has another unit or is beyond what the figure can be, or it asks for a change where there is no baseline.
pub fn known_to_reports(condition: &Condition, has_baseline: bool) -> Result<(), ConditionError> {
    let Some((_, unit)) = named(condition.figure()) else {
        let kinds = || {
            Kind::ALL
                .iter()
                .map(|kind| format!("{FINDING}{}", kind.name()))
        };
        let known: Vec<String> = match (condition.figure(), closed(condition.figure())) {
            (_, Some((family, members))) => (members.iter().chain([&ALL]))
                .map(|member| format!("{family}{member}"))
                .collect(),
            (name, None) if name.starts_with(FINDING) => {
                kinds().chain([format!("{FINDING}{ALL}")]).collect()
            }
            _ => (NAMES.iter().map(|(name, _)| (*name).to_owned()))
                .chain(FAMILIES.map(|family| format!("{family}NAME or {family}{ALL}")))
                .chain(OTHER_LINES.map(str::to_owned))
                .chain([format!("{FINDING}KIND")])
                .collect(),
        };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return Err(condition.unknown(&known));
    };
    condition.is_in_range(unit)?;
    match condition.is_change() && !has_baseline {
        true => Err(ConditionError::NoBaseline(condition.text().into())),
        false => Ok(()),
    }
}

/// The figures of a report, CPU by CPU, and those that conditions name besides.
pub fn figures(report: &Report, conditions: &[Condition]) -> Vec<Figure> {
    let cpus: BTreeSet<Option<u32>> = report.series.iter().map(|series| series.cpu).collect();
    let mut all = Vec::new();
    for cpu in cpus {
        let places = (0..report.series.len()).filter(|&place| report.series[place].cpu == cpu);
        let of = Of::new(report, cpu, places.collect());
        let mut figures = of.named();
        figures.extend(of.lines());
        for condition in conditions {
            let Some((name, unit)) = named(condition.figure()) else {
                continue;
            };
            if figures.iter().all(|figure| figure.name != name) {
                figures.push(of.figure(&name, unit, of.asked(&name)));
            }
        }
        all.extend(figures);
    }
    all
}

/// The series of one CPU.
struct Of<'a> {
    report: &'a Report,
    cpu: Option<u32>,
    places: Vec<usize>,
    series: Vec<&'a Series>,
    wall_ns: f64,
    /// Whether kernel events say what gaps were.
    is_named: bool,
}

impl<'a> Of<'a> {
    fn new(report: &'a Report, cpu: Option<u32>, places: Vec<usize>) -> Of<'a> {
        let series: Vec<&Series> = places.iter().map(|&place| &report.series[place]).collect();
        let has_events = |manifest: &Manifest| {
            manifest.events.state == EventsState::On && !manifest.is_imported()
        };
        Of {
            report,
            cpu,
            wall_ns: series.iter().map(|one| one.ledger.wall_ns as f64).sum(),
            places,
            series,
            is_named: report.recording.as_ref().is_some_and(has_events),
        }
    }

    fn figure(&self, name: &str, unit: Unit, value: Option<f64>) -> Figure {
        Figure {
            name: name.into(),
            cpu: self.cpu,
            unit,
            value,
            ..Figure::default()
        }
    }

    /// Share of the wall time; `None` without any.
    fn share(&self, ns: f64) -> Option<f64> {
        (self.wall_ns > 0.0).then(|| ns / self.wall_ns)
    }

    /// Time in gaps of the causes that a test takes.
    fn of_causes(&self, takes: impl Fn(&Cause) -> bool) -> f64 {
        let ledgers = self.series.iter().flat_map(|one| &one.ledger.gaps_ns);
        let taken = ledgers.filter(|(cause, _)| takes(cause));
        // A sum of nothing is -0 otherwise.
        0.0 + taken.map(|(_, &ns)| ns as f64).sum::<f64>()
    }

    fn named(&self) -> Vec<Figure> {
        let pace: f64 = (self.series.iter())
            .map(|one| one.ledger.pace_ns.total() as f64)
            .sum();
        let gaps = self.of_causes(|_| true);
        let mut figures = vec![
            self.figure("lost", Unit::Share, self.share(pace + gaps)),
            self.figure("lost to gaps", Unit::Share, self.share(gaps)),
            self.figure(LINE_OF_PACE, Unit::Share, self.share(pace)),
        ];
        figures.extend(self.of_gaps());
        for (name, _) in NAMES.iter().filter(|(name, _)| name.starts_with("worst ")) {
            figures.extend(self.worst(name));
        }
        for name in ["task:*", "timer:*", "irq:*", "softirq:*", "tick", "host"] {
            figures.push(self.figure(name, Unit::Share, self.asked(name)));
        }
        figures
    }

    /// Number, pace between them, and lengths; nothing of files of counts.
    fn of_gaps(&self) -> Vec<Figure> {
        let known: Option<Vec<_>> = self.series.iter().map(|one| one.gaps.as_ref()).collect();
        let Some(gaps) = known else {
            return Vec::new();
        };
        let number: f64 = gaps.iter().map(|one| one.number as f64).sum();
        let lost: f64 = gaps.iter().map(|one| one.lost_ns as f64).sum();
        let seconds: f64 = self.series.iter().map(|one| one.duration_s).sum();
        let per_second = (seconds > 0.0).then(|| number / seconds);
        let mut figures = vec![self.figure("gaps", Unit::PerSecond, per_second)];
        let kernels: BTreeSet<&str> = self.series.iter().map(|one| &*one.kernel).collect();
        // Units of two work kernels have no pace in common.
        if kernels.len() == 1 {
            let units: f64 = self.series.iter().map(|one| one.units as f64).sum();
            let pace = (units > 0.0).then(|| (self.wall_ns - lost) / units);
            figures.push(self.figure("pace", Unit::NsPerUnit, pace));
        }
        let longest = gaps.iter().flat_map(|one| one.longest.first());
        let longest = longest.max_by(|a, b| a.ns.total_cmp(&b.ns));
        let mut figure = self.figure(LONGEST_GAP, Unit::Seconds, Some(0.0));
        if let Some(gap) = longest {
            (figure.value, figure.at_s) = (Some(gap.ns / 1e9), Some(gap.at_s));
            figure.by = self.is_named.then(|| gap.cause.to_string());
        }
        figures.push(figure);
        for percent in [50.0, 90.0, 99.0, 99.9, 99.99] {
            let of = gaps.iter().flat_map(|one| &one.percentiles);
            let of = of.filter(|one| one.percent == percent).map(|one| one.ns);
            let value = of.fold(0.0, f64::max) / 1e9;
            figures.push(self.figure(&format!("p{percent} gap"), Unit::Seconds, Some(value)));
        }
        figures
    }

    /// The share of work in the worst window of some length, where a series is long enough.
    fn worst(&self, name: &str) -> Option<Figure> {
        let windows = self.series.iter().flat_map(|one| &one.availability);
        let written = |seconds: f64| match seconds < 1.0 {
            true => format!("worst {} ms", (seconds * 1e3).round()),
            false => format!("worst {seconds} s"),
        };
        let of_length = windows.filter(|window| written(window.window_s) == name);
        let worst = of_length.min_by(|a, b| a.worst.total_cmp(&b.worst))?;
        let mut figure = self.figure(name, Unit::Share, Some(worst.worst));
        figure.at_s = Some(worst.at_s);
        Some(figure)
    }

    /// A line of the ledger for each cause, where it is known what gaps were.
    fn lines(&self) -> Vec<Figure> {
        let causes = self.series.iter().flat_map(|one| one.ledger.gaps_ns.keys());
        let causes: BTreeSet<&Cause> = causes.collect();
        let line = |cause: &Cause| {
            let share = self.share(self.of_causes(|one| one == cause));
            self.figure(&cause.to_string(), Unit::Share, share)
        };
        // Those that have a name of their own are there already.
        let other = |cause: &&&Cause| !matches!(cause, Cause::Tick | Cause::Host);
        match self.is_named {
            true => causes
                .iter()
                .filter(other)
                .map(|cause| line(cause))
                .collect(),
            false => Vec::new(),
        }
    }

    /// What a condition asks for that not every report lists.
    fn asked(&self, name: &str) -> Option<f64> {
        if let Some(kind) = name.strip_prefix(FINDING) {
            return Some(self.findings(kind));
        }
        // Any other figure that is not there could not be computed.
        if !is_line(name) && !name.ends_with(ALL) {
            return None;
        }
        let is_task =
            |cause: &Cause| matches!(cause, Cause::Task(_) | Cause::OtherTasks | Cause::Preempted);
        let family = name.strip_suffix(ALL);
        let is_all_tasks = family == Some("task:");
        // That a task ran is known without kernel events, but not which one.
        let preempted = |one: &Series| {
            one.gaps
                .as_ref()
                .is_some_and(|gaps| gaps.preempted.is_some())
        };
        if !(self.is_named || is_all_tasks && self.series.iter().all(|one| preempted(one))) {
            return None;
        }
        self.share(self.of_causes(|cause| match family {
            Some(_) if is_all_tasks => is_task(cause),
            Some(family) => cause.to_string().starts_with(family),
            None => cause.to_string() == name,
        }))
    }

    /// Findings of a kind, or all that cost something; what is only possible fails no gate.
    fn findings(&self, kind: &str) -> f64 {
        let findings = self.report.findings.iter().filter(|finding| {
            let is_meant = match kind == ALL {
                true => !finding.is_side_effect(),
                false => finding.kind.name() == kind,
            };
            let is_here = finding
                .series
                .iter()
                .any(|place| self.places.contains(place));
            is_meant && is_here && finding.certainty >= Certainty::Likely
        });
        findings.count() as f64
    }
}

/// Why a figure is not known, and what to do.
pub fn next_step(name: &str) -> &'static str {
    match written(name).is_some_and(|name| is_line(&name)) || name.contains(':') {
        true => ": kernel events were not recorded; run it as root",
        false => " of this recording: it is too short, or holds counts only",
    }
}
