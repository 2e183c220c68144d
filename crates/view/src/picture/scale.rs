//! What noise costs a job on many nodes: the cost by the number of nodes, a line for each length of phase.
//!
//! Both axes are logarithmic. What was observed is solid, what is extrapolated is dashed, and a line ends with a cross where more is refused. A line
//! has its name where it ends, so no legend has to be matched with colours.

mod names;
mod words;

use super::header::wrapped;
use super::{HEADING, MARGIN, TITLE, axis::Axis, on_paper};
use crate::options::Theme;
use crate::scene::{Anchor, Colour, Frame, Items, Scene, Style};
use crate::text::scale::{decides, subject};
use crate::{Options, glyphs, numbers, palette};
use bandscope_studies::scale::{self, Basis, Cell, Scale};

/// Space left of the axis, for its figures.
const LEFT: f64 = 70.0;
/// Height of the plot, and the least of it that each label takes, in points.
const HEIGHT: f64 = 420.0;
const LABEL_HEIGHT: f64 = 16.0;
/// From the end of a line to its label.
const TO_LABEL: f64 = 9.0;
/// Costs below this share are drawn at the lower edge: nobody pays for less.
const LEAST: f64 = 1e-4;
/// Ends of intervals are drawn up to so many times the largest cost.
const MAX_BEYOND_COST: f64 = 4.0;
/// A narrower plot has no words in it: they would stand on its lines.
const MIN_WIDTH_FOR_WORDS: f64 = 240.0;
/// Paragraphs take up so many points at most: 6 lines of a picture that is 1,000 wide.
const NOTE_LENGTH: f64 = 6.0 * 1000.0;
const LABEL: Style = super::style(12.0, false, palette::INK);
const NOTE: Style = super::style(12.0, false, palette::GREY);
const NAME: Style = super::style(12.5, true, palette::INK);
const DASH: (f64, f64) = (6.0, 4.0);

/// A line of the picture.
struct Curve<'a> {
    name: String,
    colour: Colour,
    cells: &'a [Cell],
    /// Where each cell is drawn, and the ends of its interval; `None` of one that is refused.
    places: Vec<Option<(f64, f64, [f64; 2])>>,
}

/// Where values stand.
struct Plot {
    frame: Frame,
    nodes: Axis,
    cost: Axis,
}

impl Plot {
    fn x(&self, nodes: f64) -> f64 {
        self.frame.x + self.nodes.place(nodes) * self.frame.width
    }

    /// What lies beyond the axis stands at its edge.
    fn y(&self, cost: f64) -> f64 {
        let (low, high) = self.cost.range();
        self.frame.bottom() - self.cost.place(cost.clamp(low, high)) * self.frame.height
    }
}

/// Draws it; under a heading that says the same the verdict is left out.
pub(crate) fn scene(scale: &Scale, options: &Options, has_heading: bool) -> Scene {
    let width = match options.picture_width {
        width if width.is_finite() => width.clamp(320.0, 4000.0),
        _ => Options::default().picture_width,
    };
    let space = width - 2.0 * MARGIN;
    let most = (NOTE_LENGTH / space).ceil() as usize;
    let mut items = Items::default();
    let mut y = MARGIN;
    let paragraph = |text: &str, style: Style, below: f64, y: &mut f64, items: &mut Items| {
        for line in wrapped(text, style, most, space) {
            *y += style.size * 1.35;
            items.text((MARGIN, *y), style, Anchor::Start, line);
        }
        *y += below;
    };
    if !has_heading {
        paragraph(&scale.verdict, TITLE, 2.0, &mut y, &mut items);
        paragraph(&subject(scale), NOTE, 6.0, &mut y, &mut items);
    }
    y = legend(scale, y + 16.0, width, &mut items);
    let names: Vec<String> = scale.phases.iter().map(words::name).collect();
    match plot(scale, options, (y + 36.0, width), &names) {
        Some(plot) => y = draw(scale, &plot, options.theme, names, &mut items),
        None => paragraph("No figure is known.", HEADING, 8.0, &mut y, &mut items),
    }
    let refused = words::refused(&scale.phases);
    if !refused.is_empty() {
        let text = format!("Refused: {refused}.");
        paragraph(&text, LABEL, 3.0, &mut y, &mut items);
    }
    let decides = decides(scale).join(" ");
    for text in [decides, scale.notes.join(" ")] {
        if !has_heading && !text.is_empty() {
            paragraph(&text, NOTE, 3.0, &mut y, &mut items);
        }
    }
    let title = format!(
        "Cost of noise by number of nodes, a line for each phase. {}",
        scale.verdict
    );
    on_paper(
        (width, (y + MARGIN - 8.0).ceil()),
        title,
        items,
        options.theme,
    )
}

/// Says how lines are drawn; returns the y of the last row.
fn legend(scale: &Scale, top: f64, width: f64, items: &mut Items) -> f64 {
    let has = |basis: &[Basis]| {
        let mut cells = scale.phases.iter().flat_map(|phase| &phase.cells);
        cells.any(|cell| basis.contains(&cell.basis))
    };
    let (mut x, mut y) = (MARGIN, top);
    let mut entry = |words: &str, sample: &dyn Fn(f64, f64, &mut Items)| {
        let needed = 34.0 + glyphs::font(false).width(words, LABEL.size) + 22.0;
        if x > MARGIN && x + needed - 22.0 > width - MARGIN {
            (x, y) = (MARGIN, y + 18.0);
        }
        sample(x, y - 4.0, items);
        items.text((x + 34.0, y), LABEL, Anchor::Start, words);
        x += needed;
    };
    let line = |dash: Option<(f64, f64)>| {
        move |x: f64, y: f64, items: &mut Items| {
            stroke(vec![(x, y), (x + 28.0, y)], palette::INK, dash, items);
        }
    };
    entry("observed", &line(None));
    if has(&[Basis::Extrapolated]) {
        entry("extrapolated", &line(Some(DASH)));
    }
    entry("95 % interval", &|x, y, items| {
        let frame = Frame {
            x,
            y: y - 5.0,
            width: 28.0,
            height: 10.0,
        };
        items.rectangle(frame, palette::INK.alpha(40));
    });
    if has(&[Basis::TooRare, Basis::Beyond]) {
        entry("refused beyond", &|x, y, items| {
            cross((x + 14.0, y), palette::INK, items);
        });
    }
    y
}

/// The axes that hold all that is known; `None` of nothing.
fn plot(
    scale: &Scale,
    options: &Options,
    (top, width): (f64, f64),
    names: &[String],
) -> Option<Plot> {
    let cells = || scale.phases.iter().flat_map(|phase| &phase.cells);
    let known = || cells().filter_map(|cell| cell.cost);
    known().next()?;
    let most = known().map(|cost| cost.longer).fold(LEAST * 10.0, f64::max);
    let least = known()
        .map(|cost| cost.longer)
        .fold(most, f64::min)
        .max(LEAST);
    let high = known().map(|cost| cost.interval.1).fold(most, f64::max);
    let low = known().map(|cost| cost.interval.0).fold(least, f64::min);
    let cost = Axis::logarithmic(
        low.max(least / MAX_BEYOND_COST).max(LEAST) / 1.6,
        high.min(most * MAX_BEYOND_COST) * 1.2,
    )?;
    let nodes = || cells().map(|cell| cell.nodes as f64);
    let (first, last) = (
        nodes().fold(f64::INFINITY, f64::min),
        nodes().fold(1.0, f64::max),
    );
    // Of one number alone the point stands in the middle.
    let around = if first < last { 1.0 } else { 2.0 };
    let font = glyphs::font(true);
    let names_width = names.iter().map(|name| font.width(name, NAME.size));
    let right = TO_LABEL + names_width.fold(0.0, f64::max) + MARGIN;
    let labels = names.len() as f64 * LABEL_HEIGHT;
    Some(Plot {
        frame: Frame {
            x: LEFT,
            y: top,
            width: (width - LEFT - right).max(80.0),
            height: options.panel_height.unwrap_or(HEIGHT).max(labels),
        },
        nodes: Axis::logarithmic(first / around, last * around)?,
        cost,
    })
}

/// Draws axes, lines and their names; returns the y below.
fn draw(scale: &Scale, plot: &Plot, theme: Theme, names: Vec<String>, items: &mut Items) -> f64 {
    let bottom = axes(scale, plot, items);
    let last = (scale.phases.len() - 1).max(1) as f64;
    let curves = scale.phases.iter().zip(names).enumerate();
    let curves: Vec<Curve> = curves
        .map(|(place, (phase, name))| Curve {
            name,
            colour: palette::ordinal(place as f64 / last, theme),
            cells: &phase.cells,
            places: phase
                .cells
                .iter()
                .map(|cell| place_of(cell, plot))
                .collect(),
        })
        .collect();
    curves.iter().for_each(|curve| bands(curve, items));
    curves.iter().for_each(|curve| lines(curve, plot, items));
    names::draw(&curves, plot, items);
    bottom
}

fn place_of(cell: &Cell, plot: &Plot) -> Option<(f64, f64, [f64; 2])> {
    let cost = cell.cost?;
    let ends = [cost.interval.0, cost.interval.1].map(|end| plot.y(end));
    Some((plot.x(cell.nodes as f64), plot.y(cost.longer), ends))
}

/// The grid, its figures and what they are; returns the y below.
fn axes(scale: &Scale, plot: &Plot, items: &mut Items) -> f64 {
    let frame = &plot.frame;
    let title = (frame.x - LEFT + MARGIN, frame.y - 12.0);
    items.text(title, HEADING, Anchor::Start, "Phases take longer by");
    for tick in plot.cost.ticks((frame.height / 60.0) as usize) {
        let y = plot.y(tick);
        items.line((frame.x, y), (frame.right(), y), 1.0, palette::RULE);
        items.text((frame.x - 8.0, y + 4.0), LABEL, Anchor::End, per_cent(tick));
    }
    let mut taken = super::labels::Row::default();
    let cells = scale.phases.first().map_or(&[][..], |phase| &phase.cells);
    let below = frame.bottom();
    for cell in cells {
        let (x, name) = (plot.x(cell.nodes as f64), scale::nodes(cell.nodes));
        items.line((x, frame.y), (x, below), 1.0, palette::RULE);
        let half = glyphs::font(false).width(&name, LABEL.size) / 2.0 + 4.0;
        if taken.take(x - half, x + half) {
            items.line((x, below), (x, below + 4.0), 1.0, palette::FRAME);
            items.text((x, below + 17.0), LABEL, Anchor::Middle, name);
        }
    }
    if plot.cost.holds(1.0) {
        let y = plot.y(1.0);
        items.line((frame.x, y), (frame.right(), y), 1.0, palette::FRAME);
        if frame.width >= MIN_WIDTH_FOR_WORDS {
            // Close to the upper edge the axis has its name above.
            let baseline = if y - frame.y < 8.0 { y + 13.0 } else { y - 5.0 };
            let at = (frame.x + 6.0, baseline);
            items.text(at, NOTE, Anchor::Start, "twice as long");
        }
    }
    items.line(
        (frame.x, below),
        (frame.right(), below),
        1.0,
        palette::FRAME,
    );
    let at = (frame.right() + 2.0 * TO_LABEL, below + 17.0);
    items.text(at, HEADING, Anchor::Start, "nodes");
    below + 30.0
}

/// A share of an axis in per cent, without digits that say nothing.
fn per_cent(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 10.0 => format!("{} %", numbers::count(percent.round() as u64)),
        percent => {
            let digits = format!("{percent:.4}");
            format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// Intervals: an area through those in a row, a stroke of one alone.
fn bands(curve: &Curve<'_>, items: &mut Items) {
    for run in curve.places.split(Option::is_none) {
        let run = || run.iter().flatten();
        let mut points: Vec<(f64, f64)> = run().map(|&(x, _, [low, _])| (x, low)).collect();
        if let [(x, low)] = points[..] {
            points = vec![(x - 2.0, low), (x + 2.0, low)];
            points.extend(run().flat_map(|&(x, _, [_, high])| [(x + 2.0, high), (x - 2.0, high)]));
        } else {
            points.extend(run().rev().map(|&(x, _, [_, high])| (x, high)));
        }
        if points.len() > 2 {
            items.push(crate::scene::Item::Area(points, curve.colour.alpha(40)));
        }
    }
}

/// The costs, and a cross where the next is refused.
fn lines(curve: &Curve<'_>, plot: &Plot, items: &mut Items) {
    let mut line: Vec<(f64, f64)> = Vec::new();
    let mut dashed = false;
    let mut draw = |line: &mut Vec<(f64, f64)>, dashed: bool| {
        let points = std::mem::take(line);
        if points.len() > 1 {
            stroke(points, curve.colour, dashed.then_some(DASH), items);
        }
    };
    for (cell, place) in curve.cells.iter().zip(&curve.places) {
        let Some((x, y, _)) = *place else {
            draw(&mut line, dashed);
            continue;
        };
        let is_dashed = cell.basis == Basis::Extrapolated;
        if is_dashed != dashed {
            let from = line.last().copied();
            draw(&mut line, dashed);
            // What leads from one that was seen to one that was not is dashed as well.
            line.extend(from);
            dashed = is_dashed;
        }
        line.push((x, y));
    }
    draw(&mut line, dashed);
    let spacing = plot.frame.width / (curve.cells.len() as f64).max(1.0);
    for (number, place) in curve.places.iter().enumerate() {
        let Some((x, y, _)) = *place else { continue };
        let is_refused = |number: usize| matches!(curve.places.get(number), Some(None));
        if is_refused(number + 1) || number > 0 && is_refused(number - 1) {
            cross((x, y), curve.colour, items);
        } else if spacing >= 12.0 {
            dot((x, y), 3.2, curve.colour, items);
            if curve.cells[number].basis == Basis::Extrapolated {
                dot((x, y), 1.7, palette::PAPER, items);
            }
        }
    }
}

fn stroke(points: Vec<(f64, f64)>, colour: Colour, dash: Option<(f64, f64)>, items: &mut Items) {
    items.push(crate::scene::Item::Line {
        points,
        width: 2.0,
        colour,
        dash,
    });
}

fn dot((x, y): (f64, f64), radius: f64, colour: Colour, items: &mut Items) {
    let corner = |corner: u8| {
        let (sine, cosine) = (f64::from(corner) * std::f64::consts::TAU / 16.0).sin_cos();
        (x + radius * cosine, y + radius * sine)
    };
    let corners = (0..16).map(corner).collect();
    items.push(crate::scene::Item::Area(corners, colour));
}

fn cross((x, y): (f64, f64), colour: Colour, items: &mut Items) {
    for side in [-5.0, 5.0] {
        items.line((x - 5.0, y - side), (x + 5.0, y + side), 2.0, colour);
    }
}

#[cfg(test)]
mod tests;
