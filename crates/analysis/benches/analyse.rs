//! Quanta analysed per second on one core, everything together: `cargo bench -p bandscope-analysis`.
//!
//! A recording in memory, so that no file is measured: two paces, 400 gaps a second and noise, 10 kHz.

use bandscope_analysis::analyse;
use bandscope_recording::manifest::Clock;
use bandscope_recording::source::InMemory;
use bandscope_recording::{Gap, Manifest, Quanta, Quantum, Series};
use bandscope_statistics::random::Random;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Instant;

fn recording(number: usize, gaps_known: bool) -> InMemory {
    let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
    let (mut now, mut random) = (0u64, Random::new(1));
    for k in 0..number {
        let noise = random.below(256);
        let with_gap = k % 25 == 0;
        let count: u32 = if k / 100 % 5 == 0 { 780 } else { 4174 };
        let end = (k as u64 + 1) * 230_000 + noise;
        quanta.push(Quantum {
            start: now,
            end,
            count: count - if with_gap { 20 } else { 0 },
            gaps: u32::from(gaps_known && with_gap),
            gap_ticks: if gaps_known && with_gap { 6000 } else { 0 },
            ..Quantum::default()
        });
        if gaps_known && with_gap {
            gaps.push(Gap {
                start: now + 1000,
                duration: 6000,
                ..Gap::default()
            });
        }
        now = end;
    }
    InMemory {
        manifest: Manifest {
            clock: Clock {
                ticks_per_ns: 2.3,
                ..Clock::default()
            },
            ..Manifest::default()
        },
        series: vec![Series {
            cpu: Some(0),
            rate_hz: 1e4,
            kernel: "chain".into(),
            gaps_known,
            ends_known: gaps_known,
            origin: "generated".into(),
        }],
        quanta: vec![quanta],
        gaps: vec![gaps],
        ..InMemory::default()
    }
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("analyse");
    group.sample_size(10);
    for (name, number, gaps_known) in [
        ("recording", 524_288, true),
        ("counts", 524_288, false),
        ("recording", 4_194_304, true),
    ] {
        let source = recording(number, gaps_known);
        let start = Instant::now();
        let analysis = analyse(&source, &[]).expect("a source in memory can be read");
        let seconds = start.elapsed().as_secs_f64();
        black_box(analysis);
        println!(
            "{name}, {number} quanta: {seconds:.3} s, {:.1} million quanta/s (first run)",
            number as f64 / seconds / 1e6
        );
        group.throughput(Throughput::Elements(number as u64));
        group.bench_function(format!("{name}/{number}"), |bencher| {
            bencher.iter_batched(
                || (),
                |()| analyse(black_box(&source), &[]),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
