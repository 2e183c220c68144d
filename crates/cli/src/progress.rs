//! Progress on a terminal for what takes over a second; nothing when standard error is piped.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A line that says what goes on.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Something of unknown length. `indicatif` draws on standard error, and only on a terminal.
    pub fn spinner(message: &'static str) -> Progress {
        let bar = ProgressBar::new_spinner().with_message(message);
        bar.enable_steady_tick(Duration::from_millis(120));
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

    fn bar(what: &str, seconds: f64) -> Progress {
        let bar = ProgressBar::new((seconds * 1e3) as u64);
        if let Ok(style) =
            ProgressStyle::with_template(&format!("{what} {{bar:40}} {{percent}}% of {{msg}}"))
        {
            bar.set_style(style);
        }
        bar.set_message(format!("{seconds} s"));
        Progress(bar)
    }

    /// So much was measured.
    pub fn set(&self, seconds: f64) {
        self.0.set_position((seconds * 1e3) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
