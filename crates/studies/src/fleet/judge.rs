//! Which nodes of a group stand out, in what, and by which cause.
//!
//! Each way of losing time is a figure, as the mean of a node's CPUs and as its worst CPU. A figure stands out by its distance from the median of the group,
//! in units of the larger of the spread of the nodes (1.4826 median absolute deviations, Iglewicz and Hoaglin 1993) and of the node's own standard error; on a
//! scale of ratios as well, because shares of healthy nodes scatter by factors. It must be [`LEAST_EXCESS`] before any chance is computed; chances are corrected over
//! all figures of all nodes (Benjamini and Hochberg 1995).

use super::node::{Line, Node, Of};
use super::{Excess, Outlier};
use bandscope_statistics::distributions::student_beyond;
use bandscope_statistics::order::median;
use std::collections::{BTreeMap, BTreeSet};

/// Nodes of a group, at least: with fewer nobody knows how they scatter.
pub(super) const MIN_NODES: usize = 5;
/// An excess that is worth a look, as a share of a CPU's time.
pub(super) const LEAST_EXCESS: f64 = 0.005;
/// False discoveries among the nodes that stand out.
pub(super) const FALSE_DISCOVERIES: f64 = 0.01;
/// The spread of a figure is not believed below this: nodes that were measured for seconds agree no better.
const LEAST_SPREAD: f64 = 2e-4;
/// The same on the scale of ratios.
const LEAST_RATIO: f64 = 0.05;
/// A median absolute deviation tells as much of a normal distribution as the standard deviation of so much fewer (Rousseeuw and Croux 1993).
const EFFICIENCY: f64 = 0.37;
/// What is added before ratios are formed: below it a factor means nothing.
const NO_RATIO: f64 = 1e-3;
/// A normal distribution's standard deviation in median absolute deviations.
const DEVIATIONS: f64 = 1.4826;

/// A figure of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    pub(super) median: f64,
    pub(super) spread: f64,
    /// Of the logarithms of the same.
    spread_of_ratios: f64,
    /// Of a spread that so many nodes tell.
    freedom: f64,
}

impl Usual {
    /// Chance that a node like the others has `value` or more, which is known to `error`: the larger of both scales.
    fn chance(&self, value: f64, error: f64) -> f64 {
        let deviations = (value - self.median) / self.spread.max(error);
        let ratio = (logarithm(value) - logarithm(self.median))
            / self.spread_of_ratios.max(error / (value + NO_RATIO));
        // One side of it.
        student_beyond(deviations.min(ratio).max(0.0), self.freedom) / 2.0
    }
}

fn logarithm(share: f64) -> f64 {
    (share + NO_RATIO).ln()
}

/// What is usual of a figure.
pub(super) fn usual(nodes: &[&Node], line: &Line, of: Of) -> Usual {
    let values: Vec<f64> = nodes.iter().map(|node| node.value(line, of)).collect();
    let middle = median(values.iter().copied()).unwrap_or(0.0);
    let spread = |of: &dyn Fn(f64) -> f64| {
        let deviations = values.iter().map(|&value| (of(value) - of(middle)).abs());
        DEVIATIONS * median(deviations).unwrap_or(0.0)
    };
    Usual {
        median: middle,
        spread: spread(&|share| share).max(LEAST_SPREAD),
        spread_of_ratios: spread(&logarithm).max(LEAST_RATIO),
        freedom: EFFICIENCY * (nodes.len().max(2) - 1) as f64,
    }
}

/// A figure of a node that may stand out.
struct Test<'a> {
    node: usize,
    line: &'a Line,
    of: Of,
    excess: f64,
    usual: f64,
    /// Chance of it if the node were like the others.
    chance: f64,
}

/// The nodes of a group that stand out, those that lose most more than the others first.
pub(super) fn outliers(nodes: &[&Node]) -> Vec<Outlier> {
    if nodes.len() < MIN_NODES {
        return Vec::new();
    }
    let lines: BTreeSet<&Line> = nodes.iter().flat_map(|node| node.lines()).collect();
    let mut tests = Vec::new();
    let mut number = 0;
    for line in lines
        .into_iter()
        .filter(|line| !matches!(line, Line::Cause(..)))
    {
        for of in [Of::All, Of::Worst] {
            let usual = usual(nodes, line, of);
            number += nodes.len();
            tests.extend(nodes.iter().enumerate().filter_map(|(node, one)| {
                let excess = one.value(line, of) - usual.median;
                (excess >= LEAST_EXCESS).then(|| Test {
                    node,
                    line,
                    of,
                    excess,
                    usual: usual.median,
                    chance: usual.chance(one.value(line, of), one.error(line, of)),
                })
            }));
        }
    }
    let found = discovered(tests, number);
    let mut by_node: BTreeMap<usize, Vec<Test<'_>>> = BTreeMap::new();
    for test in found {
        by_node.entry(test.node).or_default().push(test);
    }
    let mut usual_of_causes = BTreeMap::new();
    let mut outliers: Vec<Outlier> = by_node
        .into_iter()
        .map(|(node, tests)| outlier(nodes, node, &tests, &mut usual_of_causes))
        .collect();
    outliers.sort_by(|a, b| b.excess.more.total_cmp(&a.excess.more));
    outliers
}

/// Those of `number` tests that hold at [`FALSE_DISCOVERIES`]; what was left out has a chance of 1.
fn discovered(mut tests: Vec<Test<'_>>, number: usize) -> Vec<Test<'_>> {
    tests.sort_by(|a, b| a.chance.total_cmp(&b.chance));
    let limit = |place: usize| FALSE_DISCOVERIES * (place + 1) as f64 / number as f64;
    let last = (0..tests.len()).rfind(|&place| tests[place].chance <= limit(place));
    tests.truncate(last.map_or(0, |last| last + 1));
    tests
}

/// A node that stands out, by the loss that has most of it: what is lost in all is the sum of others, and is named only where none of them stands out.
fn outlier(
    nodes: &[&Node],
    node: usize,
    tests: &[Test<'_>],
    usual_of_causes: &mut BTreeMap<(Line, bool), f64>,
) -> Outlier {
    let of_loss = |test: &&Test<'_>| matches!(test.line, Line::Loss(_));
    let most = |a: &&Test<'_>, b: &&Test<'_>| a.excess.total_cmp(&b.excess);
    let lead = (tests.iter().filter(of_loss).max_by(most)).or_else(|| tests.iter().max_by(most));
    let Some(lead) = lead else {
        return Outlier::default();
    };
    let one = nodes[node];
    let more = |of: Of| one.value(lead.line, of) - usual(nodes, lead.line, of).median;
    let (all, worst) = (more(Of::All), more(Of::Worst));
    // One CPU, if the others have less than a quarter of what that has more.
    let cpus = f64::from(one.cpus);
    let rest = (all * cpus - worst) / (cpus - 1.0).max(1.0);
    let is_one_cpu = lead.of == Of::Worst && one.cpus > 1 && rest < worst / 4.0;
    let of = if is_one_cpu { Of::Worst } else { Of::All };
    let loss = match lead.line {
        Line::Loss(loss) => loss.clone(),
        Line::Lost | Line::Cause(..) => String::new(),
    };
    let causes = one
        .lines()
        .filter(|line| matches!(line, Line::Cause(of, _) if *of == loss));
    let mut causes: Vec<(&Line, f64, f64)> = causes
        .map(|line| {
            let usual = usual_of_causes
                .entry((line.clone(), is_one_cpu))
                .or_insert_with(|| usual(nodes, line, of).median);
            (line, one.value(line, of), *usual)
        })
        .collect();
    causes.sort_by(|a, b| (b.1 - b.2).total_cmp(&(a.1 - a.2)));
    let (median, value) = match lead.of == of {
        true => (lead.usual, lead.usual + lead.excess),
        false => (usual(nodes, lead.line, of).median, one.value(lead.line, of)),
    };
    let by = causes
        .first()
        .filter(|(_, value, usual)| value - usual > (worst.max(all)) / 4.0);
    Outlier {
        node: one.name.clone(),
        cpu: is_one_cpu.then(|| one.worst_cpu(lead.line)).flatten(),
        lost: one.value(&Line::Lost, of),
        lost_usually: usual(nodes, &Line::Lost, of).median,
        excess: Excess {
            loss,
            share: value,
            usually: median,
            more: value - median,
        },
        by: by.map_or_else(String::new, |(line, ..)| match line {
            Line::Cause(_, name) => name.clone(),
            Line::Lost | Line::Loss(_) => String::new(),
        }),
        chance: lead.chance,
        differs: Vec::new(),
    }
}
