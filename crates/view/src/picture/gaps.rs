//! The strip below a panel: the longest gaps by time and duration, the longest of all by name.

use super::axis::Axis;
use super::labels::Row;
use super::pace::outline;
use super::{Axes, HEADING, LABEL, NOTE, Panel};
use crate::glyphs;
use crate::scene::{Anchor, Frame, Items};
use crate::{escape, numbers, palette};
use bandscope_report::LongGap;

/// Height of the strip with its heading above.
pub(super) const HEIGHT: f64 = SPACE + STRIP;
pub(super) const SPACE: f64 = 22.0;
/// Its height without, where it is below a panel.
pub(super) const STRIP: f64 = 74.0;
/// Lines of names at the top of the strip, and the height of one.
const ROWS: usize = 2;
const ROW: f64 = 15.0;
/// Gaps that get a name, where there is room.
const NAMED: usize = 6;
/// Longest name.
const NAME_WIDTH: f64 = 190.0;
const TITLE: &str = "Gaps";
const EXPLANATION: &str = "the CPU was away: one stem a gap, as high as the gap was long";

/// Draws the strip, so high; returns the y below.
pub(super) fn strip(panel: &Panel<'_>, axes: &Axes, height: f64, items: &mut Items) -> f64 {
    let frame = Frame {
        y: panel.frame.bottom() + SPACE,
        height,
        ..panel.frame
    };
    let mut gaps: Vec<&LongGap> = panel.pyramid.gaps.iter().collect();
    gaps.retain(|gap| axes.time.holds(gap.at_s) && gap.ns > 0.0 && gap.ns.is_finite());
    gaps.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    let durations = axis(&gaps);
    match durations {
        Some(durations) => draw(&gaps, &durations, axes, &frame, items),
        None => {
            let at = (frame.x + 8.0, frame.y + 20.0);
            items.text(at, NOTE, Anchor::Start, silence(panel));
        }
    }
    heading(durations.is_some(), &frame, items);
    outline(&frame, items);
    note(panel, gaps.len(), &frame, items);
    frame.bottom()
}

/// What the strip shows, above it.
fn heading(has_gaps: bool, frame: &Frame, items: &mut Items) {
    let y = frame.y - 6.0;
    items.text((frame.x, y), HEADING, Anchor::Start, TITLE);
    let start = frame.x + glyphs::font(true).width(TITLE, HEADING.size) + 12.0;
    if has_gaps {
        let note = glyphs::font(false).fit(EXPLANATION, NOTE.size, frame.right() - start);
        items.text((start, y), NOTE, Anchor::Start, note);
    }
}

/// Why there is no gap to draw.
fn silence(panel: &Panel<'_>) -> &'static str {
    let number = panel.series.gaps.as_ref().map_or(0, |gaps| gaps.number);
    match panel.series.gaps_known {
        true if number == 0 => "No gaps.",
        true => "No gap with a known time and duration.",
        false => "Gaps were not recorded: the file has only counts.",
    }
}

/// Durations from a little below the shortest to a little above the longest.
fn axis(gaps: &[&LongGap]) -> Option<Axis> {
    let (longest, shortest) = (gaps.first()?.ns, gaps.last()?.ns);
    let ratio = (longest / shortest).max(10.0);
    Axis::logarithmic(shortest / ratio.powf(0.25), longest * ratio.powf(0.1))
}

fn draw(gaps: &[&LongGap], durations: &Axis, axes: &Axes, frame: &Frame, items: &mut Items) {
    let height = frame.height - ROWS as f64 * ROW - 2.0;
    let y_of = |ns: f64| frame.bottom() - durations.place(ns) * height;
    let ticks = durations.ticks((frame.height / 36.0) as usize);
    for &tick in &ticks {
        let y = y_of(tick);
        items.line((frame.x, y), (frame.right(), y), 0.75, palette::RULE);
    }
    let mut last = f64::INFINITY;
    for &tick in &ticks {
        let y = y_of(tick);
        let inside = y - frame.y > 5.0 && frame.bottom() - y > 5.0;
        if inside && last - y > 12.0 {
            let label = numbers::duration_round(tick);
            items.text((frame.x - 8.0, y + 3.5), NOTE, Anchor::End, label);
            last = y;
        }
    }
    for gap in gaps {
        let x = frame.x + axes.time.place(gap.at_s) * frame.width;
        let y = y_of(gap.ns);
        items.line((x, frame.bottom()), (x, y), 1.0, palette::BLUE.alpha(150));
        let head = Frame {
            x: x - 2.0,
            y: y - 2.0,
            width: 4.0,
            height: 4.0,
        };
        items.rectangle(head, palette::BLUE);
    }
    names(gaps, axes, frame, &y_of, items);
}

/// Names of the longest gaps above their heads, wherever there is room.
fn names(
    gaps: &[&LongGap],
    axes: &Axes,
    frame: &Frame,
    y_of: &impl Fn(f64) -> f64,
    items: &mut Items,
) {
    let font = glyphs::font(false);
    let mut rows = vec![Row::default(); ROWS];
    for gap in gaps.iter().take(NAMED) {
        let text = escape::visible(&format!("{} {}", numbers::duration(gap.ns), gap.cause));
        let text = font.fit(&text, LABEL.size, NAME_WIDTH);
        let width = font.width(&text, LABEL.size);
        let x = frame.x + axes.time.place(gap.at_s) * frame.width;
        let left = match x + 5.0 + width < frame.right() - 4.0 {
            true => x + 5.0,
            false => x - 5.0 - width,
        };
        // A leader that passes through a lower line takes its place there too.
        let taken = (left.min(x) - 5.0, (left + width).max(x) + 5.0);
        let leader = (x - 2.0, x + 2.0);
        let row = (0..ROWS).rev().find(|&row| {
            let lower_are_free = rows[row + 1..]
                .iter()
                .all(|r| r.is_free(leader.0, leader.1));
            lower_are_free && rows[row].take(taken.0, taken.1)
        });
        if let (Some(row), true) = (row, left > frame.x) {
            for lower in &mut rows[row + 1..] {
                lower.take(leader.0, leader.1);
            }
            let baseline = frame.y + (row as f64 + 1.0) * ROW - 3.0;
            items.line((x, y_of(gap.ns)), (x, baseline - 9.0), 0.75, palette::FRAME);
            items.text((left, baseline), LABEL, Anchor::Start, text);
        }
    }
}

/// How many gaps there were, right of the strip.
fn note(panel: &Panel<'_>, drawn: usize, frame: &Frame, items: &mut Items) {
    let Some(gaps) = &panel.series.gaps else {
        return;
    };
    let x = frame.right() + 24.0;
    let per_second = numbers::significant(gaps.per_second, 3);
    let first = format!(
        "{}, {per_second} per second",
        numbers::plural(gaps.number, "gap", "gaps")
    );
    let lost = numbers::percent(gaps.lost_ns as f64 / panel.series.ledger.wall_ns as f64);
    items.text((x, frame.y + 16.0), super::LABEL_BOLD, Anchor::Start, first);
    let second = format!("{lost} of the time");
    items.text((x, frame.y + 30.0), LABEL, Anchor::Start, second);
    if (drawn as u64) < gaps.number && drawn > 0 {
        let third = format!("drawn: the longest {drawn}");
        items.text((x, frame.y + 44.0), NOTE, Anchor::Start, third);
    }
}
