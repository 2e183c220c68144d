//! Events that another program wrote.

use super::{PART, drained, error_of, events_of, write};
use bandscope_recording::{EventKind, Source, read};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// As `tests/recording/foreign.rs` has it for quanta: no checksum protects this part.
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
