//! Kernel events on disk: what is written is read, and where none were kept nobody takes silence for quiet.

mod any_events;
mod foreign_events;

use crate::common::{self, append_seconds, manifest, second};
use bandscope_recording::inputs::Inputs;
use bandscope_recording::manifest::{EventsState, State};
use bandscope_recording::{
    Error, EventKind, EventStream, KernelEvent, Manifest, Source, Writer, read,
};
use std::fs;
use std::path::Path;

const PART: &str = "events/cpu=1/part-000000.parquet";

fn on() -> Manifest {
    let mut manifest = manifest(&[1000.0]);
    manifest.events.state = EventsState::On;
    manifest
}

fn tick(start: u64) -> KernelEvent {
    KernelEvent {
        start,
        duration: 3000,
        kind: EventKind::Vector,
        number: 236,
        name: "local_timer".into(),
        ..KernelEvent::default()
    }
}

/// Four a second.
fn ticks(seconds: std::ops::Range<u64>) -> Vec<KernelEvent> {
    (4 * seconds.start..4 * seconds.end)
        .map(|k| tick(k * 250_000_000))
        .collect()
}

/// A recording of one second of quanta, whose events somebody else adds.
fn write(path: &Path, events: &[KernelEvent]) {
    let mut manifest = on();
    let mut writer = Writer::create(path, &manifest).unwrap();
    writer
        .append_quanta(1, 1000.0, "mulss80", &second(0, 0).0)
        .unwrap();
    writer.append_events(1, events).unwrap();
    manifest.state = State::Complete;
    writer.finish(&manifest).unwrap();
}

fn drained(mut stream: Box<dyn EventStream + '_>) -> Result<Vec<KernelEvent>, Error> {
    let (mut batch, mut all) = (Vec::new(), Vec::new());
    while stream.next(&mut batch)? {
        assert!(!batch.is_empty(), "a batch has rows");
        all.append(&mut batch);
    }
    assert!(
        !stream.next(&mut batch)? && batch.is_empty(),
        "it stays at its end"
    );
    Ok(all)
}

fn events_of(source: &dyn Source) -> Vec<KernelEvent> {
    drained(source.events(0).unwrap()).unwrap()
}

/// Opens, reads all events, and returns the error as the user sees it.
fn error_of(path: &Path) -> String {
    let read = || drained(read::open(path)?.events(0)?);
    let message = read().unwrap_err().to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn events_of_an_hour_come_back_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hour");
    write(&path, &ticks(0..3600));
    let recording = read::open(&path).unwrap();
    assert_eq!(recording.warnings(), []);
    let parts = &recording.manifest().parts;
    let of = parts.iter().find(|parts| parts.path == "events/cpu=1");
    // 1 + 2 + 4 + 8 + 16 s in five parts, then 3569 s in parts of 30 s.
    assert_eq!(
        of.map(|parts| (parts.parts, parts.rows)),
        Some((124, 14_400))
    );
    assert_eq!(events_of(&recording), ticks(0..3600));
    assert!(recording.events_known(0).silence_is_known(1, 0, u64::MAX));
}

#[test]
fn a_recording_without_events_has_none_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let recording = read::open(&common::write_recording(directory.path(), 3)).unwrap();
    assert_eq!(events_of(&recording), []);
    assert_eq!(recording.events_known(0).state, EventsState::Off);
}

#[test]
fn where_a_killed_run_ends_silence_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed");
    let mut writer = Writer::create(&path, &on()).unwrap();
    append_seconds(&mut writer, 9);
    for k in 0..9 {
        writer.append_events(1, &ticks(k..k + 1)).unwrap();
    }
    drop(writer);
    let recording = read::open(&path).unwrap();
    // Parts of 1, 2 and 4 s were whole.
    assert_eq!(events_of(&recording), ticks(0..7));
    let known = recording.events_known(0);
    assert!(known.silence_is_known(1, 0, 6_750_000_000));
    assert!(!known.silence_is_known(1, 6_800_000_000, 6_900_000_000));
    // Not even one part: nothing is known.
    let path = directory.path().join("at once");
    drop(Writer::create(&path, &on()).unwrap());
    let known = read::open(&path).unwrap();
    assert!(!known.manifest().events.silence_is_known(1, 0, 1));
}

#[test]
fn the_writer_refuses_what_could_not_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&directory.path().join("r"), &on()).unwrap();
    writer.append_events(1, &ticks(0..1)).unwrap();
    let message = writer
        .append_events(1, &ticks(0..1))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("events/cpu=1: found row 4 with start 0, expected 750000000 or later"),
        "{message}"
    );
    // Another CPU has an order of its own.
    writer.append_events(0, &ticks(0..1)).unwrap();
}

#[test]
fn events_of_several_inputs_are_on_one_clock() {
    let directory = tempfile::tempdir().unwrap();
    let paths = [1.0, 2.0].map(|ticks_per_ns| {
        let path = directory.path().join(format!("{ticks_per_ns}"));
        let mut manifest = on();
        manifest.clock.ticks_per_ns = ticks_per_ns;
        manifest.events.time_error_ticks = Some(50.0);
        let mut writer = Writer::create(&path, &manifest).unwrap();
        let quanta = second(0, 0).0;
        writer.append_quanta(1, 1000.0, "mulss80", &quanta).unwrap();
        writer.append_events(1, &[tick(1001)]).unwrap();
        manifest
            .events
            .lost
            .push(bandscope_recording::manifest::LostEvents {
                cpu: 1,
                from: 8000,
                to: 9000,
                events: 1,
            });
        manifest.state = State::Complete;
        writer.finish(&manifest).unwrap();
        path
    });
    let inputs = Inputs::open(&paths).unwrap();
    let of = |index| drained(inputs.events(index).unwrap()).unwrap()[0].clone();
    assert_eq!((of(0).start, of(0).duration), (1001, 3000));
    assert_eq!((of(1).start, of(1).end()), (501, 2001));
    assert_eq!(inputs.events_known(1).time_error_ticks, Some(25.0));
    assert!(!inputs.events_known(1).silence_is_known(1, 4000, 4001));
    assert!(inputs.events_known(0).silence_is_known(1, 4000, 4001));
}

#[test]
fn damaged_and_missing_parts_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
    let turned = |mut bytes: Vec<u8>| {
        bytes[10] ^= 1;
        bytes
    };
    let path = directory.path().join("r");
    write(&path, &ticks(0..9));
    let whole = fs::read(path.join(PART)).unwrap();
    for (bytes, wanted) in [
        (
            cut(whole.clone()),
            "bytes that are not a whole Parquet file",
        ),
        (
            turned(whole.clone()),
            "a checksum that does not fit the file",
        ),
    ] {
        fs::write(path.join(PART), bytes).unwrap();
        let message = error_of(&path);
        assert!(message.contains(&format!("{PART}: found")), "{message}");
        assert!(message.contains(wanted), "{message}");
    }
    fs::remove_file(path.join(PART)).unwrap();
    assert!(error_of(&path).contains(&format!("{PART}: found nothing")));
    fs::remove_dir_all(path.join("events")).unwrap();
    assert!(error_of(&path).contains("events/cpu=1: found 0 parts, expected 4"));
}
