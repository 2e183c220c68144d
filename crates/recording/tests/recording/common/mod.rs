//! What the tests of recordings on disk share.

use bandscope_recording::manifest::{Clock, ClockOrigin, Counter, Settings, State};
use bandscope_recording::{Gap, GapKind, Manifest, Quanta, Quantum, Source, Writer};
use std::path::{Path, PathBuf};

/// A manifest of a run on CPU 1 at these rates, with one tick a nanosecond and two counters.
pub fn manifest(rates_hz: &[f64]) -> Manifest {
    let counter = |name: &str| Counter {
        name: name.into(),
        ..Counter::default()
    };
    Manifest {
        tool: "test".into(),
        settings: Settings {
            cpus: vec![1],
            rates_hz: rates_hz.to_vec(),
            kernels: vec!["mulss80".into()],
            ..Settings::default()
        },
        clock: Clock {
            name: "test".into(),
            ticks_per_ns: 1.0,
            origin: ClockOrigin::Given,
            ..Clock::default()
        },
        counters: vec![counter("cycles"), counter("context-switches")],
        ..Manifest::default()
    }
}

/// One segment of a second at 1 kHz that begins at `second`, with a gap in every tenth quantum but one, which has a
/// checkpoint.
pub fn second(segment: u32, second: u64) -> (Quanta, Vec<Gap>) {
    let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
    let begin = second * 1_000_000_000;
    for k in 0..1000 {
        let start = begin + k * 1_000_000;
        let checkpoint = k == 500;
        let has_gap = k % 10 == 0 && !checkpoint;
        quanta.push(Quantum {
            start,
            end: start + 1_000_000,
            count: 8000 + (k % 3) as u32,
            gaps: u32::from(has_gap),
            gap_ticks: if has_gap { 3000 + k } else { 0 },
            measurement_ticks: if has_gap || checkpoint { 70 } else { 0 },
            cpu: 1,
            segment,
        });
        if has_gap || checkpoint {
            gaps.push(Gap {
                start: start + 500,
                duration: if checkpoint { 0 } else { 3000 + k },
                handling: 70,
                kind: if checkpoint {
                    GapKind::Checkpoint
                } else {
                    GapKind::Gap
                },
                preempted: [None, Some(false), Some(true)][k as usize / 10 % 3],
                segment,
                counters: [k, u64::MAX - k, 0, 0, 0],
            });
        }
    }
    (quanta, gaps)
}

/// Writes `seconds` seconds in which segments at 1 kHz and 500 Hz (which hold the same rows) alternate,
/// and returns the recording's path. The first part of each series holds its first second.
pub fn write_recording(directory: &Path, seconds: u64) -> PathBuf {
    let path = directory.join("test.bandscope");
    let mut manifest = manifest(&[1000.0, 500.0]);
    let mut writer = Writer::create(&path, &manifest).unwrap();
    append_seconds(&mut writer, seconds);
    manifest.state = State::Complete;
    writer.finish(&manifest).unwrap();
    path
}

/// Appends what [`write_recording`] writes.
pub fn append_seconds(writer: &mut Writer, seconds: u64) {
    for k in 0..seconds {
        let (quanta, gaps) = second(k as u32, k);
        writer
            .append_quanta(1, [1000.0, 500.0][k as usize % 2], "mulss80", &quanta)
            .unwrap();
        writer.append_gaps(1, &gaps).unwrap();
    }
}

/// All quanta of a series.
pub fn quanta_of(source: &dyn Source, series: usize) -> Quanta {
    let mut quanta = Quanta::default();
    let read = source.replay_quanta(series, &mut |chunk| {
        for index in 0..chunk.len() {
            quanta.push(chunk.get(index));
        }
    });
    read.unwrap();
    quanta
}

/// All gaps of a series.
pub fn gaps_of(source: &dyn Source, series: usize) -> Vec<Gap> {
    let mut gaps = Vec::new();
    source
        .replay_gaps(series, &mut |batch| gaps.extend_from_slice(batch))
        .unwrap();
    gaps
}

/// Reads everything and returns the first error as the user sees it.
pub fn read_error(path: &Path) -> String {
    let read = || -> Result<(), bandscope_recording::Error> {
        let recording = bandscope_recording::read::open(path)?;
        for index in 0..recording.series().len() {
            recording.replay_quanta(index, &mut |_| {})?;
            recording.replay_gaps(index, &mut |_| {})?;
        }
        Ok(())
    };
    read().expect_err("the recording is damaged").to_string()
}
