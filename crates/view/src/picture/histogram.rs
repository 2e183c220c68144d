//! Right of a panel: how often each pace was, the names of the bands, and what the colours mean.

use super::labels::spread;
use super::{Axes, LABEL, LABEL_BOLD, NOTE, Panel};
use crate::glyphs;
use crate::options::Theme;
use crate::panels::Grid;
use crate::scene::{Anchor, Frame, Item, Items};
use crate::{escape, numbers, palette};
use bandscope_report::Band;

/// Space between the panel and its histogram.
const SPACE: f64 = 6.0;
/// Length of the longest bar beside a panel.
pub(super) const BARS: f64 = 72.0;
/// Where the names of bands begin, from the end of the longest bar.
const NAMES: f64 = 32.0;
/// Width of a name.
const NAME_WIDTH: f64 = 176.0;
/// Height of a name: two lines.
const NAME_HEIGHT: f64 = 28.0;

/// Bars of the paces right of a panel, the longest so long, and the names of the bands.
pub(super) fn histogram(panel: &Panel<'_>, grid: &Grid, bars: f64, axes: &Axes, items: &mut Items) {
    let frame = panel.frame;
    let counts = grid.by_pace();
    let full = (counts.iter().copied().max().unwrap_or(0) as f64).ln_1p();
    let height = frame.height / grid.rows as f64;
    let left = frame.right() + SPACE;
    for (row, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let bar = Frame {
            x: left,
            y: frame.y + row as f64 * height,
            width: bars * (count as f64).ln_1p() / full,
            height,
        };
        items.rectangle(bar, palette::BAR);
    }
    items.line((left, frame.y), (left, frame.bottom()), 1.0, palette::FRAME);
    bands(panel, bars, axes, items);
}

/// Round numbers of quanta under bars that are so long, for a histogram by itself; returns the y below.
pub(super) fn count_axis(panel: &Panel<'_>, grid: &Grid, bars: f64, items: &mut Items) -> f64 {
    let frame = panel.frame;
    let most = grid.by_pace().into_iter().max().unwrap_or(0);
    let full = (most as f64).ln_1p();
    let (left, top) = (frame.right() + SPACE, frame.bottom());
    let decades = (0..20).map(|power| 10u64.pow(power));
    let every = most.max(1).ilog10() / 6 + 1;
    for count in decades
        .take_while(|count| *count <= most)
        .step_by(every as usize)
    {
        let x = left + bars * (count as f64).ln_1p() / full;
        items.line((x, top), (x, top + 4.0), 1.0, palette::FRAME);
        items.text((x, top + 16.0), NOTE, Anchor::Middle, numbers::count(count));
    }
    let at = (left + bars + NAMES, top + 16.0);
    items.text(at, NOTE, Anchor::Start, "quanta");
    top + 26.0
}

/// The bands that get a name, fastest first: as many of the most frequent as there is room for.
fn named<'a>(panel: &Panel<'a>, axes: &Axes) -> Vec<&'a Band> {
    let frame = panel.frame;
    let room = ((frame.height / NAME_HEIGHT) as usize).max(1);
    let mut bands: Vec<&Band> = panel.series.bands.iter().collect();
    bands.retain(|band| axes.pace.holds(band.ns_per_unit) && band.share.is_finite());
    bands.sort_by(|a, b| b.share.total_cmp(&a.share));
    bands.truncate(room);
    bands.sort_by(|a, b| a.ns_per_unit.total_cmp(&b.ns_per_unit));
    bands
}

/// Where a band's pace stands.
fn y_of(band: &Band, panel: &Panel<'_>, axes: &Axes) -> f64 {
    panel.frame.y + axes.pace.place(band.ns_per_unit) * panel.frame.height
}

/// A line across the panel at the pace of each band; drawn before the quanta, which matter more.
pub(super) fn band_lines(panel: &Panel<'_>, axes: &Axes, items: &mut Items) {
    let frame = panel.frame;
    for band in named(panel, axes) {
        let y = y_of(band, panel, axes);
        items.push(Item::Line {
            points: vec![(frame.x, y), (frame.right(), y)],
            width: 0.75,
            colour: palette::VERMILION,
            dash: Some((3.0, 3.0)),
        });
    }
}

/// The names of the bands beside the histogram, each with a line to its pace.
fn bands(panel: &Panel<'_>, bars: f64, axes: &Axes, items: &mut Items) {
    let frame = panel.frame;
    let bands = named(panel, axes);
    let wanted: Vec<f64> = bands.iter().map(|band| y_of(band, panel, axes)).collect();
    let (low, high) = (frame.y + 8.0, frame.bottom() - 16.0);
    let places = spread(&wanted, NAME_HEIGHT, low.min(high), high);
    let x = frame.right() + bars + NAMES;
    for ((band, y), place) in bands.iter().zip(wanted).zip(places) {
        items.push(Item::Line {
            points: vec![
                (frame.right(), y),
                (frame.right() + SPACE + bars + 4.0, y),
                (x - 8.0, place),
                (x - 3.0, place),
            ],
            width: 0.75,
            colour: palette::VERMILION,
            dash: None,
        });
        name(band, x, place, items);
    }
}

/// Pace and share; nature and dwell.
fn name(band: &Band, x: f64, y: f64, items: &mut Items) {
    let first = format!(
        "{} ns · {}",
        numbers::pace(band.ns_per_unit),
        numbers::percent(band.share)
    );
    let dwell = numbers::duration(band.median_dwell_s * 1e9);
    let second = format!("{}, dwell {dwell}", band.nature);
    let fit = |text: &str, bold: bool| {
        glyphs::font(bold).fit(&escape::visible(text), LABEL.size, NAME_WIDTH)
    };
    items.text((x, y + 2.5), LABEL_BOLD, Anchor::Start, fit(&first, true));
    items.text((x, y + 15.5), NOTE, Anchor::Start, fit(&second, false));
}

/// What the colours mean, above the histogram of the first panel.
pub(super) fn legend(frame: &Frame, most: u64, theme: Theme, items: &mut Items) {
    const WIDTH: f64 = 72.0;
    const STEPS: u32 = 24;
    if most < 2 {
        return;
    }
    let left = frame.right() + BARS + NAMES;
    let y = frame.y - 16.0;
    items.text(
        (left - 6.0, y + 9.0),
        NOTE,
        Anchor::End,
        "quanta per cell   1",
    );
    for step in 0..STEPS {
        let place = f64::from(step) / f64::from(STEPS - 1);
        let count = (most.max(2) as f64).powf(place).round() as u64;
        let cell = Frame {
            x: left + f64::from(step) * WIDTH / f64::from(STEPS),
            y,
            width: WIDTH / f64::from(STEPS) + 0.2,
            height: 10.0,
        };
        items.rectangle(cell, palette::density(count, most, theme));
    }
    let at = (left + WIDTH + 6.0, y + 9.0);
    items.text(at, NOTE, Anchor::Start, numbers::count(most));
}
