//! Which nodes of many stand out: the answer, a row for each that does, what they have in common, and what is usual.

use super::table::{Cell, Page, Paint, Side, Table};
use crate::{Options, numbers};
use bandscope_report::cpu_name;
use bandscope_studies::fleet::{
    AtOnce, Common, Difference, Fleet, Group, Moments, Outlier, UsualLoss,
};

/// Nodes that are listed, where not all are asked for: a page.
const NODES: usize = 20;
/// Nodes for which it is told what they have for themselves.
const DIFFERENT: usize = 5;
/// Ways of losing time that are listed of the median node.
const LOSSES: usize = 8;
/// A share that is not worth a line.
const SMALL: f64 = 5e-5;

/// As text.
pub fn fleet(fleet: &Fleet, options: &Options) -> String {
    let mut page = Page::new(options);
    page.wrapped(("", Paint::Plain), &fleet.verdict, Paint::Bold);
    for group in &fleet.groups {
        page.wrapped(("", Paint::Plain), &subject(group), Paint::Dim);
    }
    outliers(fleet, &mut page);
    facts(fleet, &mut page);
    at_once(fleet.at_once.as_ref(), &mut page);
    fleet
        .groups
        .iter()
        .for_each(|group| usual(group, &mut page));
    if page.options.all {
        nodes(fleet, &mut page);
    }
    page.blank();
    for note in &fleet.notes {
        page.wrapped(("  ", Paint::Plain), note, Paint::Dim);
    }
    page.finish()
}

/// `12 nodes, 24 CPUs · AMD EPYC · 6.12.0`
pub(crate) fn subject(group: &Group) -> String {
    let cpus = numbers::plural(group.cpus, "CPU", "CPUs");
    let nodes = numbers::plural(group.nodes, "node", "nodes");
    let kernel = group.kernel.split_whitespace().next().unwrap_or_default();
    let mut parts = vec![format!("{nodes}, {cpus}")];
    parts.extend([&*group.cpu, kernel].map(str::to_owned));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// What hit several nodes at once.
fn at_once(of: Option<&AtOnce>, page: &mut Page<'_>) {
    let Some(of) = of else { return };
    page.blank();
    if of.moments.is_empty() {
        page.wrapped(("", Paint::Plain), &clocks(of), Paint::Plain);
        return;
    }
    let mut table = Table::new("At once, on several nodes")
        .column("nodes", Side::Right)
        .column("times", Side::Right)
        .column("by chance", Side::Right)
        .column("up to", Side::Right)
        .column("widest at", Side::Right);
    let most = if page.options.all { usize::MAX } else { NODES };
    for one in of.moments.iter().take(most) {
        table.row(row_at_once(one).map(Cell::from).into());
    }
    page.table(&table);
    left_out(of.moments.len(), most, page);
    page.wrapped(("  ", Paint::Plain), &clocks(of), Paint::Dim);
}

/// Says how many of a list are not shown.
fn left_out(all: usize, most: usize, page: &mut Page<'_>) {
    let left = all.saturating_sub(most);
    if left > 0 {
        let more = format!("{} more: --all", numbers::count(left as u64));
        page.wrapped(("  ", Paint::Dim), &more, Paint::Dim);
    }
}

/// A number that chance brings, which is never more exact than the law that it comes from.
fn by_chance(number: f64) -> String {
    match number {
        number if number < 0.01 => "<0.01".to_owned(),
        number => numbers::significant(number, 1),
    }
}

fn seconds(seconds: f64) -> String {
    numbers::duration(1e9 * seconds)
}

pub(crate) fn row_at_once(one: &Moments) -> [String; 6] {
    [
        one.cause.clone(),
        numbers::count(one.nodes),
        numbers::count(one.number),
        by_chance(one.by_chance),
        seconds(one.longest_s),
        seconds(one.at_s),
    ]
}

/// What is known of clocks, and what follows from it.
pub(crate) fn clocks(of: &AtOnce) -> String {
    let nodes = numbers::count(of.nodes);
    let within = seconds(of.within_s);
    if of.common_s <= 0.0 {
        return format!(
            "Whether gaps hit several nodes at once is not known: {nodes} nodes did not measure at the same time."
        );
    }
    let found = match of.moments.is_empty() {
        true => "their longest gaps meet no more often than by chance",
        false => "what else they lose at once may be chance",
    };
    let common = seconds(of.common_s);
    format!("Of {nodes} nodes, over {common}, by clocks that agree to {within}: {found}.")
}

/// What the median node of a group loses, and how much more would have stood out.
fn usual(group: &Group, page: &mut Page<'_>) {
    let mut table = Table::new("The median node")
        .column("loses", Side::Right)
        .column("points more that stand out", Side::Right);
    table.row(vec![
        Cell::from("in all"),
        Cell::painted(numbers::percent(group.lost), Paint::Loss),
        Cell::from(""),
    ]);
    let is_shown = |one: &&UsualLoss| page.options.all || one.share >= SMALL;
    for one in group.losses.iter().filter(is_shown).take(LOSSES) {
        let detects = one.detects.map_or_else(|| numbers::NONE.to_owned(), points);
        table.row(vec![
            Cell::from(one.loss.as_str()),
            Cell::from(numbers::percent(one.share)),
            Cell::painted(detects, Paint::Dim),
        ]);
    }
    page.blank();
    page.table(&table);
}

/// Every node.
fn nodes(fleet: &Fleet, page: &mut Page<'_>) {
    let mut table = Table::new("All nodes")
        .column("CPUs", Side::Right)
        .column("lose", Side::Right)
        .column("worst CPU", Side::Right)
        .column("loses", Side::Right);
    for node in &fleet.nodes {
        table.row(vec![
            Cell::from(node.node.as_str()),
            Cell::from(numbers::count(node.cpus)),
            Cell::from(numbers::percent(node.lost)),
            Cell::from(
                node.worst_cpu
                    .map_or_else(String::new, |cpu| cpu.to_string()),
            ),
            Cell::from(numbers::percent(node.worst)),
        ]);
    }
    page.blank();
    page.table(&table);
}

pub(crate) fn place(outlier: &Outlier) -> String {
    let cpu = outlier
        .cpu
        .map_or_else(String::new, |cpu| format!(", {}", cpu_name(cpu, None)));
    format!("{}{cpu}", outlier.node)
}

/// What has most of what a node loses more than others.
pub(crate) fn most_of_it(outlier: &Outlier) -> String {
    match (&*outlier.excess.loss, &*outlier.by) {
        ("", _) => "many small ones".to_owned(),
        (loss, "") => loss.to_owned(),
        (loss, by) => format!("{loss}: {by}"),
    }
}

/// A difference of shares, in per cent of the time.
pub(crate) fn points(share: f64) -> String {
    numbers::percent(share).replace(" %", "")
}

fn outliers(fleet: &Fleet, page: &mut Page<'_>) {
    if fleet.outliers.is_empty() {
        return;
    }
    let mut table = Table::new("Stands out")
        .column("loses", Side::Right)
        .column("others", Side::Right)
        .column("most of it", Side::Left)
        .column("points more", Side::Right);
    let most = if page.options.all { usize::MAX } else { NODES };
    for outlier in fleet.outliers.iter().take(most) {
        table.row(vec![
            Cell::from(place(outlier)),
            Cell::painted(numbers::percent(outlier.lost), Paint::Loss),
            Cell::from(numbers::percent(outlier.lost_usually)),
            Cell::from(most_of_it(outlier)),
            Cell::from(points(outlier.excess.more)),
        ]);
    }
    page.blank();
    page.table(&table);
    left_out(fleet.outliers.len(), most, page);
}

fn facts(fleet: &Fleet, page: &mut Page<'_>) {
    if !fleet.in_common.is_empty() {
        page.blank();
        page.line(&[("In common, and not with the others", Paint::Bold)]);
    }
    for one in &fleet.in_common {
        page.wrapped(("  ", Paint::Plain), &in_common(one), Paint::Plain);
    }
    let alone = alone(fleet);
    if !alone.is_empty() {
        page.blank();
        page.line(&[("Set up otherwise than the others", Paint::Bold)]);
    }
    let most = if page.options.all {
        usize::MAX
    } else {
        DIFFERENT
    };
    for (names, differences) in alone.into_iter().take(most) {
        let text = format!("{names}: {differences}");
        page.wrapped(("  ", Paint::Plain), &text, Paint::Plain);
    }
}

/// What nodes have and others have not, with the names of those that have the same.
pub(crate) fn alone(fleet: &Fleet) -> Vec<(String, String)> {
    let mut alone: Vec<(String, String)> = Vec::new();
    for outlier in fleet.outliers.iter().filter(|one| !one.differs.is_empty()) {
        let differences: Vec<String> = outlier.differs.iter().map(difference).collect();
        let differences = differences.join("; ");
        match alone.iter_mut().find(|known| known.1 == differences) {
            Some((names, _)) => *names = format!("{names}, {}", outlier.node),
            None => alone.push((outlier.node.clone(), differences)),
        }
    }
    alone
}

/// A fact as people say it: `microcode 0x1`, or the name alone where that says all.
fn fact(name: &str, value: &str) -> String {
    match value {
        "yes" => name.to_owned(),
        value => format!("{name} {value}"),
    }
}

/// `microcode 0x1 (others: 0x2)`
pub(crate) fn difference(of: &Difference) -> String {
    match &*of.usually {
        "" => fact(&of.fact, &of.value),
        usually => format!("{} (others: {usually})", fact(&of.fact, &of.value)),
    }
}

pub(crate) fn in_common(one: &Common) -> String {
    let way = match (&*one.loss, &*one.by) {
        ("", _) => "in all they lose".to_owned(),
        (loss, "") => format!("by {loss}"),
        (loss, by) => format!("by {loss} ({by})"),
    };
    format!(
        "{}: {} of {} that stand out {way}, {} of {} others",
        fact(&one.fact, &one.value),
        numbers::count(one.with),
        numbers::count(one.of),
        numbers::count(one.others_with),
        numbers::count(one.others)
    )
}
