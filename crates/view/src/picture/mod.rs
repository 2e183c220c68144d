//! The report as a picture: pace over time as density, its histogram, gaps, and the spectrum.
//!
//! From top to bottom: what was measured and the verdict; for each series a panel of pace over time
//! with bands and gaps, all on one time axis; the spectra. Fast paces are at the top, as high counts
//! are in FTQ's plots, so that an interruption points down. `docs/pictures.md` says how to read it.

mod axis;
mod flags;
mod gaps;
mod header;
mod histogram;
mod labels;
mod pace;
pub(crate) mod scale;
mod spectrum;
mod views;

use crate::options::Theme;
use crate::panels;
use crate::scene::{Anchor, Frame, Item, Items, Scene, Style};
use crate::{Error, Options, palette};
use axis::Axis;
use bandscope_analysis::{Analysis, Pyramid};
use bandscope_report::Series;

/// Series that are drawn; of more, these stand for all and the picture says so.
const MOST_PANELS: usize = 12;
/// Share of the quanta that may lie beyond the pace axis at either end, where they are drawn at its edge.
const BEYOND: f64 = 1e-3;
/// Space left of the panels, for the pace axis.
const LEFT: f64 = 64.0;
/// Space right of the panels: histogram and names of bands.
const RIGHT: f64 = 292.0;
/// What the time axis is.
const SINCE_START: &str = "time since the start";
/// Space at the outer edges.
const MARGIN: f64 = 24.0;

pub(crate) const TITLE: Style = style(17.0, true, palette::INK);
pub(crate) const VERDICT: Style = style(13.0, false, palette::INK);
pub(crate) const HEADING: Style = style(12.0, true, palette::INK);
pub(crate) const LABEL: Style = style(11.0, false, palette::INK);
pub(crate) const LABEL_BOLD: Style = style(11.0, true, palette::INK);
pub(crate) const NOTE: Style = style(10.5, false, palette::GREY);

const fn style(size: f64, bold: bool, colour: crate::scene::Colour) -> Style {
    Style { size, bold, colour }
}

/// One series with its pyramid and where its panel stands.
struct Panel<'a> {
    series: &'a Series,
    pyramid: &'a Pyramid,
    label: String,
    /// The raster.
    frame: Frame,
}

/// What all panels share.
struct Axes {
    time: Axis,
    pace: Axis,
    theme: Theme,
    /// Whether the time is that within a period.
    folded: bool,
}

/// The room that panels have.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Right of them.
    right: f64,
    /// Their width, where it is not what is left.
    width: Option<f64>,
    /// Their height, where it does not follow from their number.
    height: Option<f64>,
    /// Between one and the heading of the next.
    below: f64,
}

const WHOLE: Layout = Layout {
    right: RIGHT,
    width: None,
    height: None,
    below: gaps::HEIGHT + pace::SPACING,
};

/// Draws an analysis, or the views of it that are asked for, as a scene.
///
/// # Errors
/// [`Error::NoPeriod`] where it is to be folded and there is nothing to fold at.
pub fn scene(analysis: &Analysis, options: &Options) -> Result<Scene, Error> {
    let width = match options.picture_width {
        width if width.is_finite() => width.clamp(640.0, 4000.0),
        _ => Options::default().picture_width,
    };
    let mut items = Items::default();
    let mut bottom = header::header(analysis, width, options, &mut items);
    if options.views.is_empty() {
        let layout = Layout {
            height: options.panel_height,
            ..WHOLE
        };
        let panels = place(analysis, width, bottom, &layout);
        bottom = match axes(&panels, options.theme) {
            Some(axes) => draw(&panels, &axes, &mut items),
            None => nothing(bottom, &mut items),
        };
        bottom = spectrum::spectra(&panels, width, bottom, spectrum::HEIGHT, &mut items);
    }
    for view in &options.views {
        bottom = views::draw(*view, analysis, width, bottom, options, &mut items)?;
    }
    let title = format!(
        "{}. {}",
        header::title(&analysis.report),
        analysis.report.verdict
    );
    Ok(on_paper(
        (width, bottom + MARGIN),
        title,
        items,
        options.theme,
    ))
}

/// A scene of `items` on paper of this width and height, or on a dark screen.
fn on_paper((width, height): (f64, f64), title: String, items: Items, theme: Theme) -> Scene {
    let mut all = Items::default();
    let paper = Frame {
        width,
        height,
        ..Frame::default()
    };
    all.rectangle(paper, palette::PAPER);
    let mut drawn = all.into_vec();
    drawn.extend(items.into_vec());
    if theme == Theme::Dark {
        drawn.iter_mut().for_each(darken);
    }
    Scene {
        width,
        height,
        title,
        items: drawn,
    }
}

/// Puts the colours of a dark screen in place of those of paper.
fn darken(item: &mut Item) {
    match item {
        Item::Rectangle(_, colour) | Item::Line { colour, .. } | Item::Area(_, colour) => {
            *colour = palette::dark(*colour);
        }
        Item::Text(text) => text.colour = palette::dark(text.colour),
        // Densities were drawn for it.
        Item::Raster(..) => {}
        Item::Clip(_, items) => items.iter_mut().for_each(darken),
    }
}

/// The panels of the series that are drawn, one under the other.
fn place<'a>(analysis: &'a Analysis, width: f64, top: f64, layout: &Layout) -> Vec<Panel<'a>> {
    let report = &analysis.report;
    let all: Vec<usize> = (0..report.series.len()).collect();
    let one_cpu = panels::groups(report).len() <= 1;
    let drawn = report
        .series
        .iter()
        .zip(&analysis.pyramids)
        .take(MOST_PANELS);
    let count = drawn.len();
    let height = layout.height.unwrap_or(match count {
        0..=1 => 280.0,
        2 => 200.0,
        3..=4 => 140.0,
        _ => 96.0,
    });
    let mut y = top;
    drawn
        .zip(panels::labels(report, &all))
        .map(|((series, pyramid), label)| {
            let frame = Frame {
                x: LEFT,
                y: y + pace::HEADING_HEIGHT,
                width: layout.width.unwrap_or(width - LEFT - layout.right),
                height,
            };
            y = frame.bottom() + layout.below;
            let label = match one_cpu {
                true => label,
                false => format!(
                    "{}, {label}",
                    panels::cpu_name(series.cpu, series.place.as_ref())
                ),
            };
            Panel {
                series,
                pyramid,
                label,
                frame,
            }
        })
        .collect()
}

/// The axes that hold all panels; `None` where no series has a quantum that can be drawn.
fn axes(panels: &[Panel<'_>], theme: Theme) -> Option<Axes> {
    let pyramids = || panels.iter().map(|panel| panel.pyramid);
    let (from, to) = panels::time_range(pyramids())?;
    let (fast, slow) = panels::pace_range(pyramids(), BEYOND)?;
    Some(Axes {
        time: Axis::linear(from, to)?,
        pace: Axis::logarithmic(fast, slow)?,
        theme,
        folded: false,
    })
}

/// Draws the panels and the time axis below the last; returns the y below.
fn draw(panels: &[Panel<'_>], axes: &Axes, items: &mut Items) -> f64 {
    let grids: Vec<panels::Grid> = panels.iter().map(|panel| pace::grid(panel, axes)).collect();
    let most = grids.iter().map(panels::Grid::most).max().unwrap_or(0);
    if let Some(first) = panels.first() {
        histogram::legend(&first.frame, most, axes.theme, items);
    }
    let mut bottom = 0.0;
    for (panel, grid) in panels.iter().zip(&grids) {
        pace::panel(panel, grid, most, axes, items);
        histogram::histogram(panel, grid, histogram::BARS, axes, items);
        bottom = gaps::strip(panel, axes, gaps::STRIP, items);
    }
    if let Some(last) = panels.last() {
        bottom = axis::time_axis(&axes.time, SINCE_START, &last.frame, bottom, items);
    }
    bottom
}

/// What stands in place of the panels where there are none.
fn nothing(top: f64, items: &mut Items) -> f64 {
    let at = (MARGIN, top + 40.0);
    items.text(at, NOTE, Anchor::Start, "No quanta to draw.");
    top + 60.0
}

#[cfg(test)]
mod tests;
