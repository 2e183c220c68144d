//! What noise costs a job on many nodes, as a picture, and as a page that needs no script.

use crate::escape::xml;
use crate::options::Theme;
use crate::tables::page;
use crate::text::scale::{CAUSES, head, points, recording, share, subject, these};
use crate::{Error, Options, numbers, picture, png, svg};
use bandscope_report::format::share_within;
use bandscope_studies::scale::{Basis, Cell, Phase, Scale, nodes};
use std::io::Write;

/// Of the pictures the one is shown that suits the screen. On a narrow one the cells of a row stand below each other.
const LOOKS: &str = "figure{margin:1rem 0}figure svg{display:block;width:100%;height:auto}.wide svg{max-width:1000px}.medium svg{max-width:50rem}\
td:first-child{min-width:0}th{overflow-wrap:normal}small{display:block;font-size:13px;color:#555}p,li{max-width:48rem}tr>:nth-child(2){white-space:nowrap}\
@media(max-width:34rem){.wide,.medium{display:none}table{font-size:13px}th,td{padding-right:.4rem}}\
@media(min-width:34.01rem) and (max-width:66rem){.wide,.narrow{display:none}}@media(min-width:66.01rem){.medium,.narrow{display:none}}\
@media(max-width:30rem){table,tbody{display:block}tr{display:grid;grid-template-columns:5rem 1fr;border-top:1px solid #888}\
tr>*{grid-column:2;border:0}tr>:first-child{grid-column:1}th,td{padding:.2rem .4rem .2rem 0}td:empty{display:none}}\
@media not all and (prefers-color-scheme:dark){.dark{display:none}}\
@media(prefers-color-scheme:dark){body{background:#14181d}.light{display:none}small{color:#999}}";
/// Widths of the pictures of a page, in points, and what their figures are called.
const WIDTHS: [(&str, f64); 3] = [("wide", 1000.0), ("medium", 620.0), ("narrow", 368.0)];
const THEMES: [(&str, Theme); 2] = [("light", Theme::Light), ("dark", Theme::Dark)];
const HEADS: [&str; 4] = [
    "Nodes",
    "Longer by",
    "How it is known",
    "Less by, in points, without",
];
/// What is assumed of any job.
const ASSUMED: [&str; 2] = [
    "A node is one rank. A node with 64 ranks counts as 64, if its CPUs lose independently.",
    "Waiting takes no time: the cost of the collective operation itself is not in it.",
];

/// As SVG.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn svg(scale: &Scale, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    svg::write(&picture::scale::scene(scale, options, false), out)
}

/// As PNG.
///
/// # Errors
/// [`Error::Write`] if `out` fails, [`Error::TooLarge`] of a picture that is.
pub fn png(scale: &Scale, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let scene = picture::scale::scene(scale, options, false);
    png::write(&scene, options.scale, out)
}

/// As a page: one file, no script, nothing from the network.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn html(scale: &Scale, out: &mut dyn Write) -> Result<(), Error> {
    page(("bandscope scale", &scale.verdict), LOOKS, out, |out| {
        writeln!(out, "<p>{}</p>", xml(&subject(scale)))?;
        for (width, picture_width) in WIDTHS {
            for (class, theme) in THEMES {
                let options = Options {
                    picture_width,
                    theme,
                    ..Options::default()
                };
                writeln!(out, "<figure class=\"{width} {class}\">")?;
                svg::write(&picture::scale::scene(scale, &options, true), out)?;
                writeln!(out, "</figure>")?;
            }
        }
        scale
            .phases
            .iter()
            .try_for_each(|one| phase(one, scale, out))?;
        writeln!(out, "<h2>What it assumes</h2>\n<ul>")?;
        let notes = scale.notes.iter().map(String::as_str);
        for note in notes.chain(ASSUMED) {
            writeln!(out, "<li>{}</li>", xml(note))?;
        }
        Ok(writeln!(out, "</ul>")?)
    })
}

/// The table of a length of phase.
fn phase(phase: &Phase, scale: &Scale, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "<h2>Phases of {}</h2>\n<table>", head(phase))?;
    let heads = HEADS.map(|head| format!("<th scope=\"col\">{head}</th>"));
    writeln!(out, "<tr>{}</tr>", heads.concat())?;
    for cell in &phase.cells {
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            nodes(cell.nodes),
            cost(cell),
            known(cell, scale),
            causes(cell)
        )?;
    }
    if let Some(together) = &phase.together {
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>observed<small>as they lost together</small></td><td></td></tr>",
            xml(&these(together, scale)),
            share(together.longer)
        )?;
    }
    Ok(writeln!(out, "</table>")?)
}

fn cost(cell: &Cell) -> String {
    let about = match cell.basis {
        Basis::Extrapolated => "≈ ",
        _ => "",
    };
    cell.cost.map_or_else(
        || numbers::NONE.to_owned(),
        |cost| {
            let (low, high) = cost.interval;
            let low = share(low).replace(" %", "");
            let longer = share_within(cost.longer, cost.interval);
            format!("{about}{longer}<small>{low} to {}</small>", share(high))
        },
    )
}

/// How a figure is known, and what would decide one that was not seen.
fn known(cell: &Cell, scale: &Scale) -> String {
    let events = || {
        let number = cell.events.unwrap_or(0);
        numbers::plural(number, "loss", "losses")
    };
    let does = match cell.basis {
        Basis::Extrapolated => "show",
        _ => "decide",
    };
    let words = match cell.basis {
        Basis::Observed => return format!("observed<small>{}</small>", events()),
        Basis::Extrapolated => "extrapolated".to_owned(),
        Basis::TooRare => format!("refused: only {}", events()),
        Basis::Beyond => "refused: beyond what was seen".to_owned(),
    };
    let decides = cell.decided_by_s.map_or_else(String::new, |seconds| {
        format!(
            "<small>{} would {does} it</small>",
            recording(seconds, scale)
        )
    });
    words + &decides
}

/// What is saved without each, the largest first.
fn causes(cell: &Cell) -> String {
    let causes = cell.from.iter().take(CAUSES).map(|saving| {
        let points = points(saving).unwrap_or_else(|| "refused".to_owned());
        format!("{}: {points}", xml(&saving.name))
    });
    let mut causes: Vec<String> = causes.collect();
    let others = cell.from.len().saturating_sub(CAUSES);
    if others > 0 {
        causes.push(format!("and {others} more"));
    }
    causes.join("<br>")
}

#[cfg(test)]
pub(crate) mod tests;
