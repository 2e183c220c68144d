//! A scene as SVG 1.1: text stays text, rasters are embedded as PNG.

use crate::glyphs;
use crate::scene::{Anchor, Colour, Frame, Image, Item, Scene, Text};
use crate::{Error, Format, Options, escape, picture, png};
use bandscope_analysis::Analysis;
use std::io::Write;

/// The format `svg`.
#[derive(Clone, Copy, Debug)]
pub struct Svg;

/// The font whose widths the layout used, and those most like it.
const FONTS: &str = "'DejaVu Sans Condensed','DejaVu Sans',Verdana,sans-serif";

impl Format for Svg {
    fn name(&self) -> &'static str {
        "svg"
    }

    fn is_picture(&self) -> bool {
        true
    }

    fn render(
        &self,
        analysis: &Analysis,
        options: &Options,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        write(&picture::scene(analysis, options)?, out)
    }
}

/// Writes `scene` as a whole document.
///
/// # Errors
/// If `out` fails.
pub fn write(scene: &Scene, out: &mut dyn Write) -> Result<(), Error> {
    let (width, height) = (number(scene.width), number(scene.height));
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"{FONTS}\" role=\"img\">"
    )?;
    writeln!(out, "<title>{}</title>", escape::xml(&scene.title))?;
    let mut clips = 0;
    for item in &scene.items {
        write_item(item, &mut clips, out)?;
    }
    writeln!(out, "</svg>")?;
    Ok(())
}

fn write_item(item: &Item, clips: &mut u32, out: &mut dyn Write) -> Result<(), Error> {
    match item {
        Item::Rectangle(frame, colour) => {
            writeln!(out, "<rect {} {}/>", place(frame), paint("fill", *colour))?;
        }
        Item::Line {
            points,
            width,
            colour,
            dash,
        } => {
            let dash = dash.map_or_else(String::new, |(on, off)| {
                format!(" stroke-dasharray=\"{} {}\"", number(on), number(off))
            });
            writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" {} stroke-width=\"{}\"{dash}/>",
                list(points),
                paint("stroke", *colour),
                number(*width)
            )?;
        }
        Item::Area(points, colour) => writeln!(
            out,
            "<polygon points=\"{}\" {}/>",
            list(points),
            paint("fill", *colour)
        )?,
        Item::Text(text) => write_text(text, out)?,
        Item::Raster(frame, image) => write_image(frame, image, out)?,
        Item::Clip(frame, items) => {
            *clips += 1;
            let id = format!("clip{clips}");
            writeln!(
                out,
                "<clipPath id=\"{id}\"><rect {}/></clipPath>",
                place(frame)
            )?;
            writeln!(out, "<g clip-path=\"url(#{id})\">")?;
            for item in items {
                write_item(item, clips, out)?;
            }
            writeln!(out, "</g>")?;
        }
    }
    Ok(())
}

fn list(points: &[(f64, f64)]) -> String {
    let point = |(x, y): &(f64, f64)| format!("{},{}", number(*x), number(*y));
    points.iter().map(point).collect::<Vec<_>>().join(" ")
}

/// `textLength` holds a viewer that lacks the font to the widths that the layout used.
fn write_text(text: &Text, out: &mut dyn Write) -> Result<(), Error> {
    let shown = escape::visible(&text.text);
    if shown.trim().is_empty() {
        return Ok(());
    }
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{} text-anchor=\"{anchor}\" textLength=\"{}\" \
         lengthAdjust=\"spacingAndGlyphs\" {}>{}</text>",
        number(text.x),
        number(text.y),
        number(text.size),
        if text.bold {
            " font-weight=\"bold\""
        } else {
            ""
        },
        number(glyphs::font(text.bold).width(&shown, text.size)),
        paint("fill", text.colour),
        escape::xml(&shown)
    )?;
    Ok(())
}

fn write_image(frame: &Frame, image: &Image, out: &mut dyn Write) -> Result<(), Error> {
    let data = base64(&png::encode_image(image)?);
    writeln!(
        out,
        "<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" \
         xlink:href=\"data:image/png;base64,{data}\"/>",
        place(frame)
    )?;
    Ok(())
}

/// Position and size as attributes.
fn place(frame: &Frame) -> String {
    format!(
        "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        number(frame.x),
        number(frame.y),
        number(frame.width.max(0.0)),
        number(frame.height.max(0.0))
    )
}

/// A colour as the value of `property`, its opacity where it is not opaque.
fn paint(property: &str, colour: Colour) -> String {
    let Colour {
        red,
        green,
        blue,
        alpha,
    } = colour;
    let opacity = match alpha {
        255 => String::new(),
        _ => format!(
            " {property}-opacity=\"{}\"",
            number(f64::from(alpha) / 255.0)
        ),
    };
    format!("{property}=\"#{red:02x}{green:02x}{blue:02x}\"{opacity}")
}

/// A length to a hundredth of a point, without trailing zeros.
fn number(value: f64) -> String {
    // It would be written as 0.00 or -0.00.
    if value.abs() < 0.005 {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4 {
            if position > three.len() {
                text.push('=');
            } else {
                text.push(char::from(
                    ALPHABET[(bits >> (18 - 6 * position) & 63) as usize],
                ));
            }
        }
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::samples;
    use proptest::prelude::*;

    fn rendered(analysis: &Analysis) -> String {
        let mut out = Vec::new();
        Svg.render(analysis, &Options::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn base64_as_in_rfc_4648() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    /// Elements are opened and closed in order, and nothing but our own elements is there.
    pub(crate) fn assert_well_formed(svg: &str, name: &str) {
        let mut open: Vec<&str> = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("every < has its >");
            if let Some(closed) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(closed), "{name}");
                continue;
            }
            let element = tag.split([' ', '/']).next().unwrap();
            assert!(
                [
                    "svg", "title", "rect", "polyline", "polygon", "text", "image", "clipPath",
                    "g",
                ]
                .contains(&element),
                "{name}: <{element}>"
            );
            if !tag.ends_with('/') {
                open.push(element);
            }
        }
        assert!(open.is_empty(), "{name}: {open:?}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }

    #[test]
    fn every_sample_is_well_formed() {
        for (name, analysis) in samples::all() {
            let svg = rendered(&analysis);
            assert_well_formed(&svg, name);
            assert!(!svg.contains("<script"), "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn no_string_of_a_recording_breaks_out(text in any::<String>()) {
            let mut analysis = samples::imported();
            analysis.report.verdict = text.clone();
            analysis.report.series[0].kernel = text.clone();
            analysis.pyramids[0].gaps = vec![bandscope_report::LongGap {
                at_s: 0.0005,
                ns: 1e4,
                cause: bandscope_report::Cause::Task((*text).into()),
            }];
            analysis.report.series[0].gaps_known = true;
            let svg = rendered(&analysis);
            assert_well_formed(&svg, "random");
            prop_assert!(!svg.chars().any(|c| c.is_control() && c != '\n'));
        }
    }
}
