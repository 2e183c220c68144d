//! Title, machine and verdict.

use super::{MARGIN, MOST_PANELS, NOTE, TITLE, VERDICT};
use crate::scene::{Anchor, Items, Style};
use crate::text::{machine, origin, subject};
use crate::{Options, escape, glyphs, numbers, panels};
use bandscope_analysis::Analysis;
use bandscope_report::Report;

/// Lines of the verdict that are shown.
const VERDICT_LINES: usize = 3;

/// What was measured.
pub(super) fn title(report: &Report) -> String {
    let subject = subject(report, &panels::groups(report));
    match subject.as_str() {
        "" => "bandscope".into(),
        subject => escape::visible(subject),
    }
}

/// Draws the head of the picture; returns the y below. The verdict is that of the whole picture.
pub(super) fn header(analysis: &Analysis, width: f64, options: &Options, items: &mut Items) -> f64 {
    let report = &analysis.report;
    let space = width - 2.0 * MARGIN;
    let fit = |text: &str, style: crate::scene::Style| {
        glyphs::font(style.bold).fit(&escape::visible(text), style.size, space)
    };
    let mut y = MARGIN + 14.0;
    items.text(
        (MARGIN, y),
        TITLE,
        Anchor::Start,
        fit(&title(report), TITLE),
    );
    for line in facts(analysis, options) {
        y += 17.0;
        items.text((MARGIN, y), NOTE, Anchor::Start, fit(&line, NOTE));
    }
    if !options.views.is_empty() {
        return y + 12.0;
    }
    y += 6.0;
    for line in wrapped(&report.verdict, VERDICT, VERDICT_LINES, space) {
        y += 18.0;
        items.text((MARGIN, y), VERDICT, Anchor::Start, line);
    }
    y + 16.0
}

/// Machine and time of the recording, and what is not drawn.
fn facts(analysis: &Analysis, options: &Options) -> Vec<String> {
    let report = &analysis.report;
    let mut lines = Vec::new();
    if let Some(manifest) = &report.recording {
        let parts = [machine(&manifest.machine), origin(manifest)];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        lines.push(parts.join(" · "));
    }
    if let Some((from, to)) = options.window_s {
        let at = |s: f64| numbers::duration(s * 1e9);
        lines.push(format!("Part shown: {} from {}.", at(to - from), at(from)));
    }
    if report.series.len() > MOST_PANELS {
        let all = report.series.len();
        lines.push(format!("Drawn: the first {MOST_PANELS} of {all} series."));
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// `text`, which may be anybody's, in at most so many lines that fit.
pub(super) fn wrapped(text: &str, style: Style, most: usize, space: f64) -> Vec<String> {
    let font = glyphs::font(style.bold);
    let mut lines: Vec<String> = Vec::new();
    // A share stays with its sign.
    for word in escape::visible(text)
        .replace(" %", "\0%")
        .split_whitespace()
    {
        let word = word.replace('\0', " ");
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (lines.last_mut(), longer) {
            (Some(line), Some(longer)) if font.width(&longer, style.size) <= space => {
                *line = longer;
            }
            _ => lines.push(word),
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(rest);
    }
    lines
        .iter()
        .map(|line| font.fit(line, style.size, space))
        .collect()
}
