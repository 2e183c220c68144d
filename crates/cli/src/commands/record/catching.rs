//! The flight recorder's options, and what it does while a run goes on: `--catch`, `--stop-if`, `--around`, `--on-catch`.

use super::choices::When;
use super::on_catch::OnCatch;
use crate::interrupt::Interrupt;
use crate::{output, values};
use anyhow::{Result, bail, ensure};
use bandscope_analysis::live::flight::{Flight, Out};
use bandscope_probe::facts::task_name;
use bandscope_recording::manifest::{Catch, ClockOrigin, Events, EventsState, State, Trigger};
use bandscope_recording::write::Writer;
use bandscope_recording::{Manifest, cpu_list};
use bandscope_sampler::Batch;
use bandscope_sampler::machine::{Consumed, Tracepoint};
use bandscope_studies::conditions;
use bandscope_view::escape::visible;
use bandscope_view::{Rights, numbers};
use clap::Args;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

/// What to catch, and what to do then.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub struct Catching {
    /// Keep only what lies around gaps that meet a condition: "gap > 100 us", "gap:task:* > 50 us on cpu 1", "gap except task:make > 1 ms",
    /// "worst 1 ms < 50 %".
    /// May be repeated. Kernel events are those of all CPUs
    #[arg(long, value_name = "CONDITION", value_parser = trigger)]
    pub catch: Vec<Trigger>,
    /// End the run when a condition of the same kind is met. May be repeated
    #[arg(long, value_name = "CONDITION", value_parser = trigger)]
    pub stop_if: Vec<Trigger>,
    /// How much to keep before and after what was caught.
    #[arg(long, value_name = "T", default_value = "10ms", value_parser = values::around, allow_negative_numbers = true)]
    pub around: f64,
    /// Also record a tracepoint of the kernel, with a filter in the kernel's words: sched:sched_migrate_task, 'kmem:mm_page_alloc/order>3'.
    /// May be repeated
    #[arg(long, value_name = "SYSTEM:NAME[/FILTER]", value_parser = tracepoint)]
    pub event: Vec<Tracepoint>,
    /// Run a shell command when something was caught, once a minute at most: it reads the moment as JSON
    #[arg(long, value_name = "COMMAND", value_parser = command)]
    pub on_catch: Option<String>,
}

/// Reads a condition.
fn trigger(text: &str) -> Result<Trigger, conditions::CatchError> {
    conditions::trigger(text)
}

/// Reads a command.
fn command(text: &str) -> Result<String> {
    ensure!(!text.trim().is_empty(), "expected a shell command");
    Ok(text.to_owned())
}

/// Reads a tracepoint and its filter.
fn tracepoint(text: &str) -> Result<Tracepoint> {
    let (name, filter) = text.split_once('/').unwrap_or((text, ""));
    let is_name = |name: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        !name.is_empty() && name.chars().all(fits)
    };
    match name.split_once(':') {
        Some((system, name)) if is_name(system) && is_name(name) => Ok(Tracepoint {
            system: system.to_owned(),
            name: name.to_owned(),
            filter: filter.to_owned(),
        }),
        _ => bail!("expected SYSTEM:NAME as in sched:sched_migrate_task, and perhaps /FILTER"),
    }
}

impl Catching {
    /// Refuses what makes no sense; `at_once` if all CPUs are measured at the same time.
    ///
    /// # Errors
    /// What is wrong with the options.
    pub fn check(&self, at_once: bool) -> Result<()> {
        values::not_too_many("--catch", &self.catch)?;
        values::not_too_many("--stop-if", &self.stop_if)?;
        values::not_too_many("--event", &self.event)?;
        if !at_once && !self.catch.is_empty() {
            bail!(
                "--catch: found several CPUs of a simulated machine, expected one: it measures them one after another"
            );
        }
        if self.on_catch.is_some() && self.settings().is_none() {
            bail!("--on-catch: expected --catch or --stop-if, which say when to run it");
        }
        Ok(())
    }

    /// Refuses tracepoints that nothing would record.
    ///
    /// # Errors
    /// If some are asked for, and kernel events are not, or are simulated.
    pub fn check_events(&self, trace: When, is_real: bool) -> Result<()> {
        match (self.event.is_empty(), is_real, trace) {
            (true, ..) => Ok(()),
            (_, false, _) => bail!("--event: found a simulated machine, expected this machine"),
            (.., When::Off) => {
                bail!("--event: found --trace off, which records no events, expected --trace on")
            }
            _ => Ok(()),
        }
    }

    /// Refuses to wait for what cannot come in a run with this manifest.
    ///
    /// # Errors
    /// If a condition is about a CPU that is not measured, a gap that does not fit into the run, or a cause that nobody names as kernel events are not
    /// recorded.
    pub fn check_run(&self, manifest: &Manifest) -> Result<()> {
        let settings = &manifest.settings;
        let catch = self.catch.iter().map(|trigger| ("--catch", trigger));
        let stop_if = self.stop_if.iter().map(|trigger| ("--stop-if", trigger));
        for (option, trigger) in catch.chain(stop_if) {
            let text = &trigger.text;
            // Of a job each task has this command line, and CPUs of its own.
            let alone = manifest.rank.is_none();
            let is_wrong = |cpu: &u32| alone && !settings.cpus.contains(cpu);
            if let Some(cpu) = trigger.cpu.filter(is_wrong) {
                bail!(
                    "{option} {text:?}: found CPU {cpu}, expected one that is measured: {}",
                    cpu_list::written(&settings.cpus)
                );
            }
            if (trigger.longer_than_s).is_some_and(|longer| longer >= settings.duration_s) {
                bail!(
                    "{option} {text:?}: found a gap as long as the recording or longer, expected less than its {}",
                    numbers::duration_round(settings.duration_s * 1e9)
                );
            }
            check_cause((option, trigger), &manifest.events)?;
        }
        Ok(())
    }

    /// Whether something is to be caught, and nobody gets it.
    pub fn needs_a_place(&self, output: Option<&Path>) -> bool {
        !self.catch.is_empty() && output.is_none() && self.on_catch.is_none()
    }

    /// What the manifest says of it; `None` where nothing is asked for.
    pub fn settings(&self) -> Option<Catch> {
        let asked = !self.catch.is_empty() || !self.stop_if.is_empty();
        asked.then(|| Catch {
            conditions: self.catch.clone(),
            stop_if: self.stop_if.clone(),
            around_s: self.around,
        })
    }
}

/// Says that nothing that is caught will have a name, where no kernel events are recorded.
pub fn say_what_has_no_name(manifest: &Manifest) {
    let catches = (manifest.settings.catch.as_ref()).is_some_and(Catch::keeps_moments);
    if catches && manifest.events.state == EventsState::Unavailable {
        output::note(format_args!(
            "What is caught will have no name, as no kernel events are recorded{}",
            reason(&manifest.events)
        ));
    }
}

/// Says which tasks that it is about do not run: a misspelt name would show in the morning only.
pub fn say_who_does_not_run(manifest: &Manifest) {
    let catch = manifest.settings.catch.iter();
    let conditions = catch.flat_map(|catch| catch.conditions.iter().chain(&catch.stop_if));
    let causes = conditions.flat_map(|one| one.except.iter().chain([&one.cause]));
    let tasks = causes.filter_map(|cause| cause.strip_prefix("task:"));
    // Kernel workers come and go, and a family is of any name.
    let is_one = |name: &&str| !name.ends_with('*') && !name.starts_with("kworker");
    let named: BTreeSet<&str> = tasks.filter(is_one).collect();
    if named.is_empty() || manifest.clock.origin == ClockOrigin::Simulated {
        return;
    }
    // A thread has the name of its process.
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.filter_map(|process| std::fs::read(process.path().join("comm")).ok());
    let running: BTreeSet<String> = names.map(|name| task_name(name.trim_ascii_end())).collect();
    for name in (named.into_iter()).filter(|name| !running.contains(*name)) {
        output::note(format_args!(
            "No task is named {} now. One may come.",
            visible(name)
        ));
    }
}

/// What would change it, and why there are no events, after a colon.
fn reason(events: &Events) -> String {
    let cure = match (events.state, output::rights()) {
        (EventsState::Off, _) => "; record them with --trace on",
        (_, Rights::Root) => "",
        _ => "; root may record them",
    };
    match &*events.why {
        "" => cure.to_owned(),
        why => format!("{cure}: {why}"),
    }
}

/// Refuses to wait for a cause that nobody will name.
fn check_cause((option, trigger): (&str, &Trigger), events: &Events) -> Result<()> {
    let told_without = |cause: &String| ["", "preempted", "unnamed"].contains(&&**cause);
    let mut asked = trigger.except.iter().chain([&trigger.cause]);
    if asked.all(told_without) || events.state == EventsState::On {
        return Ok(());
    }
    bail!(
        "{option} {:?}: no kernel events are recorded, so nobody knows the cause of a gap, and only \"gap > T\" needs none{}",
        trigger.text,
        reason(events)
    )
}

/// A flight recorder at work.
pub struct Recorder<'a> {
    flight: Flight,
    series: &'a [(f64, String)],
    interrupt: &'a Interrupt,
    command: Option<OnCatch>,
}

impl<'a> Recorder<'a> {
    /// For a run with this manifest.
    pub fn new(
        manifest: &Manifest,
        series: &'a [(f64, String)],
        command: Option<&str>,
        interrupt: &'a Interrupt,
    ) -> Recorder<'a> {
        Recorder {
            flight: Flight::new(manifest),
            series,
            interrupt,
            command: command.map(OnCatch::new),
        }
    }

    /// Takes what came; what was caught goes to the writer.
    pub fn take(&mut self, batch: &Batch<'_>, mut writer: Option<&mut Writer>) -> Consumed {
        self.flight.learn(batch.tasks);
        self.flight.push(
            batch.cpu,
            batch.series,
            batch.quanta,
            batch.gaps,
            batch.events,
        );
        let series = self.series;
        (self.flight).take(&mut |out| keep(out, series, writer.as_deref_mut()))?;
        if let (Some(writer), Some(&now)) = (writer, batch.quanta.end.last()) {
            writer.keep_up(now)?;
        }
        for moment in self.flight.caught() {
            if let Some(command) = &mut self.command {
                command.run(&moment);
            }
        }
        if self.flight.stopped_by().is_some() {
            self.interrupt.stop().store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// How often a condition was met so far.
    pub fn met(&self) -> u64 {
        self.flight.watched().iter().map(|cpu| cpu.met).sum()
    }

    /// Writes the rest at the end of the run, and into the manifest what was seen. Also the command, which may still run.
    pub fn finish(
        mut self,
        mut writer: Option<&mut Writer>,
        manifest: &mut Manifest,
    ) -> (Consumed, Option<OnCatch>) {
        let series = self.series;
        let kept = (self.flight).finish(&mut |out| keep(out, series, writer.as_deref_mut()));
        if let Some(command) = &mut self.command {
            let mut caught = self.flight.caught();
            // Whoever ends the run waits for no more commands.
            caught.retain(|_| self.interrupt.signal().is_none());
            caught.iter().for_each(|moment| command.run(moment));
        }
        manifest.watched = self.flight.watched();
        manifest.events.lost.extend(self.flight.lost().cloned());
        // Met is met, though a signal came before what lies around it.
        if let Some(condition) = self.flight.met_at_the_end() {
            manifest.stopped_by = condition.to_owned();
            if manifest.state == State::Interrupted && self.interrupt.signal().is_none() {
                manifest.state = State::Complete;
            }
        }
        (kept, self.command)
    }
}

/// Writes what was caught, where anybody wants it.
fn keep(out: Out<'_>, series: &[(f64, String)], writer: Option<&mut Writer>) -> Consumed {
    let Some(writer) = writer else {
        return Ok(());
    };
    match out {
        Out::Events { cpu, events } => Ok(writer.append_events(cpu, events)?),
        Out::Quanta {
            cpu,
            series: of,
            quanta,
            gaps,
        } => super::way::keep(
            writer,
            series,
            &Batch {
                cpu,
                series: of,
                quanta,
                gaps,
                events: &[],
                tasks: &[],
            },
        ),
    }
}
