//! Threads get back what was taken from them, and those that were born meanwhile what was taken from their parents.

use super::{Found, MAX_LOOKS, Move, Thread, ask, is_there, of, threads};
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::setup::paths::ONLINE;
use rustix::thread::CpuSet;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// Gives a thread back what it had before, or as much of it as its cpuset has by now: at once, so that whoever is killed meanwhile leaves it with one or the
/// other. One that has every CPU of its cpuset by that is then set free: from a list the kernel would keep it from CPUs that come later (`user_cpus_ptr`,
/// since Linux 6.2).
fn restore(thread: Thread, before: &str) -> io::Result<()> {
    let all: Vec<u32> = (0..CpuSet::MAX_CPU as u32).collect();
    match ask(thread, &cpu_list::parse(before)) {
        // Its cpuset has none of them any more.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return ask(thread, &all),
        asked => asked?,
    }
    // Where it has ended there is nothing to free.
    let is_whole = |found: &Vec<u32>| *found == online() || *found == cpuset(thread);
    let Some(found) = of(thread).filter(is_whole) else {
        return Ok(());
    };
    ask(thread, &all)?;
    match of(thread) {
        // Its cpuset has more than could be read.
        Some(wider) if wider != found => ask(thread, &found),
        _ => Ok(()),
    }
}

/// CPUs of a list that are among these, too.
fn both(list: &str, cpus: &[u32]) -> Vec<u32> {
    let list = cpu_list::parse(list).into_iter();
    list.filter(|cpu| cpus.contains(cpu)).collect()
}

/// The CPUs that the cpuset of a thread has: that of its group, or of the nearest above it that tells; else all that are there.
fn cpuset(thread: Thread) -> Vec<u32> {
    let read = |path: String| Some(listed(&path)).filter(|cpus| !cpus.is_empty());
    let group = fs::read_to_string(format!("/proc/{}/cpuset", thread.id)).unwrap_or_default();
    let groups = Path::new(group.trim_end()).ancestors();
    let of_groups = groups.filter_map(|group| {
        let group = group.to_str()?.trim_end_matches('/');
        // Version 2, and version 1.
        read(format!("/sys/fs/cgroup{group}/cpuset.cpus.effective")).or_else(|| {
            read(format!(
                "/sys/fs/cgroup/cpuset{group}/cpuset.effective_cpus"
            ))
        })
    });
    of_groups.into_iter().next().unwrap_or_else(online)
}

fn online() -> Vec<u32> {
    listed(ONLINE)
}

/// CPUs of a file; none where it cannot be read.
fn listed(path: &str) -> Vec<u32> {
    let list = fs::read_to_string(path).unwrap_or_default();
    cpu_list::parse(list.trim())
}

/// Whether a thread that was left with `during` may have `now` by that: whole, or what a cpuset that lacks the rest leaves of it. Else somebody chose it.
fn is_left(thread: Thread, now: &[u32], during: &str) -> bool {
    let list = cpu_list::parse(during);
    now == list
        || (now.iter().all(|cpu| list.contains(cpu)) && both(during, &cpuset(thread)) == now)
}

/// What came of giving CPUs back.
#[derive(Debug, Default)]
pub struct GivenBack {
    /// The moves that could not be undone, each with the kernel's answer.
    pub failed: Vec<(Move, io::Error)>,
    /// Whether somebody else set the CPUs of a thread meanwhile, which keeps those.
    pub others_set: bool,
}

/// Gives threads the CPUs back that were taken from them, the last move first, and those born since `since`, if that is known.
pub fn give_back(moves: &[Move], since: Option<u64>) -> GivenBack {
    let mut given = GivenBack::default();
    let mut seen = BTreeSet::new();
    for one in moves.iter().rev() {
        let Some(now) = of(one.thread).filter(|_| is_there(one.thread)) else {
            continue;
        };
        let is_last = seen.insert(one.thread);
        let mut later = given.failed.iter().map(|(later, _)| later.thread);
        if later.any(|thread| thread == one.thread) {
            let error = io::Error::other("a later change of it stays");
            given.failed.push((one.clone(), error));
            continue;
        }
        if !is_left(one.thread, &now, &one.during) {
            given.others_set |= is_last && !was_of(one.thread, &cpu_list::written(&now), moves);
            continue;
        }
        if let Err(error) = restore(one.thread, &one.before)
            && is_there(one.thread)
        {
            given.failed.push((one.clone(), error));
        }
    }
    if let Some(since) = since {
        given.failed.extend(widen_born(moves, since));
    }
    given
}

/// Whether a move found a thread with these CPUs, or left it with them.
fn was_of(thread: Thread, cpus: &str, moves: &[Move]) -> bool {
    let mut own = moves.iter().filter(|one| one.thread == thread);
    own.any(|one| one.before == cpus || one.during == cpus)
}

/// Gives threads that were born since the CPUs that they would have without the moves. The kernel does not tell a set that was inherited from one that was chosen:
/// whoever has the set of a moved ancestor inherited it. Those that could not be given any, each with the kernel's answer.
fn widen_born(moves: &[Move], since: u64) -> Vec<(Move, io::Error)> {
    let mut failed = BTreeMap::new();
    // Children are born while others are looked at.
    for _ in 0..MAX_LOOKS {
        let all = threads();
        let mut is_done = true;
        for born in all
            .iter()
            .filter(|one| one.thread.started >= since && !one.is_fixed)
        {
            let Some(now) = of(born.thread) else {
                continue;
            };
            let kept = |one: &Found| {
                one.thread.started < since && of(one.thread).as_deref() == Some(&now[..])
            };
            let befores = |is_left: IsLeft<'_>| inherited(born, &all, moves, (is_left, &kept));
            let written = cpu_list::written(&now);
            let before = befores(&|during| during == written)
                // Of what its parent was left with its cpuset may have a part alone.
                .or_else(|| befores(&|during| is_left(born.thread, &now, during)))
                .filter(|before| *before != written);
            if let Some(before) = before {
                match restore(born.thread, before) {
                    Ok(()) => {
                        failed.remove(&born.thread);
                        is_done &= of(born.thread).as_deref() == Some(&now[..]);
                    }
                    Err(error) if concerns(born, moves, &error) => {
                        let left = Move {
                            thread: born.thread,
                            process: born.process,
                            before: before.to_owned(),
                            during: written,
                        };
                        failed.insert(born.thread, (left, error));
                    }
                    Err(_) => {}
                }
            }
        }
        if is_done {
            break;
        }
    }
    failed.into_values().collect()
}

/// Whether it matters that a thread could not be widened. One that has ended needs nothing; one of another user is ours only if a moved process made it, as
/// `sudo` is.
fn concerns(born: &Found, moves: &[Move], error: &io::Error) -> bool {
    let mut made = moves.iter().filter(|one| one.process == born.parent);
    is_there(born.thread)
        && (error.kind() != io::ErrorKind::PermissionDenied || made.next().is_some())
}

/// Whether a thread that was left with these CPUs may be the one that a set comes from.
pub(super) type IsLeft<'a> = &'a dyn Fn(&str) -> bool;

/// What the nearest ancestor had that was left so, be it alive or gone; of a thread whose ancestors are gone, what all had that were left so.
/// None if it has its set from an ancestor that was not moved and `has_kept` it.
pub(super) fn inherited<'a>(
    born: &Found,
    all: &[Found],
    moves: &'a [Move],
    (is_left, has_kept): (IsLeft<'_>, &dyn Fn(&Found) -> bool),
) -> Option<&'a str> {
    let mut process = born.process;
    // A chain of parents has no loop, but numbers are used again while it is read.
    for _ in 0..64 {
        let mut moved = moves.iter().filter(|one| one.process == process);
        if let Some(before) = moved.find_map(|one| former(one.thread, is_left, moves)) {
            return Some(before);
        }
        let mut members = all.iter().filter(|one| one.process == process);
        let parent = members.clone().next().map(|one| one.parent);
        if members.any(has_kept) {
            return None;
        }
        match parent {
            Some(parent) if parent != 0 => process = parent,
            _ => break,
        }
    }
    let mut left = moves.iter().filter(|one| is_left(&one.during));
    let first = &*left.next()?.before;
    left.all(|one| one.before == first).then_some(first)
}

/// What a thread had before any move, if one of its moves left it so.
fn former<'a>(thread: Thread, is_left: IsLeft<'_>, moves: &'a [Move]) -> Option<&'a str> {
    let mut own = moves.iter().filter(|one| one.thread == thread);
    let first = own.clone().next()?;
    own.any(|one| is_left(&one.during))
        .then_some(&*first.before)
}
