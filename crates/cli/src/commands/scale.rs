//! `bandscope scale`: what the noise of recordings costs a job on many nodes.

use super::layout::Layout;
use super::picture::Looks;
use super::report;
use crate::progress::Progress;
use crate::values;
use crate::{output, resources};
use anyhow::{Result, bail};
use bandscope_recording::Source as _;
use bandscope_recording::text::shown;
use bandscope_studies::scale::{self, Settings};
use bandscope_view::{json, scale as drawn, text};
use clap::{Args, ValueEnum};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

/// Say what this noise costs a job on many nodes.
///
/// The job is bulk-synchronous: each rank does fixed work, a phase, then waits for all. The nodes are taken to be like the CPUs that were measured, and to lose
/// time independently of each other. A figure that the recording cannot give is refused, and it says how long a recording would.
#[derive(Debug, Args)]
#[command(mut_arg("width", |width| width.help("Width in columns of text [default: the terminal's, 80 elsewhere] or in points of a picture [default: 1200]")))]
#[command(after_help = "\
Examples:
  bandscope scale quiet.bandscope
  bandscope scale before.bandscope after.bandscope --nodes 128,1000,64k
  bandscope scale quiet.bandscope --phase 20ms -f json | jq .phases[0].cells
  # a picture, and a page for the browser
  bandscope scale quiet.bandscope -f png -o quiet.png
  bandscope scale quiet.bandscope -f html -o quiet.html

Exit status: 0 done; 2 bad usage or input, also where one recording of several could not
be read: the result is of the others, and names it.")]
pub struct Arguments {
    /// Recordings, directories in which the tasks of a job recorded, or files of the original FTQ.
    #[arg(value_name = "RECORDING", required = true)]
    inputs: Vec<PathBuf>,
    /// Numbers of nodes, such as 16,1000 or 64k; A..B is A, and so on by factors of 4 up to B.
    #[arg(long, value_name = "N,...|A..B", default_value = "16..1M", value_parser = values::nodes)]
    nodes: values::Nodes,
    /// How long the work of a phase takes where nothing is lost.
    #[arg(long, value_name = "T,...", value_delimiter = ',', default_value = "100us,1ms,10ms,100ms", value_parser = values::phase, allow_negative_numbers = true)]
    phase: Vec<f64>,
    /// How to print the result.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    layout: Layout,
    #[command(flatten)]
    looks: Looks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Png,
    Svg,
    Html,
}

/// Reads, analyses, asks, prints.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    values::not_too_many("--phase", &arguments.phase)?;
    values::not_too_many("--nodes", &arguments.nodes.0)?;
    let is_picture = matches!(arguments.format, Format::Png | Format::Svg);
    if !is_picture && !arguments.looks.are_usual() {
        bail!("--height and --theme go with --format png or svg");
    }
    let to_terminal = arguments.output.is_none() && io::stdout().is_terminal();
    if arguments.format == Format::Png && to_terminal {
        bail!("will not write a PNG to a terminal; use --output FILE");
    }
    output::apart(arguments.output.as_deref(), &arguments.inputs)?;
    resources::start_threads()?;
    for input in &arguments.inputs {
        // What cannot be read among others is left out below.
        let Ok(source) = report::open_with_tasks(std::slice::from_ref(input)) else {
            continue;
        };
        report::refuse_moments(Some(source.manifest()), input)?;
    }
    let source = report::open_with_tasks(&arguments.inputs)?;
    let names: Vec<String> = arguments.inputs.iter().map(|path| shown(path)).collect();
    let analysis = {
        let _progress = Progress::spinner("analysing");
        bandscope_analysis::analyse(&source, &names)?
    };
    let mut phases_s = arguments.phase.clone();
    phases_s.sort_by(f64::total_cmp);
    phases_s.dedup();
    let settings = Settings {
        nodes: arguments.nodes.0.clone(),
        phases_s,
    };
    let mut scale = {
        let progress = Progress::phases();
        scale::scale(&source, &analysis.report, &settings, &|part| {
            progress.set(part)
        })?
    };
    scale.notes.extend(report::left_out(&analysis.report));
    let mut options = arguments.layout.options(arguments.output.is_none());
    arguments.looks.apply(&mut options);
    output::write(arguments.output.as_deref(), |out| match arguments.format {
        Format::Text => Ok(write!(out, "{}", text::scale(&scale, &options))?),
        Format::Json => Ok(json::document(&scale, out)?),
        Format::Png => Ok(drawn::png(&scale, &options, out)?),
        Format::Svg => Ok(drawn::svg(&scale, &options, out)?),
        Format::Html => Ok(drawn::html(&scale, out)?),
    })?;
    Ok(report::say_left_out(report::left_out(&analysis.report)))
}
