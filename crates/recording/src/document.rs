//! JSON files of a schema, read with suspicion: their size is bounded, and another version is refused by name.

use crate::Error;
use crate::files::open_regular;
use crate::manifest::ranges::Ranges;
use crate::text::{quoted, quoted_within};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;

/// What is expected of a file.
pub(crate) struct Document {
    /// Value of `schema`, with the major version: the only one that is read.
    pub schema: &'static str,
    /// The largest that is read, in bytes.
    pub max_bytes: u64,
    /// What it holds, for messages.
    pub holds: &'static str,
}

/// What every version of a schema has.
#[derive(Deserialize)]
struct Version {
    schema: String,
}

/// As one line of JSON.
pub(crate) fn line(value: &impl Serialize) -> String {
    let mut json = serde_json::to_string(value).expect("numbers and text, keyed by text");
    json.push('\n');
    json
}

/// Reads the file at `path`.
///
/// # Errors
/// If it cannot be read, and as [`parse`].
pub(crate) fn read<T: DeserializeOwned>(path: &Path, document: &Document) -> Result<T, Error> {
    parse(path, &bytes(path, document)?, document)
}

/// The bytes of the file at `path`, as many as may be parsed and one more.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn bytes(path: &Path, document: &Document) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let (file, _) = open_regular(path, &format!("a regular file with {}", document.holds))?;
    file.take(document.max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(Error::io(path, "cannot read"))?;
    Ok(bytes)
}

/// Refuses what is larger than a document may be.
///
/// # Errors
/// If it is.
pub(crate) fn bounded(path: &Path, bytes: &[u8], document: &Document) -> Result<(), Error> {
    if bytes.len() as u64 <= document.max_bytes {
        return Ok(());
    }
    Err(Error::File {
        path: path.into(),
        found: format!("more than {} MiB", document.max_bytes >> 20),
        expected: document.holds.into(),
    })
}

/// Parses the bytes of a file; `path` is for messages only.
///
/// # Errors
/// If it is too large, not JSON, of another schema, or does not have the fields of this one.
pub(crate) fn parse<T: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
    document: &Document,
) -> Result<T, Error> {
    bounded(path, bytes, document)?;
    let version: Version = from_json(path, bytes, document)?;
    if version.schema != document.schema {
        let kind = |schema: &str| schema.split('/').next().map(str::to_owned);
        let what = match kind(&version.schema) == kind(document.schema) {
            true => "read it with the version of bandscope that wrote it",
            false => "this is a file of another kind",
        };
        return Err(Error::File {
            path: path.into(),
            found: format!("schema {}", quoted(version.schema.as_bytes())),
            expected: format!("\"{}\"; {what}", document.schema),
        });
    }
    from_json(path, bytes, document)
}

/// Refuses what has a number that cannot be.
///
/// # Errors
/// If it has: where, and what is expected there.
pub(crate) fn in_ranges<T: Ranges>(path: &Path, read: T) -> Result<T, Error> {
    match read.check() {
        Ok(()) => Ok(read),
        Err(out) => Err(Error::File {
            path: path.into(),
            found: format!("{} {}", out.field, out.found),
            expected: out.expected,
        }),
    }
}

/// Characters of what the library says of a file, which may quote it: the field and the column stand at the end.
const OF_A_LIBRARY: usize = 200;

fn from_json<'a, T: Deserialize<'a>>(
    path: &Path,
    bytes: &'a [u8],
    document: &Document,
) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::Row {
        path: path.into(),
        row: error.line() as u64,
        found: quoted_within(error.to_string().as_bytes(), OF_A_LIBRARY),
        expected: format!("JSON of schema {}", document.schema),
    })
}
