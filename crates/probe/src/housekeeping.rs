//! Where the program's own threads run: on the CPUs that `--housekeeping` names, or on those that are not measured.

use crate::pin;
use bandscope_recording::cpu_list;
use bandscope_sampler::Request;
use bandscope_sampler::machine::MachineError;

/// Those of `allowed` that are not `measured`.
pub fn others(allowed: &[u32], measured: &[u32]) -> Vec<u32> {
    allowed
        .iter()
        .filter(|cpu| !measured.contains(cpu))
        .copied()
        .collect()
}

/// The CPUs on which the consumer runs while it measures: where every CPU is measured, any.
pub fn writing(request: &Request, allowed: &[u32], measured: &[u32]) -> Vec<u32> {
    match others(allowed, measured) {
        _ if !request.housekeeping.is_empty() => request.housekeeping.clone(),
        others if others.is_empty() => allowed.to_vec(),
        others => others,
    }
}

/// Keeps this process where the request wants it; `None` where it wants nothing.
pub fn keep(request: &Request) -> Result<Option<pin::Kept>, MachineError> {
    let cpus = &request.housekeeping;
    let kept = (!cpus.is_empty()).then(|| pin::keep_process_on(cpus));
    kept.transpose().map_err(|error| {
        let cpus = cpu_list::written(cpus);
        MachineError::Refused(format!("--housekeeping {cpus}: {error}"))
    })
}
