//! `bandscope man`: manual pages from the definition of the command line.

use crate::output;
use anyhow::{Context, Result};
use bandscope_recording::text::shown;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the manual page, or write one page a command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bandscope man | man -l -
  bandscope man --output ~/.local/share/man/man1")]
pub struct Arguments {
    /// Write bandscope.1, bandscope-record.1, ... into this directory.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints or writes them.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = super::top::command();
    match &arguments.output {
        Some(directory) => std::fs::create_dir_all(directory)
            .and_then(|()| clap_mangen::generate_to(command, directory))
            .with_context(|| format!("{}: cannot write manual pages", shown(directory)))?,
        None => {
            let page = clap_mangen::Man::new(command);
            output::write(None, |out| Ok(page.render(out)?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
