//! Which nodes of many stand out, and why: `bandscope.fleet/1`.
//!
//! A recording becomes a [`Summary`](bandscope_recording::summary::Summary) ([`summarise`]), a summary a [`Node`], which is all that is kept while
//! others are read. Nodes of equal CPU and kernel are a group. [`fleet`] says what is usual in each, who stands out and by which cause (`judge`), what those have in
//! common (`common`), what hit several at once (`at_once`), and what the slowest costs a job that waits for it. docs/method.md, section 10.6.

mod at_once;
mod common;
mod facts;
mod judge;
mod lengths;
mod node;
mod sentence;
mod shifted;
mod summarise;
#[cfg(test)]
mod tests;
mod worst;

pub use at_once::{AtOnce, Moments};
use bandscope_recording::summary::{LongGap, WorstWindow};
use bandscope_statistics::order::median;
use judge::Figures;
pub use lengths::OfLength;
pub use node::Node;
use node::{Line, Of};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
pub use summarise::summarise;

/// The schema that this version writes.
pub const SCHEMA: &str = "bandscope.fleet/1";

/// `bandscope.fleet/1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fleet {
    /// Name and version of this contract.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// Directories and files that were read.
    pub inputs: Vec<String>,
    /// The answer in a sentence or two.
    pub verdict: String,
    /// What a job loses that waits for all.
    pub cost: Cost,
    /// Nodes of equal CPU and kernel.
    pub groups: Vec<Group>,
    /// Nodes that stand out, those that lose most more than the others first.
    pub outliers: Vec<Outlier>,
    /// What nodes that stand out have in common and others have not.
    pub in_common: Vec<Common>,
    /// Gaps that hit several nodes at once; `null` where clocks of two nodes are not known against each other.
    pub at_once: Option<AtOnce>,
    /// All nodes by name.
    pub nodes: Vec<NodeRow>,
    /// What has to be known to read this.
    pub notes: Vec<String>,
}

/// What a job loses whose ranks wait for each other, one on each CPU, where each does much between two waits: as much as its slowest CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Node with the slowest CPU.
    pub node: String,
    /// That CPU; `null` where a file does not say.
    pub cpu: Option<u32>,
    /// Share of its time that it loses.
    pub lost: f64,
    /// The same of the median node's worst CPU, of the nodes that are judged.
    pub usually: f64,
    /// The same of the slowest of the nodes that do not stand out.
    pub without_outliers: f64,
}

/// Nodes of equal CPU and kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// Model of the CPU. Untrusted.
    pub cpu: String,
    /// Release and version of the kernel. Untrusted.
    pub kernel: String,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of measured CPUs.
    pub cpus: u64,
    /// Whether there are enough nodes to say who stands out.
    pub judged: bool,
    /// Share of the time that the median node loses.
    pub lost: f64,
    /// How nodes scatter about that: a standard deviation, by their median absolute deviation.
    pub spread: f64,
    /// In which ways the median node loses it, the largest first.
    pub losses: Vec<UsualLoss>,
    /// Gaps of the median node, in steps of ten of their length.
    pub gaps: Vec<OfLength>,
}

/// What the median node loses in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsualLoss {
    /// In which way, as a report's account has it.
    pub loss: String,
    /// Share of the time.
    pub share: f64,
    /// How much more a single node must lose so, on all of its CPUs, to stand out, about: of few nodes it moves the spread itself. `null` where nothing would do, or nodes are too few.
    pub detects: Option<f64>,
}

/// What a node loses more than others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Excess {
    /// In which way, as a report's account has it; empty for all ways together.
    pub loss: String,
    /// Share of the time.
    pub share: f64,
    /// The same of the median node.
    pub usually: f64,
    /// The difference.
    pub more: f64,
}

/// A node that stands out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlier {
    /// Its name. Untrusted.
    pub node: String,
    /// The CPU, where it is one alone; `null` where it is several or all of them.
    pub cpu: Option<u32>,
    /// Share of the time that is lost, in all: on the worst CPU, where the mean of all CPUs does not stand out.
    pub lost: f64,
    /// The same of the median node.
    pub lost_usually: f64,
    /// What stands out most: on the same CPU, where the mean of all CPUs does not stand out.
    pub excess: Excess,
    /// By what, where one cause has most of it. Untrusted.
    pub by: String,
    /// Chance of that if the node were like the others.
    pub chance: f64,
    /// What hardly any other node has; at most three facts.
    pub differs: Vec<Difference>,
}

/// A fact of a node that others do not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Name of a setting.
    pub fact: String,
    /// Its value. Untrusted.
    pub value: String,
    /// The value that the others have; empty where they have none.
    pub usually: String,
}

/// What nodes that stand out in one way have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Common {
    /// In which way they stand out.
    pub loss: String,
    /// By which cause; may be empty.
    pub by: String,
    /// Name of the setting.
    pub fact: String,
    /// Its value. Untrusted.
    pub value: String,
    /// Nodes that have it, of those that stand out so.
    pub with: u64,
    /// Nodes that stand out so.
    pub of: u64,
    /// Nodes that have it, of those that do not stand out.
    pub others_with: u64,
    /// Nodes of the group that do not stand out.
    pub others: u64,
    /// Chance of that if it had nothing to do with it, times the number of facts.
    pub chance: f64,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeRow {
    /// Its name. Untrusted.
    pub node: String,
    /// Its group, by place in `groups`.
    pub group: u64,
    /// Number of measured CPUs.
    pub cpus: u64,
    /// Share of the time that its CPUs lose, their mean.
    pub lost: f64,
    /// The CPU that loses most; `null` where a file does not say.
    pub worst_cpu: Option<u32>,
    /// What that loses.
    pub worst: f64,
    /// Whether it stands out.
    pub stands_out: bool,
    /// What the page shows of it, and the contract leaves out.
    #[serde(skip)]
    pub detail: Detail,
}

/// What a map of the fleet shows of one node, however it is judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// Share of the time that each CPU loses, by number; `None` is all that a file does not number.
    pub cpus: Vec<(Option<u32>, f32)>,
    /// Share of the time that is lost in each way, the mean of its CPUs.
    pub losses: Vec<(String, f64)>,
    /// What exceeds the median of its group most; its loss is empty where nothing does by half a point.
    pub excess: Excess,
    /// By what, where one cause has most of that. Untrusted.
    pub by: String,
    /// What hardly any other node has; at most three facts.
    pub differs: Vec<Difference>,
    /// Gaps, in steps of ten of their length.
    pub gaps: Vec<OfLength>,
    /// The longest gap, and on which CPU.
    pub longest: Option<(Option<u32>, LongGap)>,
    /// Of each length the stretch in which least work was done, and on which CPU.
    pub worst: Vec<(Option<u32>, WorstWindow)>,
}

/// Judges nodes; several of one name and origin are tasks of one node, and a run that comes twice counts once.
pub fn fleet(inputs: Vec<String>, parts: Vec<Node>) -> Fleet {
    let nodes = joined(parts);
    let mut groups: BTreeMap<[String; 2], Vec<&Node>> = BTreeMap::new();
    for node in &nodes {
        groups.entry(node.group()).or_default().push(node);
    }
    let mut fleet = Fleet {
        schema: SCHEMA,
        inputs,
        at_once: at_once::at_once(&nodes),
        ..Fleet::default()
    };
    let shared = sentence::note_of_shared_cpus(&nodes).into_iter();
    let shared = shared.chain(sentence::note_of_one_machine(&nodes));
    let shared: Vec<String> = shared.collect();
    let mut short: Vec<&str> = Vec::new();
    for (number, (name, mut members)) in groups.into_iter().enumerate() {
        let usual_s = median(members.iter().map(|node| node.measured_s)).unwrap_or(0.0);
        members.retain(|node| {
            let is_long = node.measured_s >= judge::LEAST_TIME * usual_s;
            short.extend((!is_long).then_some(&*node.name));
            is_long
        });
        let figures = Figures::new(&members);
        let mut outliers = judge::outliers(&figures);
        let (in_common, differences) = common::in_common(&members, &outliers);
        fleet.in_common.extend(in_common);
        fleet.groups.push(group(name, &members, &figures));
        let places = outliers.iter().map(|one| one.node.clone()).zip(0..);
        let places: HashMap<String, usize> = places.collect();
        for (node, differs) in members.iter().zip(differences) {
            let mut outlier = places.get(&node.name).map(|&place| &mut outliers[place]);
            if let Some(outlier) = &mut outlier {
                outlier.differs.clone_from(&differs);
            }
            let detail = Detail {
                differs,
                ..judge::detail(&figures, node, outlier.as_deref())
            };
            (fleet.nodes).push(row(node, number, outlier.is_some(), detail));
        }
        fleet.outliers.append(&mut outliers);
    }
    (fleet.outliers).sort_by(|a, b| b.excess.more.total_cmp(&a.excess.more));
    fleet.nodes.sort_by(|a, b| a.node.cmp(&b.node));
    fleet.cost = cost(&fleet.nodes, &fleet.groups);
    fleet.notes = sentence::notes(&fleet, &short);
    fleet.notes.splice(0..0, shared);
    fleet.verdict = sentence::verdict(&fleet);
    fleet
}

/// Nodes, each with all of its tasks. Two of one name that were read at different places are two, and have their places in their names.
fn joined(parts: Vec<Node>) -> Vec<Node> {
    let mut runs = HashSet::new();
    let mut nodes: BTreeMap<(String, String), Node> = BTreeMap::new();
    for part in parts {
        if !part.run.is_empty() && !runs.insert(part.run.clone()) {
            continue;
        }
        match nodes.get_mut(&(part.name.clone(), part.origin.clone())) {
            Some(node) => node.merge(part),
            None => {
                nodes.insert((part.name.clone(), part.origin.clone()), part);
            }
        }
    }
    let mut names: HashMap<String, usize> = HashMap::new();
    for (name, _) in nodes.keys() {
        *names.entry(name.clone()).or_default() += 1;
    }
    nodes
        .into_iter()
        .map(|((name, origin), node)| match names[&name] {
            1 => node,
            _ => node.named(format!("{name} ({origin})")),
        })
        .collect()
}

fn group([cpu, kernel]: [String; 2], nodes: &[&Node], figures: &Figures<'_>) -> Group {
    let lost = judge::usual(nodes, &Line::Lost, Of::All);
    Group {
        cpu,
        kernel,
        nodes: nodes.len() as u64,
        cpus: nodes.iter().map(|node| u64::from(node.cpus)).sum(),
        judged: nodes.len() >= judge::MIN_NODES,
        lost: lost.median,
        spread: lost.spread,
        losses: figures.losses(),
        gaps: lengths::usual(nodes),
    }
}

fn row(node: &Node, group: usize, stands_out: bool, detail: Detail) -> NodeRow {
    NodeRow {
        node: node.name.clone(),
        group: group as u64,
        cpus: node.cpus.into(),
        lost: node.value(&Line::Lost, Of::All),
        worst_cpu: node.worst_cpu(&Line::Lost),
        worst: node.value(&Line::Lost, Of::Worst),
        stands_out,
        detail,
    }
}

/// A job waits for all nodes; what is usual the judged ones say, if there are some.
fn cost(nodes: &[NodeRow], groups: &[Group]) -> Cost {
    let slowest = nodes.iter().max_by(|a, b| a.worst.total_cmp(&b.worst));
    let rest = nodes.iter().filter(|node| !node.stands_out);
    let is_judged = |node: &&NodeRow| groups[node.group as usize].judged;
    let judged = nodes.iter().filter(is_judged);
    let usually = median(judged.map(|node| node.worst))
        .or_else(|| median(nodes.iter().map(|node| node.worst)));
    slowest.map_or_else(Cost::default, |slowest| Cost {
        node: slowest.node.clone(),
        cpu: slowest.worst_cpu,
        lost: slowest.worst,
        usually: usually.unwrap_or(0.0),
        without_outliers: rest.map(|node| node.worst).fold(0.0, f64::max),
    })
}
