//! A scene as PNG: tiny-skia fills the paths, the characters are paths from `glyphs`.

use crate::glyphs::{self, Segment};
use crate::scene::{Anchor, Colour, Frame, Image, Item, Scene, Text};
use crate::{Error, Format, Options, escape, picture};
use bandscope_analysis::Analysis;
use std::io::Write;
use tiny_skia::{
    ColorU8, FillRule, FilterQuality, Mask, Paint, PathBuilder, Pixmap, PixmapPaint,
    PremultipliedColorU8, Rect, Stroke, StrokeDash, Transform,
};

/// The format `png`.
#[derive(Clone, Copy, Debug)]
pub struct Png;

/// Larger pictures are refused: 100 megapixels are 400 MB while they are drawn.
const MOST_PIXELS: u64 = 100_000_000;

impl Format for Png {
    fn name(&self) -> &'static str {
        "png"
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn render(
        &self,
        analysis: &Analysis,
        options: &Options,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let pixmap = draw(&picture::scene(analysis, options)?, options.scale)?;
        let (width, height) = (pixmap.width(), pixmap.height());
        // The paper is opaque, so alpha is 255 everywhere and premultiplied is plain.
        let pixels = pixmap.data();
        match indexed::<4>(pixels) {
            Some((colours, indices)) => encode_indexed(&indices, colours, width, height, out),
            None => {
                let rgb = pixels.as_chunks::<4>().0.iter();
                let rgb: Vec<u8> = rgb.flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
                encode(&rgb, width, height, ::png::ColorType::Rgb, out)
            }
        }
    }
}

/// The colours of a picture that has no more than a palette holds, and which each pixel has: half the size of a file of three channels. A pixel
/// has so many bytes, of which the first three are its colour.
fn indexed<const BYTES: usize>(pixels: &[u8]) -> Option<(Vec<[u8; 3]>, Vec<u8>)> {
    let mut colours: Vec<[u8; 3]> = Vec::new();
    let mut indices = Vec::with_capacity(pixels.len() / BYTES);
    // Where colours stand: a hash table with room between them (Fibonacci hashing: Knuth, TAOCP 3, section 6.4).
    let mut known = [None::<u8>; 1024];
    let mut last = 0;
    for pixel in pixels.as_chunks::<BYTES>().0 {
        let colour = [pixel[0], pixel[1], pixel[2]];
        // Most pixels have the colour of the one before.
        if colours.get(last) != Some(&colour) {
            let bits = u32::from_be_bytes([0, colour[0], colour[1], colour[2]]);
            let mut slot = (bits.wrapping_mul(0x9e37_79b9) >> 22) as usize;
            last = loop {
                match known[slot] {
                    Some(index) if colours[usize::from(index)] == colour => {
                        break usize::from(index);
                    }
                    Some(_) => slot = (slot + 1) % known.len(),
                    None if colours.len() == 256 => return None,
                    None => {
                        known[slot] = Some(colours.len() as u8);
                        colours.push(colour);
                        break colours.len() - 1;
                    }
                }
            };
        }
        indices.push(last as u8);
    }
    Some((colours, indices))
}

fn encode_indexed(
    indices: &[u8],
    colours: Vec<[u8; 3]>,
    width: u32,
    height: u32,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut encoder = ::png::Encoder::new(out, width, height);
    encoder.set_color(::png::ColorType::Indexed);
    encoder.set_depth(::png::BitDepth::Eight);
    encoder.set_palette(colours.concat());
    // Indices that are near to each other are no similar colours.
    encoder.set_filter(::png::Filter::NoFilter);
    // An eighth larger than at level 6, in half of the time.
    encoder.set_deflate_compression(::png::DeflateCompression::Level(4));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(indices)?;
    writer.finish()?;
    Ok(())
}

/// Draws `scene` at `scale` pixels per point on white paper.
fn draw(scene: &Scene, scale: f32) -> Result<Pixmap, Error> {
    let scale = if scale.is_finite() {
        scale.clamp(0.25, 8.0)
    } else {
        1.0
    };
    let width = (scene.width * f64::from(scale)).ceil().max(1.0) as u64;
    let height = (scene.height * f64::from(scale)).ceil().max(1.0) as u64;
    let too_large = Error::TooLarge {
        width,
        height,
        limit: MOST_PIXELS,
    };
    if width.saturating_mul(height) > MOST_PIXELS {
        return Err(too_large);
    }
    let Some(mut pixmap) = Pixmap::new(width as u32, height as u32) else {
        return Err(too_large);
    };
    pixmap.fill(tiny_skia::Color::WHITE);
    let mut canvas = Canvas {
        pixmap,
        transform: Transform::from_scale(scale, scale),
        mask: None,
    };
    for item in &scene.items {
        canvas.item(item);
    }
    Ok(canvas.pixmap)
}

struct Canvas {
    pixmap: Pixmap,
    transform: Transform,
    mask: Option<Mask>,
}

impl Canvas {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Rectangle(frame, colour) => {
                if let Some(rect) = rect(frame) {
                    let paint = paint(*colour);
                    let mask = self.mask.as_ref();
                    self.pixmap.fill_rect(rect, &paint, self.transform, mask);
                }
            }
            Item::Line {
                points,
                width,
                colour,
                dash,
            } => self.line(points, *width, *colour, *dash),
            Item::Text(text) => self.text(text),
            Item::Raster(frame, image) => self.raster(frame, image),
            Item::Clip(frame, items) => self.clip(frame, items),
        }
    }

    fn line(
        &mut self,
        points: &[(f64, f64)],
        width: f64,
        colour: Colour,
        dash: Option<(f64, f64)>,
    ) {
        let mut path = PathBuilder::new();
        for (index, &(x, y)) in points.iter().enumerate() {
            match index {
                0 => path.move_to(x as f32, y as f32),
                _ => path.line_to(x as f32, y as f32),
            }
        }
        let Some(path) = path.finish() else { return };
        let stroke = Stroke {
            width: width as f32,
            dash: dash.and_then(|(on, off)| StrokeDash::new(vec![on as f32, off as f32], 0.0)),
            ..Stroke::default()
        };
        let mask = self.mask.as_ref();
        self.pixmap
            .stroke_path(&path, &paint(colour), &stroke, self.transform, mask);
    }

    fn text(&mut self, text: &Text) {
        let font = glyphs::font(text.bold);
        let shown = escape::visible(&text.text);
        let width = font.width(&shown, text.size);
        let mut x = match text.anchor {
            Anchor::Start => text.x,
            Anchor::Middle => text.x - width / 2.0,
            Anchor::End => text.x - width,
        };
        let size = text.size / f64::from(font.units_per_em);
        let mut path = PathBuilder::new();
        for character in shown.chars() {
            let glyph = font.glyph(character);
            let place = |gx: i16, gy: i16| {
                let (gx, gy) = (f64::from(gx) * size, f64::from(gy) * size);
                ((x + gx) as f32, (text.y - gy) as f32)
            };
            outline(&mut path, glyph.outline, place);
            x += f64::from(glyph.advance) * size;
        }
        if let Some(path) = path.finish() {
            let paint = paint(text.colour);
            let mask = self.mask.as_ref();
            self.pixmap
                .fill_path(&path, &paint, FillRule::Winding, self.transform, mask);
        }
    }

    fn raster(&mut self, frame: &Frame, image: &Image) {
        let Some(source) = pixels(image) else { return };
        let stretch = self
            .transform
            .pre_translate(frame.x as f32, frame.y as f32)
            .pre_scale(
                (frame.width / f64::from(image.columns)) as f32,
                (frame.height / f64::from(image.rows)) as f32,
            );
        if self.copy_cells(&source, stretch).is_some() {
            return;
        }
        let paint = PixmapPaint {
            quality: FilterQuality::Nearest,
            ..PixmapPaint::default()
        };
        let mask = self.mask.as_ref();
        self.pixmap
            .draw_pixmap(0, 0, source.as_ref(), &paint, stretch, mask);
    }

    /// Does what drawing a pixmap without smoothing does, where nothing shines through anything: a tenth of the time. `None` where it does.
    fn copy_cells(&mut self, source: &Pixmap, stretch: Transform) -> Option<()> {
        let (width, height) = (self.pixmap.width(), self.pixmap.height());
        let is_plain = |pixel: &PremultipliedColorU8| matches!(pixel.alpha(), 0 | 255);
        let is_clear_cut = |mask: &Mask| {
            mask.data()
                .iter()
                .all(|&coverage| matches!(coverage, 0 | 255))
        };
        if width.max(height) > MAX_UNTILED
            || source.width().max(source.height()) > MAX_NUMBER
            || !source.pixels().iter().all(is_plain)
            || !self.mask.as_ref().is_none_or(is_clear_cut)
        {
            return None;
        }
        let across = Transform::from_row(stretch.sx, 0.0, 0.0, 1.0, stretch.tx, 0.0);
        let down = Transform::from_row(1.0, 0.0, 0.0, stretch.sy, 0.0, stretch.ty);
        let columns = stretched((source.width(), 1), across, (width, 1))?;
        let rows = stretched((1, source.height()), down, (1, height))?;
        let mask = self.mask.as_ref().map(Mask::data);
        let width = width as usize;
        let lines = self.pixmap.pixels_mut().chunks_exact_mut(width);
        for (y, (line, row)) in lines.zip(rows).enumerate() {
            let Some(row) = row else { continue };
            let cells = &source.pixels()[row * source.width() as usize..];
            for (x, (pixel, column)) in line.iter_mut().zip(&columns).enumerate() {
                let Some(column) = *column else { continue };
                let cell = cells[column];
                if cell.alpha() > 0 && mask.is_none_or(|mask| mask[y * width + x] > 0) {
                    *pixel = cell;
                }
            }
        }
        Some(())
    }

    fn clip(&mut self, frame: &Frame, items: &[Item]) {
        let Some(rect) = rect(frame) else { return };
        let path = PathBuilder::from_rect(rect);
        let outer = self.mask.clone();
        let mut mask = match outer.clone() {
            Some(mask) => mask,
            None => match Mask::new(self.pixmap.width(), self.pixmap.height()) {
                Some(mask) => mask,
                None => return,
            },
        };
        match outer {
            Some(_) => mask.intersect_path(&path, FillRule::Winding, false, self.transform),
            None => mask.fill_path(&path, FillRule::Winding, false, self.transform),
        }
        self.mask = Some(mask);
        for item in items {
            self.item(item);
        }
        self.mask = outer;
    }
}

/// Pictures up to this many pixels in each direction are drawn in one piece by `tiny_skia`.
const MAX_UNTILED: u32 = 8000;
/// Numbers that two channels of a colour hold.
const MAX_NUMBER: u32 = 1 << 16;

/// Which of the cells of a single line, or column, each pixel of such a one shows when it is stretched: cells whose colours are their numbers are
/// drawn, so that all rounding is that of drawing.
fn stretched(
    (columns, rows): (u32, u32),
    stretch: Transform,
    (width, height): (u32, u32),
) -> Option<Vec<Option<usize>>> {
    let mut cells = Pixmap::new(columns, rows)?;
    for (number, cell) in cells.pixels_mut().iter_mut().enumerate() {
        let (low, high) = (number as u8, (number >> 8) as u8);
        *cell = ColorU8::from_rgba(low, high, 0, 255).premultiply();
    }
    let mut shown = Pixmap::new(width, height)?;
    let paint = PixmapPaint {
        quality: FilterQuality::Nearest,
        ..PixmapPaint::default()
    };
    shown.draw_pixmap(0, 0, cells.as_ref(), &paint, stretch, None);
    let number = |pixel: &PremultipliedColorU8| {
        let number = usize::from(pixel.red()) | usize::from(pixel.green()) << 8;
        (pixel.alpha() > 0).then_some(number)
    };
    Some(shown.pixels().iter().map(number).collect())
}

/// Appends an outline, each point where `place` puts it.
fn outline(path: &mut PathBuilder, outline: &[Segment], place: impl Fn(i16, i16) -> (f32, f32)) {
    for segment in outline {
        match *segment {
            Segment::M(x, y) => {
                let (x, y) = place(x, y);
                path.move_to(x, y);
            }
            Segment::L(x, y) => {
                let (x, y) = place(x, y);
                path.line_to(x, y);
            }
            Segment::Q(x1, y1, x, y) => {
                let ((x1, y1), (x, y)) = (place(x1, y1), place(x, y));
                path.quad_to(x1, y1, x, y);
            }
            Segment::Z => path.close(),
        }
    }
}

fn rect(frame: &Frame) -> Option<Rect> {
    Rect::from_xywh(
        frame.x as f32,
        frame.y as f32,
        frame.width as f32,
        frame.height as f32,
    )
}

fn paint(colour: Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(colour.red, colour.green, colour.blue, colour.alpha);
    paint
}

/// The cells of an image as a pixmap; `None` of an image without cells or of the wrong number.
fn pixels(image: &Image) -> Option<Pixmap> {
    let mut pixmap = Pixmap::new(image.columns, image.rows)?;
    if pixmap.pixels().len() != image.cells.len() {
        return None;
    }
    for (pixel, cell) in pixmap.pixels_mut().iter_mut().zip(&image.cells) {
        let [red, green, blue, alpha] = rgba(*cell);
        *pixel = ColorU8::from_rgba(red, green, blue, alpha).premultiply();
    }
    Some(pixmap)
}

fn rgba(cell: Option<Colour>) -> [u8; 4] {
    cell.map_or([0; 4], |c| [c.red, c.green, c.blue, c.alpha])
}

/// The cells of an image as a PNG with transparency, for embedding.
pub(crate) fn encode_image(image: &Image) -> Result<Vec<u8>, Error> {
    let bytes: Vec<u8> = image.cells.iter().flat_map(|cell| rgba(*cell)).collect();
    let mut out = Vec::new();
    encode(
        &bytes,
        image.columns,
        image.rows,
        ::png::ColorType::Rgba,
        &mut out,
    )?;
    Ok(out)
}

fn encode(
    bytes: &[u8],
    width: u32,
    height: u32,
    colour: ::png::ColorType,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut encoder = ::png::Encoder::new(out, width, height);
    encoder.set_color(colour);
    encoder.set_depth(::png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(bytes)?;
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Items, Style};

    const BLACK: Colour = Colour::rgb(0, 0, 0);

    fn dark(pixmap: &Pixmap, x: u32, y: u32) -> bool {
        pixmap.pixel(x, y).unwrap().red() < 128
    }

    fn scene(items: Items) -> Scene {
        Scene {
            width: 40.0,
            height: 20.0,
            title: String::new(),
            items: items.into_vec(),
        }
    }

    #[test]
    fn a_palette_holds_256_colours() {
        let pixels = |number: u32| -> Vec<u8> {
            let colour = |k: u32| [k as u8, (k >> 8) as u8, 7];
            (0..2 * number).flat_map(|k| colour(k % number)).collect()
        };
        let (colours, indices) = indexed::<3>(&pixels(256)).unwrap();
        assert_eq!((colours.len(), indices.len()), (256, 512));
        let back: Vec<u8> = indices
            .iter()
            .flat_map(|&index| colours[usize::from(index)])
            .collect();
        assert_eq!(back, pixels(256));
        assert_eq!(indexed::<3>(&pixels(257)), None);
    }

    /// At sizes that are no multiples of each other, clipped and beyond the paper's edges.
    #[test]
    fn copied_cells_are_what_drawing_makes_of_them() {
        let cell = |k: u32| (k % 3 > 0).then(|| Colour::rgb(k as u8, (k >> 3) as u8, 90));
        let image = Image {
            columns: 37,
            rows: 23,
            cells: (0..37 * 23).map(cell).collect(),
        };
        let source = pixels(&image).unwrap();
        let mut mask = Mask::new(200, 150).unwrap();
        let path = PathBuilder::from_rect(Rect::from_xywh(20.3, 11.8, 90.9, 101.2).unwrap());
        mask.fill_path(&path, FillRule::Winding, false, Transform::identity());
        for (sx, sy, tx, ty) in [
            (3.37, 5.01, 7.7, 3.3),
            (0.61, 0.23, 50.5, 60.25),
            (1.0, 1.0, 3.0, 4.0),
            (9.9, 11.3, -40.0, -33.3),
        ] {
            let stretch = Transform::from_row(sx, 0.0, 0.0, sy, tx, ty);
            for mask in [None, Some(mask.clone())] {
                let mut pixmap = Pixmap::new(200, 150).unwrap();
                pixmap.fill(tiny_skia::Color::WHITE);
                let mut drawn = pixmap.clone();
                let paint = PixmapPaint {
                    quality: FilterQuality::Nearest,
                    ..PixmapPaint::default()
                };
                drawn.draw_pixmap(0, 0, source.as_ref(), &paint, stretch, mask.as_ref());
                let mut canvas = Canvas {
                    pixmap,
                    transform: Transform::identity(),
                    mask,
                };
                canvas.copy_cells(&source, stretch).unwrap();
                assert!(canvas.pixmap == drawn, "{stretch:?}");
            }
        }
    }

    #[test]
    fn a_clip_hides_what_lies_outside() {
        let mut inner = Items::default();
        let all = Frame {
            x: 0.0,
            y: 0.0,
            width: 40.0,
            height: 20.0,
        };
        inner.rectangle(all, BLACK);
        let mut items = Items::default();
        items.clip(
            Frame {
                x: 10.0,
                width: 10.0,
                ..all
            },
            inner,
        );
        let pixmap = draw(&scene(items), 1.0).unwrap();
        assert!(dark(&pixmap, 15, 10) && !dark(&pixmap, 5, 10) && !dark(&pixmap, 25, 10));
    }

    #[test]
    fn one_cell_of_a_raster_is_one_sharp_rectangle() {
        let image = Image {
            columns: 4,
            rows: 2,
            cells: vec![None, Some(BLACK), None, None, None, None, None, None],
        };
        let mut items = Items::default();
        items.push(Item::Raster(
            Frame {
                x: 0.0,
                y: 0.0,
                width: 40.0,
                height: 20.0,
            },
            image,
        ));
        let pixmap = draw(&scene(items), 2.0).unwrap();
        let black = (0..80).flat_map(|x| (0..40).map(move |y| (x, y)));
        let black: Vec<_> = black.filter(|&(x, y)| dark(&pixmap, x, y)).collect();
        assert_eq!(black.len(), 20 * 20);
        assert_eq!(black[0], (20, 0));
    }

    #[test]
    fn text_leaves_ink_where_it_is_anchored() {
        let style = Style {
            size: 12.0,
            bold: true,
            colour: BLACK,
        };
        let mut items = Items::default();
        items.text((40.0, 15.0), style, Anchor::End, "HH");
        let pixmap = draw(&scene(items), 1.0).unwrap();
        let ink: Vec<u32> = (0..40)
            .filter(|&x| (0..20).any(|y| dark(&pixmap, x, y)))
            .collect();
        assert!(ink.first().is_some_and(|&x| x > 15) && ink.last().is_some_and(|&x| x >= 35));
    }

    #[test]
    fn a_picture_too_large_is_refused_and_says_so() {
        let huge = Scene {
            width: 1e9,
            height: 1e9,
            title: String::new(),
            items: Vec::new(),
        };
        let error = draw(&huge, 2.0).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }
}
