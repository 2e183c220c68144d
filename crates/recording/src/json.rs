//! `recording.json` on disk: written whole or not at all, read with suspicion.
//!
//! The types are in [`crate::manifest`]; this file knows the versions rule and the file system.

use crate::checksum::{self, Verdict};
use crate::document::{self, Document};
use crate::files::open_regular;
use crate::gaps::MAX_COUNTERS;
use crate::inputs::tasks;
use crate::layout::MANIFEST_FILE;
use crate::manifest::ranges::Ranges;
use crate::manifest::{Incident, SCHEMA};
use crate::text::shown;
use crate::{Error, Manifest};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

const DOCUMENT: Document = Document {
    schema: SCHEMA,
    // One of a day's run on 1,000 CPUs has about 1 MiB.
    max_bytes: MAX_BYTES,
    holds: "the settings and facts of a run, some KiB",
};

/// The largest `recording.json` that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Writes the manifest of the recording in `directory`: to a file of another name first, which then takes
/// the place of the old one, so that there is a whole manifest at any moment.
pub(crate) fn write(directory: &Path, manifest: &Manifest) -> Result<(), Error> {
    let path = directory.join(MANIFEST_FILE);
    let temporary = directory.join(format!(".{MANIFEST_FILE}.tmp"));
    let mut json = serde_json::to_vec_pretty(manifest)
        .map_err(|error| Error::io(&path, "cannot write")(error.into()))?;
    json.push(b'\n');
    checksum::seal_json(&mut json);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(&json)?;
        file.sync_all()
    });
    let written = written.and_then(|()| std::fs::rename(&temporary, &path));
    if let Err(error) = written {
        // A second failure would say nothing that the first does not.
        let _ = std::fs::remove_file(&temporary);
        return Err(Error::io(&path, "cannot write")(error));
    }
    sync_directory(directory)
}

/// Makes the names in `directory` last: a rename does on a disk only what the directory says.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), Error> {
    File::open(directory)
        .and_then(|file| file.sync_all())
        .map_err(Error::io(directory, "cannot write"))
}

/// Makes the name of the recording at `directory` itself last.
pub(crate) fn sync_parent(directory: &Path) -> Result<(), Error> {
    let parent = match directory.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    match sync_directory(parent) {
        // To make an entry in a directory one need not be allowed to read it; then there is no way to wait
        // for it, and the recording is whole all the same.
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

/// Adds to a whole recording what became known after its end.
///
/// # Errors
/// If its manifest cannot be read or written; then it stays as it was.
pub fn add_incident(directory: &Path, incident: Incident) -> Result<(), Error> {
    let mut manifest = read(directory)?;
    manifest.incidents.push(incident);
    write(directory, &manifest)
}

/// Reads the manifest of the recording in `directory`, and compares its checksum if it carries one.
pub(crate) fn read(directory: &Path) -> Result<Manifest, Error> {
    let path = directory.join(MANIFEST_FILE);
    let expected = "a regular file: copy the recording again";
    let (file, _) = open_regular(&path, expected).map_err(|error| match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => Error::File {
            path: directory.into(),
            found: format!("a directory without {MANIFEST_FILE}"),
            expected: match tasks::example(directory) {
                None => "a recording: a directory that `bandscope record` wrote".into(),
                Some(part) => format!(
                    "one recording: it holds parts of several tasks, so name one, such as {}; `bandscope report` reads all",
                    shown(&part)
                ),
            },
        },
        other => other,
    })?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(Error::io(&path, "cannot read"))?;
    if checksum::verify_json(&bytes) == Verdict::Damaged {
        return Err(Error::File {
            path,
            found: "a checksum that does not fit the file".into(),
            expected:
                "the file as it was written: copy it again; if you edited it, remove the line \
                \"checksum\""
                    .into(),
        });
    }
    parse(&path, &bytes)
}

/// Parses the bytes of a `recording.json`, whatever their checksum; `path` is for messages only.
///
/// # Errors
/// If it is not JSON, of another major version, or holds values that nothing can be computed from.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Manifest, Error> {
    let manifest: Manifest = document::parse(path, bytes, &DOCUMENT)?;
    check(path, &manifest)?;
    Ok(manifest)
}

/// Refuses what would end in a division by zero, an index out of range, or without end later on.
pub(crate) fn check(path: &Path, manifest: &Manifest) -> Result<(), Error> {
    let refuse = |found: String, expected: &str| {
        Err(Error::File {
            path: path.into(),
            found,
            expected: expected.into(),
        })
    };
    if let Err(wrong) = manifest.check() {
        return refuse(format!("{} {}", wrong.field, wrong.found), &wrong.expected);
    }
    if manifest.counters.len() > MAX_COUNTERS {
        return refuse(
            format!("{} counters", manifest.counters.len()),
            "at most 5 counters",
        );
    }
    let names: std::collections::BTreeSet<&str> = manifest
        .counters
        .iter()
        .map(|counter| &*counter.name)
        .collect();
    if names.len() != manifest.counters.len() {
        return refuse(
            "two counters of one name".into(),
            "counters of different names",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Clock, Counter};

    fn manifest() -> Manifest {
        Manifest {
            schema: SCHEMA.into(),
            run: "0123456789abcdef".into(),
            clock: Clock::imported(),
            ..Manifest::default()
        }
    }

    #[test]
    fn a_manifest_survives_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &manifest()).unwrap();
        assert_eq!(read(directory.path()).unwrap(), manifest());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_put_into_place_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(MANIFEST_FILE)).unwrap();
        let message = write(directory.path(), &manifest())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("recording.json: cannot write"),
            "{message}"
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &manifest()).unwrap();
        let path = directory.path().join(MANIFEST_FILE);
        let written = std::fs::read(&path).unwrap();
        for bit in 0..8 * written.len() {
            let mut flipped = written.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(checksum::verify_json(&flipped), Verdict::Damaged, "{bit}");
        }
        let edited = String::from_utf8(written).unwrap();
        std::fs::write(&path, edited.replace("0123", "0124")).unwrap();
        let message = read(directory.path()).unwrap_err().to_string();
        assert!(
            message.ends_with("if you edited it, remove the line \"checksum\""),
            "{message}"
        );
        let mut lines: Vec<&str> = edited.lines().collect();
        lines.remove(1);
        std::fs::write(&path, lines.join("\n")).unwrap();
        assert_eq!(read(directory.path()).unwrap(), manifest());
    }

    #[test]
    fn an_older_and_a_newer_minor_version_read() {
        let json = format!(
            r#"{{"schema":"{SCHEMA}","clock":{{"ticks_per_ns":2.3}},"a-field-of-tomorrow":[1]}}"#
        );
        let read = parse(Path::new("r.json"), json.as_bytes()).unwrap();
        assert_eq!(read.clock.ticks_per_ns, 2.3);
        assert!(read.parts.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut counters = manifest();
        counters.counters = vec![Counter::default(); 2];
        let mut many = manifest();
        many.counters = (0..6)
            .map(|n| Counter {
                name: n.to_string(),
                ..Counter::default()
            })
            .collect();
        let clock = |ticks_per_ns| {
            let mut manifest = manifest();
            manifest.clock.ticks_per_ns = ticks_per_ns;
            manifest
        };
        let json = |manifest: &Manifest| serde_json::to_vec(manifest).unwrap();
        for (bytes, wanted) in [
            (b"{".to_vec(), "r.json:1: found"),
            (b"\x1b[2J".to_vec(), "expected JSON"),
            (b"{}".to_vec(), "missing field `schema`"),
            (
                br#"{"schema":"bandscope.recording/2"}"#.to_vec(),
                "found schema \"bandscope.recording/2\", expected \"bandscope.recording/1\"",
            ),
            (json(&counters), "two counters of one name"),
            (json(&many), "6 counters"),
            (
                json(&clock(0.0)),
                "clock.ticks_per_ns 0, expected 0.001 to 100",
            ),
            (json(&clock(-2.3)), "clock.ticks_per_ns -2.3"),
            (json(&clock(1e-300)), "expected 0.001 to 100"),
            (json(&clock(1e300)), "expected 0.001 to 100"),
            (vec![b' '; MAX_BYTES as usize + 1], "more than 16 MiB"),
        ] {
            let message = parse(Path::new("r.json"), &bytes).unwrap_err().to_string();
            assert!(message.contains(wanted), "{message}");
        }
    }
}
