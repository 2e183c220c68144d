//! `bandscope repeat`: somebody's command, many times, and why its runs differ.
//!
//! The way: `studies::repeat::design` says which runs to make, `experiments::repeat` makes them, until nothing more is wanted; then
//! `studies::repeat` explains and `view` prints. `--output` keeps all runs, `--from` reads them again.

mod measure;
mod metric;

use crate::output;
use crate::output::terminal_options;
use crate::values;
use anyhow::{Context, Result, bail};
use bandscope_recording::runs::{Metric, Runs};
use bandscope_recording::text::quoted;
use bandscope_studies::conditions::Checked;
use bandscope_studies::conditions::Condition;
use bandscope_studies::repeat::{Repeat, explain, gate};
use bandscope_view::{json, junit, markdown, text};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a command many times, and find why it has several speeds.
///
/// Each run is a new process, in a process group of its own and without input. Its output is read, and shown if the run fails. With
/// --vary, a few runs at each level of each factor come first. Fresh runs then confirm the factors that may decide.
#[derive(Debug, Args)]
#[command(after_help = "\
Factors: layout, environment, arguments, directory, cpu, neighbour, store-bypass, huge-pages, priority; or all.
Conditions of --fail-if: modes, slow-share, ratio, median, drift or failed, then >, >=, < or <=, then a value.

Examples:
  bandscope repeat -- ./benchmark
  bandscope repeat -n 40 --vary all --output runs.json -- ./benchmark
  bandscope repeat --metric 'speed: ([0-9.]+)' --higher-is-better -- ./benchmark
  bandscope repeat --fail-if 'modes>1' -f junit -- ./benchmark > repeat.xml
  bandscope repeat --from runs.json

Exit status: 0 done; 1 a condition of --fail-if is met;
2 bad usage, or a run failed (see --ignore-failure);
130 or 143 a signal ended the session, and the runs until then are reported.")]
pub struct Arguments {
    /// The command and its arguments.
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    command: Vec<OsString>,
    /// Explain the runs of this file, which --output wrote.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "vary", "higher_is_better", "timeout", "warm_up", "ignore_failure", "noise", "outputs", "seed", "output"])]
    from: Option<PathBuf>,
    /// Runs with nothing varied; --vary adds others.
    #[arg(short = 'n', long, value_name = "RUNS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Factors to vary, to see which decides; or all.
    #[arg(long, value_name = "FACTOR,...", value_delimiter = ',')]
    vary: Vec<String>,
    /// What to compare: wall, user, system, cycles, or a regular expression. Its first group, or all of it, is a number in the output.
    /// With --from not an expression [default: wall, or that of the file]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// A higher value of the metric is better, as of MB/s.
    #[arg(long)]
    higher_is_better: bool,
    /// A run that takes longer has failed: it is ended, with all processes that it started.
    #[arg(long, value_name = "T", value_parser = values::positive_duration, allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Runs at the beginning that do not count.
    #[arg(long, value_name = "RUNS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..=10_000))]
    warm_up: u32,
    /// Before each run, watch the CPU that it starts on for this time, for the counters noise:share and noise:gaps/s.
    #[arg(long, value_name = "T", value_parser = values::positive_duration, allow_negative_numbers = true)]
    noise: Option<f64>,
    /// Keep the output of each run, as NUMBER.out and NUMBER.err in this directory, which does not exist yet.
    #[arg(long, value_name = "DIR")]
    outputs: Option<PathBuf>,
    /// Continue when a run fails, and leave it out.
    #[arg(long)]
    ignore_failure: bool,
    /// Seed of the order of runs [default: from the time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Keep all runs in this file, which does not exist yet, each as soon as it ends.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How to print the result.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Exit with status 1 if this holds, such as modes>1 or slow-share>10%; repeatable.
    #[arg(long, value_name = "CONDITION", value_parser = gate::parse)]
    fail_if: Vec<Condition>,
    /// Plain ASCII, for terminals and mails without Unicode.
    #[arg(long)]
    ascii: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
    Junit,
}

/// Measures or reads, explains, prints, and checks what was asked for.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (runs, ended) = match &arguments.from {
        Some(file) => (arguments.kept(file)?, measure::Ended::default()),
        None => measure::run(arguments)?,
    };
    let repeat = explain(&runs);
    let checked: Result<Vec<Checked>, _> = (arguments.fail_if.iter())
        .map(|condition| gate::check(condition, &repeat))
        .collect();
    // What the runs say is printed whatever the conditions are.
    arguments.print(&repeat, checked.as_deref().unwrap_or_default())?;
    if let Some(error) = ended.error {
        return Err(error);
    }
    if let Some(failure) = ended.failure {
        bail!("{failure}");
    }
    if let Some(code) = ended.exit_code {
        output::note(format_args!(
            "bandscope: interrupted; {}",
            match runs.runs.is_empty() {
                true => "no run had ended, so nothing was measured",
                false => "the result is of what was measured until then",
            }
        ));
        return Ok(code);
    }
    Ok(super::compare::exit_code(&checked?))
}

impl Arguments {
    /// Runs of a file, compared by another metric if one is named.
    fn kept(&self, file: &Path) -> Result<Runs> {
        let mut runs = Runs::read(file)?;
        if let Some(name) = &self.metric {
            let metric = Metric::measured(name).with_context(|| {
                format!(
                    "--metric: found {}, expected wall, user, system or cycles: a file of runs does not hold their output",
                    quoted(name.as_bytes())
                )
            })?;
            for run in &mut runs.runs {
                run.value = metric.of(run).filter(|_| run.end.succeeded());
            }
            runs.metric = metric;
        }
        Ok(runs)
    }

    fn print(&self, repeat: &Repeat, checked: &[Checked]) -> Result<()> {
        let mut options = terminal_options(io::stdout().is_terminal());
        options.ascii = self.ascii;
        output::write(None, |out| match self.format {
            Format::Text => Ok(write!(out, "{}", text::repeat::repeat(repeat, &options))?),
            Format::Json => Ok(json::document(repeat, out)?),
            Format::Markdown => Ok(markdown::repeat(repeat, checked, out)?),
            Format::Junit => Ok(junit::render("bandscope repeat", checked, out)?),
        })
    }
}
