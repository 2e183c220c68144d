//! The way of what is measured: to the recording of all of it, and past a flight recorder to that of what was caught, where they are asked for.

use super::catching::Recorder;
use super::on_catch::OnCatch;
use crate::interrupt::Interrupt;
use crate::output;
use anyhow::{Result, anyhow};
use bandscope_recording::manifest::{Incident, IncidentKind, State};
use bandscope_recording::write::Writer;
use bandscope_recording::{Manifest, json};
use bandscope_sampler::machine::Consumed;
use bandscope_sampler::{Batch, MachineError};
use bandscope_view::escape;
use std::path::{Path, PathBuf};

/// Recordings that a run makes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// Of all that is measured.
    pub all: Option<&'a Path>,
    /// Of what a flight recorder catches.
    pub caught: Option<&'a Path>,
}

impl Places<'_> {
    /// One recording, of what this manifest asks for.
    pub fn of_one<'a>(manifest: &Manifest, path: Option<&'a Path>) -> Places<'a> {
        match manifest.keeps_moments() {
            true => Places {
                all: None,
                caught: path,
            },
            false => Places {
                all: path,
                caught: None,
            },
        }
    }
}

/// From what is measured to what is written.
pub struct Way<'a> {
    series: &'a [(f64, String)],
    recorder: Option<Recorder<'a>>,
    all: Option<Writer>,
    caught: Option<Writer>,
    paths: Vec<PathBuf>,
    interrupt: &'a Interrupt,
}

impl<'a> Way<'a> {
    /// Begins the recordings of a run with this manifest; `series` are its rates and work kernels, and a shell command runs when something is caught.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn open(
        places: Places<'_>,
        manifest: &Manifest,
        series: &'a [(f64, String)],
        (interrupt, on_catch): (&'a Interrupt, Option<&str>),
    ) -> Result<Way<'a>> {
        let asked = manifest.settings.catch.is_some();
        let begin = |path: Option<&Path>, manifest: &Manifest| {
            path.map(|path| Writer::create(path, manifest)).transpose()
        };
        let paths = places.all.into_iter().chain(places.caught);
        Ok(Way {
            series,
            recorder: asked.then(|| Recorder::new(manifest, series, on_catch, interrupt)),
            all: begin(places.all, &of_all(manifest))?,
            caught: begin(places.caught, manifest)?,
            paths: paths.map(Path::to_owned).collect(),
            interrupt,
        })
    }

    /// Takes what came.
    pub fn take(&mut self, batch: &Batch<'_>) -> Consumed {
        // Both, whatever becomes of the first.
        let all = match &mut self.all {
            Some(writer) => keep(writer, self.series, batch),
            None => Ok(()),
        };
        let caught = match &mut self.recorder {
            Some(recorder) => recorder.take(batch, self.caught.as_mut()),
            None => Ok(()),
        };
        all.and(caught)
    }

    /// How often a condition was met so far.
    pub fn met(&self) -> u64 {
        self.recorder.as_ref().map_or(0, Recorder::met)
    }

    /// Writes the rest of a run that was `measured`, and into the manifest what a flight recorder saw.
    ///
    /// # Errors
    /// What kept the run from its end, or the rest from being written.
    pub fn finish(
        mut self,
        measured: Result<(), MachineError>,
        manifest: &mut Manifest,
    ) -> Result<Finished<'a>> {
        let lost_by_all = manifest.events.lost.len();
        let (finished, command) = match self.recorder.take() {
            Some(recorder) => recorder.finish(self.caught.as_mut(), manifest),
            None => (Ok(()), None),
        };
        let measured = measured.and(finished.map_err(MachineError::Consumer));
        let writers = self.all.iter().chain(&self.caught);
        let ticks = writers.map(Writer::now).max().unwrap_or(0);
        if measured.is_err() {
            manifest.state = State::Failed;
        }
        if self.interrupt.disturber_ended() {
            manifest.incidents.push(Incident {
                kind: IncidentKind::DisturberEnded,
                ticks,
                detail: "`bandscope inject` ended before this recording, so the end is cut off"
                    .to_owned(),
            });
        }
        // What was written before an error is kept: the manifest says what is there. The first error is the
        // one that matters.
        let mut all = of_all(manifest);
        all.events.lost.truncate(lost_by_all);
        let all = self.all.map_or(Ok(()), |writer| writer.finish(&all));
        let caught = (self.caught).map_or(Ok(()), |writer| writer.finish(manifest));
        let finished = Finished {
            command,
            ticks,
            paths: self.paths,
            interrupt: self.interrupt,
        };
        let error = match (measured, all.and(caught)) {
            (Ok(()), Ok(())) => return Ok(finished),
            (Err(MachineError::Consumer(error)), _) => anyhow!(error),
            (Err(other), _) => other.into(),
            (_, Err(error)) => error.into(),
        };
        finished.command.into_iter().for_each(OnCatch::end);
        Err(error)
    }
}

/// A run of which all is written.
pub struct Finished<'a> {
    command: Option<OnCatch>,
    ticks: u64,
    paths: Vec<PathBuf>,
    interrupt: &'a Interrupt,
}

impl Finished<'_> {
    /// Waits for the command that ran when something was caught. That it failed is told, and kept in the manifest and in the recordings.
    ///
    /// # Errors
    /// If it cannot be kept.
    pub fn wait(self, manifest: &mut Manifest) -> Result<()> {
        let failed = (self.command).and_then(|command| command.finish(self.interrupt));
        let Some(detail) = failed else {
            return Ok(());
        };
        output::note(format_args!("bandscope: {}", escape::visible(&detail)));
        let incident = Incident {
            kind: IncidentKind::CommandFailed,
            ticks: self.ticks,
            detail,
        };
        manifest.incidents.push(incident.clone());
        for path in &self.paths {
            json::add_incident(path, incident.clone())?;
        }
        Ok(())
    }
}

/// The manifest of a recording of all that is measured: nothing is chosen for what it holds.
fn of_all(manifest: &Manifest) -> Manifest {
    let mut manifest = manifest.clone();
    manifest.watched.clear();
    if let Some(catch) = &mut manifest.settings.catch {
        catch.conditions.clear();
    }
    let catch = &mut manifest.settings.catch;
    *catch = catch.take().filter(|one| !one.stop_if.is_empty());
    manifest
}

/// Keeps what came of a run; `series` are its rates and work kernels.
pub(super) fn keep(writer: &mut Writer, series: &[(f64, String)], batch: &Batch<'_>) -> Consumed {
    let (rate, kernel) = &series[batch.series];
    // Both, whatever becomes of the first: the writer counts what it could not keep.
    let quanta = match batch.quanta.is_empty() {
        true => Ok(()),
        false => writer.append_quanta(batch.cpu, *rate, kernel, batch.quanta),
    };
    let gaps = writer.append_gaps(batch.cpu, batch.gaps);
    let events = writer.append_events(batch.cpu, batch.events);
    Ok(quanta.and(gaps).and(events)?)
}
