//! Which gaps of a CPU are a series' own: a gap knows its segment, not its series.
//!
//! Gaps stand in one directory for all series of a CPU, so that their order in time is kept. In a run that did
//! not end as planned the last parts of quanta and of gaps need not end together: each track closes its
//! parts by its own clock. Gaps that no finished part of quanta reaches belong to no quantum that an analysis sees,
//! and with them its sums would not add up.

use crate::columns::Storage;
use crate::read::column::Scratch;
use crate::read::part::Part;
use crate::read::{ReadWarning, ReadWarningKind, rows};
use crate::text::shown;
use crate::{Error, Gap};
use std::path::Path;

/// A series of more segments is none: one a millisecond, for four hours.
const MOST_SEGMENTS: usize = 1 << 24;

/// The stretch of the run that the finished parts of one series cover.
#[derive(Debug, Default)]
pub struct Extent {
    /// Segments in ascending order.
    segments: Vec<u32>,
    /// Where the last quantum ends.
    end: u64,
}

impl Extent {
    /// Adds what one part covers.
    pub fn add(&mut self, part: &Part) -> Result<(), Error> {
        let columns = [
            ("end_ticks".to_owned(), Storage::Times),
            ("segment".to_owned(), Storage::Number),
        ];
        let (mut scratch, mut ends, mut segments) = (Scratch::default(), Vec::new(), Vec::new());
        part.row_groups(&columns, |mut columns, rows| {
            rows::batches(rows, |rows| {
                columns[0].wide(rows, &mut scratch, &mut ends)?;
                columns[1].narrow(rows, &mut scratch, &mut segments)?;
                self.end = ends.last().map_or(self.end, |&end| end.max(self.end));
                segments.dedup();
                self.segments.extend_from_slice(&segments);
                self.segments.dedup();
                if self.segments.len() > MOST_SEGMENTS {
                    self.segments.sort_unstable();
                    self.segments.dedup();
                }
                match self.segments.len() {
                    ..=MOST_SEGMENTS => Ok(()),
                    number => Err(part.wrong(
                        format!("{number} segments and more"),
                        format!("{MOST_SEGMENTS} at most"),
                    )),
                }
            })
        })?;
        // In order already, but for a file of another program, which is refused when its rows are read.
        self.segments.sort_unstable();
        Ok(())
    }

    /// Whether this is a gap of the series.
    pub fn holds(&self, gap: &Gap) -> bool {
        gap.start < self.end && self.segments.binary_search(&gap.segment).is_ok()
    }
}

/// Says how many gaps in `directory` are left out because the quanta around them were never finished.
pub fn left_out(directory: &Path, gaps: u64) -> ReadWarning {
    ReadWarning {
        kind: ReadWarningKind::GapsWithoutQuanta,
        message: format!(
            "{}: {gaps} gaps lie where no finished part holds quanta",
            shown(directory)
        ),
        advice: "they were left out, as the quanta around them were lost".into(),
    }
}
