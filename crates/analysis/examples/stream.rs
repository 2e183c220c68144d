//! Analyses a stream of any length that is made while it is read, and prints the time and the memory it took.
//!
//! `cargo run --release -p bandscope-analysis --example stream -- 1000000000`: 10^9 quanta at 10 kHz, 28 hours, of a core that
//! flips between two paces and is interrupted 250 times a second.

use bandscope_analysis::analyse;
use bandscope_recording::manifest::Clock;
use bandscope_recording::source::Source;
use bandscope_recording::{Chunk, Error, Gap, Manifest, Quanta, Quantum, Series};
use std::time::Instant;

/// Ticks of a quantum at 2 GHz and 10 kHz.
const QUANTUM: u64 = 200_000;
/// Quanta that are made at a time.
const BATCH: u64 = 1 << 16;
/// A gap in each quantum of which the number is a multiple of this.
const TICK: u64 = 40;
/// Ticks of a gap.
const AWAY: u64 = 5_000;

struct Stream {
    quanta: u64,
    manifest: Manifest,
    series: Vec<Series>,
}

impl Stream {
    fn quantum(&self, number: u64) -> Quantum {
        let slow = number % 1000 >= 600;
        let gaps = u64::from(number.is_multiple_of(TICK));
        let unit = if slow { 1_200 } else { 225 };
        Quantum {
            start: number * QUANTUM,
            end: (number + 1) * QUANTUM,
            count: ((QUANTUM - gaps * AWAY) / unit + gaps) as u32,
            gaps: gaps as u32,
            gap_ticks: gaps * AWAY,
            ..Quantum::default()
        }
    }
}

impl Source for Stream {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn series(&self) -> &[Series] {
        &self.series
    }

    fn replay_quanta(&self, _: usize, visit: &mut dyn FnMut(Chunk<'_>)) -> Result<(), Error> {
        let mut batch = Quanta::default();
        for from in (0..self.quanta).step_by(BATCH as usize) {
            batch.clear();
            let numbers = from..(from + BATCH).min(self.quanta);
            numbers.for_each(|number| batch.push(self.quantum(number)));
            batch.for_each_chunk(visit);
        }
        Ok(())
    }

    fn replay_gaps(&self, _: usize, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        let mut batch = Vec::new();
        for number in (0..self.quanta).step_by(TICK as usize) {
            batch.push(Gap {
                start: number * QUANTUM + 1_000,
                duration: AWAY,
                ..Gap::default()
            });
            if batch.len() == BATCH as usize {
                visit(&batch);
                batch.clear();
            }
        }
        visit(&batch);
        Ok(())
    }
}

/// Most memory that was ever resident, MiB; `None` where /proc does not say.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quanta = std::env::args()
        .nth(1)
        .map_or(Ok(10_000_000), |n| n.parse())?;
    let stream = Stream {
        quanta,
        manifest: Manifest {
            clock: Clock {
                ticks_per_ns: 2.0,
                ..Clock::default()
            },
            ..Manifest::default()
        },
        series: vec![Series {
            cpu: Some(0),
            rate_hz: 1e4,
            kernel: "chain".into(),
            gaps_known: true,
            ends_known: true,
            origin: "generated".into(),
        }],
    };
    let start = Instant::now();
    let analysis = analyse(&stream, &[])?;
    let seconds = start.elapsed().as_secs_f64();
    for finding in &analysis.report.findings {
        println!("{:?}: {}", finding.certainty, finding.summary);
    }
    println!(
        "{quanta} quanta in {seconds:.1} s, {:.1} million a second; most memory {}",
        quanta as f64 / seconds / 1e6,
        peak_mib().map_or("unknown".into(), |mib| format!("{mib:.0} MiB"))
    );
    Ok(())
}
