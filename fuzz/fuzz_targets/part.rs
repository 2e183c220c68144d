//! Any bytes as a part of a recording, of its quanta, of its gaps and of its events: rows in order, or an error of one line
//! that names the file. The bytes are in memory: each part is a link to a file that has no name.
//!
//! The bytes carry no checksum (`fuzz/seeds.sh` takes it out of the seeds), as with a part of another program: with one,
//! all that could be tried is whether a changed byte is noticed. Where the file library's decoders panic that is an error
//! by design (`recording/src/read/guard.rs`), so a panic counts only if it leaves the reader.
#![no_main]

use bandscope_recording::{Manifest, Quanta, Quantum, Source, Writer, read};
use libfuzzer_sys::fuzz_target;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What `fuzz/seeds.sh` makes of the run and of the mark of the checksum, of equal lengths.
const RUN: &str = "ffffffffffffffffffffffffffffffff";
const MARKS: [&str; 2] = ["bandscope-xxh64:", "bandscope-xxh00:"];

const QUANTA: &str = "quanta/cpu=0/rate=1000/kernel=mulss80";
const GAPS: &str = "gaps/cpu=0";
const EVENTS: &str = "events/cpu=0";
const PART: &str = "part-000000.parquet";

/// Where the bytes are, and three recordings: they are the only part of the first, the gaps of the second and the events of the third.
static RECORDINGS: LazyLock<(File, [PathBuf; 3])> = LazyLock::new(|| {
    // Panics of the decoders are caught and expected: no line for each.
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic
            .location()
            .is_none_or(|place| !place.file().contains("parquet"))
        {
            told(panic);
        }
    }));
    let directory = std::env::temp_dir().join(format!("bandscope-fuzz-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory can be made");
    let memory = Path::new("/dev/shm").join(format!("bandscope-fuzz-{}", std::process::id()));
    let bytes = File::create_new(&memory).expect("a file in memory can be made");
    fs::remove_file(&memory).expect("it was just made");
    let link = format!("/proc/self/fd/{}", bytes.as_raw_fd());
    let recordings = [QUANTA, GAPS, EVENTS].map(|folder| {
        let path = directory.join(folder.split('/').next().unwrap_or_default());
        write(&path);
        let part = path.join(folder).join(PART);
        fs::create_dir_all(path.join(folder)).expect("a directory can be made");
        let _ = fs::remove_file(&part);
        symlink(&link, part).expect("a link can be made");
        path
    });
    (bytes, recordings)
});

/// A recording of 200 quanta without the checksum, that looks as if its run was killed: how many rows there are to be
/// is then told by the parts alone.
fn write(path: &Path) {
    let mut manifest = Manifest {
        run: RUN.into(),
        ..Manifest::default()
    };
    manifest.clock.ticks_per_ns = 1.0;
    manifest.settings.cpus = vec![0];
    let mut writer = Writer::create(path, &manifest).expect("a recording can be made");
    let begun = fs::read(path.join("recording.json")).expect("it was just written");
    let mut quanta = Quanta::default();
    for k in 0..200 {
        quanta.push(Quantum {
            start: k * 1_000_000,
            end: (k + 1) * 1_000_000,
            count: 8000,
            gaps: 0,
            gap_ticks: 0,
            measurement_ticks: 0,
            cpu: 0,
            segment: 0,
        });
    }
    writer
        .append_quanta(0, 1000.0, "mulss80", &quanta)
        .expect("quanta can be written");
    writer
        .finish(&manifest)
        .expect("a recording can be finished");
    fs::write(path.join("recording.json"), begun).expect("it can be written again");
    let part = path.join(QUANTA).join(PART);
    let mut bytes = fs::read(&part).expect("it was just written");
    let mark = bytes
        .windows(MARKS[0].len())
        .position(|bytes| bytes == MARKS[0].as_bytes());
    let mark = mark.expect("a part has a checksum");
    bytes[mark..mark + MARKS[1].len()].copy_from_slice(MARKS[1].as_bytes());
    fs::write(&part, bytes).expect("it can be written again");
}

fuzz_target!(|bytes: &[u8]| {
    let (file, recordings) = &*RECORDINGS;
    file.set_len(0).expect("memory");
    file.write_all_at(bytes, 0).expect("memory");
    for recording in recordings {
        if let Err(error) = read_all(recording) {
            let error = error.to_string();
            assert_eq!(error.lines().count(), 1, "{error:?}");
            let path = recording.to_string_lossy();
            assert!(error.starts_with(&*path), "{error}");
        }
    }
});

/// Reads everything; what comes is in order of time.
fn read_all(recording: &Path) -> Result<(), bandscope_recording::Error> {
    let opened = read::open(recording)?;
    for series in 0..opened.series().len() {
        let mut last = 0;
        opened.replay_quanta(series, &mut |chunk| {
            for k in 0..chunk.len() {
                let quantum = chunk.get(k);
                assert!(
                    last <= quantum.start && quantum.start <= quantum.end,
                    "{quantum:?}"
                );
                last = quantum.end;
            }
        })?;
        let mut last = 0;
        opened.replay_gaps(series, &mut |gaps| {
            for gap in gaps {
                assert!(last <= gap.start, "{gap:?}");
                last = gap.start;
            }
        })?;
    }
    for series in 0..opened.series().len() {
        let (mut stream, mut events) = (opened.events(series)?, Vec::new());
        let mut last = 0;
        while stream.next(&mut events)? {
            for event in &events {
                assert!(last <= event.start, "{event:?}");
                last = event.start;
            }
        }
    }
    Ok(())
}
