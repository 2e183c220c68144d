//! A row of bars for each histogram, over a common axis of times the work: a smear from N to kN ends in one place whatever N is.

use super::label;
use crate::text::table::{Page, Paint};
use bandscope_studies::histogram::{Described, Report};

/// Heights of bars, in equal steps of the logarithm of the number.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The axis reaches to this many times the work at most, and at least.
const FARTHEST: f64 = 1e4;
const NEAREST: f64 = 2.0;
/// Marks of the axis.
const MARKS: [f64; 13] = [
    1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 15.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4,
];

/// The bars, their axis, and what its marks are.
pub(super) fn bars(report: &Report, shown: &[&Described], page: &mut Page<'_>) {
    let far = shown.iter().map(|it| it.summary.longest_ns / it.work_ns());
    let far = far
        .filter(|far| far.is_finite())
        .fold(NEAREST, f64::max)
        .min(FARTHEST);
    let near = shown.iter().map(|it| it.summary.best_ns / it.work_ns());
    let near = near
        .filter(|near| near.is_finite())
        .fold(1.0, f64::min)
        .max(0.5);
    let label_width = shown.iter().map(|it| page.safe(&label(it)).chars().count());
    let label_width = label_width.max().unwrap_or(0).clamp(8, 26);
    let columns = page.width() - 4 - label_width;
    let axis = Axis {
        near,
        far: far * 1.02,
        columns,
    };
    let rows: Vec<Vec<f64>> = shown.iter().map(|it| cells(it, &axis)).collect();
    let most = rows.iter().flatten().copied().fold(1.0, f64::max);
    page.line(&[
        ("Durations", Paint::Bold),
        (
            "  times the work across, samples upwards, both logarithmic",
            Paint::Dim,
        ),
    ]);
    for (it, row) in shown.iter().zip(&rows) {
        let label: String = page.safe(&label(it)).chars().take(label_width).collect();
        let bars: String = row
            .iter()
            .map(|count| mark(*count, most, page.options.ascii))
            .collect();
        page.shaded(
            &format!("  {label:label_width$}  "),
            bars.trim_end_matches(' '),
        );
    }
    let line = marks(&axis, far, 4 + label_width, page.width());
    page.line(&[(&line, Paint::Dim)]);
    if report
        .histograms
        .iter()
        .any(|it| !it.histogram.absent.is_empty())
    {
        page.line(&[(
            "  ? rows that were not published: unknown, not 0",
            Paint::Dim,
        )]);
    }
}

/// Times the work, logarithmically over columns.
struct Axis {
    near: f64,
    far: f64,
    columns: usize,
}

impl Axis {
    fn column(&self, times: f64) -> usize {
        let place = (times / self.near).ln() / (self.far / self.near).ln();
        (place.max(0.0) * self.columns as f64) as usize
    }
}

/// The marks of the axis, up to `far` times the work, that fit into a line of this width; the axis begins at column `left`.
fn marks(axis: &Axis, far: f64, left: usize, width: usize) -> String {
    let mut line = " ".repeat(left);
    for times in MARKS {
        let column = left + axis.column(times).min(axis.columns);
        let length = line.chars().count();
        let text = format!("{times}x");
        if (axis.near..=far).contains(&times) && column >= length && column + text.len() <= width {
            line += &" ".repeat(column - length);
            line += &text;
            line.push(' ');
        }
    }
    line
}

/// Samples in each column; of a column of which nothing is known, less than 0. A bin wider than a column is spread over all of its columns.
fn cells(it: &Described, axis: &Axis) -> Vec<f64> {
    let mut cells = vec![0.0; axis.columns];
    let work = it.work_ns();
    let columns = |from: f64, to: f64| {
        let last = axis.columns - 1;
        let first = axis.column(from / work).min(last);
        // The column of an upper edge is the next bin's, unless both lie in one.
        let end = axis.column(to / work).clamp(first + 1, axis.columns);
        first..end
    };
    for bin in &it.histogram.bins {
        let columns = columns(bin.from_ns, bin.to_ns);
        let each = bin.count as f64 / columns.len() as f64;
        cells[columns].iter_mut().for_each(|cell| *cell += each);
    }
    for (from, to) in &it.histogram.absent {
        let hidden = cells[columns(*from, *to)].iter_mut();
        hidden
            .filter(|cell| **cell == 0.0)
            .for_each(|cell| *cell = -1.0);
    }
    cells
}

/// The character for so many samples, where the fullest column has `most`.
fn mark(count: f64, most: f64, ascii: bool) -> char {
    if count < 0.0 {
        return '?';
    }
    if count == 0.0 {
        return ' ';
    }
    if ascii {
        let digits = (count.max(1.0).log10() as u32 + 1).min(9);
        return char::from_digit(digits, 10).unwrap_or('9');
    }
    let steps = count.max(1.0).ln() / most.max(2.0).ln() * (HEIGHTS.len() - 1) as f64;
    HEIGHTS[(steps.round() as usize).min(HEIGHTS.len() - 1)]
}
