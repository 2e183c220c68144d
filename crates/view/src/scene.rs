//! A picture as a list of simple shapes, which SVG and PNG draw alike.
//!
//! Rectangles, lines, areas, text, rasters and clips; nothing else, so that a new way to draw is one small
//! file. Lengths are points, y downwards, the origin at the top left.

/// A colour with its opacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the channels are what they are called")]
pub struct Colour {
    pub red: u8,
    pub green: u8,
    pub blue: u8,
    /// 255 is opaque.
    pub alpha: u8,
}

impl Colour {
    /// An opaque colour.
    pub const fn rgb(red: u8, green: u8, blue: u8) -> Colour {
        Colour {
            red,
            green,
            blue,
            alpha: 255,
        }
    }

    /// The same colour, less opaque.
    pub const fn alpha(self, alpha: u8) -> Colour {
        Colour { alpha, ..self }
    }
}

/// Which point of a line of text stands at its x.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    #[default]
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "the fields are what they are called, in points"
)]
pub struct Frame {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Frame {
    /// The x of its right side.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The y of its lower side.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    fn is_finite(&self) -> bool {
        [self.x, self.y, self.width, self.height]
            .iter()
            .all(|v| v.is_finite())
    }
}

/// One line of text; `y` is its baseline.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are what they are called")]
pub struct Text {
    pub x: f64,
    pub y: f64,
    /// Points to the em.
    pub size: f64,
    pub bold: bool,
    pub anchor: Anchor,
    pub colour: Colour,
    /// Untrusted: drawing escapes it.
    pub text: String,
}

/// Cells of colour, drawn as sharp rectangles.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Cells across.
    pub columns: u32,
    /// Cells down.
    pub rows: u32,
    /// Row by row; `None` leaves the ground as it is.
    pub cells: Vec<Option<Colour>>,
}

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A filled rectangle.
    Rectangle(Frame, Colour),
    /// A line through points.
    Line {
        /// At least two.
        points: Vec<(f64, f64)>,
        /// Points across.
        width: f64,
        /// Of the stroke.
        colour: Colour,
        /// Lengths of dash and blank.
        dash: Option<(f64, f64)>,
    },
    /// The inside of a closed line through points, at least three.
    Area(Vec<(f64, f64)>, Colour),
    /// A line of text.
    Text(Text),
    /// A raster, stretched over a frame.
    Raster(Frame, Image),
    /// Items of which only what lies in the frame is seen.
    Clip(Frame, Vec<Item>),
}

impl Item {
    /// Whether every coordinate is a number that can be drawn.
    fn is_finite(&self) -> bool {
        match self {
            Item::Rectangle(frame, _) => frame.is_finite(),
            Item::Line { points, width, .. } => {
                width.is_finite() && points.iter().all(|(x, y)| x.is_finite() && y.is_finite())
            }
            Item::Area(points, _) => points.iter().all(|(x, y)| x.is_finite() && y.is_finite()),
            Item::Text(text) => text.x.is_finite() && text.y.is_finite() && text.size.is_finite(),
            Item::Raster(frame, _) | Item::Clip(frame, _) => frame.is_finite(),
        }
    }
}

/// Shapes in the order in which they are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Items(Vec<Item>);

impl Items {
    /// Adds a shape. One whose coordinates are not finite is left out: there is nowhere to draw it.
    pub fn push(&mut self, item: Item) {
        if item.is_finite() {
            self.0.push(item);
        }
    }

    /// Adds a straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: Colour) {
        self.push(Item::Line {
            points: vec![from, to],
            width,
            colour,
            dash: None,
        });
    }

    /// Adds a filled rectangle.
    pub fn rectangle(&mut self, frame: Frame, colour: Colour) {
        self.push(Item::Rectangle(frame, colour));
    }

    /// Adds text that stands at (`x`, `y`) by `anchor`.
    pub fn text(&mut self, at: (f64, f64), style: Style, anchor: Anchor, text: impl Into<String>) {
        self.push(Item::Text(Text {
            x: at.0,
            y: at.1,
            size: style.size,
            bold: style.bold,
            anchor,
            colour: style.colour,
            text: text.into(),
        }));
    }

    /// Adds shapes of which only what lies in `frame` is seen.
    pub fn clip(&mut self, frame: Frame, items: Items) {
        self.push(Item::Clip(frame, items.0));
    }

    /// The shapes.
    pub fn into_vec(self) -> Vec<Item> {
        self.0
    }
}

/// How text looks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are what they are called")]
pub struct Style {
    pub size: f64,
    pub bold: bool,
    pub colour: Colour,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Points across.
    pub width: f64,
    /// Points down.
    pub height: f64,
    /// What it shows, for readers who cannot see it.
    pub title: String,
    /// Drawn in this order.
    pub items: Vec<Item>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_place_is_left_out() {
        let mut items = Items::default();
        items.line((0.0, f64::NAN), (1.0, 1.0), 1.0, Colour::rgb(0, 0, 0));
        items.line((0.0, 0.0), (1.0, 1.0), 1.0, Colour::rgb(0, 0, 0));
        let frame = Frame {
            width: f64::INFINITY,
            ..Frame::default()
        };
        items.rectangle(frame, Colour::rgb(0, 0, 0));
        assert_eq!(items.into_vec().len(), 1);
    }
}
