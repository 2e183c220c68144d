//! Files of the original FTQ: the published ones, damaged ones, and any others.

use crate::common::{quanta_of, write_recording};
use bandscope_recording::csv::write_csv;
use bandscope_recording::dat::{DatFile, parse, write_dat};
use bandscope_recording::inputs::{Input, Inputs, open_any};
use bandscope_recording::{Source, read};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

fn written(source: &dyn Source, series: usize) -> Vec<u8> {
    let mut output = Vec::new();
    write_dat(source, series, &mut output).unwrap();
    output
}

#[test]
fn the_published_rows_read() {
    let input = open_any(&cases().join("spr-10khz-a.dat")).unwrap();
    assert!(matches!(input, Input::Dat(_)) && input.warnings().is_empty());
    let series = &input.series()[0];
    assert_eq!(
        (series.rate_hz, series.cpu, &*series.kernel),
        (10_000.0, None, "unknown")
    );
    let quanta = quanta_of(&input, 0);
    assert_eq!(quanta.len(), 15);
    assert_eq!(
        (quanta.start[0], quanta.end[0], quanta.count[2]),
        (0, 100_009, 2830)
    );
    assert_eq!(input.manifest().clock.origin_ticks, 34_187_736_725);
}

/// The text of a file, and what the error must say.
const BAD: &[(&str, &str, &[&str])] = &[
    (
        "cut off in a row",
        "# Frequency 10000\n100 7\n200",
        &[":3: found \"200\"", "the file seems cut off"],
    ),
    (
        "three columns",
        "100 7\n200 7 9\n",
        &[":2: found \"200 7 9\"", "expected two columns"],
    ),
    (
        "a word",
        "100 7\nsoon 7\n",
        &[":2: found \"soon\"", "expected a time in whole nanoseconds"],
    ),
    (
        "a negative number",
        "100 -7\n",
        &[":1: found \"-7\", expected a count, a whole number from 0 to 4294967295"],
    ),
    (
        "times that run backwards",
        "# x\n100 7\n99 7\n",
        &[":3: found 99, expected 100 or later"],
    ),
    (
        "units in no time",
        "# Frequency 10000\n0 7\n0 7\n",
        &[":3: found 0, expected later than 0: the row before it counts 7 units"],
    ),
    (
        "a rate that cannot be, and nothing else that tells one",
        "# Frequency 1e300\n100 7\n",
        &["found nothing that tells the rate, expected a line '# Frequency HZ'"],
    ),
    ("NaN", "NaN 7\n", &[":1: found \"NaN\", expected a time"]),
    (
        "10^30",
        "100 1000000000000000000000000000000\n",
        &[":1: found \"1000000000000000000000000000000\", expected a count"],
    ),
    (
        "a count beyond 32 bits",
        "100 7\n200 4294967296\n",
        &[":2: found \"4294967296\", expected a count"],
    ),
    (
        "no rows",
        "# Frequency 10000\n",
        &["found no row, expected rows of a time"],
    ),
    ("nothing", "", &["found no row"]),
    (
        "a NUL byte",
        "100 7\n200 \0 7\n",
        &[":2: found \"200 \\0 7\""],
    ),
    (
        "a terminal escape",
        "100 \u{1b}[2J\n",
        &["found \"\\u{1b}[2J\""],
    ),
    (
        "no rate",
        "100 7\n",
        &["found nothing that tells the rate, expected a line '# Frequency HZ'"],
    ),
];

#[test]
fn bad_input_is_told_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.dat");
    for (name, text, wanted) in BAD {
        fs::write(&path, text).unwrap();
        let message = open_any(&path).expect_err(name).to_string();
        assert!(
            message.starts_with(&path.display().to_string()),
            "{name}: {message}"
        );
        for wanted in *wanted {
            assert!(message.contains(wanted), "{name}: {message}");
        }
        assert_eq!(message.lines().count(), 1, "{name}: {message}");
    }
}

#[test]
fn two_gigabytes_in_one_line_are_refused_without_reading_them() {
    // A file with a hole of 2 GiB: NUL bytes that take no room on the disk.
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(2 << 30).unwrap();
    let message = DatFile::open(file.path()).unwrap_err().to_string();
    assert!(
        message.contains(":1: found ") && message.contains("a line of more than 4096 bytes"),
        "{message}"
    );
}

#[test]
fn what_is_no_file_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.dat");
    let message = open_any(&missing).unwrap_err().to_string();
    assert!(
        message.contains("missing.dat: cannot read: No such file"),
        "{message}"
    );
    let message = DatFile::open(directory.path()).unwrap_err().to_string();
    assert!(
        message.contains("found a directory, expected a regular file"),
        "{message}"
    );
    let message = DatFile::open(Path::new("/dev/null"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("found a pipe or device"), "{message}");
    let message = open_any(directory.path()).unwrap_err().to_string();
    assert!(
        message.contains("found a directory without recording.json"),
        "{message}"
    );
}

#[test]
fn harmless_oddities_are_read() {
    let text = "# Frequency 10000.000000\r\n\r\n000100 7\r\n  100100\t8  \r\n# note\r\n200100 9";
    let (series, quanta) = parse(Path::new("x.dat"), text.as_bytes()).unwrap();
    assert_eq!(series.rate_hz, 10_000.0);
    assert_eq!(
        (quanta.start, quanta.count),
        (vec![0, 100_000, 200_000], vec![7, 8, 9])
    );
}

#[test]
fn a_recording_leaves_and_comes_back_with_its_segments() {
    let directory = tempfile::tempdir().unwrap();
    let recording = read::open(&write_recording(directory.path(), 5)).unwrap();
    let path = directory.path().join("out.dat");
    fs::write(&path, written(&recording, 1)).unwrap();
    let dat = DatFile::open(&path).unwrap();
    let (before, after) = (quanta_of(&recording, 1), quanta_of(&dat, 0));
    assert_eq!(after.segment, before.segment, "no quantum spans a pause");
    assert_eq!(after.count, before.count);
    // The clock of this recording ticks in nanoseconds; times of a file are counted from its first row.
    let origin = before.start[0];
    let shifted: Vec<u64> = after.start.iter().map(|start| start + origin).collect();
    assert_eq!(shifted, before.start);
    let mut csv = Vec::new();
    write_csv(&recording, &[1], &mut csv).unwrap();
    assert_eq!(
        csv.iter().filter(|&&byte| byte == b'\n').count(),
        1 + before.len()
    );
}

#[test]
fn inputs_are_joined_as_series_of_one_machine() {
    let directory = tempfile::tempdir().unwrap();
    let recording = write_recording(directory.path(), 3);
    let inputs = Inputs::open(&[cases().join("spr-10khz-b.dat"), recording]).unwrap();
    assert_eq!(inputs.series().len(), 3);
    assert_eq!(
        inputs.manifest().tool,
        "test",
        "the manifest is that of the recording"
    );
    assert_eq!(quanta_of(&inputs, 0).len(), 20);
    assert_eq!(quanta_of(&inputs, 1).len(), 2000);
    assert_eq!(inputs.warnings(), []);
}

proptest! {
    #[test]
    fn any_bytes_are_rows_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(Path::new("x.dat"), &bytes);
    }

    #[test]
    fn text_that_looks_right_is_rows_or_an_error(text in "([#0-9eN. \t\r\n-]|Frequency |Segment |18446744073709551615){0,60}") {
        let directory = tempfile::tempdir().unwrap();
        check_round_trip(directory.path(), text.as_bytes())?;
    }

    #[test]
    fn rows_survive_reading_and_writing(
        first in 0..1u64 << 40,
        rows in proptest::collection::vec((0..200_000u64, any::<u32>(), proptest::option::weighted(0.1, 0..9u32)), 1..50),
        rate in proptest::option::of(1e-3..1e9f64),
    ) {
        let mut text = rate.map_or(String::new(), |rate| format!("# Frequency {rate}\n"));
        let mut time = first;
        for (length, count, segment) in rows {
            if let Some(segment) = segment {
                text += &format!("# Segment {segment}\n");
            }
            text += &format!("{time} {count}\n");
            time += length;
        }
        let directory = tempfile::tempdir().unwrap();
        check_round_trip(directory.path(), text.as_bytes())?;
    }
}

/// If `text` reads, then what is written of it reads the same and is written the same.
fn check_round_trip(directory: &Path, text: &[u8]) -> Result<(), TestCaseError> {
    let path = directory.join("any.dat");
    fs::write(&path, text).unwrap();
    let Ok(first) = DatFile::open(&path) else {
        return Ok(());
    };
    let from_memory = parse(&path, text).unwrap();
    prop_assert_eq!(&from_memory.1, &quanta_of(&first, 0));
    let once = written(&first, 0);
    let again_path = directory.join("again.dat");
    fs::write(&again_path, &once).unwrap();
    let second = DatFile::open(&again_path).unwrap();
    prop_assert_eq!(quanta_of(&second, 0), quanta_of(&first, 0));
    prop_assert_eq!(second.series()[0].rate_hz, first.series()[0].rate_hz);
    prop_assert_eq!(written(&second, 0), once);
    Ok(())
}

#[test]
fn an_input_is_named_once() {
    let directory = tempfile::tempdir().unwrap();
    let recording = write_recording(directory.path(), 2);
    let (link, file) = (
        directory.path().join("link"),
        cases().join("spr-10khz-b.dat"),
    );
    std::os::unix::fs::symlink(&recording, &link).unwrap();
    let copy = directory.path().join("copy");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([&recording, &copy])
        .status();
    assert!(copied.unwrap().success());
    for twice in [
        [&recording, &recording],
        [&recording, &link],
        [&recording, &copy],
        [&file, &file],
    ] {
        let error = Inputs::open(&twice.map(Clone::clone))
            .err()
            .unwrap()
            .to_string();
        let wanted = format!(
            "found the same recording as {}, expected each",
            twice[0].display()
        );
        assert!(error.contains(&wanted), "{error}");
    }
}
