//! From a machine to a recording: everything that is measured goes to the writer, past a flight recorder where one is asked for.

use super::catching::Recorder;
use super::on_catch::OnCatch;
use super::{Tally, conclude, say_if_interrupted};
use crate::interrupt::{Interrupt, end_unmeasured};
use crate::output;
use crate::progress::Progress;
use anyhow::{Result, anyhow};
use bandscope_recording::manifest::{Incident, IncidentKind};
use bandscope_recording::text::shown;
use bandscope_recording::write::Writer;
use bandscope_recording::{Manifest, json};
use bandscope_sampler::machine::Consumed;
use bandscope_sampler::{Batch, Machine, MachineError, Request};
use bandscope_view::escape;
use std::path::Path;

/// Runs a machine that was prepared, and writes what it measures to a recording at `path`.
pub fn write(
    machine: &mut dyn Machine,
    request: &Request,
    manifest: &mut Manifest,
    path: &Path,
    (interrupt, on_catch): (&Interrupt, Option<&str>),
) -> Result<Tally> {
    let mut tally = Tally::default();
    // From here on whatever is there is this recording.
    let writer = Writer::create(path, manifest)?;
    let how = (interrupt, on_catch, &mut tally);
    let written = fill((writer, path), machine, request, manifest, how);
    written.map_err(|error| {
        if tally.is_empty() {
            // Nothing came: the name is free again.
            let _ = std::fs::remove_dir_all(path);
            return error;
        }
        let path = shown(path);
        let error = output::spelled(&error);
        anyhow!("{error}; what was written before is kept: bandscope report {path}")
    })?;
    if let (true, Some(signal)) = (tally.is_empty(), interrupt.signal()) {
        let _ = std::fs::remove_dir_all(path);
        end_unmeasured(signal);
    }
    say_if_interrupted(manifest, path);
    Ok(tally)
}

/// The same for a recording that nobody asked for by name.
pub fn write_quietly(
    machine: &mut dyn Machine,
    request: &Request,
    manifest: &mut Manifest,
    path: &Path,
    how: (&Interrupt, Option<&str>, &mut Tally),
) -> Result<()> {
    fill(
        (Writer::create(path, manifest)?, path),
        machine,
        request,
        manifest,
        how,
    )
}

/// Runs the machine, and writes all of it.
fn fill(
    (mut writer, path): (Writer, &Path),
    machine: &mut dyn Machine,
    request: &Request,
    manifest: &mut Manifest,
    (interrupt, on_catch, tally): (&Interrupt, Option<&str>, &mut Tally),
) -> Result<()> {
    let series = request.series();
    let asked = manifest.settings.catch.is_some();
    let recorder = asked.then(|| Recorder::new(manifest, &series, on_catch, interrupt));
    let mut way = Way {
        series: &series,
        recorder,
        writer: &mut writer,
    };
    let measured = measure(machine, request, manifest, interrupt, &mut way, tally);
    let (finished, command) = way.finish(manifest);
    let ticks = writer.now();
    let concluded = conclude(measured.and(finished), Some(writer), manifest, interrupt);
    if let Err(error) = concluded {
        command.into_iter().for_each(OnCatch::end);
        return Err(error);
    }
    // Whoever kills the program while it waits loses nothing: the recording is whole.
    let failed = command.and_then(|command| command.finish(interrupt));
    failed.map_or(Ok(()), |detail| {
        output::note(format_args!("bandscope: {}", escape::visible(&detail)));
        let kind = IncidentKind::CommandFailed;
        let incident = Incident {
            kind,
            ticks,
            detail,
        };
        manifest.incidents.push(incident.clone());
        Ok(json::add_incident(path, incident)?)
    })
}

/// From what is measured to what is written.
struct Way<'a> {
    series: &'a [(f64, String)],
    recorder: Option<Recorder<'a>>,
    writer: &'a mut Writer,
}

impl Way<'_> {
    fn take(&mut self, batch: &Batch<'_>) -> Consumed {
        match &mut self.recorder {
            Some(recorder) => recorder.take(batch, self.writer),
            None => keep(self.writer, self.series, batch),
        }
    }

    fn finish(self, manifest: &mut Manifest) -> (Result<(), MachineError>, Option<OnCatch>) {
        let (kept, command) = match self.recorder {
            Some(recorder) => recorder.finish(self.writer, manifest),
            None => (Ok(()), None),
        };
        (kept.map_err(MachineError::Consumer), command)
    }
}

/// Runs the machine; everything that it measures goes its way.
fn measure(
    machine: &mut dyn Machine,
    request: &Request,
    manifest: &mut Manifest,
    interrupt: &Interrupt,
    way: &mut Way<'_>,
    tally: &mut Tally,
) -> Result<(), MachineError> {
    let progress = Progress::run(manifest.settings.duration_s);
    let ticks_per_s = manifest.clock.ticks_per_ns * 1e9;
    machine.run(request, manifest, interrupt.stop(), &mut |batch: Batch<
        '_,
    >| {
        way.take(&batch)?;
        tally.add(&batch);
        if let Some(&end) = batch.quanta.end.last() {
            progress.set(end as f64 / ticks_per_s);
        }
        Ok(())
    })
}

/// Keeps what came of a run; `series` are its rates and work kernels.
pub fn keep(writer: &mut Writer, series: &[(f64, String)], batch: &Batch<'_>) -> Consumed {
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

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::{Gap, Quanta};
    use bandscope_simulation::{Scenario, SimulatedMachine, request};
    use std::sync::atomic::AtomicBool;

    /// Hands on these gaps, and fails before a quantum has ended.
    struct Fails(Vec<Gap>);

    impl Machine for Fails {
        fn prepare(&mut self, request: &Request) -> Result<Manifest, MachineError> {
            let scenario = Scenario::parse("quiet").expect("a scenario");
            SimulatedMachine::new(scenario).prepare(request)
        }

        fn run(
            &mut self,
            _: &Request,
            _: &mut Manifest,
            _: &AtomicBool,
            consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
        ) -> Result<(), MachineError> {
            let (cpu, series, quanta) = (0, 0, &Quanta::default());
            let (gaps, events) = (&self.0[..], &[][..]);
            let batch = Batch {
                cpu,
                series,
                quanta,
                gaps,
                events,
            };
            consume(batch).map_err(MachineError::Consumer)?;
            Err(MachineError::Refused("no more".into()))
        }
    }

    #[test]
    fn a_gap_without_a_quantum_is_kept_and_a_recording_of_nothing_is_not() {
        let interrupt = Interrupt::new().unwrap();
        let request = request(&[1.0], &["mulss80"], 10.0);
        let gap = Gap {
            duration: 100,
            ..Gap::default()
        };
        for gaps in [vec![], vec![gap]] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("it.bandscope");
            let mut machine = Fails(gaps);
            let mut manifest = machine.prepare(&request).unwrap();
            let how = (&interrupt, None);
            let written = write(&mut machine, &request, &mut manifest, &path, how);
            let error = written.unwrap_err().to_string();
            assert_eq!(error.contains("is kept"), !machine.0.is_empty(), "{error}");
            assert_eq!(path.exists(), !machine.0.is_empty());
        }
    }
}
