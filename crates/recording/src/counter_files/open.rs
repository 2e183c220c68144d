//! Whatever the user names, as sets of counters: told apart by content, read with suspicion.

use super::{CounterSet, hyperfine, perf_csv, perf_json, perf_text, repeat, table};
use crate::files::open_regular;
use crate::text::quoted;
use crate::{Error, runs};
use serde::Deserialize;
use std::io::Read;
use std::path::Path;

/// The largest file that is read, in bytes: a night of intervals has some MiB.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the file at `path`; more than one set where it has several sides (columns, or hyperfine's commands).
///
/// # Errors
/// If it cannot be read, is none of the known kinds, or a bad one.
pub fn open(path: &Path) -> Result<Vec<CounterSet>, Error> {
    let mut bytes = Vec::new();
    let (file, _) = open_regular(path, "a regular file with counters of a run")?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(Error::io(path, "cannot read"))?;
    parse(path, &bytes)
}

/// Whether `path` is no file of counters, but a recording or a file of the original FTQ: a directory, or a file whose first row is two whole numbers.
pub fn is_recording(path: &Path) -> bool {
    let mut head = Vec::new();
    if path.is_dir() {
        return true;
    }
    let Ok((file, _)) = open_regular(path, "") else {
        return false;
    };
    // Comments of FTQ's have some hundred bytes.
    if file.take(1 << 16).read_to_end(&mut head).is_err() {
        return false;
    }
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines
        .find(|line| !line.is_empty() && !line.starts_with(b"#"))
        .unwrap_or_default();
    let words: Vec<&[u8]> = first
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .collect();
    words.len() == 2 && words.iter().all(|word| word.iter().all(u8::is_ascii_digit))
}

/// What all of this program's own documents have.
#[derive(Deserialize)]
struct Own {
    schema: String,
}

/// Reads a file from memory; `path` is for messages, and where the counters come from. At least one set, each with a counter.
///
/// # Errors
/// As [`open`].
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<CounterSet>, Error> {
    let refuse = |found: String, expected: &str| Error::File {
        path: path.into(),
        found,
        expected: expected.into(),
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refuse(
            format!("more than {} MiB", MAX_BYTES >> 20),
            "counters of a run, some KiB",
        ));
    }
    // Thousands may be apart by a Latin-1 byte; what is not UTF-8 besides is shown as such.
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if perf_json::is_it(text) {
        return Ok(vec![perf_json::parse(path, text)?]);
    }
    if text.trim_start().starts_with('{') {
        if let Ok(own) = serde_json::from_slice::<Own>(bytes) {
            if own.schema == runs::SCHEMA {
                return Ok(vec![repeat::parse(path, bytes)?]);
            }
            return Err(refuse(
                format!("schema {}", quoted(own.schema.as_bytes())),
                &format!(
                    "counters of perf stat, a table of counters, JSON of hyperfine, or {} of bandscope repeat --output",
                    runs::SCHEMA
                ),
            ));
        }
        return hyperfine::parse(path, bytes);
    }
    if perf_text::is_it(text) {
        return Ok(vec![perf_text::parse(path, text)?]);
    }
    if let Some(separator) = perf_csv::separator(text) {
        return Ok(vec![perf_csv::parse(path, text, &separator)?]);
    }
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    match first {
        Some(head) if head.split_whitespace().count() > 1 => table::parse(path, text),
        Some(other) => Err(refuse(
            quoted(other.trim().as_bytes()),
            "counters of perf stat (as text, -x or -j), a table of counters, or JSON of hyperfine",
        )),
        None => Err(refuse(
            "nothing".into(),
            "counters of perf stat, a table of counters, or JSON of hyperfine",
        )),
    }
}
