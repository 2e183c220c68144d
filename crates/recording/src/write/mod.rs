//! Writes a recording: quanta, gaps and kernel events in, a directory of Parquet files out.
//!
//! * `rows`: how rows become columns;
//! * `part`: one file, which gets its name only when it is whole;
//! * `track`: the files of one directory, each of a stretch of time;
//! * `events`: the track of kernel events, whose losses are kept as spans.
//!
//! Memory does not grow with the length of a run: rows wait for a row group of at most 65,536, and if
//! many series run at once the fullest is written early. A run that is killed keeps every finished part, and of the
//! part under way a copy that is at most some seconds old.

mod events;
mod part;
mod rows;
mod track;

use crate::columns::QUANTA_ROWS;
use crate::layout::{Directory, MANIFEST_FILE, is_kernel_name, is_rate};
use crate::manifest::{SCHEMA, State};
use crate::order::{Disorder, GapOrder, QuantaOrder};
use crate::{Error, Gap, KernelEvent, Manifest, Quanta, json};
use events::EventTrack;
use rows::{GapRows, Rows, Scratch};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use track::Track;

/// Rows of quanta that may wait in memory, over all series: 6 MiB.
const MAX_WAITING: usize = 2 * QUANTA_ROWS;

/// Writes one recording.
///
/// Dropping it without [`Writer::finish`] leaves what a killed run leaves: the finished parts, readable.
pub struct Writer {
    directory: PathBuf,
    manifest: Manifest,
    ticks_per_s: f64,
    quanta: Vec<(Track<Quanta>, QuantaOrder)>,
    gaps: Vec<(Track<GapRows>, GapOrder)>,
    events: Vec<EventTrack>,
    scratch: Scratch,
    /// The latest tick of any quantum.
    now: u64,
}

impl Writer {
    /// Makes the directory and writes the manifest into it, with the state
    /// [`State::Recording`] and a new random `run`, if that is empty.
    ///
    /// # Errors
    /// If the directory exists or cannot be made, or if the manifest could not be read back: a clock
    /// without a rate, more than [`crate::gaps::MAX_COUNTERS`] counters, two of one name.
    pub fn create(directory: &Path, manifest: &Manifest) -> Result<Writer, Error> {
        let mut manifest = manifest.clone();
        manifest.schema = SCHEMA.into();
        manifest.state = State::Recording;
        manifest.parts.clear();
        manifest.max_loss_s = (!manifest.settings.buffered).then_some(track::MAX_LOSS_S);
        if manifest.run.is_empty() {
            manifest.run = random_name();
        }
        json::check(&directory.join(MANIFEST_FILE), &manifest)?;
        std::fs::create_dir(directory).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::File {
                path: directory.into(),
                found: "something of that name".into(),
                expected: "a path that does not exist yet; give another one, or remove it".into(),
            },
            _ => Error::io(directory, "cannot create the recording")(error),
        })?;
        json::write(directory, &manifest).inspect_err(|_| {
            // It was made here, and nothing is in it; the first error is the one that matters.
            let _ = std::fs::remove_dir_all(directory);
        })?;
        Ok(Writer {
            directory: directory.into(),
            ticks_per_s: manifest.clock.ticks_per_ns * 1e9,
            manifest,
            quanta: Vec::new(),
            gaps: Vec::new(),
            events: Vec::new(),
            scratch: Scratch::default(),
            now: 0,
        })
    }

    /// The manifest as it was written, with the name of the run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The latest tick of any quantum so far.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Adds quanta of one series, in order of time.
    ///
    /// # Errors
    /// If a file cannot be written; the part under way of this series is then lost and counted, everything
    /// else is kept, and [`Writer::finish`] is to be called. If the quanta overlap or run backwards, or the
    /// work kernel's name or the rate cannot be a directory's; then nothing of them is written.
    pub fn append_quanta(
        &mut self,
        cpu: u32,
        rate_hz: f64,
        kernel: &str,
        quanta: &Quanta,
    ) -> Result<(), Error> {
        let index = self.quanta_track(cpu, rate_hz, kernel)?;
        let (track, order) = &mut self.quanta[index];
        order
            .check(quanta)
            .map_err(|disorder| refused(track.path(), disorder))?;
        // What is simulated comes one CPU after another, each from the beginning.
        let now = quanta.end.last().copied().unwrap_or(self.now);
        self.now = self.now.max(now);
        track.accept(quanta.len());
        let run = &self.manifest.run;
        let added = add_quanta(track, quanta, run, self.ticks_per_s, &mut self.scratch);
        if added.is_err() {
            track.abandon();
        }
        added.and(self.bound_memory()).and(self.keep_up(now))
    }

    /// Adds gaps of one CPU, of whatever series, in order of time.
    ///
    /// # Errors
    /// As [`Writer::append_quanta`].
    pub fn append_gaps(&mut self, cpu: u32, gaps: &[Gap]) -> Result<(), Error> {
        if gaps.is_empty() {
            return Ok(());
        }
        let index = self.gap_track(cpu)?;
        let (track, order) = &mut self.gaps[index];
        order
            .check(gaps)
            .map_err(|disorder| refused(track.path(), disorder))?;
        track.accept(gaps.len());
        let run = &self.manifest.run;
        let added = add_gaps(track, gaps, run, self.ticks_per_s, &mut self.scratch);
        if added.is_err() {
            track.abandon();
        }
        added
    }

    /// Adds kernel events of one CPU, in order of their starts.
    ///
    /// # Errors
    /// As [`Writer::append_quanta`]; the span of what is lost then stands in the final manifest.
    pub fn append_events(&mut self, cpu: u32, events: &[KernelEvent]) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        let index = match self.events.iter().position(|track| track.cpu() == cpu) {
            Some(index) => index,
            None => {
                self.events.push(EventTrack::create(&self.directory, cpu)?);
                self.events.len() - 1
            }
        };
        let run = &self.manifest.run;
        self.events[index].append(events, run, self.ticks_per_s, &mut self.scratch)
    }

    /// Writes what waits, waits until everything is on the disk, and writes the final manifest: that of the
    /// caller, with the name of the run, what was lost in writing and the index of parts.
    ///
    /// To be called after an error too: whatever can still be written is. If rows were lost the state is
    /// [`State::Failed`], whatever the caller says.
    ///
    /// # Errors
    /// The first of all errors; each file is tried regardless of the others.
    pub fn finish(mut self, manifest: &Manifest) -> Result<(), Error> {
        let run = self.manifest.run.clone();
        let mut result = Ok(());
        for (track, _) in &mut self.quanta {
            result = result.and(finish_track(track, &run, &mut self.scratch));
        }
        for (track, _) in &mut self.gaps {
            result = result.and(finish_track(track, &run, &mut self.scratch));
        }
        for track in &mut self.events {
            result = result.and(track.finish(&run, &mut self.scratch));
        }
        let last = json::write(&self.directory, &self.final_manifest(manifest));
        result.and(last).and(json::sync_parent(&self.directory))
    }

    fn final_manifest(&self, manifest: &Manifest) -> Manifest {
        let mut last = manifest.clone();
        last.max_loss_s = None;
        last.schema = SCHEMA.into();
        last.run.clone_from(&self.manifest.run);
        // The columns that were written are those of the counters at the start.
        last.counters.clone_from(&self.manifest.counters);
        let quanta = self.quanta.iter().map(|(track, _)| track);
        let gaps = self.gaps.iter().map(|(track, _)| track);
        let unwritten_quanta: u64 = quanta.clone().map(Track::unwritten).sum();
        let unwritten_gaps: u64 = gaps.clone().map(Track::unwritten).sum();
        last.lost.quanta += unwritten_quanta;
        last.lost.gaps += unwritten_gaps;
        let unwritten_events: u64 = self.events.iter().map(EventTrack::unwritten).sum();
        last.lost.events += unwritten_events;
        let lost_events = self.events.iter().flat_map(|track| track.lost().to_vec());
        last.events.lost.extend(lost_events);
        if unwritten_quanta + unwritten_gaps + unwritten_events > 0 {
            last.state = State::Failed;
        }
        last.parts = (quanta.map(Track::finished).cloned())
            .chain(gaps.map(Track::finished).cloned())
            .chain(self.events.iter().map(|track| track.finished().clone()))
            .filter(|parts| parts.parts > 0)
            .collect();
        last
    }

    fn quanta_track(&mut self, cpu: u32, rate_hz: f64, kernel: &str) -> Result<usize, Error> {
        let is_it = |directory: &Directory| matches!(directory, Directory::Quanta { cpu: c, rate_hz: r, kernel: k } if (*c, *r, &**k) == (cpu, rate_hz, kernel));
        if let Some(index) = self
            .quanta
            .iter()
            .position(|(track, _)| is_it(&track.directory))
        {
            return Ok(index);
        }
        if !is_kernel_name(kernel) || !is_rate(rate_hz) {
            return Err(Error::File {
                path: self.directory.clone(),
                found: format!(
                    "a series at {rate_hz} Hz with the work kernel {}",
                    crate::text::quoted(kernel.as_bytes())
                ),
                expected: "a positive rate, and a name of a to z, 0 to 9 and -".into(),
            });
        }
        let directory = Directory::Quanta {
            cpu,
            rate_hz,
            kernel: kernel.into(),
        };
        let track = Track::create(&self.directory, directory, Quanta::default())?;
        self.quanta.push((track, QuantaOrder::default()));
        Ok(self.quanta.len() - 1)
    }

    fn gap_track(&mut self, cpu: u32) -> Result<usize, Error> {
        let directory = Directory::Gaps { cpu };
        let known = |(track, _): &(Track<GapRows>, GapOrder)| track.directory == directory;
        if let Some(index) = self.gaps.iter().position(known) {
            return Ok(index);
        }
        let waiting = GapRows {
            counters: self.manifest.counters.clone(),
            ..GapRows::default()
        };
        let track = Track::create(&self.directory, directory, waiting)?;
        self.gaps.push((track, GapOrder::default()));
        Ok(self.gaps.len() - 1)
    }

    /// With many series at once, writes the fullest early.
    fn bound_memory(&mut self) -> Result<(), Error> {
        let waiting = |track: &Track<Quanta>| Rows::len(&track.waiting);
        let mut total: usize = self.quanta.iter().map(|(track, _)| waiting(track)).sum();
        while total > MAX_WAITING {
            let fullest = self
                .quanta
                .iter_mut()
                .max_by_key(|(track, _)| waiting(track));
            let Some((track, _)) = fullest else { break };
            total -= waiting(track);
            if let Err(error) = track.write_row_group(&mut self.scratch) {
                track.abandon();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Puts on the disk what is due at this tick: nothing may follow for hours on what a flight recorder caught.
    ///
    /// # Errors
    /// As [`Writer::append_quanta`].
    pub fn keep_up(&mut self, now: u64) -> Result<(), Error> {
        let (run, ticks_per_s) = (&self.manifest.run, self.ticks_per_s);
        let mut result = Ok(());
        for (track, _) in &mut self.quanta {
            let closed = close_if_due(track, now, ticks_per_s, run, &mut self.scratch);
            result = result.and(closed);
        }
        for (track, _) in &mut self.gaps {
            let closed = close_if_due(track, now, ticks_per_s, run, &mut self.scratch);
            result = result.and(closed);
        }
        for track in &mut self.events {
            result = result.and(track.close_if_due(now, ticks_per_s, run, &mut self.scratch));
        }
        result
    }
}

/// Adds rows piece by piece, so that however many come at once, no row group and no part holds too many.
fn add_quanta(
    track: &mut Track<Quanta>,
    quanta: &Quanta,
    run: &str,
    ticks_per_s: f64,
    scratch: &mut Scratch,
) -> Result<(), Error> {
    let mut from = 0;
    while from < quanta.len() {
        let limit = track.part_limit(quanta.start[from], ticks_per_s);
        let in_part = quanta.start[from..].partition_point(|&start| start < limit);
        let room = Quanta::ROW_GROUP - Rows::len(&track.waiting);
        let to = from + in_part.min(room);
        track.waiting.extend_from(quanta, from..to);
        track.added(scratch)?;
        if in_part <= room && to < quanta.len() {
            track.close_part(run, scratch)?;
        }
        from = to;
    }
    Ok(())
}

/// [`add_quanta`] for gaps.
fn add_gaps(
    track: &mut Track<GapRows>,
    gaps: &[Gap],
    run: &str,
    ticks_per_s: f64,
    scratch: &mut Scratch,
) -> Result<(), Error> {
    let mut from = 0;
    while from < gaps.len() {
        let limit = track.part_limit(gaps[from].start, ticks_per_s);
        let in_part = gaps[from..].partition_point(|gap| gap.start < limit);
        let room = GapRows::ROW_GROUP - track.waiting.len();
        let to = from + in_part.min(room);
        track.waiting.gaps.extend_from_slice(&gaps[from..to]);
        track.added(scratch)?;
        if in_part <= room && to < gaps.len() {
            track.close_part(run, scratch)?;
        }
        from = to;
    }
    Ok(())
}

fn close_if_due<R: Rows>(
    track: &mut Track<R>,
    now: u64,
    ticks_per_s: f64,
    run: &str,
    scratch: &mut Scratch,
) -> Result<(), Error> {
    if track.is_due(now, ticks_per_s) {
        return close_or_abandon(track, run, scratch);
    }
    track.copy_if_due(now, ticks_per_s, run, scratch);
    Ok(())
}

fn close_or_abandon<R: Rows>(
    track: &mut Track<R>,
    run: &str,
    scratch: &mut Scratch,
) -> Result<(), Error> {
    let closed = track.close_part(run, scratch);
    if closed.is_err() {
        track.abandon();
    }
    closed
}

fn finish_track<R: Rows>(
    track: &mut Track<R>,
    run: &str,
    scratch: &mut Scratch,
) -> Result<(), Error> {
    let closed = close_or_abandon(track, run, scratch);
    closed.and(track.sync())
}

fn refused(path: &Path, disorder: Disorder) -> Error {
    Error::File {
        path: path.into(),
        found: format!("row {} with {}", disorder.row, disorder.found),
        expected: disorder.expected,
    }
}

/// 128 random bits: the standard library seeds its hash maps from the operating system.
fn random_name() -> String {
    let bits = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", bits(), bits())
}
