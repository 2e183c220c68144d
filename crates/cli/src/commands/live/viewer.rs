//! The thread that draws: takes what is known, and the keys; on a terminal a screen, elsewhere lines.

use crate::output;
use crate::screen::Screen;
use anyhow::{Context, Result};
use bandscope_analysis::live::{Monitor, Second, Snapshot};
use bandscope_probe::pin;
use bandscope_view::live::{Facts, Look, Picture, State, Wish, draw, lines};
use ratatui_crossterm::crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two pictures: what is read changes once a second, what moves may do so five times.
const FRAME: Duration = Duration::from_millis(200);
/// After a key or a change of size, sooner; and never more often than this, whatever comes.
const SOON: Duration = Duration::from_millis(40);
/// How often lines are looked for.
const NAP: Duration = Duration::from_millis(50);

/// What the thread that measures leaves, and the one that draws takes.
#[derive(Debug)]
pub struct Shared<'a> {
    known: Mutex<Known>,
    /// The run is over.
    over: AtomicBool,
    /// Set to end the run.
    stop: &'a AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    snapshot: Arc<Snapshot>,
    seconds: Vec<Second>,
}

impl<'a> Shared<'a> {
    /// Nothing known yet; `stop` ends the run.
    pub fn new(stop: &'a AtomicBool) -> Shared<'a> {
        Shared {
            known: Mutex::default(),
            over: AtomicBool::new(false),
            stop,
        }
    }

    /// Makes what is known now ready to be drawn; a condition was met so often.
    pub fn publish(&self, monitor: &mut Monitor, caught: u64) {
        let snapshot = Arc::new(Snapshot {
            caught,
            ..monitor.snapshot()
        });
        let seconds = monitor.take_seconds();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.snapshot = snapshot;
        known.seconds.extend(seconds);
        // A reader that stands still is not waited for, and what it missed is not kept for ever.
        let over = known.seconds.len().saturating_sub(MOST_SECONDS);
        known.seconds.drain(..over);
    }

    /// Nothing more comes.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    fn take(&self) -> (Arc<Snapshot>, Vec<Second>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        (
            Arc::clone(&known.snapshot),
            std::mem::take(&mut known.seconds),
        )
    }
}

/// Seconds that wait for a reader that stands still.
const MOST_SECONDS: usize = 10_000;

/// Draws until the run is over.
#[derive(Debug)]
pub struct Viewer<'a> {
    /// Where what is known is.
    pub shared: &'a Shared<'a>,
    /// For the head of the picture.
    pub facts: Facts,
    /// What to draw with.
    pub look: Look,
    /// CPUs to draw on; empty for any.
    pub cpus: Vec<u32>,
}

impl Viewer<'_> {
    /// Draws until the run is over; if it cannot, or somebody presses a key for it, the run is ended.
    ///
    /// # Errors
    /// If the terminal, or whatever is in its place, cannot be written to. A reader that went away has seen what it wanted.
    pub fn view(self) -> Result<()> {
        let _ender = Ender(self.shared.stop);
        if !self.cpus.is_empty() {
            // If it cannot be had, drawing disturbs what is measured, and the gaps will show it.
            let _ = pin::pin(&self.cpus);
        }
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let viewed = match io::stdout().is_terminal() && !dumb {
            true => self.screen(),
            false => self.lines(),
        };
        match viewed {
            Err(error) if is_closed_pipe(&error) => Ok(()),
            viewed => viewed,
        }
    }

    /// A line a second and CPU.
    fn lines(&self) -> Result<()> {
        loop {
            let over = self.shared.over.load(Ordering::SeqCst);
            let mut out = io::stdout().lock();
            for second in self.shared.take().1 {
                if !output::takes(&out) {
                    return Ok(());
                }
                writeln!(out, "{}", lines::second(&second, self.look))?;
            }
            out.flush()?;
            drop(out);
            if over {
                return Ok(());
            }
            thread::sleep(NAP);
        }
    }

    /// The screen and its keys.
    fn screen(&self) -> Result<()> {
        let mut screen = Screen::take().context(
            "cannot use this terminal for a picture (pipe the output to get a line a second)",
        )?;
        // The device itself: standard input may be something else.
        let terminal = File::open("/dev/tty").ok();
        let mut state = State::default();
        let mut shown = Arc::new(Snapshot::default());
        let mut news = Instant::now();
        let mut next = Instant::now();
        while screen.is_taken() && !self.is_over() {
            let now = Instant::now();
            if is_gone(terminal.as_ref(), next.saturating_duration_since(now)) {
                return self.outlive();
            }
            while event::poll(Duration::ZERO)? {
                match self.told(&event::read()?, &mut state, shown.cpus.len()) {
                    Told::End => return Ok(()),
                    Told::News => next = next.min(now + SOON),
                    Told::Nothing => {}
                }
            }
            if Instant::now() < next {
                continue;
            }
            let latest = self.shared.take().0;
            if measured(&latest) > measured(&shown) || state.paused {
                news = Instant::now();
            }
            if !state.paused || shown.cpus.is_empty() {
                shown = latest;
            }
            let picture = Picture {
                snapshot: &shown,
                facts: &self.facts,
                state: &state,
                look: self.look,
                silent_s: news.elapsed().as_secs_f64(),
            };
            screen.0.draw(|frame| draw(&picture, frame.buffer_mut()))?;
            next = Instant::now() + FRAME;
        }
        Ok(())
    }

    /// Lets the run go on without its terminal, for one that was to outlive it; any other a signal ends now.
    fn outlive(&self) -> Result<()> {
        while !self.is_over() {
            thread::sleep(NAP);
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::SeqCst) || self.shared.stop.load(Ordering::SeqCst)
    }

    /// What an event asks for.
    fn told(&self, event: &Event, state: &mut State, cpus: usize) -> Told {
        let key = match event {
            Event::Resize(..) => return Told::News,
            Event::Key(key) if key.kind != KeyEventKind::Release => key,
            _ => return Told::Nothing,
        };
        if is_end(key) {
            return Told::End;
        }
        let wish = match key.code {
            KeyCode::Char('p' | ' ') => Wish::Pause,
            KeyCode::Char('+' | '=') => Wish::Wider,
            KeyCode::Char('-' | '_') => Wish::Narrower,
            KeyCode::Tab | KeyCode::Down | KeyCode::Char('j') => Wish::Next,
            KeyCode::BackTab | KeyCode::Up | KeyCode::Char('k') => Wish::Previous,
            KeyCode::Char('?' | 'h') => Wish::Help,
            _ => return Told::Nothing,
        };
        state.wish(wish, cpus);
        Told::News
    }
}

/// Waits for keys, no longer than `time`; whether the terminal has gone away meanwhile. Crossterm must not be asked then: it reads the end of the
/// input over and over.
fn is_gone(terminal: Option<&File>, time: Duration) -> bool {
    let Some(terminal) = terminal else {
        thread::sleep(time.min(NAP));
        return false;
    };
    let time = Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: time.subsec_nanos().into(),
    };
    let mut fds = [PollFd::new(terminal, PollFlags::IN)];
    // An interrupted wait is over.
    let _ = poll(&mut fds, Some(&time));
    fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// Ends the run when nobody looks on any more, be it that drawing panicked.
struct Ender<'a>(&'a AtomicBool);

impl Drop for Ender<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What came of an event.
enum Told {
    End,
    News,
    Nothing,
}

/// Whether a key ends the run. Where keys come one by one the terminal sends no signal for Ctrl-C.
fn is_end(key: &KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => true,
        KeyCode::Char('c' | 'd') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

/// How much was measured of all CPUs together.
fn measured(snapshot: &Snapshot) -> f64 {
    snapshot.cpus.iter().map(|cpu| cpu.measured_s).sum()
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
