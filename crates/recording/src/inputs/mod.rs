//! Whatever the user names, as series of one machine.
//!
//! A path is a recording if it is a directory and a file of the original FTQ otherwise. Several inputs are
//! joined: the manifest is that of the first real recording, and the ticks of every other input are
//! converted to its clock, so that an analysis needs to know one clock only.

mod convert;
pub mod tasks;

use crate::dat::DatFile;
use crate::events::{EventStream, NoEvents};
use crate::manifest::Events;
use crate::manifest::{Counter, Kernel, Rank, State};
use crate::read::{self, Opened, ReadWarning, ReadWarningKind};
use crate::text::shown;
use crate::{Chunk, Error, Gap, Manifest, Quanta, Series, Source};
use convert::{ConvertedEvents, Converter};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One input, of whatever kind.
#[derive(Debug)]
pub enum Input {
    /// A recording's directory.
    Recording(Opened),
    /// A file of the original FTQ.
    Dat(DatFile),
}

/// Opens what `path` names.
///
/// # Errors
/// As [`read::open`] or [`DatFile::open`].
pub fn open_any(path: &Path) -> Result<Input, Error> {
    let metadata = std::fs::metadata(path).map_err(Error::io(path, "cannot read"))?;
    if metadata.is_dir() {
        read::open(path).map(Input::Recording)
    } else {
        DatFile::open(path).map(Input::Dat)
    }
}

impl Input {
    fn source(&self) -> &dyn Source {
        match self {
            Input::Recording(recording) => recording,
            Input::Dat(file) => file,
        }
    }
}

impl Source for Input {
    fn manifest(&self) -> &Manifest {
        self.source().manifest()
    }

    fn series(&self) -> &[Series] {
        self.source().series()
    }

    fn warnings(&self) -> &[ReadWarning] {
        self.source().warnings()
    }

    fn replay_quanta(&self, index: usize, visit: &mut dyn FnMut(Chunk<'_>)) -> Result<(), Error> {
        self.source().replay_quanta(index, visit)
    }

    fn replay_gaps(&self, index: usize, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        self.source().replay_gaps(index, visit)
    }

    fn events(&self, index: usize) -> Result<Box<dyn EventStream + '_>, Error> {
        self.source().events(index)
    }

    fn cpus_with_events(&self) -> Vec<u32> {
        self.source().cpus_with_events()
    }

    fn events_of(&self, cpu: u32) -> Result<Box<dyn EventStream + '_>, Error> {
        self.source().events_of(cpu)
    }
}

/// Several sources as one.
pub struct Inputs {
    sources: Vec<Box<dyn Source>>,
    manifest: Manifest,
    series: Vec<Series>,
    /// For each series: its source, its index there, and how its ticks and counters are converted.
    places: Vec<(usize, usize, Converter)>,
    /// For each source: what is known of its kernel events.
    events_known: Vec<Events>,
    warnings: Vec<ReadWarning>,
}

impl Inputs {
    /// Opens all paths.
    ///
    /// # Errors
    /// The first that occurs; as [`open_any`]. If one is named twice, by its path or as a copy.
    pub fn open(paths: &[PathBuf]) -> Result<Inputs, Error> {
        let open = |path: &PathBuf| Ok((path.clone(), open_any(path)?));
        let opened = paths.iter().map(open).collect::<Result<_, Error>>()?;
        Inputs::join(opened, Vec::new())
    }

    /// The same, but a directory with parts of a job's tasks stands for each of them, and what cannot be read among others is left out: a warning says so.
    ///
    /// # Errors
    /// As [`Inputs::open`]; where something cannot be read only if nothing can.
    pub fn open_with_tasks(paths: &[PathBuf]) -> Result<Inputs, Error> {
        let (mut opened, mut warnings, mut first_error) = (Vec::new(), Vec::new(), None);
        for path in paths {
            let parts = tasks::open(path, &mut warnings).and_then(|parts| match parts {
                Some(parts) => Ok(parts),
                None => Ok(vec![(path.clone(), open_any(path)?)]),
            });
            match parts {
                Ok(parts) => opened.extend(parts),
                Err(error) => {
                    warnings.push(ReadWarning::unreadable(&error));
                    first_error.get_or_insert(error);
                }
            }
        }
        match first_error.filter(|_| opened.is_empty()) {
            Some(error) => Err(error),
            None => Inputs::join(opened, warnings),
        }
    }

    fn join(
        opened: Vec<(PathBuf, Input)>,
        mut warnings: Vec<ReadWarning>,
    ) -> Result<Inputs, Error> {
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        let mut named = HashMap::new();
        for (path, input) in opened {
            refuse_twice(&path, &input.manifest().run, &mut named)?;
            warnings.extend_from_slice(input.warnings());
            sources.push(Box::new(input));
        }
        let mut inputs = Inputs::new(sources);
        warnings.append(&mut inputs.warnings);
        inputs.warnings = warnings;
        Ok(inputs)
    }

    /// Number of inputs.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is no input.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The source, where there is no other: the same CPU of two recordings is two CPUs.
    fn only(&self) -> Option<&dyn Source> {
        match self.sources.as_slice() {
            [only] => Some(&**only),
            _ => None,
        }
    }

    /// Joins sources. Where they seem to be of different machines, that is a warning.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Inputs {
        let leader = sources
            .iter()
            .position(|source| !source.manifest().is_imported())
            .unwrap_or(0);
        let mut manifest = sources
            .get(leader)
            .map_or_else(Manifest::default, |source| source.manifest().clone());
        let (mut series, mut places, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let mut events_known = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let own = source.manifest();
            if number != leader {
                add(&mut manifest, own, source.series());
                compare(&manifest, own, source.series(), &mut warnings);
            }
            events_known.push(Converter::new(own, &manifest).events_known(&own.events));
            for (index, one) in source.series().iter().enumerate() {
                series.push(one.clone());
                places.push((number, index, Converter::new(own, &manifest)));
            }
        }
        Inputs {
            sources,
            manifest,
            series,
            places,
            events_known,
            warnings,
        }
    }
}

/// What tells one input from another: the name of its run, and its path without links.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Run(String),
    Path(PathBuf),
}

/// Refuses an input that is among `named`: everything in it would happen at the same instants as in its twin, and mean nothing.
fn refuse_twice(
    path: &Path,
    run: &str,
    named: &mut HashMap<Identity, PathBuf>,
) -> Result<(), Error> {
    let real = path.canonicalize().unwrap_or_else(|_| path.into());
    let run = Some(Identity::Run(run.into())).filter(|_| !run.is_empty());
    for identity in run.into_iter().chain([Identity::Path(real)]) {
        if let Some(first) = named.insert(identity, path.into()) {
            return Err(Error::File {
                path: path.into(),
                found: format!("the same recording as {}", shown(&first)),
                expected: "each recording once".into(),
            });
        }
    }
    Ok(())
}

/// Adds to `manifest` what that of another input says: work kernels in its ticks, and all that went wrong.
fn add(manifest: &mut Manifest, other: &Manifest, series: &[Series]) {
    let converter = Converter::new(other, manifest);
    for kernel in &other.kernels {
        let is_it = |known: &Kernel| known.name == kernel.name;
        if !manifest.kernels.iter().any(is_it) {
            manifest.kernels.push(converter.kernel(kernel));
        }
    }
    // What is said of one machine, and is not of both.
    if manifest.machine.host != other.machine.host {
        manifest.machine.host = None;
        manifest.machine.boot_id = None;
    }
    manifest.lost.quanta = manifest.lost.quanta.saturating_add(other.lost.quanta);
    manifest.lost.gaps = manifest.lost.gaps.saturating_add(other.lost.gaps);
    manifest.lost.events = manifest.lost.events.saturating_add(other.lost.events);
    for missing in &other.missing {
        if !manifest.missing.contains(missing) {
            manifest.missing.push(missing.clone());
        }
    }
    let origin = origin(series);
    let incidents = other.incidents.iter();
    (manifest.incidents).extend(incidents.map(|incident| converter.incident(incident, origin)));
    if badness(other.state) > badness(manifest.state) {
        manifest.state = other.state;
    }
}

/// Of several inputs, the one that ended worst says how all of them ended.
fn badness(state: State) -> u8 {
    match state {
        State::Complete => 0,
        State::Interrupted => 1,
        State::Recording => 2,
        State::Failed => 3,
    }
}

/// Where series were read from, for messages.
fn origin(series: &[Series]) -> &str {
    series.first().map_or("an input", |series| &series.origin)
}

fn names(counters: &[Counter]) -> Vec<&str> {
    counters.iter().map(|counter| &*counter.name).collect()
}

/// Warns where `other` does not seem to be of the machine of `manifest`.
fn compare(
    manifest: &Manifest,
    other: &Manifest,
    series: &[Series],
    warnings: &mut Vec<ReadWarning>,
) {
    if manifest.is_imported() || other.is_imported() {
        return;
    }
    let origin = origin(series);
    let mut warn = |kind, what: String, advice: &str| {
        warnings.push(ReadWarning {
            kind,
            message: format!("{origin}: {what}"),
            advice: advice.into(),
        });
    };
    let model = |manifest: &Manifest| {
        let model = manifest.machine.cpu_model.as_deref().unwrap_or("unknown");
        crate::text::quoted(model.as_bytes())
    };
    if manifest.machine.cpu_model != other.machine.cpu_model {
        warn(
            ReadWarningKind::DifferentMachines,
            format!(
                "CPU {}, but {} in the first recording",
                model(other),
                model(manifest)
            ),
            "the series are of different machines: report each by itself",
        );
    }
    let (ours, theirs) = (&manifest.clock, &other.clock);
    let apart = (ours.ticks_per_ns / theirs.ticks_per_ns - 1.0).abs();
    if ours.name != theirs.name || apart > SAME_CLOCK {
        warn(
            ReadWarningKind::DifferentClocks,
            format!(
                "{} ticks per ns, but {} in the first recording",
                theirs.ticks_per_ns, ours.ticks_per_ns
            ),
            "ticks were converted; if it is one machine, one calibration is wrong",
        );
    }
    if names(&manifest.counters) != names(&other.counters) {
        warn(
            ReadWarningKind::DifferentCounters,
            "other counters than in the first recording".into(),
            "counters of the same name were kept, others left out",
        );
    }
}

/// Two calibrations of one clock agree to 0.1 % even where one run was too short to calibrate well.
const SAME_CLOCK: f64 = 1e-3;

impl Source for Inputs {
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
        let (source, series, converter) = &self.places[index];
        if converter.keeps_ticks() {
            return self.sources[*source].replay_quanta(*series, visit);
        }
        let mut converted = Quanta::default();
        self.sources[*source].replay_quanta(*series, &mut |chunk| {
            converter.quanta(chunk, &mut converted);
            converted.for_each_chunk(visit);
        })
    }

    fn replay_gaps(&self, index: usize, visit: &mut dyn FnMut(&[Gap])) -> Result<(), Error> {
        let (source, series, converter) = &self.places[index];
        let mut converted = Vec::new();
        self.sources[*source].replay_gaps(*series, &mut |gaps| {
            converter.gaps(gaps, &mut converted);
            visit(&converted);
        })
    }

    fn events(&self, index: usize) -> Result<Box<dyn EventStream + '_>, Error> {
        let (source, series, converter) = &self.places[index];
        let events = self.sources[*source].events(*series)?;
        Ok(Box::new(ConvertedEvents { events, converter }))
    }

    fn cpus_with_events(&self) -> Vec<u32> {
        self.only().map_or_else(Vec::new, Source::cpus_with_events)
    }

    fn events_of(&self, cpu: u32) -> Result<Box<dyn EventStream + '_>, Error> {
        match self.only() {
            Some(only) => only.events_of(cpu),
            None => Ok(Box::new(NoEvents)),
        }
    }

    fn events_known(&self, index: usize) -> &Events {
        &self.events_known[self.places[index].0]
    }

    fn rank(&self, index: usize) -> Option<&Rank> {
        let (source, series, _) = &self.places[index];
        self.sources[*source].rank(*series)
    }
}

#[cfg(test)]
mod tests;
