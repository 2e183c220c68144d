//! The rings between the measuring threads and the consumer: how large, and whether there is memory for them.

use super::Setup;
use crate::consumer::Consumer;
use crate::measuring_thread::Plan;
use crate::memory;
use crate::ring::{Writer, ring};
use bandscope_sampler::{GapRecord, MachineError, QuantumRecord};

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
    let (quanta, gaps) = ring_sizes(setup, plan);
    let bytes = (quanta.saturating_mul(size_of::<QuantumRecord>() as u64))
        .saturating_add(gaps.saturating_mul(size_of::<GapRecord>() as u64))
        .saturating_mul(setup.cpus.len() as u64);
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
            both.map_err(|_| too_much_memory(bytes, available))?;
        writers.push((quanta_writer, gaps_writer));
        consumers.push(Consumer::new(cpu, quanta_reader, gaps_reader));
    }
    Ok((writers, consumers))
}

/// Records of the two rings of a CPU, powers of two.
fn ring_sizes(setup: &Setup<'_>, plan: &Plan<'_>) -> (u64, u64) {
    if !setup.others.is_empty() {
        return (RING_QUANTA as u64, RING_GAPS as u64);
    }
    // Each segment has a header, and a cut makes another.
    let (segments, quanta) = plan.segments.totals();
    let quanta = quanta.saturating_add(segments);
    let gaps = (setup.duration_s * BUFFERED_GAPS_PER_S) as u64;
    let size = |records: u64| records.saturating_add(1024).checked_next_power_of_two();
    (
        size(quanta).unwrap_or(1 << 58),
        size(gaps.max(1 << 14)).unwrap_or(1 << 56),
    )
}

fn too_much_memory(bytes: u64, available: Option<u64>) -> MachineError {
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
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
