//! `bandscope` without a command: records this machine, and reports what was found.

use super::{record, report};
use crate::output;
use anyhow::Result;
use bandscope_recording::text::shown;
use clap::{Args, FromArgMatches};
use std::process::ExitCode;

/// Records as `record` does, and reports in a format that may go to a terminal.
pub fn run(arguments: &record::Arguments, format: &str) -> Result<ExitCode> {
    let recorded = record::record(arguments)?;
    report::print(&recorded.path, format)?;
    output::note(format_args!("recording: {}", shown(&recorded.path)));
    Ok(recorded.exit_code())
}

/// The arguments of `bandscope record` with nothing on its command line.
pub(super) fn defaults() -> Result<record::Arguments> {
    let command = record::Arguments::augment_args(clap::Command::new("record"));
    let matches = command.try_get_matches_from(["record"])?;
    Ok(record::Arguments::from_arg_matches(&matches)?)
}
