//! `bandscope synth`: a recording with known truth, from the simulated machine.
//!
//! The way: a scenario and a request in; `simulation` runs the measuring loop of `sampler` over it; out come a
//! recording, or a file of the original FTQ, and the truth beside it (docs/simulation.md).

pub mod scenarios;

use super::record;
use crate::interrupt::Interrupt;
use crate::output;
use crate::values::{self, CpuList};
use anyhow::{Result, bail};
use bandscope_recording::dat::write_dat;
use bandscope_sampler::machine::Length;
use bandscope_sampler::{Machine, MachineError, Request};
use bandscope_simulation::document::Document;
use bandscope_simulation::presets::{Preset, preset_of};
use bandscope_simulation::{Scenario, SimulatedMachine, Truth, synthesise_until};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write a recording with known truth, from the simulated machine.
///
/// A scenario says what happens to the machine; the measuring loop runs over it as over a real one. The truth is
/// written as `truth.json` into the recording, or beside the file. The same scenario, seed and settings give
/// the same quanta and gaps. Prints the path.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bandscope synth --list
  bandscope synth tick:hz=250,cost=3us+noise:sigma=0.2% --duration 5s
  bandscope synth flips:memory=1 --kernel mulss80,ftq-o2 --seed 7
  bandscope synth x-10khz --output x.dat
  bandscope synth x-10khz --output x.bandscope && bandscope report x.bandscope")]
pub struct Arguments {
    /// What happens, as in `tick:hz=250+flips`, or a preset; see --list.
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    scenario: Option<String>,
    /// List the scenarios, their parameters and the presets.
    #[arg(long, conflicts_with = "scenario")]
    list: bool,
    /// How to print the list.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Seed of everything random, in place of the scenario's own.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// CPUs to simulate, such as 1 or 0,2-5.
    #[arg(long, value_name = "LIST", value_parser = values::cpu_list, default_value = "0")]
    cpus: CpuList,
    /// Quanta per second; several rates alternate [default: the preset's, or 10000,7777; 10000 for a .dat file]
    #[arg(long, value_name = "HZ,...", value_delimiter = ',', value_parser = values::rate, allow_negative_numbers = true)]
    rate: Vec<f64>,
    /// How long to measure, all segments together [default: the preset's, or 10s]
    #[arg(long, value_name = "T", value_parser = values::positive_duration, allow_negative_numbers = true, conflicts_with = "samples")]
    duration: Option<f64>,
    /// Quanta to measure of each rate and work kernel, in place of a duration.
    #[arg(long, value_name = "N", value_parser = values::samples, allow_negative_numbers = true)]
    samples: Option<u64>,
    /// Work kernels, several alternate [default: the preset's, or mulss80, above 100 kHz mulss20]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    kernel: Vec<String>,
    /// How long the work kernel runs before the first quantum.
    #[arg(long, value_name = "T", default_value = "0s", value_parser = values::duration, allow_negative_numbers = true)]
    start_delay: f64,
    /// Length of a segment where several rates or work kernels alternate.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = values::positive_duration, allow_negative_numbers = true)]
    segment: f64,
    /// Ticks per nanosecond that quanta are made with, in place of what the simulated calibration finds.
    #[arg(long, value_name = "X", value_parser = values::ticks_per_ns, allow_negative_numbers = true)]
    ticks_per_ns: Option<f64>,
    /// A recording, or a file of the original FTQ if it ends in .dat [default: the scenario's names, .bandscope]
    #[arg(long, short, value_name = "DIR|FILE.dat")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Prints the list, or synthesises and prints where.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Some(text) = &arguments.scenario else {
        output::write(None, |out| match arguments.format {
            Format::Text => scenarios::as_text(out),
            Format::Json => scenarios::as_json(out),
        })?;
        return Ok(ExitCode::SUCCESS);
    };
    values::not_too_many("--rate", &arguments.rate)?;
    values::not_too_many("--kernel", &arguments.kernel)?;
    let mut scenario = Scenario::parse(text)?;
    if let Some(seed) = arguments.seed {
        scenario = scenario.with_seed(seed);
    }
    let path = arguments.path(text);
    let interrupt = Interrupt::new()?;
    let request = arguments.request(preset_of(text), is_dat(&path));
    if is_dat(&path) {
        write_file(&scenario, &request, &path, &interrupt)?;
    } else {
        write_recording(&scenario, &request, &path, &interrupt)?;
    }
    interrupt.nothing_to_lose();
    output::write(None, |out| output::path(out, &path))?;
    Ok(interrupt.exit_code().unwrap_or(ExitCode::SUCCESS))
}

/// A recording with `truth.json` in it.
fn write_recording(
    scenario: &Scenario,
    request: &Request,
    path: &Path,
    interrupt: &Interrupt,
) -> Result<()> {
    output::free(path, "--output")?;
    let mut machine = SimulatedMachine::new(scenario.clone());
    let mut manifest = machine.prepare(request)?;
    record::sign(&mut manifest);
    manifest.run = run_name(scenario, request);
    record::write(
        &mut machine,
        request,
        &mut manifest,
        path,
        (interrupt, None),
    )?;
    let truths = machine.truths();
    write_truth(&path.join("truth.json"), scenario, request, truths).inspect_err(|_| {
        // Nothing is lost that cannot be made again; the first error is the one that matters.
        let _ = std::fs::remove_dir_all(path);
    })
}

/// A name for the run that follows from what it is made of (by FNV-1a), so that its files do, too.
fn run_name(scenario: &Scenario, request: &Request) -> String {
    let text = format!("{} {request:?}", scenario.text());
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// A file of the original FTQ, with its truth beside it.
fn write_file(
    scenario: &Scenario,
    request: &Request,
    path: &Path,
    interrupt: &Interrupt,
) -> Result<()> {
    let truth_path = path.with_extension("truth.json");
    output::free(path, "--output")?;
    output::free(&truth_path, "--output")?;
    let series = request.series().len() * request.cpus.len();
    if series != 1 {
        bail!(
            "an FTQ file holds one series, and this run has {series}; choose one --rate, one --kernel and one of --cpus, or write a recording"
        );
    }
    let run = synthesise_until(scenario, request, interrupt.stop());
    let (recording, truths) = run.map_err(|error| match error {
        MachineError::Consumer(error) => anyhow::anyhow!(error),
        other => other.into(),
    })?;
    write_truth(&truth_path, scenario, request, &truths)?;
    output::write(Some(path), |out| Ok(write_dat(&recording, 0, out)?)).inspect_err(|_| {
        let _ = std::fs::remove_file(&truth_path);
    })
}

fn write_truth(
    path: &Path,
    scenario: &Scenario,
    request: &Request,
    truths: &[Truth],
) -> Result<()> {
    let document = Document {
        scenario,
        request,
        truths,
    };
    // Beside a file, or in the recording whose truth it is.
    output::put(Some(path), |out| {
        serde_json::to_writer(&mut *out, &document)?;
        Ok(writeln!(out)?)
    })
}

fn is_dat(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dat")
}

impl Arguments {
    /// The resolved plan.
    fn request(&self, preset: Option<&Preset>, one_series: bool) -> Request {
        let rates_hz = match (preset, one_series) {
            _ if !self.rate.is_empty() => self.rate.clone(),
            (Some(preset), _) => vec![preset.rate_hz],
            (None, true) => vec![10_000.0],
            (None, false) => vec![10_000.0, 7777.0],
        };
        let fastest = rates_hz.iter().copied().fold(0.0, f64::max);
        let kernel = match preset {
            Some(preset) => preset.kernel,
            None if fastest > 1e5 => "mulss20",
            None => "mulss80",
        };
        let kernels: Vec<&str> = match &self.kernel[..] {
            [] => vec![kernel],
            given => given.iter().map(String::as_str).collect(),
        };
        let usual = preset.map_or(10.0, |preset| preset.duration_s);
        let seconds = self.duration.unwrap_or(usual);
        let request = bandscope_simulation::request(&rates_hz, &kernels, seconds);
        Request {
            cpus: self.cpus.0.clone(),
            length: self
                .samples
                .map_or(Length::Duration(seconds), Length::Samples),
            start_delay_s: self.start_delay,
            segment_s: self.segment,
            ticks_per_ns: self.ticks_per_ns,
            ..request
        }
    }

    fn path(&self, scenario: &str) -> PathBuf {
        self.output.clone().unwrap_or_else(|| {
            let name = |part: &str| part.split(':').next().unwrap_or(part).to_owned();
            let names: Vec<_> = scenario.split('+').map(name).collect();
            format!("{}.bandscope", names.join("+")).into()
        })
    }
}
