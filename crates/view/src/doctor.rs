//! What `doctor` found, as Markdown for an issue, and as a small page that needs no script.

use crate::Error;
use crate::escape::xml;
use crate::html::policy::policy;
use crate::markdown::safe;
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
const HEADS: [&str; 6] = ["", "set", "wanted", "cost", "now", "at boot"];
const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:78rem;padding:0 1rem;color:#1a1a1a;background:#fff}\
h1{font-size:1.25rem}h2{font-size:1.05rem;margin-top:2rem}p{color:#555}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.35rem .7rem .35rem 0;border-top:1px solid #ddd;overflow-wrap:anywhere}\
td:first-child{font-weight:600;overflow-wrap:normal;min-width:9rem}code{font:13px ui-monospace,monospace}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}p{color:#999}th,td{border-color:#333}}";

/// What a row says of an item; commands stand in the last two.
fn cells(entry: &Entry, doctor: &Doctor) -> [String; 6] {
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
    [
        entry.title.to_owned(),
        words(&entry.found),
        words(&entry.wanted),
        cost,
        now.unwrap_or_default(),
        lasting.unwrap_or_default(),
    ]
}

/// Sections that have entries, with their rows.
fn sections(doctor: &Doctor) -> Vec<(&'static str, Vec<[String; 6]>)> {
    let rows = |state: State| {
        let entries = doctor
            .entries
            .iter()
            .filter(move |entry| entry.state == state);
        entries
            .map(|entry| cells(entry, doctor))
            .collect::<Vec<_>>()
    };
    let sections = SECTIONS
        .iter()
        .map(|(state, heading)| (*heading, rows(*state)));
    sections.filter(|section| !section.1.is_empty()).collect()
}

/// Code in a cell of Markdown: nothing of it ends the code or the cell.
fn code(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("<code>{}</code>", safe(text)),
    }
}

/// As Markdown.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn markdown(doctor: &Doctor, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(
        out,
        "**{}**\n\n{}",
        safe(&doctor.verdict),
        safe(&subject(doctor))
    )?;
    for (heading, rows) in sections(doctor) {
        writeln!(out, "\n### {heading}\n\n| {} |", HEADS.join(" | "))?;
        writeln!(out, "|{}", "---|".repeat(HEADS.len()))?;
        for [title, found, wanted, cost, now, lasting] in &rows {
            let words = [title, found, wanted, cost].map(|text| safe(text));
            let commands = [now, lasting].map(|text| code(text));
            writeln!(out, "| {} | {} |", words.join(" | "), commands.join(" | "))?;
        }
    }
    Ok(())
}

/// As a page: one file, no script, nothing from the network.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn html(doctor: &Doctor, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <title>bandscope doctor</title>\n<style>{STYLE}</style>\n<h1>{}</h1>\n<p>{}</p>",
        policy("", STYLE),
        xml(&doctor.verdict),
        xml(&subject(doctor))
    )?;
    for (heading, rows) in sections(doctor) {
        let heads = HEADS.map(|head| format!("<th>{head}</th>")).concat();
        writeln!(out, "<h2>{heading}</h2>\n<table>\n<tr>{heads}</tr>")?;
        for [title, found, wanted, cost, now, lasting] in &rows {
            let words = [title, found, wanted, cost].map(|text| format!("<td>{}</td>", xml(text)));
            let commands = [now, lasting].map(|text| match text.is_empty() {
                true => "<td></td>".to_owned(),
                false => format!("<td><code>{}</code></td>", xml(text)),
            });
            writeln!(out, "<tr>{}{}</tr>", words.concat(), commands.concat())?;
        }
        writeln!(out, "</table>")?;
    }
    writeln!(out, "<h2>Facts</h2>\n<table>")?;
    for fact in &doctor.facts {
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td></tr>",
            xml(fact.name),
            xml(&fact.value)
        )?;
    }
    writeln!(out, "</table>\n</html>")?;
    Ok(())
}
