//! Documents of a session that goes on, or was killed: the first line is the document without what is measured, then each run or pair of trials is a line of
//! its own.
//!
//! A line is written at once, so that whoever is killed loses what is under way and nothing else. When the session ends, the document
//! as a whole takes the place of the lines.

use crate::Error;
use crate::document::{self, Document};
use crate::text::quoted;
use serde::de::DeserializeOwned;
use std::path::Path;

/// A document that grows by lines.
pub(crate) trait Grows: DeserializeOwned {
    /// What a line adds.
    type Line: DeserializeOwned;
    /// The same in words, for messages.
    const LINE: &'static str;

    fn add(&mut self, line: Self::Line);
}

/// A document, whole or in lines. The last line may be cut off.
///
/// # Errors
/// As [`document::parse`], or if a line is not what it should be.
pub(crate) fn parse<T: Grows>(path: &Path, bytes: &[u8], document: &Document) -> Result<T, Error> {
    let whole = document::parse(path, bytes, document);
    whole.or_else(|error| lines(path, bytes, document).unwrap_or(Err(error)))
}

/// The document that these lines tell of; `None` if the first is not a document of its own.
fn lines<T: Grows>(path: &Path, bytes: &[u8], document: &Document) -> Option<Result<T, Error>> {
    document::bounded(path, bytes, document).ok()?;
    let (head, mut rest) = split_line(bytes)?;
    let mut read: T = document::parse(path, head, document).ok()?;
    let mut row = 1;
    while let Some((line, after)) = split_line(rest) {
        row += 1;
        rest = after;
        match serde_json::from_slice(line) {
            Ok(line) => read.add(line),
            Err(error) => {
                return Some(Err(Error::Row {
                    path: path.into(),
                    row,
                    found: quoted(error.to_string().as_bytes()),
                    expected: format!("{} on a line of its own", T::LINE),
                }));
            }
        }
    }
    Some(Ok(read))
}

/// The first line, and what comes after its end; `None` if it has no end.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}
