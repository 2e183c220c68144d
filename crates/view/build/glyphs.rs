//! Turns the font into outlines at build time, so that the program carries some 40 KB of curves
//! and no font file (1.3 MB), no font parser and no search for fonts at run time.
//!
//! The font is DejaVu Sans Condensed 2.37, from the crate `dejavu`; its licence (Bitstream Vera's,
//! free to embed and to modify under another name) is kept in `fonts/LICENSE-DejaVu`. Written to
//! `$OUT_DIR/glyphs.rs`, which `src/glyphs.rs` includes.

use std::fmt::Write as _;
use ttf_parser::{Face, OutlineBuilder};

/// Printable ASCII and Latin-1, and the few signs that pictures use besides.
fn characters() -> impl Iterator<Item = char> {
    (' '..='~')
        .chain('\u{a1}'..='\u{ac}')
        .chain('\u{ae}'..='\u{ff}')
        .chain("⁰⁴⁵⁶⁷⁸⁹⁻μ–—…→←↑↓≤≥≈√∞−\u{2009}\u{202f}\u{fffd}".chars())
}

/// Writes an outline as a Rust array of `Segment`.
struct Outline(String);

/// Font units are whole numbers below 2^15; DejaVu's outlines never leave that range.
fn unit(value: f32) -> i16 {
    value.round() as i16
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let _ = write!(self.0, "M({},{}),", unit(x), unit(y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let _ = write!(self.0, "L({},{}),", unit(x), unit(y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (x1, y1, x, y) = (unit(x1), unit(y1), unit(x), unit(y));
        let _ = write!(self.0, "Q({x1},{y1},{x},{y}),");
    }

    /// TrueType outlines are quadratic; a cubic one would mean that the font was exchanged.
    fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {
        panic!("the font has cubic outlines; src/glyphs.rs knows quadratic ones only");
    }

    fn close(&mut self) {
        self.0.push_str("Z,");
    }
}

/// One `static NAME: Font`.
fn font(name: &str, data: &[u8]) -> String {
    let face = Face::parse(data, 0).expect("the font of the crate `dejavu` parses");
    let mut characters: Vec<char> = characters().collect();
    characters.sort_unstable();
    let mut text = format!(
        "pub(crate) static {name}: Font = Font {{ units_per_em: {}, glyphs: &[\n",
        face.units_per_em()
    );
    for character in characters {
        let Some(id) = face.glyph_index(character) else {
            continue;
        };
        let mut outline = Outline(String::new());
        face.outline_glyph(id, &mut outline);
        let advance = face.glyph_hor_advance(id).unwrap_or_default();
        let _ = writeln!(
            text,
            "Glyph {{ character: {character:?}, advance: {advance}, outline: &[{}] }},",
            outline.0
        );
    }
    text + "] };\n"
}

/// The fonts as the text of a Rust file.
pub(crate) fn text() -> String {
    font("REGULAR", dejavu::sans_condensed::regular())
        + &font("BOLD", dejavu::sans_condensed::bold())
}
