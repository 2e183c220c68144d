//! The terminal as a screen: taken over, and given back whatever happens.

use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::{Hide, Show};
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, BufWriter, Stdout, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is ours. A terminal is the process's, so this is, too: a panic of any thread gives it back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// One screen full is written at once.
const BUFFER: usize = 1 << 16;

/// The terminal while it is ours.
pub struct Screen(pub Terminal<CrosstermBackend<BufWriter<Stdout>>>);

impl Screen {
    /// Takes the terminal over: keys one by one and unseen, a screen of its own, no cursor.
    ///
    /// # Errors
    /// If there is none, or it refuses.
    pub fn take() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let taken = execute!(stdout(), EnterAlternateScreen, Hide).and_then(|()| {
            let out = BufWriter::with_capacity(BUFFER, stdout());
            Terminal::new(CrosstermBackend::new(out))
        });
        taken.map(Screen).inspect_err(|_| give_back())
    }

    /// Whether it is still ours.
    pub fn is_taken(&self) -> bool {
        TAKEN.load(Ordering::SeqCst)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, once.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing any more.
        let _ = execute!(stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
