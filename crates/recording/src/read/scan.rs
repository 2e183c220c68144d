//! Which parts a recording has, and which it lacks: a walk over the directory, no row is read.

use crate::Error;
use crate::layout::{Directory, MANIFEST_FILE, PartFile, part_name};
use crate::manifest::{Manifest, State};
use crate::read::warning::{ReadWarning, ReadWarningKind};
use crate::text::quoted;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A directory of parts, numbered from 0 without a hole.
#[derive(Debug)]
pub struct Found {
    /// What it holds.
    pub directory: Directory,
    /// Where it is.
    pub path: PathBuf,
    /// Number of finished parts.
    pub parts: u32,
    /// Rows of the last part that are read: while the run goes on a longer one may take its place. `None` before they are counted.
    pub rows_of_last: Option<u64>,
    /// A part was under way when the run was killed.
    pub unfinished: bool,
}

/// Walks over the recording at `root`; what is strange but harmless becomes a warning.
pub fn scan(
    root: &Path,
    manifest: &Manifest,
    warnings: &mut Vec<ReadWarning>,
) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for (top, depth) in [("quanta", 3), ("gaps", 1), ("events", 1)] {
        let path = root.join(top);
        if path.is_dir() {
            descend(root, top, depth, &mut found, warnings)?;
        }
    }
    check_against_index(root, manifest, &found)?;
    found.sort_by(|a, b| order(manifest, &a.directory).total_cmp(&order(manifest, &b.directory)));
    Ok(found)
}

/// Names in a directory, sorted, so that messages and series do not depend on the file system.
pub fn names(path: &Path) -> Result<Vec<String>, Error> {
    let entries = std::fs::read_dir(path).map_err(Error::io(path, "cannot read"))?;
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Error::io(path, "cannot read"))?;
    names.sort();
    Ok(names)
}

fn descend(
    root: &Path,
    relative: &str,
    depth: u32,
    found: &mut Vec<Found>,
    warnings: &mut Vec<ReadWarning>,
) -> Result<(), Error> {
    if depth == 0 {
        match Directory::parse(relative) {
            Some(directory) => found.push(list_parts(root, relative, directory, warnings)?),
            None => warnings.push(unknown(&root.join(relative))),
        }
        return Ok(());
    }
    for name in names(&root.join(relative))? {
        let below = format!("{relative}/{name}");
        if root.join(&below).is_dir() {
            descend(root, &below, depth - 1, found, warnings)?;
        } else {
            warnings.push(unknown(&root.join(&below)));
        }
    }
    Ok(())
}

fn unknown(path: &Path) -> ReadWarning {
    ReadWarning {
        kind: ReadWarningKind::UnknownEntry,
        message: format!(
            "{} is not a part of a recording",
            quoted(path.as_os_str().as_encoded_bytes())
        ),
        advice: "it was ignored".into(),
    }
}

fn list_parts(
    root: &Path,
    relative: &str,
    directory: Directory,
    warnings: &mut Vec<ReadWarning>,
) -> Result<Found, Error> {
    let path = root.join(relative);
    let mut numbers = Vec::new();
    let mut unfinished = false;
    for name in names(&path)? {
        match PartFile::parse(&name) {
            Some(PartFile::Finished(number)) => numbers.push(number),
            Some(PartFile::Temporary(_)) => unfinished = true,
            None => warnings.push(unknown(&path.join(name))),
        }
    }
    // Names with more than six digits sort wrongly as text.
    numbers.sort_unstable();
    if let Some((expected, &number)) = (0..)
        .zip(&numbers)
        .find(|&(expected, &number)| expected != number)
    {
        return Err(Error::File {
            path: path.join(part_name(expected)),
            found: format!("nothing, though {} is there", part_name(number)),
            expected:
                "all parts from 0 on: one in the middle is missing; copy it again, or rename the \
                later ones away to read what is before it"
                    .into(),
        });
    }
    Ok(Found {
        directory,
        path,
        parts: numbers.len() as u32,
        rows_of_last: None,
        unfinished,
    })
}

/// Compares what is there with what the run said at its end that it had written.
fn check_against_index(root: &Path, manifest: &Manifest, found: &[Found]) -> Result<(), Error> {
    if manifest.state == State::Recording || manifest.parts.is_empty() {
        return Ok(());
    }
    let there: BTreeMap<String, u32> = found
        .iter()
        .map(|found| (found.directory.to_string(), found.parts))
        .collect();
    for parts in &manifest.parts {
        if Directory::parse(&parts.path).is_none() {
            return Err(Error::File {
                path: root.join(MANIFEST_FILE),
                found: format!("parts in {}", quoted(parts.path.as_bytes())),
                expected: "directories of quanta, gaps and events".into(),
            });
        }
        let parts_there = there.get(&parts.path).copied().unwrap_or(0);
        if parts_there != parts.parts {
            return Err(Error::File {
                path: root.join(&parts.path),
                found: format!("{parts_there} parts"),
                expected: format!(
                    "{}, as {MANIFEST_FILE} says: the recording was copied incompletely or mixed with another",
                    parts.parts
                ),
            });
        }
    }
    let listed = |found: &&Found| {
        let path = found.directory.to_string();
        found.parts > 0 && !manifest.parts.iter().any(|parts| parts.path == path)
    };
    match found.iter().find(listed) {
        Some(surplus) => Err(Error::File {
            path: surplus.path.clone(),
            found: format!("{} parts", surplus.parts),
            expected: format!("none, as {MANIFEST_FILE} says: they are of another recording"),
        }),
        None => Ok(()),
    }
}

/// Where a directory stands among the series: by CPU, then in the order in which segments alternate.
fn order(manifest: &Manifest, directory: &Directory) -> OrderKey {
    let settings = &manifest.settings;
    match directory {
        Directory::Quanta {
            cpu,
            rate_hz,
            kernel,
        } => {
            let kernel_place = settings.kernels.iter().position(|name| name == kernel);
            let rate_place = settings.rates_hz.iter().position(|rate| rate == rate_hz);
            OrderKey(
                *cpu,
                kernel_place.unwrap_or(usize::MAX),
                kernel.clone(),
                rate_place.unwrap_or(usize::MAX),
                *rate_hz,
            )
        }
        Directory::Gaps { cpu } | Directory::Events { cpu } => {
            OrderKey(*cpu, 0, String::new(), 0, 0.0)
        }
    }
}

/// CPU, place and name of the work kernel, place and value of the rate.
struct OrderKey(u32, usize, String, usize, f64);

impl OrderKey {
    fn total_cmp(&self, other: &OrderKey) -> std::cmp::Ordering {
        (self.0, self.1, &self.2, self.3)
            .cmp(&(other.0, other.1, &other.2, other.3))
            .then(self.4.total_cmp(&other.4))
    }
}
