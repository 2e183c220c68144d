//! Reads a recording: a directory of Parquet files in, a [`Source`] out.
//!
//! * `scan`: which parts there are, and which are missing;
//! * `part`: one file, checked; `column`: its columns, decoded;
//! * `events`: kernel events;
//! * `extent`: which gaps are a series' own;
//! * `guard`: panics of the file library as errors;
//! * `rows`: columns back into quanta and gaps;
//! * [`ReadWarning`]: what is strange but harmless.
//!
//! Opening reads the manifest and compares the checksum of each part; the rows are decoded by each replay,
//! row group by row group, so that memory does not grow with the length of the run. Whatever is wrong with a file is an
//! error that names it; nothing is skipped silently.

mod claims;
mod column;
mod events;
mod extent;
mod guard;
mod part;
mod rows;
mod scan;
mod warning;

pub(crate) use scan::names;
pub use warning::{ReadWarning, ReadWarningKind};

use crate::columns::{Storage, event_columns, gap_columns, quanta_columns};
use crate::events::{EventStream, NoEvents};
use crate::layout::{Directory, MANIFEST_FILE, part_name};
use crate::manifest::State;
use crate::order::{Disorder, GapOrder, QuantaOrder};
use crate::text::shown;
use crate::{Chunk, Error, Gap, Manifest, Quanta, Series, Source, json};
use column::Scratch;
use extent::Extent;
use part::{Expected, Part};
use scan::Found;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A recording on disk.
#[derive(Debug)]
pub struct Opened {
    pub(crate) manifest: Manifest,
    warnings: Vec<ReadWarning>,
    series: Vec<Series>,
    /// The directory of each series, in the order of `series`.
    quanta: Vec<Found>,
    gaps: Vec<Found>,
    events: Vec<Found>,
    /// What each series covers, found when gaps are first asked for.
    extents: OnceLock<Vec<Extent>>,
}

/// Opens the recording at `path`.
///
/// # Errors
/// If it is no recording, of another schema version, or if a part is missing, cut off, damaged, or of
/// another run. A recording that was killed is none of these: it opens, with a warning.
pub fn open(path: &Path) -> Result<Opened, Error> {
    let mut manifest = json::read(path)?;
    let mut warnings = Vec::new();
    let mut found = scan::scan(path, &manifest, &mut warnings)?;
    let mut quanta_rows = 0;
    for found in &mut found {
        let rows = count_rows(&manifest, found, &mut warnings)?;
        check_rows(path, &manifest, found, rows)?;
        if matches!(found.directory, Directory::Quanta { .. }) {
            quanta_rows += rows;
        }
    }
    warn_of_the_end(path, &manifest, &found, quanta_rows, &mut warnings);
    let (mut quanta, mut gaps, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for found in found.into_iter().filter(|found| found.parts > 0) {
        match found.directory {
            Directory::Quanta { .. } => quanta.push(found),
            Directory::Gaps { .. } => gaps.push(found),
            Directory::Events { .. } => events.push(found),
        }
    }
    events::mark_the_end(&mut manifest, &events)?;
    let mut opened = Opened {
        series: quanta
            .iter()
            .filter_map(|found| series(path, found))
            .collect(),
        manifest,
        warnings,
        quanta,
        gaps,
        events,
        extents: OnceLock::new(),
    };
    if opened.manifest.state != State::Complete {
        opened.warn_of_left_out_gaps()?;
    }
    Ok(opened)
}

fn series(root: &Path, found: &Found) -> Option<Series> {
    let Directory::Quanta {
        cpu,
        rate_hz,
        kernel,
    } = &found.directory
    else {
        return None;
    };
    Some(Series {
        cpu: Some(*cpu),
        rate_hz: *rate_hz,
        kernel: kernel.clone(),
        gaps_known: true,
        ends_known: true,
        origin: shown(root),
    })
}

fn columns(manifest: &Manifest, directory: &Directory) -> Vec<(String, Storage)> {
    match directory {
        Directory::Quanta { .. } => quanta_columns(),
        Directory::Gaps { .. } => gap_columns(&manifest.counters),
        Directory::Events { .. } => event_columns(),
    }
}

fn open_part(manifest: &Manifest, found: &Found, number: u32) -> Result<(PathBuf, Part), Error> {
    let path = found.path.join(part_name(number));
    let expected = Expected {
        run: &manifest.run,
        directory: &found.directory.to_string(),
        number,
        columns: &columns(manifest, &found.directory),
    };
    let is_last = number + 1 == found.parts;
    let part = Part::open(&path, &expected)?;
    let limit = found.rows_of_last.filter(|_| is_last);
    Ok((path, part.limited(limit)))
}

/// Reads every part once, which checks it, and adds up the rows.
fn count_rows(
    manifest: &Manifest,
    found: &mut Found,
    warnings: &mut Vec<ReadWarning>,
) -> Result<u64, Error> {
    let (mut rows, mut unchecked, mut last) = (0u64, 0, None);
    for number in 0..found.parts {
        unchecked += u32::from(!part::verify(&found.path.join(part_name(number)))?);
        let (_, part) = open_part(manifest, found, number)?;
        rows = rows.saturating_add(part.rows());
        last = Some(part.rows());
    }
    found.rows_of_last = last;
    if unchecked > 0 {
        warnings.push(ReadWarning {
            kind: ReadWarningKind::NoChecksum,
            message: format!(
                "{}: {unchecked} parts carry no checksum",
                shown(&found.path)
            ),
            advice: "bandscope did not write them; damage may go unnoticed".into(),
        });
    }
    Ok(rows)
}

fn check_rows(root: &Path, manifest: &Manifest, found: &Found, rows: u64) -> Result<(), Error> {
    let path = found.directory.to_string();
    match manifest.parts.iter().find(|parts| parts.path == path) {
        Some(parts) if parts.rows != rows => Err(Error::File {
            path: root.join(path),
            found: format!("{rows} rows in {} parts", found.parts),
            expected: format!("{}, as {MANIFEST_FILE} says", parts.rows),
        }),
        _ => Ok(()),
    }
}

/// Says how a run that did not end as planned ended, and how much of it is there.
fn warn_of_the_end(
    root: &Path,
    manifest: &Manifest,
    found: &[Found],
    quanta: u64,
    warnings: &mut Vec<ReadWarning>,
) {
    let root = shown(root);
    let parts: u32 = found.iter().map(|found| found.parts).sum();
    let there = format!("{quanta} quanta in {parts} finished parts");
    let missing = match manifest.max_loss_s {
        Some(seconds) => format!("and up to {seconds:.0} s after them are missing"),
        None if manifest.settings.buffered => "as it kept the rest in memory".to_owned(),
        None => "the end is missing".to_owned(),
    };
    let (kind, message, advice) = match manifest.state {
        State::Recording => (
            ReadWarningKind::Unfinished,
            format!("{root}: the run still goes on or was killed: {there}, {missing}"),
            "these parts are intact; the clock was calibrated at the start only",
        ),
        State::Failed => (
            ReadWarningKind::Failed,
            format!(
                "{root}: an error ended the run early: {there}, {} quanta lost",
                manifest.lost.quanta
            ),
            "these parts are intact, but the run ended early",
        ),
        State::Interrupted => (
            ReadWarningKind::Interrupted,
            format!("{root}: a signal ended the run early: {there}"),
            "these parts are intact",
        ),
        State::Complete if quanta == 0 => (
            ReadWarningKind::Empty,
            format!("{root}: no quanta were recorded"),
            "record for longer",
        ),
        State::Complete => return warn_of_leftovers(found, warnings),
    };
    warnings.push(ReadWarning {
        kind,
        message,
        advice: advice.into(),
    });
    if manifest.state != State::Recording {
        warn_of_leftovers(found, warnings);
    }
}

/// In a run that ended there should be no part under way.
fn warn_of_leftovers(found: &[Found], warnings: &mut Vec<ReadWarning>) {
    for found in found.iter().filter(|found| found.unfinished) {
        warnings.push(ReadWarning {
            kind: ReadWarningKind::LeftoverPart,
            message: format!(
                "{}: holds a part that was never finished",
                shown(&found.path)
            ),
            advice: "it was ignored".into(),
        });
    }
}

impl Opened {
    /// Reads the quanta of one directory from its beginning.
    fn read_quanta(&self, found: &Found, visit: &mut dyn FnMut(&Quanta)) -> Result<(), Error> {
        let columns = quanta_columns();
        let mut order = QuantaOrder::default();
        let (mut scratch, mut quanta) = (Scratch::default(), Quanta::default());
        for number in 0..found.parts {
            let (path, part) = open_part(&self.manifest, found, number)?;
            part.row_groups(&columns, |mut columns, rows| {
                rows::quanta(
                    &mut columns,
                    rows,
                    &mut scratch,
                    &mut quanta,
                    &mut |quanta| {
                        order
                            .check(quanta)
                            .map_err(|disorder| disordered(&path, disorder))?;
                        visit(quanta);
                        Ok(())
                    },
                )
            })?;
        }
        Ok(())
    }

    fn read_gaps(&self, found: &Found, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        let columns = gap_columns(&self.manifest.counters);
        let mut order = GapOrder::default();
        let (mut scratch, mut gaps) = (rows::GapScratch::default(), Vec::new());
        for number in 0..found.parts {
            let (path, part) = open_part(&self.manifest, found, number)?;
            part.row_groups(&columns, |mut columns, rows| {
                rows::gaps(
                    &path,
                    &mut columns,
                    rows,
                    &mut scratch,
                    &mut gaps,
                    &mut |gaps| {
                        order
                            .check(gaps)
                            .map_err(|disorder| disordered(&path, disorder))?;
                        visit(gaps);
                        Ok(())
                    },
                )
            })?;
        }
        Ok(())
    }

    fn extents(&self) -> Result<&[Extent], Error> {
        if let Some(extents) = self.extents.get() {
            return Ok(extents);
        }
        let mut extents = Vec::new();
        for found in &self.quanta {
            let mut extent = Extent::default();
            for number in 0..found.parts {
                extent.add(&open_part(&self.manifest, found, number)?.1)?;
            }
            extents.push(extent);
        }
        Ok(self.extents.get_or_init(|| extents))
    }

    /// Compares where quanta and gaps end in a run that did not end as planned.
    fn warn_of_left_out_gaps(&mut self) -> Result<(), Error> {
        let mut warnings = Vec::new();
        for found in &self.gaps {
            let of_cpu: Vec<&Extent> = (self.series.iter().zip(self.extents()?))
                .filter(|(series, _)| found.directory.cpu() == series.cpu)
                .map(|(_, extent)| extent)
                .collect();
            let mut left_out = 0;
            self.read_gaps(found, &mut |gaps| {
                let is_left_out = |gap: &&Gap| !of_cpu.iter().any(|extent| extent.holds(gap));
                left_out += gaps.iter().filter(is_left_out).count() as u64;
            })?;
            if left_out > 0 {
                warnings.push(extent::left_out(&found.path, left_out));
            }
        }
        self.warnings.append(&mut warnings);
        Ok(())
    }
}

fn disordered(path: &Path, disorder: Disorder) -> Error {
    Error::File {
        path: path.into(),
        found: format!("{} in row {} of the series", disorder.found, disorder.row),
        expected: format!("{}; the part is damaged or out of place", disorder.expected),
    }
}

impl Source for Opened {
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
        self.read_quanta(&self.quanta[index], &mut |quanta| {
            quanta.for_each_chunk(visit)
        })
    }

    fn replay_gaps(&self, index: usize, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        let cpu = self.series[index].cpu;
        let of_cpu = |found: &&Found| found.directory.cpu() == cpu;
        let Some(found) = self.gaps.iter().find(of_cpu) else {
            return Ok(());
        };
        let extent = &self.extents()?[index];
        let mut own = Vec::new();
        self.read_gaps(found, &mut |gaps| {
            own.clear();
            own.extend(gaps.iter().filter(|gap| extent.holds(gap)));
            if !own.is_empty() {
                visit(&own);
            }
        })
    }

    fn events(&self, index: usize) -> Result<Box<dyn EventStream + '_>, Error> {
        match self.series[index].cpu {
            Some(cpu) => self.events_of(cpu),
            None => Ok(Box::new(NoEvents)),
        }
    }

    fn cpus_with_events(&self) -> Vec<u32> {
        let cpus = self.events.iter().filter_map(|found| found.directory.cpu());
        cpus.collect()
    }

    fn events_of(&self, cpu: u32) -> Result<Box<dyn EventStream + '_>, Error> {
        let of_cpu = |found: &&Found| found.directory.cpu() == Some(cpu);
        Ok(match self.events.iter().find(of_cpu) {
            Some(found) => Box::new(events::Events::new(&self.manifest, found)),
            None => Box::new(NoEvents),
        })
    }
}
