//! `bandscope completions`: shell completions from the definition of the command line.

use crate::output;
use anyhow::Result;
use clap::Args;
use std::process::ExitCode;

/// Print completions for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  # in ~/.local/share/bash-completion/completions:
  bandscope completions bash > bandscope")]
pub struct Arguments {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Prints them.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut script = Vec::new();
    let mut command = super::top::command();
    clap_complete::generate(arguments.shell, &mut command, "bandscope", &mut script);
    output::write(None, |out| Ok(out.write_all(&script)?))?;
    Ok(ExitCode::SUCCESS)
}
