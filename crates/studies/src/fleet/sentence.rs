//! A fleet's report in words.

use super::node::{family, shared_name};
use super::{Fleet, Node, Outlier, judge};
use bandscope_report::cpu_name;
use bandscope_report::format;
use std::collections::BTreeMap;

/// `1 node`, `12 nodes`.
fn nodes(number: u64) -> String {
    match number {
        1 => "1 node".into(),
        number => format!("{} nodes", format::count(number)),
    }
}

/// The answer in two sentences: who stands out and by what, and what the slowest CPU costs.
pub(super) fn verdict(fleet: &Fleet) -> String {
    let cost = &fleet.cost;
    let judged = fleet.groups.iter().filter(|group| group.judged);
    let number: u64 = judged.map(|group| group.nodes).sum();
    let cpu = cost
        .cpu
        .map_or_else(String::new, |cpu| format!("{} of ", cpu_name(cpu, None)));
    let slowest = format!(
        "The slowest CPU, {cpu}{}, loses {}",
        cost.node,
        format::percent(cost.lost)
    );
    if number == 0 {
        let all = nodes(fleet.nodes.len() as u64);
        return format!("{all}: too few to say which stands out. {slowest}.");
    }
    let all = nodes(number);
    let by = common_cause(&fleet.outliers);
    match &fleet.outliers[..] {
        [] => format!("None of {all} stands out. {slowest}."),
        [one] => format!(
            "{} stands out of {all}{by}. {slowest}; without it the slowest loses {}.",
            one.node,
            format::percent(cost.without_outliers)
        ),
        many => format!(
            "{} of {all} stand out{by}. {slowest}; without them the slowest loses {}.",
            format::count(many.len() as u64),
            format::percent(cost.without_outliers)
        ),
    }
}

/// By what most of them stand out: `, all by other tasks (rsync)`; empty where half of them or fewer have it in common.
fn common_cause(outliers: &[Outlier]) -> String {
    let mut causes: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for one in outliers.iter().filter(|one| !one.excess.loss.is_empty()) {
        let key = (&*one.excess.loss, family(&one.by));
        causes.entry(key).or_default().push(&one.by);
    }
    let most = causes.into_iter().max_by_key(|(_, names)| names.len());
    let Some(((loss, _), names)) = most.filter(|(_, names)| 2 * names.len() > outliers.len())
    else {
        return String::new();
    };
    let by = match shared_name(&names) {
        "" => String::new(),
        by => format!(" ({by})"),
    };
    let share = match (outliers.len(), names.len()) {
        (1, _) => "",
        (all, number) if all == number => "all ",
        _ => "most ",
    };
    format!(", {share}by {loss}{by}")
}

/// A note where two or more tasks of a node measured the same CPU.
pub(super) fn note_of_shared_cpus(of: &[Node]) -> Option<String> {
    let shared: Vec<(&Node, (u32, u32))> = of
        .iter()
        .filter_map(|node| Some((node, node.shared_cpu()?)))
        .collect();
    let (worst, (cpu, tasks)) = shared.iter().max_by_key(|(_, (_, tasks))| *tasks)?;
    Some(format!(
        "On {} several tasks measured one CPU and took it from each other, such as {tasks} on {} of {}. The figures include what they took from each other. Give each its own: mpirun --bind-to core, srun --cpu-bind=cores.",
        nodes(shared.len() as u64),
        cpu_name(*cpu, None),
        worst.name
    ))
}

/// A note where several nodes are recordings of one machine: its kernel says so by the random name of its boot.
pub(super) fn note_of_one_machine(of: &[Node]) -> Option<String> {
    let mut boots: BTreeMap<&str, usize> = BTreeMap::new();
    for boot in of.iter().filter_map(|node| node.boot.as_deref()) {
        *boots.entry(boot).or_default() += 1;
    }
    let most = boots.into_values().max().filter(|most| *most > 1)?;
    Some(format!(
        "{} are recordings of one machine, of one boot: they differ in time and in CPUs, and not in the node.",
        nodes(most as u64)
    ))
}

/// Nodes that a note names: a line or two.
const MAX_NAMES: usize = 10;

/// What has to be known to read it; `short` names the nodes that were measured too briefly.
pub(super) fn notes(fleet: &Fleet, short: &[&str]) -> Vec<String> {
    let mut notes = Vec::new();
    if !short.is_empty() {
        let more = match short.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        notes.push(format!(
            "Left out: {}, measured for less than half of the usual time: {}{more}.",
            nodes(short.len() as u64),
            short[..short.len().min(MAX_NAMES)].join(", ")
        ));
    }
    let few: u64 = fleet
        .groups
        .iter()
        .filter(|group| !group.judged)
        .map(|group| group.nodes)
        .sum();
    if few > 0 {
        notes.push(format!(
            "Not judged: {}, of a CPU and kernel that fewer than {} nodes have.",
            nodes(few),
            judge::MIN_NODES
        ));
    }
    if !fleet.outliers.is_empty() {
        notes.push(
            "In order of the excess in one way of losing time. A node can lose more in all and not stand out."
                .into(),
        );
    }
    notes
}
