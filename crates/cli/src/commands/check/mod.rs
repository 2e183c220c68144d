//! `bandscope check`: measures, and says whether each CPU passes.
//!
//! `place.rs` knows where its recordings are. The way: [`passing`] measures and reports one run, or as many as a baseline has; `studies::check` judges; `view` prints.

mod place;

use super::record::{self, Catching, Caught, MachineName, Placement, Places};
use super::{measure, passing};
use crate::interrupt::Interrupt;
use crate::output::{self, Keep, terminal_options};
use crate::values::{self, Cpus};
use anyhow::{Context, Result, bail};
use bandscope_probe::pin;
use bandscope_recording::baseline::{Baseline, MIN_RUNS};
use bandscope_recording::manifest::State;
use bandscope_recording::text::shown;
use bandscope_recording::{Manifest, cpu_list};
use bandscope_report::Report;
use bandscope_simulation::Scenario;
use bandscope_studies::check::{self, Check, Criteria, DEFAULT_CONDITION};
use bandscope_studies::conditions::Condition;
use bandscope_view::{json, junit, markdown, numbers, prometheus, text};
use clap::{Args, ValueEnum};
use place::Place;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measure, and pass or fail against limits or a baseline.
///
/// Prints one line a CPU. Without limits and without a baseline, a CPU may lose 1 %. The recordings are removed unless --keep names a directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Conditions are FIGURE, then >, >=, < or <=, then a value with its unit, then `on cpu N` for one CPU. With a baseline, a value with a sign is a change.
Figures: lost, lost to gaps, slower pace, gaps, pace, longest gap, p99.9 gap, worst 1 ms, tick, host, task:NAME, timer:NAME, irq:NAME, softirq:NAME, each also for all with *, finding:KIND.

Examples:
  bandscope check --fail-if 'lost > 1 %' --fail-if 'longest gap > 50 ms'
  bandscope check --cpus 1 --duration 2s --fail-if 'worst 1 ms < 10 %'
  bandscope check --cpus 1 --duration 10s --save quiet.json
  bandscope check --against quiet.json --fail-if 'task:* > +1 pp'
  bandscope check --against quiet.json -f junit -o check.xml --fail-if 'lost>5%'
  # what lies around long gaps is kept, all is judged
  bandscope check --fail-if 'lost > 5 %' --catch 'gap > 1 ms' --keep caught
  # metrics for node_exporter's textfile collector
  bandscope check --cpus 1 --fail-if 'lost>2%' -f prometheus -o bandscope.prom

Exit status: 0 every CPU passes; 1 one fails; 2 bad usage or input;
129, 130 or 143 a signal ended the run, and nothing had failed until then.")]
pub struct Arguments {
    /// CPUs to measure at the same time, such as 1 or 0,2-5, or all [default: the baseline's, else the quietest one]
    #[arg(long, value_name = "LIST|all", value_parser = values::cpus)]
    cpus: Option<Cpus>,
    /// How long to measure, all runs together [default: as the baseline, else 10s]
    #[arg(long, value_name = "T", value_parser = values::positive_duration, allow_negative_numbers = true)]
    duration: Option<f64>,
    /// Exit with status 1 if this is so; repeatable.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    fail_if: Vec<Condition>,
    /// Fail a CPU that is worse than in this baseline by more than runs scatter.
    #[arg(long, value_name = "BASELINE.json", conflicts_with_all = ["catch", "stop_if"])]
    against: Option<PathBuf>,
    /// Keep a baseline in this file, which does not exist yet; not of a run that fails.
    #[arg(long, value_name = "BASELINE.json", conflicts_with_all = ["against", "catch", "stop_if"])]
    save: Option<PathBuf>,
    /// Runs of a baseline, within the duration.
    #[arg(long, value_name = "N", default_value_t = 5, requires = "save", value_parser = clap::value_parser!(u32).range(i64::from(MIN_RUNS)..=1000))]
    runs: u32,
    #[command(flatten)]
    placement: Placement,
    #[command(flatten)]
    catching: Catching,
    /// `this` machine, or `simulated:SCENARIO`; each run has the next seed.
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Keep the recordings in this directory, which does not exist yet; with --catch what was caught.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Where to write it, a file that does not exist yet; `prometheus` replaces it [default: standard output]
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
    Junit,
    Markdown,
    Prometheus,
}

/// Measures, judges, prints, keeps.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let baseline = arguments
        .against
        .as_deref()
        .map(Baseline::read)
        .transpose()?;
    let conditions = arguments.conditions()?;
    let criteria = Criteria {
        conditions: &conditions,
        baseline: baseline.as_ref(),
        whole_runs: true,
    };
    criteria.check()?;
    let _joined = arguments.placement.join()?;
    let mut plan = arguments.plan(baseline.as_ref())?;
    // Before minutes are spent on what goes there.
    let save = arguments
        .save
        .as_deref()
        .map(|path| Keep::claim(path, "--save"))
        .transpose()?;
    let output = arguments
        .output
        .as_deref()
        .map(|path| arguments.place(path))
        .transpose()?;
    // Before a directory is made that a signal would leave.
    let interrupt = Interrupt::new()?;
    let catches = !arguments.catching.catch.is_empty();
    let place = Place::new(arguments.keep.as_deref(), catches)?;
    let first_seed = baseline.as_ref().map_or(0, |baseline| baseline.runs);
    let measured = plan.measure(first_seed, &place, &interrupt, &criteria);
    let (reports, caught) = measured.inspect_err(|_| place.remove_if_empty())?;
    if reports.is_empty() {
        place.remove_if_empty();
        output::note(format_args!(
            "bandscope: interrupted before a run could be judged, so nothing is judged"
        ));
        return interrupt.exit_code().context("nothing was measured");
    }
    let mut check = check::check(&reports, &criteria)?;
    check.notes.extend(place.told(&caught));
    check.next_step = (!check.passes).then(|| place.next_step(&check, &plan.machine, &caught));
    let ended = interrupt.exit_code();
    if let (Some(save), Some(path)) = (save, &arguments.save) {
        match check.passes && ended.is_none() {
            true => save_baseline(save, path, &reports, &mut check)?,
            false => output::note(format_args!(
                "bandscope: {}: no baseline is saved of a run that fails or is interrupted",
                shown(path)
            )),
        }
    }
    if ended.is_some() {
        arguments.say_that_it_ended(&mut check);
    }
    arguments.print(&reports, &check, output)?;
    // What failed until then fails; what passed until then is not known to pass.
    Ok(match check.passes {
        true => ended.unwrap_or(ExitCode::SUCCESS),
        false => ExitCode::from(1),
    })
}

/// Makes a baseline of the runs, unless nothing could fail against it.
fn save_baseline(save: Keep, path: &Path, reports: &[Report], check: &mut Check) -> Result<()> {
    let baseline = check::baseline(reports).context("a run has a recording")?;
    if let Some(why) = check::cannot_fail(reports, &baseline) {
        bail!(
            "{}: no baseline is saved: {why}; expected a quieter CPU, or limits of your own (--fail-if)",
            shown(path)
        );
    }
    check.notes.push(format!(
        "{} is a baseline of {} runs of {}.",
        shown(path),
        baseline.runs,
        numbers::duration_round(baseline.settings.duration_s * 1e9)
    ));
    check.notes.extend(check::disturbed(&baseline));
    check.notes.extend(check::limits_of(reports, &baseline));
    save.write(|out| Ok(json::document(&baseline, out)?))
}

/// By what share a run may be longer than was asked for, as its quanta are whole: a hundred of them, or more.
const WHOLE_QUANTA: f64 = 0.01;

/// The runs to make.
struct Plan {
    record: record::Arguments,
    /// As it was named, without the seed of a run.
    machine: String,
    runs: u32,
}

impl Arguments {
    fn conditions(&self) -> Result<Vec<Condition>> {
        let is_bare = self.fail_if.is_empty() && self.against.is_none() && self.save.is_none();
        match is_bare {
            true => Ok(vec![Condition::parse(DEFAULT_CONDITION)?]),
            false => Ok(self.fail_if.clone()),
        }
    }

    fn plan(&self, baseline: Option<&Baseline>) -> Result<Plan> {
        if self.catching.needs_a_place(self.keep.as_deref()) {
            bail!("--catch: expected --keep, where what is caught goes, or --on-catch");
        }
        let mut record = measure::defaults()?;
        record.cpus.clone_from(&self.cpus);
        record.placement = self.placement.clone();
        record.catching = self.catching.clone();
        if let Some(machine) = &self.machine {
            record.machine.clone_from(machine);
        }
        MachineName::parse(&record.machine)?;
        let mut runs = if self.save.is_some() { self.runs } else { 1 };
        record.duration = self.duration.unwrap_or(record.duration) / f64::from(runs);
        if let Some(baseline) = baseline {
            let settings = &baseline.settings;
            // Longest gaps and worst windows grow with the length of a run.
            let least = settings.duration_s * (1.0 - WHOLE_QUANTA);
            if let Some(whole) = self.duration.filter(|whole| *whole < least) {
                let [found, least] =
                    [whole, settings.duration_s].map(|s| numbers::duration_round(s * 1e9));
                bail!(
                    "--duration: found {found}, expected {least} or more, the length of a run of the baseline"
                );
            }
            runs = self.duration.map_or(baseline.runs, |whole| {
                (whole / settings.duration_s).round() as u32
            });
            record.duration = settings.duration_s;
            record.rate.clone_from(&settings.rates_hz);
            record.kernel.clone_from(&settings.kernels);
            self.as_baseline(baseline, &mut record);
        }
        // Here all are all: a gate that leaves out the CPU that writes would pass it.
        let is_real = matches!(MachineName::parse(&record.machine)?, MachineName::This);
        if let (true, Some(Cpus::All)) = (is_real, &record.cpus) {
            let mut allowed = pin::allowed().context("cannot ask which CPUs may be used")?;
            allowed.retain(|cpu| !record.placement.own_cpus().contains(cpu));
            record.cpus = Some(Cpus::These(allowed));
        }
        if let Some(baseline) = baseline {
            refuse_other_cpus(baseline, &record.cpus()?)?;
        }
        let machine = record.machine.clone();
        Ok(Plan {
            record,
            machine,
            runs,
        })
    }

    /// CPUs and machine of a baseline, unless they were named.
    fn as_baseline(&self, baseline: &Baseline, record: &mut record::Arguments) {
        if self.machine.is_none() {
            record.machine.clone_from(&baseline.settings.machine);
        }
        if self.cpus.is_none() {
            record.cpus = Some(Cpus::These(known_cpus(baseline)));
        }
    }

    /// The place of the result, which is not that of the baseline: a collector reads metrics from the same file again and again.
    fn place(&self, path: &Path) -> Result<Keep> {
        if output::is_one(path, self.save.iter()).is_some() {
            bail!(
                "{}: found in --save and in --output, expected two names",
                shown(path)
            );
        }
        match self.format {
            Format::Prometheus => Keep::replace(path),
            _ => Keep::claim(path, "--output"),
        }
    }

    /// Says so where the result is read; JUnit's and Prometheus' have no notes.
    fn say_that_it_ended(&self, check: &mut Check) {
        let told = "A signal ended the run: this is of what was measured until then.";
        match self.format {
            Format::Junit | Format::Prometheus => output::note(format_args!("bandscope: {told}")),
            Format::Text | Format::Json | Format::Markdown => {
                check.notes.insert(0, told.to_owned());
            }
        }
    }

    fn print(&self, reports: &[Report], check: &Check, output: Option<Keep>) -> Result<()> {
        let to_terminal = output.is_none() && io::stdout().is_terminal();
        let mut options = terminal_options(to_terminal);
        options.ascii = self.ascii;
        let render = |out: &mut dyn io::Write| match self.format {
            Format::Text => Ok(text::check::render(check, &options, !to_terminal, out)?),
            Format::Json => Ok(json::document(check, out)?),
            Format::Markdown => Ok(markdown::check(check, out)?),
            Format::Prometheus => Ok(prometheus::write(reports, Some(check), out)?),
            Format::Junit => Ok(junit::render(
                "bandscope check",
                &check.checked_with_causes(),
                out,
            )?),
        };
        match output {
            Some(keep) => keep.write(render),
            None => output::write(None, render),
        }
    }
}

fn known_cpus(baseline: &Baseline) -> Vec<u32> {
    baseline.cpus.iter().map(|one| one.cpu).collect()
}

/// Refuses CPUs that a baseline cannot judge.
fn refuse_other_cpus(baseline: &Baseline, asked: &[u32]) -> Result<()> {
    let known = known_cpus(baseline);
    match asked.iter().find(|cpu| !known.contains(cpu)) {
        Some(cpu) => bail!(
            "--cpus: found CPU {cpu}, expected CPUs of the baseline: {}",
            cpu_list::written(&known)
        ),
        None => Ok(()),
    }
}

/// The machine of a run: a simulated one with another seed in each, and after those of a baseline, so that runs scatter.
fn of_run(machine: &str, run: u32) -> Result<String> {
    let MachineName::Simulated(scenario) = MachineName::parse(machine)? else {
        return Ok(machine.to_owned());
    };
    let scenario = Scenario::parse(scenario)?;
    let seed = scenario.seed().wrapping_add(run.into());
    Ok(match run {
        0 => machine.to_owned(),
        _ => format!("simulated:{}", scenario.with_seed(seed).text()),
    })
}

impl Plan {
    /// The report of each run, each with threads and a calibration of its own, and what was caught in the last; fewer if a signal comes.
    fn measure(
        &mut self,
        first_seed: u32,
        place: &Place,
        interrupt: &Interrupt,
        criteria: &Criteria<'_>,
    ) -> Result<(Vec<Report>, Caught)> {
        let mut request = self.record.request()?;
        let (mut reports, mut caught) = (Vec::new(), Caught::default());
        for run in 0..self.runs {
            if interrupt.signal().is_some() {
                break;
            }
            self.record.machine = of_run(&self.machine, first_seed + run)?;
            let (path, moments) = (place.run(run), place.moments(run));
            let places = Places {
                all: Some(&path),
                caught: moments.as_deref(),
            };
            let catching = &self.record.catching;
            let accepted = |manifest: &Manifest| {
                criteria.check_cpus(&manifest.settings.cpus)?;
                catching.check_run(manifest)?;
                record::say_who_does_not_run(manifest);
                Ok(())
            };
            let record = &self.record;
            if let Some(passed) =
                passing::report(record, &mut request, places, interrupt, accepted)?
            {
                let manifest = passed.report.recording.as_ref();
                let is_cut = manifest.is_some_and(|one| one.state == State::Interrupted);
                let whole = passing::measured_all(passed.report, &request.cpus);
                caught = passed.caught;
                // What a signal cut short scatters more than the runs of a baseline, and may lack a CPU.
                if !is_cut || (whole.is_ok() && criteria.baseline.is_none()) {
                    reports.push(whole?);
                }
            }
            place.done_with(&path);
        }
        Ok((reports, caught))
    }
}
