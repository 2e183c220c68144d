//! `--on-catch`: a command that is run when something was caught, beside the recording and not much longer than it.

use crate::interrupt::Interrupt;
use crate::output;
use anyhow::{Result, anyhow};
use bandscope_experiments::repeat;
use bandscope_recording::runs::End;
use bandscope_report::Moment;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A command that waits for moments runs no more often.
const BETWEEN_COMMANDS: Duration = Duration::from_secs(60);
/// A command that still runs so long after the recording is ended.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Who waits is told why from then on.
const SILENT_WAIT: Duration = Duration::from_secs(1);
/// Between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The command, and what came of it.
pub struct OnCatch {
    command: String,
    stop: Arc<AtomicBool>,
    running: Option<JoinHandle<Result<End>>>,
    last: Option<Instant>,
    runs: u32,
    failed: u32,
    first_failure: String,
    /// It is ended because it took too long, not because somebody ends the run.
    is_too_slow: bool,
}

impl OnCatch {
    pub fn new(command: &str) -> OnCatch {
        OnCatch {
            command: command.to_owned(),
            stop: Arc::default(),
            running: None,
            last: None,
            runs: 0,
            failed: 0,
            first_failure: String::new(),
            is_too_slow: false,
        }
    }

    /// Runs it, if it does not run already and has not in the last minute. That it fails ends nothing.
    pub fn run(&mut self, moment: &Moment) {
        let recently = self
            .last
            .is_some_and(|last| last.elapsed() < BETWEEN_COMMANDS);
        if recently || self.is_running() {
            return;
        }
        self.collect();
        self.last = Some(Instant::now());
        self.runs += 1;
        match self.start(moment) {
            Ok(running) => self.running = Some(running),
            Err(error) => self.fail(output::spelled(&error)),
        }
    }

    /// Starts it on a thread that waits for it.
    fn start(&self, moment: &Moment) -> Result<JoinHandle<Result<End>>> {
        // A file in memory, not a pipe: a moment may be larger than a pipe, and nobody may be reading.
        let mut input = File::from(memfd_create("moment", MemfdFlags::CLOEXEC)?);
        input.write_all(&serde_json::to_vec(moment)?)?;
        input.write_all(b"\n")?;
        input.rewind()?;
        let (command, stop) = (self.command.clone(), Arc::clone(&self.stop));
        std::thread::Builder::new()
            .name("on-catch".into())
            .spawn(move || Ok(repeat::shell(&command, input, &stop)?))
            .map_err(|error| anyhow!(bandscope_probe::no_thread(&error)))
    }

    fn is_running(&self) -> bool {
        self.running.as_ref().is_some_and(|run| !run.is_finished())
    }

    /// Takes what came of the last run.
    fn collect(&mut self) {
        match self.running.take().map(JoinHandle::join) {
            None => {}
            Some(Ok(Ok(end))) if end.succeeded() => {}
            Some(Ok(Ok(end))) if end.interrupted && !self.is_too_slow => {}
            Some(Ok(Ok(end))) => self.fail(how(&end)),
            Some(Ok(Err(error))) => {
                self.fail(format!("cannot run sh: {}", output::spelled(&error)))
            }
            Some(Err(_)) => self.fail("its thread failed".to_owned()),
        }
    }

    fn fail(&mut self, why: String) {
        if self.failed == 0 {
            self.first_failure = why;
        }
        self.failed += 1;
    }

    /// Ends it at once.
    pub fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.collect();
    }

    /// Waits for it when the recording is whole, for so long, and no longer than until a signal comes; what failed, in a sentence.
    pub fn finish(mut self, interrupt: &Interrupt) -> Option<String> {
        let begun = Instant::now();
        let mut is_told = false;
        while self.is_running() {
            if interrupt.signal().is_some() {
                self.stop.store(true, Ordering::Relaxed);
            } else if begun.elapsed() >= MAX_WAIT {
                self.is_too_slow = true;
                self.stop.store(true, Ordering::Relaxed);
            } else if begun.elapsed() >= SILENT_WAIT && !is_told {
                is_told = true;
                let most = MAX_WAIT.as_secs();
                output::note(format_args!(
                    "bandscope: the recording is whole; waits up to {most} s for the command of --on-catch"
                ));
            }
            std::thread::sleep(LOOK);
        }
        self.collect();
        let (failed, runs, first) = (self.failed, self.runs, &self.first_failure);
        match (failed, runs) {
            (0, _) => None,
            (1, 1) => Some(format!("the command of --on-catch failed: {first}")),
            _ => Some(format!(
                "the command of --on-catch failed {failed} times of {runs}, first: {first}"
            )),
        }
    }
}

/// How a command ended that failed. What it said stands on standard error already.
fn how(end: &End) -> String {
    match (end.interrupted, end.status, end.signal) {
        (true, ..) => "ended, as it still ran when the recording had ended".to_owned(),
        (_, Some(status), _) => format!("exit status {status}"),
        (.., Some(signal)) => format!("ended by signal {signal}"),
        _ => "ended".to_owned(),
    }
}
