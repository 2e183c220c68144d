//! The command line: one file a subcommand, each with its arguments, its help and its wiring.

mod compare;
mod completions;
#[cfg(test)]
mod documented;
mod export;
mod histogram;
mod inject;
mod kernels;
mod lab;
mod live;
mod man;
mod measure;
mod picture;
mod record;
mod repeat;
mod report;
mod synth;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Measures how much of a CPU's time a program really gets, and explains where the rest goes.
#[derive(Debug, Parser)]
#[command(
    name = "bandscope",
    version,
    propagate_version = true,
    after_help = "\
Without a command, bandscope measures this machine for ten seconds on the quietest CPU it may use
and says what it found.

Examples:
  bandscope
  bandscope record --cpus 3 --rate 10kHz --duration 60s --output quiet.bandscope
  bandscope report quiet.bandscope
  bandscope report quiet.bandscope --format png --output quiet.png

Exit status: 0 done; 1 a check that was asked for failed; 2 bad usage, bad input, or an error;
130 or 143 a signal ended the run, and what was measured until then is kept."
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(record::Arguments),
    Live(live::Arguments),
    Report(report::Arguments),
    Export(export::Arguments),
    Compare(compare::Arguments),
    Histogram(histogram::Arguments),
    Synth(synth::Arguments),
    Inject(inject::Arguments),
    Lab(lab::Arguments),
    Repeat(repeat::Arguments),
    Kernels(kernels::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// Runs what was asked for.
///
/// # Errors
/// Anything that makes the program end with exit status 2.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.command {
        None => measure::run(),
        Some(Command::Record(arguments)) => record::run(&arguments),
        Some(Command::Live(arguments)) => live::run(&arguments),
        Some(Command::Report(arguments)) => report::run(&arguments),
        Some(Command::Export(arguments)) => export::run(&arguments),
        Some(Command::Compare(arguments)) => compare::run(&arguments),
        Some(Command::Histogram(arguments)) => histogram::run(&arguments),
        Some(Command::Synth(arguments)) => synth::run(&arguments),
        Some(Command::Inject(arguments)) => inject::run(&arguments),
        Some(Command::Lab(arguments)) => lab::run(&arguments),
        Some(Command::Repeat(arguments)) => repeat::run(&arguments),
        Some(Command::Kernels(arguments)) => kernels::run(&arguments),
        Some(Command::Completions(arguments)) => completions::run(&arguments),
        Some(Command::Man(arguments)) => man::run(&arguments),
    }
}
