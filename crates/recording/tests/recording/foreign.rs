//! Parts that another program wrote: without a checksum, in other encodings, with values that bandscope
//! never writes, or made to do harm.

use crate::common::{manifest, quanta_of, read_error};
use bandscope_recording::read::ReadWarningKind;
use bandscope_recording::{Source, Writer, read};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SCHEMA: &str = "message foreign { required int64 start_ticks; required int64 end_ticks; \
    required int32 count; required int32 gaps; required int64 gap_ticks; \
    required int64 measurement_ticks; required int32 cpu_seen; required int32 segment; }";
/// Columns in the order of [`SCHEMA`].
type Columns = [Vec<i64>; 8];

fn hundred_quanta() -> Columns {
    let column = |value: fn(i64) -> i64| (0..100).map(value).collect();
    [
        column(|k| 1000 * k),
        column(|k| 1000 * (k + 1)),
        column(|k| 50 + k % 3),
        column(|k| k % 2),
        column(|k| 30 * (k % 2)),
        column(|k| 7 * (k % 2)),
        column(|_| 1),
        column(|_| 0),
    ]
}

/// A recording whose only part was written by the file library with its defaults and this compression.
fn foreign(directory: &Path, columns: &Columns, compression: Compression) -> (PathBuf, PathBuf) {
    let recording = directory.join("foreign");
    let run = {
        let writer = Writer::create(&recording, &manifest(&[1000.0])).unwrap();
        writer.manifest().run.clone()
    };
    let series = recording.join("quanta/cpu=1/rate=1000/kernel=mulss80");
    fs::create_dir_all(&series).unwrap();
    let part = series.join("part-000000.parquet");
    let rows = columns[0].len().to_string();
    let keys = [
        ("schema", "bandscope.recording/1"),
        ("run", &run),
        ("part", "0"),
        ("rows", &rows),
    ];
    let keys = keys.map(|(key, value)| KeyValue::new(key.into(), value.to_owned()));
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_key_value_metadata(Some(keys.to_vec()))
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let file = File::create(&part).unwrap();
    let mut file = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    for values in columns {
        let mut column = group.next_column().unwrap().unwrap();
        match column.untyped() {
            ColumnWriter::Int64ColumnWriter(column) => column.write_batch(values, None, None),
            ColumnWriter::Int32ColumnWriter(column) => {
                let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
                column.write_batch(&values, None, None)
            }
            _ => unreachable!("the schema has no other types"),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    (recording, part)
}

#[test]
fn a_part_of_another_program_reads_with_a_warning() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (path, _) = foreign(directory.path(), &hundred_quanta(), compression);
        let recording = read::open(&path).unwrap();
        assert_eq!(recording.warnings()[0].kind, ReadWarningKind::NoChecksum);
        let quanta = quanta_of(&recording, 0);
        assert_eq!((quanta.len(), quanta.end[99]), (100, 100_000));
    }
}

#[test]
fn negative_values_are_refused_in_every_column() {
    let names = SCHEMA
        .split_whitespace()
        .filter_map(|word| word.strip_suffix(';'));
    for (index, name) in names.enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let mut columns = hundred_quanta();
        columns[index][70] = -1;
        let (path, _) = foreign(directory.path(), &columns, Compression::UNCOMPRESSED);
        let message = read_error(&path);
        let wanted = format!("part-000000.parquet: found a negative value in column \"{name}\"");
        assert!(message.contains(&wanted), "{message}");
    }
}

/// Nothing here can write Snappy: the codec's number is changed in the metadata of each column, behind the name.
#[test]
fn a_codec_that_is_not_built_in_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let (path, part) = foreign(directory.path(), &hundred_quanta(), zstd);
    let mut bytes = fs::read(&part).unwrap();
    // Thrift's compact protocol: field of type i32, zigzag of 6 (Zstandard) and of 1 (Snappy).
    let zstd = b"end_ticks\x15\x0c";
    let found = bytes.windows(zstd.len()).position(|bytes| bytes == zstd);
    let codec = found.expect("the metadata hold the codec") + zstd.len() - 1;
    bytes[codec] = 2;
    fs::write(&part, bytes).unwrap();
    let message = read_error(&path);
    assert!(
        message.contains("found column \"end_ticks\" compressed with SNAPPY, expected Zstandard or no compression"),
        "{message}"
    );
    assert!(!message.contains("damaged"), "{message}");
}

/// Whatever stands in a file without a checksum, reading it ends in rows or in an error.
#[test]
fn no_byte_of_a_foreign_part_makes_the_reader_panic() {
    let directory = tempfile::tempdir().unwrap();
    let (path, part) = foreign(
        directory.path(),
        &hundred_quanta(),
        Compression::UNCOMPRESSED,
    );
    let whole = fs::read(&part).unwrap();
    let (mut read, mut refused) = (0, 0);
    for position in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[position] ^= [0xff, 1 << (position / 2 % 8)][position % 2];
        fs::write(&part, &bytes).unwrap();
        match read::open(&path).and_then(|recording| recording.replay_quanta(0, &mut |_| ())) {
            Ok(()) => read += 1,
            Err(error) => {
                assert!(
                    error.to_string().contains("part-000000.parquet: "),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

#[test]
fn an_end_that_claims_more_than_its_bytes_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (recording, part) = foreign(
        directory.path(),
        &hundred_quanta(),
        Compression::UNCOMPRESSED,
    );
    assert!(read::open(&recording).is_ok());
    let mut bytes = fs::read(&part).unwrap();
    bytes.truncate(bytes.len() - 4);
    let length = bytes.split_off(bytes.len() - 4);
    let mut length = u32::from_le_bytes(length.try_into().unwrap());
    // Before the end of the struct, ten thousand lists of 2^31 - 1 booleans, which the library would count one by one for hours.
    assert_eq!(bytes.pop(), Some(0));
    let list = [0xf1, 0xff, 0xff, 0xff, 0xff, 0x07];
    let lists = (0..10_000).flat_map(|at| {
        let field: &[u8] = if at == 0 { &[0x09, 200, 1] } else { &[0x19] };
        [field, &list].concat()
    });
    let before = bytes.len();
    bytes.extend(lists.chain([0]));
    length += (bytes.len() - before - 1) as u32;
    bytes.extend(length.to_le_bytes());
    bytes.extend(b"PAR1");
    fs::write(&part, bytes).unwrap();
    let error = read_error(&recording);
    assert!(
        error.contains("it claims to hold more than its bytes"),
        "{error}"
    );
}

#[test]
fn a_page_that_claims_more_than_its_bytes_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (recording, part) = foreign(
        directory.path(),
        &hundred_quanta(),
        Compression::UNCOMPRESSED,
    );
    let mut bytes = fs::read(&part).unwrap();
    // The head of the first page stands behind the mark of the file.
    bytes[4..11].copy_from_slice(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07]);
    fs::write(&part, bytes).unwrap();
    let error = read_error(&recording);
    assert!(
        error.contains("it claims to hold more than its bytes"),
        "{error}"
    );
}
