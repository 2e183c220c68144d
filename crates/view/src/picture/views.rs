//! Parts of the picture by themselves: what `report --view` draws, with the code that draws them in the whole.

use super::{Axes, HEADING, LEFT, Layout, MARGIN, NOTE, Panel, SINCE_START, WHOLE};
use super::{axes, axis, draw as whole_panels, gaps, histogram, nothing, pace, place, spectrum};
use crate::glyphs;
use crate::options::{Options, View};
use crate::panels::Grid;
use crate::scene::{Anchor, Items};
use crate::{Error, escape, fold, numbers, palette};
use bandscope_analysis::Analysis;

/// Room for the legend and the name of the time axis right of a panel that has nothing else there.
const LEGEND: f64 = 236.0;
/// Room for the axis below a panel.
const AXIS: f64 = 26.0;
/// Space between the name of the bands and the right edge.
const NAMES: f64 = 220.0;
/// Height of gaps and spectra by themselves.
const LOW: f64 = 160.0;
const HIGH: f64 = 260.0;

/// Draws one view from `top` on; returns the y below.
pub(super) fn draw(
    view: View,
    analysis: &Analysis,
    width: f64,
    top: f64,
    options: &Options,
    items: &mut Items,
) -> Result<f64, Error> {
    let height = options.panel_height;
    let layout = match view {
        View::Series => Layout { height, ..WHOLE },
        View::Density | View::Fold(_) => Layout {
            right: LEGEND,
            height,
            below: pace::SPACING,
            ..WHOLE
        },
        View::Histogram => Layout {
            width: Some(0.0),
            height,
            below: AXIS + pace::SPACING,
            ..WHOLE
        },
        // A strip is below its panel, which has no height.
        View::Gaps | View::Spectrum => Layout {
            height: Some(0.0),
            below: gaps::SPACE + height.unwrap_or(LOW) + pace::SPACING,
            ..WHOLE
        },
    };
    let panels = place(analysis, width, top, &layout);
    let Some(mut axes) = axes(&panels, options.theme) else {
        return Ok(nothing(top, items));
    };
    Ok(match view {
        View::Series => whole_panels(&panels, &axes, items),
        View::Density => density(&panels, &axes, items),
        View::Histogram => histograms(&panels, &axes, width, items),
        View::Gaps => {
            let mut bottom = top;
            for panel in &panels {
                heading(panel, "", items);
                bottom = gaps::strip(panel, &axes, height.unwrap_or(LOW), items);
            }
            time_axis(&panels, &axes, SINCE_START, bottom, items)
        }
        View::Spectrum => {
            match spectrum::spectra(&panels, width, top, height.unwrap_or(HIGH), items) {
                bottom if bottom > top => bottom,
                _ => nothing(top, items),
            }
        }
        View::Fold(period) => {
            let period = period
                .map(|s| (s, ""))
                .or_else(|| fold::period(&analysis.report));
            let (period_s, whose) = period.ok_or(Error::NoPeriod)?;
            axes.folded = true;
            axes.time = axis::Axis::linear(0.0, period_s).ok_or(Error::NoPeriod)?;
            folded(analysis, &panels, &axes, (period_s, whose), items)
        }
    })
}

fn density(panels: &[Panel<'_>], axes: &Axes, items: &mut Items) -> f64 {
    let grids: Vec<Grid> = panels.iter().map(|panel| pace::grid(panel, axes)).collect();
    rasters(panels, &grids, axes, SINCE_START, items)
}

/// Rasters with a legend and one time axis.
fn rasters(
    panels: &[Panel<'_>],
    grids: &[Grid],
    axes: &Axes,
    time: &str,
    items: &mut Items,
) -> f64 {
    let most = grids.iter().map(Grid::most).max().unwrap_or(0);
    if let Some(first) = panels.first() {
        histogram::legend(&first.frame, most, axes.theme, items);
    }
    for (panel, grid) in panels.iter().zip(grids) {
        pace::panel(panel, grid, most, axes, items);
    }
    let bottom = panels.last().map_or(0.0, |last| last.frame.bottom());
    time_axis(panels, axes, time, bottom, items)
}

fn time_axis(panels: &[Panel<'_>], axes: &Axes, name: &str, top: f64, items: &mut Items) -> f64 {
    panels.last().map_or(top, |last| {
        axis::time_axis(&axes.time, name, &last.frame, top, items)
    })
}

fn histograms(panels: &[Panel<'_>], axes: &Axes, width: f64, items: &mut Items) -> f64 {
    let bars = width - LEFT - NAMES - MARGIN;
    let mut bottom = 0.0;
    for panel in panels {
        heading(
            panel,
            "quanta by pace in ns per unit, faster at the top",
            items,
        );
        let grid = pace::grid(panel, axes);
        for (y, label) in axis::pace_labels(&axes.pace, &panel.frame) {
            let x = panel.frame.x;
            items.line((x - 4.0, y), (x, y), 1.0, palette::FRAME);
            items.text((x - 8.0, y + 3.5), NOTE, Anchor::End, label);
        }
        histogram::histogram(panel, &grid, bars, axes, items);
        bottom = histogram::count_axis(panel, &grid, bars, items);
    }
    bottom
}

/// The name of a series above its panel, and what is drawn.
fn heading(panel: &Panel<'_>, note: &str, items: &mut Items) {
    let (x, y) = (panel.frame.x, panel.frame.y - 7.0);
    let label = escape::visible(&panel.label);
    let font = glyphs::font(true);
    let label = font.fit(&label, HEADING.size, 400.0);
    let start = x + font.width(&label, HEADING.size) + 12.0;
    items.text((x, y), HEADING, Anchor::Start, label);
    items.text((start, y), NOTE, Anchor::Start, note);
}

fn folded(
    analysis: &Analysis,
    panels: &[Panel<'_>],
    axes: &Axes,
    (period_s, whose): (f64, &str),
    items: &mut Items,
) -> f64 {
    let mut kept = 0;
    let grids: Vec<Grid> = panels
        .iter()
        .enumerate()
        .map(|(index, panel)| {
            let shape = pace::grid(panel, axes);
            let grid = Grid::new(shape.columns, shape.rows);
            match analysis.details.get(index) {
                Some(detail) => {
                    kept += detail.length.len();
                    fold::add(grid, detail, period_s, axes.pace.range())
                }
                None => grid,
            }
        })
        .collect();
    let bottom = rasters(panels, &grids, axes, "time within a period", items);
    let all: u64 = panels.iter().map(|panel| panel.series.quanta).sum();
    let hertz = numbers::significant(1.0 / period_s, 9);
    let mut note = format!("Folded at {hertz} Hz");
    if !whose.is_empty() {
        note += &format!(", the period of {whose}");
    }
    if (kept as u64) < all {
        let (kept, all) = (numbers::count(kept as u64), numbers::count(all));
        note += &format!("; {kept} of {all} quanta: those around findings, and an even sample");
    }
    items.text((LEFT, bottom + 12.0), NOTE, Anchor::Start, note);
    bottom + 22.0
}
