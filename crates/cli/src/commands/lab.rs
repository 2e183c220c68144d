//! `bandscope lab`: experiments on this CPU, or those of a file, explained; or what of them somebody's program meets.

use super::record;
use crate::interrupt::Interrupt;
use crate::output::{self, Keep};
use crate::progress::Progress;
use anyhow::Result;
use bandscope_experiments::lab::{self, Plan};
#[cfg(target_arch = "x86_64")]
use bandscope_experiments::program;
use bandscope_recording::experiments::Experiments;
use bandscope_studies::lab::explain;
use bandscope_view::{json, text};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Find the hidden states of this core, and what switches them.
///
/// Runs pairs of loops in alternation, each a probe and a control, and some under interruptions by signals of a timer. Takes
/// about 40 seconds, and no privileges. An idle machine gives narrow intervals; a busy one wide ones.
///
/// With a command after `--` it runs that, finds its hot loop, and says which of these states the loop meets, what each costs
/// there, and what avoids it. That takes some 3 seconds, after which the command is ended. It gets no input, and is observed by
/// ptrace(2). That is one run: where runs differ, `repeat --vary all` names the levels of a slow one, and --set makes it.
/// Exit status 1: no hot loop was found.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bandscope lab
  bandscope lab --cpu 3 --output lab.json
  bandscope lab lab.json --levels
  bandscope lab --only base-register,shift-count --format json
  bandscope lab --list
  bandscope lab -- ./benchmark --size 1000
  bandscope lab --set layout=fixed,environment=1024 -- ./benchmark")]
pub struct Arguments {
    /// Explain the experiments of this file, which --output wrote, on this machine or another.
    #[arg(value_name = "FILE", conflicts_with_all = ["cpu", "only", "output", "list"])]
    file: Option<PathBuf>,
    /// The CPU to experiment on [default: the quietest]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Do only these; see --list.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// List the experiments.
    #[arg(long, conflicts_with_all = ["cpu", "only", "output"])]
    list: bool,
    /// Keep all that was measured in this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show every level of every pair.
    #[arg(long)]
    levels: bool,
    /// How to print the result.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Start COMMAND as `repeat --vary` does at these levels of its factors, such as layout=fixed,environment=1024.
    #[arg(long, value_name = "FACTOR=LEVEL,...", value_delimiter = ',', value_parser = level, requires = "command")]
    set: Vec<(String, String)>,
    /// Look into this command instead: its hot loop, and the hidden states that it meets. What it prints goes to standard error.
    #[arg(value_name = "COMMAND", last = true, conflicts_with_all = ["file", "cpu", "only", "output", "list"])]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// A factor and a level of it.
fn level(text: &str) -> Result<(String, String), &'static str> {
    let (factor, level) = text.split_once('=').ok_or("expected FACTOR=LEVEL")?;
    Ok((factor.to_owned(), level.to_owned()))
}

/// Measures or reads, and prints what it means.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.list {
        output::write(None, |out| {
            Ok(writeln!(out, "{}", lab::names().join("\n"))?)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.command.is_empty() {
        return look_into(arguments);
    }
    // A variable that holds the command may be empty: nobody who writes `--` wants the whole lab.
    if std::env::args_os()
        .next_back()
        .is_some_and(|last| last.as_encoded_bytes() == b"--")
    {
        anyhow::bail!("found nothing after --, expected a command");
    }
    let (experiments, kept, exit_code) = match &arguments.file {
        Some(file) if is_program(file) => {
            let file = file.display();
            anyhow::bail!(
                "{file}: found a program, expected experiments; to look into it: bandscope lab -- {file}"
            )
        }
        Some(file) => (Experiments::read(file)?, Ok(()), ExitCode::SUCCESS),
        None => measure(arguments)?,
    };
    let result = explain(&experiments);
    output::write(None, |out| match arguments.format {
        Format::Text => Ok(write!(
            out,
            "{}",
            text::lab(&result, arguments.levels, &output::terminal_options(true))
        )?),
        Format::Json => Ok(json::document(&result, out)?),
    })?;
    // Not before what was measured is shown.
    kept.map(|()| exit_code)
}

/// Whether a file begins as programs and scripts do.
fn is_program(file: &Path) -> bool {
    // Opening a pipe waits for a writer.
    if !std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut begin = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && (begin == *b"\x7fELF" || begin.starts_with(b"#!"))
}

/// Runs a command, and prints what its hot loop meets. Exit status 1: no loop was found.
#[cfg(target_arch = "x86_64")]
fn look_into(arguments: &Arguments) -> Result<ExitCode> {
    let interrupt = Interrupt::new()?;
    let started = record::now();
    let mut program = {
        let progress = Progress::experiments();
        let (command, set) = (&arguments.command, &arguments.set);
        program::measure(command, set, interrupt.stop(), &mut |part| {
            progress.set(part)
        })?
    };
    program.tool = record::tool();
    program.started = started;
    let words = arguments.command.iter();
    program.command = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let result = bandscope_studies::program::explain(&program);
    output::write(None, |out| match arguments.format {
        Format::Text => Ok(write!(
            out,
            "{}",
            text::program(&result, arguments.levels, &output::terminal_options(true))
        )?),
        Format::Json => Ok(json::document(&result, out)?),
    })?;
    let found = if result.hot_loop.is_some() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    Ok(interrupt.exit_code().unwrap_or(found))
}

/// Instructions of another architecture are not decoded yet.
#[cfg(not(target_arch = "x86_64"))]
fn look_into(_: &Arguments) -> Result<ExitCode> {
    anyhow::bail!(
        "lab -- COMMAND reads instructions of x86-64 only; this machine is {}",
        std::env::consts::ARCH
    )
}

/// Measures; also whether all of it was kept.
fn measure(arguments: &Arguments) -> Result<(Experiments, Result<()>, ExitCode)> {
    let interrupt = Interrupt::new()?;
    let keep = Keep::claim_output(arguments.output.as_deref())?;
    let plan = Plan {
        cpu: arguments.cpu,
        only: arguments.only.clone(),
        ..Plan::default()
    };
    let started = record::now();
    let mut experiments = {
        let mut progress = Progress::spinner("looking at the machine");
        lab::run(&plan, interrupt.stop(), &mut |part, experiments| {
            // The spinner wakes up on its own, which no experiment may feel.
            if part == 0.0 {
                progress = Progress::experiments();
            }
            progress.set(part);
            experiments.tool = record::tool();
            experiments.started.clone_from(&started);
            if let Some(keep) = keep.as_ref().filter(|_| part > 0.0) {
                // So it is, unless another step follows. What cannot be written now is tried again, and told at the end.
                experiments.interrupted = true;
                let _ = keep.write_so_far(|out| write(experiments, out));
                experiments.interrupted = false;
            }
        })?
    };
    experiments.tool = record::tool();
    experiments.started = started;
    let kept = keep.map_or(Ok(()), |keep| keep.write(|out| write(&experiments, out)));
    if interrupt.signal().is_some() {
        output::note(format_args!(
            "bandscope: interrupted; the result is of what was measured until then"
        ));
    }
    Ok((
        experiments,
        kept,
        interrupt.exit_code().unwrap_or(ExitCode::SUCCESS),
    ))
}

fn write(experiments: &Experiments, out: &mut dyn std::io::Write) -> Result<()> {
    Ok(out.write_all(experiments.to_json().as_bytes())?)
}
