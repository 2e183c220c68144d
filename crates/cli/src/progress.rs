//! Progress on a terminal for what takes over a second; nothing when standard error is piped.

use crate::output::terminal_options;
use bandscope_view::Options;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two pictures of [`Live`]: what they show is computed anew for each.
const REDRAW: Duration = Duration::from_millis(500);

/// A line that says what goes on.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Something of unknown length. `indicatif` draws on standard error, and only on a terminal.
    pub fn spinner(message: &'static str) -> Progress {
        let bar = ProgressBar::new_spinner().with_message(message);
        // It panics where it cannot make its thread; a line that stands still is no harm, and where nobody looks it need not move.
        let may_move = || {
            std::thread::Builder::new()
                .spawn(|| ())
                .map(JoinHandle::join)
        };
        if io::stderr().is_terminal() && may_move().is_ok() {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Progress(bar)
    }

    /// A disturbance of `seconds`, drawn as a run is.
    pub fn disturbance(seconds: f64) -> Progress {
        Progress::bar("disturbing", seconds)
    }

    /// A run of `seconds`, of which [`Progress::set`] tells how much was measured. It is drawn only when
    /// told, so that it wakes nothing up on its own while the loop measures.
    pub fn run(seconds: f64) -> Progress {
        Progress::bar("measuring", seconds)
    }

    /// Experiments, of which [`Progress::set`] tells the part that is done, 0 to 1.
    pub fn experiments() -> Progress {
        Progress::drawn("experimenting {bar:40} {percent}%", 1.0)
    }

    /// Phases of a job, of which [`Progress::set`] tells the part that is done, 0 to 1.
    pub fn phases() -> Progress {
        Progress::drawn("following phases {bar:40} {percent}%", 1.0)
    }

    fn bar(what: &str, seconds: f64) -> Progress {
        let progress = Progress::drawn(
            &format!("{what} {{bar:40}} {{percent}}% of {{msg}}"),
            seconds,
        );
        progress.0.set_message(format!("{seconds} s"));
        progress
    }

    fn drawn(template: &str, whole: f64) -> Progress {
        let bar = ProgressBar::new((whole * 1e3) as u64);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// So much was measured, in the unit of the whole.
    pub fn set(&self, done: f64) {
        self.0.set_position((done * 1e3) as u64);
    }
}

/// Clears the line on which a spinner may stand, for whoever ends the program meanwhile.
pub fn clear() {
    let mut terminal = io::stderr();
    if terminal.is_terminal() {
        let _ = terminal.write_all(b"\r\x1b[K");
    }
}

/// Several lines that are drawn again and again while something is measured.
#[derive(Debug)]
pub struct Live {
    progress: Progress,
    ascii: bool,
    drawn: Cell<Option<Instant>>,
}

impl Live {
    /// Nothing is drawn yet.
    pub fn new(ascii: bool) -> Live {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Live {
            progress: Progress(bar),
            ascii,
            drawn: Cell::default(),
        }
    }

    /// Draws what `lines` makes in place of what was drawn before; seldom enough, and only if somebody sees it.
    pub fn look(&self, lines: impl FnOnce(&Options) -> String) {
        let bar = &self.progress.0;
        let soon = (self.drawn.get()).is_some_and(|drawn| drawn.elapsed() < REDRAW);
        if bar.is_hidden() || soon {
            return;
        }
        self.drawn.set(Some(Instant::now()));
        let mut options = terminal_options(true);
        options.ascii = self.ascii;
        bar.set_message(lines(&options));
        bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
