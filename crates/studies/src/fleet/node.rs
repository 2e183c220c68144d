//! What is kept of a node while others are read: figures over its CPUs, and how it is set up.

use super::facts::{CPU, KERNEL};
use bandscope_recording::summary::{CpuSummary, Summary};
use std::collections::BTreeMap;

/// A figure of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    /// All that was lost.
    Lost,
    /// Lost in one way.
    Loss(String),
    /// By one cause of it.
    Cause(String, String),
}

/// A figure over the CPUs of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Across {
    sum: f64,
    /// Sum of the squares of their standard errors.
    square: f64,
    /// Of the CPU that has most.
    worst: f64,
    worst_error: f64,
    pub(super) worst_cpu: Option<u32>,
}

/// Which value of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub(super) facts: BTreeMap<String, String>,
    pub(super) cpus: u32,
    pub(super) measured_s: f64,
    lines: BTreeMap<Line, Across>,
}

impl From<Summary> for Node {
    fn from(summary: Summary) -> Node {
        let mut node = Node {
            name: summary.node,
            facts: summary.facts,
            ..Node::default()
        };
        summary.cpus.iter().for_each(|cpu| node.add_cpu(cpu));
        node
    }
}

impl Node {
    fn add_cpu(&mut self, cpu: &CpuSummary) {
        self.cpus += 1;
        self.measured_s = self.measured_s.max(cpu.measured_s);
        self.add(Line::Lost, cpu.cpu, cpu.lost, cpu.lost_error);
        for loss in &cpu.losses {
            let line = Line::Loss(loss.loss.clone());
            self.add(line, cpu.cpu, loss.share, loss.error);
            for (cause, share) in &loss.causes {
                let line = Line::Cause(loss.loss.clone(), cause.clone());
                self.add(line, cpu.cpu, *share, None);
            }
        }
    }

    fn add(&mut self, line: Line, cpu: Option<u32>, share: f64, error: Option<f64>) {
        let error = error.unwrap_or(0.0);
        let one = self.lines.entry(line).or_default();
        one.sum += share;
        one.square += error * error;
        if share > one.worst {
            (one.worst, one.worst_error, one.worst_cpu) = (share, error, cpu);
        }
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
        for (line, of) in other.lines {
            let one = self.lines.entry(line).or_default();
            one.sum += of.sum;
            one.square += of.square;
            if of.worst > one.worst {
                (one.worst, one.worst_error, one.worst_cpu) =
                    (of.worst, of.worst_error, of.worst_cpu);
            }
        }
    }

    /// What it is compared within: CPU and kernel.
    pub(super) fn group(&self) -> [String; 2] {
        [CPU, KERNEL].map(|name| self.facts.get(name).cloned().unwrap_or_default())
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.keys()
    }

    /// A figure; 0 where it lost nothing so.
    pub(super) fn value(&self, line: &Line, of: Of) -> f64 {
        self.lines.get(line).map_or(0.0, |one| match of {
            Of::All => one.sum / f64::from(self.cpus.max(1)),
            Of::Worst => one.worst,
        })
    }

    /// Its standard error.
    pub(super) fn error(&self, line: &Line, of: Of) -> f64 {
        self.lines.get(line).map_or(0.0, |one| match of {
            Of::All => one.square.sqrt() / f64::from(self.cpus.max(1)),
            Of::Worst => one.worst_error,
        })
    }

    /// The CPU that has most of it.
    pub(super) fn worst_cpu(&self, line: &Line) -> Option<u32> {
        self.lines.get(line)?.worst_cpu
    }
}
