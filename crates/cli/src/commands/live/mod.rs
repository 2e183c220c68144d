//! `bandscope live`: measures as `record` does, and shows it meanwhile.
//!
//! The way through: the same machine hands its batches the same way to a recording, where one is wanted, and to
//! [`bandscope_analysis::live::Monitor`]; several times a second what that knows is put where the thread of
//! [`viewer`] finds it, which draws it by `bandscope_view::live`. That thread runs on CPUs that are not measured, and a terminal that is
//! slow, or stands still, keeps nobody waiting but it.

mod viewer;

use super::measure;
use super::record::{self, Catching, Caught, Placement, Places, Tally, Way, When};
use crate::interrupt::{Interrupt, end_unmeasured};
use crate::output;
use crate::resources;
use crate::values::{self, Cpus};
use anyhow::{Context, Result, bail};
use bandscope_analysis::live::Monitor;
use bandscope_probe::{ThisMachine, pin};
use bandscope_recording::Manifest;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::State;
use bandscope_recording::text::shown;
use bandscope_sampler::{Batch, Machine, MachineError, Request};
use bandscope_simulation::{RealTime, Scenario, SimulatedMachine};
use bandscope_view::escape;
use bandscope_view::live::{Facts, Look, lines};
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use viewer::{Shared, Viewer};

/// A run without `--duration` is planned for so long, and ends when somebody says so.
const NO_END_S: f64 = 365.0 * 86_400.0;
/// How often what is known is made ready to be drawn.
const BETWEEN_SNAPSHOTS: Duration = Duration::from_millis(100);
/// How long a terminal that stands still may keep the program from ending.
const TERMINAL_MAY_TAKE: Duration = Duration::from_secs(2);

/// Watch CPUs being measured.
///
/// On a terminal: what each CPU loses over time, the paces of the selected one, where its time goes, and its largest gaps. The last line
/// lists the keys. Elsewhere: a line per second and CPU. Measures as `bandscope record` does, and with --output records the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bandscope live
  bandscope live --cpus 2-5 --duration 1min --output evening.bandscope
  bandscope live --cpus 3 | head -20
  bandscope live --catch 'gap > 100 us' --output night.bandscope
  bandscope live --machine simulated:tick:hz=250,cost=3us+flips")]
pub struct Arguments {
    /// CPUs to measure at the same time, such as 1 or 0,2-5. `all` leaves out the first, which draws [default: the quietest one]
    #[arg(long, value_name = "LIST|all", value_parser = values::cpus)]
    cpus: Option<Cpus>,
    /// Quanta per second; several rates alternate.
    #[arg(long, value_name = "HZ,...", value_delimiter = ',', default_value = "10000,7777", value_parser = values::rate, allow_negative_numbers = true)]
    rate: Vec<f64>,
    /// How long to measure [default: until q, Ctrl-C or a signal]
    #[arg(long, value_name = "T", value_parser = values::positive_duration, allow_negative_numbers = true)]
    duration: Option<f64>,
    /// Work kernels, see `bandscope kernels`; several alternate [default: a register chain, above 100 kHz a short one]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    kernel: Vec<String>,
    /// Performance counters after gaps; `auto`: if they are available and cheap.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    counters: When,
    /// Kernel events on the measured CPUs, which name the gaps; `auto`: if they are permitted.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    trace: When,
    #[command(flatten)]
    placement: Placement,
    #[command(flatten)]
    catching: Catching,
    /// `this` machine, or `simulated:SCENARIO`, see `bandscope synth --list`, in real time.
    #[arg(long, value_name = "MACHINE", default_value = "this")]
    machine: String,
    /// Also record, into a directory that does not exist yet
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Plain ASCII, for terminals without Unicode.
    #[arg(long)]
    ascii: bool,
}

/// Prepares the machine, measures and shows, and says at the end what there was.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    resources::start_threads()?;
    let record = arguments.record()?;
    let _joined = record.placement.join()?;
    let request = record.request()?;
    let path = record.output();
    if arguments.catching.needs_a_place(path) {
        bail!("--catch: expected --output, where what is caught goes, or --on-catch");
    }
    path.map_or(Ok(()), |path| output::free(path, "--output"))?;
    let interrupt = Interrupt::on_screen()?;
    let mut machine = arguments.machine()?;
    let mut manifest = record::prepare(&mut *machine, &request, &interrupt)?;
    record::fill_in(&mut manifest, &record, &request);
    let drawing = drawing_cpus(record.is_real(), &manifest)?;
    arguments.catching.check_run(&manifest)?;
    let series = request.series();
    let on_catch = arguments.catching.on_catch.as_deref();
    let places = Places::of_one(&manifest, path);
    let way = Way::open(places, &manifest, &series, (&interrupt, on_catch))?;
    let look = Look {
        colour: output::colour(),
        ascii: arguments.ascii,
    };
    let shared = Shared::new(interrupt.stop());
    let viewer = Viewer {
        shared: &shared,
        facts: Facts::new(&manifest, arguments.duration, path.map(shown)),
        look,
        cpus: drawing,
    };
    let run = Run {
        arguments,
        request: &request,
        interrupt: &interrupt,
        shared: &shared,
    };
    let shown = run.watched(&mut *machine, &mut manifest, way, path, viewer)?;
    if !output::takes(&io::stdout()) {
        return Ok(interrupt.exit_code().unwrap_or(ExitCode::SUCCESS));
    }
    output::write(None, |out| {
        out.write_all(shown.as_bytes())?;
        match path {
            Some(path) => output::path(out, path),
            None => Ok(()),
        }
    })
    .or_else(|error| match interrupt.signal() {
        // A terminal that was closed takes no summary.
        Some(_) => Ok(()),
        None => Err(error),
    })?;
    Ok(interrupt.exit_code().unwrap_or(ExitCode::SUCCESS))
}

/// What a run is made of.
struct Run<'a> {
    arguments: &'a Arguments,
    request: &'a Request,
    interrupt: &'a Interrupt,
    shared: &'a Shared<'a>,
}

impl Run<'_> {
    /// Measures while the viewer draws; what is to be said when the picture is gone.
    fn watched(
        &self,
        machine: &mut dyn Machine,
        manifest: &mut Manifest,
        mut way: Way<'_>,
        path: Option<&Path>,
        viewer: Viewer<'_>,
    ) -> Result<String> {
        let look = viewer.look;
        let mut monitor = Monitor::new(manifest, &self.request.series());
        let mut tally = Tally::default();
        self.shared.publish(&mut monitor, 0);
        thread::scope(|scope| {
            let drawing = thread::Builder::new().spawn_scoped(scope, move || viewer.view());
            let drawing = drawing.context("cannot make a thread that draws")?;
            let known = (&mut monitor, &mut tally);
            let measured = self.measure(machine, manifest, &mut way, known);
            monitor.finish();
            self.shared.publish(&mut monitor, way.met());
            self.shared.end();
            let recorded = way.finish(measured, manifest);
            let since = Instant::now();
            while !drawing.is_finished() && since.elapsed() < TERMINAL_MAY_TAKE {
                thread::sleep(Duration::from_millis(5));
            }
            self.interrupt.release();
            let drawn = drawing
                .join()
                .unwrap_or_else(|_| bail!("drawing panicked: this is a bug, please report it"));
            let recorded = recorded?;
            let told = self.interrupt.signal();
            if let (Some(path), Some(signal), true) = (path, told, tally.is_empty()) {
                let _ = std::fs::remove_dir_all(path);
                end_unmeasured(signal);
            }
            // Not before the screen is gone, which would take it along.
            if let Some(path) = path {
                record::say_if_interrupted(manifest, path);
            }
            recorded.wait(manifest)?;
            self.interrupt.nothing_to_lose();
            for sentence in Caught::of(manifest).sentences(path.is_some()) {
                output::note(format_args!("{}", escape::visible(&sentence)));
            }
            match self.interrupt.signal() {
                // What drew may have failed because the terminal is gone.
                Some(_) => {}
                None => drawn?,
            }
            Ok(lines::summary(&monitor.snapshot(), look))
        })
    }

    /// Runs the machine; everything that it measures goes to the writer and to the monitor.
    fn measure(
        &self,
        machine: &mut dyn Machine,
        manifest: &mut Manifest,
        way: &mut Way<'_>,
        (monitor, tally): (&mut Monitor, &mut Tally),
    ) -> Result<(), MachineError> {
        let mut last = Instant::now();
        let stop = self.interrupt.stop();
        let measured = machine.run(self.request, manifest, stop, &mut |batch: Batch<'_>| {
            let kept = way.take(&batch);
            tally.add(&batch);
            monitor.learn(batch.tasks);
            monitor.push(
                batch.cpu,
                batch.series,
                batch.quanta,
                batch.gaps,
                batch.events,
            );
            if last.elapsed() >= BETWEEN_SNAPSHOTS {
                self.shared.publish(monitor, way.met());
                last = Instant::now();
            }
            kept
        });
        // A run without an end that was ended by a key is whole, and as long as it was.
        let by_key = self.interrupt.signal().is_none() && stop.load(Ordering::Relaxed);
        if self.arguments.duration.is_none() {
            let cpus = monitor.snapshot().cpus;
            manifest.settings.duration_s =
                cpus.iter().map(|cpu| cpu.measured_s).fold(0.0, f64::max);
            if by_key && manifest.state == State::Interrupted {
                manifest.state = State::Complete;
            }
        }
        measured
    }
}

impl Arguments {
    /// The same as arguments of `record`, so that the two cannot measure differently.
    fn record(&self) -> Result<record::Arguments> {
        let mut record = measure::defaults()?;
        record.cpus = self.cpus.clone();
        record.rate = self.rate.clone();
        record.duration = self.duration.unwrap_or(NO_END_S);
        record.kernel = self.kernel.clone();
        record.counters = self.counters;
        record.trace = self.trace;
        record.placement = self.placement.clone();
        record.catching = self.catching.clone();
        record.machine = self.machine.clone();
        record.output = self.output.clone();
        Ok(record)
    }

    fn machine(&self) -> Result<Box<dyn Machine>> {
        Ok(match record::MachineName::parse(&self.machine)? {
            record::MachineName::This => Box::new(ThisMachine::new()),
            record::MachineName::Simulated(scenario) => {
                Box::new(RealTime(SimulatedMachine::new(Scenario::parse(scenario)?)))
            }
        })
    }
}

/// The CPUs on which the picture is drawn; empty for anywhere.
fn drawing_cpus(real: bool, manifest: &Manifest) -> Result<Vec<u32>> {
    if !real {
        return Ok(Vec::new());
    }
    let allowed = pin::allowed().context("cannot ask which CPUs may be used")?;
    let measured = &manifest.settings.cpus;
    let others: Vec<u32> = allowed
        .iter()
        .filter(|cpu| !measured.contains(cpu))
        .copied()
        .collect();
    if others.is_empty() {
        bail!(
            "all usable CPUs ({}) would be measured, and none is left to draw on: \
             name fewer --cpus, or use `bandscope record`",
            cpu_list::written(&allowed)
        );
    }
    Ok(others)
}
