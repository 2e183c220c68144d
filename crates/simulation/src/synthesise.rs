//! A scenario and a request in, a recording in memory and its truth out: what the tests and the scoreboard of
//! the analysis are made of. No file is touched.

use crate::machine::SimulatedMachine;
use crate::scenario::Scenario;
use crate::truth::Truth;
use bandscope_recording::source::InMemory;
use bandscope_recording::{Quanta, Series};
use bandscope_sampler::{Machine, MachineError, Request};
use std::sync::atomic::AtomicBool;

/// Runs `scenario` as `request` says. Series lie in the order CPU by CPU, and for each CPU in the order of
/// [`Request::series`]; truths are one a CPU, in the order of the CPUs.
///
/// # Errors
/// [`MachineError::Request`] for a CPU, rate or work kernel that the simulated machine lacks;
/// [`MachineError::Consumer`] if simulated time (37 hours at 2 GHz) ends before the run.
pub fn synthesise(
    scenario: &Scenario,
    request: &Request,
) -> Result<(InMemory, Vec<Truth>), MachineError> {
    synthesise_until(scenario, request, &AtomicBool::new(false))
}

/// As [`synthesise`]; when `stop` becomes true the run ends early and its manifest says so.
///
/// # Errors
/// As [`synthesise`].
pub fn synthesise_until(
    scenario: &Scenario,
    request: &Request,
    stop: &AtomicBool,
) -> Result<(InMemory, Vec<Truth>), MachineError> {
    let mut machine = SimulatedMachine::new(scenario.clone());
    let mut manifest = machine.prepare(request)?;
    manifest.tool = concat!("bandscope ", env!("CARGO_PKG_VERSION")).into();
    let cpus = manifest.settings.cpus.clone();
    let kinds = request.series();
    let series: Vec<Series> = cpus
        .iter()
        .flat_map(|cpu| {
            kinds.iter().map(|(rate, kernel)| Series {
                cpu: Some(*cpu),
                rate_hz: *rate,
                kernel: kernel.clone(),
                gaps_known: true,
                ends_known: true,
                origin: format!("simulated:{}", scenario.text()),
            })
        })
        .collect();
    let mut quanta = vec![Quanta::default(); series.len()];
    let mut gaps = vec![Vec::new(); series.len()];
    let mut events = vec![Vec::new(); series.len()];
    machine.run(request, &mut manifest, stop, &mut |batch| {
        let place = cpus.iter().position(|cpu| *cpu == batch.cpu);
        let place = place.unwrap_or(0);
        let index = place * kinds.len() + batch.series;
        quanta[index].extend_from(batch.quanta, 0..batch.quanta.len());
        gaps[index].extend_from_slice(batch.gaps);
        // They are of the CPU, whatever series it measures meanwhile.
        for series in 0..kinds.len() {
            events[place * kinds.len() + series].extend_from_slice(batch.events);
        }
        Ok(())
    })?;
    let recording = InMemory {
        manifest,
        series,
        quanta,
        gaps,
        events,
    };
    Ok((recording, machine.into_truths()))
}
