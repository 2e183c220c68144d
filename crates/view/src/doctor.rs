//! What `doctor` found, as Markdown for an issue, and as a small page that needs no script.

use crate::Error;
use crate::tables::{Cell, Section, Tables};
use crate::text::doctor::{acts_on, share, subject};
use bandscope_report::remedies::Need;
use bandscope_studies::doctor::{Doctor, Entry, State};
use std::io::Write;

/// Sections of what is not as wanted and took time, or may have; the rest is folded where room is short.
pub(crate) const FOLDED: usize = 5;
/// Sections, in order.
pub(crate) const SECTIONS: [(State, &str); 7] = [
    (State::Costs, "What costs something here"),
    (State::Open, "What the recording could not see"),
    (State::Unnamed, "Cost not known without kernel events"),
    (State::NotMeasurable, "Not measurable"),
    (State::Unknown, "Not readable"),
    (State::Free, "Costs nothing here"),
    (State::Quiet, "As a quiet CPU wants it"),
];
const HEADS: &[&str] = &["", "set", "wanted", "cost", "now", "at boot"];

/// What a row says of an item; commands stand in the last two.
fn cells(entry: &Entry, doctor: &Doctor) -> Vec<Cell> {
    let words = |text: &Option<String>| text.clone().unwrap_or_default();
    let cost = match entry.state {
        State::Costs | State::Open => {
            format!("{}: {}", share(entry, doctor), acts_on(entry, doctor))
        }
        _ => words(&entry.why),
    };
    let now = entry.now.as_ref().and_then(|remedy| {
        let command = remedy.command.clone()?;
        Some(match remedy.needs.contains(&Need::Host) {
            true => format!("{command}  # on the host"),
            false => command,
        })
    });
    let lasting = entry.lasting.as_ref();
    let lasting = lasting.map(|lasting| format!("{}: {}", lasting.place.name(), lasting.line));
    let words = [
        entry.title.to_owned(),
        words(&entry.found),
        words(&entry.wanted),
        cost,
    ];
    let code = [now, lasting].map(Option::unwrap_or_default);
    let words = words.into_iter().map(Cell::Words);
    words.chain(code.map(Cell::Code)).collect()
}

/// Sections in order, with their rows.
fn tables(doctor: &Doctor) -> Tables<'_> {
    let rows = |state: State| {
        let entries = doctor.entries.iter();
        let entries = entries.filter(|entry| entry.state == state);
        entries.map(|entry| cells(entry, doctor)).collect()
    };
    let section = |&(state, heading): &(State, &'static str)| Section {
        heading,
        heads: HEADS,
        rows: rows(state),
    };
    Tables {
        title: "bandscope doctor",
        verdict: &doctor.verdict,
        paragraphs: vec![subject(doctor)],
        sections: SECTIONS.iter().map(section).collect(),
    }
}

/// As Markdown.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn markdown(doctor: &Doctor, out: &mut dyn Write) -> Result<(), Error> {
    tables(doctor).markdown(out)
}

/// As a page: one file, no script, nothing from the network.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn html(doctor: &Doctor, out: &mut dyn Write) -> Result<(), Error> {
    let facts = doctor.facts.iter();
    let facts = facts.map(|fact| {
        let cells = [fact.name.to_owned(), fact.value.clone()];
        Vec::from(cells.map(Cell::Words))
    });
    let mut tables = tables(doctor);
    tables.sections.push(Section {
        heading: "Facts",
        heads: &[],
        rows: facts.collect(),
    });
    tables.html(out)
}
