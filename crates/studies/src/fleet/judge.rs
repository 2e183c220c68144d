//! Which nodes of a group stand out, in what, and by which cause.
//!
//! Each way of losing time is a figure, as the mean of a node's CPUs and as its worst CPU. A figure stands out by its distance from the median of the group,
//! in units of the larger of the spread of the nodes (1.4826 median absolute deviations, Iglewicz and Hoaglin 1993) and of the node's own standard error; on a
//! scale of ratios as well, because shares of healthy nodes scatter by factors. It must be [`LEAST_EXCESS`] before any chance is computed; chances are corrected over
//! all figures of all nodes (Benjamini and Hochberg 1995).

use super::node::{Line, Node, Of};
use super::{Detail, Excess, Outlier, UsualLoss};
use bandscope_statistics::distributions::student_beyond;
use bandscope_statistics::order::median;
use std::collections::{BTreeMap, HashMap};

/// Nodes of a group, at least: with fewer nobody knows how they scatter.
pub(super) const MIN_NODES: usize = 5;
/// An excess that is worth a look, as a share of a CPU's time.
pub(super) const LEAST_EXCESS: f64 = 0.005;
/// Share of the figures that stand out which would do so by chance, if nodes scattered normally.
pub(super) const FALSE_DISCOVERIES: f64 = 0.01;
/// One CPU has it alone if the next one has less than this share of its excess.
const ALONE: f64 = 0.25;
/// A cause is named if it has this share of the excess, and no more than the excess has of it: what exceeds that by far, another cause lacks.
const NAMED: f64 = 0.5;
/// Nodes that were measured for less than this share of what is usual are not judged.
pub(super) const LEAST_TIME: f64 = 0.5;
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

/// What is usual of each figure of a group.
pub(super) struct Figures<'a> {
    nodes: &'a [&'a Node],
    /// How many nodes have each.
    known: HashMap<&'a Line, usize>,
    usual: HashMap<(&'a Line, Of), Usual>,
}

impl<'a> Figures<'a> {
    pub(super) fn new(nodes: &'a [&'a Node]) -> Figures<'a> {
        let mut known: HashMap<&Line, usize> = HashMap::new();
        for line in nodes.iter().flat_map(|node| node.lines()) {
            *known.entry(line).or_default() += 1;
        }
        let mut usual_of = HashMap::new();
        for line in known.keys().copied() {
            // What fewer than half of the nodes have, usually nobody has.
            if !matches!(line, Line::Cause(..)) || 2 * known[line] >= nodes.len() {
                usual_of
                    .extend([Of::All, Of::Worst].map(|of| ((line, of), usual(nodes, line, of))));
            }
        }
        Figures {
            nodes,
            known,
            usual: usual_of,
        }
    }

    /// The median; 0 of what hardly any node has.
    fn median(&self, line: &Line, of: Of) -> f64 {
        self.usual
            .get(&(line, of))
            .map_or(0.0, |usual| usual.median)
    }

    /// Those that are tested, in order: all but causes, of which every node may have its own.
    fn tested(&self) -> Vec<&'a Line> {
        let lines = self.known.keys().copied();
        let mut tested: Vec<&Line> = lines
            .filter(|line| !matches!(line, Line::Cause(..)))
            .collect();
        tested.sort();
        tested
    }

    /// Number of tests.
    fn number(&self) -> usize {
        2 * self.tested().len() * self.nodes.len()
    }

    /// In which ways the median node loses time, the largest first.
    pub(super) fn losses(&self) -> Vec<UsualLoss> {
        let ways = self.tested().into_iter().filter_map(|line| match line {
            Line::Loss(loss) => Some(UsualLoss {
                loss: loss.clone(),
                share: self.median(line, Of::All),
                detects: self.detects(line),
            }),
            Line::Lost | Line::Cause(..) => None,
        });
        let mut losses: Vec<UsualLoss> = ways.collect();
        losses.sort_by(|a, b| b.share.total_cmp(&a.share));
        losses
    }

    /// The least excess of a single node that stands out, by halving.
    fn detects(&self, line: &Line) -> Option<f64> {
        if self.nodes.len() < MIN_NODES {
            return None;
        }
        let usual = self.usual.get(&(line, Of::All))?;
        let limit = FALSE_DISCOVERIES / self.number() as f64;
        let is_enough = |more: f64| usual.chance(usual.median + more, 0.0) <= limit;
        let (mut low, mut high) = (LEAST_EXCESS, 1.0 - usual.median);
        if high < low || !is_enough(high) {
            return None;
        }
        if is_enough(low) {
            return Some(low);
        }
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            match is_enough(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        Some(high)
    }
}

/// A figure of a node that may stand out.
struct Test<'a> {
    node: usize,
    line: &'a Line,
    of: Of,
    excess: f64,
    /// Chance of it if the node were like the others.
    chance: f64,
}

/// The nodes of a group that stand out, those that lose most more than the others first.
pub(super) fn outliers(figures: &Figures<'_>) -> Vec<Outlier> {
    let nodes = figures.nodes;
    if nodes.len() < MIN_NODES {
        return Vec::new();
    }
    let mut tests = Vec::new();
    for line in figures.tested() {
        for of in [Of::All, Of::Worst] {
            let Some(usual) = figures.usual.get(&(line, of)) else {
                continue;
            };
            tests.extend(nodes.iter().enumerate().filter_map(|(node, one)| {
                let value = one.value(line, of);
                let excess = value - usual.median;
                (excess >= LEAST_EXCESS).then(|| Test {
                    node,
                    line,
                    of,
                    excess,
                    chance: usual.chance(value, one.error(line, of)),
                })
            }));
        }
    }
    let mut by_node: BTreeMap<usize, Vec<Test<'_>>> = BTreeMap::new();
    for test in discovered(tests, figures.number()) {
        by_node.entry(test.node).or_default().push(test);
    }
    let found = by_node.into_iter();
    let mut outliers: Vec<Outlier> = found
        .filter_map(|(node, tests)| outlier(figures, nodes[node], &tests))
        .collect();
    outliers.sort_by(|a, b| {
        b.excess
            .more
            .total_cmp(&a.excess.more)
            .then_with(|| a.node.cmp(&b.node))
    });
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
fn outlier(figures: &Figures<'_>, one: &Node, tests: &[Test<'_>]) -> Option<Outlier> {
    let of_loss = |test: &&Test<'_>| matches!(test.line, Line::Loss(_));
    let most = |a: &&Test<'_>, b: &&Test<'_>| a.excess.total_cmp(&b.excess);
    let lead = (tests.iter().filter(of_loss).max_by(most)).or_else(|| tests.iter().max_by(most))?;
    let line = lead.line;
    let usual_worst = figures.median(line, Of::Worst);
    let [worst, second] =
        [one.value(line, Of::Worst), one.second(line)].map(|value| value - usual_worst);
    let is_one_cpu = lead.of == Of::Worst && one.cpus > 1 && second < ALONE * worst;
    // Of a few CPUs the mean of all may tell nothing.
    let is_all = |test: &Test<'_>| test.line == line && test.of == Of::All;
    let of = match is_one_cpu || !tests.iter().any(is_all) {
        true => Of::Worst,
        false => Of::All,
    };
    let cpu = is_one_cpu.then(|| one.worst_cpu(line)).flatten();
    let share = one.value(line, of);
    let usually = figures.median(line, of);
    let loss = match line {
        Line::Loss(loss) => loss.clone(),
        Line::Lost | Line::Cause(..) => String::new(),
    };
    Some(Outlier {
        node: one.name.clone(),
        cpu,
        lost: match of {
            Of::Worst => one.lost_there(line),
            Of::All => one.value(&Line::Lost, of),
        },
        lost_usually: figures.median(&Line::Lost, of),
        by: cause(figures, one, (&loss, of), share - usually),
        excess: Excess {
            loss,
            share,
            usually,
            more: share - usually,
        },
        chance: lead.chance,
        differs: Vec::new(),
    })
}

/// In which ways a node loses time, and which of them exceeds the group's median most, with its cause: of one that stands out, what it does so by. Empty below
/// [`LEAST_EXCESS`].
pub(super) fn detail(figures: &Figures<'_>, one: &Node, outlier: Option<&Outlier>) -> Detail {
    let mut detail = Detail {
        cpus: one.lost_by_cpu(),
        gaps: one.lengths.seen(),
        longest: one.longest.clone(),
        worst: one.worst.clone(),
        ..Detail::default()
    };
    for line in one.lines() {
        if let Line::Loss(loss) = line {
            let share = one.value(line, Of::All);
            let usually = figures.median(line, Of::All);
            let more = share - usually;
            detail.losses.push((loss.clone(), share));
            if more >= LEAST_EXCESS.max(detail.excess.more) {
                detail.excess = Excess {
                    loss: loss.clone(),
                    share,
                    usually,
                    more,
                };
            }
        }
    }
    match outlier {
        Some(outlier) => (detail.excess, detail.by) = (outlier.excess.clone(), outlier.by.clone()),
        None => {
            let Excess { loss, more, .. } = &detail.excess;
            detail.by = cause(figures, one, (loss, Of::All), *more);
        }
    }
    detail
}

/// The cause that has most of what a node loses more in one way; empty where none has [`NAMED`] of it.
fn cause(figures: &Figures<'_>, one: &Node, (loss, of): (&str, Of), more: f64) -> String {
    let own = one.lines().filter_map(|line| match line {
        Line::Cause(of_loss, _) if of_loss == loss => {
            Some((line, one.value(line, of) - figures.median(line, of)))
        }
        Line::Cause(..) | Line::Loss(_) | Line::Lost => None,
    });
    let named = own.filter(|(_, own)| (NAMED * more..=more / NAMED).contains(own));
    named
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map_or_else(String::new, |(line, _)| one.cause_name(line).to_owned())
}
