//! `bandscope histogram`: how long fixed work takes, on this machine or in files.
//!
//! The way: `experiments::histogram` measures or `recording::histogram` reads, `studies::histogram` explains, `view` prints. `--output`
//! keeps what was measured; what is printed as JSON has that in it too, so both read back.

mod measure;

use crate::output;
use crate::output::terminal_options;
use crate::values::{self, Cpus};
use anyhow::Result;
use bandscope_recording::histogram::{FixedWork, open};
use bandscope_recording::text::shown;
use bandscope_studies::histogram::{self, Report};
use bandscope_view::{json, text};
use clap::{Args, ValueEnum};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

/// Say how long fixed work takes, and how interrupts act on it.
///
/// Measures this machine, or with files reads and explains them. With several lengths of work or kernels all take turns.
#[derive(Debug, Args)]
#[command(after_help = "\
Kernels are work kernels (`bandscope kernels`), and loops: frame-64 keeps its base register through an interrupt, stack-64 is its control.

Examples:
  bandscope histogram
  bandscope histogram --work 5us,100us --kernel frame-64,stack-64 --duration 30s
  bandscope histogram --samples 1000000 --cpus 0-3 --output histogram.json
  bandscope histogram fwq-smeared.hist fwq-smear-ends.tsv")]
pub struct Arguments {
    /// Tables of durations (.hist) or of ends of smears (.tsv), and results of this command, to be explained.
    #[arg(value_name = "FILE", conflicts_with_all = ["work", "kernel", "samples", "duration", "cpus", "output"])]
    files: Vec<PathBuf>,
    /// How long the work takes at its best; several take turns.
    #[arg(long, value_name = "T,...", value_delimiter = ',', default_value = "5us", value_parser = values::positive_duration, allow_negative_numbers = true)]
    work: Vec<f64>,
    /// What the work is made of, work kernels or loops; several take turns [default: a register chain]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    kernel: Vec<String>,
    /// How long to measure, everything together.
    #[arg(long, value_name = "T", default_value = "10s", value_parser = values::positive_duration, allow_negative_numbers = true, conflicts_with = "samples")]
    duration: f64,
    /// Samples of each length of work and kernel, in place of a duration.
    #[arg(long, value_name = "N", value_parser = values::samples, allow_negative_numbers = true)]
    samples: Option<u64>,
    /// CPUs to measure at the same time, such as 1 or 0,2-5. `all` leaves out the first [default: the quietest one]
    #[arg(long, value_name = "LIST|all", value_parser = values::cpus)]
    cpus: Option<Cpus>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Keep what was measured in this file, which does not exist yet.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Plain ASCII, for terminals and mails without Unicode.
    #[arg(long)]
    ascii: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Measures or reads, explains, prints.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.files.is_empty() {
        return measure::run(arguments);
    }
    arguments.print(open(&arguments.files)?)?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn explain(&self, measured: FixedWork) -> Report {
        let names: Vec<String> = (self.files.iter()).map(|path| shown(path)).collect();
        histogram::analyse(measured, &names)
    }

    /// Explains on standard output.
    fn print(&self, measured: FixedWork) -> Result<()> {
        let report = self.explain(measured);
        let mut options = terminal_options(io::stdout().is_terminal());
        options.ascii = self.ascii;
        output::write(None, |out| match self.format {
            Format::Text => Ok(text::histogram::render(&report, &options, out)?),
            Format::Json => Ok(json::document(&report, out)?),
        })
    }
}
