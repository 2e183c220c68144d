//! `bandscope doctor`: how this machine is set up for quiet CPUs, and what of it cost something.

use super::layout::Layout;
use super::{measure, record, report};
use crate::output;
use crate::values::{self, Cpus};
use anyhow::{Context, Result};
use bandscope_recording::text::shown;
use bandscope_studies::doctor;
use bandscope_view::{doctor as view_doctor, json, text};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// Say how this machine is set up, and what of it costs something.
///
/// Measures for ten seconds, or judges a recording by the facts in it. Changes nothing and needs no root; as root, kernel events
/// say what each setting costs. What costs most stands first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bandscope doctor
  bandscope doctor --cpus 1 --all
  bandscope doctor evening.bandscope
  bandscope doctor evening.bandscope -f json | jq '.entries[0]'
  bandscope doctor evening.bandscope -f html -o doctor.html")]
pub struct Arguments {
    /// Judge this recording in place of a new one.
    #[arg(value_name = "RECORDING", conflicts_with = "duration")]
    recording: Option<PathBuf>,
    /// CPUs to measure, or to judge of the recording, such as 1 or 0,2-5 [default: the quietest one; all of the recording]
    #[arg(long, value_name = "LIST|all", value_parser = values::cpus)]
    cpus: Option<Cpus>,
    /// How long to measure.
    #[arg(long, value_name = "T", default_value = "10s", value_parser = values::positive_duration, allow_negative_numbers = true)]
    duration: f64,
    /// How to print the result.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    layout: Layout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Html,
    Markdown,
}

/// Measures or reads, judges, prints.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    output::apart(arguments.output.as_deref(), &arguments.recording)?;
    let (recording, exit_code) = match &arguments.recording {
        Some(recording) => (recording.clone(), ExitCode::SUCCESS),
        None => measure(arguments)?,
    };
    if arguments.recording.is_none() {
        output::note(format_args!("recording: {}", shown(&recording)));
    }
    let cpus = match (&arguments.cpus, &arguments.recording) {
        (Some(Cpus::These(cpus)), Some(_)) => cpus.as_slice(),
        _ => &[],
    };
    let analysis = report::analyse(std::slice::from_ref(&recording), &[], None)?;
    report::refuse_moments(analysis.report.recording.as_ref(), &recording)?;
    report::refuse_several_tasks(&analysis.report, &recording)?;
    let doctor = doctor::examine(&analysis.report, cpus).with_context(|| shown(&recording))?;
    let options = arguments.layout.options(arguments.output.is_none());
    output::write(arguments.output.as_deref(), |out| match arguments.format {
        Format::Text => Ok(write!(out, "{}", text::doctor(&doctor, &options))?),
        Format::Json => Ok(json::document(&doctor, out)?),
        Format::Html => Ok(view_doctor::html(&doctor, out)?),
        Format::Markdown => Ok(view_doctor::markdown(&doctor, out)?),
    })?;
    Ok(exit_code)
}

/// Records, as `bandscope` alone does; where the recording is.
fn measure(arguments: &Arguments) -> Result<(PathBuf, ExitCode)> {
    let mut request = measure::defaults()?;
    request.cpus.clone_from(&arguments.cpus);
    request.duration = arguments.duration;
    // Tasks of a job have nothing in common here: each judges its own recording.
    request.output = Some(request.path());
    let recorded = record::record(&request)?;
    let exit_code = recorded.exit_code();
    Ok((recorded.path, exit_code))
}
