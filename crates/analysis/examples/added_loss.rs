//! What recordings of one machine lose besides gaps, and what the report makes of a loss of 1 % that is added to them.
//!
//!     cargo run --release -p bandscope-analysis --example added_loss -- RECORDING...
//!
//! 11 % of the quanta, in stretches, do a tenth less: 1 % of the time in quanta without a gap. Shares are of the time that gaps leave, so that runs compare
//! whatever else the machine does.

use bandscope_analysis::analyse;
use bandscope_analysis::report::Report;
use bandscope_recording::source::{InMemory, Source};
use bandscope_recording::{Quanta, inputs::Inputs};
use std::path::PathBuf;

/// Quanta that are slowed, of each so many.
const SLOWED: std::ops::Range<usize> = 50..61;
const OF: usize = 100;
const RATIO: f64 = 1.1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    println!("lost, %  with the loss, %  added, %  reference, ns");
    let mut all = Vec::new();
    for path in paths {
        let mut recording = in_memory(&Inputs::open(std::slice::from_ref(&path))?)?;
        let before = analyse(&recording, &[])?.report;
        let reference = before.series.iter().find_map(|one| one.best_pace.as_ref());
        let (mut slowed, mut total) = (0.0, 0.0);
        for quanta in &mut recording.quanta {
            let (of_these, of_all) = slow_down(quanta);
            slowed += of_these;
            total += of_all;
        }
        let true_loss = slowed / total * (1.0 - 1.0 / RATIO);
        let with = lost(&analyse(&recording, &[])?.report);
        println!(
            "{:7.3}  {:16.3}  {:8.3} of {:.3}  {:.3}  {}",
            lost(&before) * 100.0,
            with * 100.0,
            (with - lost(&before)) * 100.0,
            true_loss * 100.0,
            reference.map_or(0.0, |best| best.ns_per_unit),
            path.display(),
        );
        all.push(lost(&before) * 100.0);
    }
    all.sort_by(f64::total_cmp);
    if let (Some(low), Some(high)) = (all.first(), all.last()) {
        println!("spread of what was lost: {:.3} points", high - low);
    }
    Ok(())
}

/// Share of the time without gaps that was lost to pace.
fn lost(report: &Report) -> f64 {
    let (mut pace, mut present) = (0.0, 0.0);
    for ledger in report.series.iter().map(|one| &one.ledger) {
        pace += ledger.pace_ns.total() as f64;
        present += (ledger.wall_ns - ledger.gaps_ns.values().sum::<u64>()) as f64;
    }
    pace / present
}

/// Time without gaps of the quanta that were slowed, and of all.
fn slow_down(quanta: &mut Quanta) -> (f64, f64) {
    let (mut carried, mut slowed, mut all) = (0.0, 0.0, 0.0);
    for k in 0..quanta.len() {
        let present = quanta.end[k]
            .saturating_sub(quanta.start[k])
            .saturating_sub(quanta.gap_ticks[k]) as f64;
        all += present;
        if SLOWED.contains(&(k % OF)) {
            slowed += present;
            let done = f64::from(quanta.count[k].saturating_sub(quanta.gaps[k])) / RATIO + carried;
            carried = done.fract();
            quanta.count[k] = done as u32 + quanta.gaps[k];
        }
    }
    (slowed, all)
}

fn in_memory(source: &dyn Source) -> Result<InMemory, Box<dyn std::error::Error>> {
    let mut recording = InMemory {
        manifest: source.manifest().clone(),
        series: source.series().to_vec(),
        ..InMemory::default()
    };
    for index in 0..recording.series.len() {
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        source.replay_quanta(index, &mut |chunk| {
            for k in 0..chunk.len() {
                quanta.push(bandscope_recording::Quantum {
                    start: chunk.start[k],
                    end: chunk.end[k],
                    count: chunk.count[k],
                    gaps: chunk.gaps[k],
                    gap_ticks: chunk.gap_ticks[k],
                    measurement_ticks: chunk.measurement_ticks[k],
                    cpu: chunk.cpu[k],
                    segment: chunk.segment,
                });
            }
        })?;
        source.replay_gaps(index, &mut |some| gaps.extend_from_slice(some))?;
        recording.quanta.push(quanta);
        recording.gaps.push(gaps);
    }
    Ok(recording)
}
