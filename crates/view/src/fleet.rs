//! Which nodes of many stand out, as Markdown for an issue, and as a page with a map of all nodes.

use crate::Error;
use crate::html;
use crate::numbers;
use crate::tables::{Cell, Section, Tables};
use crate::text::fleet::{
    alone, clocks, in_common, most_of_it, place, points, row_at_once, subject,
};
use bandscope_studies::fleet::Fleet;
use std::io::Write;

const OUTLIERS: &[&str] = &["", "loses", "others", "most of it", "points more"];
const COMMON: &[&str] = &[""];
const DIFFERENT: &[&str] = &["", "otherwise than the others"];
const AT_ONCE: &[&str] = &["", "nodes", "times", "by chance", "up to", "widest at"];
const NODES: &[&str] = &["", "CPUs", "loses", "worst CPU", "that loses"];

fn words<const N: usize>(words: [String; N]) -> Vec<Cell> {
    words.map(Cell::Words).into()
}

/// Sections in order.
fn tables(fleet: &Fleet) -> Tables<'_> {
    let outliers = fleet.outliers.iter().map(|one| {
        words([
            place(one),
            numbers::percent(one.lost),
            numbers::percent(one.lost_usually),
            most_of_it(one),
            points(one.excess.more),
        ])
    });
    let different = alone(fleet).into_iter();
    let different = different.map(|(names, differences)| words([names, differences]));
    let mut paragraphs: Vec<String> = fleet.groups.iter().map(subject).collect();
    paragraphs.extend(fleet.at_once.as_ref().map(clocks));
    paragraphs.extend(fleet.notes.iter().cloned());
    let moments = fleet.at_once.iter().flat_map(|of| &of.moments);
    Tables {
        title: "bandscope fleet",
        verdict: &fleet.verdict,
        paragraphs,
        sections: vec![
            Section {
                heading: "Stands out",
                heads: OUTLIERS,
                rows: outliers.collect(),
            },
            Section {
                heading: "In common, and not with the others",
                heads: COMMON,
                rows: fleet
                    .in_common
                    .iter()
                    .map(|one| words([in_common(one)]))
                    .collect(),
            },
            Section {
                heading: "Set up otherwise than the others",
                heads: DIFFERENT,
                rows: different.collect(),
            },
            Section {
                heading: "At once, on several nodes",
                heads: AT_ONCE,
                rows: moments.map(|one| words(row_at_once(one))).collect(),
            },
        ],
    }
}

/// As Markdown.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn markdown(fleet: &Fleet, out: &mut dyn Write) -> Result<(), Error> {
    tables(fleet).markdown(out)
}

/// As a page: one file, nothing from the network. It shows every node, which Markdown for an issue does not.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn html(fleet: &Fleet, out: &mut dyn Write) -> Result<(), Error> {
    html::fleet::write(fleet, &tables(fleet), all_nodes(fleet), out)
}

/// Of readers without script.
fn all_nodes(fleet: &Fleet) -> Section {
    let mut nodes: Vec<_> = fleet.nodes.iter().collect();
    nodes.sort_by(|a, b| b.worst.total_cmp(&a.worst));
    let rows = nodes.into_iter().map(|node| {
        words([
            node.node.clone(),
            node.cpus.to_string(),
            numbers::percent(node.lost),
            node.worst_cpu
                .map_or_else(String::new, |cpu| cpu.to_string()),
            numbers::percent(node.worst),
        ])
    });
    Section {
        heading: "All nodes, the slowest first",
        heads: NODES,
        rows: rows.collect(),
    }
}
