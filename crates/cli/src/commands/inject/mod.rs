//! `bandscope inject`: a real disturbance of known period and length, with its own log as truth.
//!
//! The way: the arguments resolve to a request and perhaps a command; `experiments::inject` disturbs; its rows go into a log of
//! `recording::disturbances` while the command runs; the exit status is the command's (docs/inject.md).

mod then;

use super::record;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use crate::values::{self, Jitter};
use anyhow::{Context, Result, bail};
use bandscope_experiments::inject::{Disturber, Kind, Request, choose_cpu, pass_on};
use bandscope_recording::disturbances::{End, Header, Writer};
use bandscope_recording::manifest::State;
use bandscope_recording::text::shown;
use bandscope_sampler::machine::Priority;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, ExitStatus};
use std::time::{Duration, Instant};
use then::Then;

/// Between two looks at the command and the disturber: a killed run loses no more rows than this.
const NAP: Duration = Duration::from_millis(100);
/// The same where there is no other CPU, so that each look is itself a disturbance.
const LONG_NAP: Duration = Duration::from_millis(250);
/// How long the disturber runs without --duration and without a command, in seconds: as long as a recording.
const DURATION_S: f64 = 10.0;

/// Disturb a CPU at a known period and length, and log it.
///
/// The log is JSON, one line a disturbance, on the clock that recordings use. With --then, a bandscope command
/// runs while the disturbance lasts, and gives the exit status. `record` measures the CPU that is disturbed.
/// With any other command, --cpu has to name the CPU of the disturber.
#[derive(Debug, Args)]
#[command(after_help = "\
Kinds:
  task               a task that sleeps, and then keeps the CPU busy
  signal             the same, woken by a timer signal
  faults             a task that touches fresh pages
  softirq            a task that sends itself packets over loopback
  neighbour:spin     on another CPU: computes for the length, then sleeps
  neighbour:pause    the same in a waiting loop that gives way to an SMT sibling
  neighbour:shallow  naps of 50 us for the length, then sleeps
  neighbour:deep     sleeps for the length, then computes

Examples:
  bandscope inject --cpu 1 --duration 5s
  bandscope inject --then record
  bandscope inject --kind softirq --period 20ms --length 1ms --then record
  bandscope inject --jitter 10% --then record --cpus 1 --duration 30s
  bandscope inject --kind neighbour:deep --period 2s --length 1s --then record")]
pub struct Arguments {
    /// Kind of disturbance, see below.
    #[arg(long, value_name = "KIND", default_value = "task")]
    kind: Kind,
    /// CPU of the disturber [default with --then record: the measured CPU; for a neighbour its SMT sibling or another CPU; without --then the quietest]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Time from one start to the next.
    #[arg(long, value_name = "T", default_value = "5ms", value_parser = values::positive_duration, allow_negative_numbers = true)]
    period: f64,
    /// How long each disturbance lasts.
    #[arg(long, value_name = "T", default_value = "50us", value_parser = values::positive_duration, allow_negative_numbers = true)]
    length: f64,
    /// Full width of the uniform scatter of starts, as a share of the period or a duration.
    #[arg(long, value_name = "P%|T", default_value = "0%", value_parser = values::jitter)]
    jitter: Jitter,
    /// Seed of the scatter.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How long to disturb [default: 10s, or as long as the command runs]
    #[arg(long, value_name = "T", value_parser = values::positive_duration, allow_negative_numbers = true, conflicts_with = "then")]
    duration: Option<f64>,
    /// The log, a file that does not exist yet [default: beside the recording, or bandscope-DATE-TIME.disturbances.jsonl]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// A bandscope command that runs while the disturbance lasts: everything that follows.
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true)]
    then: Vec<OsString>,
}

/// Disturbs, and says where the log is.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let then = match &arguments.then[..] {
        [] => None,
        words => Some(Then::resolve(words, arguments.kind, arguments.cpu)?),
    };
    let path = arguments.log_path(then.as_ref())?;
    let request = arguments.request(then.as_ref())?;
    let interrupt = Interrupt::new()?;
    let mut disturber = Disturber::start(&request)?;
    if let (None, Some(parent)) = (&arguments.log, path.parent()) {
        // Tasks of a job share the directories above their recordings, and whoever comes first makes them.
        std::fs::create_dir_all(parent)
            .with_context(|| format!("{}: cannot create the log", shown(&path)))?;
    }
    let log = Writer::create(&path, &header(&disturber, then.as_ref()))?;
    for missing in &disturber.header().missing {
        output::note(format_args!(
            "bandscope: without {}: {}",
            missing.what, missing.why
        ));
    }
    let mut following = Following {
        disturber: &mut disturber,
        log,
        written: Ok(()),
        interrupt: &interrupt,
    };
    let status = match &then {
        Some(then) => Some(following.command(then)?),
        None => {
            following.duration(request.duration_s.unwrap_or(DURATION_S));
            None
        }
    };
    let Following { log, written, .. } = following;
    let end = finish(disturber, log, written, &interrupt)?;
    report(&path, &end, then.is_some())?;
    Ok(status
        .map(then::exit_code)
        .or(interrupt.exit_code())
        .unwrap_or(ExitCode::SUCCESS))
}

fn header(disturber: &Disturber, then: Option<&Then>) -> Header {
    let mut header = disturber.header().clone();
    header.tool = record::tool();
    header.started = record::now();
    let words = then.map_or(&[][..], |then| &then.words);
    header.settings.then = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    header
}

/// Rows on their way into the log while something else goes on.
struct Following<'a> {
    disturber: &'a mut Disturber,
    log: Writer,
    /// The first error of writing; nothing is written after it.
    written: Result<(), bandscope_recording::Error>,
    interrupt: &'a Interrupt,
}

impl Following<'_> {
    /// Starts the command, and follows until it ends.
    fn command(&mut self, then: &Then) -> Result<ExitStatus> {
        let mut child = then.start()?;
        let _aside = self.disturber.step_aside();
        let mut passed_on = false;
        loop {
            if let Some(status) = child.try_wait().context("cannot wait for the command")? {
                return Ok(status);
            }
            if let Some(signal) = self.interrupt.signal()
                && !passed_on
            {
                passed_on = true;
                pass(&child, signal);
            }
            self.nap();
        }
    }

    /// Follows until the disturber ends by itself or a signal comes.
    fn duration(&mut self, seconds: f64) {
        let progress = Progress::disturbance(seconds);
        let _aside = self.disturber.step_aside();
        let begun = Instant::now();
        while !self.disturber.ended() && self.interrupt.signal().is_none() && self.written.is_ok() {
            self.nap();
            progress.set(begun.elapsed().as_secs_f64());
        }
    }

    fn nap(&mut self) {
        if self.disturber.alone() {
            std::thread::sleep(LONG_NAP);
            return;
        }
        std::thread::sleep(NAP);
        let rows = self.disturber.take();
        if self.written.is_ok() {
            self.written = self.log.append(&rows);
        }
    }
}

fn pass(child: &Child, signal: i32) {
    if let Err(error) = pass_on(child.id(), signal) {
        output::note(format_args!(
            "bandscope: cannot pass the signal on: {error}"
        ));
    }
}

/// Ends the disturbance and the log.
fn finish(
    disturber: Disturber,
    mut log: Writer,
    written: Result<(), bandscope_recording::Error>,
    interrupt: &Interrupt,
) -> Result<End> {
    let (rows, mut end) = disturber.finish();
    if end.state == State::Complete && interrupt.signal().is_some() {
        end.state = State::Interrupted;
    }
    written?;
    log.append(&rows)?;
    log.finish(&end)?;
    Ok(end)
}

/// Says what was done. The path is the result, unless a command has a result of its own.
fn report(path: &Path, end: &End, beside_a_command: bool) -> Result<()> {
    let mut note = format!("{} disturbances", end.disturbances);
    for (number, what) in [(end.skipped, "skipped"), (end.lost, "lost")] {
        if number > 0 {
            note += &format!(", {number} {what}");
        }
    }
    if beside_a_command {
        note += &format!("; log: {}", shown(path));
    } else {
        output::write(None, |out| output::path(out, path))?;
    }
    output::note(format_args!("bandscope: {note}"));
    match &end.why {
        None => Ok(()),
        Some(why) => bail!(
            "the disturbance ended early: {why}; its log: {}",
            shown(path)
        ),
    }
}

impl Arguments {
    fn request(&self, then: Option<&Then>) -> Result<Request> {
        let cpu = match (then, self.cpu) {
            (Some(then), _) => then.cpu,
            (None, Some(cpu)) => cpu,
            (None, None) => choose_cpu(&[])?,
        };
        Ok(Request {
            kind: self.kind,
            cpu,
            measured: then.map_or_else(Vec::new, |then| then.measured.clone()),
            priority: then.map_or(Priority::LOWEST, |then| then.priority),
            period_s: self.period,
            length_s: self.length,
            jitter_s: match self.jitter {
                Jitter::Share(share) => share * self.period,
                Jitter::Seconds(seconds) => seconds,
            },
            seed: self.seed,
            duration_s: match then {
                Some(_) => None,
                None => Some(self.duration.unwrap_or(DURATION_S)),
            },
        })
    }

    /// Where the log goes, which is free.
    fn log_path(&self, then: Option<&Then>) -> Result<PathBuf> {
        let recording = then.and_then(|then| then.recording.as_deref());
        let path = match (&self.log, recording) {
            (Some(log), _) => log.clone(),
            (None, Some(recording)) => then::beside(recording),
            (None, None) => values::name_of_the_time("disturbances.jsonl"),
        };
        // The recording's place is free, so its directory is there or will be made.
        let is_beside = self.log.is_none() && recording.is_some();
        if !is_beside || path.symlink_metadata().is_ok() {
            output::free(&path, "--log")?;
        }
        Ok(path)
    }
}
