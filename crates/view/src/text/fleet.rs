//! Which nodes of many stand out: the answer, a row for each that does, what they have in common, and what is usual.

use super::table::{Cell, Page, Paint, Side, Table};
use crate::{Options, numbers};
use bandscope_report::cpu_name;
use bandscope_studies::fleet::{Common, Difference, Fleet, Group, Outlier};

/// Nodes that are listed, where not all are asked for: a page.
const NODES: usize = 20;
/// Nodes for which it is told what they have for themselves.
const DIFFERENT: usize = 5;
/// Ways of losing time that are listed of the median node.
const LOSSES: usize = 3;

/// As text.
pub fn fleet(fleet: &Fleet, options: &Options) -> String {
    let mut page = Page::new(options);
    page.wrapped(("", Paint::Plain), &fleet.verdict, Paint::Bold);
    for group in &fleet.groups {
        page.wrapped(("", Paint::Plain), &usual(group), Paint::Dim);
    }
    outliers(fleet, &mut page);
    facts(fleet, &mut page);
    page.blank();
    for note in &fleet.notes {
        page.wrapped(("  ", Paint::Plain), note, Paint::Dim);
    }
    page.finish()
}

/// `12 nodes, 24 CPUs · AMD EPYC · 6.12.0 · the median node loses 0.4 %: timer tick 0.2 %, ...`
pub(crate) fn usual(group: &Group) -> String {
    let cpus = numbers::plural(group.cpus, "CPU", "CPUs");
    let mut parts = vec![format!(
        "{}, {cpus}",
        numbers::plural(group.nodes, "node", "nodes")
    )];
    let kernel = group.kernel.split_whitespace().next().unwrap_or_default();
    parts.extend(
        [&*group.cpu, kernel]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(str::to_owned),
    );
    let shown = group
        .losses
        .iter()
        .filter(|(_, share)| *share >= 5e-5)
        .take(LOSSES);
    let losses: Vec<String> = shown
        .map(|(loss, share)| format!("{loss} {}", numbers::percent(*share)))
        .collect();
    let of = if losses.is_empty() {
        String::new()
    } else {
        format!(": {}", losses.join(", "))
    };
    parts.push(format!(
        "the median node loses {}{of}",
        numbers::percent(group.lost)
    ));
    match group.detects {
        Some(more) => parts.push(format!("{} points more in any way stand out", points(more))),
        None if group.judged => parts.push("too few for any to stand out".to_owned()),
        None => {}
    }
    parts.join(" · ")
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
    let left = fleet.outliers.len().saturating_sub(most);
    if left > 0 {
        page.wrapped(
            ("  ", Paint::Dim),
            &format!("{} more: --all", numbers::count(left as u64)),
            Paint::Dim,
        );
    }
}

fn facts(fleet: &Fleet, page: &mut Page<'_>) {
    if !fleet.in_common.is_empty() {
        page.blank();
        page.line(&[("In common, and not with the others", Paint::Bold)]);
    }
    for one in &fleet.in_common {
        page.wrapped(("  ", Paint::Plain), &in_common(one), Paint::Plain);
    }
    let alone: Vec<&Outlier> = fleet
        .outliers
        .iter()
        .filter(|one| !one.differs.is_empty())
        .collect();
    if !alone.is_empty() {
        page.blank();
        page.line(&[("Set up otherwise than the others", Paint::Bold)]);
    }
    for outlier in alone.into_iter().take(if page.options.all {
        usize::MAX
    } else {
        DIFFERENT
    }) {
        let all: Vec<String> = outlier.differs.iter().map(difference).collect();
        let text = format!("{}: {}", outlier.node, all.join("; "));
        page.wrapped(("  ", Paint::Plain), &text, Paint::Plain);
    }
}

/// A fact as people say it: `microcode 0x1`, or the name alone where that says all.
fn fact(name: &str, value: &str) -> String {
    match value {
        "yes" => name.to_owned(),
        value => format!("{name} {value}"),
    }
}

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
