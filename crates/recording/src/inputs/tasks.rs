//! The parts of a job's tasks in one directory: `node=NAME/task=K`, each a recording by itself.
//!
//! A node may have failed, and an earlier job may have left parts. Neither keeps the others from being read; a warning says so.

use super::Input;
use crate::layout::{MANIFEST_FILE, TaskDirectory};
use crate::manifest::Rank;
use crate::read::{self, Opened, ReadWarning, ReadWarningKind};
use crate::text::shown;
use crate::{Error, cpu_list};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Ranges of missing tasks that a warning lists.
const MAX_LISTED: usize = 10;

/// What tells whose a part is, and of which job.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The task.
    pub rank: Rank,
    /// When its run began, RFC 3339 in UTC.
    pub started: String,
    /// The boot of its node.
    pub boot_id: Option<String>,
}

/// A task's part, or what was made of it.
#[derive(Debug)]
pub struct Part<T> {
    /// Its directory.
    pub path: PathBuf,
    /// Whose it is.
    pub identity: Identity,
    /// What was read there.
    pub content: T,
}

/// A directory of a task, and whatever reading it gave.
pub type Read<T> = (PathBuf, TaskDirectory, Result<(Identity, T), Error>);

/// Who a recording says it is.
fn identity(recording: &Opened) -> Identity {
    let manifest = &recording.manifest;
    Identity {
        rank: manifest.rank.clone().unwrap_or_default(),
        started: manifest.started.clone(),
        boot_id: manifest.machine.boot_id.clone(),
    }
}

/// The directories of tasks below `root`, by node and number; none where it is a recording by itself.
///
/// # Errors
/// If a directory cannot be read.
pub fn find(root: &Path) -> Result<Vec<(PathBuf, TaskDirectory)>, Error> {
    let mut found = Vec::new();
    if !root.is_dir() || root.join(MANIFEST_FILE).exists() {
        return Ok(found);
    }
    for node in read::names(root)? {
        let path = root.join(&node);
        if !node.starts_with("node=") || !path.is_dir() {
            continue;
        }
        for task in read::names(&path)? {
            let directory = TaskDirectory::parse(&format!("{node}/{task}"));
            found.extend(directory.map(|directory| (path.join(&task), directory)));
        }
    }
    Ok(found)
}

/// The path of one part of the directory at `root`, if it holds parts.
pub(crate) fn example(root: &Path) -> Option<PathBuf> {
    Some(find(root).ok()?.into_iter().next()?.0)
}

/// Opens the parts below `root` that are of the newest job, by task; `None` where there are no parts.
///
/// # Errors
/// If none can be read: why the first cannot.
pub(super) fn open(
    root: &Path,
    warnings: &mut Vec<ReadWarning>,
) -> Result<Option<Vec<(PathBuf, Input)>>, Error> {
    let read = |(path, directory): (PathBuf, TaskDirectory)| {
        let opened = read::open(&path).map(|recording| (identity(&recording), recording));
        (path, directory, opened)
    };
    let parts = find(root)?.into_iter().map(read).collect();
    let input = |part: Part<Opened>| {
        let mut recording = part.content;
        recording.manifest.rank = Some(part.identity.rank);
        (part.path, Input::Recording(recording))
    };
    let parts = newest_job(root, parts, warnings)?;
    Ok(parts.map(|parts| parts.into_iter().map(input).collect()))
}

/// Of what was read of the parts below `root`, that of the newest job, by task; `None` where there are no parts. Whose a part is its directory says, also of a
/// recording that somebody put there.
///
/// # Errors
/// If none can be read: why the first cannot.
pub fn newest_job<T>(
    root: &Path,
    parts: Vec<Read<T>>,
    warnings: &mut Vec<ReadWarning>,
) -> Result<Option<Vec<Part<T>>>, Error> {
    let (mut read, mut present, mut first_error) = (Vec::new(), BTreeSet::new(), None);
    for (path, directory, part) in parts {
        match part {
            Ok((mut identity, content)) => {
                let TaskDirectory { node, task } = directory;
                (identity.rank.node, identity.rank.task) = (node, task);
                read.push(Part {
                    path,
                    identity,
                    content,
                });
            }
            Err(error) => {
                warnings.push(unreadable(&directory, &error));
                present.insert(directory.task);
                first_error.get_or_insert(error);
            }
        }
    }
    let (mut current, stale) = of_newest_job(read);
    let Some(newest) = current.first().map(|part| part.identity.rank.clone()) else {
        return first_error.map_or(Ok(None), Err);
    };
    warnings.extend(of_earlier_jobs(&stale, &newest));
    present.extend(current.iter().map(|part| part.identity.rank.task));
    warnings.extend(missing(root, &newest, &present));
    current.sort_by_key(|part| part.identity.rank.task);
    Ok(Some(current))
}

fn unreadable(directory: &TaskDirectory, error: &Error) -> ReadWarning {
    ReadWarning {
        kind: ReadWarningKind::UnreadablePart,
        message: format!(
            "the part of task {} on {} cannot be read: {error}",
            directory.task, directory.node
        ),
        advice: "it is left out: its node may have failed, or its run has not begun".into(),
    }
}

/// Divides parts into those of the job that began last, newest first, and those that an earlier one left: of another job or size, of an
/// earlier boot of a node, or of a task that has a newer part.
fn of_newest_job<T>(mut parts: Vec<Part<T>>) -> (Vec<Part<T>>, Vec<Part<T>>) {
    // RFC 3339 in UTC sorts by time.
    parts.sort_by(|a, b| b.identity.started.cmp(&a.identity.started));
    let newest = parts.first().map(|part| part.identity.rank.clone());
    let (mut boots, mut tasks) = (HashMap::new(), BTreeSet::new());
    parts.into_iter().partition(|part| {
        let mine = &part.identity.rank;
        let is_of_job = newest
            .as_ref()
            .is_some_and(|newest| (&newest.job, newest.tasks) == (&mine.job, mine.tasks));
        let boot = &part.identity.boot_id;
        is_of_job
            && boots.entry(mine.node.clone()).or_insert_with(|| boot.clone()) == boot
            // Where nobody says how many there are, each node may count its own.
            && (tasks.insert(mine.task) || mine.tasks.is_none())
    })
}

/// Says that parts were left out.
fn of_earlier_jobs<T>(stale: &[Part<T>], newest: &Rank) -> Option<ReadWarning> {
    let first = stale.first()?;
    let named = |job: &str| match job {
        "" => "without a name".to_owned(),
        job => job.to_owned(),
    };
    let more = match stale.len() {
        1 => String::new(),
        many => format!(" and {} more parts", many - 1),
    };
    Some(ReadWarning {
        kind: ReadWarningKind::StalePart,
        message: format!(
            "{}{more}: of an earlier job ({}, started {}), not of the newest ({})",
            shown(&first.path),
            named(&first.identity.rank.job),
            first.identity.started,
            named(&newest.job)
        ),
        advice: "left out: give each job a directory of its own, or report a part by its path"
            .into(),
    })
}

/// Says which tasks left nothing, where the launcher said how many there are.
fn missing(root: &Path, newest: &Rank, present: &BTreeSet<u32>) -> Option<ReadWarning> {
    let tasks = newest.tasks?;
    let absent: Vec<u32> = (0..tasks).filter(|task| !present.contains(task)).collect();
    if absent.is_empty() {
        return None;
    }
    let list = cpu_list::written(&absent);
    let mut listed: Vec<&str> = list.split(',').take(MAX_LISTED + 1).collect();
    if listed.len() > MAX_LISTED {
        listed[MAX_LISTED] = "...";
    }
    Some(ReadWarning {
        kind: ReadWarningKind::MissingPart,
        message: format!(
            "{}: {} of {tasks} tasks left no part: {}",
            shown(root),
            absent.len(),
            listed.join(",")
        ),
        advice: "their nodes may have failed, may not have begun, or write to another disk".into(),
    })
}
