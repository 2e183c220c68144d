//! A scene as PNG: tiny-skia fills the paths, the characters are paths from `glyphs`.

mod encode;

use crate::glyphs::{self, Segment};
use crate::scene::{Anchor, Colour, Frame, Image, Item, Scene, Text};
use crate::{Error, Format, Options, escape, picture};
use bandscope_analysis::Analysis;
use encode::{encode, encode_indexed, indexed};
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

    fn is_picture(&self) -> bool {
        true
    }

    fn render(
        &self,
        analysis: &Analysis,
        options: &Options,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        write(&picture::scene(analysis, options)?, options.scale, out)
    }
}

/// Writes `scene` at `scale` pixels per point.
///
/// # Errors
/// If `out` fails, or the picture is too large.
pub fn write(scene: &Scene, scale: f32, out: &mut dyn Write) -> Result<(), Error> {
    let pixmap = draw(scene, scale)?;
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
            Item::Area(points, colour) => {
                let mut path = path(points);
                path.close();
                if let Some(path) = path.finish() {
                    let (paint, mask) = (paint(*colour), self.mask.as_ref());
                    let rule = FillRule::Winding;
                    (self.pixmap).fill_path(&path, &paint, rule, self.transform, mask);
                }
            }
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
        let Some(path) = path(points).finish() else {
            return;
        };
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

/// A path through points.
fn path(points: &[(f64, f64)]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (index, &(x, y)) in points.iter().enumerate() {
        match index {
            0 => path.move_to(x as f32, y as f32),
            _ => path.line_to(x as f32, y as f32),
        }
    }
    path
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

#[cfg(test)]
mod tests;
