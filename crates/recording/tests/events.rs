//! Kernel events on disk: what is written is read, and where none were kept nobody takes silence for quiet.

mod common;

use bandscope_recording::inputs::Inputs;
use bandscope_recording::manifest::{EventsState, State};
use bandscope_recording::{
    Error, EventKind, EventStream, KernelEvent, Manifest, Sender, Source, Writer, read,
};
use common::{append_seconds, manifest, second};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Puts a part that another program wrote in place of the events of a killed run: one row for each start.
fn foreign(path: &Path, starts: &[i64], kind: i32, number: i32, name: &[u8]) -> PathBuf {
    write(path, &[]);
    let manifest = read::open(path).unwrap().manifest().clone();
    let json = fs::read_to_string(path.join("recording.json")).unwrap();
    fs::write(
        path.join("recording.json"),
        json.replace("\"complete\"", "\"recording\"")
            .replacen("{\n  \"checksum\"", "{\n  \"no checksum\"", 1)
            .replacen("bandscope-xxh64", "", 1),
    )
    .unwrap();
    let part = path.join(PART);
    fs::create_dir_all(part.parent().unwrap()).unwrap();
    let rows = starts.len().to_string();
    let keys = [
        ("schema", "bandscope.recording/1"),
        ("run", &manifest.run),
        ("part", "0"),
        ("rows", &rows),
    ];
    let keys = keys.map(|(key, value)| KeyValue::new(key.into(), value.to_owned()));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(keys.to_vec()));
    let schema = "message foreign { required int64 start_ticks; required int64 duration_ticks; \
        required int32 kind; required int32 number; required binary name; }";
    let mut file = SerializedFileWriter::new(
        File::create(&part).unwrap(),
        Arc::new(parse_message_type(schema).unwrap()),
        Arc::new(properties.build()),
    )
    .unwrap();
    let mut group = file.next_row_group().unwrap();
    for wide in [starts.to_vec(), vec![7; starts.len()]] {
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<Int64Type>()
            .write_batch(&wide, None, None)
            .unwrap();
        column.close().unwrap();
    }
    for narrow in [kind, number] {
        let mut column = group.next_column().unwrap().unwrap();
        let narrow = vec![narrow; starts.len()];
        column
            .typed::<Int32Type>()
            .write_batch(&narrow, None, None)
            .unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    let names = vec![ByteArray::from(name.to_vec()); starts.len()];
    column
        .typed::<ByteArrayType>()
        .write_batch(&names, None, None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    part
}

#[test]
fn what_another_program_wrote_is_read_with_suspicion() {
    let directory = tempfile::tempdir().unwrap();
    let good = directory.path().join("good");
    foreign(&good, &[5, 5, 9], 3, 77, b"a task");
    let events = events_of(&read::open(&good).unwrap());
    assert_eq!(
        (events.len(), events[2].kind, events[2].number),
        (3, EventKind::Task, 77)
    );
    assert_eq!(&*events[2].name, "a task");
    type Case<'a> = (&'a [i64], i32, i32, &'a [u8], &'a str);
    let cases: [Case<'_>; 7] = [
        (
            &[5, 4],
            3,
            1,
            b"a",
            "found start 4 in row 1 of the series, expected 5 or later",
        ),
        (
            &[-5],
            3,
            1,
            b"a",
            "found a negative value in column \"start_ticks\"",
        ),
        (
            &[5],
            -1,
            1,
            b"a",
            "found a negative value in column \"kind\"",
        ),
        (
            &[5],
            9,
            1,
            b"a",
            "found an event of kind 9, expected 0 (vector)",
        ),
        (
            &[5],
            3,
            -1,
            b"a",
            "found a negative value in column \"number\"",
        ),
        (
            &[5],
            3,
            1,
            b"\xff\x1b",
            "in column \"name\", expected text in UTF-8",
        ),
        (&[5], 3, 1, b"\x1b[2J", "found name \"\\u{1b}[2J\" in row 0"),
    ];
    for (number, (starts, kind, event, name, wanted)) in cases.into_iter().enumerate() {
        let path = directory.path().join(number.to_string());
        foreign(&path, starts, kind, event, name);
        let message = error_of(&path);
        assert!(message.contains(wanted), "{message}");
        assert!(message.contains(PART), "{message}");
    }
}

/// As `tests/foreign.rs` has it for quanta: no checksum protects this part.
#[test]
fn no_byte_of_a_foreign_part_makes_the_reader_panic() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r");
    let part = foreign(&path, &[5, 5, 9, 17], 3, 77, b"a task");
    let whole = fs::read(&part).unwrap();
    for position in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[position] ^= 1 << (position % 8);
        fs::write(&part, bytes).unwrap();
        if let Ok(recording) = read::open(&path)
            && let Err(error) = drained(recording.events(0).unwrap())
        {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
}

fn any_events() -> impl Strategy<Value = Vec<KernelEvent>> {
    let row = (
        prop_oneof![0..10u64, 0..1u64 << 50],
        prop_oneof![0..10u64, 0..1u64 << 50],
        0..EventKind::ALL.len(),
        0..=i32::MAX as u32,
        proptest::collection::vec(any::<u8>(), 0..20),
    );
    proptest::collection::vec(row, 0..300).prop_map(|rows| {
        let mut now = 0;
        let row = |(pause, duration, kind, number, name): (u64, _, usize, _, Vec<u8>)| {
            now += pause;
            KernelEvent {
                start: now,
                duration,
                kind: EventKind::ALL[kind],
                number,
                name: bandscope_recording::events::escaped(&name).into(),
                sender: (number % 3 == 1).then(|| {
                    Arc::new(Sender {
                        name: ["irq:x", "task:make", "timer:f"][kind % 3].into(),
                        cpu: number,
                        function: ["vmstat_update", "", "a, b"][kind % 2].into(),
                        waited: duration,
                        caller: ["", "pipe_write"][number as usize % 2].into(),
                        set_by: ["", "task:make"][number as usize % 2].into(),
                    })
                }),
            }
        };
        rows.into_iter().map(row).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn anything_comes_back(events in any_events(), batch in 1..400usize) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("any");
        let mut manifest = on();
        let mut writer = Writer::create(&path, &manifest).unwrap();
        writer.append_quanta(1, 1000.0, "mulss80", &second(0, 0).0).unwrap();
        for some in events.chunks(batch) {
            writer.append_events(1, some).unwrap();
        }
        manifest.state = State::Complete;
        writer.finish(&manifest).unwrap();
        prop_assert_eq!(events_of(&read::open(&path).unwrap()), events);
    }
}
