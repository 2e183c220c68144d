//! The spectra of the time lost per quantum, with the signals that were found named.

use super::axis::Axis;
use super::flags::Flags;
use super::labels::Row;
use super::pace::outline;
use super::{HEADING, LEFT, MARGIN, NOTE, Panel};
use crate::glyphs;
use crate::scene::{Anchor, Frame, Item, Items};
use crate::{escape, numbers, palette};
use bandscope_analysis::pyramid::Spectrum;

/// Height of a spectrum below panels.
pub(super) const HEIGHT: f64 = 150.0;
/// Space above it without the lines of names: its heading.
const HEAD: f64 = 38.0;
/// Space below it: the frequency axis.
const FOOT: f64 = 30.0;
/// Spectra beside each other.
const ABREAST: usize = 2;
/// Spectra that are drawn.
const MAX_SPECTRA: usize = 4;
/// Decades of power below the strongest line that are shown at most.
const DECADES: f64 = 8.0;

/// Draws the spectra from `top` on, each so high; returns the y below.
pub(super) fn spectra(
    panels: &[Panel<'_>],
    width: f64,
    top: f64,
    height: f64,
    items: &mut Items,
) -> f64 {
    let drawn: Vec<(&Panel<'_>, Axis, Axis)> = panels
        .iter()
        .filter_map(|panel| {
            let (frequency, power) = axes(&panel.pyramid.spectrum)?;
            Some((panel, frequency, power))
        })
        .take(MAX_SPECTRA)
        .collect();
    let abreast = drawn.len().clamp(1, ABREAST);
    let space = (width - MARGIN) / abreast as f64;
    let frame = |index: usize| Frame {
        x: (index % abreast) as f64 * space + LEFT,
        y: top,
        width: space - LEFT,
        height,
    };
    let flags = drawn
        .iter()
        .enumerate()
        .map(|(index, (panel, frequency, _))| {
            Flags::new(&panel.series.signals, frequency, &frame(index))
        });
    let flags: Vec<Flags> = flags.collect();
    let names = flags.iter().map(Flags::height).fold(0.0, f64::max);
    let head = HEAD + names;
    let mut bottom = top;
    for ((index, (panel, frequency, power)), flags) in drawn.iter().enumerate().zip(flags) {
        let mut frame = frame(index);
        frame.y += (index / abreast) as f64 * (head + height + FOOT) + head;
        heading(panel, &frame, frame.y - head + 28.0, items);
        one(panel, frequency, power, &frame, items);
        flags.draw(&frame, items);
        bottom = frame.bottom() + FOOT;
    }
    bottom
}

/// Axes that hold a spectrum; `None` where there is none.
fn axes(spectrum: &Spectrum) -> Option<(Axis, Axis)> {
    let points = spectrum.power.len().checked_sub(1)?;
    let positive = || {
        spectrum
            .power
            .iter()
            .skip(1)
            .copied()
            .filter(|p| p.is_finite() && *p > 0.0)
    };
    let high = positive().fold(0.0, f64::max);
    let low = positive().fold(f64::INFINITY, f64::min);
    let low = low.max(high / 10f64.powf(DECADES));
    let frequency = Axis::logarithmic(spectrum.step_hz, spectrum.step_hz * points as f64)?;
    let power = Axis::logarithmic(low / 1.5, high * 2.0)?;
    Some((frequency, power))
}

fn one(panel: &Panel<'_>, frequency: &Axis, power: &Axis, frame: &Frame, items: &mut Items) {
    grid(frequency, power, frame, items);
    let mut inner = Items::default();
    let curve = envelope(&panel.pyramid.spectrum, frequency, power, frame);
    inner.push(Item::Line {
        points: curve,
        width: 1.0,
        colour: palette::BLUE,
        dash: None,
    });
    items.clip(*frame, inner);
    outline(frame, items);
}

fn heading(panel: &Panel<'_>, frame: &Frame, y: f64, items: &mut Items) {
    let windows = numbers::plural(panel.pyramid.spectrum.windows, "window", "windows");
    let note = format!("time lost, ns²/Hz over frequency; {windows}");
    let bold = glyphs::font(true);
    let note_width = glyphs::font(false).width(&note, NOTE.size);
    let label = format!("Spectrum, {}", escape::visible(&panel.label));
    let label = bold.fit(&label, HEADING.size, frame.width - note_width - 16.0);
    let start = frame.x + bold.width(&label, HEADING.size) + 12.0;
    items.text((frame.x, y), HEADING, Anchor::Start, label);
    if start + note_width <= frame.right() {
        items.text((start, y), NOTE, Anchor::Start, note);
    }
}

fn grid(frequency: &Axis, power: &Axis, frame: &Frame, items: &mut Items) {
    for (tick, label) in power_labels(power) {
        let y = frame.bottom() - power.place(tick) * frame.height;
        items.line((frame.x, y), (frame.right(), y), 0.75, palette::RULE);
        items.text((frame.x - 8.0, y + 3.5), NOTE, Anchor::End, label);
    }
    let mut row = Row::default();
    for tick in frequency.ticks((frame.width / 70.0) as usize) {
        let x = frame.x + frequency.place(tick) * frame.width;
        items.line((x, frame.y), (x, frame.bottom()), 0.75, palette::RULE);
        items.line(
            (x, frame.bottom()),
            (x, frame.bottom() + 4.0),
            1.0,
            palette::FRAME,
        );
        let label = numbers::frequency_round(tick);
        let half = glyphs::font(false).width(&label, NOTE.size) / 2.0;
        if row.take(x - half - 4.0, x + half + 4.0) && x + half < frame.right() + MARGIN {
            items.text((x, frame.bottom() + 16.0), NOTE, Anchor::Middle, label);
        }
    }
}

/// Powers of ten where the axis holds some, else round numbers.
fn power_labels(power: &Axis) -> Vec<(f64, String)> {
    let ticks = power.ticks(4);
    let decade = |tick: f64| {
        let exponent = tick.log10().round();
        ((exponent - tick.log10()).abs() < 1e-9).then_some(exponent as i32)
    };
    let decades = ticks.iter().any(|tick| decade(*tick).is_some());
    ticks
        .into_iter()
        .filter_map(|tick| match decade(tick) {
            Some(exponent) => Some((tick, numbers::power_of_ten(exponent))),
            None if decades => None,
            None => Some((tick, numbers::significant(tick, 2))),
        })
        .collect()
}

/// The highest power in each half point of the axis: no line is lost, and the curve stays short.
fn envelope(spectrum: &Spectrum, frequency: &Axis, power: &Axis, frame: &Frame) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (index, &value) in spectrum.power.iter().enumerate().skip(1) {
        let hz = index as f64 * spectrum.step_hz;
        let x = frame.x + (frequency.place(hz) * frame.width * 2.0).round() / 2.0;
        let y = frame.bottom() - power.place(value).max(-0.1) * frame.height;
        if !(x.is_finite() && y.is_finite()) {
            continue;
        }
        match points.last_mut() {
            Some(last) if last.0 == x => last.1 = last.1.min(y),
            _ => points.push((x, y)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spectrum_without_sense_is_not_drawn() {
        let of = |step_hz: f64, power: &[f64]| Spectrum {
            step_hz,
            power: power.to_vec(),
            windows: 1,
        };
        assert!(axes(&Spectrum::default()).is_none());
        assert!(axes(&of(1.0, &[1.0])).is_none());
        assert!(axes(&of(0.0, &[1.0, 1.0, 1.0])).is_none());
        assert!(axes(&of(1.0, &[1.0, 0.0, 0.0])).is_none());
        assert!(axes(&of(1.0, &[f64::NAN, 2.0, f64::INFINITY, 3.0])).is_some());
    }

    #[test]
    fn the_strongest_line_survives_the_envelope() {
        let mut power = vec![1.0; 10_000];
        power[7_777] = 1e6;
        let spectrum = Spectrum {
            step_hz: 1.0,
            power,
            windows: 1,
        };
        let (frequency, axis) = axes(&spectrum).unwrap();
        let frame = Frame {
            x: 0.0,
            y: 0.0,
            width: 100.0,
            height: 100.0,
        };
        let curve = envelope(&spectrum, &frequency, &axis, &frame);
        assert!(curve.len() <= 201);
        let peak = frame.bottom() - axis.place(1e6) * frame.height;
        assert!(curve.iter().any(|(_, y)| (y - peak).abs() < 1e-9));
    }
}
