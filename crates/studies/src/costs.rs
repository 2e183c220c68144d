//! What the ledger of a recording says that each cause cost, on the CPUs that are judged: for `doctor` and `cure`.

use bandscope_report::{Cause, Series};
use std::collections::BTreeMap;
use std::fmt;

/// A line of a ledger on which a change of the machine can act.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    /// Time in gaps, by cause.
    Gap(Cause),
    /// A lower clock frequency.
    Frequency,
    /// A slower state of the core.
    Microarchitecture,
    /// One or the other.
    Unsplit,
}

/// As the keys of a ledger are written.
impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Gap(cause) => cause.fmt(formatter),
            Line::Frequency => formatter.write_str("pace:frequency"),
            Line::Microarchitecture => formatter.write_str("pace:microarchitecture"),
            Line::Unsplit => formatter.write_str("pace:unsplit"),
        }
    }
}

/// The lines of some ledgers together.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    /// Wall time of all of them.
    pub(crate) wall_ns: u64,
    /// Everything that was lost.
    pub(crate) lost_ns: u64,
    /// Lines that are not 0.
    pub(crate) lines: BTreeMap<Line, u64>,
}

impl Costs {
    /// Those of the series of `cpus`.
    pub(crate) fn of(series: &[Series], cpus: &[u32]) -> Costs {
        let mut costs = Costs::default();
        let is_judged = |series: &&Series| series.cpu.is_some_and(|cpu| cpus.contains(&cpu));
        for ledger in series.iter().filter(is_judged).map(|series| &series.ledger) {
            costs.wall_ns = costs.wall_ns.saturating_add(ledger.wall_ns);
            let lost = ledger.wall_ns.saturating_sub(ledger.work_ns);
            costs.lost_ns = costs.lost_ns.saturating_add(lost);
            let pace = &ledger.pace_ns;
            let paces = [
                (Line::Frequency, pace.frequency),
                (Line::Microarchitecture, pace.microarchitecture),
                (Line::Unsplit, pace.unsplit),
            ];
            let gaps = ledger.gaps_ns.iter();
            let gaps = gaps.map(|(cause, &ns)| (Line::Gap(cause.clone()), ns));
            for (line, ns) in gaps.chain(paces).filter(|line| line.1 > 0) {
                let sum = costs.lines.entry(line).or_insert(0);
                *sum = sum.saturating_add(ns);
            }
        }
        costs
    }

    /// A part of the wall time.
    pub(crate) fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.wall_ns.max(1) as f64
    }

    /// Time of gaps that nothing names.
    pub(crate) fn unnamed_ns(&self) -> u64 {
        let unnamed = [Cause::Unnamed, Cause::Preempted].map(Line::Gap);
        let ns = unnamed.iter().filter_map(|line| self.lines.get(line));
        ns.fold(0, |sum, &ns| sum.saturating_add(ns))
    }

    /// Time of gaps by what took it, as long as `name` takes it: the costliest first.
    pub(crate) fn names<'a>(
        &'a self,
        name: impl Fn(&'a Cause) -> Option<&'a str>,
    ) -> Vec<(&'a str, u64)> {
        let gaps = self.lines.iter().filter_map(|(line, &ns)| match line {
            Line::Gap(cause) => Some((name(cause)?, ns)),
            _ => None,
        });
        let mut names: Vec<(&str, u64)> = gaps.collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.1));
        names
    }
}
