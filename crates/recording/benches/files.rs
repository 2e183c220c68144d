//! How fast files are written, read and parsed: `cargo bench -p bandscope-recording`.
//!
//! Rows a second is the figure to look at. Files lie in the temporary directory and are in the page cache
//! after the first iteration.

use bandscope_recording::dat::DatFile;
use bandscope_recording::manifest::{Clock, State};
use bandscope_recording::{Manifest, Quanta, Quantum, Source, Writer, read};
use bandscope_statistics::random::Random;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write;
use std::path::Path;

/// Rows of the recording: 10 s at 100 kHz.
const QUANTA: u64 = 1_000_000;
/// Rows of the `.dat` file: what the original FTQ writes by default.
const DAT_ROWS: u64 = 524_288;
const QUANTUM_TICKS: u64 = 23_000;

/// A quiet series: ends jitter by 250 ticks, counts by one.
fn quanta() -> Quanta {
    let (mut quanta, mut random, mut now) = (Quanta::default(), Random::new(1), 0);
    for k in 1..=QUANTA {
        let end = k * QUANTUM_TICKS + random.below(250);
        quanta.push(Quantum {
            start: now,
            end,
            count: ((end - now) / 268) as u32,
            ..Quantum::default()
        });
        now = end;
    }
    quanta
}

fn write(path: &Path, quanta: &Quanta) {
    let mut manifest = Manifest {
        clock: Clock {
            ticks_per_ns: 2.3,
            ..Clock::default()
        },
        ..Manifest::default()
    };
    let mut writer =
        Writer::create(path, &manifest).expect("the temporary directory can be written");
    writer
        .append_quanta(0, 1e5, "mulss80", quanta)
        .expect("the quanta are in order");
    manifest.state = State::Complete;
    writer
        .finish(&manifest)
        .expect("the temporary directory can be written");
}

fn total_count(source: &dyn Source) -> u64 {
    let mut total = 0;
    let replayed = source.replay_quanta(0, &mut |chunk| {
        total += chunk
            .count
            .iter()
            .map(|&count| u64::from(count))
            .sum::<u64>();
    });
    replayed.expect("the file was just written");
    total
}

fn recordings(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let path = directory.path().join("bench");
    let quanta = quanta();
    write(&path, &quanta);
    let mut group = criterion.benchmark_group("recording");
    group
        .throughput(Throughput::Elements(QUANTA))
        .sample_size(10);
    group.bench_function("write", |bencher| {
        bencher.iter(|| {
            let _ = std::fs::remove_dir_all(&path);
            write(&path, &quanta);
        });
    });
    group.bench_function("open", |bencher| {
        bencher.iter(|| read::open(&path).map(drop))
    });
    let recording = read::open(&path).expect("the recording was just written");
    group.bench_function("replay", |bencher| bencher.iter(|| total_count(&recording)));
    group.finish();
}

fn dat(criterion: &mut Criterion) {
    let file = tempfile::NamedTempFile::new().expect("there is a temporary directory");
    let mut text = String::from("# Frequency 10000.000000\n");
    for k in 0..DAT_ROWS {
        let _ = writeln!(
            text,
            "{} {}",
            34_187_736_725 + k * 100_000 + k * 7919 % 60,
            4165 + k % 9
        );
    }
    std::fs::write(file.path(), text).expect("the temporary directory can be written");
    let mut group = criterion.benchmark_group("dat");
    group
        .throughput(Throughput::Elements(DAT_ROWS))
        .sample_size(20);
    group.bench_function("open", |bencher| {
        bencher.iter(|| DatFile::open(file.path()).map(drop))
    });
    let dat = DatFile::open(file.path()).expect("the file was just written");
    group.bench_function("replay", |bencher| bencher.iter(|| total_count(&dat)));
    group.finish();
}

criterion_group!(benches, recordings, dat);
criterion_main!(benches);
