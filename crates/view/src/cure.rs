//! What `cure` found, as Markdown for an issue, and as a small page that needs no script.

use crate::Error;
use crate::tables::{Cell, Section, Tables};
use crate::text::cure::{UNDO, lines, longest, subject, work, worst};
use bandscope_studies::cure::{Judged, Judgement, Verdict};
use std::io::Write;

/// Sections, in order.
pub(crate) const SECTIONS: [(Verdict, &str); 8] = [
    (Verdict::Helps, "Helps"),
    (Verdict::MakesWorse, "Makes it worse"),
    (Verdict::Undecided, "Cannot tell"),
    (Verdict::TooSmall, "Too small to tell"),
    (Verdict::WentElsewhere, "What it saved went elsewhere"),
    (Verdict::DoesNothing, "Does nothing here"),
    (Verdict::CannotBeTried, "Cannot be tried"),
    (Verdict::NotTried, "Not tried"),
];
const HEADS: &[&str] = &[
    "",
    "effect",
    "lines that changed",
    "worst 1 ms",
    "longest gap",
    "pairs",
];
const UNTRIED_HEADS: &[&str] = &["", "why"];
const CHANGE_HEADS: &[&str] = &["", "setting", "before", "during"];

/// What a row says of a cure.
fn cells(one: &Judgement) -> Vec<Cell> {
    let mut effect = vec![one.effect().to_owned()];
    effect.extend(
        one.reason
            .iter()
            .map(|reason| reason.trim_end_matches('.').to_owned()),
    );
    if one.work_change().is_some() {
        effect.push(format!("Work per second: {}", work(one)));
    }
    if one.is_kept {
        effect.push("In force".to_owned());
    }
    effect.extend(
        one.problems
            .iter()
            .map(|problem| problem.trim_end_matches('.').to_owned()),
    );
    let mut words = vec![one.name.clone(), effect.join(". ")];
    if one.saved.is_some() {
        words.extend([lines(one), worst(one), longest(one), one.pairs.to_string()]);
    }
    let mut cells: Vec<Cell> = words.into_iter().map(Cell::Words).collect();
    if has_figures(one.verdict) {
        cells.resize(HEADS.len(), Cell::Words(String::new()));
    } else {
        cells.truncate(UNTRIED_HEADS.len());
    }
    cells
}

fn has_figures(verdict: Verdict) -> bool {
    ![Verdict::CannotBeTried, Verdict::NotTried].contains(&verdict)
}

/// Sections in order, what each cure changes at the end.
fn tables(judged: &Judged) -> Tables<'_> {
    let section = |&(verdict, heading): &(Verdict, &'static str)| {
        let cures = judged.cures.iter().filter(|one| one.verdict == verdict);
        Section {
            heading,
            heads: if has_figures(verdict) {
                HEADS
            } else {
                UNTRIED_HEADS
            },
            rows: cures.map(cells).collect(),
        }
    };
    let mut sections: Vec<Section> = SECTIONS.iter().map(section).collect();
    let changes = judged.cures.iter().flat_map(|one| {
        one.changes.iter().map(|change| {
            vec![
                Cell::Words(one.name.clone()),
                Cell::Code(change.setting.clone()),
                Cell::Code(change.before.clone()),
                Cell::Code(change.during.clone()),
            ]
        })
    });
    sections.push(Section {
        heading: "What each changes",
        heads: CHANGE_HEADS,
        rows: changes.collect(),
    });
    let mut paragraphs = vec![subject(judged)];
    if !judged.kept.is_empty() {
        paragraphs.push(format!(
            "In force: {}. To undo: {UNDO}",
            judged.kept.join(", ")
        ));
    }
    paragraphs.extend(judged.notes.iter().cloned());
    let next = judged.next_step.iter();
    paragraphs.extend(next.map(|command| format!("To see why: {command}")));
    Tables {
        title: "bandscope cure",
        verdict: &judged.verdict,
        paragraphs,
        sections,
    }
}

/// As Markdown.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn markdown(judged: &Judged, out: &mut dyn Write) -> Result<(), Error> {
    tables(judged).markdown(out)
}

/// As a page: one file, no script, nothing from the network.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn html(judged: &Judged, out: &mut dyn Write) -> Result<(), Error> {
    tables(judged).html(out)
}
