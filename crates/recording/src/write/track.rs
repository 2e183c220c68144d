//! One directory of parts: rows are gathered into row groups, row groups into parts.

use crate::layout::{Directory, part_name};
use crate::manifest::{Parts, SCHEMA};
use crate::write::part::{PartWriter, cannot_write};
use crate::write::rows::{Rows, Scratch};
use crate::{Error, columns};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::schema::types::TypePtr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// How much time a part holds: 1 s at first, so that a run that is killed early leaves something, then
/// twice as much each time, so that a long run makes few files.
const FIRST_PART_S: f64 = 1.0;
const LONGEST_PART_S: f64 = 30.0;
/// A copy of the part under way is put into its place so long after it began or was copied. Shorter parts would do the same,
/// but leave six times as many files.
const COPY_AFTER_S: f64 = 4.0;
/// What a killed run loses at most: what came since the last copy, and what was on its way to this writer.
pub const MAX_LOSS_S: f64 = 5.0;

/// The rows of one directory.
pub struct Track<R> {
    /// What the directory holds.
    pub directory: Directory,
    /// Rows that are in no row group yet.
    pub waiting: R,
    path: PathBuf,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    part: Option<PartWriter>,
    /// Start and segment of the first row of the part under way.
    part_began: Option<(u64, u32)>,
    part_length_s: f64,
    /// When the part under way was last copied, in ticks, and the rows of the copy in its place.
    copied_at: Option<u64>,
    copied_rows: u64,
    finished: Parts,
    /// Rows that were handed to this track, written or not.
    accepted: u64,
}

impl<R: Rows> Track<R> {
    /// Makes the directory inside the recording at `root`.
    pub fn create(root: &Path, directory: Directory, waiting: R) -> Result<Track<R>, Error> {
        let relative = directory.to_string();
        let path = root.join(&relative);
        std::fs::create_dir_all(&path).map_err(Error::io(&path, "cannot create"))?;
        let columns = waiting.columns();
        let prepare = |error| cannot_write(&path, error);
        Ok(Track {
            schema: columns::schema(&columns).map_err(prepare)?,
            properties: columns::properties(&columns).map_err(prepare)?,
            directory,
            waiting,
            path,
            part: None,
            part_began: None,
            part_length_s: FIRST_PART_S,
            copied_at: None,
            copied_rows: 0,
            finished: Parts {
                path: relative,
                ..Parts::default()
            },
            accepted: 0,
        })
    }

    /// The directory on this machine, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first tick that lies beyond the part under way, or beyond the one that a row at `start` begins.
    pub fn part_limit(&self, start: u64, ticks_per_s: f64) -> u64 {
        let began = self.part_began.map_or(start, |(began, _)| began);
        began.saturating_add(((self.part_length_s * ticks_per_s) as u64).max(1))
    }

    /// Whether the part under way began so long before `now` that it should be closed.
    pub fn is_due(&self, now: u64, ticks_per_s: f64) -> bool {
        self.part_began.is_some() && self.part_limit(now, ticks_per_s) <= now
    }

    /// To be called after rows were added to `waiting`: notes where a part begins, and writes a row group
    /// if it is full.
    pub fn added(&mut self, scratch: &mut Scratch) -> Result<(), Error> {
        self.part_began = self.part_began.or(self.waiting.first());
        if self.waiting.len() >= R::ROW_GROUP {
            self.write_row_group(scratch)?;
        }
        Ok(())
    }

    /// Writes the rows that wait.
    ///
    /// # Errors
    /// If it cannot; the part under way is then of no use, see [`Track::abandon`].
    pub fn write_row_group(&mut self, scratch: &mut Scratch) -> Result<(), Error> {
        let rows = self.waiting.len();
        if rows == 0 {
            return Ok(());
        }
        let mut part = self.open_part()?;
        let waiting = &self.waiting;
        let written = part.row_group(rows, |group| waiting.encode(group, scratch));
        self.part = Some(part);
        written?;
        self.waiting.clear();
        Ok(())
    }

    /// The part under way, or a new one.
    fn open_part(&mut self) -> Result<PartWriter, Error> {
        self.part.take().map_or_else(
            || {
                let (schema, properties) = (self.schema.clone(), self.properties.clone());
                PartWriter::create(&self.path, self.finished.parts, schema, properties)
            },
            Ok,
        )
    }

    /// Puts a copy of the part under way, with the rows that wait, into its place if too much would be lost without; whether it did.
    pub fn copy_if_due(
        &mut self,
        now: u64,
        ticks_per_s: f64,
        run: &str,
        scratch: &mut Scratch,
    ) -> bool {
        let Some((began, segment)) = self.part_began else {
            return false;
        };
        let rows = self.waiting.len() as u64 + self.part.as_ref().map_or(0, PartWriter::rows);
        let since = self.copied_at.unwrap_or(began);
        let is_due = now.saturating_sub(since) >= (COPY_AFTER_S * ticks_per_s) as u64;
        if !is_due || rows == self.copied_rows {
            return false;
        }
        self.copied_at = Some(now);
        // The part itself is not touched. What keeps the copy from being written, a full disk, will meet the part, and is told then.
        let Ok(mut part) = self.open_part() else {
            return false;
        };
        let keys = self.keys(run, segment, rows);
        let waiting = self.waiting.len();
        let copied = part.copy(waiting, |group| self.waiting.encode(group, scratch), keys);
        self.part = Some(part);
        if copied.is_ok() {
            self.copied_rows = rows;
        }
        copied.is_ok()
    }

    fn keys(&self, run: &str, segment: u32, rows: u64) -> Vec<KeyValue> {
        vec![
            KeyValue::new("schema".into(), SCHEMA.to_owned()),
            KeyValue::new("run".into(), run.to_owned()),
            KeyValue::new("directory".into(), self.directory.to_string()),
            KeyValue::new("part".into(), self.finished.parts.to_string()),
            KeyValue::new("first_segment".into(), segment.to_string()),
            KeyValue::new("rows".into(), rows.to_string()),
        ]
    }

    /// Writes the rows that wait and closes the part.
    pub fn close_part(&mut self, run: &str, scratch: &mut Scratch) -> Result<(), Error> {
        self.write_row_group(scratch)?;
        let segment = self.part_began.take().map_or(0, |(_, segment)| segment);
        let Some(part) = self.part.take() else {
            return Ok(());
        };
        let rows = part.rows();
        part.close(self.keys(run, segment, rows))?;
        self.finish_part(rows);
        self.part_length_s = (2.0 * self.part_length_s).min(LONGEST_PART_S);
        Ok(())
    }

    /// Counts the part that stands in its place.
    fn finish_part(&mut self, rows: u64) {
        self.finished.parts += 1;
        self.finished.rows += rows;
        (self.copied_at, self.copied_rows) = (None, 0);
    }

    /// Gives up the part under way and the rows that wait, after an error. What is finished stays, also a copy, and
    /// rows that come later begin another part.
    pub fn abandon(&mut self) {
        if self.copied_rows > 0 {
            self.finish_part(self.copied_rows);
        }
        self.copied_at = None;
        self.waiting.clear();
        self.part_began = None;
        if let Some(part) = self.part.take() {
            part.abandon();
        }
    }

    /// Notes that so many rows are about to come.
    pub fn accept(&mut self, rows: usize) {
        self.accepted += rows as u64;
    }

    /// Rows that were accepted and are in no finished part: what is lost once nothing waits any more.
    pub fn unwritten(&self) -> u64 {
        self.accepted - self.finished.rows
    }

    /// What was finished.
    pub fn finished(&self) -> &Parts {
        &self.finished
    }

    /// Waits until all finished parts are on the disk, with every name that leads to them from the recording's
    /// directory on.
    pub fn sync(&self) -> Result<(), Error> {
        for number in 0..self.finished.parts {
            let path = self.path.join(part_name(number));
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(Error::io(&path, "cannot write"))?;
        }
        ways(&self.path, &self.finished.path).try_for_each(crate::json::sync_directory)
    }
}

/// The directories whose entries lead from the recording to the parts in `path`, which ends in `relative`: each
/// was made by this run, and a directory lasts only if the one that holds it was brought to the disk too.
fn ways<'a>(path: &'a Path, relative: &str) -> impl Iterator<Item = &'a Path> {
    path.ancestors().take(relative.split('/').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_up_to_the_recording_is_brought_to_the_disk() {
        let relative = "quanta/cpu=1/rate=10/kernel=a";
        let path = Path::new("x/r").join(relative);
        let ways: Vec<&Path> = ways(&path, relative).collect();
        assert_eq!(
            ways,
            [
                "x/r/quanta/cpu=1/rate=10/kernel=a",
                "x/r/quanta/cpu=1/rate=10",
                "x/r/quanta/cpu=1",
                "x/r/quanta",
                "x/r",
            ]
            .map(Path::new)
        );
    }
}
