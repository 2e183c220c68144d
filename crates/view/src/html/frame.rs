//! `page.html` with what a page has in place of its marks.

use super::codec::Columns;
use super::policy::policy;
use crate::{Error, json};
use serde::Serialize;
use std::io::Write;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");

/// What differs from page to page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Of the window, as text.
    Title,
    /// The headline, as text.
    Verdict,
    /// Markup for readers without script, from within a paragraph on.
    Plain,
    /// Elements that hold the data.
    Data,
}

type Fill<'a> = &'a mut dyn FnMut(Part, &mut dyn Write) -> Result<(), Error>;

/// Writes a page with this script; `fill` writes its parts, in the order of the page.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub(super) fn write(script: &str, out: &mut dyn Write, fill: Fill<'_>) -> Result<(), Error> {
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        out.write_all(before.as_bytes())?;
        let (mark, after) = after.split_once("}}").unwrap_or((after, ""));
        match mark {
            "policy" => out.write_all(policy(script, STYLE).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(script.as_bytes())?,
            "title" => fill(Part::Title, out)?,
            "verdict" => fill(Part::Verdict, out)?,
            "plain" => fill(Part::Plain, out)?,
            "data" => fill(Part::Data, out)?,
            unknown => unreachable!("page.html has the mark {unknown}"),
        }
        rest = after;
    }
    Ok(out.write_all(rest.as_bytes())?)
}

/// The page's JSON.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub(super) fn document(of: &impl Serialize, out: &mut dyn Write) -> Result<(), Error> {
    let document = json::without_controls(&serde_json::to_string(of)?);
    let document = within_script(&document);
    Ok(writeln!(
        out,
        "<script type=\"application/json\" id=\"document\">{document}</script>"
    )?)
}

/// A block of columns.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub(super) fn columns(of: &Columns, out: &mut dyn Write) -> Result<(), Error> {
    write!(out, "<script type=\"text/plain\" class=\"columns\">")?;
    of.write(out)?;
    Ok(writeln!(out, "</script>")?)
}

/// JSON that cannot end the element that it stands in, or begin another: outside of strings JSON has none of these characters.
fn within_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
