//! The rings between the measuring threads and the consumer: how large, and whether there is memory for them.

use super::Setup;
use crate::consumer::Consumer;
use crate::measuring_thread::Plan;
use crate::memory;
use crate::ring::{Writer, ring};
use bandscope_sampler::machine::Segments;
use bandscope_sampler::{GapRecord, MachineError, QuantumRecord};
use std::io;

/// Quanta that a ring holds while they are written out as they come: 8 MiB, or 5 s at 100 kHz.
const RING_QUANTA: usize = 1 << 19;
/// Gaps that it holds: 4 MiB, or 16 s of 4000 gaps a second.
const RING_GAPS: usize = 1 << 16;
/// Gaps a second for which memory is set aside where all must stay there.
const BUFFERED_GAPS_PER_S: f64 = 5_000.0;
/// Share of the available memory that a buffered run may take.
const MEMORY_SHARE: f64 = 0.5;

/// The rings of one CPU.
pub type Writers = (Writer<QuantumRecord>, Writer<GapRecord>);

/// Makes the rings of all CPUs.
pub fn rings(
    setup: &Setup<'_>,
    plan: &Plan<'_>,
) -> Result<(Vec<Writers>, Vec<Consumer>), MachineError> {
    let (quanta, gaps) = match setup.others.is_empty() {
        true => whole_run(plan.schedule.segments(), setup.duration_s),
        false => (RING_QUANTA as u64, RING_GAPS as u64),
    };
    let bytes = bytes((quanta, gaps), setup.cpus.len());
    let available = memory::available();
    // Rings that are emptied while it measures take their memory once; a buffered run is also written from it.
    let share = match setup.others.is_empty() {
        true => MEMORY_SHARE,
        false => 1.0,
    };
    if available.is_some_and(|available| bytes as f64 > available as f64 * share) {
        return Err(too_much_memory(bytes, available));
    }
    let mut writers = Vec::new();
    let mut consumers = Vec::new();
    for &cpu in setup.cpus {
        let both = ring(quanta as usize).and_then(|quanta| Ok((quanta, ring(gaps as usize)?)));
        let ((quanta_writer, quanta_reader), (gaps_writer, gaps_reader)) =
            both.map_err(|error| refused(bytes, &error))?;
        writers.push((quanta_writer, gaps_writer));
        consumers.push(Consumer::new(cpu, quanta_reader, gaps_reader));
    }
    Ok((writers, consumers))
}

/// Whether memory can hold a whole run of so many CPUs; yes where nobody can tell.
pub fn memory_holds(segments: &Segments, duration_s: f64, cpus: usize) -> bool {
    let bytes = bytes(whole_run(segments, duration_s), cpus);
    memory::available().is_none_or(|available| bytes as f64 <= available as f64 * MEMORY_SHARE)
}

/// Memory of the rings of so many CPUs.
fn bytes((quanta, gaps): (u64, u64), cpus: usize) -> u64 {
    (quanta.saturating_mul(size_of::<QuantumRecord>() as u64))
        .saturating_add(gaps.saturating_mul(size_of::<GapRecord>() as u64))
        .saturating_mul(cpus as u64)
}

/// Records of the two rings of a CPU that hold a whole run, powers of two.
fn whole_run(segments: &Segments, duration_s: f64) -> (u64, u64) {
    // Each segment has a header, and a cut makes another.
    let (segments, quanta) = segments.totals();
    let quanta = quanta.saturating_add(segments);
    let gaps = (duration_s * BUFFERED_GAPS_PER_S) as u64;
    let size = |records: u64| records.saturating_add(1024).checked_next_power_of_two();
    (
        size(quanta).unwrap_or(1 << 58),
        size(gaps.max(1 << 14)).unwrap_or(1 << 56),
    )
}

/// What is there is not given: a limit of this process, not the length of the run.
fn refused(bytes: u64, error: &io::Error) -> MachineError {
    MachineError::Refused(format!(
        "cannot take {} MiB of memory: {error}; raise the limit on memory (ulimit -v)",
        mebibytes(bytes)
    ))
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

fn too_much_memory(bytes: u64, available: Option<u64>) -> MachineError {
    let available = available.map_or_else(
        || "an unknown amount".to_owned(),
        |bytes| format!("{} MiB", mebibytes(bytes)),
    );
    MachineError::Request(format!(
        "keeping the whole run in memory needs {} MiB and {available} is available (at most half of it \
         is taken): measure for a shorter time, at a lower rate, or leave a CPU to write it out",
        mebibytes(bytes)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::request;
    use bandscope_sampler::Request;
    use bandscope_sampler::machine::Length;

    #[test]
    fn memory_holds_a_second_and_no_century() {
        let holds = |seconds: f64| {
            let length = Length::Duration(seconds);
            let request = Request {
                length,
                ..request()
            };
            memory_holds(&request.segments(), seconds, 2)
        };
        assert!(holds(1.0));
        assert!(!holds(3e9) || memory::available().is_none());
    }
}
