//! What the picture says in words: the names of its lines, and which figures are refused.

use crate::text::scale::head;
use bandscope_report::format::share_within;
use bandscope_studies::scale::{self, Basis, Cell};

/// What stands at the end of a line: the phase, and the last cost that is known.
pub(super) fn name(phase: &scale::Phase) -> String {
    let last = phase.cells.iter().rev().find_map(|cell| {
        let about = if cell.basis == Basis::Extrapolated {
            "≈ "
        } else {
            ""
        };
        let cost = cell.cost?;
        Some(format!(
            "{about}{}",
            share_within(cost.longer, cost.interval)
        ))
    });
    format!("{}: {}", head(phase), last.unwrap_or_default())
}

/// Which phases have no figure, and on which numbers of nodes: phases in a row with the same ones together. Empty where all have all.
pub(super) fn refused(phases: &[scale::Phase]) -> String {
    let alike = phases.chunk_by(|a, b| without_figure(a) == without_figure(b));
    let alike = alike.filter_map(|phases| {
        let [first, last] = [phases.first()?, phases.last()?].map(head);
        let nodes = without_figure(&phases[0])?;
        Some(match first == last {
            true => format!("{first} on {nodes} nodes"),
            false => format!("{first} to {last} on {nodes} nodes"),
        })
    });
    alike.collect::<Vec<String>>().join("; ")
}

/// Numbers of nodes for which a phase has no figure; `None` where it has all.
fn without_figure(phase: &scale::Phase) -> Option<String> {
    let is_refused = |cell: &Cell| cell.cost.is_none();
    let runs = phase.cells.chunk_by(|a, b| is_refused(a) == is_refused(b));
    let runs = runs.filter(|run| is_refused(&run[0])).map(|run| {
        let [first, last] = [&run[0], &run[run.len() - 1]].map(|cell| scale::nodes(cell.nodes));
        match first == last {
            true => first,
            false => format!("{first} to {last}"),
        }
    });
    let runs: Vec<String> = runs.collect();
    (!runs.is_empty()).then(|| runs.join(" and "))
}
