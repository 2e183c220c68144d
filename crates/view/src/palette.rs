//! Colours, chosen so that the colour-blind tell them apart and a grey print keeps their order.

use crate::options::Theme;
use crate::scene::Colour;

/// Ten anchors of viridis, darkest first: perceptually even, its lightness rises all the way, safe for
/// the three kinds of colour blindness. From matplotlib's `_cm_listed.py` (Smith and van der Walt, CC0).
const VIRIDIS: [[u8; 3]; 10] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x28, 0x78],
    [0x3e, 0x4a, 0x89],
    [0x31, 0x68, 0x8e],
    [0x26, 0x82, 0x8e],
    [0x1f, 0x9e, 0x89],
    [0x35, 0xb7, 0x79],
    [0x6d, 0xcd, 0x59],
    [0xb4, 0xde, 0x2c],
    [0xfd, 0xe7, 0x25],
];

/// Where on viridis a single quantum stands: light, but clear on white paper.
const FAINTEST: f64 = 0.74;

/// Paper.
pub(crate) const PAPER: Colour = Colour::rgb(0xff, 0xff, 0xff);
/// Text.
pub(crate) const INK: Colour = Colour::rgb(0x1a, 0x1a, 0x1a);
/// Text that is read last.
pub(crate) const GREY: Colour = Colour::rgb(0x66, 0x66, 0x66);
/// Frames and ticks.
pub(crate) const FRAME: Colour = Colour::rgb(0xb0, 0xb0, 0xb0);
/// Lines of the grid.
pub(crate) const RULE: Colour = Colour::rgb(0xe6, 0xe6, 0xe6);
/// Where a series was not measured.
pub(crate) const ABSENT: Colour = Colour::rgb(0xf3, 0xf3, 0xf3);
/// Bands, gaps, curves: Okabe and Ito's vermilion and blue (Color Universal Design, 2008).
pub(crate) const VERMILION: Colour = Colour::rgb(0xd5, 0x5e, 0x00);
pub(crate) const BLUE: Colour = Colour::rgb(0x00, 0x72, 0xb2);
/// Bars of histograms: what a middling density looks like.
pub(crate) const BAR: Colour = Colour::rgb(0x7f, 0x9c, 0xb5);

/// The colour of a cell with `count` quanta, where the fullest has `most`: a logarithmic scale from
/// [`FAINTEST`] to the dark end, on a dark screen from its counterpart to the light end. One quantum is always visible.
pub(crate) fn density(count: u64, most: u64, theme: Theme) -> Colour {
    let full = (most.max(1) as f64).ln();
    let filled = match full > 0.0 {
        true => ((count.max(1) as f64).ln() / full).clamp(0.0, 1.0),
        false => 1.0,
    };
    let from_full = FAINTEST * (1.0 - filled);
    viridis(match theme {
        Theme::Light => from_full,
        Theme::Dark => 1.0 - from_full,
    })
}

/// The colour of a line among several in an order, 0 the first and 1 the last: viridis as far as it is clear on what it is drawn on.
pub(crate) fn ordinal(place: f64, theme: Theme) -> Colour {
    viridis(match theme {
        Theme::Light => 0.58 * place,
        Theme::Dark => 1.0 - 0.62 * place,
    })
}

/// What stands for a colour of this file on a dark screen, as on the page for the browser (`html/style.css`); densities are what they are.
pub(crate) fn dark(colour: Colour) -> Colour {
    let counterpart = match colour.alpha(255) {
        PAPER => Colour::rgb(0x14, 0x18, 0x1d),
        INK => Colour::rgb(0xec, 0xef, 0xf2),
        GREY => Colour::rgb(0xa9, 0xb3, 0xbd),
        FRAME => Colour::rgb(0x5d, 0x69, 0x74),
        RULE => Colour::rgb(0x2b, 0x33, 0x3c),
        ABSENT => Colour::rgb(0x1c, 0x22, 0x29),
        VERMILION => Colour::rgb(0xff, 0x9d, 0x5c),
        BLUE => Colour::rgb(0x7c, 0xc4, 0xf2),
        BAR => Colour::rgb(0x5f, 0x7d, 0x97),
        other => other,
    };
    counterpart.alpha(colour.alpha)
}

/// Viridis at `place`, 0 the dark and 1 the light end.
fn viridis(place: f64) -> Colour {
    let steps = (VIRIDIS.len() - 1) as f64;
    let at = place.clamp(0.0, 1.0) * steps;
    let below = (at as usize).min(VIRIDIS.len() - 2);
    let part = at - below as f64;
    let mix = |channel: usize| {
        let (from, to) = (VIRIDIS[below][channel], VIRIDIS[below + 1][channel]);
        (f64::from(from) + (f64::from(to) - f64::from(from)) * part).round() as u8
    };
    Colour::rgb(mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance by WCAG 2.
    fn luminance(colour: Colour) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue)
    }

    #[test]
    fn more_quanta_are_darker_all_the_way() {
        let counts = [1, 2, 5, 20, 100, 1_000, 10_000, 1_000_000];
        let shades: Vec<f64> = counts
            .iter()
            .map(|&n| luminance(density(n, 1_000_000, Theme::Light)))
            .collect();
        assert!(
            shades.windows(2).all(|pair| pair[0] > pair[1]),
            "{shades:?}"
        );
        let lights = counts.map(|n| luminance(density(n, 1_000_000, Theme::Dark)));
        assert!(
            lights.windows(2).all(|pair| pair[0] < pair[1]),
            "{lights:?}"
        );
    }

    #[test]
    fn one_quantum_is_clear_on_paper() {
        let contrast = 1.05 / (luminance(density(1, u64::MAX, Theme::Light)) + 0.05);
        assert!(contrast > 2.0, "{contrast}");
        let contrast =
            (luminance(density(1, u64::MAX, Theme::Dark)) + 0.05) / (luminance(dark(PAPER)) + 0.05);
        assert!(contrast > 2.0, "{contrast}");
        assert_eq!(
            density(1, 1, Theme::Light),
            viridis(0.0),
            "where one is the most there is, it is dark"
        );
    }

    /// 4.5 is what WCAG 2 asks of text, 3 of what is drawn.
    #[test]
    fn text_and_lines_are_clear_on_a_dark_screen() {
        let paper = luminance(dark(PAPER)) + 0.05;
        for (colour, least) in [
            (INK, 4.5),
            (GREY, 4.5),
            (VERMILION, 3.0),
            (BLUE, 3.0),
            (BAR, 3.0),
        ] {
            let contrast = (luminance(dark(colour)) + 0.05) / paper;
            assert!(contrast > least, "{colour:?}: {contrast}");
        }
        assert_eq!(dark(BLUE.alpha(150)).alpha, 150);
        for place in (0..=10).map(|tenth| f64::from(tenth) / 10.0) {
            let light = 1.05 / (luminance(ordinal(place, Theme::Light)) + 0.05);
            let dark = (luminance(ordinal(place, Theme::Dark)) + 0.05) / paper;
            assert!(light > 3.0 && dark > 3.0, "{place}: {light} {dark}");
        }
    }
}
