//! CPUs while they are being measured, on a terminal: a [`Snapshot`] of the analysis in, the cells of a screen out.
//!
//! What is shown is decided by the size alone: from 20 columns and 5 rows up everything that fits is there, the CPUs first, then the
//! paces of the chosen one, its account, its bands and its largest gaps. Words and causes are the report's ([`crate::text`]).
//! Nothing here knows a terminal or the time; [`State`] is what keys change, [`draw`] makes the picture, [`lines`] says the same where
//! there is no terminal.

mod account;
mod canvas;
mod density;
mod heads;
pub mod lines;
mod paces;
mod screen;
mod strip;
#[cfg(test)]
mod tests;

use bandscope_analysis::live::Snapshot;
use bandscope_recording::Manifest;
pub use screen::draw;

use crate::numbers;

/// What the picture is drawn with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Emphasise with colour, which never carries meaning alone.
    pub colour: bool,
    /// Nothing but ASCII.
    pub ascii: bool,
}

/// What does not change while it is measured: for the head of the picture.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Name and speed of the clock.
    pub clock: String,
    /// Work kernels and rates.
    pub measured: String,
    /// Length of the run in seconds, where it has an end.
    pub length_s: Option<f64>,
    /// Where it is recorded.
    pub recording: Option<String>,
    /// Whether a flight recorder looks on.
    pub catches: bool,
    /// Whether gaps are named by kernel events.
    pub events: bool,
}

impl Facts {
    /// Of a run with this manifest.
    pub fn new(manifest: &Manifest, length_s: Option<f64>, recording: Option<String>) -> Facts {
        let settings = &manifest.settings;
        let rates = settings.rates_hz.iter().map(|&rate| numbers::rate(rate));
        let rates: Vec<String> = rates.collect();
        Facts {
            clock: format!(
                "{} {} ticks/ns",
                manifest.clock.name,
                numbers::significant(manifest.clock.ticks_per_ns, 5)
            ),
            measured: format!("{} at {}", settings.kernels.join(", "), rates.join(", ")),
            length_s,
            recording,
            catches: manifest.keeps_moments(),
            events: manifest.events.state == bandscope_recording::manifest::EventsState::On,
        }
    }
}

/// What the keys have made of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Index of the CPU that is shown whole.
    pub chosen: usize,
    /// Index of the width of a column.
    pub width: usize,
    /// The picture stands still; measuring goes on.
    pub paused: bool,
    /// Help in place of the picture.
    pub help: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            chosen: 0,
            // Half a second: a line of 60 columns is half a minute.
            width: 1,
            paused: false,
            help: false,
        }
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Stop the picture, or let it go on.
    Pause,
    /// More time in a column.
    Wider,
    /// Less.
    Narrower,
    /// The next CPU.
    Next,
    /// The one before.
    Previous,
    /// Show help, or no more.
    Help,
}

impl State {
    /// Does what a key asks for, of so many CPUs.
    pub fn wish(&mut self, wish: Wish, cpus: usize) {
        let widths = bandscope_analysis::live::History::default().levels.len();
        match wish {
            Wish::Pause => self.paused = !self.paused,
            Wish::Wider => self.width = (self.width + 1).min(widths - 1),
            Wish::Narrower => self.width = self.width.saturating_sub(1),
            Wish::Next => self.chosen = (self.chosen + 1) % cpus.max(1),
            Wish::Previous => self.chosen = (self.chosen + cpus.max(1) - 1) % cpus.max(1),
            Wish::Help => self.help = !self.help,
        }
    }
}

/// All that a picture is made of.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// What is known.
    pub snapshot: &'a Snapshot,
    /// What does not change.
    pub facts: &'a Facts,
    /// What keys changed.
    pub state: &'a State,
    /// What to draw with.
    pub look: Look,
    /// Seconds since anything new was measured, for a CPU that was taken away for long.
    pub silent_s: f64,
}
