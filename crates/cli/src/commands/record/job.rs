//! Where a task of a parallel job records: `node=NAME/task=K` below the directory that all of its tasks share.

use crate::output;
use anyhow::{Context, Result, bail};
use bandscope_probe::rank;
use bandscope_recording::text::shown;
use bandscope_recording::{Manifest, TaskDirectory};
use std::path::{Path, PathBuf};

/// The directory of this process's recording; `path` itself where it is no task of a job.
///
/// # Errors
/// If the launcher's environment makes no sense, or if the tasks have no directory in common: one that nobody named has the time in its name.
pub fn place(path: PathBuf, asked: Option<&Path>) -> Result<PathBuf> {
    let Some(rank) = rank::of_this_process()? else {
        return Ok(path);
    };
    if asked.is_none() && rank.tasks != Some(1) {
        bail!(
            "--output: found none, expected a directory for all tasks of this job: this is task {} on {}",
            rank.task,
            rank.node
        );
    }
    let directory = TaskDirectory {
        node: rank.node,
        task: rank.task,
    };
    Ok(path.join(directory.to_string()))
}

/// Refuses a place that is taken, or that cannot be made. The directory that tasks share may be there already.
///
/// # Errors
/// As [`output::free`].
pub fn free(shared: &Path, path: &Path) -> Result<()> {
    let is_shared = path != shared && shared.is_dir();
    match path.symlink_metadata() {
        // What is above it in a directory that is there is made, and needs no look.
        Err(_) if is_shared => output::outside_recordings(path),
        // Another task may make the directory just now.
        Err(_) => {
            output::writable(shared).or_else(|error| match path != shared && shared.is_dir() {
                true => output::outside_recordings(path),
                false => Err(error),
            })
        }
        Ok(_) => output::free(path, "--output"),
    }
}

/// Makes the directories that tasks share, whoever comes first. Each makes its own by itself, so no two write into one.
pub fn make_parents(manifest: &Manifest, path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) if manifest.rank.is_some() => std::fs::create_dir_all(parent)
            .with_context(|| format!("{}: cannot create the recording", shown(parent))),
        _ => Ok(()),
    }
}
