//! SIGINT, SIGTERM and the end of the terminal (SIGHUP) end a run in good order: what was measured is written and marked.

use crate::{output, progress, scratch};
use anyhow::{Context, Result, anyhow};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use std::os::unix::process::parent_id;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Signals that come within this time of the first are the same request: a terminal signals a whole group, and a program that
/// started this one passes the signal on to it.
const ONE_REQUEST: Duration = Duration::from_secs(1);
/// How long the end of the program waits for whoever reads why it ends.
pub const LAST_WORDS: Duration = Duration::from_millis(500);
/// The variable in which `inject --then` gives the command its own process number.
pub const DISTURBER: &str = "BANDSCOPE_DISTURBER";

/// The last signal that came; 0 before one did.
static CAME: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The signal that came, whoever waits for it.
pub fn came() -> Option<i32> {
    let signal = CAME.load(Ordering::Relaxed);
    (signal != 0).then_some(signal as i32)
}

/// Notices the signals for as long as the program runs.
#[derive(Debug)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    at_once: Arc<AtomicBool>,
    /// Whether what was measured is whole, so that the first signal ends the program as well.
    whole: Arc<AtomicBool>,
    /// Whether it looks at the machine, so that any signal ends the program.
    preparing: Arc<AtomicBool>,
    /// The `inject` that started this program.
    disturber: Option<u32>,
}

impl Interrupt {
    /// Takes the signals over. One that comes later than [`ONE_REQUEST`] after the first ends the program at once.
    ///
    /// A program that was told to outlive its terminal (`nohup`) does.
    ///
    /// # Errors
    /// If the operating system refuses the handler, or the thread that waits for a second signal.
    pub fn new() -> Result<Interrupt> {
        let interrupt = Interrupt::on_screen()?;
        interrupt.release();
        Ok(interrupt)
    }

    /// The same while the terminal is a screen, which must be given back first: a later signal ends the program only after
    /// [`Interrupt::release`].
    ///
    /// # Errors
    /// As [`Interrupt::new`].
    pub fn on_screen() -> Result<Interrupt> {
        Interrupt::of(&[SIGINT, SIGTERM, SIGHUP])
    }

    /// The same while the machine is changed, which must be put back first: SIGQUIT is a signal like the others, and nobody can stop the program
    /// by the key that suspends it (SIGTSTP).
    ///
    /// # Errors
    /// As [`Interrupt::new`].
    pub fn while_changing() -> Result<Interrupt> {
        signal_hook::flag::register(SIGTSTP, Arc::default()).context(REFUSED)?;
        Interrupt::of(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    }

    fn of(numbers: &[i32]) -> Result<Interrupt> {
        let parent = parent_id();
        let disturber = std::env::var(DISTURBER).ok();
        let interrupt = Interrupt {
            stop: Arc::default(),
            at_once: Arc::default(),
            whole: Arc::default(),
            preparing: Arc::default(),
            disturber: disturber
                .filter(|process| *process == parent.to_string())
                .map(|_| parent),
        };
        let is_ignored = |number: &&i32| **number == SIGHUP && ignores(SIGHUP);
        let numbers: Vec<i32> = numbers
            .iter()
            .filter(|number| !is_ignored(number))
            .copied()
            .collect();
        for &number in &numbers {
            signal_hook::flag::register_usize(number, Arc::clone(&CAME), number as usize)
                .and_then(|_| signal_hook::flag::register(number, Arc::clone(&interrupt.stop)))
                .context(REFUSED)?;
        }
        let signals = Signals::new(&numbers).context(REFUSED)?;
        let ends = [&interrupt.at_once, &interrupt.whole, &interrupt.preparing];
        let ends = ends.map(Arc::clone);
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || end_at_once(signals, &ends))
            .map_err(|error| anyhow!(bandscope_probe::no_thread(&error)))?;
        Ok(interrupt)
    }

    /// From now on a later signal ends the program at once.
    pub fn release(&self) {
        self.at_once.store(true, Ordering::SeqCst);
    }

    /// From now on nothing can be lost: the first signal ends the program at once, too.
    pub fn nothing_to_lose(&self) {
        self.whole.store(true, Ordering::SeqCst);
    }

    /// Until what it gives is dropped a signal ends the program, and so does one that came before: nothing was measured yet. Not to be called
    /// while the machine is changed.
    pub fn while_preparing(&self) -> Preparing<'_> {
        self.preparing.store(true, Ordering::SeqCst);
        if let Some(signal) = self.signal() {
            end_preparing(signal, self.preparing.swap(false, Ordering::SeqCst));
        }
        Preparing(self)
    }

    /// Becomes true with the first signal.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// The signal that came.
    pub fn signal(&self) -> Option<i32> {
        came()
    }

    /// Whether a signal came because the `inject` that started this program has ended.
    pub fn disturber_ended(&self) -> bool {
        self.signal().is_some() && self.disturber.is_some_and(|process| process != parent_id())
    }

    /// The exit status that shells use for the signal that came: 130, 143, or 129 where a terminal was closed.
    pub fn exit_code(&self) -> Option<ExitCode> {
        self.signal()
            .map(|signal| ExitCode::from(shell_status(signal as usize)))
    }
}

/// The time in which nothing was measured yet.
#[derive(Debug)]
pub struct Preparing<'a>(&'a Interrupt);

impl Drop for Preparing<'_> {
    fn drop(&mut self) {
        let is_over = self.0.preparing.swap(false, Ordering::SeqCst);
        if let Some(signal) = self.0.signal() {
            end_preparing(signal, is_over);
        }
    }
}

/// Ends the program, unless the thread that waits for signals is at it already: then nothing more is begun.
fn end_preparing(signal: i32, is_mine: bool) -> ! {
    if is_mine {
        end_unmeasured(signal);
    }
    loop {
        std::thread::park();
    }
}

/// Ends the program before it measured anything. A terminal that was halted or a pipe that nobody reads does not keep it.
pub fn end_unmeasured(signal: i32) -> ! {
    // First of all: what follows may take its time.
    scratch::remove_all();
    let (said, is_said) = channel();
    let note = std::thread::Builder::new().spawn(move || {
        progress::clear();
        output::note(format_args!(
            "bandscope: interrupted before anything was measured"
        ));
        let _ = said.send(());
    });
    if note.is_ok() {
        let _ = is_said.recv_timeout(LAST_WORDS);
    }
    end(signal)
}

fn end(signal: i32) -> ! {
    scratch::remove_all();
    signal_hook::low_level::exit(shell_status(signal as usize).into())
}

/// What was tried where the system refuses a handler.
const REFUSED: &str = "cannot catch signals; if too many files are open: ulimit -n 1024";

/// Ends the program with a signal that is no longer the first request, once that is allowed, and with any before something is measured or after
/// it is kept. Sleeps until a signal comes.
fn end_at_once(mut signals: Signals, [at_once, whole, preparing]: &[Arc<AtomicBool>; 3]) {
    let mut first: Option<Instant> = None;
    for number in signals.forever() {
        if first.is_none() && whole.load(Ordering::SeqCst) {
            end(number);
        }
        let first = *first.get_or_insert_with(Instant::now);
        if preparing.swap(false, Ordering::SeqCst) {
            end_unmeasured(number);
        }
        if first.elapsed() >= ONE_REQUEST && at_once.load(Ordering::SeqCst) {
            end(number);
        }
    }
}

/// What shells make of a signal that ended a program.
pub fn shell_status(signal: usize) -> u8 {
    128 + signal as u8
}

/// Whether this process was started to ignore a signal, as far as the kernel says.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
