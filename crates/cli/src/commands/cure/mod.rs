//! `bandscope cure`: tries changes of the machine, measures each with and without, and puts everything back.
//!
//! The way: `experiments::cure` says what each cure would write and makes the change; [`session`] measures in pairs; `studies::cure` fixes the number of pairs
//! beforehand and judges; `view` prints. A file keeps every trial.

mod force;
mod keep;
mod only;
mod session;
mod undo;

use crate::commands::layout::Layout;
use crate::interrupt::Interrupt;
use crate::output::{self, Keep};
use crate::values::{self, Cpus};
use anyhow::{Context, Result, bail};
use bandscope_experiments::cure::{self, CURES, Cure};
use bandscope_recording::cures::Cures;
use bandscope_recording::text::shown;
use bandscope_report::format::duration;
use bandscope_studies::cure as study;
use bandscope_view::{Options, cure as view_cure, json, text};
use clap::{Args, ValueEnum};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use session::{NONE_POSSIBLE, Session};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
pub(super) use undo::{is_undo, say_if_left};

/// Try changes of this machine, and say what each saves.
///
/// Measures, shows what would be changed, and asks. Then each cure is measured with and without, in random order, in pairs of trials.
/// Cures whose lines of the ledger cost most come first. What helps is tried together in the end. Everything is put back, whatever happens.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct Arguments {
    /// Cures to try [default: all that this machine allows]
    #[arg(value_name = "NAME", value_parser = known)]
    names: Vec<&'static Cure>,
    /// Move the tasks of this name alone, or the interrupts, as the report names them: `python3` for task:python3.
    /// That is the name of their process; a thread's own name is taken as well.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// CPUs to make quiet, such as 1 or 2-5 [default: the quietest one]
    #[arg(long, value_name = "LIST", value_parser = values::cpus)]
    cpus: Option<Cpus>,
    /// How long all trials may take.
    #[arg(long, value_name = "T", default_value = "5min", value_parser = values::positive_duration, allow_negative_numbers = true)]
    budget: f64,
    /// Length of a trial; a pair is two.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = values::positive_duration, allow_negative_numbers = true)]
    trial: f64,
    /// Leave what helps in force.
    #[arg(long)]
    keep: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Print what would be written where, and change nothing.
    #[arg(long, conflicts_with_all = ["keep", "yes"])]
    dry_run: bool,
    /// Put back what a cure that was killed left changed, and what --keep left in force.
    #[arg(long, exclusive = true)]
    undo: bool,
    /// Seed of the random orders [default: drawn]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Where to keep the trials, a file that does not exist yet; it has each pair as soon as it ends [default: bandscope-DATE-TIME.cures.json]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    layout: Layout,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Html,
    Markdown,
}

const AFTER: &str = "\
Examples:
  bandscope cure --dry-run
  sudo bandscope cure --cpus 1
  sudo bandscope cure tasks interrupts --cpus 1 --budget 2min --yes
  sudo bandscope cure tasks --only python3 --cpus 1
  sudo bandscope cure --cpus 1 --keep
  sudo bandscope cure --undo
  bandscope report evening.cures.json

Exit status: 0 done; 2 bad usage, the machine refused, the budget was too short to judge any cure, or not everything could be put back;
129, 130, 131 or 143 a signal ended the trials: everything is put back, and what was measured until then is judged.";

/// The cures, then examples.
fn after_help() -> String {
    let line = |cure: &Cure| {
        let on_demand = if cure.on_demand {
            "; only if named"
        } else {
            ""
        };
        format!("  {:12}  {}{on_demand}\n", cure.name, cure.what)
    };
    let cures: String = CURES.iter().map(line).collect();
    format!("Cures:\n{cures}\n{AFTER}")
}

fn known(name: &str) -> Result<&'static Cure> {
    cure::named(name).with_context(|| {
        let names: Vec<&str> = CURES.iter().map(|cure| cure.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Looks, asks, tries, judges, prints.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.undo {
        return undo::run();
    }
    if let Some(name) = &arguments.only {
        only::check(name, &arguments.names)?;
    }
    let path = arguments.path();
    // A later signal ends nothing before everything is put back.
    let interrupt = match arguments.dry_run {
        true => Interrupt::new()?,
        false => Interrupt::while_changing()?,
    };
    let keep = match arguments.dry_run {
        true => output::free(&path, "--output").map(|()| None)?,
        false => Some(Keep::claim(&path, "--output")?),
    };
    let mut session = Session::begin(arguments, keep, &interrupt)?;
    if interrupt.signal().is_some() {
        return Ok(interrupt.exit_code().unwrap_or(ExitCode::FAILURE));
    }
    if arguments.dry_run {
        return arguments.show(&session.cures).map(|()| ExitCode::SUCCESS);
    }
    if !session.can_try() {
        interrupt.release();
        arguments.print(&session.cures)?;
        bail!(NONE_POSSIBLE);
    }
    if !arguments.yes && !agreed(&session, arguments, &interrupt)? {
        output::note(format_args!("bandscope: nothing was changed"));
        return Ok(interrupt.exit_code().unwrap_or(ExitCode::SUCCESS));
    }
    let tried = session.run();
    let nothing = (session.why_nothing()).filter(|_| interrupt.signal().is_none());
    let (cures, [kept, put_back]) = session.finish(&tried);
    // What was measured is kept and shown before anything is said of what went wrong.
    let ended = [arguments.print(&cures), put_back, kept, tried];
    let mut wrong = ended.into_iter().filter_map(Result::err);
    if let Some(first) = wrong.next() {
        for other in wrong {
            output::fail(&other);
        }
        return Err(first);
    }
    output::note(format_args!("trials: {}", shown(&path)));
    if let Some(why) = nothing {
        bail!(why);
    }
    Ok(interrupt.exit_code().unwrap_or(ExitCode::SUCCESS))
}

/// Shows the plan on the terminal and asks.
fn agreed(session: &Session<'_>, arguments: &Arguments, interrupt: &Interrupt) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!(
            "nobody is there to ask whether the machine may be changed; expected --yes, or --dry-run"
        );
    }
    let options = arguments.layout.options(true);
    let plan = text::plan(&session.cures, &options);
    let time = duration(arguments.budget * 1e9);
    let ends = match arguments.keep {
        true => "leaves what helps in force",
        false => "puts everything back",
    };
    let mut terminal = io::stderr();
    write!(
        terminal,
        "{plan}This takes about {time}, and {ends}. Go on? [y/N] "
    )?;
    terminal.flush()?;
    // A read would go on after a signal.
    let short = Timespec::try_from(Duration::from_millis(200))?;
    while interrupt.signal().is_none() {
        let stdin = io::stdin();
        if poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&short)).unwrap_or(0) > 0 {
            break;
        }
    }
    if interrupt.signal().is_some() {
        return Ok(false);
    }
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

impl Arguments {
    fn path(&self) -> PathBuf {
        let name = || values::name_of_the_time("cures.json");
        self.output.clone().unwrap_or_else(name)
    }

    fn print(&self, cures: &Cures) -> Result<()> {
        print(cures, self.format, &self.layout.options(true), None)
    }

    /// Shows what would be tried.
    fn show(&self, cures: &Cures) -> Result<()> {
        let mut options = self.layout.options(true);
        options.all = true;
        match self.format {
            Format::Text => output::write(None, |out| {
                Ok(write!(out, "{}", text::plan(cures, &options))?)
            }),
            other => print(cures, other, &options, None),
        }
    }
}

/// Prints what came of trials.
pub(super) fn print(
    cures: &Cures,
    format: Format,
    options: &Options,
    output: Option<&Path>,
) -> Result<()> {
    let judged = study::judge(cures);
    output::write(output, |out| match format {
        Format::Text => Ok(write!(out, "{}", text::cure(&judged, options))?),
        Format::Json => Ok(json::document(&judged, out)?),
        Format::Html => Ok(view_cure::html(&judged, out)?),
        Format::Markdown => Ok(view_cure::markdown(&judged, out)?),
    })
}
