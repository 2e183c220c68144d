//! `bandscope fleet`: which nodes of many stand out.

use super::layout::Layout;
use super::{record, report};
use crate::{output, resources};
use anyhow::{Context, Result};
use bandscope_recording::inputs::Inputs;
use bandscope_recording::inputs::tasks::{self, Identity};
use bandscope_recording::job_clock::JobClock;
use bandscope_recording::read::ReadWarning;
use bandscope_recording::summary::{FILE, Summary};
use bandscope_recording::text::shown;
use bandscope_recording::{Source as _, TaskDirectory};
use bandscope_studies::fleet::{self, Node};
use bandscope_view::{escape, fleet as view_fleet, json, text};
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say which nodes of many stand out, and why.
///
/// Nodes of equal CPU and kernel are compared: what each loses in which way, and how it is set up. A recording that has a summary beside it, as tasks of a job
/// leave it, is not read again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # what `srun bandscope record --output job.bandscope` left
  bandscope fleet job.bandscope
  bandscope fleet job.bandscope -f markdown
  # without a shared file system: gather what each node leaves
  bandscope export quiet.bandscope --format summary -o n1.summary.json
  bandscope fleet n1.summary.json

Exit status: 0 done, also where nodes stand out; 2 bad usage or input, also where one node
of several could not be read: the result is of the others, and names it.")]
pub struct Arguments {
    /// Directories in which the tasks of a job recorded, recordings, or their summaries.
    #[arg(value_name = "RECORDING|SUMMARY", required = true)]
    inputs: Vec<PathBuf>,
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

/// Reads, judges, prints.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    output::apart(arguments.output.as_deref(), &arguments.inputs)?;
    resources::start_threads()?;
    let mut warnings = Vec::new();
    let mut nodes = Vec::new();
    let mut first_error = None;
    // Thousands of files are read side by side, and told of in their order.
    let read = arguments.inputs.par_iter().map(|input| {
        let mut warnings = Vec::new();
        (nodes_of(input, &mut warnings), warnings)
    });
    for (found, of_input) in read.collect::<Vec<_>>() {
        warnings.extend(of_input);
        match found {
            Ok(found) => nodes.extend(found),
            Err(error) => {
                warnings.push(ReadWarning::unreadable(&error));
                first_error.get_or_insert(error);
            }
        }
    }
    if let Some(error) = first_error.filter(|_| nodes.is_empty()) {
        return Err(error.into());
    }
    let names = arguments.inputs.iter().map(|path| shown(path)).collect();
    let mut fleet = fleet::fleet(names, nodes);
    fleet.notes.extend(warnings.iter().map(ToString::to_string));
    let options = arguments.layout.options(arguments.output.is_none());
    output::write(arguments.output.as_deref(), |out| match arguments.format {
        Format::Text => Ok(write!(out, "{}", text::fleet(&fleet, &options))?),
        Format::Json => Ok(json::document(&fleet, out)?),
        Format::Html => Ok(view_fleet::html(&fleet, out)?),
        Format::Markdown => Ok(view_fleet::markdown(&fleet, out)?),
    })?;
    let unreadable = warnings.iter().filter(|one| one.is_unreadable());
    Ok(report::say_left_out(unreadable.map(ToString::to_string)))
}

/// What one input holds: the tasks of a job, or one node.
fn nodes_of(
    input: &Path,
    warnings: &mut Vec<ReadWarning>,
) -> Result<Vec<Node>, bandscope_recording::Error> {
    let origin = shown(input);
    if !input.is_dir() {
        return Ok(vec![Node::new(Summary::read(input)?, &origin)]);
    }
    let found = tasks::find(input)?;
    if found.is_empty() {
        let clock = clock_beside(input, warnings);
        // A task's directory by itself has its summary, and may have nothing else.
        let summary = match input.join(FILE).exists() {
            true => summary_of_task(input)?,
            false => summary_of(input)?,
        };
        return Ok(vec![Node::new(with_clock(summary, clock), &origin)]);
    }
    // A node is reduced to its figures as soon as it is read: thousands of summaries would not fit into memory.
    let read = |(path, directory): (PathBuf, TaskDirectory)| {
        let mut warnings = Vec::new();
        let clock = clock_beside(&path, &mut warnings);
        let read = summary_of_task(&path).map(|summary| {
            let identity = Identity {
                rank: summary.rank.clone().unwrap_or_default(),
                started: summary.started.clone(),
                boot_id: summary.boot_id.clone(),
            };
            (identity, Node::new(with_clock(summary, clock), &origin))
        });
        ((path, directory, read), warnings)
    };
    let (parts, of_clocks): (Vec<_>, Vec<_>) = found.into_par_iter().map(read).unzip();
    warnings.extend(of_clocks.into_iter().flatten());
    let parts = tasks::newest_job(input, parts, warnings)?.unwrap_or_default();
    // Whose it is its directory says.
    let named = parts
        .into_iter()
        .map(|part| part.content.named(part.identity.rank.node));
    Ok(named.collect())
}

/// The clock beside a recording. A node without one is judged all the same.
fn clock_beside(directory: &Path, warnings: &mut Vec<ReadWarning>) -> Option<JobClock> {
    let clock = JobClock::beside(directory);
    warnings.extend(clock.as_ref().err().map(ReadWarning::unreadable));
    clock.ok().flatten()
}

/// With the clock that lay beside the recording, if one did.
fn with_clock(summary: Summary, clock: Option<JobClock>) -> Summary {
    Summary {
        job_clock: clock.or(summary.job_clock),
        ..summary
    }
}

/// The summary that a task left, or that of its recording.
fn summary_of_task(path: &Path) -> Result<Summary, bandscope_recording::Error> {
    match Summary::of_task(path)? {
        Some(summary) => Ok(summary),
        None => summary_of(path),
    }
}

/// The summary of a recording.
fn summary_of(path: &Path) -> Result<Summary, bandscope_recording::Error> {
    let source = Inputs::open(&[path.to_owned()])?;
    if source.manifest().keeps_moments() {
        return Err(bandscope_recording::Error::File {
            path: path.into(),
            found: "moments that were caught".into(),
            expected: "a recording of everything (record without --catch)".into(),
        });
    }
    let analysis = bandscope_analysis::analyse(&source, &[shown(path)])?;
    let report = (&analysis.report, analysis.origin);
    fleet::summarise(&source, report, &record::tool())
}

/// Leaves the summary of a task's recording beside it, for the report of the fleet. That it cannot is said, and is no reason to lose the recording.
pub(super) fn leave_summary(path: &Path) {
    let leave = || -> Result<()> {
        // Other tasks may measure still: one thread, which has the CPUs that the task was given.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        let summary = pool.install(|| summary_of(path))?;
        let file = path.join(FILE);
        output::put(Some(&file), |out| Ok(json::line(&summary, out)?))
    };
    if let Err(error) = leave().context("no summary for `bandscope fleet`") {
        let why = escape::visible(&output::spelled(&error));
        output::note(format_args!("bandscope: {why}; it will read the recording"));
    }
}

/// Writes the summary of a recording.
pub(super) fn export(input: &Path, output: Option<&Path>) -> Result<()> {
    let summary = with_clock(summary_of(input)?, JobClock::beside(input)?);
    output::write(output, |out| Ok(json::line(&summary, out)?))
}
