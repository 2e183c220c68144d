//! The report as a page for the browser: one file that needs no network, opens from disk and prints.
//!
//! `page.html` is the frame, `style.css` its looks, the modules of `script` what draws; `frame` puts them together as they are, and so it does for the
//! page of a fleet (`fleet`). The data is the report itself, and columns of numbers (`data.rs`) that the script makes every picture from. Whatever came from others stands in JSON with `<` escaped, or in
//! base64; the script shows it as text only, and a content security policy (`policy`) lets nothing else run or load.

mod changes;
mod codec;
mod data;
pub(crate) mod fleet;
mod frame;
pub(crate) mod policy;

use crate::text::Text;
use crate::{Error, Format, Options, escape, panels, text};
use bandscope_analysis::{Analysis, Pyramid};
use bandscope_report::Report;
use bandscope_studies::compare::Comparison;
use changes::Changes;
use data::Description;
use frame::Part;
use serde::Serialize;
use std::io::Write;

/// The modules of `script`, joined by `build/script.rs`.
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/main.js"));

/// Quanta that a page holds altogether: 3.5 minutes at 10 kHz, some 6 MB. Of longer runs it holds the pyramid, and quanta around the
/// places that matter.
const QUANTA: usize = 1 << 21;

/// The format `html`.
#[derive(Clone, Copy, Debug)]
pub struct Html;

/// What stands beside the report.
#[derive(Serialize)]
struct Document<'a> {
    report: &'a Report,
    /// How it was measured, in the words of the text: what, and how.
    measured: Vec<(String, String)>,
    series: Vec<Description>,
    /// Of two recordings what changed; `null` of a report.
    changes: Option<Changes>,
}

/// What a page shows.
struct Page<'a> {
    analysis: &'a Analysis,
    measured: Vec<(String, String)>,
    labels: Vec<String>,
    changes: Option<Changes>,
    /// For readers without script.
    text: Vec<u8>,
}

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn quanta(&self) -> Option<usize> {
        Some(QUANTA)
    }

    fn render(
        &self,
        analysis: &Analysis,
        _options: &Options,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let mut text = Vec::new();
        Text.render(analysis, &plain(), &mut text)?;
        let entries = text::entries(&analysis.report).into_iter();
        let page = Page {
            analysis,
            measured: entries.map(|(name, words)| (name.into(), words)).collect(),
            labels: labels(&analysis.report),
            changes: None,
            text,
        };
        page.write(out)
    }
}

/// Two recordings on one time axis, each from its own beginning, and what changed from A to B. `sides` are their analyses, with the quanta
/// that the page is to hold: [`Format::quanta`] of both together.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn compare(
    comparison: &Comparison,
    sides: [Analysis; 2],
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut text = Vec::new();
    text::compare::render(comparison, &plain(), &mut text)?;
    let changes = Changes::new(comparison, &sides);
    let (mut measured, mut of_sides) = (Vec::new(), Vec::new());
    for (letter, side) in changes::SIDES.into_iter().zip(&sides) {
        let entries = text::entries(&side.report).into_iter();
        measured.extend(entries.map(|(name, words)| (format!("{letter}: {name}"), words)));
        let own = labels(&side.report).into_iter();
        of_sides.extend(own.map(|label| format!("{letter}: {label}")));
    }
    let page = Page {
        analysis: &changes::together(comparison, sides),
        measured,
        labels: of_sides,
        changes: Some(changes),
        text,
    };
    page.write(out)
}

impl Page<'_> {
    fn write(mut self, out: &mut dyn Write) -> Result<(), Error> {
        frame::write(SCRIPT, out, &mut |part, out| match part {
            Part::Title => Ok(out.write_all(title(self.analysis).as_bytes())?),
            Part::Verdict => Ok(out.write_all("Reading …".as_bytes())?),
            Part::Plain => self.plain(out),
            Part::Data => self.data(out),
        })
    }

    fn plain(&self, out: &mut dyn Write) -> Result<(), Error> {
        write!(out, "This is the same report as text.</p><pre>")?;
        for line in String::from_utf8_lossy(&self.text).lines() {
            writeln!(out, "{}", escape::xml(line))?;
        }
        Ok(write!(out, "</pre>")?)
    }
}

fn title(analysis: &Analysis) -> String {
    let names: Vec<String> = analysis
        .report
        .inputs
        .iter()
        .map(|input| panels::file_name(input).to_owned())
        .collect();
    match names.is_empty() {
        true => "bandscope".into(),
        false => escape::xml(&format!("{} – bandscope", panels::listed(&names))),
    }
}

/// How text is for readers without script.
fn plain() -> Options {
    Options {
        all: true,
        width: 100,
        ..Options::default()
    }
}

/// What the series of a report are called.
fn labels(report: &Report) -> Vec<String> {
    let all: Vec<usize> = (0..report.series.len()).collect();
    let labels = panels::labels(report, &all);
    if panels::groups(report).len() <= 1 {
        return labels;
    }
    let series = report.series.iter().zip(labels);
    series
        .map(|(series, label)| {
            format!(
                "{}, {label}",
                panels::cpu_name(series.cpu, series.place.as_ref())
            )
        })
        .collect()
}

impl Page<'_> {
    /// The document and, for each series, its columns.
    fn data(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let mut series = Vec::new();
        let mut blocks = Vec::new();
        let nothing = Pyramid::default();
        for (index, label) in std::mem::take(&mut self.labels).into_iter().enumerate() {
            let pyramid = self.analysis.pyramids.get(index).unwrap_or(&nothing);
            let (description, columns) =
                data::columns(label, self.analysis.details.get(index), pyramid);
            series.push(description);
            blocks.push(columns);
        }
        let document = Document {
            report: &self.analysis.report,
            measured: std::mem::take(&mut self.measured),
            series,
            changes: self.changes.take(),
        };
        frame::document(&document, out)?;
        blocks.iter().try_for_each(|one| frame::columns(one, out))
    }
}

#[cfg(test)]
mod tests;
