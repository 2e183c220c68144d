//! A verdict and tables below it, as Markdown for an issue, and as a small page that needs no script.

use crate::Error;
use crate::escape::xml;
use crate::html::policy::policy;
use crate::markdown::safe;
use serde::Serialize;
use std::io::Write;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:78rem;padding:0 1rem;color:#1a1a1a;background:#fff}\
h1{font-size:1.25rem}h2{font-size:1.05rem;margin-top:2rem}p{color:#555}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.35rem .7rem .35rem 0;border-top:1px solid #ddd;overflow-wrap:anywhere}\
td:first-child{font-weight:600;overflow-wrap:normal;min-width:9rem}code{font:13px ui-monospace,monospace}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}p{color:#999}th,td{border-color:#333}}";

/// One cell. Untrusted.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    /// A sentence, a name, a number.
    Words(String),
    /// What is typed, or stands in a file.
    Code(String),
}

/// Rows below a heading.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Section {
    pub(crate) heading: &'static str,
    /// Heads of the columns; none of a table that explains itself.
    pub(crate) heads: &'static [&'static str],
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// What stands on the page.
#[derive(Clone, Debug)]
pub(crate) struct Tables<'a> {
    /// Of the window.
    pub(crate) title: &'static str,
    pub(crate) verdict: &'a str,
    /// Paragraphs below it.
    pub(crate) paragraphs: Vec<String>,
    /// Those without rows are left out.
    pub(crate) sections: Vec<Section>,
}

impl Cell {
    /// A cell of Markdown: nothing of it ends the code or the cell.
    fn markdown(&self) -> String {
        match self {
            Cell::Words(text) => safe(text),
            Cell::Code(text) if text.is_empty() => String::new(),
            Cell::Code(text) => format!("<code>{}</code>", safe(text)),
        }
    }

    fn html(&self) -> String {
        match self {
            Cell::Words(text) => format!("<td>{}</td>", xml(text)),
            Cell::Code(text) if text.is_empty() => "<td></td>".to_owned(),
            Cell::Code(text) => format!("<td><code>{}</code></td>", xml(text)),
        }
    }
}

impl Tables<'_> {
    pub(crate) fn sections(&self) -> impl Iterator<Item = &Section> {
        let sections = self.sections.iter();
        sections.filter(|section| !section.rows.is_empty())
    }

    /// As Markdown.
    pub(crate) fn markdown(&self, out: &mut dyn Write) -> Result<(), Error> {
        writeln!(out, "**{}**", safe(self.verdict))?;
        for paragraph in &self.paragraphs {
            writeln!(out, "\n{}", safe(paragraph))?;
        }
        for section in self.sections() {
            let heads = section.heads;
            writeln!(
                out,
                "\n### {}\n\n| {} |",
                section.heading,
                heads.join(" | ")
            )?;
            writeln!(out, "|{}", "---|".repeat(heads.len()))?;
            for row in &section.rows {
                let cells: Vec<String> = row.iter().map(Cell::markdown).collect();
                writeln!(out, "| {} |", cells.join(" | "))?;
            }
        }
        Ok(())
    }

    /// Paragraphs and tables of a page.
    pub(crate) fn body(&self, out: &mut dyn Write) -> Result<(), Error> {
        for paragraph in &self.paragraphs {
            writeln!(out, "<p>{}</p>", xml(paragraph))?;
        }
        for section in self.sections() {
            writeln!(out, "<h2>{}</h2>\n<table>", section.heading)?;
            if !section.heads.is_empty() {
                let heads = section.heads.iter().map(|head| format!("<th>{head}</th>"));
                writeln!(out, "<tr>{}</tr>", heads.collect::<String>())?;
            }
            for row in &section.rows {
                let cells: String = row.iter().map(Cell::html).collect();
                writeln!(out, "<tr>{cells}</tr>")?;
            }
            writeln!(out, "</table>")?;
        }
        Ok(())
    }

    /// As a page: one file, no script, nothing from the network.
    pub(crate) fn html(&self, out: &mut dyn Write) -> Result<(), Error> {
        page((self.title, self.verdict), "", out, |out| self.body(out))
    }
}

/// A page of this title and verdict: one file, no script, nothing from the network. `looks` are added to those of such pages.
pub(crate) fn page(
    (title, verdict): (&str, &str),
    looks: &str,
    out: &mut dyn Write,
    body: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
) -> Result<(), Error> {
    let style = format!("{STYLE}{looks}");
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <title>{title}</title>\n<style>{style}</style>\n<main>\n<h1>{}</h1>",
        policy("", &style),
        xml(verdict),
    )?;
    body(out)?;
    Ok(writeln!(out, "</main>\n</html>")?)
}
