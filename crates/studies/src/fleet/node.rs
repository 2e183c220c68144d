//! What is kept of a node while others are read: figures over its CPUs, and how it is set up.

use super::at_once::Timed;
use super::facts::{CPU, KERNEL};
use super::lengths::Lengths;
use bandscope_recording::summary::{CpuSummary, LongGap, Summary, WorstWindow};
use bandscope_statistics::order::least_of_each;
use std::collections::BTreeMap;

/// A figure of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Line {
    /// All that was lost.
    Lost,
    /// Lost in one way.
    Loss(String),
    /// By the causes of one [`family`] of it.
    Cause(String, String),
}

/// A cause as other nodes have it: without the numbers that tell `job-17` from `job-18`, or `kworker/3:1` from that of another CPU. That of a family is itself.
pub(super) fn family(cause: &str) -> &str {
    let mut name = cause;
    while let Some(kind) = without_number(name).filter(|kind| !kind.is_empty()) {
        name = kind;
    }
    name
}

/// A name without the number at its end; `None` where it has none. In `irq/24-nvme0q1` the name comes after the number.
fn without_number(name: &str) -> Option<&str> {
    let is_digit = |one: char| one.is_ascii_digit();
    let is_number = |end: &str| {
        // Workers of no CPU have the number of their pool: `kworker/u8:3`.
        let end = end.strip_prefix('u').unwrap_or(end);
        let rest = end.trim_start_matches(is_digit);
        rest.len() < end.len() && !rest.starts_with('-')
    };
    match name.rsplit_once('/') {
        Some((kind, end)) if is_number(end) => Some(kind),
        _ => {
            let kind = name.trim_end_matches(is_digit);
            let is_numbered = kind.len() < name.len();
            kind.strip_suffix(['-', '_', '.']).filter(|_| is_numbered)
        }
    }
}

/// What causes of one family are called: by their name where all have one.
pub(super) fn shared_name<'a>(causes: &[&'a str]) -> &'a str {
    match causes {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => first,
        [first, ..] => family(first),
        [] => "",
    }
}

/// What one CPU has of a figure.
#[derive(Clone, Copy, Debug, Default)]
struct OnCpu {
    share: f64,
    error: f64,
    cpu: Option<u32>,
    /// All that this CPU lost.
    lost: f64,
}

/// A figure over the CPUs of a node.
#[derive(Clone, Debug, Default)]
struct Across {
    sum: f64,
    /// Sum of their standard errors: how CPUs of one node depend on each other is not known.
    errors: f64,
    /// The CPU that has most.
    worst: OnCpu,
    /// What the next one has.
    second: f64,
}

impl Across {
    fn add(&mut self, one: OnCpu) {
        self.sum += one.share;
        self.errors += one.error;
        self.place(one);
    }

    fn place(&mut self, one: OnCpu) {
        if one.share > self.worst.share {
            self.second = self.worst.share;
            self.worst = one;
        } else {
            self.second = self.second.max(one.share);
        }
    }

    fn merge(&mut self, other: &Across) {
        self.sum += other.sum;
        self.errors += other.errors;
        self.place(other.worst);
        self.second = self.second.max(other.second);
    }
}

/// One CPU, over the tasks that measured it.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    tasks: u32,
    /// Share of its time that it lost: of several tasks, the largest. Single precision, as a fleet keeps a million of them.
    lost: f32,
}

/// Which value of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Of {
    /// The mean of all CPUs.
    All,
    /// The CPU that has most.
    Worst,
}

/// One node, or what was read of it so far.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub(super) name: String,
    /// Where it was read; parts of one node are of one origin.
    pub(super) origin: String,
    /// The run, where it is known.
    pub(super) run: String,
    /// The kernel's random name of its boot, where it was told.
    pub(super) boot: Option<String>,
    pub(super) facts: BTreeMap<String, String>,
    pub(super) cpus: u32,
    pub(super) measured_s: f64,
    /// Each CPU; all that a file does not number are one.
    measured: BTreeMap<Option<u32>, Measured>,
    lines: BTreeMap<Line, Across>,
    /// The one name that a family has on this node; `None` where that is the family's own, or it has several.
    names: BTreeMap<Line, Option<String>>,
    /// Its longest gaps by the clock of the job's first task, where that is known.
    pub(super) timed: Option<Timed>,
    /// Of each length the window in which least work was done, and on which CPU.
    pub(super) worst: Vec<(Option<u32>, WorstWindow)>,
    /// Its longest gap, and on which CPU.
    pub(super) longest: Option<(Option<u32>, LongGap)>,
    pub(super) lengths: Lengths,
}

impl Node {
    /// The figures of a summary that was read at `origin`.
    pub fn new(summary: Summary, origin: &str) -> Node {
        let mut node = Node {
            timed: Timed::new(&summary),
            name: summary.node,
            origin: origin.into(),
            run: summary.run,
            boot: summary.boot_id,
            facts: summary.facts,
            ..Node::default()
        };
        summary.cpus.iter().for_each(|cpu| node.add_cpu(cpu));
        node
    }

    fn add_cpu(&mut self, cpu: &CpuSummary) {
        self.cpus += 1;
        self.measured_s = self.measured_s.max(cpu.measured_s);
        let lost = cpu.lost as f32;
        self.measure(cpu.cpu, Measured { tasks: 1, lost });
        let mut add = |line: Line, share: f64, error: Option<f64>| {
            self.lines.entry(line).or_default().add(OnCpu {
                share,
                error: error.unwrap_or(0.0),
                cpu: cpu.cpu,
                lost: cpu.lost,
            });
        };
        add(Line::Lost, cpu.lost, cpu.lost_error);
        for loss in &cpu.losses {
            add(Line::Loss(loss.loss.clone()), loss.share, loss.error);
            let mut families: BTreeMap<&str, f64> = BTreeMap::new();
            for (cause, share) in &loss.causes {
                let kind = family(cause);
                *families.entry(kind).or_default() += share;
                let line = Line::Cause(loss.loss.clone(), kind.to_owned());
                let name = (kind != cause).then(|| cause.clone());
                keep_name(&mut self.names, line, name);
            }
            for (kind, share) in families {
                add(Line::Cause(loss.loss.clone(), kind.to_owned()), share, None);
            }
        }
        self.lengths.add(cpu);
        let windows = cpu.worst.iter();
        self.keep_worst(windows.map(|window| (cpu.cpu, window.clone())));
        if let Some(gap) = cpu.longest.first() {
            self.keep_longest((cpu.cpu, gap.clone()));
        }
    }

    fn keep_worst(&mut self, more: impl Iterator<Item = (Option<u32>, WorstWindow)>) {
        let all = std::mem::take(&mut self.worst).into_iter().chain(more);
        self.worst = least_of_each(all, |one| (one.1.window_s, one.1.worst));
    }

    fn keep_longest(&mut self, one: (Option<u32>, LongGap)) {
        if (self.longest.as_ref()).is_none_or(|known| known.1.ns < one.1.ns) {
            self.longest = Some(one);
        }
    }

    fn measure(&mut self, cpu: Option<u32>, more: Measured) {
        let measured = self.measured.entry(cpu).or_default();
        measured.tasks += more.tasks;
        measured.lost = measured.lost.max(more.lost);
    }

    /// The same by another name.
    #[must_use]
    pub fn named(self, name: String) -> Node {
        Node { name, ..self }
    }

    /// Adds another task's CPUs.
    pub(super) fn merge(&mut self, other: Node) {
        self.cpus += other.cpus;
        self.measured_s = self.measured_s.max(other.measured_s);
        for (cpu, more) in other.measured {
            self.measure(cpu, more);
        }
        self.timed = match (self.timed.take(), other.timed) {
            (Some(one), Some(other)) => one.joined(other),
            (one, other) => one.or(other),
        };
        for (line, of) in other.lines {
            self.lines.entry(line).or_default().merge(&of);
        }
        for (line, name) in other.names {
            keep_name(&mut self.names, line, name);
        }
        self.lengths.merge(&other.lengths);
        self.keep_worst(other.worst.into_iter());
        (other.longest.into_iter()).for_each(|one| self.keep_longest(one));
    }

    /// What it is compared within: CPU and kernel.
    pub(super) fn group(&self) -> [String; 2] {
        [CPU, KERNEL].map(|name| self.facts.get(name).cloned().unwrap_or_default())
    }

    /// The CPU that most tasks measured, and how many; `None` where each had its own.
    pub(super) fn shared_cpu(&self) -> Option<(u32, u32)> {
        let numbered = self.measured.iter();
        let numbered = numbered.filter_map(|(cpu, of)| Some(((*cpu)?, of.tasks)));
        numbered
            .max_by_key(|(_, tasks)| *tasks)
            .filter(|(_, tasks)| *tasks > 1)
    }

    /// What each CPU lost, by number.
    pub(super) fn lost_by_cpu(&self) -> Vec<(Option<u32>, f32)> {
        let measured = self.measured.iter();
        measured.map(|(cpu, of)| (*cpu, of.lost)).collect()
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.keys()
    }

    /// What a cause is called on this node.
    pub(super) fn cause_name<'a>(&'a self, line: &'a Line) -> &'a str {
        match (self.names.get(line), line) {
            (Some(Some(name)), _) | (_, Line::Cause(_, name)) => name,
            (_, Line::Lost | Line::Loss(_)) => "",
        }
    }

    /// A figure; 0 where it lost nothing so.
    pub(super) fn value(&self, line: &Line, of: Of) -> f64 {
        self.lines.get(line).map_or(0.0, |one| match of {
            Of::All => one.sum / f64::from(self.cpus.max(1)),
            Of::Worst => one.worst.share,
        })
    }

    /// Its standard error: of a mean the most that any dependence between the CPUs allows.
    pub(super) fn error(&self, line: &Line, of: Of) -> f64 {
        self.lines.get(line).map_or(0.0, |one| match of {
            Of::All => one.errors / f64::from(self.cpus.max(1)),
            Of::Worst => one.worst.error,
        })
    }

    /// The CPU that has most of it.
    pub(super) fn worst_cpu(&self, line: &Line) -> Option<u32> {
        self.lines.get(line)?.worst.cpu
    }

    /// What the CPU after that has.
    pub(super) fn second(&self, line: &Line) -> f64 {
        self.lines.get(line).map_or(0.0, |one| one.second)
    }

    /// All that the CPU loses which has most of it.
    pub(super) fn lost_there(&self, line: &Line) -> f64 {
        self.lines.get(line).map_or(0.0, |one| one.worst.lost)
    }
}

fn keep_name(names: &mut BTreeMap<Line, Option<String>>, line: Line, name: Option<String>) {
    let known = names.entry(line).or_insert_with(|| name.clone());
    if *known != name {
        *known = None;
    }
}
