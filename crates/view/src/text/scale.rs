//! What noise costs a job on many nodes: the answer, a row for each number of nodes, what it comes from, and what would decide the rest.

use super::table::{self, Page, Paint, Side, Table};
use crate::{Options, numbers};
use bandscope_report::format::share_within;
use bandscope_studies::scale::{self, Basis, Cell, Phase, Saving, Scale, Together};
use std::collections::BTreeMap;

/// Causes that are listed.
pub(crate) const CAUSES: usize = 6;
/// Phases that are refused on the same number of nodes and get a sentence each.
const MAX_SENTENCES: usize = 4;

/// As text.
pub fn scale(scale: &Scale, options: &Options) -> String {
    let mut page = Page::new(options);
    page.wrapped(("", Paint::Plain), &scale.verdict, Paint::Bold);
    page.wrapped(("", Paint::Plain), &subject(scale), Paint::Dim);
    costs(scale, &mut page);
    let title = "Less by, in points, without";
    comes_from(scale, Basis::Observed, title, &mut page);
    let about = page.sign("≈ ", "~ ");
    let title = format!("{about}{title}");
    comes_from(scale, Basis::Extrapolated, &title, &mut page);
    page.blank();
    if !page.options.all {
        page.wrapped(("  ", Paint::Dim), "Intervals of 95 %: --all", Paint::Dim);
    }
    for note in decides(scale).iter().chain(&scale.notes) {
        page.wrapped(("  ", Paint::Plain), note, Paint::Plain);
    }
    page.finish()
}

/// A share in per cent, to three digits where it is large.
pub(crate) fn share(share: f64) -> String {
    match share {
        share if share < 1.0 => numbers::percent(share.max(0.0)),
        share => {
            let unit = 10_f64.powf((100.0 * share).log10().floor() - 2.0);
            format!(
                "{} %",
                numbers::count(((100.0 * share / unit).round() * unit) as u64)
            )
        }
    }
}

/// What was measured, in one line.
pub(crate) fn subject(scale: &Scale) -> String {
    let mut cpus: Vec<u32> = scale.cpus.iter().filter_map(|cpu| cpu.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let mut parts = vec![
        numbers::duration(scale.measured_s * 1e9),
        scale.kernel.clone(),
        scale.inputs.join(", "),
    ];
    if !cpus.is_empty() {
        parts.insert(0, bandscope_recording::cpu_list::named(&cpus));
    }
    parts.join(" · ")
}

pub(crate) fn head(phase: &Phase) -> String {
    numbers::duration_round(phase.phase_s * 1e9)
}

fn costs(scale: &Scale, page: &mut Page<'_>) {
    let mut table = Table::new("Longer by");
    table.at_a_time = if page.options.all { 2 } else { 1 };
    for phase in &scale.phases {
        table = table.column(head(phase), Side::Right);
        if page.options.all {
            table = table.column("95 %", Side::Left);
        }
    }
    let rows = scale.phases.first().map_or(0, |phase| phase.cells.len());
    for row in 0..rows {
        let number = scale.phases[0].cells[row].nodes;
        let plural = if number == 1 { "" } else { "s" };
        let nodes = scale::nodes(number);
        let mut cells = vec![table::Cell::from(format!("{nodes} node{plural}"))];
        for phase in &scale.phases {
            let cell = &phase.cells[row];
            cells.push(match (cell.basis, cell.cost) {
                (Basis::Observed, Some(cost)) => {
                    table::Cell::painted(share_within(cost.longer, cost.interval), Paint::Loss)
                }
                (_, Some(cost)) => {
                    let about = page.sign("≈ ", "~ ");
                    let longer = share_within(cost.longer, cost.interval);
                    table::Cell::painted(format!("{about}{longer}"), Paint::Loss)
                }
                (Basis::TooRare, None) => table::Cell::painted("too rare", Paint::Dim),
                (_, None) => table::Cell::painted("beyond", Paint::Dim),
            });
            if !page.options.all {
                continue;
            }
            cells.push(table::Cell::painted(
                cell.cost.map_or_else(String::new, |cost| {
                    let end = |end: f64| share(end).replace(" %", "");
                    format!("{} to {}", end(cost.interval.0), end(cost.interval.1))
                }),
                Paint::Dim,
            ));
        }
        table.row(cells);
    }
    together(scale, page.options.all, &mut table);
    page.blank();
    page.table(&table);
}

/// A row of the measured CPUs themselves.
fn together(scale: &Scale, all: bool, table: &mut Table) {
    let mut phases = scale.phases.iter().map(|phase| phase.together.as_ref());
    let Some(first) = phases.clone().flatten().next() else {
        return;
    };
    let mut cells = vec![table::Cell::from(these(first, scale))];
    for one in &mut phases {
        let longer = one.map_or_else(String::new, |one| share(one.longer));
        cells.push(table::Cell::painted(longer, Paint::Loss));
        if all {
            cells.push(table::Cell::from(""));
        }
    }
    table.row(cells);
}

/// The CPUs of a row, with their recording where there are several.
pub(crate) fn these(of: &Together, scale: &Scale) -> String {
    match of.is_one_of_several(scale) {
        true => format!("these {} CPUs of {}", of.cpus, of.input),
        false => format!("these {} CPUs", of.cpus),
    }
}

/// What the largest cost of each phase comes from, of those that are known in this way.
fn comes_from(scale: &Scale, basis: Basis, title: &str, page: &mut Page<'_>) {
    let mut less: BTreeMap<&str, Vec<Option<&Saving>>> = BTreeMap::new();
    let mut table = Table::new(title);
    let largest = scale.phases.iter().filter_map(|phase| {
        let is_known = |cell: &&Cell| cell.basis == basis;
        Some((phase, phase.cells.iter().rev().find(is_known)?))
    });
    let largest: Vec<(&Phase, &Cell)> = largest.collect();
    for (place, (phase, cell)) in largest.iter().enumerate() {
        let nodes = scale::nodes(cell.nodes);
        table = table.column(format!("{}, {nodes} nodes", head(phase)), Side::Right);
        for saving in &cell.from {
            let row = less
                .entry(&saving.name)
                .or_insert_with(|| vec![None; largest.len()]);
            row[place] = Some(saving);
        }
    }
    let mut rows: Vec<(&str, Vec<Option<&Saving>>)> = less.into_iter().collect();
    let most = |row: &[Option<&Saving>]| {
        let less = row.iter().flatten().filter_map(|saving| saving.less);
        less.fold(0.0, f64::max)
    };
    rows.sort_by(|a, b| most(&b.1).total_cmp(&most(&a.1)));
    let is_known = rows.first().is_some_and(|row| most(&row.1) > 0.0);
    for (name, row) in rows.into_iter().take(CAUSES) {
        let mut cells = vec![table::Cell::from(name)];
        cells.extend(row.iter().map(|saving| match saving.map(points) {
            None => table::Cell::from(""),
            Some(None) => table::Cell::painted("refused", Paint::Dim),
            Some(Some(points)) => table::Cell::from(points),
        }));
        table.row(cells);
    }
    if is_known {
        page.blank();
        page.table(&table);
    }
}

/// How many points less; `None` where that is refused.
pub(crate) fn points(saving: &Saving) -> Option<String> {
    saving.less.map(|less| share(less).replace(" %", ""))
}

/// A recording of so many seconds, of all CPUs together.
pub(crate) fn recording(seconds: f64, scale: &Scale) -> String {
    let cpus = scale.cpus.len().max(1);
    let length = numbers::duration_rough(seconds / cpus as f64 * 1e9);
    match cpus {
        1 => format!("a recording of {length}"),
        _ => format!("a recording of {length} of these {cpus} CPUs"),
    }
}

/// What would decide the refused ones: a sentence for each phase that has some, or one for many in a row.
pub(crate) fn decides(scale: &Scale) -> Vec<String> {
    let refused = scale.phases.iter().map(|phase| {
        let cells = phase.cells.iter().filter(|cell| cell.cost.is_none());
        let times = cells.filter_map(|cell| Some((cell.nodes, cell.decided_by_s?)));
        (phase, times.max_by(|a, b| a.1.total_cmp(&b.1)))
    });
    let refused: Vec<(&Phase, Option<(u64, f64)>)> = refused.collect();
    let mut sentences = Vec::new();
    for alike in refused.chunk_by(|a, b| a.1.map(|one| one.0) == b.1.map(|one| one.0)) {
        let size = if alike.len() > MAX_SENTENCES {
            alike.len()
        } else {
            1
        };
        for phases in alike.chunks(size) {
            let longest = phases.iter().filter_map(|phase| phase.1);
            let Some((nodes, seconds)) = longest.max_by(|a, b| a.1.total_cmp(&b.1)) else {
                continue;
            };
            let [first, last] = [&phases[0], &phases[phases.len() - 1]].map(|one| head(one.0));
            let (phases, them) = match first == last {
                true => (first, "it"),
                false => (format!("{first} to {last}"), "all of them"),
            };
            sentences.push(format!(
                "Phases of {phases} on {} nodes: {} would decide {them}.",
                scale::nodes(nodes),
                recording(seconds, scale)
            ));
        }
    }
    sentences
}
