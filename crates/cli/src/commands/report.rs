//! `bandscope report`: says what is in recordings.

use crate::commands::cure;
use crate::commands::passing;
use crate::commands::picture::Picture;
use crate::{output, resources};
use anyhow::{Context, Result, bail};
use bandscope_analysis::{Analysis, detail};
use bandscope_recording::cures::{self, Cures};
use bandscope_recording::disturbances::{self, Log};
use bandscope_recording::inputs::Inputs;
use bandscope_recording::manifest::EventsState;
use bandscope_recording::text::{shell_word, shown};
use bandscope_recording::{Manifest, Source, Window, baseline, experiments, runs};
use bandscope_report::{Report, Warning, WarningKind};
use bandscope_studies::check::{self, Criteria};
use bandscope_studies::conditions::{Condition, LINE_OF_PACE, all_of, is_line, written};
use bandscope_view::{FORMATS, Options, find};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say what recordings and FTQ files hold.
///
/// Several inputs are taken as series of one machine. A directory in which the tasks of a job recorded is read as one recording per task.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bandscope report evening.bandscope
  bandscope report old-ftq-run.dat --format json | jq '.series[0].ledger'
  # everything that was measured: bands, gaps, signals, limits
  bandscope report evening.bandscope --all
  # a picture, and one of two seconds folded at a period
  bandscope report evening.bandscope -f png -o evening.png
  bandscope report evening.bandscope -f png --view fold:1ms --to 2s -o fold.png
  # a page for the browser
  bandscope report evening.bandscope -f html -o evening.html
  # metrics for node_exporter's textfile collector
  bandscope report evening.bandscope -f prometheus -o evening.prom
  # pass or fail; `bandscope check --help` has the figures
  bandscope report evening.bandscope --fail-if 'lost > 1 %'
  # what was booked to a disturbance, against the log of `bandscope inject`
  bandscope report evening.bandscope --truth evening.disturbances.jsonl

Exit status: 0 done; 1 a condition of --fail-if is met; 2 bad usage or input,
also where one of several could not be read: the report is of the others, and names it.")]
pub struct Arguments {
    /// Recordings (directories) and files of the original FTQ.
    #[arg(required = true, value_name = "RECORDING|FILE.dat")]
    inputs: Vec<PathBuf>,
    /// Compare a recording with this log of a disturbance during it (`bandscope inject`); repeatable.
    #[arg(long, value_name = "LOG")]
    truth: Vec<PathBuf>,
    /// Exit with status 1 if this is so, as of `bandscope check`; repeatable.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    fail_if: Vec<Condition>,
    /// Output format.
    #[arg(long, short, default_value = "text", value_parser = formats())]
    format: String,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Text: everything that was measured, not one screen.
    #[arg(long)]
    all: bool,
    /// Plain ASCII, for terminals and mails without Unicode.
    #[arg(long)]
    ascii: bool,
    /// Width in columns of text [default: the terminal's, 80 elsewhere] or in points of a picture [default: 1200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=8000))]
    width: Option<u16>,
    #[command(flatten)]
    picture: Picture,
}

fn formats() -> PossibleValuesParser {
    FORMATS.iter().map(|format| format.name()).into()
}

/// Reads, analyses, draws.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let format = find(&arguments.format).context("the format is in the list")?;
    let to_terminal = arguments.output.is_none() && io::stdout().is_terminal();
    if to_terminal && format.is_binary() {
        bail!("will not write a PNG to a terminal; use --output FILE");
    }
    let mut options = output::terminal_options(to_terminal);
    options.ascii = arguments.ascii;
    options.all = arguments.all;
    if let Some(width) = arguments.width {
        options.width = width.into();
        options.picture_width = width.into();
    }
    if let [file] = &arguments.inputs[..]
        && output::is_of_schema(file, cures::SCHEMA)
    {
        return trials(arguments, file, &options);
    }
    of_another(&arguments.inputs)?;
    arguments
        .picture
        .check(format, !arguments.truth.is_empty())?;
    arguments.picture.apply(&mut options);
    let criteria = Criteria {
        whole_runs: false,
        conditions: &arguments.fail_if,
        baseline: None,
    };
    criteria.check()?;
    let inputs = arguments.inputs.iter().chain(&arguments.truth);
    output::apart(arguments.output.as_deref(), inputs)?;
    let window_s = arguments.picture.window_s();
    let quanta = format.quanta().or(options.quanta());
    let analysis = match window_s {
        None => analyse(&arguments.inputs, &arguments.truth, quanta)?,
        Some(window_s) => stretch(&arguments.inputs, window_s, quanta, &mut options)?,
    };
    if let ([first, ..], false) = (&arguments.inputs[..], arguments.fail_if.is_empty()) {
        refuse_several_tasks(&analysis.report, first)?;
        refuse_unjudged(&arguments.inputs, &arguments.fail_if)?;
    }
    let check = check::check(std::slice::from_ref(&analysis.report), &criteria)?;
    if !arguments.fail_if.is_empty() {
        options.check = Some(check.clone());
    }
    output::write(arguments.output.as_deref(), |out| {
        Ok(format.render(&analysis, &options, out)?)
    })?;
    if to_terminal {
        say_if_fleet(&analysis.report, &arguments.inputs);
    }
    for failed in check.cpus.iter().filter(|cpu| !cpu.passes) {
        let line = bandscope_view::escape::visible(&failed.sentence);
        output::note(format_args!("bandscope: {line}"));
    }
    let all_read = say_left_out(left_out(&analysis.report));
    Ok(match check.passes {
        true => all_read,
        false => ExitCode::from(1),
    })
}

/// The inputs that could not be read, each in a sentence.
pub fn left_out(report: &Report) -> impl Iterator<Item = String> {
    let is_it = |one: &&Warning| one.kind == WarningKind::UnreadablePart;
    report.warnings.iter().filter(is_it).map(|one| {
        let advice = one.advice.as_deref().unwrap_or_default();
        format!("{} {advice}", one.message)
    })
}

/// Says on standard error which inputs could not be read: the result is of the others. The exit status is that of bad input if there are any.
pub fn say_left_out(unreadable: impl Iterator<Item = String>) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for why in unreadable {
        code = ExitCode::from(2);
        let why = bandscope_view::escape::visible(&why);
        output::note(format_args!("bandscope: {why}"));
    }
    code
}

/// Says who compares nodes, where there are several.
fn say_if_fleet(report: &Report, inputs: &[PathBuf]) {
    let nodes = report.series.iter().filter_map(|one| one.place.as_ref());
    let nodes: BTreeSet<&str> = nodes.map(|place| &*place.node).collect();
    if let ([input], true) = (inputs, nodes.len() > 1) {
        output::note(format_args!(
            "bandscope: {} nodes; which stand out: bandscope fleet {}",
            nodes.len(),
            shown(input)
        ));
    }
}

/// Refuses a flight recording, where what was lost in all is asked for.
///
/// # Errors
/// If the recording at `input` holds moments.
pub fn refuse_moments(manifest: Option<&Manifest>, input: &Path) -> Result<()> {
    if manifest.is_some_and(Manifest::keeps_moments) {
        bail!(
            "{}: found moments that were caught, expected a recording of everything (record without --catch): what moments lose says nothing of the time between",
            shown(input)
        );
    }
    Ok(())
}

/// Refuses the recordings of several tasks, where one machine is asked about.
///
/// # Errors
/// If the report of `input` has series of several.
pub fn refuse_several_tasks(report: &Report, input: &Path) -> Result<()> {
    if let [first, others @ ..] = &report.series[..]
        && others.iter().any(|one| one.place != first.place)
    {
        bail!(
            "{}: found recordings of several tasks, expected one, such as {}",
            shown(input),
            first.origin
        );
    }
    Ok(())
}

/// Refuses recordings of which conditions would pass what was not measured. Each is asked itself, as a report has the manifest of the first.
fn refuse_unjudged(inputs: &[PathBuf], conditions: &[Condition]) -> Result<()> {
    let is_of_name = |name: &str| (is_line(name) || all_of(name).is_some()) && name != LINE_OF_PACE;
    let of_name =
        (conditions.iter()).find(|one| written(one.figure()).as_deref().is_some_and(is_of_name));
    let mut is_named = None;
    for input in inputs {
        // The report says which of several cannot be read.
        let Ok(source) = open_with_tasks(std::slice::from_ref(input)) else {
            continue;
        };
        let manifest = source.manifest();
        refuse_moments(Some(manifest), input)?;
        refuse_missing_cpus(&source, conditions, input)?;
        let has_events = manifest.events.state == EventsState::On && !manifest.is_imported();
        if let Some(condition) = of_name
            && *is_named.get_or_insert(has_events) != has_events
        {
            bail!(
                "--fail-if {:?}: found recordings with and without kernel events, expected one kind; {} differs from the first: report it separately",
                condition.text(),
                shown(input)
            );
        }
    }
    Ok(())
}

/// Refuses a recording in which a CPU has no quantum, unless each condition names its CPU.
pub fn refuse_missing_cpus(source: &Inputs, conditions: &[Condition], input: &Path) -> Result<()> {
    let series = source.series().iter().map(|one| one.cpu);
    match passing::unmeasured(series, &source.manifest().settings.cpus) {
        Some(cpu) if conditions.iter().any(Condition::is_of_every_cpu) => bail!(
            "{}: nothing was measured on CPU {cpu}; record longer, or name another CPU in each condition (on cpu N)",
            shown(input)
        ),
        _ => Ok(()),
    }
}

/// Refuses what another command keeps and reads.
fn of_another(files: &[PathBuf]) -> Result<()> {
    let others = [
        (runs::SCHEMA, "the runs of a command", "repeat --from"),
        (baseline::SCHEMA, "a baseline", "check --against"),
        (experiments::SCHEMA, "experiments on a core", "lab"),
    ];
    for file in files {
        let is_of = |(schema, ..): &&(&str, _, _)| output::is_of_schema(file, schema);
        if let Some((_, what, command)) = others.iter().find(is_of) {
            let file = shown(file);
            let word = shell_word(&file);
            bail!("{file}: holds {what}; expected a recording, or: bandscope {command} {word}");
        }
    }
    Ok(())
}

/// What came of the trials of `bandscope cure`.
fn trials(arguments: &Arguments, file: &Path, options: &Options) -> Result<ExitCode> {
    let format = match &*arguments.format {
        "text" => cure::Format::Text,
        "json" => cure::Format::Json,
        "html" => cure::Format::Html,
        other => {
            bail!("--format: found {other}, expected text, json or html for the trials of a cure")
        }
    };
    if !arguments.fail_if.is_empty() || !arguments.truth.is_empty() {
        bail!(
            "{}: holds the trials of a cure; --fail-if and --truth are for recordings",
            shown(file)
        );
    }
    let output = arguments.output.as_deref();
    output::apart(output, &arguments.inputs)?;
    cure::print(&Cures::read(file)?, format, options, output)?;
    Ok(ExitCode::SUCCESS)
}

/// The report of one recording, on standard output.
pub fn print(recording: &Path, format: &str) -> Result<()> {
    let format = find(format).context("the format is in the list")?;
    let analysis = analyse(&[recording.to_owned()], &[], format.quanta())?;
    let options = output::terminal_options(io::stdout().is_terminal());
    output::write(None, |out| Ok(format.render(&analysis, &options, out)?))
}

/// The formats that may go to a terminal.
pub fn printed_formats() -> PossibleValuesParser {
    let printed = FORMATS.iter().filter(|format| !format.is_binary());
    printed.map(|format| format.name()).into()
}

/// Opens recordings and files as one source, and says on standard error what is odd about them.
pub fn open(inputs: &[PathBuf]) -> Result<Inputs> {
    resources::start_threads()?;
    Ok(Inputs::open(inputs)?)
}

/// The same, where a directory may hold the recordings of a job's tasks.
pub fn open_with_tasks(inputs: &[PathBuf]) -> Result<Inputs> {
    resources::start_threads()?;
    Ok(Inputs::open_with_tasks(inputs)?)
}

/// A window of recordings, in seconds since their start.
fn stretch(
    inputs: &[PathBuf],
    (from_s, to_s): (f64, f64),
    quanta: Option<usize>,
    options: &mut Options,
) -> Result<Analysis> {
    let source = open_with_tasks(inputs)?;
    let window = Window::new(&source, from_s, to_s)?;
    if window.is_empty() {
        let to = match to_s.is_finite() {
            true => format!("and {to_s} s"),
            false => "and the end".to_owned(),
        };
        bail!(
            "--from, --to: no quantum begins between {from_s} s {to}; what was recorded is {} s long",
            window.whole_s()
        );
    }
    options.window_s = Some((from_s, to_s.min(window.whole_s())));
    let mut analysis = bandscope_analysis::analyse_window(&window, &names(inputs))?;
    details(&window, quanta, &mut analysis)?;
    Ok(analysis)
}

fn names(inputs: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| shown(path);
    inputs.iter().map(name).collect()
}

/// Adds quanta themselves, where an output wants them.
fn details(source: &dyn Source, quanta: Option<usize>, analysis: &mut Analysis) -> Result<()> {
    if let Some(most) = quanta {
        analysis.details = detail::collect(source, analysis, most)?;
    }
    Ok(())
}

/// The analysis of recordings and files, against logs; `quanta` is how many of them are wanted themselves, if any.
pub fn analyse(inputs: &[PathBuf], truth: &[PathBuf], quanta: Option<usize>) -> Result<Analysis> {
    if !truth.is_empty() && inputs.len() > 1 {
        bail!(
            "--truth: found {} inputs, expected the one recording that was made while it was disturbed",
            inputs.len()
        );
    }
    let logs: Vec<Log> = truth
        .iter()
        .map(|path| disturbances::read(path))
        .collect::<Result<_, _>>()?;
    let source = open_with_tasks(inputs)?;
    if !truth.is_empty() && source.len() > 1 {
        bail!(
            "--truth: found the parts of {} tasks, expected the one recording that was made while it was disturbed",
            source.len()
        );
    }
    let mut analysis = bandscope_analysis::analyse_against(&source, &names(inputs), &logs)?;
    details(&source, quanta, &mut analysis)?;
    Ok(analysis)
}
