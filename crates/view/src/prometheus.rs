//! Reports, and a check of them, as metrics for Prometheus: what `node_exporter` reads from a file (docs/prometheus.md).
//!
//! Takes reports from `analysis` and a check from `studies`; series of one CPU are added up, as conditions do. Names and units follow
//! <https://prometheus.io/docs/practices/naming/>. How many samples there are does not depend on what runs on the machine: labels are CPUs, work
//! kernels, words of closed sets, and conditions. Of names of tasks and interrupts there are `MAX_NAMES` for each CPU.

mod exposition;
#[cfg(test)]
mod tests;

use crate::{Error, Format, Options};
use bandscope_analysis::{Analysis, without_number};
use bandscope_recording::Manifest;
use bandscope_recording::manifest::EventsState;
use bandscope_report::{Cause, Gaps, Ledger, Report, Series};
use bandscope_studies::check::{Change, Check};
use bandscope_studies::conditions::Unit;
use exposition::Page;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Names of tasks, interrupts and the like for each CPU, the costliest.
const MAX_NAMES: usize = 10;
/// A name that takes a smaller share of the time is left out: chosen, so that short-lived tasks leave no series in a database.
const MIN_NAMED_SHARE: f64 = 1e-4;
/// Bounds of the buckets of gaps: 2^10 ns, then each four times the one before, up to 2^30 ns, about a second.
const BUCKETS: std::ops::RangeInclusive<i32> = 5..=15;
/// A nanosecond in seconds.
const NS: f64 = 1e-9;

/// The format `prometheus`.
#[derive(Clone, Copy, Debug)]
pub struct Prometheus;

impl Format for Prometheus {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn render(
        &self,
        analysis: &Analysis,
        options: &Options,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let reports = std::slice::from_ref(&analysis.report);
        write(reports, options.check.as_ref(), out)
    }
}

/// Writes the metrics of the runs of one machine, and what a check of them came to.
///
/// # Errors
/// [`Error::Moments`] if a recording holds only moments; [`Error::SeveralTasks`] if there are parts of several, of whose nodes no label tells;
/// [`Error::Write`] if `out` fails.
pub fn write(reports: &[Report], check: Option<&Check>, out: &mut dyn Write) -> Result<(), Error> {
    let mut manifests = reports.iter().filter_map(|one| one.recording.as_ref());
    if manifests.any(Manifest::keeps_moments) {
        return Err(Error::Moments);
    }
    let mut series = reports.iter().flat_map(|report| &report.series);
    if let Some(first) = series.next()
        && series.any(|one| one.place != first.place)
    {
        return Err(Error::SeveralTasks(first.origin.clone()));
    }
    let mut page = Page::default();
    page.gauge("info", "The version of bandscope that wrote this.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    let is_named = !reports.is_empty() && reports.iter().all(has_events);
    page.gauge(
        "causes_known",
        "1 if kernel events were recorded, which name the causes of gaps.",
    )
    .sample(&[], f64::from(u8::from(is_named)));
    let cpus = cpus(reports);
    shares(&cpus, &mut page);
    causes(&cpus, is_named, &mut page);
    gaps(&cpus, &mut page);
    windows(&cpus, &mut page);
    paces(&cpus, &mut page);
    findings(reports, &mut page);
    if let Some(check) = check {
        outcome(check, &mut page);
        changes(check, &mut page);
    }
    page.write(out)
}

/// Whether kernel events say what gaps were.
fn has_events(report: &Report) -> bool {
    let manifest = report.recording.as_ref();
    manifest.is_some_and(|one| one.events.state == EventsState::On && !one.is_imported())
}

/// All series of one CPU.
struct Cpu<'a> {
    /// Its number; empty where it is not known.
    label: String,
    series: Vec<&'a Series>,
}

fn cpus(reports: &[Report]) -> Vec<Cpu<'_>> {
    let mut cpus: BTreeMap<Option<u32>, Vec<&Series>> = BTreeMap::new();
    for series in reports.iter().flat_map(|report| &report.series) {
        cpus.entry(series.cpu).or_default().push(series);
    }
    let cpus = cpus.into_iter();
    cpus.map(|(cpu, series)| Cpu {
        label: number(cpu),
        series,
    })
    .collect()
}

fn number(cpu: Option<u32>) -> String {
    cpu.map_or(String::new(), |cpu| cpu.to_string())
}

impl Cpu<'_> {
    fn ns(&self, of: impl Fn(&Ledger) -> f64) -> f64 {
        self.series.iter().map(|one| of(&one.ledger)).sum()
    }

    /// Share of the time measured; `None` without any.
    fn share(&self, ns: f64) -> Option<f64> {
        let wall_ns = self.ns(|ledger| ledger.wall_ns as f64);
        (wall_ns > 0.0).then(|| ns / wall_ns)
    }

    /// Of each series; `None` where one has no gaps, as files of counts do.
    fn gaps(&self) -> Option<Vec<&Gaps>> {
        self.series.iter().map(|one| one.gaps.as_ref()).collect()
    }
}

/// What the time of a CPU comes to, but for the causes of losses.
fn shares(cpus: &[Cpu<'_>], page: &mut Page) {
    let time = page.gauge("measured_seconds", "Time measured.");
    for cpu in cpus {
        let wall_ns = cpu.ns(|ledger| ledger.wall_ns as f64);
        time.sample(&[("cpu", &cpu.label)], wall_ns * NS);
    }
    type Line = fn(&Ledger) -> f64;
    let lines: [(&str, &str, Line); 3] = [
        (
            "work_ratio",
            "Share of the time that went to work.",
            |one| one.work_ns as f64,
        ),
        (
            "measurement_ratio",
            "Share of the time that bandscope took itself.",
            |one| one.measurement_ns as f64,
        ),
        (
            "unexplained_ratio",
            "Share of the time that no other metric accounts for.",
            |one| one.unexplained_ns as f64,
        ),
    ];
    for (name, help, line) in lines {
        let metric = page.gauge(name, help);
        for cpu in cpus {
            metric.sample(&[("cpu", &cpu.label)], cpu.share(cpu.ns(line)));
        }
    }
}

/// Lost time by kind of cause, and by name.
fn causes(cpus: &[Cpu<'_>], is_named: bool, page: &mut Page) {
    let lost = page.gauge(
        "lost_ratio",
        "Share of the time lost to a cause: the causes of gaps, and a slower pace.",
    );
    for cpu in cpus {
        // Without kernel events nothing says that a cause took no time.
        let known = Cause::KINDS.iter().filter(|_| is_named);
        let mut kinds: BTreeMap<&str, f64> = known.map(|kind| (*kind, 0.0)).collect();
        for (cause, &ns) in cpu.series.iter().flat_map(|one| &one.ledger.gaps_ns) {
            *kinds.entry(cause.kind()).or_default() += ns as f64;
        }
        let pace = |of: fn(&Ledger) -> u64| cpu.ns(|ledger| of(ledger) as f64);
        kinds.extend([
            ("pace:frequency", pace(|one| one.pace_ns.frequency)),
            (
                "pace:microarchitecture",
                pace(|one| one.pace_ns.microarchitecture),
            ),
            ("pace:unsplit", pace(|one| one.pace_ns.unsplit)),
        ]);
        for (cause, ns) in kinds {
            lost.sample(&[("cpu", &cpu.label), ("cause", cause)], cpu.share(ns));
        }
    }
    let named = page.gauge(
        "lost_by_name_ratio",
        "Share of the time lost to a task, an interrupt and the like by name, the costliest.",
    );
    for cpu in cpus.iter().filter(|_| is_named) {
        for (kind, name, share) in costliest(cpu) {
            let labels = [("cpu", &*cpu.label), ("cause", kind), ("name", &name)];
            named.sample(&labels, share);
        }
    }
}

/// Kind, name and share of what took most of a CPU's time, at most [`MAX_NAMES`].
fn costliest<'a>(cpu: &Cpu<'a>) -> Vec<(&'a str, String, f64)> {
    let mut sums: BTreeMap<(&str, String), f64> = BTreeMap::new();
    for (cause, &ns) in cpu.series.iter().flat_map(|one| &one.ledger.gaps_ns) {
        if !cause.name().is_empty() {
            // A kernel worker has another number every few minutes.
            let whole = without_number(&cause.to_string());
            let name = whole.split_once(':').map_or("", |(_, name)| name);
            *sums.entry((cause.kind(), name.to_owned())).or_default() += ns as f64;
        }
    }
    let shares = sums.into_iter();
    let mut shares: Vec<_> = shares
        .filter_map(|((kind, name), ns)| Some((kind, name, cpu.share(ns)?)))
        .filter(|one| one.2 >= MIN_NAMED_SHARE)
        .collect();
    shares.sort_by(|a, b| b.2.total_cmp(&a.2));
    shares.truncate(MAX_NAMES);
    shares
}

/// How many gaps, and how long.
fn gaps(cpus: &[Cpu<'_>], page: &mut Page) {
    let known: Vec<(&Cpu<'_>, Vec<&Gaps>)> = cpus
        .iter()
        .filter_map(|cpu| Some((cpu, cpu.gaps()?)))
        .collect();
    let rate = page.gauge("gaps_per_second", "Gaps per second of the time measured.");
    for (cpu, gaps) in &known {
        let number: f64 = gaps.iter().map(|one| one.number as f64).sum();
        rate.sample(&[("cpu", &cpu.label)], cpu.share(number / NS));
    }
    let longest = page.gauge("longest_gap_seconds", "The longest gap.");
    for (cpu, gaps) in &known {
        let ns = gaps.iter().flat_map(|one| one.longest.first());
        let ns = ns.map(|gap| gap.ns).fold(0.0, f64::max);
        longest.sample(&[("cpu", &cpu.label)], ns * NS);
    }
    let lengths = page.histogram(
        "gap_seconds",
        "Lengths of the gaps of this run alone; each run begins at 0, so take no rate of it.",
    );
    for (cpu, gaps) in &known {
        let bins = || gaps.iter().flat_map(|one| &one.histogram);
        let number = |bound_ns: f64| -> u64 {
            let below = bins().filter(|bin| bin.from_ns < bound_ns);
            below.map(|bin| bin.number).sum()
        };
        let buckets = BUCKETS.map(|power| 4f64.powi(power));
        let buckets: Vec<(f64, u64)> = buckets.map(|ns| (ns / 1e9, number(ns))).collect();
        let sum_s = bins().map(|bin| bin.total_ns * NS).sum();
        let all = (number(f64::INFINITY), sum_s);
        lengths.distribution(&[("cpu", &cpu.label)], &buckets, all);
    }
}

/// The worst window of each length.
fn windows(cpus: &[Cpu<'_>], page: &mut Page) {
    let metric = page.gauge(
        "worst_window_work_ratio",
        "Share of work in the worst window of a length.",
    );
    for cpu in cpus {
        // Lengths are positive, so their bits are in order.
        let mut worst: BTreeMap<u64, f64> = BTreeMap::new();
        for window in cpu.series.iter().flat_map(|one| &one.availability) {
            let least = worst.entry(window.window_s.to_bits()).or_insert(1.0);
            *least = least.min(window.worst);
        }
        for (length, share) in worst {
            let length = f64::from_bits(length).to_string();
            metric.sample(&[("cpu", &cpu.label), ("window_seconds", &length)], share);
        }
    }
}

/// How long a unit of work takes, without gaps.
fn paces(cpus: &[Cpu<'_>], page: &mut Page) {
    let metric = page.gauge(
        "unit_seconds",
        "Mean time for a unit of work, without gaps: the pace.",
    );
    for cpu in cpus {
        let mut kernels: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for series in &cpu.series {
            if let Some(gaps) = &series.gaps {
                let (ns, units) = kernels.entry(&series.kernel).or_default();
                *ns += series.ledger.wall_ns as f64 - gaps.lost_ns as f64;
                *units += series.units as f64;
            }
        }
        for (kernel, (ns, units)) in kernels {
            // Without units it is no number, and left out.
            metric.sample(&[("cpu", &cpu.label), ("kernel", kernel)], ns * NS / units);
        }
    }
}

/// Each kind on each CPU, once for each certainty; what measuring makes by itself is left out.
fn findings(reports: &[Report], page: &mut Page) {
    let mut found = BTreeSet::new();
    for report in reports {
        for finding in report.findings.iter().filter(|one| !one.is_side_effect()) {
            let series = finding.series.iter();
            for cpu in series.filter_map(|&place| Some(report.series.get(place)?.cpu)) {
                found.insert((cpu, finding.kind.name(), finding.certainty.name()));
            }
        }
    }
    let metric = page.gauge("finding_info", "1 for each finding of the report.");
    for (cpu, kind, certainty) in found {
        let cpu = number(cpu);
        let labels = [("cpu", &*cpu), ("kind", kind), ("confidence", certainty)];
        metric.sample(&labels, 1.0);
    }
}

/// What passed: all, each CPU, each condition and each figure of a baseline.
fn outcome(check: &Check, page: &mut Page) {
    let passed = |passes: bool| f64::from(u8::from(passes));
    page.gauge("check_passed", "1 if every CPU passes the check, else 0.")
        .sample(&[], passed(check.passes));
    let metric = page.gauge("check_cpu_passed", "1 if a CPU passes, else 0.");
    for cpu in &check.cpus {
        metric.sample(&[("cpu", &number(cpu.cpu))], passed(cpu.passes));
    }
    let metric = page.gauge(
        "check_condition_passed",
        "1 if a CPU passes a condition of --fail-if, else 0.",
    );
    for cpu in &check.cpus {
        // A condition may be given twice.
        let conditions = cpu.conditions.iter();
        let conditions: BTreeMap<&str, bool> =
            conditions.map(|one| (&*one.condition, one.met)).collect();
        for (condition, met) in conditions {
            let labels = [("cpu", &*number(cpu.cpu)), ("condition", condition)];
            metric.sample(&labels, passed(!met));
        }
    }
    let metric = page.gauge(
        "check_figure_passed",
        "1 if a figure is not worse than in the baseline, else 0.",
    );
    for cpu in &check.cpus {
        for change in &cpu.changes {
            let labels = [("cpu", &*number(cpu.cpu)), ("figure", &change.name)];
            metric.sample(&labels, passed(!change.fails));
        }
    }
}

/// Figures of a baseline, as measured, as in the baseline, and their limit: a metric for each unit.
fn changes(check: &Check, page: &mut Page) {
    type Value = fn(&Change) -> f64;
    let values: [(&str, &str, Value); 3] = [
        (
            "measured",
            "A figure of the baseline, as measured.",
            |one| one.value,
        ),
        ("baseline", "A figure, as in the baseline.", |one| {
            one.baseline
        }),
        (
            "limit",
            "A figure is worse than in the baseline beyond this.",
            |one| one.limit,
        ),
    ];
    // The units of the figures that are judged (`studies::check::JUDGED`), and what they are in base units.
    let units = [
        (Unit::Share, "ratio", 1.0),
        (Unit::PerSecond, "per_second", 1.0),
        (Unit::NsPerUnit, "seconds", NS),
    ];
    for (unit, suffix, scale) in units {
        for (what, help, value) in values {
            let metric = page.gauge(&format!("check_{what}_{suffix}"), help);
            for cpu in &check.cpus {
                for change in cpu.changes.iter().filter(|one| one.unit == unit) {
                    let labels = [("cpu", &*number(cpu.cpu)), ("figure", &change.name)];
                    metric.sample(&labels, value(change) * scale);
                }
            }
        }
    }
}
