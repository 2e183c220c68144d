//! Text on the cells of a screen: cut to its place, made safe, emphasised with or without colour.

use super::Look;
use crate::escape;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier, Style};

/// How a text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Bold,
    Dim,
    /// Head and foot of the screen.
    Bar,
    /// Time at work.
    Work,
    /// Time lost.
    Loss,
}

/// A part of a screen, with its own left upper corner.
pub struct Canvas<'a> {
    pub buffer: &'a mut Buffer,
    pub look: Look,
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

impl Canvas<'_> {
    /// A part of this part, no larger than what there is.
    pub fn part(&mut self, x: u16, y: u16, width: u16, height: u16) -> Canvas<'_> {
        let (x, y) = (x.min(self.width), y.min(self.height));
        Canvas {
            look: self.look,
            x: self.x + x,
            y: self.y + y,
            width: width.min(self.width - x),
            height: height.min(self.height - y),
            buffer: self.buffer,
        }
    }

    /// Any text, from column `x` on, in at most `width` columns; what does not fit is cut off.
    pub fn put(&mut self, x: u16, y: u16, width: u16, text: &str, tone: Tone) {
        let safe = self.safe(text);
        self.raw(x, y, width, &safe, tone);
    }

    /// The same, ending at column `x`.
    pub fn put_right(&mut self, x: u16, y: u16, width: u16, text: &str, tone: Tone) {
        let safe = self.safe(text);
        let length = (safe.chars().count() as u16).min(width).min(x);
        self.raw(x - length, y, length, &safe, tone);
    }

    /// Our own characters, as they are.
    pub fn raw(&mut self, x: u16, y: u16, width: u16, text: &str, tone: Tone) {
        if x >= self.width || y >= self.height {
            return;
        }
        let style = self.style(tone);
        let most = width.min(self.width - x);
        self.buffer
            .set_stringn(self.x + x, self.y + y, text, most.into(), style);
    }

    /// A whole row in one tone.
    pub fn bar(&mut self, y: u16) {
        let blank = " ".repeat(self.width.into());
        self.raw(0, y, self.width, &blank, Tone::Bar);
    }

    /// One of two signs: the second where nothing but ASCII is wanted.
    pub fn sign<T>(&self, sign: T, ascii: T) -> T {
        if self.look.ascii { ascii } else { sign }
    }

    fn safe(&self, text: &str) -> String {
        match self.look.ascii {
            true => escape::visible_ascii(text),
            false => escape::visible(text),
        }
    }

    fn style(&self, tone: Tone) -> Style {
        let plain = Style::new();
        match tone {
            Tone::Plain => plain,
            Tone::Bold => plain.add_modifier(Modifier::BOLD),
            Tone::Dim => plain.add_modifier(Modifier::DIM),
            Tone::Bar => plain.add_modifier(Modifier::REVERSED),
            // The colours of the report's text.
            Tone::Work if self.look.colour => plain.fg(Color::Blue),
            Tone::Loss if self.look.colour => plain.fg(Color::Yellow),
            Tone::Work | Tone::Loss => plain,
        }
    }
}
