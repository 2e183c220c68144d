//! Files of the original FTQ, `.dat`: read as a [`Source`], and written.
//!
//! ```text
//! # Frequency 10000.000000
//! 34187736725 4174
//! 34187836734 4174
//! ```
//! A line that begins with `#` is a comment; any other holds the **start** of a quantum in nanoseconds (the
//! original's README says the end, its code prints the start) and the count. A quantum ends where the
//! next one starts; the last one's end is not in the file and is set to its nominal one. The
//! file knows no gaps, no CPU and no work kernel.
//!
//! Where a series has several segments, [`write_dat`] marks each by a comment, `# Segment 2`, which the
//! original's tools ignore and this reader takes up, so that no quantum spans the pause between two.
//!
//! * `lines`: lines out of a buffer of fixed size;
//! * `line`: one line, parsed;
//! * `scan`: one pass, which stops at the first bad line;
//! * `pieces`: a file of moderate size, by all CPUs at once;
//! * `kept`: the rows of a file that is read once;
//! * `rate`: header against times;
//! * `build`: rows into quanta;
//! * `export`: a series of any source as `.dat`.

mod build;
mod export;
mod kept;
mod line;
mod lines;
mod pieces;
mod rate;
mod scan;

pub use export::write_dat;

use crate::files;
use crate::manifest::{Clock, Settings, State};
use crate::read::{ReadWarning, ReadWarningKind};
use crate::text::shown;
use crate::{Chunk, Error, Gap, Manifest, Quanta, Series, Source};
use build::{Builder, segment_mark};
use kept::Kept;
use pieces::Piece;
use rate::Rate;
use scan::{Item, scan};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A `.dat` file. Of one with many rows every replay reads it again, so that a file of any length needs the same memory.
#[derive(Debug)]
pub struct DatFile {
    path: PathBuf,
    manifest: Manifest,
    series: [Series; 1],
    warnings: Vec<ReadWarning>,
    /// Time of the first row as printed, in nanoseconds.
    first_time: u64,
    kept: Kept,
}

/// What one pass over a file finds.
#[derive(Debug, Default)]
struct Summary {
    rate: Rate,
    first_time: Option<u64>,
    kept: Kept,
}

impl Summary {
    fn take(&mut self, item: Item<'_>) {
        self.kept.take(item);
        match item {
            Item::Row(time, _) => {
                self.first_time.get_or_insert(time);
                self.rate.row(time);
            }
            Item::Comment(comment) => {
                self.rate.comment(comment);
                if segment_mark(comment).is_some() {
                    self.rate.interrupted();
                }
            }
        }
    }

    fn take_piece(&mut self, piece: Piece) {
        let Piece {
            mut rows, comments, ..
        } = piece;
        let mut from = 0;
        for (row, comment) in &comments {
            self.rate.rows(&rows.times[from..*row]);
            self.rate.comment(comment);
            if let Some(segment) = segment_mark(comment) {
                self.rate.interrupted();
                rows.mark(*row, segment);
            }
            from = *row;
        }
        self.rate.rows(&rows.times[from..]);
        self.first_time = self.first_time.or(rows.times.first().copied());
        self.kept.add(rows);
    }
}

impl DatFile {
    /// Reads the file once, which checks every row.
    ///
    /// # Errors
    /// If it cannot be read, is no regular file, holds no row or a bad one, or says nothing of its rate.
    pub fn open(path: &Path) -> Result<DatFile, Error> {
        let file = open_regular(path)?;
        let mut summary = Summary::default();
        let terminated = match pieces::read(&file) {
            Some(pieces) => {
                let is_cut = pieces.last().is_some_and(|piece| piece.is_cut);
                pieces
                    .into_iter()
                    .for_each(|piece| summary.take_piece(piece));
                !is_cut
            }
            None => scan(path, file, |item| summary.take(item))?,
        };
        DatFile::build(path, summary, terminated)
    }

    fn build(path: &Path, summary: Summary, terminated: bool) -> Result<DatFile, Error> {
        let refuse = |found: &str, expected: &str| Error::File {
            path: path.into(),
            found: found.into(),
            expected: expected.into(),
        };
        let first_time = summary
            .first_time
            .ok_or_else(|| refuse("no row", "rows of a time in whole nanoseconds and a count"))?;
        let mut warnings = Vec::new();
        if !terminated {
            warnings.push(ReadWarning {
                kind: ReadWarningKind::NoFinalNewline,
                message: format!("{}: the last row does not end in a line feed", shown(path)),
                advice: "if the file was cut off there, its last count may lack digits".into(),
            });
        }
        let rate_hz = summary.rate.decide(path, &mut warnings).ok_or_else(|| {
            refuse(
                "nothing that tells the rate",
                "a line '# Frequency HZ', or rows at different times",
            )
        })?;
        Ok(DatFile {
            manifest: imported_manifest(rate_hz, first_time),
            series: [Series {
                cpu: None,
                rate_hz,
                kernel: "unknown".into(),
                gaps_known: false,
                ends_known: false,
                origin: shown(path),
            }],
            path: path.into(),
            warnings,
            first_time,
            kept: summary.kept,
        })
    }
}

/// Parses `.dat` text from memory, as [`DatFile::open`] and one replay would: the quanta, or the error.
/// `path` is for messages. For tests and fuzzing.
///
/// # Errors
/// As [`DatFile::open`].
pub fn parse(path: &Path, text: &[u8]) -> Result<(Series, Quanta), Error> {
    let mut summary = Summary::default();
    let terminated = scan(path, text, |item| summary.take(item))?;
    let file = DatFile::build(path, summary, terminated)?;
    let mut all = Quanta::default();
    file.replay(|| Ok(text), &mut |quanta| {
        all.extend_from(quanta, 0..quanta.len())
    })?;
    let [series] = file.series;
    Ok((series, all))
}

fn imported_manifest(rate_hz: f64, first_time: u64) -> Manifest {
    Manifest {
        schema: crate::manifest::SCHEMA.into(),
        tool: "imported".into(),
        state: State::Complete,
        settings: Settings {
            rates_hz: vec![rate_hz],
            kernels: vec!["unknown".into()],
            ..Settings::default()
        },
        clock: Clock {
            origin_ticks: first_time,
            ..Clock::imported()
        },
        ..Manifest::default()
    }
}

/// A pipe could not be read twice.
fn open_regular(path: &Path) -> Result<File, Error> {
    let expected = "a regular file with rows of a time and a count";
    files::open_regular(path, expected).map(|(file, _)| file)
}

impl DatFile {
    /// Hands out the quanta: of the rows that are kept, or of what `open` opens, which is the file or the text that it was parsed from.
    fn replay<R: Read>(
        &self,
        open: impl FnOnce() -> Result<R, Error>,
        visit: &mut dyn FnMut(&Quanta),
    ) -> Result<(), Error> {
        let mut builder = Builder::new(self.first_time, self.series[0].rate_hz, visit);
        if self.kept.is_whole() {
            self.kept.replay(&mut builder);
        } else {
            scan(&self.path, open()?, |item| builder.take(item))?;
        }
        builder.finish();
        Ok(())
    }
}

impl Source for DatFile {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn series(&self) -> &[Series] {
        &self.series
    }

    fn warnings(&self) -> &[ReadWarning] {
        &self.warnings
    }

    fn replay_quanta(&self, index: usize, visit: &mut dyn FnMut(Chunk<'_>)) -> Result<(), Error> {
        debug_assert_eq!(index, 0, "a .dat file has one series");
        let open = || open_regular(&self.path);
        self.replay(open, &mut |quanta| quanta.for_each_chunk(visit))
    }

    fn replay_gaps(&self, _index: usize, _visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> (Series, Quanta) {
        parse(Path::new("x.dat"), text.as_bytes()).unwrap()
    }

    #[test]
    fn a_quantum_ends_where_the_next_one_starts() {
        let (series, quanta) = rows("# Frequency 10000\n700 5\n100700 0\n100700 6\n200800 7\n");
        assert_eq!(
            (series.rate_hz, series.ends_known, series.gaps_known),
            (10_000.0, false, false)
        );
        assert_eq!(quanta.start, [0, 100_000, 100_000, 200_100]);
        assert_eq!(quanta.end, [100_000, 100_000, 200_100, 300_100]);
        assert_eq!(quanta.count, [5, 0, 6, 7]);
    }

    #[test]
    fn no_quantum_spans_two_segments() {
        let text = "# Frequency 10000\n# Segment 1\n0 5\n100000 5\n# Segment 3\n900000 5\n# Segment 5\n950000 6\n";
        let (_, quanta) = rows(text);
        assert_eq!(quanta.segment, [1, 1, 3, 5]);
        // The last end of a segment is nominal, unless the next segment starts earlier.
        assert_eq!(quanta.end, [100_000, 200_000, 950_000, 1_050_000]);
    }

    #[test]
    fn segment_marks_never_lead_backwards() {
        let text = "# Frequency 10\n# Segment 7\n0 5\n# Segment 2\n1 5\n# Segment x\n2 5\n# Segment 4294967295\n3 5\n# Segment 0\n4 5\n";
        let (_, quanta) = rows(text);
        let largest = i32::MAX as u32;
        assert_eq!(quanta.segment, [7, 8, 8, largest, largest]);
    }

    /// Of rows that are kept, and of one more than that.
    #[test]
    fn a_replay_is_the_same_each_time() {
        for (rows, is_kept) in [(20_000, true), ((1 << 20) + 1, false)] {
            let dat = replays(rows);
            assert_eq!(dat.kept.is_whole(), is_kept);
        }
    }

    fn replays(number: u64) -> DatFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = (0..number)
            .map(|k| match k % 500 {
                0 => format!("# Segment {}\n{} {}\n", k / 500, 5 + k * 100_000, k % 7),
                _ => format!("{} {}\n", 5 + k * 100_000, k % 7),
            })
            .collect();
        std::fs::write(file.path(), &text).unwrap();
        let dat = DatFile::open(file.path()).unwrap();
        let (_, expected) = rows(&text);
        for _ in 0..2 {
            let (mut ends, mut segments) = (Vec::new(), Vec::new());
            dat.replay_quanta(0, &mut |chunk| {
                ends.extend_from_slice(chunk.end);
                segments.resize(ends.len(), chunk.segment);
            })
            .unwrap();
            assert_eq!(
                (ends, segments),
                (expected.end.clone(), expected.segment.clone())
            );
        }
        assert_eq!(dat.manifest().clock.origin_ticks, 5);
        assert_eq!(dat.warnings()[0].kind, ReadWarningKind::RateFromTimes);
        dat
    }
}
