//! Names of signals above a spectrum, each beside the upper end of its line like a flag: no line runs through the name of another.

use super::axis::Axis;
use super::labels::Row;
use super::{LABEL, MARGIN};
use crate::scene::{Anchor, Frame, Item, Items};
use crate::{escape, glyphs, numbers, palette, panels};
use bandscope_report::Signal;

/// Lines of names, and the height of one.
const ROWS: usize = 4;
const ROW: f64 = 15.0;
/// Lines with a name, those of the costliest signals.
const MAX_NAMES: usize = 6;
/// A name may reach so far beyond the frame.
const OVERHANG: f64 = MARGIN - 4.0;
/// Signals whose lines are nearer than this share one.
const APART: f64 = 4.0;

/// The lines of the signals of a spectrum.
pub(super) struct Flags {
    /// With the row of the name, 0 the lowest.
    named: Vec<(Flag, usize)>,
    /// Where the other lines stand.
    unnamed: Vec<f64>,
}

impl Flags {
    /// Names as many of the costliest signals as there is room for. The height of the frame does not matter.
    pub(super) fn new(signals: &[Signal], frequency: &Axis, frame: &Frame) -> Flags {
        let mut shared: Vec<(f64, Vec<&Signal>)> = Vec::new();
        for signal in signals {
            if !frequency.holds(signal.frequency_hz) {
                continue;
            }
            let x = frame.x + frequency.place(signal.frequency_hz) * frame.width;
            match shared.iter_mut().find(|known| (known.0 - x).abs() < APART) {
                Some(known) => known.1.push(signal),
                None => shared.push((x, vec![signal])),
            }
        }
        let mut counts = (0..=shared.len().min(MAX_NAMES)).rev();
        let named = counts.find_map(|count| all_named(&shared[..count], frame));
        let named = named.unwrap_or_default();
        let unnamed = shared[named.len()..].iter().map(|(x, _)| *x).collect();
        Flags { named, unnamed }
    }

    /// Height of the names.
    pub(super) fn height(&self) -> f64 {
        let rows = self.named.iter().map(|(_, row)| row + 1);
        rows.max().unwrap_or(0) as f64 * ROW
    }

    pub(super) fn draw(self, frame: &Frame, items: &mut Items) {
        let line = |x: f64, top: f64, items: &mut Items| {
            items.push(Item::Line {
                points: vec![(x, frame.bottom()), (x, top)],
                width: 1.0,
                colour: palette::VERMILION,
                dash: Some((3.0, 3.0)),
            });
        };
        for x in self.unnamed {
            line(x, frame.y, items);
        }
        for (flag, row) in self.named {
            let baseline = frame.y - 6.0 - row as f64 * ROW;
            line(flag.x, baseline - 9.0, items);
            items.text((flag.span.0, baseline), LABEL, Anchor::Start, flag.text);
        }
    }
}

/// Flags of all lines, each with its row; `None` where there is no room for one of them.
fn all_named(lines: &[(f64, Vec<&Signal>)], frame: &Frame) -> Option<Vec<(Flag, usize)>> {
    let places: Vec<f64> = lines.iter().map(|(x, _)| *x).collect();
    let flag = |(x, signals): &(f64, Vec<&Signal>)| Flag::new(signals, *x, &places, frame);
    let mut flags: Vec<Flag> = lines.iter().map(flag).collect();
    // A text covers the lines behind it, whose names must be lower: those come first.
    flags.sort_by(|a, b| match (a.is_at_left(), b.is_at_left()) {
        (false, false) => b.x.total_cmp(&a.x),
        (true, true) => a.x.total_cmp(&b.x),
        (a, b) => a.cmp(&b),
    });
    let mut rows = vec![Row::default(); ROWS];
    let named = flags.into_iter().map(|flag| {
        let row = flag.take(&mut rows)?;
        Some((flag, row))
    });
    named.collect()
}

/// A name beside its line.
struct Flag {
    text: String,
    /// Of the line.
    x: f64,
    /// Ends of the text.
    span: (f64, f64),
}

impl Flag {
    /// In full where there is room beside the line, else in short. At the left it stands over none of the `others`, the lines of other flags.
    fn new(signals: &[&Signal], x: f64, others: &[f64], frame: &Frame) -> Flag {
        const SPACE: f64 = 4.0;
        let font = glyphs::font(false);
        let shapes = names(signals).map(|(text, share)| {
            let text = font.fit(&escape::visible(&text), LABEL.size, frame.width * share);
            let width = font.width(&text, LABEL.size);
            let spans = [
                (x + SPACE, x + SPACE + width),
                (x - SPACE - width, x - SPACE),
            ];
            spans.map(|span| Flag {
                text: text.clone(),
                x,
                span,
            })
        });
        let [[full_right, full_left], [short_right, short_left]] = shapes;
        let fits = |flag: &Flag| {
            let (left, right) = flag.span;
            let stands_over = |other: &f64| flag.is_at_left() && (left..=right).contains(other);
            let is_inside = frame.x <= left && right <= frame.right() + OVERHANG;
            is_inside && !others.iter().any(stands_over)
        };
        let shapes = [full_right, full_left, short_right];
        shapes.into_iter().find(fits).unwrap_or(short_left)
    }

    fn is_at_left(&self) -> bool {
        self.span.0 < self.x
    }

    /// Takes the lowest row where nothing stands in the way of the text, or of its line on the way up.
    fn take(&self, rows: &mut [Row]) -> Option<usize> {
        const MARGIN: f64 = 6.0;
        let line = (self.x - 2.0, self.x + 2.0);
        let taken = (
            self.span.0.min(self.x) - MARGIN,
            self.span.1.max(self.x) + MARGIN,
        );
        let row = (0..rows.len()).find(|&row| {
            let mut below = rows[..row].iter();
            below.all(|lower| lower.is_free(line.0, line.1)) && rows[row].is_free(taken.0, taken.1)
        })?;
        for lower in &mut rows[..row] {
            lower.take(line.0, line.1);
        }
        rows[row].take(taken.0, taken.1).then_some(row)
    }
}

/// What the signals of a line are, in full and in short, and how much of the frame's width that may take.
fn names(signals: &[&Signal]) -> [(String, f64); 2] {
    let Some((first, others)) = signals.split_first() else {
        return Default::default();
    };
    // Its cause says more than where it comes from.
    let cause = |signal: &Signal| signal.cause.as_ref().map(ToString::to_string);
    let mut what = cause(first).unwrap_or_else(|| first.origin.to_string());
    let mut causes: Vec<String> = others.iter().filter_map(|other| cause(other)).collect();
    causes.sort();
    causes.dedup();
    causes.retain(|other| *other != what);
    if !causes.is_empty() {
        what += &format!(", also {}", panels::listed(&causes));
    }
    let (hz, per_event) = (first.frequency_hz, numbers::duration(first.ns_per_event));
    let precise = numbers::frequency(hz, first.uncertainty_hz);
    [
        (format!("{precise}, {per_event} each, {what}"), 1.0),
        (format!("{} {what}", numbers::frequency_round(hz)), 0.3),
    ]
}
