//! `bandscope kernels`: the work kernels of this machine, and the scenarios of the simulated one.

use super::synth::scenarios;
use crate::output;
use anyhow::Result;
use bandscope_probe::kernels::{Role, check, default_kernel, kernels};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::process::ExitCode;

/// List the work kernels, or the simulated scenarios.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bandscope kernels
  bandscope kernels --scenarios
  bandscope record --kernel mulss80,ftq-o2")]
pub struct Arguments {
    /// List the scenarios of `record --machine simulated:SCENARIO`.
    #[arg(long)]
    scenarios: bool,
    /// How to print the list.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Prints the list.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    output::write(None, |out| match (arguments.scenarios, arguments.format) {
        (false, Format::Text) => kernels_as_text(out),
        (false, Format::Json) => kernels_as_json(out),
        (true, Format::Text) => scenarios::as_text(out),
        (true, Format::Json) => scenarios::as_json(out),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn is_default(name: &str) -> bool {
    name == default_kernel()
}

fn kernels_as_text(out: &mut dyn Write) -> Result<()> {
    for kernel in kernels() {
        let note = match (is_default(kernel.name), check(kernel.name), kernel.role) {
            (true, ..) => " (default)",
            (_, Err(_), _) => " (not on this CPU)",
            (_, _, Role::Published) => " (*)",
            (_, _, Role::Throughput) => " (+)",
            (_, _, Role::Tripwire { .. }) => " (!)",
            _ => "",
        };
        writeln!(out, "{:18} {}{note}", kernel.name, kernel.description)?;
    }
    writeln!(
        out,
        "\n(*) breaks the rules for a noise probe (docs/measuring.md): there to reproduce what was published\n\
         (+) fills the core: beside a chain of registers it shows who shares the core, such as an SMT neighbour\n\
         (!) changes its pace when it is interrupted, where the core does that (bandscope lab): notices interrupts of the host"
    )?;
    Ok(())
}

fn kernels_as_json(out: &mut dyn Write) -> Result<()> {
    let kernels: Vec<_> = kernels()
        .iter()
        .map(|kernel| {
            serde_json::json!({
                "name": kernel.name,
                "description": kernel.description,
                "operations": kernel.operations,
                "keeps_rules": kernel.role == Role::Probe,
                "role": kernel.role.name(),
                "available": check(kernel.name).is_ok(),
                "default": is_default(kernel.name),
            })
        })
        .collect();
    let list = serde_json::json!({ "schema": "bandscope.kernels/1", "kernels": kernels });
    Ok(writeln!(out, "{list:#}")?)
}
