//! The font of pictures: outlines and widths of DejaVu Sans Condensed, made by `build/glyphs.rs`.
//!
//! tiny-skia draws no text, and a picture must look the same on every machine, so the outlines of the
//! characters that we use are compiled in and filled as paths. SVG names the font and lets the viewer
//! choose a similar one where it lacks it; the widths here serve the layout of both.

/// One step of an outline, in font units, y upwards.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Segment {
    /// Begin a contour.
    M(i16, i16),
    /// Line.
    L(i16, i16),
    /// Quadratic curve: control point, end.
    Q(i16, i16, i16, i16),
    /// Close the contour.
    Z,
}

use Segment::{L, M, Q, Z};

/// The outline of a character.
#[derive(Debug)]
pub(crate) struct Glyph {
    pub(crate) character: char,
    /// Distance to the next character, in font units.
    pub(crate) advance: u16,
    pub(crate) outline: &'static [Segment],
}

/// Glyphs in order of their characters.
#[derive(Debug)]
pub(crate) struct Font {
    pub(crate) units_per_em: u16,
    pub(crate) glyphs: &'static [Glyph],
}

include!(concat!(env!("OUT_DIR"), "/glyphs.rs"));

/// The font of that weight.
pub(crate) fn font(bold: bool) -> &'static Font {
    if bold { &BOLD } else { &REGULAR }
}

impl Font {
    /// The glyph of a character, or the replacement character's.
    pub(crate) fn glyph(&self, character: char) -> &'static Glyph {
        let find = |wanted: char| self.glyphs.binary_search_by_key(&wanted, |g| g.character);
        match find(character).or_else(|_| find('\u{fffd}')) {
            Ok(index) => &self.glyphs[index],
            Err(_) => &self.glyphs[0],
        }
    }

    /// Width of a line of text at `size` points.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        let units: u64 = text.chars().map(|c| u64::from(self.glyph(c).advance)).sum();
        units as f64 * size / f64::from(self.units_per_em)
    }

    /// `text`, cut off with an ellipsis so that it fits into `width` at `size` points.
    pub(crate) fn fit(&self, text: &str, size: f64, width: f64) -> String {
        if self.width(text, size) <= width {
            return text.to_owned();
        }
        let mut fitting = String::new();
        for character in text.chars() {
            fitting.push(character);
            if self.width(&fitting, size) + self.width("…", size) > width {
                fitting.pop();
                break;
            }
        }
        fitting.push('…');
        fitting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_writes_has_a_glyph() {
        for bold in [false, true] {
            for character in (' '..='~').chain("µ·±×²–…≥≤".chars()) {
                assert_eq!(font(bold).glyph(character).character, character);
            }
            assert_eq!(font(bold).glyph('漢').character, '\u{fffd}');
        }
    }

    #[test]
    fn every_visible_glyph_has_an_outline() {
        for glyph in font(false).glyphs {
            let blank = glyph.character.is_whitespace();
            assert_eq!(glyph.outline.is_empty(), blank, "{:?}", glyph.character);
        }
    }

    #[test]
    fn fitted_text_fits() {
        let font = font(false);
        for width in [0.0, 5.0, 20.0, 50.0, 1e9] {
            let fitted = font.fit("task:kworker/1:2-events", 11.0, width);
            assert!(
                fitted == "…" || font.width(&fitted, 11.0) <= width,
                "{fitted} in {width}"
            );
        }
    }
}
