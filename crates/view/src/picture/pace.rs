//! The panel of pace over time: quanta as density, never as overplotted dots.

use super::axis::pace_labels;
use super::{Axes, HEADING, NOTE, Panel, histogram};
use crate::glyphs;
use crate::options::Theme;
use crate::panels::Grid;
use crate::scene::{Anchor, Colour, Frame, Image, Item, Items};
use crate::{escape, numbers, palette, panels};

/// Height of the line above a panel.
pub(super) const HEADING_HEIGHT: f64 = 22.0;
/// Space between a panel's gaps and the next panel.
pub(super) const SPACING: f64 = 12.0;
/// Points to a cell: large enough that a single quantum is seen.
const CELL: f64 = 2.0;
/// Columns without a quantum, as a share of all, from which on a series counts as not measured there.
const ABSENT_SHARE: f64 = 0.01;

/// The quanta of a panel on cells of [`CELL`] points.
pub(super) fn grid(panel: &Panel<'_>, axes: &Axes) -> Grid {
    let cells = |points: f64, source: usize| ((points / CELL) as usize).min(source).max(1);
    let density = &panel.pyramid.density;
    let columns = cells(panel.frame.width, density.columns.max(1));
    let rows = cells(panel.frame.height, density.rows.max(1));
    let mut grid = Grid::new(columns, rows);
    let quantum_s = 1.0 / panel.series.rate_hz;
    grid.add(
        panel.pyramid,
        quantum_s,
        axes.time.range(),
        axes.pace.range(),
    );
    grid
}

pub(super) fn panel(panel: &Panel<'_>, grid: &Grid, most: u64, axes: &Axes, items: &mut Items) {
    let frame = panel.frame;
    let absent = match axes.folded {
        true => Vec::new(),
        false => absent(panel, grid, axes),
    };
    heading(panel, !absent.is_empty(), axes, items);
    let mut inner = Items::default();
    for stretch in absent {
        inner.rectangle(stretch, palette::ABSENT);
    }
    for (y, _) in pace_labels(&axes.pace, &frame) {
        inner.line((frame.x, y), (frame.right(), y), 0.75, palette::RULE);
    }
    histogram::band_lines(panel, axes, &mut inner);
    inner.push(Item::Raster(frame, image(grid, most, axes.theme)));
    items.clip(frame, inner);
    outline(&frame, items);
    for (y, label) in pace_labels(&axes.pace, &frame) {
        items.line((frame.x - 4.0, y), (frame.x, y), 1.0, palette::FRAME);
        items.text((frame.x - 8.0, y + 3.5), NOTE, Anchor::End, label);
    }
}

/// The four sides of a frame.
pub(super) fn outline(frame: &Frame, items: &mut Items) {
    let (left, top, right, bottom) = (frame.x, frame.y, frame.right(), frame.bottom());
    items.push(Item::Line {
        points: vec![
            (left, top),
            (right, top),
            (right, bottom),
            (left, bottom),
            (left, top),
        ],
        width: 1.0,
        colour: palette::FRAME,
        dash: None,
    });
}

/// What the axis is, and what it does not show.
fn note(panel: &Panel<'_>, absent: bool, axes: &Axes) -> String {
    let mut note = String::from("pace in ns per unit, faster at the top");
    let pace_ns = axes.pace.range();
    if let Some((fast, slow)) = panels::extremes(panel.pyramid) {
        let (faster, slower) = panels::beyond(panel.pyramid, pace_ns);
        if faster {
            note += &format!("; drawn at the top edge: to {}", numbers::pace(fast));
        }
        if slower {
            note += &format!("; drawn at the bottom edge: to {}", numbers::pace(slow));
        }
    }
    if absent {
        note += "; grey: not measured";
    }
    note
}

fn heading(panel: &Panel<'_>, absent: bool, axes: &Axes, items: &mut Items) {
    let frame = &panel.frame;
    let y = frame.y - 7.0;
    let plain = glyphs::font(false);
    let note = plain.fit(&note(panel, absent, axes), NOTE.size, frame.width * 0.7);
    let note_width = plain.width(&note, NOTE.size);
    let bold = glyphs::font(true);
    let label = escape::visible(&panel.label);
    let label = bold.fit(&label, HEADING.size, frame.width - note_width - 16.0);
    let start = frame.x + bold.width(&label, HEADING.size) + 12.0;
    items.text((frame.x, y), HEADING, Anchor::Start, label);
    items.text((start, y), NOTE, Anchor::Start, note);
    let quanta = numbers::plural(panel.series.quanta, "quantum", "quanta");
    let quanta_width = plain.width(&quanta, NOTE.size);
    if start + note_width + 12.0 + quanta_width < frame.right() {
        items.text((frame.right(), y), NOTE, Anchor::End, quanta);
    }
}

fn image(grid: &Grid, most: u64, theme: Theme) -> Image {
    let colour = |count: &u64| -> Option<Colour> {
        (*count > 0).then(|| palette::density(*count, most, theme))
    };
    Image {
        columns: grid.columns as u32,
        rows: grid.rows as u32,
        cells: grid.counts.iter().map(colour).collect(),
    }
}

/// Stretches of time in which the series has no quantum and no gap: other segments of the run.
fn absent(panel: &Panel<'_>, grid: &Grid, axes: &Axes) -> Vec<Frame> {
    let frame = panel.frame;
    let least = ((grid.columns as f64 * ABSENT_SHARE) as usize).max(4);
    let empty = |column: usize| (0..grid.rows).all(|row| grid.at(column, row) == 0);
    let (start_s, end_s) = axes.time.range();
    let column_s = (end_s - start_s) / grid.columns as f64;
    // A gap that long is why there is no quantum: it was measured all the same.
    let gap_in = |from: usize, to: usize| {
        panel.pyramid.gaps.iter().any(|gap| {
            let column = axes.time.place(gap.at_s) * grid.columns as f64;
            let near = (from as f64 - 1.0..=to as f64).contains(&column);
            near && gap.ns >= 0.5e9 * column_s * (to - from) as f64
        })
    };
    let width = frame.width / grid.columns as f64;
    let mut stretches = Vec::new();
    let mut from = 0;
    while from < grid.columns {
        let Some(to) = (from..grid.columns).find(|&column| !empty(column)) else {
            stretches.push((from, grid.columns));
            break;
        };
        stretches.push((from, to));
        from = to + 1;
    }
    stretches
        .into_iter()
        .filter(|&(from, to)| to - from >= least && !gap_in(from, to))
        .map(|(from, to)| Frame {
            x: frame.x + from as f64 * width,
            width: (to - from) as f64 * width,
            ..frame
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use bandscope_analysis::Pyramid;
    use bandscope_report::Series;

    fn absent_of(series: &Series, pyramid: &Pyramid) -> Vec<Frame> {
        let frame = Frame {
            x: 0.0,
            y: 0.0,
            width: 800.0,
            height: 200.0,
        };
        let panel = Panel {
            series,
            pyramid,
            label: String::new(),
            frame,
        };
        let axes = super::super::axes(std::slice::from_ref(&panel), Theme::Light).unwrap();
        absent(&panel, &grid(&panel, &axes), &axes)
    }

    #[test]
    fn the_other_rates_segments_are_not_measured_and_a_long_gap_is() {
        let analysis = samples::noisy();
        let series = &analysis.report.series[0];
        let mut pyramid = analysis.pyramids[0].clone();
        let stretches = absent_of(series, &pyramid);
        assert_eq!(stretches.len(), 5, "{stretches:?}");
        // To a cell of the picture and a column of the density at either end.
        let second = stretches[0];
        assert!(
            (second.x - 80.0).abs() < 3.0 && (second.width - 80.0).abs() < 6.0,
            "{second:?}"
        );
        pyramid.gaps[0].at_s = 1.0;
        pyramid.gaps[0].ns = 1e9;
        assert_eq!(absent_of(series, &pyramid).len(), 4);
    }

    #[test]
    fn a_single_quantum_has_a_colour_and_nothing_has_none() {
        let mut grid = Grid::new(2, 1);
        grid.counts = vec![0, 1];
        let image = image(&grid, 1_000_000, Theme::Light);
        let faintest = palette::density(1, 1_000_000, Theme::Light);
        assert_eq!(image.cells, [None, Some(faintest)]);
    }
}
