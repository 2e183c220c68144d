//! Files of a recording, opened with suspicion: a pipe in place of one would be waited for without end.

use crate::Error;
use std::fs::{File, Metadata};
use std::path::Path;

/// Opens a regular file and says what is known of it; `expected` is what it should be.
///
/// # Errors
/// If it cannot be read, or is a directory, a pipe or a device.
pub fn open_regular(path: &Path, expected: &str) -> Result<(File, Metadata), Error> {
    // Asked before it is opened: opening a pipe waits for a writer.
    let metadata = std::fs::metadata(path).map_err(Error::io(path, "cannot read"))?;
    if !metadata.is_file() {
        return Err(Error::File {
            path: path.into(),
            found: match metadata.is_dir() {
                true => "a directory".into(),
                false => "a pipe or device".into(),
            },
            expected: expected.into(),
        });
    }
    let file = File::open(path).map_err(Error::io(path, "cannot read"))?;
    Ok((file, metadata))
}
