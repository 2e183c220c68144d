//! The report as a page for the browser: one file that needs no network, opens from disk and prints.
//!
//! `page.html` is the frame, `style.css` its looks, `script/*.js` what draws; they are put together as they are. The data is the report
//! itself, and columns of numbers (`data.rs`) that the script makes every picture from. Whatever came from others stands in JSON with `<` escaped, or in
//! base64; the script shows it as text only, and a content security policy (`policy`) lets nothing else run or load.

mod codec;
mod data;
mod policy;

use crate::text::Text;
use crate::{Error, Format, Options, escape, json, panels, text};
use bandscope_analysis::report::Report;
use bandscope_analysis::{Analysis, Pyramid};
use data::Description;
use serde::Serialize;
use std::io::Write;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// In the order in which they build on each other.
const SCRIPT: &[&str] = &[
    include_str!("script/decode.js"),
    include_str!("script/words.js"),
    include_str!("script/colours.js"),
    include_str!("script/model.js"),
    include_str!("script/view.js"),
    include_str!("script/axes.js"),
    include_str!("script/raster.js"),
    include_str!("script/panel.js"),
    include_str!("script/hover.js"),
    include_str!("script/controls.js"),
    include_str!("script/ledger.js"),
    include_str!("script/spectrum.js"),
    include_str!("script/fold.js"),
    include_str!("script/causes.js"),
    include_str!("script/findings.js"),
    include_str!("script/measured.js"),
    include_str!("script/main.js"),
];

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
    measured: Vec<(&'static str, String)>,
    series: Vec<Description>,
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
        let script = script();
        // Each mark once, in the order of the page.
        let mut rest = PAGE;
        while let Some((before, after)) = rest.split_once("{{") {
            out.write_all(before.as_bytes())?;
            let (mark, after) = after.split_once("}}").unwrap_or((after, ""));
            match mark {
                "policy" => out.write_all(policy::policy(&script, STYLE).as_bytes())?,
                "title" => out.write_all(title(analysis).as_bytes())?,
                "style" => out.write_all(STYLE.as_bytes())?,
                "script" => out.write_all(script.as_bytes())?,
                "text" => plain(analysis, out)?,
                "data" => data(analysis, out)?,
                _ => {}
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())?;
        Ok(())
    }
}

/// All of the script, in a scope of its own.
fn script() -> String {
    format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPT.concat())
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

/// The report as text, for readers without script.
fn plain(analysis: &Analysis, out: &mut dyn Write) -> Result<(), Error> {
    let options = Options {
        width: 100,
        ..Options::default()
    };
    let mut lines = Vec::new();
    Text.render(analysis, &options, &mut lines)?;
    for line in String::from_utf8_lossy(&lines).lines() {
        writeln!(out, "{}", escape::xml(line))?;
    }
    Ok(())
}

/// The document and, for each series, its columns.
fn data(analysis: &Analysis, out: &mut dyn Write) -> Result<(), Error> {
    let report = &analysis.report;
    let all: Vec<usize> = (0..report.series.len()).collect();
    let labels = panels::labels(report, &all);
    let one_cpu = panels::groups(report).len() <= 1;
    let mut series = Vec::new();
    let mut blocks = Vec::new();
    let nothing = Pyramid::default();
    for (index, label) in labels.into_iter().enumerate() {
        let label = match one_cpu {
            true => label,
            false => format!("{}, {label}", panels::cpu_name(report.series[index].cpu)),
        };
        let pyramid = analysis.pyramids.get(index).unwrap_or(&nothing);
        let (description, columns) = data::columns(label, analysis.details.get(index), pyramid);
        series.push(description);
        blocks.push(columns);
    }
    let document = Document {
        report,
        measured: text::entries(report),
        series,
    };
    write!(out, "<script type=\"application/json\" id=\"document\">")?;
    let document = json::without_controls(&serde_json::to_string(&document)?);
    out.write_all(within_script(&document).as_bytes())?;
    writeln!(out, "</script>")?;
    for columns in blocks {
        write!(out, "<script type=\"text/plain\" class=\"columns\">")?;
        columns.write(out)?;
        writeln!(out, "</script>")?;
    }
    Ok(())
}

/// JSON that cannot end the element that it stands in, or begin another: outside of strings JSON has none of these characters.
fn within_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests;
