//! Gaps by their length, in steps of ten: what a page can show of a node beside the median node.

use super::Node;
use bandscope_recording::summary::CpuSummary;
use bandscope_statistics::order::median;
use serde::Serialize;

/// Lengths from which a step goes, in nanoseconds; those before the first are of it, too.
const FROM_NS: [f64; 7] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Gaps of similar length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfLength {
    /// The shortest, in nanoseconds; the longest is ten times that.
    pub from_ns: f64,
    /// How many come in a second on a CPU.
    pub per_s: f64,
    /// Share of the time that they take.
    pub share: f64,
}

/// What the CPUs of a node have of each step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lengths {
    measured_s: f64,
    number: [f64; FROM_NS.len()],
    total_ns: [f64; FROM_NS.len()],
}

impl Lengths {
    /// Adds a CPU. A bin of a factor of two is of the step in which its middle lies.
    pub(super) fn add(&mut self, cpu: &CpuSummary) {
        self.measured_s += cpu.measured_s;
        for bin in &cpu.histogram {
            let middle = bin.from_ns * std::f64::consts::SQRT_2;
            let place = FROM_NS.partition_point(|from| *from <= middle);
            let place = place.saturating_sub(1);
            self.number[place] += bin.number as f64;
            self.total_ns[place] += bin.total_ns;
        }
    }

    pub(super) fn merge(&mut self, other: &Lengths) {
        self.measured_s += other.measured_s;
        for place in 0..FROM_NS.len() {
            self.number[place] += other.number[place];
            self.total_ns[place] += other.total_ns[place];
        }
    }

    /// Of each step.
    fn all(&self) -> impl Iterator<Item = OfLength> {
        let seconds = self.measured_s.max(f64::MIN_POSITIVE);
        (0..FROM_NS.len()).map(move |place| OfLength {
            from_ns: FROM_NS[place],
            per_s: self.number[place] / seconds,
            share: (self.total_ns[place] / 1e9 / seconds).min(1.0),
        })
    }

    /// Of each step that has gaps.
    pub(super) fn seen(&self) -> Vec<OfLength> {
        self.all().filter(|one| one.per_s > 0.0).collect()
    }
}

/// Medians of these nodes, of each step that has gaps on most of them.
pub(super) fn usual(nodes: &[&Node]) -> Vec<OfLength> {
    let all: Vec<Vec<OfLength>> = nodes
        .iter()
        .map(|node| node.lengths.all().collect())
        .collect();
    let steps = FROM_NS.into_iter().enumerate().map(|(place, from_ns)| {
        let of = |figure: fn(&OfLength) -> f64| {
            let figures = all.iter().map(|one| figure(&one[place]));
            median(figures).unwrap_or(0.0)
        };
        OfLength {
            from_ns,
            per_s: of(|one| one.per_s),
            share: of(|one| one.share),
        }
    });
    steps.filter(|one| one.per_s > 0.0).collect()
}
