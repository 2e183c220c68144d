//! How to draw: decided by the caller, never looked up here.

/// What a format may be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Text: emphasise with colour. Colour never carries meaning alone.
    pub colour: bool,
    /// Text: nothing but ASCII.
    pub ascii: bool,
    /// Text: columns to use, at least [`Options::MIN_WIDTH`].
    pub width: usize,
    /// Text: rows of the strip that shows pace over time.
    pub strip_rows: usize,
    /// Picture: width in points. Its height follows from the number of series.
    pub picture_width: f64,
    /// PNG: pixels per point; 2 is sharp on today's screens.
    pub scale: f32,
}

impl Options {
    /// Narrower than this, tables are cut off rather than squeezed.
    pub const MIN_WIDTH: usize = 60;
    /// Wider than this, lines no longer read well.
    pub const MAX_WIDTH: usize = 160;

    /// Columns to use.
    pub(crate) fn columns(&self) -> usize {
        self.width.clamp(Options::MIN_WIDTH, Options::MAX_WIDTH)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            colour: false,
            ascii: false,
            width: 80,
            strip_rows: 7,
            picture_width: 1200.0,
            scale: 2.0,
        }
    }
}
