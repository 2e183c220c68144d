//! From a machine to a recording.

use super::way::{Places, Way};
use super::{Tally, say_if_interrupted};
use crate::interrupt::{Interrupt, end_unmeasured};
use crate::output;
use crate::progress::Progress;
use anyhow::{Result, anyhow};
use bandscope_recording::Manifest;
use bandscope_recording::text::shown;
use bandscope_sampler::{Batch, Machine, MachineError, Request};
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
    let series = request.series();
    let places = Places::of_one(manifest, Some(path));
    // From here on whatever is there is this recording.
    let way = Way::open(places, manifest, &series, (interrupt, on_catch))?;
    let written = fill(way, machine, request, manifest, (interrupt, &mut tally));
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

/// The same for recordings that nobody asked for by name.
pub fn write_quietly(
    machine: &mut dyn Machine,
    request: &Request,
    manifest: &mut Manifest,
    places: Places<'_>,
    (interrupt, on_catch, tally): (&Interrupt, Option<&str>, &mut Tally),
) -> Result<()> {
    let series = request.series();
    let way = Way::open(places, manifest, &series, (interrupt, on_catch))?;
    fill(way, machine, request, manifest, (interrupt, tally))
}

/// Runs the machine, and writes all of it.
fn fill(
    mut way: Way<'_>,
    machine: &mut dyn Machine,
    request: &Request,
    manifest: &mut Manifest,
    (interrupt, tally): (&Interrupt, &mut Tally),
) -> Result<()> {
    let measured = measure(machine, request, manifest, interrupt, &mut way, tally);
    // Whoever kills the program while it waits for a command loses nothing: the recording is whole.
    way.finish(measured, manifest)?.wait(manifest)
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

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::{Gap, Quanta};
    use bandscope_sampler::machine::Consumed;
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
                tasks: &[],
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
