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

/// A task's part.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    rank: Rank,
    recording: Opened,
}

impl Part {
    /// Whose it is its directory says, also of a recording that somebody put there.
    fn new(path: PathBuf, directory: TaskDirectory, mut recording: Opened) -> Part {
        let rank = recording.manifest.rank.get_or_insert_default();
        (rank.node, rank.task) = (directory.node, directory.task);
        Part {
            path,
            rank: rank.clone(),
            recording,
        }
    }

    fn started(&self) -> &str {
        &self.recording.manifest.started
    }
}

/// The directories of tasks below `root`, by node and number; none where it is a recording by itself.
fn find(root: &Path) -> Result<Vec<(PathBuf, TaskDirectory)>, Error> {
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
    let (mut parts, mut present, mut first_error) = (Vec::new(), BTreeSet::new(), None);
    for (path, directory) in find(root)? {
        match read::open(&path) {
            Ok(recording) => parts.push(Part::new(path, directory, recording)),
            Err(error) => {
                warnings.push(unreadable(&directory, &error));
                present.insert(directory.task);
                first_error.get_or_insert(error);
            }
        }
    }
    let (mut current, stale) = of_newest_job(parts);
    let Some(newest) = current.first().map(|part| part.rank.clone()) else {
        return first_error.map_or(Ok(None), Err);
    };
    warnings.extend(of_earlier_jobs(&stale, &newest));
    present.extend(current.iter().map(|part| part.rank.task));
    warnings.extend(missing(root, &newest, &present));
    current.sort_by_key(|part| part.rank.task);
    let input = |part: Part| (part.path, Input::Recording(part.recording));
    Ok(Some(current.into_iter().map(input).collect()))
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
fn of_newest_job(mut parts: Vec<Part>) -> (Vec<Part>, Vec<Part>) {
    // RFC 3339 in UTC sorts by time.
    parts.sort_by(|a, b| b.started().cmp(a.started()));
    let newest = parts.first().map(|part| part.rank.clone());
    let (mut boots, mut tasks) = (HashMap::new(), BTreeSet::new());
    parts.into_iter().partition(|part| {
        let mine = &part.rank;
        let is_of_job = newest
            .as_ref()
            .is_some_and(|newest| (&newest.job, newest.tasks) == (&mine.job, mine.tasks));
        let boot = &part.recording.manifest.machine.boot_id;
        is_of_job
            && boots.entry(mine.node.clone()).or_insert_with(|| boot.clone()) == boot
            // Where nobody says how many there are, each node may count its own.
            && (tasks.insert(mine.task) || mine.tasks.is_none())
    })
}

/// Says that parts were left out.
fn of_earlier_jobs(stale: &[Part], newest: &Rank) -> Option<ReadWarning> {
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
            named(&first.rank.job),
            first.started(),
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
