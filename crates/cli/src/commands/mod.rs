//! The command line: one file a subcommand, each with its arguments, its help and its wiring.

mod check;
mod compare;
mod completions;
mod cure;
mod doctor;
#[cfg(test)]
mod documented;
mod export;
mod fleet;
mod histogram;
mod inject;
mod kernels;
mod lab;
mod layout;
mod live;
mod man;
mod measure;
mod passing;
mod picture;
mod record;
mod repeat;
mod report;
mod scale;
mod synth;
mod top;

use crate::{output, resources};
use anyhow::Result;
use clap::{FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(
    name = "bandscope",
    disable_version_flag = true,
    args_conflicts_with_subcommands = true
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    record: record::Arguments,
    /// Format of the report
    #[arg(long, short, default_value = "text", value_parser = report::printed_formats())]
    format: String,
    /// Print the version
    #[arg(long, short = 'V')]
    version: bool,
    /// With --version: print the commit, the target and the profile
    #[arg(long, requires = "version")]
    verbose: bool,
}

impl Arguments {
    /// The command line of this process; help, and one that does not parse, ends it.
    pub fn of_process() -> Arguments {
        let matches = top::command().try_get_matches();
        let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
        parsed.unwrap_or_else(|error| output::exit(&error))
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(record::Arguments),
    Live(live::Arguments),
    Report(report::Arguments),
    Export(export::Arguments),
    Check(check::Arguments),
    Compare(compare::Arguments),
    Scale(scale::Arguments),
    Fleet(fleet::Arguments),
    Cure(cure::Arguments),
    Doctor(doctor::Arguments),
    Histogram(histogram::Arguments),
    Synth(synth::Arguments),
    Inject(inject::Arguments),
    Lab(lab::Arguments),
    Repeat(repeat::Arguments),
    Kernels(kernels::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// Runs the command.
///
/// # Errors
/// Anything that makes the program end with exit status 2.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    // What puts a machine back begins whatever it finds.
    if !cure::is_undo(&arguments) {
        cure::say_if_left();
        resources::check_memory()?;
    }
    match arguments.command {
        None if arguments.version => top::version(arguments.verbose).map(|()| ExitCode::SUCCESS),
        None => measure::run(&arguments.record, &arguments.format),
        Some(Command::Record(arguments)) => record::run(&arguments),
        Some(Command::Live(arguments)) => live::run(&arguments),
        Some(Command::Report(arguments)) => report::run(&arguments),
        Some(Command::Export(arguments)) => export::run(&arguments),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Compare(arguments)) => compare::run(&arguments),
        Some(Command::Scale(arguments)) => scale::run(&arguments),
        Some(Command::Fleet(arguments)) => fleet::run(&arguments),
        Some(Command::Cure(arguments)) => cure::run(&arguments),
        Some(Command::Doctor(arguments)) => doctor::run(&arguments),
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
