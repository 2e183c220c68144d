//! `bandscope export`: a recording in formats that other programs read.

use crate::output;
use crate::values;
use anyhow::{Result, bail};
use bandscope_recording::csv::{write_csv, write_events_csv};
use bandscope_recording::dat::write_dat;
use bandscope_recording::text::shown;
use bandscope_recording::{Series, Source};
use bandscope_view::{gaps_csv, gaps_parquet, perfetto};
use clap::{Args, ValueEnum};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write series of a recording in formats of other programs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bandscope export evening.bandscope --format ftq --rate 10kHz -o evening.dat
  bandscope export evening.bandscope --format csv --output evening.csv
  bandscope export evening.bandscope --format csv --what gaps --output gaps.csv
  # gaps with what the ledger books for each, for SQL:
  bandscope export evening.bandscope --format parquet -o gaps.parquet
  # for ui.perfetto.dev:
  bandscope export evening.bandscope --format perfetto -o evening.pftrace

The recording itself is Parquet, which DuckDB, Polars and pandas read:
see docs/recording-format.md.")]
pub struct Arguments {
    /// A recording, or a file of the original FTQ.
    #[arg(value_name = "RECORDING")]
    input: PathBuf,
    /// `ftq`: `start_ns count` of one series; `csv`: quanta, gaps or kernel events of all series, a line each; `parquet`: gaps by name, a row for
    /// each cause of each; `perfetto`: gaps by name, kernel events and pace as a trace; `summary`: what the CPUs lost, for `bandscope fleet`.
    #[arg(long, short, value_enum)]
    format: Format,
    /// With `csv`: which table.
    #[arg(long, value_enum, default_value_t = What::Quanta)]
    what: What,
    /// The same as `--what events`.
    #[arg(long, hide = true, conflicts_with = "what")]
    events: bool,
    /// Only series of this CPU.
    #[arg(long)]
    cpu: Option<u32>,
    /// Only series of this rate.
    #[arg(long, value_name = "HZ", value_parser = values::rate, allow_negative_numbers = true)]
    rate: Option<f64>,
    /// Only series of this work kernel.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Ftq,
    Csv,
    Parquet,
    Perfetto,
    Summary,
}

/// A table of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Start, end, count, time away and pace of each quantum.
    Quanta,
    /// Start, end and cause of each gap.
    Gaps,
    /// Start, end, kind and name of each kernel event.
    Events,
}

/// Reads, selects, writes.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    output::apart(arguments.output.as_deref(), [&arguments.input])?;
    let source = super::report::open(std::slice::from_ref(&arguments.input))?;
    let chosen: Vec<usize> = (0..source.series().len())
        .filter(|&index| arguments.chooses(&source.series()[index]))
        .collect();
    let what = if arguments.events {
        What::Events
    } else {
        arguments.what
    };
    arguments.check(what)?;
    match (arguments.format, &chosen[..]) {
        (_, []) => bail!(
            "no series matches; the recording has: {}",
            list(&source, 0..source.series().len())
        ),
        (Format::Parquet, several) => {
            let name = [shown(&arguments.input)];
            let analysis = bandscope_analysis::analyse(&source, &name)?;
            output::write(arguments.output.as_deref(), |out| {
                Ok(gaps_parquet::write(
                    &source,
                    several,
                    &analysis.report,
                    out,
                )?)
            })?;
        }
        (Format::Summary, _) => {
            super::fleet::export(&arguments.input, arguments.output.as_deref())?;
        }
        (Format::Perfetto, several) => {
            output::write(arguments.output.as_deref(), |out| {
                Ok(perfetto::write(&source, several, out)?)
            })?;
        }
        (Format::Ftq, &[index]) => output::write(arguments.output.as_deref(), |out| {
            Ok(write_dat(&source, index, out)?)
        })?,
        (Format::Ftq, several) => bail!(
            "an FTQ file holds one series; choose with --cpu, --rate or --kernel among: {}",
            list(&source, several.iter().copied())
        ),
        (Format::Csv, several) => output::write(arguments.output.as_deref(), |out| {
            match what {
                What::Quanta => write_csv(&source, several, out)?,
                What::Gaps => gaps_csv::write(&source, several, out)?,
                What::Events => write_events_csv(&source, several, out)?,
            }
            Ok(())
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    /// Refuses what a format does not hold, and bytes that do not belong on a terminal.
    fn check(&self, what: What) -> Result<()> {
        let to_terminal = self.output.is_none() && std::io::stdout().is_terminal();
        match (self.format, what) {
            (Format::Ftq, What::Gaps | What::Events) => {
                bail!("an FTQ file holds quanta only; --what goes with --format csv")
            }
            // A summary of some of a CPU's series would pass for all that it lost.
            (Format::Summary, _)
                if self.cpu.is_some() || self.rate.is_some() || self.kernel.is_some() =>
            {
                bail!(
                    "a summary is of the whole recording; --cpu, --rate and --kernel go with other formats"
                )
            }
            (Format::Summary, What::Gaps | What::Events) => {
                bail!("a summary has no tables; --what goes with --format csv")
            }
            (Format::Perfetto, What::Gaps | What::Events) => {
                bail!("a trace holds gaps and kernel events anyway; --what goes with --format csv")
            }
            (Format::Parquet, What::Events) => {
                bail!("--format parquet holds gaps; the recording itself has its events in Parquet")
            }
            (Format::Parquet | Format::Perfetto, _) if to_terminal => {
                bail!("will not write binary data to a terminal; use --output FILE")
            }
            _ => Ok(()),
        }
    }

    fn chooses(&self, series: &Series) -> bool {
        self.cpu.is_none_or(|cpu| series.cpu == Some(cpu))
            // Rates are written with what people remember of them; a part in 10^6 is the same rate.
            && self.rate.is_none_or(|rate| (series.rate_hz / rate - 1.0).abs() < 1e-6)
            && self.kernel.as_ref().is_none_or(|kernel| series.kernel == *kernel)
    }
}

fn list(source: &dyn Source, indices: impl IntoIterator<Item = usize>) -> String {
    let describe = |index: usize| {
        let series = &source.series()[index];
        let cpu = series
            .cpu
            .map_or(String::new(), |cpu| format!("--cpu {cpu} "));
        format!("{cpu}--rate {} --kernel {}", series.rate_hz, series.kernel)
    };
    indices
        .into_iter()
        .map(describe)
        .collect::<Vec<_>>()
        .join("; ")
}
