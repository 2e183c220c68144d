//! How to draw: decided by the caller, never looked up here.

use crate::text::table::words;
use bandscope_studies::check::Check;

/// Quanta that are folded, as many as the page for the browser holds: 60 MB while they are. Of a longer run they are places that matter and an
/// even sample.
const MOST_FOLDED: usize = 1 << 21;

/// A part of the report's picture that can be drawn by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum View {
    /// Pace over time with its histogram beside it and the longest gaps below.
    Series,
    /// Pace over time alone.
    Density,
    /// How often each pace was.
    Histogram,
    /// The longest gaps by time and duration.
    Gaps,
    /// Spectra of the time lost per quantum.
    Spectrum,
    /// Quanta by where in a period of so many seconds they begin; without one, the period of what was found.
    Fold(Option<f64>),
}

/// What a picture is drawn on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// White paper.
    #[default]
    Light,
    /// A dark screen.
    Dark,
}

/// How whoever reads a text becomes root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rights {
    /// By `sudo`.
    #[default]
    Sudo,
    /// They are root.
    Root,
    /// In another way: there is no `sudo`.
    NoSudo,
}

impl Rights {
    /// A command that is to be run as root, and whether it must be said so: commands are kept with `sudo`.
    pub fn command(self, command: &str) -> (String, bool) {
        if self == Rights::Sudo {
            return (command.to_owned(), false);
        }
        let (mut kept, mut dropped) = (Vec::new(), false);
        for word in words(command) {
            match word {
                "sudo" => dropped = true,
                word => kept.push(word),
            }
        }
        (kept.join(" "), dropped && self == Rights::NoSudo)
    }
}

/// What a format may be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Text: emphasise with colour. Colour never carries meaning alone.
    pub colour: bool,
    /// Text: nothing but ASCII.
    pub ascii: bool,
    /// Text: everything that was measured, and not one screen.
    pub all: bool,
    /// Text: columns to use, at least [`Options::MIN_WIDTH`].
    pub width: usize,
    /// Text of `doctor` and `cure`: how commands are written.
    pub rights: Rights,
    /// Text: rows of the strip that shows pace over time.
    pub strip_rows: usize,
    /// Picture: width in points. Its height follows from the number of series.
    pub picture_width: f64,
    /// Picture: what to draw; nothing is all of the report.
    pub views: Vec<View>,
    /// Picture: height of a panel in points, where it is not to follow from the number of series.
    pub panel_height: Option<f64>,
    /// Picture: light or dark.
    pub theme: Theme,
    /// Picture: the stretch of the recording that was analysed, in seconds since its start, where that is not all of it.
    pub window_s: Option<(f64, f64)>,
    /// PNG: pixels per point; 2 is sharp on today's screens.
    pub scale: f32,
    /// Prometheus: what conditions on the report came to, where there are any.
    pub check: Option<Check>,
}

impl Options {
    /// Narrower than this, tables are cut off rather than squeezed.
    pub const MIN_WIDTH: usize = 60;
    /// Wider than this, lines no longer read well.
    pub const MAX_WIDTH: usize = 160;

    /// How many quanta themselves what is drawn takes: [`crate::Format::quanta`] of pictures.
    pub fn quanta(&self) -> Option<usize> {
        let folds = |view: &View| matches!(view, View::Fold(_));
        self.views.iter().any(folds).then_some(MOST_FOLDED)
    }

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
            all: false,
            width: 80,
            rights: Rights::Sudo,
            strip_rows: 7,
            picture_width: 1200.0,
            views: Vec::new(),
            panel_height: None,
            theme: Theme::Light,
            window_s: None,
            scale: 2.0,
            check: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_written_for_who_runs_them() {
        let command = "for i in 24; do echo 'sudo  me' | sudo tee /proc/irq/$i; done";
        let bare = "for i in 24; do echo 'sudo  me' | tee /proc/irq/$i; done";
        let of = |rights: Rights| rights.command(command);
        assert_eq!(of(Rights::Sudo), (command.to_owned(), false));
        assert_eq!(of(Rights::Root), (bare.to_owned(), false));
        assert_eq!(of(Rights::NoSudo), (bare.to_owned(), true));
        let plain = Rights::NoSudo.command("bandscope report x");
        assert_eq!(plain, ("bandscope report x".to_owned(), false));
    }
}
