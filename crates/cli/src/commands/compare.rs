//! `bandscope compare`: A against B, counters of runs that other tools wrote, or recordings.
//!
//! The way: `recording::counter_files` or `recording::inputs` reads, `studies::compare` compares and checks the conditions, `view` prints.

use crate::commands::report::{self, analyse};
use crate::output;
use crate::output::terminal_options;
use anyhow::{Context, Result, bail};
use bandscope_analysis::Analysis;
use bandscope_recording::Source as _;
use bandscope_recording::counter_files::{self, CounterSet};
use bandscope_recording::text::shown;
use bandscope_studies::compare::{self, Comparison};
use bandscope_studies::conditions::{Checked, Condition};
use bandscope_studies::counters::Options;
use bandscope_view::{Format as _, escape, html, json, junit, markdown, text};
use clap::{Args, ValueEnum};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say what changed from A to B, and which counters can pay for it.
///
/// Takes two recordings, two files of `repeat --output`, or counters: output of perf stat (text in any locale, -x or -j), tables, or JSON of
/// hyperfine.
#[derive(Debug, Args)]
#[command(after_help = "\
Conditions are FIGURE, then >, >=, < or <=, then a VALUE with its unit. A VALUE with a sign and % is the change from A to B, one with a sign the difference, any other the figure of B.
Figures are counters, and counters with /second or /instruction; of runs modes and slow-share; of recordings fraction, pace, lost, gaps, longest-gap. A change whose interval includes zero never fails.

Examples:
  bandscope compare good.txt bad.txt
  bandscope compare good.txt bad.txt --also good-irq.txt bad-irq.txt
  bandscope compare before.bandscope after.bandscope --fail-if 'gaps>+20%'
  bandscope compare before.bandscope after.bandscope -f html -o compared.html
  bandscope compare pfmon.tsv --lost-cycles 7.6e7
  bandscope compare main.json branch.json --fail-if 'elapsed>+3%' -f markdown
  bandscope compare runs-main.json runs-branch.json --fail-if 'slow-share>+10pp'

Exit status: 0 done; 1 a condition of --fail-if is met; 2 bad usage or input.")]
pub struct Arguments {
    /// The baseline.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The changed side; without it A has both: two columns of a table, or two commands of hyperfine.
    #[arg(value_name = "B")]
    b: Option<PathBuf>,
    /// Counters of further runs of A and of B; repeatable.
    #[arg(long, num_args = 2, value_names = ["A", "B"], action = clap::ArgAction::Append)]
    also: Vec<PathBuf>,
    /// Cycles that B lost against A, where no counter says it.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    lost_cycles: Option<f64>,
    /// Units of work in a run of A and of B.
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "1,1")]
    work: Vec<f64>,
    /// Exit with status 1 if this is so; repeatable.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    fail_if: Vec<Condition>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Where to write it [default: standard output]
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
    Markdown,
    Junit,
    Html,
}

/// Reads, compares, prints, checks.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let inputs = [&arguments.a].into_iter().chain(&arguments.b);
    output::apart(arguments.output.as_deref(), inputs.chain(&arguments.also))?;
    let mut comparison = arguments.compare()?;
    comparison.check(&arguments.fail_if)?;
    // Read before there is a file to write to.
    let sides = match arguments.format {
        Format::Html => Some(arguments.sides()?),
        _ => None,
    };
    let to_terminal = arguments.output.is_none() && io::stdout().is_terminal();
    let mut options = terminal_options(to_terminal);
    options.ascii = arguments.ascii;
    // JUnit has no place for them.
    let notes = comparison.notes.iter();
    for note in notes.filter(|_| arguments.format == Format::Junit) {
        output::note(format_args!("bandscope: {}", escape::visible(note)));
    }
    output::write(arguments.output.as_deref(), |out| match arguments.format {
        Format::Text => Ok(text::compare::render(&comparison, &options, out)?),
        Format::Json => Ok(json::document(&comparison, out)?),
        Format::Markdown => Ok(markdown::compare(&comparison, out)?),
        Format::Junit => Ok(junit::render(
            "bandscope compare",
            &comparison.conditions,
            out,
        )?),
        Format::Html => match sides {
            Some(sides) => Ok(html::compare(&comparison, sides, out)?),
            None => Ok(()),
        },
    })?;
    Ok(exit_code(&comparison.conditions))
}

/// 1, and why, if a condition is met; the first of several.
pub fn exit_code(checked: &[Checked]) -> ExitCode {
    let Some(met) = checked.iter().find(|checked| checked.met) else {
        return ExitCode::SUCCESS;
    };
    output::note(format_args!(
        "bandscope: {}: {}",
        escape::visible(&met.condition),
        escape::visible(&met.found)
    ));
    ExitCode::from(1)
}

impl Arguments {
    fn compare(&self) -> Result<Comparison> {
        let fine = |value: &f64| *value > 0.0 && value.is_finite();
        let work: [f64; 2] = self.work[..]
            .try_into()
            .ok()
            .filter(|work: &[f64; 2]| work.iter().all(fine))
            .context("--work: expected two numbers above 0, of A and of B, such as 1000,2000")?;
        if self
            .lost_cycles
            .is_some_and(|lost| !lost.is_finite() || lost == 0.0)
        {
            bail!("--lost-cycles: expected a number that is not 0, such as 7.6e7");
        }
        let is_recording = [Some(&self.a), self.b.as_ref()]
            .map(|path| path.map(|path| counter_files::is_recording(path)));
        match (is_recording, &self.b) {
            ([Some(true), Some(true)], Some(b)) => return self.recordings(b),
            ([Some(true), None], _) => bail!(
                "{}: found one recording, expected a second one",
                shown(&self.a)
            ),
            ([Some(true), _], Some(b)) => bail!(
                "{}: found no recording, expected one, as {} is",
                shown(b),
                shown(&self.a)
            ),
            ([_, Some(true)], Some(b)) => bail!(
                "{}: found a recording, expected counters, as {} has",
                shown(b),
                shown(&self.a)
            ),
            _ => {}
        }
        let (mut a, mut b) = match &self.b {
            Some(b) => (vec![one(&self.a)?], vec![one(b)?]),
            None => both(&self.a)?,
        };
        for pair in self.also.chunks(2) {
            a.push(one(&pair[0])?);
            b.push(one(&pair[1])?);
        }
        if self.format == Format::Html {
            bail!(
                "--format html: found counters, expected two recordings; counters are tables, as in --format markdown"
            );
        }
        let options = Options {
            lost_cycles: self.lost_cycles,
            work,
        };
        Ok(compare::counter_sets(&a, &b, &options))
    }
}

impl Arguments {
    fn recordings(&self, b: &Path) -> Result<Comparison> {
        if !self.also.is_empty() || self.lost_cycles.is_some() {
            bail!("--also and --lost-cycles are for counters: found two recordings");
        }
        let open = |path: &Path| {
            let source = report::open(&[path.to_owned()])?;
            report::refuse_moments(Some(source.manifest()), path)?;
            anyhow::Ok(source)
        };
        let names = [&*self.a, b].map(shown);
        let [of_a, of_b] = [open(&self.a)?, open(b)?];
        let comparison = compare::recordings(&of_a, &of_b, names)?;
        if self.fail_if.iter().any(Condition::is_of_every_cpu) {
            report::refuse_missing_cpus(&of_b, &self.fail_if, b)?;
            let compared = comparison
                .recordings
                .as_ref()
                .map_or(0, |both| both.series.len());
            let all = of_a.series().len();
            if compared < all {
                bail!(
                    "{}: found only {compared} of the {all} series of {}; record them all, or name a CPU in each condition (on cpu N)",
                    shown(b),
                    shown(&self.a)
                );
            }
        }
        Ok(comparison)
    }

    /// Both recordings for the page: each with half of the quanta that one page holds.
    fn sides(&self) -> Result<[Analysis; 2]> {
        let b = self.b.as_ref().context("recordings are two")?;
        let most = html::Html.quanta().map(|most| most / 2);
        let side = |path: &PathBuf| analyse(std::slice::from_ref(path), &[], most);
        Ok([side(&self.a)?, side(b)?])
    }
}

/// A file of one side.
fn one(path: &Path) -> Result<CounterSet> {
    let mut sets = counter_files::open(path)?;
    if sets.len() != 1 {
        bail!(
            "{}: found {} columns or commands, expected one, or no second file",
            shown(path),
            sets.len()
        );
    }
    Ok(sets.remove(0))
}

/// A file of both sides.
fn both(path: &Path) -> Result<(Vec<CounterSet>, Vec<CounterSet>)> {
    let mut sets = counter_files::open(path)?;
    if sets.len() != 2 {
        bail!(
            "{}: found {}, expected a second file, or two columns or commands in this one",
            shown(path),
            match sets.len() {
                1 => "one side".into(),
                many => format!("{many} columns or commands"),
            }
        );
    }
    let b = sets.remove(1);
    Ok((sets, vec![b]))
}
