//! Recordings that were killed, damaged, mixed up or made by somebody else.

mod killed;

use crate::common::{append_seconds, manifest, quanta_of, read_error, write_recording};
use bandscope_recording::manifest::State;
use bandscope_recording::read::ReadWarningKind;
use bandscope_recording::{Source, Writer, read};
use std::fs;
use std::path::{Path, PathBuf};

const QUANTA: &str = "quanta/cpu=1/rate=1000/kernel=mulss80";

fn part(recording: &Path, number: u32) -> PathBuf {
    recording
        .join(QUANTA)
        .join(format!("part-{number:06}.parquet"))
}

/// Replaces text in the manifest, and removes its checksum as its reader advises.
fn edit(recording: &Path, from: &str, to: &str) {
    let path = recording.join("recording.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} stands in the manifest");
    let without = |line: &&str| !line.contains("\"checksum\"");
    let text: String = text.split_inclusive('\n').filter(without).collect();
    fs::write(&path, text.replace(from, to)).unwrap();
}

#[test]
fn how_a_run_ended_is_told() {
    for (state, kind) in [
        (State::Failed, ReadWarningKind::Failed),
        (State::Interrupted, ReadWarningKind::Interrupted),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("early");
        let mut manifest = manifest(&[1000.0, 500.0]);
        let mut writer = Writer::create(&path, &manifest).unwrap();
        append_seconds(&mut writer, 2);
        manifest.state = state;
        writer.finish(&manifest).unwrap();
        let recording = read::open(&path).unwrap();
        assert_eq!(recording.warnings()[0].kind, kind);
        assert_eq!(quanta_of(&recording, 0).len(), 1000);
    }
}

#[test]
fn harmless_strangers_are_warned_of() {
    let directory = tempfile::tempdir().unwrap();
    let path = write_recording(directory.path(), 3);
    fs::write(path.join(QUANTA).join(".part-000009.parquet.tmp"), b"").unwrap();
    fs::write(path.join(QUANTA).join("notes\x1b.txt"), b"").unwrap();
    fs::create_dir_all(path.join("quanta/cpu=x/rate=1000/kernel=a")).unwrap();
    let recording = read::open(&path).unwrap();
    let kinds: Vec<ReadWarningKind> = recording
        .warnings()
        .iter()
        .map(|warning| warning.kind)
        .collect();
    assert_eq!(
        kinds,
        [
            ReadWarningKind::UnknownEntry,
            ReadWarningKind::UnknownEntry,
            ReadWarningKind::LeftoverPart
        ]
    );
    assert!(
        recording
            .warnings()
            .iter()
            .all(|warning| !warning.to_string().contains('\x1b'))
    );
    assert_eq!(recording.series().len(), 2);
}

/// What is done to a recording of 9 s, and what the error must say.
type Case = (&'static str, fn(&Path), &'static [&'static str]);

const CASES: &[Case] = &[
    (
        "missing middle part",
        |path| fs::remove_file(part(path, 1)).unwrap(),
        &["part-000001.parquet: found nothing, though part-000002.parquet is there"],
    ),
    (
        "missing last part",
        |path| fs::remove_file(part(path, 3)).unwrap(),
        &["kernel=mulss80: found 3 parts, expected 4, as recording.json says"],
    ),
    (
        "missing directory",
        |path| fs::remove_dir_all(path.join(QUANTA)).unwrap(),
        &["rate=1000/kernel=mulss80: found 0 parts, expected 4"],
    ),
    (
        "surplus directory",
        |path| {
            let other = path.join("quanta/cpu=2/rate=1000/kernel=mulss80");
            fs::create_dir_all(&other).unwrap();
            fs::copy(part(path, 0), other.join("part-000000.parquet")).unwrap();
        },
        &["cpu=2", "found 1 parts, expected none"],
    ),
    (
        "truncated part",
        |path| {
            let bytes = fs::read(part(path, 1)).unwrap();
            fs::write(part(path, 1), &bytes[..bytes.len() / 2]).unwrap();
        },
        &[
            "part-000001.parquet: found",
            "bytes that are not a whole Parquet file",
            "cut off or damaged",
        ],
    ),
    (
        "empty part",
        |path| fs::write(part(path, 1), b"").unwrap(),
        &["part-000001.parquet: found 0 bytes that are not a whole Parquet file"],
    ),
    (
        "no Parquet",
        |path| fs::write(part(path, 1), b"hello, I am a text file of some length").unwrap(),
        &["not a whole Parquet file"],
    ),
    (
        "part of another run",
        |path| {
            let other = write_recording(tempfile::tempdir().unwrap().keep().as_path(), 9);
            fs::copy(part(&other, 1), part(path, 1)).unwrap();
            fs::remove_dir_all(other.parent().unwrap()).unwrap();
        },
        &[
            "part-000001.parquet: found run ",
            "a part of this run; it was copied from another recording",
        ],
    ),
    (
        "renamed part",
        |path| {
            fs::rename(part(path, 2), part(path, 9)).unwrap();
            fs::rename(part(path, 1), part(path, 2)).unwrap();
            fs::rename(part(path, 9), part(path, 1)).unwrap();
        },
        &["part-000001.parquet: found part \"2\", expected \"1\", the number in its name"],
    ),
    (
        "gaps among the quanta",
        |path| {
            fs::copy(path.join("gaps/cpu=1/part-000000.parquet"), part(path, 0)).unwrap();
        },
        &["part-000000.parquet: found directory \"gaps/cpu=1\", expected \"quanta/"],
    ),
    (
        "another schema",
        |path| edit(path, "bandscope.recording/1", "bandscope.recording/2"),
        &[
            "recording.json: found schema \"bandscope.recording/2\", expected \"bandscope.recording/1\"",
            "read it with the version",
        ],
    ),
    (
        "no manifest",
        |path| fs::remove_file(path.join("recording.json")).unwrap(),
        &["found a directory without recording.json, expected a recording"],
    ),
    (
        "manifest cut off",
        |path| {
            let bytes = fs::read(path.join("recording.json")).unwrap();
            fs::write(path.join("recording.json"), &bytes[..bytes.len() / 2]).unwrap();
        },
        &["recording.json: found a checksum that does not fit the file"],
    ),
    (
        "rows of the index",
        |path| edit(path, "\"rows\": 5000", "\"rows\": 5001"),
        &["rate=1000/kernel=mulss80: found 5000 rows in 4 parts, expected 5001"],
    ),
    (
        "index that leads out",
        |path| edit(path, "\"gaps/cpu=1\"", "\"../../etc\""),
        &["recording.json: found parts in \"../../etc\""],
    ),
    (
        "unknown counter",
        |path| edit(path, "\"cycles\"", "\"wheels\""),
        &["gaps/cpu=1/part-000000.parquet: found no column \"counter_wheels\""],
    ),
    (
        "a part that is a directory",
        |path| {
            fs::remove_file(part(path, 1)).unwrap();
            fs::create_dir(part(path, 1)).unwrap();
        },
        &["part-000001.parquet: found a directory, expected a regular file"],
    ),
    (
        "a part that is a pipe",
        |path| pipe(&part(path, 1)),
        &["part-000001.parquet: found a pipe or device, expected a regular file"],
    ),
    (
        "a part that is a device",
        |path| {
            fs::remove_file(part(path, 1)).unwrap();
            std::os::unix::fs::symlink("/dev/zero", part(path, 1)).unwrap();
        },
        &["part-000001.parquet: found a pipe or device"],
    ),
    (
        "a manifest that is a pipe",
        |path| pipe(&path.join("recording.json")),
        &["recording.json: found a pipe or device, expected a regular file"],
    ),
];

/// Puts a pipe in place of a file.
fn pipe(path: &Path) {
    fs::remove_file(path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

#[test]
fn damage_is_told_in_one_line() {
    for (name, damage, wanted) in CASES {
        let directory = tempfile::tempdir().unwrap();
        let path = write_recording(directory.path(), 9);
        damage(&path);
        let message = read_error(&path);
        for wanted in *wanted {
            assert!(message.contains(wanted), "{name}: {message}");
        }
        assert_eq!(message.lines().count(), 1, "{name}: {message}");
    }
}

#[test]
fn a_file_is_no_recording() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(read_error(file.path()).contains("cannot read"));
    assert!(read_error(Path::new("/nonexistent/recording")).contains("/nonexistent/recording"));
}

#[test]
fn whatever_bytes_are_changed_it_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = write_recording(directory.path(), 3);
    let whole = fs::read(part(&path, 0)).unwrap();
    let quanta = quanta_of(&read::open(&path).unwrap(), 0);
    for position in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[position] ^= 1 << (position % 8);
        fs::write(part(&path, 0), &bytes).unwrap();
        // A change in the mark of the checksum leaves a file without one, whose rows are still good.
        match read::open(&path) {
            Err(error) => assert!(
                error.to_string().contains("part-000000.parquet: found"),
                "{error}"
            ),
            Ok(recording) => {
                assert_eq!(recording.warnings()[0].kind, ReadWarningKind::NoChecksum);
                assert_eq!(quanta_of(&recording, 0), quanta);
            }
        }
    }
}
