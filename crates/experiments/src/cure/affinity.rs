//! Threads are kept off CPUs, and get them back: by their affinities (sched_setaffinity(2)).
//!
//! Affinities and no control groups: each thread gets back what it had, nothing has to be moved from its group, and the
//! measuring thread need not be in a group of its own. A cpuset of version 1 forgets affinities that were narrower; an isolated partition of version 2
//! takes only threads that are moved into it.

mod give_back;

use bandscope_probe::facts::{Stat, task_name};
use bandscope_recording::cpu_list;
pub use give_back::give_back;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

/// How often all threads are looked at: those born during one look are found by the next.
const MAX_LOOKS: usize = 10;

/// A thread that no other can be mistaken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub id: u32,
    /// When it began, in clock ticks since the boot.
    pub started: u64,
}

/// A thread as it was found.
#[derive(Clone, Debug)]
struct Found {
    thread: Thread,
    /// The process that it belongs to.
    process: u32,
    /// The process that made that one.
    parent: u32,
    /// As the ledger writes it.
    name: String,
    /// The name of its process, by which the ledger names it.
    process_name: String,
    is_fixed: bool,
}

impl Found {
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.process_name == name
    }
}

/// A thread that is moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Which.
    pub thread: Thread,
    /// The process that it belongs to; 0 in journals of earlier versions.
    #[serde(default)]
    pub process: u32,
    /// CPUs that it may use, as a list.
    pub before: String,
    /// Those that it is left with.
    pub during: String,
}

/// All threads but those of this process.
fn threads() -> Vec<Found> {
    let own = std::process::id();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if process == own {
            continue;
        }
        let stat = fs::read(entry.path().join("stat")).ok();
        let Some(leader) = stat.and_then(|stat| Stat::parse(&stat)) else {
            continue;
        };
        let process_name = task_name(&leader.name);
        let tasks = fs::read_dir(entry.path().join("task"));
        for task in tasks.into_iter().flatten().flatten() {
            let id = task.file_name().to_str().and_then(|id| id.parse().ok());
            let stat = fs::read(task.path().join("stat")).ok();
            let stat = stat.and_then(|stat| Stat::parse(&stat));
            if let (Some(id), Some(stat)) = (id, stat) {
                found.push(Found {
                    thread: Thread {
                        id,
                        started: stat.started,
                    },
                    process,
                    parent: stat.parent,
                    is_fixed: stat.is_fixed(),
                    name: task_name(&stat.name),
                    process_name: process_name.clone(),
                });
            }
        }
    }
    found
}

fn pid(thread: Thread) -> Option<Pid> {
    Pid::from_raw(i32::try_from(thread.id).ok()?)
}

/// The CPUs that a thread may use; `None` if it is gone.
fn of(thread: Thread) -> Option<Vec<u32>> {
    let set = sched_getaffinity(Some(pid(thread)?)).ok()?;
    let is_member = |cpu: &u32| set.is_set(*cpu as usize);
    Some((0..CpuSet::MAX_CPU as u32).filter(is_member).collect())
}

/// Whether a thread of that number and that start is there.
fn is_there(thread: Thread) -> bool {
    let stat = fs::read(format!("/proc/{}/stat", thread.id)).ok();
    let stat = stat.and_then(|stat| Stat::parse(&stat));
    stat.is_some_and(|stat| stat.started == thread.started)
}

/// Gives a thread these CPUs. One whose cpuset lacks some of them keeps what it had; then those that it could have.
fn set(thread: Thread, list: &str) -> io::Result<Option<String>> {
    let cpus = cpu_list::parse(list);
    let before = of(thread);
    ask(thread, &cpus)?;
    match of(thread) {
        Some(found) if found != cpus => {
            before.map_or(Ok(()), |before| ask(thread, &before))?;
            Ok(Some(cpu_list::written(&found)))
        }
        _ => Ok(None),
    }
}

fn ask(thread: Thread, cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    let known = cpus.iter().map(|&cpu| cpu as usize);
    known
        .filter(|&cpu| cpu < CpuSet::MAX_CPU)
        .for_each(|cpu| set.set(cpu));
    Ok(sched_setaffinity(pid(thread), &set)?)
}

/// Names of the threads of this machine and of their processes, each once; with whether any thread of that name can be moved.
pub fn names() -> BTreeMap<String, bool> {
    names_of(threads())
}

fn names_of(threads: Vec<Found>) -> BTreeMap<String, bool> {
    let mut names = BTreeMap::new();
    for found in threads {
        for name in [found.name, found.process_name] {
            *names.entry(name).or_default() |= !found.is_fixed;
        }
    }
    names
}

/// Threads that may use `taken` and that can be moved, of one name or of a process of that name if `only`. A thread that may use none of `others` gets them.
pub fn movable(taken: &[u32], others: &[u32], only: Option<&str>) -> Vec<Move> {
    let is_meant = |found: &Found| !found.is_fixed && only.is_none_or(|name| found.is_named(name));
    let moves = threads().into_iter().filter(is_meant);
    let moves = moves.filter_map(|found| {
        let before = of(found.thread)?;
        let during = narrowed(&before, taken, others)?;
        Some(Move {
            thread: found.thread,
            process: found.process,
            before: cpu_list::written(&before),
            during: cpu_list::written(&during),
        })
    });
    moves.collect()
}

/// What is left of a set of CPUs; `None` if nothing is taken from it.
fn narrowed(before: &[u32], taken: &[u32], others: &[u32]) -> Option<Vec<u32>> {
    let is_left = |cpu: &&u32| !taken.contains(cpu);
    let rest: Vec<u32> = before.iter().filter(is_left).copied().collect();
    if rest.len() == before.len() {
        return None;
    }
    match rest.iter().any(|cpu| others.contains(cpu)) {
        true => Some(rest),
        false => Some(others.to_vec()),
    }
}

/// Numbers of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// That were moved.
    pub moved: usize,
    /// Whose cpusets have no other CPU.
    pub confined: usize,
    /// That belong to somebody else.
    pub foreign: usize,
    /// That the kernel refused to move for another reason, and the last such reason.
    pub refused: usize,
    /// See `refused`.
    pub why: Option<io::ErrorKind>,
}

/// Whom a move is told to before it is made.
type Note<'a> = &'a mut dyn FnMut(&[Move]) -> io::Result<()>;

/// Moves threads, of one name if `only`, away from `taken` until none is left that can be moved. `note` is told of each before it is moved.
///
/// # Errors
/// If `note` fails.
pub fn take(
    taken: &[u32],
    others: &[u32],
    only: Option<&str>,
    note: Note<'_>,
) -> io::Result<Taken> {
    let mut all = Taken::default();
    let mut refused = BTreeSet::new();
    for _ in 0..MAX_LOOKS {
        let mut moves = movable(taken, others, only);
        moves.retain(|one| !refused.contains(&one.thread));
        if moves.is_empty() {
            break;
        }
        note(&moves)?;
        for one in &moves {
            match within_its_cpuset(one, note)? {
                Ok(true) => all.moved += 1,
                _ if !is_there(one.thread) => {}
                Err(error) => {
                    let number = match error.kind() {
                        io::ErrorKind::PermissionDenied => &mut all.foreign,
                        io::ErrorKind::InvalidInput => &mut all.confined,
                        kind => {
                            all.why = Some(kind);
                            &mut all.refused
                        }
                    };
                    *number += usize::from(refused.insert(one.thread));
                }
                Ok(false) => all.confined += usize::from(refused.insert(one.thread)),
            }
        }
    }
    Ok(all)
}

/// Moves a thread, to some of the CPUs where its cpuset lacks the others. Whether it could be moved, or the kernel's answer.
///
/// # Errors
/// If `note` fails.
fn within_its_cpuset(one: &Move, note: Note<'_>) -> io::Result<io::Result<bool>> {
    let during = match set(one.thread, &one.during) {
        Ok(Some(during)) => during,
        done => return Ok(done.map(|_| true)),
    };
    let smaller = Move {
        during,
        ..one.clone()
    };
    note(std::slice::from_ref(&smaller))?;
    Ok(set(smaller.thread, &smaller.during).map(|lacks| lacks.is_none()))
}

/// Now, in clock ticks since the boot.
pub fn now() -> u64 {
    let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let ticks = rustix::param::clock_ticks_per_second();
    boot.tv_sec as u64 * ticks + boot.tv_nsec as u64 * ticks / 1_000_000_000
}

#[cfg(test)]
mod tests;
