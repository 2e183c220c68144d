//! What nodes that stand out have in common, and others have not.

use super::node::{Node, family, shared_name};
use super::{Common, Difference, Outlier};
use bandscope_statistics::counts::fisher_exact;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Chance of what is said to be in common, corrected by the number of facts (Bonferroni).
const CHANCE: f64 = 0.01;
/// Of the nodes that stand out so many have it, of the others at most half of that share.
const MOST: f64 = 0.75;
/// Facts that are told of one set of nodes, and differences of one node.
const TOLD: usize = 3;
/// A fact that at most so many of the others have, where so many of them agree on another, is what a node has for itself.
const FEW: f64 = 0.05;
const AGREED: f64 = 0.9;

type Fact<'a> = (&'a str, &'a str);

/// How many nodes have each fact.
fn counted<'a>(nodes: impl Iterator<Item = &'a Node>) -> HashMap<Fact<'a>, u64> {
    let mut counted = HashMap::new();
    for (name, value) in nodes.flat_map(|node| &node.facts) {
        *counted.entry((name.as_str(), value.as_str())).or_default() += 1;
    }
    counted
}

/// Of a group's nodes and those that stand out: what those of one loss and cause have in common, and what each node has for itself, by place.
pub(super) fn in_common(
    nodes: &[&Node],
    outliers: &[Outlier],
) -> (Vec<Common>, Vec<Vec<Difference>>) {
    let places: HashMap<&str, usize> = nodes
        .iter()
        .zip(0..)
        .map(|(node, place)| (&*node.name, place))
        .collect();
    let mut stand_out = vec![false; nodes.len()];
    // Place and cause of each node of a set.
    let mut sets: BTreeMap<(&str, &str), Vec<(usize, &str)>> = BTreeMap::new();
    for outlier in outliers {
        if let Some(&place) = places.get(&*outlier.node) {
            stand_out[place] = true;
            let key = (&*outlier.excess.loss, family(&outlier.by));
            sets.entry(key).or_default().push((place, &outlier.by));
        }
    }
    let others = || (0..nodes.len()).filter(|&place| !stand_out[place]);
    let number = others().count() as u64;
    let of_others = counted(others().map(|place| nodes[place]));
    let usual = Settings::new(&of_others, number);
    let differences = nodes.iter().map(|node| usual.differences(node)).collect();
    let mut common: Vec<Common> = sets
        .into_iter()
        .filter(|(_, set)| set.len() > 1)
        .flat_map(|((loss, _), set)| {
            let (set, names): (Vec<usize>, Vec<&str>) = set.into_iter().unzip();
            let by = shared_name(&names);
            shared(nodes, &set, (&of_others, number), (loss, by))
        })
        .collect();
    common.sort_by(|a, b| (b.with, &a.fact).cmp(&(a.with, &b.fact)));
    (common, differences)
}

fn shared(
    nodes: &[&Node],
    set: &[usize],
    (of_others, others): (&HashMap<Fact<'_>, u64>, u64),
    (loss, by): (&str, &str),
) -> Vec<Common> {
    let counted = counted(set.iter().map(|&place| nodes[place]));
    let facts = counted.len() as f64;
    let number = set.len() as u64;
    let mut told: Vec<(f64, Common)> = counted
        .into_iter()
        .filter_map(|(fact, with)| {
            let elsewhere = of_others.get(&fact).copied().unwrap_or(0);
            let share = with as f64 / number as f64;
            if share < MOST || elsewhere as f64 > share / 2.0 * others as f64 {
                return None;
            }
            let chance = fisher_exact(with, number, elsewhere, others) * facts;
            let common = Common {
                loss: loss.into(),
                by: by.into(),
                fact: fact.0.into(),
                value: fact.1.into(),
                with,
                of: number,
                others_with: elsewhere,
                others,
                chance,
            };
            (chance <= CHANCE).then_some((chance, common))
        })
        .collect();
    told.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.fact.cmp(&b.1.fact)));
    told.into_iter()
        .take(TOLD)
        .map(|(_, common)| common)
        .collect()
}

/// How the nodes that do not stand out are set up.
struct Settings<'a> {
    counted: &'a HashMap<Fact<'a>, u64>,
    nodes: f64,
    /// The value that nearly all of them have.
    usual: HashMap<&'a str, &'a str>,
    /// Names that any of them has.
    known: HashSet<&'a str>,
}

impl<'a> Settings<'a> {
    fn new(counted: &'a HashMap<Fact<'a>, u64>, nodes: u64) -> Settings<'a> {
        let agreed = counted
            .iter()
            .filter(|(_, number)| **number as f64 >= AGREED * nodes as f64);
        Settings {
            counted,
            nodes: nodes as f64,
            usual: agreed.map(|(fact, _)| *fact).collect(),
            known: counted.keys().map(|fact| fact.0).collect(),
        }
    }

    /// What a node has and hardly any of them: first where they agree on another value, then what none of them has by name.
    fn differences(&self, node: &Node) -> Vec<Difference> {
        let own = node.facts.iter().filter(|(name, value)| {
            let have = self.counted.get(&(name.as_str(), value.as_str())).copied();
            have.unwrap_or(0) as f64 <= FEW * self.nodes
        });
        let mut differences: Vec<Difference> = own
            .filter_map(|(name, value)| {
                let usual = self.usual.get(name.as_str()).copied();
                (usual.is_some() || !self.known.contains(name.as_str())).then(|| Difference {
                    fact: name.clone(),
                    value: value.clone(),
                    usually: usual.unwrap_or_default().into(),
                })
            })
            .collect();
        differences.sort_by_key(|one| one.usually.is_empty());
        differences.truncate(TOLD);
        differences
    }
}
