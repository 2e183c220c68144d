//! `bandscope record`: measures and writes a recording.

mod catching;
mod choices;
pub(super) mod job;
mod on_catch;
mod placement;
mod preparing;
mod summary;
mod way;
mod writing;

use crate::interrupt::Interrupt;
use crate::output;
use crate::values::{self, Cpus};
use anyhow::{Context, Result, bail};
use bandscope_probe::kernels::{kernel_for_rate, ordered_for_rate};
use bandscope_probe::{ThisMachine, pin, rank};
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::{Manifest, SCHEMA, State};
use bandscope_sampler::Request;
use bandscope_sampler::machine::{Length, Watch};
use bandscope_simulation::{Scenario, SimulatedMachine};
pub(super) use catching::{Catching, say_who_does_not_run};
pub(super) use choices::When;
use choices::{ClockRead, StoreBypassSetting};
use clap::Args;
pub(super) use placement::Placement;
pub(super) use preparing::{AnyMachine, prepare, prepare_unless_told};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
pub(super) use summary::{Caught, Tally, say_if_interrupted};
use summary::{say_if_lengthened, summarise};
pub(super) use way::{Places, Way};
pub(super) use writing::{write, write_quietly};

/// Measure CPUs and write a recording.
///
/// Prints the recording's path. With several rates or work kernels, segments of each alternate, so that all
/// see the same machine.
#[derive(Debug, Args)]
// The options of bandscope without a command are these, and have a group of that name.
#[group(skip)]
#[command(after_help = "\
Examples:
  bandscope record
  bandscope record --cpus 2,3 --rate 10kHz --duration 1min -o evening.bandscope
  bandscope record --cpus all --duration 1min
  bandscope record --machine simulated:tick:hz=250,cost=3us+flips --duration 5s")]
pub struct Arguments {
    /// CPUs to measure at the same time, such as 1 or 0,2-5. `all` leaves out the first, which writes, except with --buffered
    /// [default: the quietest one]
    #[arg(long, value_name = "LIST|all", value_parser = values::cpus)]
    pub(super) cpus: Option<Cpus>,
    /// Quanta per second; several rates alternate.
    #[arg(long, value_name = "HZ,...", value_delimiter = ',', default_value = "10000,7777", value_parser = values::rate, allow_negative_numbers = true)]
    pub(super) rate: Vec<f64>,
    /// How long to measure, all segments together.
    #[arg(long, value_name = "T", default_value = "10s", value_parser = values::positive_duration, allow_negative_numbers = true, conflicts_with = "samples")]
    pub(super) duration: f64,
    /// Quanta to measure of each rate and work kernel, in place of a duration.
    #[arg(long, value_name = "N", value_parser = values::samples, allow_negative_numbers = true)]
    samples: Option<u64>,
    /// Work kernels, see `bandscope kernels`; several alternate [default: a register chain, above 100 kHz a short one]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) kernel: Vec<String>,
    /// How long the work kernel runs before the first quantum.
    #[arg(long, visible_alias = "warm-up", value_name = "T", default_value = "200ms", value_parser = values::duration, allow_negative_numbers = true)]
    start_delay: f64,
    /// Length of a segment where several rates or work kernels alternate.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = values::positive_duration, allow_negative_numbers = true)]
    segment: f64,
    /// Ticks per nanosecond of the clock, in place of what calibration finds.
    #[arg(long, value_name = "X", value_parser = values::ticks_per_ns, allow_negative_numbers = true)]
    ticks_per_ns: Option<f64>,
    /// How to read the clock inside a quantum; at its end it is always read in order [default: plain, above 100 kHz ordered]
    #[arg(long, value_enum)]
    clock_read: Option<ClockRead>,
    /// Performance counters after gaps; `auto`: if they are available and cheap.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub(super) counters: When,
    /// Kernel events on the measured CPUs, which name the gaps; `auto`: if they are permitted.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub(super) trace: When,
    /// Speculative store bypass of the measuring thread: its loads may run ahead of stores. On some cores memory renaming depends on it.
    #[arg(long, value_enum, default_value_t = StoreBypassSetting::Leave)]
    store_bypass: StoreBypassSetting,
    /// Keep everything in locked memory until the end, and write nothing while measuring.
    #[arg(long, conflicts_with_all = ["catch", "stop_if"])]
    buffered: bool,
    #[command(flatten)]
    pub(super) placement: Placement,
    #[command(flatten)]
    pub(super) catching: Catching,
    /// `this` machine, or `simulated:SCENARIO`, see `bandscope synth --list`.
    #[arg(long, value_name = "MACHINE", default_value = "this")]
    pub(super) machine: String,
    /// Print no summary at the end.
    #[arg(long, short)]
    quiet: bool,
    /// The recording, a directory that does not exist yet; tasks of a job share it [default: bandscope-DATE-TIME.bandscope]
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
}

/// What `--machine` names.
pub(super) enum MachineName<'a> {
    /// The machine that this program runs on.
    This,
    /// A simulated one, in this scenario.
    Simulated(&'a str),
}

impl MachineName<'_> {
    /// Reads the name.
    ///
    /// # Errors
    /// If it names no machine.
    pub(super) fn parse(name: &str) -> Result<MachineName<'_>> {
        match (name, name.split_once(':')) {
            ("this", _) => Ok(MachineName::This),
            (_, Some(("simulated", scenario))) => Ok(MachineName::Simulated(scenario)),
            _ => bail!("--machine: found {name:?}, expected `this` or `simulated:SCENARIO`"),
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Recorded {
    /// Where the recording is.
    pub path: PathBuf,
    /// The measured CPUs.
    pub cpus: Vec<u32>,
    /// How long it measured each CPU, all segments together.
    pub duration_s: f64,
    /// What was measured.
    pub tally: Tally,
    /// What a flight recorder made of it.
    pub caught: Caught,
    /// Whether it is a task's that the report of a fleet will ask for; an interrupted one has no time for that.
    pub leaves_summary: bool,
    /// The signals, also those that come later.
    interrupt: Interrupt,
}

impl Recorded {
    /// 0, or 128 and the number of the signal that came.
    pub fn exit_code(&self) -> ExitCode {
        self.interrupt.exit_code().unwrap_or(ExitCode::SUCCESS)
    }
}

/// Records, prints where, and sums up on standard error.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let recorded = record(arguments)?;
    if !arguments.quiet {
        summarise(&recorded);
    }
    if output::takes(&io::stdout()) {
        output::write(None, |out| output::path(out, &recorded.path))?;
    }
    // Last: the recording is whole.
    if recorded.leaves_summary {
        super::fleet::leave_summary(&recorded.path);
    }
    Ok(recorded.exit_code())
}

/// Prepares the machine, measures, and writes the recording.
pub fn record(arguments: &Arguments) -> Result<Recorded> {
    let _joined = arguments.placement.join()?;
    let request = arguments.request()?;
    let shared = arguments.path();
    let path = job::place(shared.clone(), arguments.output())?;
    // Before ten seconds are spent on it.
    job::free(&shared, &path)?;
    let interrupt = Interrupt::new()?;
    let mut machine = arguments.machine()?;
    let mut manifest = prepare(&mut *machine, &request, &interrupt)?;
    if !manifest.settings.chosen.is_empty() {
        output::note(format_args!(
            "bandscope: measures CPU {}: {}",
            cpu_list::written(&manifest.settings.cpus),
            manifest.settings.chosen
        ));
    }
    arguments.say_who_writes()?;
    say_if_lengthened(&manifest.clock);
    fill_in(&mut manifest, arguments, &request);
    arguments.catching.check_run(&manifest)?;
    catching::say_what_has_no_name(&manifest);
    catching::say_who_does_not_run(&manifest);
    let on_catch = arguments.catching.on_catch.as_deref();
    job::make_parents(&manifest, &path)?;
    let tally = write(
        &mut *machine,
        &request,
        &mut manifest,
        &path,
        (&interrupt, on_catch),
    )?;
    let leaves_summary =
        manifest.rank.is_some() && !manifest.keeps_moments() && manifest.state == State::Complete;
    if !leaves_summary {
        interrupt.nothing_to_lose();
    }
    let measured_s = tally.seconds(manifest.clock.ticks_per_ns);
    Ok(Recorded {
        path,
        caught: Caught::of(&manifest),
        leaves_summary,
        duration_s: measured_s / manifest.settings.cpus.len().max(1) as f64,
        cpus: manifest.settings.cpus,
        tally,
        interrupt,
    })
}

/// Adds which program recorded, and when.
pub(super) fn sign(manifest: &mut Manifest) {
    manifest.schema = SCHEMA.into();
    manifest.tool = tool();
    manifest.started = now();
}

/// Program and version.
pub(super) fn tool() -> String {
    format!("bandscope {}", env!("CARGO_PKG_VERSION"))
}

/// The wall clock, RFC 3339 in UTC.
pub(super) fn now() -> String {
    chrono::Utc::now().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Adds to the machine's manifest what only the command knows.
pub(super) fn fill_in(manifest: &mut Manifest, arguments: &Arguments, request: &Request) {
    sign(manifest);
    // What makes no sense was refused before.
    manifest.rank = rank::of_this_process().ok().flatten();
    let settings = &mut manifest.settings;
    settings.machine = arguments.machine.clone();
    settings.rates_hz = request.rates_hz.clone();
    settings.kernels = request.kernels.clone();
    settings.segment_s = request.segment_s;
    settings.duration_s = request.duration_s();
    settings.start_delay_s = request.start_delay_s;
    settings.catch = arguments.catching.settings();
    settings.priority = request
        .priority
        .map_or_else(String::new, |one| one.to_string());
    settings.control_groups = arguments.placement.control_groups();
    settings.housekeeping = cpu_list::written(&request.housekeeping);
    settings.clock_read = if request.ordered_reads {
        "ordered"
    } else {
        "plain"
    }
    .into();
}

impl Arguments {
    /// The resolved plan.
    pub(super) fn request(&self) -> Result<Request> {
        values::not_too_many("--rate", &self.rate)?;
        values::not_too_many("--kernel", &self.kernel)?;
        self.catching
            .check(self.is_real() || self.cpus()?.len() < 2)?;
        self.catching.check_events(self.trace, self.is_real())?;
        self.placement.check(self.is_real())?;
        let fastest = self.rate.iter().copied().fold(0.0, f64::max);
        let clock_read = self.clock_read.map(|read| read == ClockRead::Ordered);
        Ok(Request {
            cpus: self.cpus()?,
            rates_hz: self.rate.clone(),
            kernels: if self.kernel.is_empty() {
                vec![kernel_for_rate(fastest).to_owned()]
            } else {
                self.kernel.clone()
            },
            length: self
                .samples
                .map_or(Length::Duration(self.duration), Length::Samples),
            start_delay_s: self.start_delay,
            segment_s: self.segment,
            ticks_per_ns: self.ticks_per_ns,
            ordered_reads: clock_read.unwrap_or_else(|| ordered_for_rate(fastest)),
            buffered: self.buffered,
            counters: self.counters.choice(),
            trace: self.trace.choice(),
            watch: match self.catching.settings() {
                None => Watch::Senders,
                Some(_) => Watch::All,
            },
            tracepoints: self.catching.event.clone(),
            store_bypass: self.store_bypass.setting(),
            priority: self.placement.priority,
            housekeeping: self.placement.own_cpus().to_vec(),
            self_test: true,
        })
    }

    pub(super) fn machine(&self) -> Result<AnyMachine> {
        Ok(match MachineName::parse(&self.machine)? {
            MachineName::This => Box::new(ThisMachine::new()),
            MachineName::Simulated(scenario) => {
                Box::new(SimulatedMachine::new(Scenario::parse(scenario)?))
            }
        })
    }

    /// Whether it would measure the machine that it runs on.
    pub(super) fn is_real(&self) -> bool {
        matches!(MachineName::parse(&self.machine), Ok(MachineName::This))
    }

    /// The CPUs asked for; empty if none were.
    ///
    /// # Errors
    /// If all were asked for, and nobody knows which there are.
    pub(super) fn cpus(&self) -> Result<Vec<u32>> {
        match &self.cpus {
            None => Ok(Vec::new()),
            Some(Cpus::These(cpus)) => Ok(cpus.clone()),
            Some(Cpus::All) if !self.is_real() => {
                bail!(
                    "--cpus: found all, expected numbers: a simulated machine has the CPUs that are named"
                )
            }
            Some(Cpus::All) => Ok(self.all_cpus()?.1),
        }
    }

    /// The CPU that writes what the others measure, where one of all does, and those others.
    fn all_cpus(&self) -> Result<(Option<u32>, Vec<u32>)> {
        let mut allowed = pin::allowed().context("cannot ask which CPUs may be used")?;
        let own = self.placement.own_cpus();
        allowed.retain(|cpu| !own.contains(cpu));
        // The first CPU has most of the machine's own work anyway.
        let is_one_kept = own.is_empty() && !self.buffered && allowed.len() > 1;
        let writer = is_one_kept.then(|| allowed.remove(0));
        Ok((writer, allowed))
    }

    /// Says which CPU is not measured though all were asked for.
    fn say_who_writes(&self) -> Result<()> {
        if !self.quiet
            && self.cpus == Some(Cpus::All)
            && let (Some(writer), _) = self.all_cpus()?
        {
            output::note(format_args!(
                "bandscope: CPU {writer} writes, and is not measured; --buffered measures it, too"
            ));
        }
        Ok(())
    }

    /// The recording asked for.
    pub(super) fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Where the recording goes: by default a name made of the time of this call.
    pub(super) fn path(&self) -> PathBuf {
        let name = || values::name_of_the_time("bandscope");
        self.output.clone().unwrap_or_else(name)
    }
}
